/*
 * statement.c
 *		The SQL statements that write rows by key: made, planned, kept, run.
 *
 * The texts, for a table with the key k and the columns a, b and c, of which a and b
 * are given:
 *
 *	PUT		INSERT INTO s.t AS r (k, a, b) OVERRIDING SYSTEM VALUE
 *				SELECT $1, x.a, x.b FROM json_to_record($2) AS x (a type, b type)
 *				ON CONFLICT (k) DO UPDATE SET a = EXCLUDED.a, b = EXCLUDED.b, c = DEFAULT
 *				RETURNING r.k = $1
 *	INSERT	the same with DO NOTHING
 *	REPLACE	UPDATE ONLY s.t AS r SET a = x.a, b = x.b, c = DEFAULT
 *				FROM json_to_record($2) AS x (…) WHERE r.k = $1 RETURNING r.k = $1
 *	UPDATE	the same without c
 *	CLEAR	UPDATE ONLY s.t AS r SET a = NULL, b = NULL WHERE r.k = $1 RETURNING r.k = $1
 *	LOCK	SELECT r.a IS NOT DISTINCT FROM NULL, … FROM ONLY s.t AS r WHERE r.k = $1
 *				FOR NO KEY UPDATE
 *	DELETE	DELETE FROM ONLY s.t AS r WHERE r.k = $1
 *
 * Every name is qualified, operators and collations too, so the search path does not
 * matter.  ON CONFLICT says collation and operator class, since another unique index
 * on the same columns may take other rows for equal.  A composite value with nothing
 * but nulls IS NULL, but is not null, hence IS NOT DISTINCT FROM.  The key may be an
 * identity column, for which the client, not the sequence, has the value.
 *
 * RETURNING tells whether the row has come out with its key.  It may not: a numeric(5,2)
 * rounds, a trigger does what it likes.  Nobody would find the row where he put it.
 *
 * Plans are kept with the table's descriptor, a bounded number for each table, and go
 * with it.  The descriptor is made anew when the table changes, but not when its schema
 * is renamed, nor an operator.  So a plan is made anew too if the schema has another
 * name, or its last run ended in an error.  And after each run, which may have begun by
 * planning again from a text with an old name, the plan is asked whether it was about
 * this table: writing to another one of the same name is worse than an error.
 */
#include "postgres.h"

#include "catalog/pg_index.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "table/key.h"
#include "table/sqlname.h"
#include "table/write_internal.h"

/*
 * Plans kept, of all tables.  One takes 30 to 100 kB; applications write few sets of
 * columns.
 */
#define MAX_PLANS	256

typedef struct KeptPlan
{
	dlist_node	node;			/* in the list of its table */
	dlist_node	used_node;		/* in that of all */
	PlcStatementKind kind;
	Bitmapset  *columns;
	NameData	schema;			/* the name that it knows the table's schema by */
	SPIPlanPtr	spi;
	bool		unfinished;		/* is being run, or its last run ended in an error */
} KeptPlan;

/* Lives in the descriptor's context. */
typedef struct PlcPlans
{
	dlist_head	list;
	MemoryContextCallback callback;
} PlcPlans;

/* All plans, the one that was used last in front */
static dlist_head used = DLIST_STATIC_INIT(used);
static int	nplans = 0;

/* A text under way. */
typedef struct Writer
{
	StringInfoData sql;
	const PlcWrite *write;
} Writer;

/* ---------- names ---------- */

static void
append_name(Writer *writer, const char *name)
{
	appendStringInfoString(&writer->sql, quote_identifier(name));
}

static void
append_table(Writer *writer)
{
	plc_sql_append_name(&writer->sql, RelationGetNamespace(writer->write->relation),
						RelationGetRelationName(writer->write->relation));
	appendStringInfoString(&writer->sql, " AS r");
}

