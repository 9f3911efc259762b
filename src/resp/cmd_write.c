/*
 * cmd_write.c
 *		Commands that write rows: SET, SETNX, MSET, DEL, HSET, HMSET, HDEL.
 *
 * Each runs in a transaction of its own, which is committed before the reply is sent;
 * or in that of an EXEC.  All tables are locked before anything is written, so that a
 * command can still be put off; a row that is locked by others ends the attempt with an
 * error, and server.c has it come again.
 *
 * What cannot be is raised as an error, misspelled options too, so that an EXEC with one
 * of these is rolled back.
 *
 * Commands of several keys lock their rows in the order of the keys.  Two that go in
 * opposite directions do not wait for each other for long: each gives up after some
 * milliseconds, with all it has locked, and comes again after a pause.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "storage/lockdefs.h"

#include "resp/command.h"
#include "resp/turn.h"
#include "resp/worker.h"
#include "table/write.h"

/* Bytes of a key in a message. */
#define MAX_KEY_SHOWN	200

static void
refuse_foreign_key(const PlcArg *arg)
{
	const char *shown = "?";

	/* In this order: half a character at the end would be taken for a whole one. */
	if (pg_verifymbstr(arg->data, arg->len, true))
		shown = pnstrdup(arg->data, pg_mbcliplen(arg->data, arg->len, MAX_KEY_SHOWN));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("key \"%s\" names no table that is attached to the cache", shown)));
}

/*
 * The keys args[0], args[step], … (n of them), their tables locked for writing; NULL if
 * one cannot be, and the command is to be put off.
 */
static PlcTurnKey *
find_keys(const PlcArg *args, int n, int step)
{
	PlcTurnKey *keys = palloc(n * sizeof(PlcTurnKey));

	if (!plc_turn_keys(args, n, step, RowExclusiveLock, keys))
		return NULL;
	for (int i = 0; i < n; i++)
		if (keys[i].table == NULL)
			refuse_foreign_key(&args[i * step]);
	plc_turn_ran_user_code();	/* from here on triggers may run, even if this fails */
	return keys;
}

/* Rows were written, n of them. */
static void
note_writes(int n)
{
	plc_turn_written();
	plc_worker_count(PLC_ENDPOINT_WRITES, n);
}

static bool
write_row(const PlcTurnKey *key, const PlcArg *json, PlcWriteMode mode)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		written;

	plc_turn_key_values(key, values);
	written = plc_write_row(key->table->table, key->table->relation, values,
							json->data, json->len, mode);
	note_writes(written);
	return written;
}

/* ---------- whole rows ---------- */

static void
refuse_syntax(const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("%s", message)));
}

static void
refuse_expiry(const char *option)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("rows do not expire: option %s is not supported", option)));
}

/* One of SET's options; raises an error for one that cannot be. */
static void
read_option(const PlcArg *option, PlcWriteMode *mode)
{
	static const char *const expiry[] = {"EX", "PX", "EXAT", "PXAT", "KEEPTTL"};
	PlcWriteMode wanted = PLC_WRITE_ANY;

	for (int i = 0; i < lengthof(expiry); i++)
		if (option->len == strlen(expiry[i]) &&
			pg_strncasecmp(option->data, expiry[i], option->len) == 0)
			refuse_expiry(expiry[i]);
	if (plc_arg_is(option, "get"))
		refuse_syntax("option GET is not supported: use GET in front of SET, within MULTI if need be");
	if (plc_arg_is(option, "nx"))
		wanted = PLC_WRITE_NEW;
	else if (plc_arg_is(option, "xx"))
		wanted = PLC_WRITE_EXISTING;
	if (wanted == PLC_WRITE_ANY || *mode != PLC_WRITE_ANY)
		refuse_syntax("syntax error");
	*mode = wanted;
}

