/*
 * sqlname.c
 *		Names in generated statements, with their schemas, so that no search path counts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "table/sqlname.h"

void
plc_sql_append_name(StringInfo sql, Oid schema, const char *name)
{
	appendStringInfoString(sql, quote_qualified_identifier(get_namespace_name(schema), name));
}

void
plc_sql_append_operator(StringInfo sql, Oid operator)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	Form_pg_operator form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	appendStringInfo(sql, " OPERATOR(%s.%s) ",
					 quote_identifier(get_namespace_name(form->oprnamespace)),
					 NameStr(form->oprname));
	ReleaseSysCache(tuple);
}

void
plc_sql_append_collate(StringInfo sql, Oid collation)
{
	HeapTuple	tuple;
	Form_pg_collation form;

	if (!OidIsValid(collation))
		return;
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	appendStringInfoString(sql, " COLLATE ");
	plc_sql_append_name(sql, form->collnamespace, NameStr(form->collname));
	ReleaseSysCache(tuple);
}
