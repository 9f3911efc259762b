/*
 * cmd_hash.c
 *		Rows as hashes of their columns: HGET and its kin.
 *
 * The columns are taken from the row's JSON text, which is what the cache has.  A
 * column that is null is not there, as a field of a hash is or is not.  Strings lose
 * their quotes and escapes; numbers, truth values, arrays and objects stay JSON.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "resp/rowjson.h"
#include "resp/rows.h"
#include "resp/server.h"

static void
reply_unescaped(PlcRequest *request, const char *text, size_t len)
{
	char	   *plain;
	size_t		plain_len;

	if (memchr(text, '\\', len) == NULL)
	{
		plc_reply_bulk(request->out, text, len);
		return;
	}
	plain = palloc_extended(Max(len, 1), MCXT_ALLOC_HUGE);
	plain_len = plc_row_unescape(text, len, plain);
	plc_reply_bulk(request->out, plain, plain_len);
	pfree(plain);
}

static void
reply_value(PlcRequest *request, const PlcRowField *field)
{
	if (field->kind == PLC_ROW_TEXT)
		reply_unescaped(request, field->value, field->value_len);
	else
		plc_reply_bulk(request->out, field->value, field->value_len);
}

/* The next column that is not null. */
static bool
next_column(const PlcRowText *row, size_t *at, PlcRowField *field)
{
	while (row->found && plc_row_next(row->text, row->len, at, field))
		if (field->kind != PLC_ROW_NULL)
			return true;
	return false;
}

static int
count_columns(const PlcRowText *row)
{
	PlcRowField field;
	size_t		at = 0;
	int			n = 0;

	while (next_column(row, &at, &field))
		n++;
	return n;
}

/* The column of that name, not null. */
static bool
find_column(const PlcRowText *row, const PlcArg *name, PlcRowField *field)
{
	size_t		at = 0;

	while (next_column(row, &at, field))
		if (plc_row_name_is(field, name->data, name->len))
			return true;
	return false;
}

PlcOutcome
plc_cmd_hget(PlcRequest *request)
{
	PlcRowText	row;
	PlcRowField field;

	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	if (find_column(&row, &request->argv[2], &field))
		reply_value(request, &field);
	else
		plc_reply_null(request->out, request->conn->protocol);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hmget(PlcRequest *request)
{
	PlcRowText	row;
	PlcRowField field;

	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	plc_server_watch();
	plc_reply_array(request->out, request->argc - 2);
	for (int i = 2; i < request->argc && !request->out->failed; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (find_column(&row, &request->argv[i], &field))
			reply_value(request, &field);
		else
			plc_reply_null(request->out, request->conn->protocol);
	}
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hgetall(PlcRequest *request)
{
	PlcRowText	row;
	PlcRowField field;
	size_t		at = 0;

	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	plc_reply_map(request->out, request->conn->protocol, count_columns(&row));
	while (next_column(&row, &at, &field))
	{
		reply_unescaped(request, field.name, field.name_len);
		reply_value(request, &field);
	}
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hkeys(PlcRequest *request)
{
	PlcRowText	row;
	PlcRowField field;
	size_t		at = 0;

	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	plc_reply_array(request->out, count_columns(&row));
	while (next_column(&row, &at, &field))
		reply_unescaped(request, field.name, field.name_len);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hvals(PlcRequest *request)
{
	PlcRowText	row;
	PlcRowField field;
	size_t		at = 0;

	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	plc_reply_array(request->out, count_columns(&row));
	while (next_column(&row, &at, &field))
		reply_value(request, &field);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hlen(PlcRequest *request)
{
	PlcRowText	row;

	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	plc_reply_integer(request->out, count_columns(&row));
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hexists(PlcRequest *request)
{
	PlcRowText	row;
	PlcRowField field;

	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	plc_reply_integer(request->out, find_column(&row, &request->argv[2], &field));
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hstrlen(PlcRequest *request)
{
	PlcRowText	row;
	PlcRowField field;
	size_t		len = 0;

	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	if (find_column(&row, &request->argv[2], &field))
	{
		char	   *plain = palloc_extended(Max(field.value_len, 1), MCXT_ALLOC_HUGE);

		len = field.kind == PLC_ROW_TEXT
			? plc_row_unescape(field.value, field.value_len, plain) : field.value_len;
	}
	plc_reply_integer(request->out, len);
	return PLC_DONE;
}

/* ---------- HSCAN ---------- */

/* A row has few enough columns to be answered at once, so there is one cursor, 0. */
typedef struct HashScan
{
	PlcArg		pattern;		/* data NULL: any name */
	bool		values;
	bool		begins;			/* false: a cursor that we have not given out */
} HashScan;

static void
refuse_scan(const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("%s", message)));
}

/* COUNT has to be right, and has no effect. */
static void
check_count(const PlcArg *arg)
{
	int64		count;

	if (!plc_arg_integer(arg, &count))
		refuse_scan("value is not an integer or out of range");
	if (count < 1)
		refuse_scan("syntax error");
}

static void
read_scan(const PlcRequest *request, HashScan *scan)
{
	int64		cursor;

	scan->pattern.data = NULL;
	scan->values = true;
	if (!plc_arg_integer(&request->argv[2], &cursor) || cursor < 0)
		refuse_scan("invalid cursor");
	scan->begins = cursor == 0;
	for (int i = 3; i < request->argc; i++)
	{
		const PlcArg *option = &request->argv[i];

		if (plc_arg_is(option, "novalues"))
			scan->values = false;
		else if (++i == request->argc)
			refuse_scan("syntax error");
		else if (plc_arg_is(option, "match") && request->argv[i].len > PLC_LONGEST_PATTERN)
			refuse_scan("pattern is longer than " CppAsString2(PLC_LONGEST_PATTERN) " bytes");
		else if (plc_arg_is(option, "match"))
			scan->pattern = request->argv[i];
		else if (plc_arg_is(option, "count"))
			check_count(&request->argv[i]);
		else
			refuse_scan("syntax error");
	}
}

/* The next column that matches. */
static bool
next_match(const HashScan *scan, const PlcRowText *row, size_t *at, PlcRowField *field)
{
	while (scan->begins && next_column(row, at, field))
	{
		char	   *name = palloc(Max(field->name_len, 1));
		size_t		len = plc_row_unescape(field->name, field->name_len, name);
		bool		matches = scan->pattern.data == NULL ||
			plc_glob_match(scan->pattern.data, scan->pattern.len, name, len);

		pfree(name);
		if (matches)
			return true;
	}
	return false;
}

PlcOutcome
plc_cmd_hscan(PlcRequest *request)
{
	HashScan	scan;
	PlcRowText	row;
	PlcRowField field;
	size_t		at = 0;
	int			n = 0;

	read_scan(request, &scan);
	if (!plc_rows_text(request, 1, &row))
		return PLC_PARK;
	while (next_match(&scan, &row, &at, &field))
		n++;
	plc_reply_array(request->out, 2);
	plc_reply_string(request->out, "0");
	plc_reply_array(request->out, scan.values ? 2 * n : n);
	for (at = 0; next_match(&scan, &row, &at, &field);)
	{
		reply_unescaped(request, field.name, field.name_len);
		if (scan.values)
			reply_value(request, &field);
	}
	return PLC_DONE;
}