PlcOutcome
plc_cmd_set(PlcRequest *request)
{
	PlcWriteMode mode = PLC_WRITE_ANY;
	PlcTurnKey *key;

	for (int i = 3; i < request->argc; i++)
		read_option(&request->argv[i], &mode);
	if ((key = find_keys(&request->argv[1], 1, 1)) == NULL)
		return PLC_PARK;
	if (write_row(key, &request->argv[2], mode))
		plc_reply_simple(request->out, "OK");
	else
		plc_reply_null(request->out, request->conn->protocol);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_setnx(PlcRequest *request)
{
	PlcTurnKey *key = find_keys(&request->argv[1], 1, 1);

	if (key == NULL)
		return PLC_PARK;
	plc_reply_integer(request->out, write_row(key, &request->argv[2], PLC_WRITE_NEW));
	return PLC_DONE;
}

static void
refuse_count(const PlcRequest *request)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("wrong number of arguments for '%s' command", request->command->name)));
}

PlcOutcome
plc_cmd_mset(PlcRequest *request)
{
	int			n = request->argc / 2;
	PlcTurnKey *keys;

	if (request->argc % 2 == 0)
		refuse_count(request);
	if ((keys = find_keys(&request->argv[1], n, 2)) == NULL)
		return PLC_PARK;
	for (int i = 0; i < n; i++)
		write_row(&keys[i], &request->argv[2 + 2 * i], PLC_WRITE_ANY);
	plc_reply_simple(request->out, "OK");
	return PLC_DONE;
}

static bool
delete_row(const PlcTurnKey *key)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		deleted;

	plc_turn_key_values(key, values);
	deleted = plc_write_delete(key->table->table, key->table->relation, values);
	note_writes(deleted);
	return deleted;
}

PlcOutcome
plc_cmd_del(PlcRequest *request)
{
	int			n = request->argc - 1;
	PlcTurnKey *keys = find_keys(&request->argv[1], n, 1);
	int			deleted = 0;

	if (keys == NULL)
		return PLC_PARK;
	for (int i = 0; i < n; i++)
		deleted += delete_row(&keys[i]);
	plc_reply_integer(request->out, deleted);
	return PLC_DONE;
}

/* ---------- some columns ---------- */

/* The columns that stand after the key, with values in between if step is 2. */
static PlcWriteField *
read_fields(PlcRequest *request, int step, int *n)
{
	PlcWriteField *fields;

	*n = (request->argc - 2) / step;
	fields = palloc(*n * sizeof(PlcWriteField));
	for (int i = 0; i < *n; i++)
	{
		const PlcArg *arg = &request->argv[2 + i * step];

		fields[i] = (PlcWriteField) {arg[0].data, arg[0].len,
			step == 2 ? arg[1].data : NULL, step == 2 ? arg[1].len : 0};
	}
	return fields;
}

/* HSET or HMSET; *added is what HSET answers. */
static PlcOutcome
set_fields(PlcRequest *request, int *added)
{
	Datum		values[INDEX_MAX_KEYS];
	PlcTurnKey *key = find_keys(&request->argv[1], 1, 1);
	PlcWriteField *fields;
	int			n;

	if (key == NULL)
		return PLC_PARK;
	fields = read_fields(request, 2, &n);
	plc_turn_key_values(key, values);
	*added = plc_write_fields(key->table->table, key->table->relation, values, fields, n);
	note_writes(1);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hset(PlcRequest *request)
{
	int			added;

	if (request->argc % 2 != 0)
		refuse_count(request);
	if (set_fields(request, &added) == PLC_PARK)
		return PLC_PARK;
	plc_reply_integer(request->out, added);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hmset(PlcRequest *request)
{
	int			added;

	if (request->argc % 2 != 0)
		refuse_count(request);
	if (set_fields(request, &added) == PLC_PARK)
		return PLC_PARK;
	plc_reply_simple(request->out, "OK");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_hdel(PlcRequest *request)
{
	Datum		values[INDEX_MAX_KEYS];
	PlcTurnKey *key = find_keys(&request->argv[1], 1, 1);
	PlcWriteField *fields;
	int			n;
	int			cleared;

	if (key == NULL)
		return PLC_PARK;
	fields = read_fields(request, 1, &n);
	plc_turn_key_values(key, values);
	cleared = plc_write_clear(key->table->table, key->table->relation, values, fields, n);
	note_writes(cleared > 0);
	plc_reply_integer(request->out, cleared);
	return PLC_DONE;
}
