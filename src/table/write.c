/*
 * write.c
 *		Rows written by key: for tables attached as writable.
 *
 * Writing needs no cache: what is written becomes visible by its commit, and what
 * the cache holds is proven at each read.  So a write is what it would be from any
 * SQL client: statements with the current role's privileges, with constraints and
 * triggers.
 *
 * Row security is refused: hidden rows still take part in ON CONFLICT, and whoever
 * probes keys would be told of them.
 *
 * What triggers may do, and what it means here: a BEFORE trigger that drops the row
 * makes SET and HSET an error and DEL count nothing; one that changes the key is an
 * error.  With NX and XX a dropped row looks as if the condition had not been met.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "table/key.h"
#include "table/write_internal.h"

/*
 * Attempts to find a row or make one.  Each that fails means that another has made
 * and yet another removed it in between.
 */
#define MAX_ATTEMPTS	20

static bool
has_write_rules(Relation relation)
{
	RuleLock   *rules = relation->rd_rules;

	for (int i = 0; rules != NULL && i < rules->numLocks; i++)
		if (rules->rules[i]->event != CMD_SELECT)
			return true;
	return false;
}

void
plc_write_check(const PlcTable *table, Relation relation)
{
	const char *name = RelationGetRelationName(relation);

	if (!table->writable)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is attached for reading only", name),
				 errhint("Attach it again with writable => true.")));
	if (has_write_rules(relation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has rules, so its rows cannot be written by key", name)));
	if (relation->rd_rel->relrowsecurity &&
		check_enable_rls(table->relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row security of table \"%s\" applies to role \"%s\", so it is not served here",
						name, GetUserNameFromId(GetUserId(), false))));
}

/* Input functions want a snapshot, and so does whoever plans a statement. */
static void
begin(PlcWrite *write, PlcTable *table, Relation relation, const Datum *key)
{
	memset(write, 0, sizeof(*write));
	write->table = table;
	write->relation = relation;
	write->key = key;
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
}

static void
end(void)
{
	SPI_finish();
	PopActiveSnapshot();
}

static void
refuse_unwritten_row(const PlcWrite *write)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
			 errmsg("row %s of table \"%s\" was not written: a trigger prevented it, or the column's type rounds the key to that of another row",
					plc_key_describe(write->table, write->key),
					RelationGetRelationName(write->relation))));
}

/* A row with nothing but a key may be there already, and then there is nothing to do. */
static bool
put(const PlcWrite *write)
{
	if (!plc_statement_run(write, PLC_STATEMENT_PUT) && plc_statement_has_columns(write))
		refuse_unwritten_row(write);
	return true;
}

static bool
replace(const PlcWrite *write)
{
	int			nulls;

	return plc_statement_has_columns(write) ? plc_statement_run(write, PLC_STATEMENT_REPLACE)
		: plc_statement_lock(write, &nulls);
}

static bool
write_row(const PlcWrite *write, PlcWriteMode mode)
{
	switch (mode)
	{
		case PLC_WRITE_NEW:
			return plc_statement_run(write, PLC_STATEMENT_INSERT);
		case PLC_WRITE_EXISTING:
			return replace(write);
		default:
			return put(write);
	}
}

bool
plc_write_row(PlcTable *table, Relation relation, const Datum *key,
			  const char *json, size_t len, PlcWriteMode mode)
{
	PlcWrite	write;
	bool		written;

	begin(&write, table, relation, key);
	plc_given_row(&write, json, len);
	written = write_row(&write, mode);
	end();
	return written;
}

/*
 * The row is locked, so that nobody writes to it between the look at what is null and
 * the update; and updated before it is inserted, since an INSERT would want values for
 * columns that are not given.
 */
static int
set_fields(const PlcWrite *write, int nfields)
{
	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		int			nulls;

		CHECK_FOR_INTERRUPTS();
		if (plc_statement_lock(write, &nulls))
		{
			if (!bms_is_empty(write->columns) && !plc_statement_run(write, PLC_STATEMENT_UPDATE))
				break;
			return nulls;
		}
		if (plc_statement_run(write, PLC_STATEMENT_INSERT))
			return nfields;
	}
	refuse_unwritten_row(write);
	return 0;
}

int
plc_write_fields(PlcTable *table, Relation relation, const Datum *key,
				 const PlcWriteField *fields, int nfields)
{
	PlcWrite	write;
	int			added;

	begin(&write, table, relation, key);
	plc_given_fields(&write, fields, nfields);
	added = set_fields(&write, nfields);
	end();
	return added;
}

int
plc_write_clear(PlcTable *table, Relation relation, const Datum *key,
				const PlcWriteField *fields, int nfields)
{
	PlcWrite	write;
	int			nulls;
	int			cleared = 0;

	begin(&write, table, relation, key);
	plc_given_names(&write, fields, nfields);
	if (plc_statement_lock(&write, &nulls))
		cleared = nfields - nulls;
	if (cleared > 0 && !plc_statement_run(&write, PLC_STATEMENT_CLEAR))
		refuse_unwritten_row(&write);
	end();
	return cleared;
}

bool
plc_write_delete(PlcTable *table, Relation relation, const Datum *key)
{
	PlcWrite	write;
	bool		deleted;

	begin(&write, table, relation, key);
	deleted = plc_statement_run(&write, PLC_STATEMENT_DELETE);
	end();
	return deleted;
}
