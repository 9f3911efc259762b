/*
 * cmd_invalidate.c
 *		INVALIDATE: forgets what is cached.
 *
 * Reads are never stale, so nobody needs it to be right; it frees memory, and makes the
 * next reads misses.  As in SQL, it is for the owner of the table or of the database.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "resp/command.h"
#include "resp/names.h"
#include "resp/turn.h"
#include "resp/wirekey.h"
#include "table/entries.h"

static uint64
forget_database(void)
{
	if (!plc_owns_database(MyDatabaseId, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_DATABASE, get_database_name(MyDatabaseId));
	return plc_entries_forget(InvalidOid);
}

static void
check_owns_table(Oid relid)
{
	if (!plc_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
}

/* CRUD, or CRUD: and this database's name? */
static bool
is_database(const PlcArg *scope)
{
	const char *name = get_database_name(MyDatabaseId);
	char		spelled[5 + 2 * NAMEDATALEN + 2] = "CRUD:";
	size_t		len = 5 + plc_wirekey_quote(name, spelled + 5);

	return (scope->len == 4 && memcmp(scope->data, "CRUD", 4) == 0) ||
		(scope->len == len && memcmp(scope->data, spelled, len) == 0);
}

/* The table of CRUD:database.schema.table, with or without a colon behind it, or InvalidOid. */
static Oid
table_of_scope(const PlcArg *scope)
{
	size_t		len = scope->len;
	char	   *spelled = palloc_extended(len + 1, MCXT_ALLOC_HUGE);
	size_t		prefix_len;
	Oid			relid;

	memcpy(spelled, scope->data, len);
	if (len == 0 || spelled[len - 1] != ':')
		spelled[len++] = ':';
	relid = plc_names_find(spelled, len, &prefix_len);
	return prefix_len == len ? relid : InvalidOid;
}

/* A row; false if its table is locked by others. */
static bool
forget_row(const PlcArg *key, uint64 *forgotten)
{
	PlcTurnKey	row;
	Datum		values[INDEX_MAX_KEYS];

	if (!plc_turn_keys(key, 1, 1, AccessShareLock, &row))
		return false;
	if (row.table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("\"%s\" is neither CRUD, nor CRUD:<this database>, nor an attached table, nor a key of one",
						pnstrdup(key->data, Min(key->len, 128)))));
	check_owns_table(row.table->relid);
	plc_turn_key_values(&row, values);
	*forgotten = plc_entries_forget_key(row.table->table, row.table->relation, values);
	return true;
}

PlcOutcome
plc_cmd_invalidate(PlcRequest *request)
{
	const PlcArg *scope = &request->argv[1];
	uint64		forgotten;
	Oid			relid;

	if (is_database(scope))
		forgotten = forget_database();
	else if (OidIsValid(relid = table_of_scope(scope)))
	{
		check_owns_table(relid);
		forgotten = plc_entries_forget(relid);
	}
	else if (!forget_row(scope, &forgotten))
		return PLC_PARK;
	plc_reply_integer(request->out, forgotten);
	return PLC_DONE;
}
