/*
 * cmd_scan.c
 *		SCAN and DBSIZE: the keys of all attached tables that the client may read.
 *
 * Tables are visited in the order of their oids modulo 2^21, each from its first block
 * to its last.  A cursor is where to go on:
 *
 *		 52              32 31                               0
 *		+------------------+----------------------------------+
 *		| oid modulo 2^21  | next block                       |
 *		+------------------+----------------------------------+
 *
 * It keeps nothing on the server: any worker can go on, after a restart too, and a scan
 * that is given up costs nothing.  53 bits, since clients keep cursors in doubles.
 * Tables that share the upper part, if there ever are any, are visited together: block
 * 0 of each, block 1 of each, and so on.  A cursor to a table that is gone goes on with
 * the one after it.
 *
 * A call visits whole blocks until it has met about COUNT rows, whether they match or
 * not; but a limited number of rows and of blocks, so that one client cannot hold up a
 * worker.  scan.c says what a scan promises while rows are being updated.
 *
 * Tables that the role may not read, those with row security that applies to it, and
 * those that are no longer fit to be read by key are passed over.  A table that is
 * locked by others ends the call, and one that has to begin with it waits.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "resp/command.h"
#include "resp/cmd_scan.h"
#include "resp/names.h"
#include "resp/turn.h"
#include "table/scan.h"

#define PART_BITS			21
#define PART(relid)			((relid) & ((1 << PART_BITS) - 1))

#define DEFAULT_COUNT		10
#define MAX_COUNT			1000
#define MAX_STEPS			128

/* Keys of clients, one after the other. */
typedef struct KeyList
{
	StringInfoData bytes;
	StringInfoData ends;		/* int each: where the next one begins */
	int			n;
} KeyList;

/* A table of the part at hand. */
typedef struct ScanTable
{
	PlcTurnTable *table;
	BlockNumber nblocks;
	const char *prefix;
} ScanTable;

typedef struct Scan
{
	/* what the client wants */
	int			part;
	BlockNumber block;
	PlcArg		pattern;		/* data NULL: any key */
	int64		count;
	bool		rows;			/* false: another type than ours is wanted */

	/* how far it has come */
	const ScanTable *at;		/* the table whose block is being visited */
	int64		rows_met;
	int			steps;			/* tables looked at, and blocks visited */
	bool		visited;		/* has it visited any? */
	KeyList		keys;
} Scan;

/* ---------- keys ---------- */

static void
append_value(StringInfo key, const PlcKeyColumn *column, const char *text)
{
	if (column->type == INT8OID || column->type == INT4OID || column->type == INT2OID)
		appendStringInfoString(key, text);
	else
		escape_json(key, text);
}

/*
 * Can this value stand behind a namespace as it is?  Told from what is harmless; all
 * else is written as JSON, which is always right.
 */
static bool
is_plain(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (!IS_HIGHBIT_SET(*c) && !isalnum((unsigned char) *c) && strchr("-_.:/@+", *c) == NULL)
			return false;
	return *text != '\0';
}

static char *
text_of_value(const PlcKeyColumn *column, Datum value)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(column->type, &output, &is_varlena);
	return OidOutputFunctionCall(output, value);
}

/* {"tenant":7,"id":42}, or 42 alone behind a namespace. */
static void
append_row(StringInfo key, const PlcTable *table, const Datum *values)
{
	for (int c = 0; c < table->ncolumns; c++)
	{
		const PlcKeyColumn *column = &table->columns[c];
		char	   *text = text_of_value(column, values[c]);

		if (table->ncolumns == 1 && table->namespace_name != NULL && is_plain(text))
		{
			appendStringInfoString(key, text);
			return;
		}
		appendStringInfoChar(key, c == 0 ? '{' : ',');
		escape_json(key, column->name);
		appendStringInfoChar(key, ':');
		append_value(key, column, text);
		pfree(text);
	}
	appendStringInfoChar(key, '}');
}

/* Adds the key of a row to the list, if it matches. */
static void
visit_row(const PlcTable *table, const Datum *values, void *arg)
{
	Scan	   *scan = arg;
	StringInfo	bytes = &scan->keys.bytes;
	int			start = bytes->len;

	CHECK_FOR_INTERRUPTS();		/* a long key against a long pattern takes some milliseconds */
	scan->rows_met++;
	appendStringInfoString(bytes, scan->at->prefix);
	append_row(bytes, table, values);
	if (scan->pattern.data != NULL &&
		!plc_glob_match(scan->pattern.data, scan->pattern.len, bytes->data + start,
						bytes->len - start))
	{
		bytes->len = start;
		return;
	}
	appendBinaryStringInfo(&scan->keys.ends, (char *) &bytes->len, sizeof(int));
	scan->keys.n++;
}

