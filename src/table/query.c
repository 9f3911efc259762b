/*
 * query.c
 *		Rows by key through an ordinary query.
 *
 * For what only the planner and the executor can do: row security policies,
 * virtual generated columns, an index that this snapshot must not use.  The
 * query runs read-only, hence under the caller's snapshot, once a key; it is
 * planned once a call.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "table/query.h"
#include "table/read_internal.h"
#include "table/sqlname.h"

/* A name for the whole row, which must not be the name of a column. */
static char *
row_alias(Relation relation)
{
	char	   *alias = pstrdup("t");

	while (get_attnum(RelationGetRelid(relation), alias) != InvalidAttrNumber)
		alias = psprintf("%s_", alias);
	return alias;
}

/*
 * SELECT t FROM ONLY table t WHERE column = $1 AND …, each by the collation of
 * the index.
 */
static SPIPlanPtr
prepare(PlcTable *table, Relation relation, bool json)
{
	StringInfoData sql;
	Oid			types[INDEX_MAX_KEYS];
	SPIPlanPtr	plan;
	char	   *row = row_alias(relation);

	initStringInfo(&sql);
	appendStringInfo(&sql, json ? "SELECT pg_catalog.row_to_json(%s) FROM ONLY %s AS %s WHERE "
					 : "SELECT %s FROM ONLY %s AS %s WHERE ", row,
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
												RelationGetRelationName(relation)), row);
	for (int i = 0; i < table->ncolumns; i++)
	{
		PlcKeyColumn *column = &table->columns[i];

		types[i] = column->type;
		appendStringInfo(&sql, "%s%s.%s", i > 0 ? " AND " : "", row, quote_identifier(column->name));
		plc_sql_append_operator(&sql, column->equality_operator);
		appendStringInfo(&sql, "$%d", i + 1);
		plc_sql_append_collate(&sql, column->collation);
	}
	plan = SPI_prepare(sql.data, table->ncolumns, types);
	if (plan == NULL)
		elog(ERROR, "could not prepare query on table \"%s\": %s",
			 RelationGetRelationName(relation), SPI_result_code_string(SPI_result));
	return plan;
}

/* The first column of the only row; false if there is no row. */
static bool
execute(SPIPlanPtr plan, Datum *values, Datum *result)
{
	bool		isnull;
	int			rc = SPI_execute_plan(plan, values, NULL, true, 1);

	if (rc != SPI_OK_SELECT)
		elog(ERROR, "could not read a row by its key: %s", SPI_result_code_string(rc));
	if (SPI_processed == 0)
		return false;
	*result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	return !isnull;
}

static void
sink_json(PlcSink *sink, Datum json)
{
	text	   *packed = DatumGetTextPP(json);

	plc_serve_text(sink, VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed));
}

static void
sink_composite(PlcSink *sink, Datum composite, TupleDesc desc)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(composite);
	HeapTupleData tuple;

	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	sink->tuple(sink, &tuple, desc);
}

/* Gives the rows of all keys to the sink, in order. */
void
plc_query_rows(PlcTable *table, Relation relation, const PlcKeys *keys, PlcSink *sink)
{
	bool		json = sink->wants == PLC_ENTRY_JSON;
	SPIPlanPtr	plan;

	SPI_connect();
	plan = prepare(table, relation, json);
	for (int i = 0; i < keys->nkeys; i++)
	{
		Datum		result;

		if (keys->nulls[i] || !execute(plan, &keys->values[i * keys->ncolumns], &result))
			sink->absent(sink);
		else if (json)
			sink_json(sink, result);
		else
			sink_composite(sink, result, RelationGetDescr(relation));
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_finish();
}
