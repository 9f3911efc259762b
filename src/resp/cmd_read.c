/*
 * cmd_read.c
 *		Rows as texts: GET, MGET, and what is asked of a row without reading it.
 *
 * A row's text goes from the cache straight to the output.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "resp/rows.h"
#include "resp/worker.h"

/* Rows as replies. */
typedef struct ReplySink
{
	PlcSink		sink;
	PlcBuffer  *out;
	int			protocol;
} ReplySink;

static char *
reply_room(PlcSink *sink, uint32 len)
{
	ReplySink  *reply = (ReplySink *) sink;
	char	   *room = plc_buffer_room(reply->out, len);

	if (room == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the reply is larger than pg_local_cache.output_limit")));
	return room;
}

static void
reply_keep(PlcSink *sink, uint32 len)
{
	plc_buffer_added(((ReplySink *) sink)->out, len);
}

static void
reply_absent(PlcSink *sink)
{
	ReplySink  *reply = (ReplySink *) sink;

	plc_reply_null(reply->out, reply->protocol);
}

static ReplySink
reply_sink(PlcRequest *request)
{
	return (ReplySink) {
		.sink = {.wants = PLC_ENTRY_JSON, .framed = true,
			.room = reply_room, .keep = reply_keep, .absent = reply_absent},
		.out = request->out,
		.protocol = request->conn->protocol
	};
}

/* The replies of as many GETs as there are keys. */
PlcOutcome
plc_cmd_gets(PlcRequest *request)
{
	ReplySink	sink = reply_sink(request);

	if (!plc_rows_read(request, &sink.sink))
		return PLC_PARK;
	plc_worker_count(PLC_ENDPOINT_MGET_KEYS, request->argc - 1);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_get(PlcRequest *request)
{
	return plc_cmd_gets(request);
}

PlcOutcome
plc_cmd_mget(PlcRequest *request)
{
	plc_reply_array(request->out, request->argc - 1);
	return plc_cmd_gets(request);
}

/* Only whether they are there, and of how many bytes. */
typedef struct CountSink
{
	PlcSink		sink;
	StringInfoData text;		/* where texts go and are not looked at */
	int64		rows;
	int64		bytes;
} CountSink;

static char *
count_room(PlcSink *sink, uint32 len)
{
	CountSink  *count = (CountSink *) sink;

	resetStringInfo(&count->text);
	enlargeStringInfo(&count->text, len);
	return count->text.data;
}

static void
count_keep(PlcSink *sink, uint32 len)
{
	((CountSink *) sink)->rows++;
	((CountSink *) sink)->bytes += len;
}

static void
count_absent(PlcSink *sink)
{
}

static CountSink
count_sink(void)
{
	CountSink	count = {
		.sink = {.wants = PLC_ENTRY_JSON, .room = count_room, .keep = count_keep, .absent = count_absent}
	};

	initStringInfo(&count.text);
	return count;
}

PlcOutcome
plc_cmd_exists(PlcRequest *request)
{
	CountSink	count = count_sink();

	if (!plc_rows_read(request, &count.sink))
		return PLC_PARK;
	plc_reply_integer(request->out, count.rows);
	return PLC_DONE;
}

/* STRLEN key, and MEMORY USAGE key [SAMPLES n] */
PlcOutcome
plc_cmd_strlen(PlcRequest *request)
{
	CountSink	count = count_sink();
	bool		usage = request->command->arity == -3;

	if (!plc_rows_read_one(request, usage ? 2 : 1, &count.sink))
		return PLC_PARK;
	if (usage && count.rows == 0)
		plc_reply_null(request->out, request->conn->protocol);
	else
		plc_reply_integer(request->out, count.bytes);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_type(PlcRequest *request)
{
	CountSink	count = count_sink();

	if (!plc_rows_read_one(request, 1, &count.sink))
		return PLC_PARK;
	plc_reply_simple(request->out, count.rows > 0 ? "hash" : "none");
	return PLC_DONE;
}

/* TTL and PTTL: rows do not expire. */
PlcOutcome
plc_cmd_ttl(PlcRequest *request)
{
	CountSink	count = count_sink();

	if (!plc_rows_read_one(request, 1, &count.sink))
		return PLC_PARK;
	plc_reply_integer(request->out, count.rows > 0 ? -1 : -2);
	return PLC_DONE;
}