/* May a key that begins with the prefix match?  As far as the pattern is literal. */
static bool
prefix_may_match(const PlcArg *pattern, const char *prefix)
{
	for (size_t i = 0; pattern->data != NULL && i < pattern->len && prefix[i] != '\0'; i++)
	{
		if (strchr("*?[\\", pattern->data[i]) != NULL)
			return true;
		if (pattern->data[i] != prefix[i])
			return false;
	}
	return true;
}

/* ---------- tables ---------- */

static int
compare_parts(const void *a, const void *b)
{
	Oid			x = *(const Oid *) a;
	Oid			y = *(const Oid *) b;

	if (PART(x) != PART(y))
		return PART(x) < PART(y) ? -1 : 1;
	return x < y ? -1 : x > y;
}

static Oid *
tables_in_order(int *n)
{
	Oid		   *relids = plc_names_tables(n);

	qsort(relids, *n, sizeof(Oid), compare_parts);
	return relids;
}

typedef enum Opened
{
	OPENED,
	PASSED_OVER,
	LOCKED
} Opened;

/* Opens a table for a scan, if it can be. */
static Opened
open_table(Oid relid, PlcTurnTable **table)
{
	Relation	relation;
	bool		possible;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)) ? LOCKED : PASSED_OVER;
	relation = try_relation_open(relid, NoLock);
	if (relation == NULL)
		return PASSED_OVER;
	possible = plc_scan_possible(relation);
	relation_close(relation, NoLock);
	if (!possible)
		return PASSED_OVER;
	*table = plc_turn_table(relid, AccessShareLock);
	return *table == NULL ? PASSED_OVER : OPENED;
}

/* The tables of a part that may have matching keys; false if one is locked. */
static bool
open_part(Scan *scan, const Oid *relids, int n, List **tables)
{
	*tables = NIL;
	for (int i = 0; i < n; i++)
	{
		ScanTable  *table = palloc(sizeof(ScanTable));
		StringInfoData prefix;

		scan->steps++;
		initStringInfo(&prefix);
		if (!plc_names_append_prefix(&prefix, relids[i]) ||
			!prefix_may_match(&scan->pattern, prefix.data))
			continue;
		table->prefix = prefix.data;
		switch (open_table(relids[i], &table->table))
		{
			case LOCKED:
				return false;
			case PASSED_OVER:
				continue;
			case OPENED:
				table->nblocks = RelationGetNumberOfBlocks(table->table->relation);
				*tables = lappend(*tables, table);
		}
	}
	return true;
}

/* ---------- SCAN ---------- */

static bool
is_enough(const Scan *scan)
{
	return scan->rows_met >= scan->count || scan->steps >= MAX_STEPS;
}

/* Visits a block of each table; false if it is beyond the end of all. */
static bool
visit_block(Scan *scan, List *tables)
{
	bool		any = false;
	ListCell   *cell;

	foreach(cell, tables)
	{
		ScanTable  *table = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (scan->block >= table->nblocks)
			continue;
		any = true;
		scan->at = table;
		scan->visited = true;
		scan->steps++;
		plc_scan_block(table->table->table, table->table->relation, plc_turn_snapshot(),
					   scan->block, visit_row, scan);
	}
	return any;
}

typedef enum Progress
{
	PART_DONE,
	PART_LOCKED,
	ENOUGH						/* part and block say where to go on */
} Progress;

static Progress
visit_part(Scan *scan, const Oid *relids, int n)
{
	List	   *tables;

	if (!open_part(scan, relids, n, &tables))
		return PART_LOCKED;
	while (!is_enough(scan))
	{
		if (!visit_block(scan, tables))
			return PART_DONE;
		scan->block++;
	}
	return ENOUGH;
}

static int
end_of_part(const Oid *relids, int n, int i)
{
	int			end = i;

	while (end < n && PART(relids[end]) == PART(relids[i]))
		end++;
	return end;
}

