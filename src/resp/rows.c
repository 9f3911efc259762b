/*
 * rows.c
 *		Rows for commands: keys to texts, by way of the turn.
 *
 * Keys that follow each other and are of one table go to it together, so waits for
 * memory overlap (table/chunk.c).
 */
#include "postgres.h"

#include "resp/rows.h"
#include "resp/server.h"
#include "resp/turn.h"

/* As many keys as may take noticeable time, if none of them is cached. */
#define MANY_KEYS	64

/* Room for one lot of keys of a table. */
static void
read_lot(const PlcTurnKey *keys, int n, PlcSink *sink)
{
	int			ncolumns = keys[0].table->table->ncolumns;
	PlcKeys		lot = {n, ncolumns};
	Datum		value;
	bool		null = false;

	if (n == 1 && ncolumns == 1)
	{
		lot.values = &value;
		lot.nulls = &null;
	}
	else
	{
		lot.values = palloc_extended((Size) n * ncolumns * sizeof(Datum), MCXT_ALLOC_HUGE);
		lot.nulls = palloc0(n * sizeof(bool));
	}
	for (int i = 0; i < n; i++)
		plc_turn_key_values(&keys[i], &lot.values[i * ncolumns]);
	plc_turn_read(keys[0].table, &lot, sink);
}

static bool
read_keys(PlcRequest *request, int first, int n, PlcSink *sink)
{
	PlcTurnKey	one;
	PlcTurnKey *keys = n == 1 ? &one
		: palloc_extended((Size) n * sizeof(PlcTurnKey), MCXT_ALLOC_HUGE);

	if (n > MANY_KEYS)
		plc_server_watch();
	if (!plc_turn_keys(&request->argv[first], n, 1, AccessShareLock, keys))
		return false;
	for (int i = 0, next; i < n; i = next)
	{
		next = i + 1;
		if (keys[i].table == NULL)
		{
			sink->absent(sink);
			continue;
		}
		while (next < n && keys[next].table == keys[i].table)
			next++;
		read_lot(&keys[i], next - i, sink);
	}
	return true;
}

bool
plc_rows_read(PlcRequest *request, PlcSink *sink)
{
	return read_keys(request, 1, request->argc - 1, sink);
}

bool
plc_rows_read_one(PlcRequest *request, int key, PlcSink *sink)
{
	return read_keys(request, key, 1, sink);
}

/* A sink for one text. */
typedef struct TextSink
{
	PlcSink		sink;
	PlcRowText *row;
} TextSink;

static char *
text_room(PlcSink *sink, uint32 len)
{
	PlcRowText *row = ((TextSink *) sink)->row;

	row->text = palloc_extended(Max(len, 1), MCXT_ALLOC_HUGE);
	return row->text;
}

static void
text_keep(PlcSink *sink, uint32 len)
{
	PlcRowText *row = ((TextSink *) sink)->row;

	row->len = len;
	row->found = true;
}

static void
text_absent(PlcSink *sink)
{
	((TextSink *) sink)->row->found = false;
}

bool
plc_rows_text(PlcRequest *request, int key, PlcRowText *row)
{
	TextSink	sink = {
		.sink = {.wants = PLC_ENTRY_JSON, .room = text_room, .keep = text_keep, .absent = text_absent},
		.row = row
	};

	memset(row, 0, sizeof(*row));
	return plc_rows_read_one(request, key, &sink.sink);
}