static void
append_opclass(Writer *writer, Oid opclass)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	appendStringInfoChar(&writer->sql, ' ');
	plc_sql_append_name(&writer->sql, form->opcnamespace, NameStr(form->opcname));
	ReleaseSysCache(tuple);
}

/* ---------- columns ---------- */

static Form_pg_attribute
attribute_of(const Writer *writer, AttrNumber attnum)
{
	return TupleDescAttr(RelationGetDescr(writer->write->relation), attnum - 1);
}

static void
append_column(Writer *writer, AttrNumber attnum)
{
	append_name(writer, NameStr(attribute_of(writer, attnum)->attname));
}

static bool
is_of_key(const PlcTable *table, AttrNumber attnum)
{
	for (int c = 0; c < table->ncolumns; c++)
		if (table->columns[c].attnum == attnum)
			return true;
	return false;
}

/* Can a statement set this column, if only to its default? */
static bool
can_be_set(const PlcTable *table, Form_pg_attribute attribute)
{
	return !attribute->attisdropped && attribute->attgenerated == '\0' &&
		!is_of_key(table, attribute->attnum);
}

bool
plc_statement_has_columns(const PlcWrite *write)
{
	TupleDesc	desc = RelationGetDescr(write->relation);

	for (int i = 0; i < desc->natts; i++)
		if (can_be_set(write->table, TupleDescAttr(desc, i)))
			return true;
	return false;
}

/* r.k = $1 AND …, as the index compares */
static void
append_key_condition(Writer *writer)
{
	for (int c = 0; c < writer->write->table->ncolumns; c++)
	{
		const PlcKeyColumn *column = &writer->write->table->columns[c];

		appendStringInfoString(&writer->sql, c > 0 ? " AND r." : "r.");
		append_column(writer, column->attnum);
		plc_sql_append_operator(&writer->sql, column->equality_operator);
		appendStringInfo(&writer->sql, "$%d", c + 1);
		plc_sql_append_collate(&writer->sql, column->collation);
	}
}

/* FROM json_to_record($2) AS x (a type, b type); nothing if there are no columns */
static void
append_values(Writer *writer)
{
	int			attnum = -1;
	const char *separator = "";

	if (bms_is_empty(writer->write->columns))
		return;
	appendStringInfo(&writer->sql, " FROM pg_catalog.json_to_record($%d) AS x (",
					 writer->write->table->ncolumns + 1);
	while ((attnum = bms_next_member(writer->write->columns, attnum)) >= 0)
	{
		Form_pg_attribute attribute = attribute_of(writer, attnum);

		appendStringInfoString(&writer->sql, separator);
		append_column(writer, attnum);
		appendStringInfo(&writer->sql, " %s",
						 format_type_extended(attribute->atttypid, attribute->atttypmod,
											  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
		separator = ", ";
	}
	appendStringInfoChar(&writer->sql, ')');
}

/* a = x.a, b = x.b; or a = NULL, b = NULL without a source */
static void
append_settings(Writer *writer, const char *source)
{
	int			attnum = -1;
	const char *separator = "";

	while ((attnum = bms_next_member(writer->write->columns, attnum)) >= 0)
	{
		appendStringInfoString(&writer->sql, separator);
		append_column(writer, attnum);
		if (source == NULL)
			appendStringInfoString(&writer->sql, " = NULL");
		else
		{
			appendStringInfo(&writer->sql, " = %s.", source);
			append_column(writer, attnum);
		}
		separator = ", ";
	}
}

/* c = DEFAULT: all that can be set and is not given */
static void
append_resets(Writer *writer)
{
	TupleDesc	desc = RelationGetDescr(writer->write->relation);
	const char *separator = bms_is_empty(writer->write->columns) ? "" : ", ";

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!can_be_set(writer->write->table, attribute) ||
			bms_is_member(attribute->attnum, writer->write->columns))
			continue;
		appendStringInfoString(&writer->sql, separator);
		append_column(writer, attribute->attnum);
		appendStringInfoString(&writer->sql, " = DEFAULT");
		separator = ", ";
	}
}

