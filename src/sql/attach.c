/*
 * attach.c
 *		attach_table, detach_table and invalidate.
 *
 * Attaching writes a row of local_cache.mapping and nothing else: no trigger,
 * no privilege, no lock that outlasts a SELECT's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_index.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "resp/wirekey.h"
#include "sql/json.h"
#include "table/eligible.h"
#include "table/entries.h"
#include "table/mapping.h"
#include "table/table.h"

PG_FUNCTION_INFO_V1(plc_attach_table);
PG_FUNCTION_INFO_V1(plc_detach_table);
PG_FUNCTION_INFO_V1(plc_invalidate);

/* Opens and locks a relation of which the current role must be the owner. */
static Relation
open_owned(Oid relid)
{
	Relation	relation = try_relation_open(relid, AccessShareLock);

	if (relation == NULL)
		plc_eligible_missing(relid);
	if (!plc_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(relation->rd_rel->relkind),
					   RelationGetRelationName(relation));
	return relation;
}

/*
 * A namespace stands before a colon in keys of Redis clients, so it must not
 * hold what ends it there, nor look like the long form of a key.
 */
static void
check_namespace(const char *name, Oid relid)
{
	Oid			holder = plc_mapping_namespace_holder(name);

	if (*name == '\0' || strlen(name) >= NAMEDATALEN || strcmp(name, "CRUD") == 0 ||
		strpbrk(name, ":\" {}\t\r\n") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("namespace \"%s\" is not valid", name),
				 errdetail("A namespace has 1 to %d bytes, no colon, double quote, brace or white space, and is not CRUD.",
						   NAMEDATALEN - 1)));
	if (OidIsValid(holder) && holder != relid)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("namespace \"%s\" is already used by table \"%s\"",
						name, get_rel_name(holder))));
}

/* The names of the columns of an index, in its order; NIL for the primary key. */
static List *
key_column_names(Relation relation, Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;
	List	   *names = NIL;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	form = (Form_pg_index) GETSTRUCT(tuple);
	for (int i = 0; i < form->indnkeyatts && !form->indisprimary; i++)
		names = lappend(names, pstrdup(NameStr(TupleDescAttr(RelationGetDescr(relation),
															 form->indkey.values[i] - 1)->attname)));
	ReleaseSysCache(tuple);
	return names;
}

/* Refuses what can never be served; finds what the mapping says of the key. */
static void
choose_key(Relation relation, Oid key_index, PlcMapping *mapping)
{
	PlcRefusal	refusal = plc_eligible_relation(relation);

	if (refusal != PLC_ELIGIBLE)
		plc_eligible_refuse(refusal, relation, InvalidOid);
	if (OidIsValid(key_index))
		refusal = plc_eligible_index(relation, key_index);
	else
		refusal = plc_eligible_find_index(relation, NIL, NULL, &key_index);
	if (refusal != PLC_ELIGIBLE)
		plc_eligible_refuse(refusal, relation, key_index);
	mapping->key_columns = key_column_names(relation, key_index);
	mapping->key_index = mapping->key_columns == NIL ? NULL : get_rel_name(key_index);
}

/* A name as it stands in a key. */
static void
append_name(StringInfo key, const char *name, char end)
{
	char		quoted[2 * NAMEDATALEN + 2];

	appendBinaryStringInfo(key, quoted, plc_wirekey_quote(name, quoted));
	appendStringInfoChar(key, end);
}

/* CRUD:app.public.items:{"id":<id>} */
static char *
wire_key_template(Relation relation, const PlcTable *table)
{
	StringInfoData key;

	initStringInfo(&key);
	appendStringInfoString(&key, "CRUD:");
	append_name(&key, get_database_name(MyDatabaseId), '.');
	append_name(&key, get_namespace_name(RelationGetNamespace(relation)), '.');
	append_name(&key, RelationGetRelationName(relation), ':');
	appendStringInfoChar(&key, '{');
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (i > 0)
			appendStringInfoChar(&key, ',');
		escape_json(&key, table->columns[i].name);
		appendStringInfo(&key, ":<%s>", table->columns[i].name);
	}
	appendStringInfoChar(&key, '}');
	return key.data;
}

/* Why this table's rows are not cached now, or NULL. */
static const char *
not_cached_because(Relation relation, const PlcTable *table)
{
	const char *reason = plc_table_uncacheable(table);

	if (reason == NULL && relation->rd_rel->relrowsecurity)
		reason = "row security is enabled: roles that it applies to are answered by a query";
	return reason;
}

/* What attach_table answers. */
static Datum
describe(Relation relation, const PlcTable *table)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	plc_json_string(&json, "relation",
					quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
											   RelationGetRelationName(relation)));
	plc_json_name(&json, "key_columns");
	for (int i = 0; i < table->ncolumns; i++)
	{
		appendStringInfoChar(&json, i == 0 ? '[' : ',');
		escape_json(&json, table->columns[i].name);
	}
	appendStringInfoChar(&json, ']');
	plc_json_string(&json, "key_index", get_rel_name(table->index));
	plc_json_string(&json, "key", wire_key_template(relation, table));
	plc_json_string(&json, "namespace", table->namespace_name);
	plc_json_bool(&json, "writable", table->writable);
	plc_json_bool(&json, "cacheable", plc_table_uncacheable(table) == NULL);
	plc_json_string(&json, "reason", not_cached_because(relation, table));
	appendStringInfoChar(&json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

Datum
plc_attach_table(PG_FUNCTION_ARGS)
{
	PlcMapping	mapping;
	Relation	relation;
	Datum		result;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null",
						PG_ARGISNULL(0) ? "relation" : "writable")));
	relation = open_owned(PG_GETARG_OID(0));
	mapping.writable = PG_GETARG_BOOL(1);
	mapping.namespace_name = PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2));
	if (mapping.namespace_name != NULL)
		check_namespace(mapping.namespace_name, RelationGetRelid(relation));
	choose_key(relation, PG_ARGISNULL(3) ? InvalidOid : PG_GETARG_OID(3), &mapping);

	plc_mapping_write(RelationGetRelid(relation), &mapping);
	CommandCounterIncrement();

	plc_table_enter();
	result = describe(relation, plc_table_get(relation));
	plc_table_leave();
	relation_close(relation, NoLock);
	return result;
}

Datum
plc_detach_table(PG_FUNCTION_ARGS)
{
	Relation	relation = open_owned(PG_GETARG_OID(0));
	Oid			relid = RelationGetRelid(relation);
	bool		detached;

	detached = plc_mapping_delete(relid);
	relation_close(relation, NoLock);
	plc_entries_forget(relid);
	PG_RETURN_BOOL(detached);
}

Datum
plc_invalidate(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
	{
		if (!plc_owns_database(MyDatabaseId, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_DATABASE, get_database_name(MyDatabaseId));
		PG_RETURN_INT64(plc_entries_forget(InvalidOid));
	}
	relation_close(open_owned(PG_GETARG_OID(0)), NoLock);
	PG_RETURN_INT64(plc_entries_forget(PG_GETARG_OID(0)));
}