/* Goes on until there is enough, or something in the way, or nothing left. */
static Progress
visit_parts(Scan *scan)
{
	int			n;
	Oid		   *relids = tables_in_order(&n);

	for (int i = 0; i < n;)
	{
		int			end = end_of_part(relids, n, i);
		int			part = PART(relids[i]);
		Progress	progress;

		if (part >= scan->part)
		{
			if (part > scan->part)
				scan->block = 0;
			scan->part = part;
			progress = visit_part(scan, relids + i, end - i);
			if (progress != PART_DONE)
				return progress;
			scan->part++;
			scan->block = 0;
		}
		i = end;
	}
	return PART_DONE;
}

static bool
read_cursor(Scan *scan, const PlcArg *arg)
{
	int64		cursor;

	if (!plc_arg_integer(arg, &cursor) || cursor < 0 || cursor >> (PART_BITS + 32) != 0)
		return false;
	scan->part = cursor >> 32;
	scan->block = (BlockNumber) cursor;
	return true;
}

static void
refuse(const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("%s", message)));
}

static int64
read_count(const PlcArg *arg)
{
	int64		count;

	if (!plc_arg_integer(arg, &count))
		refuse("value is not an integer or out of range");
	if (count < 1)
		refuse("syntax error");
	return Min(count, MAX_COUNT);
}

/* An option and its value; raises an error for what cannot be. */
static void
read_option(Scan *scan, const PlcArg *option, const PlcArg *value)
{
	if (plc_arg_is(option, "match") && value->len > PLC_LONGEST_PATTERN)
		refuse("pattern is longer than " CppAsString2(PLC_LONGEST_PATTERN) " bytes");
	else if (plc_arg_is(option, "match"))
		scan->pattern = *value;
	else if (plc_arg_is(option, "count"))
		scan->count = read_count(value);
	else if (plc_arg_is(option, "type"))
		scan->rows = plc_arg_is(value, "hash");
	else
		refuse("syntax error");
}

static void
read_request(Scan *scan, const PlcRequest *request)
{
	scan->count = DEFAULT_COUNT;
	scan->rows = true;
	if (!read_cursor(scan, &request->argv[1]))
		refuse("invalid cursor");
	if (request->argc % 2 != 0)
		refuse("syntax error");
	for (int i = 2; i < request->argc; i += 2)
		read_option(scan, &request->argv[i], &request->argv[i + 1]);
}

static void
reply(PlcBuffer *out, const KeyList *keys, int64 cursor)
{
	const int  *ends = (const int *) keys->ends.data;
	char		number[24];
	int			start = 0;

	snprintf(number, sizeof(number), INT64_FORMAT, cursor);
	plc_reply_array(out, 2);
	plc_reply_string(out, number);
	plc_reply_array(out, keys->n);
	for (int i = 0; i < keys->n; i++)
	{
		plc_reply_bulk(out, keys->bytes.data + start, ends[i] - start);
		start = ends[i];
	}
}

PlcOutcome
plc_cmd_scan(PlcRequest *request)
{
	Scan		scan = {0};
	Progress	progress = PART_DONE;

	read_request(&scan, request);
	initStringInfo(&scan.keys.bytes);
	initStringInfo(&scan.keys.ends);
	if (scan.rows)
		progress = visit_parts(&scan);
	if (progress == PART_LOCKED && !scan.visited)
		return PLC_PARK;
	reply(request->out, &scan.keys,
		  progress == PART_DONE ? 0 : (int64) scan.part << 32 | scan.block);
	return PLC_DONE;
}

/* ---------- DBSIZE ---------- */

bool
plc_scan_estimate_all(int64 *total)
{
	int			n;
	Oid		   *relids = plc_names_tables(&n);
	double		rows = 0;

	for (int i = 0; i < n; i++)
	{
		PlcTurnTable *table;

		switch (open_table(relids[i], &table))
		{
			case LOCKED:
				return false;
			case PASSED_OVER:
				continue;
			case OPENED:
				rows += plc_scan_estimate(table->table, table->relation, plc_turn_snapshot());
		}
	}
	*total = (int64) rows;
	return true;
}

PlcOutcome
plc_cmd_dbsize(PlcRequest *request)
{
	int64		rows;

	if (!plc_scan_estimate_all(&rows))
		return PLC_PARK;
	plc_reply_integer(request->out, rows);
	return PLC_DONE;
}