/* ---------- statements ---------- */

/* ", a, b" or ", x.a, x.b" */
static void
append_columns(Writer *writer, const char *separator)
{
	int			attnum = -1;

	while ((attnum = bms_next_member(writer->write->columns, attnum)) >= 0)
	{
		appendStringInfoString(&writer->sql, separator);
		append_column(writer, attnum);
	}
}

/* (k, a, b) OVERRIDING SYSTEM VALUE SELECT $1, x.a, x.b FROM … */
static void
append_new_row(Writer *writer)
{
	const PlcTable *table = writer->write->table;
	StringInfo	sql = &writer->sql;

	for (int c = 0; c < table->ncolumns; c++)
	{
		appendStringInfoString(sql, c > 0 ? ", " : " (");
		append_column(writer, table->columns[c].attnum);
	}
	append_columns(writer, ", ");
	for (int c = 0; c < table->ncolumns; c++)
		appendStringInfo(sql, "%s$%d", c > 0 ? ", " : ") OVERRIDING SYSTEM VALUE SELECT ", c + 1);
	append_columns(writer, ", x.");
	append_values(writer);
}

/* (k COLLATE … opclass, …): what makes the key's index, and no other, the arbiter */
static void
append_arbiter(Writer *writer)
{
	const PlcTable *table = writer->write->table;
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(table->index));
	oidvector  *opclasses;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", table->index);
	opclasses = (oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, tuple,
															  Anum_pg_index_indclass, &isnull));
	for (int c = 0; c < table->ncolumns; c++)
	{
		appendStringInfoString(&writer->sql, c > 0 ? ", " : "");
		append_column(writer, table->columns[c].attnum);
		plc_sql_append_collate(&writer->sql, table->columns[c].collation);
		append_opclass(writer, opclasses->values[c]);
	}
	ReleaseSysCache(tuple);
}

static void
append_insert(Writer *writer, bool update)
{
	appendStringInfoString(&writer->sql, "INSERT INTO ");
	append_table(writer);
	append_new_row(writer);
	appendStringInfoString(&writer->sql, " ON CONFLICT (");
	append_arbiter(writer);
	if (update && plc_statement_has_columns(writer->write))
	{
		appendStringInfoString(&writer->sql, ") DO UPDATE SET ");
		append_settings(writer, "EXCLUDED");
		append_resets(writer);
	}
	else
		appendStringInfoString(&writer->sql, ") DO NOTHING");
}

static void
append_update(Writer *writer, bool reset)
{
	appendStringInfoString(&writer->sql, "UPDATE ONLY ");
	append_table(writer);
	appendStringInfoString(&writer->sql, " SET ");
	append_settings(writer, "x");
	if (reset)
		append_resets(writer);
	append_values(writer);
	appendStringInfoString(&writer->sql, " WHERE ");
	append_key_condition(writer);
}

static void
append_clear(Writer *writer)
{
	appendStringInfoString(&writer->sql, "UPDATE ONLY ");
	append_table(writer);
	appendStringInfoString(&writer->sql, " SET ");
	append_settings(writer, NULL);
	appendStringInfoString(&writer->sql, " WHERE ");
	append_key_condition(writer);
}

static void
append_lock(Writer *writer)
{
	int			attnum = -1;
	const char *separator = "";

	appendStringInfoString(&writer->sql, "SELECT ");
	while ((attnum = bms_next_member(writer->write->columns, attnum)) >= 0)
	{
		appendStringInfo(&writer->sql, "%sr.", separator);
		append_column(writer, attnum);
		appendStringInfoString(&writer->sql, " IS NOT DISTINCT FROM NULL");
		separator = ", ";
	}
	appendStringInfoString(&writer->sql, " FROM ONLY ");
	append_table(writer);
	appendStringInfoString(&writer->sql, " WHERE ");
	append_key_condition(writer);
	appendStringInfoString(&writer->sql, " FOR NO KEY UPDATE");
}

static void
append_delete(Writer *writer)
{
	appendStringInfoString(&writer->sql, "DELETE FROM ONLY ");
	append_table(writer);
	appendStringInfoString(&writer->sql, " WHERE ");
	append_key_condition(writer);
}

/* Does the statement say what key the row came out with? */
static bool
returns_key(PlcStatementKind kind)
{
	return kind != PLC_STATEMENT_LOCK && kind != PLC_STATEMENT_DELETE;
}

static void
append_statement(Writer *writer, PlcStatementKind kind)
{
	switch (kind)
	{
		case PLC_STATEMENT_PUT:
		case PLC_STATEMENT_INSERT:
			append_insert(writer, kind == PLC_STATEMENT_PUT);
			break;
		case PLC_STATEMENT_REPLACE:
		case PLC_STATEMENT_UPDATE:
			append_update(writer, kind == PLC_STATEMENT_REPLACE);
			break;
		case PLC_STATEMENT_CLEAR:
			append_clear(writer);
			break;
		case PLC_STATEMENT_LOCK:
			append_lock(writer);
			break;
		case PLC_STATEMENT_DELETE:
			append_delete(writer);
			break;
	}
	if (returns_key(kind))
	{
		appendStringInfoString(&writer->sql, " RETURNING ");
		append_key_condition(writer);
	}
}

/* ---------- plans ---------- */

static void
free_plan(KeptPlan *plan)
{
	dlist_delete(&plan->node);
	dlist_delete(&plan->used_node);
	nplans--;
	SPI_freeplan(plan->spi);
	bms_free(plan->columns);
	pfree(plan);
}

/* The descriptor goes; the list itself is in its memory. */
static void
free_plans(void *arg)
{
	PlcPlans   *plans = arg;

	while (!dlist_is_empty(&plans->list))
		free_plan(dlist_head_element(KeptPlan, node, &plans->list));
}

static PlcPlans *
plans_of(PlcTable *table)
{
	PlcPlans   *plans = table->plans;

	if (plans != NULL)
		return plans;
	plans = MemoryContextAllocZero(table->context, sizeof(PlcPlans));
	dlist_init(&plans->list);
	plans->callback.func = free_plans;
	plans->callback.arg = plans;
	MemoryContextRegisterResetCallback(table->context, &plans->callback);
	return table->plans = plans;
}

static SPIPlanPtr
prepare(const PlcWrite *write, PlcStatementKind kind)
{
	const PlcTable *table = write->table;
	Writer		writer = {.write = write};
	Oid			types[INDEX_MAX_KEYS + 1];
	SPIPlanPtr	plan;

	initStringInfo(&writer.sql);
	append_statement(&writer, kind);
	for (int c = 0; c < table->ncolumns; c++)
		types[c] = table->columns[c].type;
	types[table->ncolumns] = JSONOID;
	plan = SPI_prepare_cursor(writer.sql.data, table->ncolumns + 1, types,
							  CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "could not prepare statement on table \"%s\": %s",
			 RelationGetRelationName(write->relation), SPI_result_code_string(SPI_result));
	pfree(writer.sql.data);
	return plan;
}

/* Keeps a plan: from here on it is in the list or it is freed. */
static KeptPlan *
keep(PlcPlans *plans, const PlcWrite *write, PlcStatementKind kind, SPIPlanPtr spi)
{
	const char *schema = get_namespace_name(RelationGetNamespace(write->relation));
	MemoryContext caller = MemoryContextSwitchTo(CacheMemoryContext);
	KeptPlan   *plan = palloc0(sizeof(KeptPlan));

	plan->kind = kind;
	plan->columns = bms_copy(write->columns);
	namestrcpy(&plan->schema, schema);
	MemoryContextSwitchTo(caller);
	SPI_keepplan(spi);
	plan->spi = spi;
	dlist_push_head(&plans->list, &plan->node);
	dlist_push_head(&used, &plan->used_node);
	nplans++;
	return plan;
}

static KeptPlan *
find_plan(PlcPlans *plans, const PlcWrite *write, PlcStatementKind kind)
{
	dlist_iter	iter;

	dlist_foreach(iter, &plans->list)
	{
		KeptPlan   *plan = dlist_container(KeptPlan, node, iter.cur);

		if (plan->kind == kind && bms_equal(plan->columns, write->columns))
			return plan;
	}
	return NULL;
}

/* Did its last run end well, and is the schema still called as it was? */
static bool
is_usable(const KeptPlan *plan, Relation relation)
{
	const char *schema = get_namespace_name(RelationGetNamespace(relation));

	return !plan->unfinished && schema != NULL && strcmp(schema, NameStr(plan->schema)) == 0;
}

static KeptPlan *
get_plan(const PlcWrite *write, PlcStatementKind kind)
{
	PlcPlans   *plans = plans_of(write->table);
	KeptPlan   *plan = find_plan(plans, write, kind);

	if (plan != NULL && is_usable(plan, write->relation))
	{
		dlist_move_head(&used, &plan->used_node);
		return plan;
	}
	if (plan != NULL)
		free_plan(plan);
	while (nplans >= MAX_PLANS)
		free_plan(dlist_tail_element(KeptPlan, used_node, &used));
	return keep(plans, write, kind, prepare(write, kind));
}

/* ---------- running ---------- */

/* The lock on the table does not hold its name, nor its schema's: see above. */
static void
check_target(const KeptPlan *plan, Relation relation)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan->spi));

	if (!list_member_oid(source->relationOids, RelationGetRelid(relation)))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("table \"%s\" was renamed or replaced while it was written to",
						RelationGetRelationName(relation)),
				 errhint("Try again.")));
}

static bool
result_is_true(int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);

	return !isnull && DatumGetBool(value);
}

static void
check_key(const PlcWrite *write)
{
	if (!result_is_true(1))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("table \"%s\" would store the row %s under another key",
						RelationGetRelationName(write->relation),
						plc_key_describe(write->table, write->key)),
				 errdetail("A trigger changes the key, or the type of its column rounds it.")));
}

/* Executes a statement, which leaves its result where SPI has it; how many rows? */
static uint64
execute(const PlcWrite *write, PlcStatementKind kind)
{
	int			nkeys = write->table->ncolumns;
	KeptPlan   *plan = get_plan(write, kind);
	Datum		values[INDEX_MAX_KEYS + 1];
	char		nulls[INDEX_MAX_KEYS + 1];
	int			result;

	memcpy(values, write->key, nkeys * sizeof(Datum));
	memset(nulls, ' ', sizeof(nulls));
	values[nkeys] = write->json;
	if (write->json == (Datum) 0)
		nulls[nkeys] = 'n';

	plan->unfinished = true;
	result = SPI_execute_plan(plan->spi, values, nulls, false, 0);
	if (result < 0)
		elog(ERROR, "could not write a row of table \"%s\": %s",
			 RelationGetRelationName(write->relation), SPI_result_code_string(result));
	check_target(plan, write->relation);
	plan->unfinished = false;
	return SPI_processed;
}

bool
plc_statement_run(const PlcWrite *write, PlcStatementKind kind)
{
	if (execute(write, kind) == 0)
		return false;
	if (returns_key(kind))
		check_key(write);
	return true;
}

bool
plc_statement_lock(const PlcWrite *write, int *nulls)
{
	*nulls = 0;
	if (execute(write, PLC_STATEMENT_LOCK) == 0)
		return false;
	for (int i = 1; i <= SPI_tuptable->tupdesc->natts; i++)
		*nulls += result_is_true(i);
	return true;
}
