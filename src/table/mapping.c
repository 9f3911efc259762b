/*
 * mapping.c
 *		The table local_cache.mapping: which tables are attached, and how.
 *
 * An ordinary table of the extension, so that pg_dump takes it along.  Reading
 * it needs no privilege on it: it is read as a catalog is, with the newest
 * committed contents, from inside.  Writing goes through SPI as the table's
 * owner, after attach_table has checked who asks.
 *
 * Each write sends a relcache invalidation for the mapping table.  It reaches
 * every session at commit, and a standby with the commit record; descriptor.c
 * then makes its descriptors anew.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "table/mapping.h"

#define MAPPING_SCHEMA	"local_cache"
#define MAPPING_TABLE	"mapping"
#define MAPPING_INDEX	"mapping_pkey"

/* Columns of the table */
#define Anum_mapping_relation		1
#define Anum_mapping_key_columns	2
#define Anum_mapping_key_index		3
#define Anum_mapping_writable		4
#define Anum_mapping_namespace		5

/* The oid of the mapping table, or InvalidOid if the extension is not there. */
Oid
plc_mapping_relid(void)
{
	Oid			schema = get_namespace_oid(MAPPING_SCHEMA, true);

	return OidIsValid(schema) ? get_relname_relid(MAPPING_TABLE, schema) : InvalidOid;
}

static Oid
mapping_index(Relation mapping)
{
	return get_relname_relid(MAPPING_INDEX, RelationGetNamespace(mapping));
}

static List *
names_from_array(Datum array)
{
	List	   *names = NIL;
	Datum	   *elements;
	int			n;

	deconstruct_array(DatumGetArrayTypeP(array), NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
					  &elements, NULL, &n);
	for (int i = 0; i < n; i++)
		names = lappend(names, pstrdup(NameStr(*DatumGetName(elements[i]))));
	return names;
}

static void
mapping_from_tuple(HeapTuple tuple, TupleDesc desc, PlcMapping *mapping)
{
	bool		isnull;
	Datum		value;

	value = heap_getattr(tuple, Anum_mapping_key_columns, desc, &isnull);
	mapping->key_columns = isnull ? NIL : names_from_array(value);
	value = heap_getattr(tuple, Anum_mapping_key_index, desc, &isnull);
	mapping->key_index = isnull ? NULL : pstrdup(NameStr(*DatumGetName(value)));
	mapping->writable = DatumGetBool(heap_getattr(tuple, Anum_mapping_writable, desc, &isnull));
	value = heap_getattr(tuple, Anum_mapping_namespace, desc, &isnull);
	mapping->namespace_name = isnull ? NULL : TextDatumGetCString(value);
}

/*
 * Reads the row of a relation; false if it is not attached.  The result is
 * palloc'd in the current context.
 */
bool
plc_mapping_read(Oid relid, PlcMapping *mapping)
{
	Oid			mapping_relid = plc_mapping_relid();
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!OidIsValid(mapping_relid))
		return false;
	rel = table_open(mapping_relid, AccessShareLock);
	ScanKeyInit(&key, Anum_mapping_relation, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, mapping_index(rel), true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		mapping_from_tuple(tuple, RelationGetDescr(rel), mapping);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

/*
 * Calls visit for each attached relation, dropped ones not yet swept included.
 * What the mapping points to is palloc'd in the current context.
 */
void
plc_mapping_scan(PlcMappingVisitor visit, void *arg)
{
	Oid			mapping_relid = plc_mapping_relid();
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!OidIsValid(mapping_relid))
		return;
	rel = table_open(mapping_relid, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		relid = heap_getattr(tuple, Anum_mapping_relation, RelationGetDescr(rel), &isnull);
		PlcMapping	mapping;

		mapping_from_tuple(tuple, RelationGetDescr(rel), &mapping);
		visit(DatumGetObjectId(relid), &mapping, arg);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

static void
collect_relation(Oid relid, const PlcMapping *mapping, void *relids)
{
	*(List **) relids = lappend_oid(*(List **) relids, relid);
}

/* The oids of all attached relations, dropped ones not yet swept included. */
List *
plc_mapping_relations(void)
{
	List	   *relids = NIL;

	plc_mapping_scan(collect_relation, &relids);
	return relids;
}

typedef struct NamespaceSearch
{
	const char *name;
	Oid			holder;
} NamespaceSearch;

static void
compare_namespace(Oid relid, const PlcMapping *mapping, void *arg)
{
	NamespaceSearch *search = arg;

	if (mapping->namespace_name != NULL && strcmp(mapping->namespace_name, search->name) == 0 &&
		get_rel_name(relid) != NULL)
		search->holder = relid;
}

/* The relation that has a namespace, or InvalidOid; dropped relations have none. */
Oid
plc_mapping_namespace_holder(const char *namespace_name)
{
	NamespaceSearch search = {namespace_name, InvalidOid};

	plc_mapping_scan(compare_namespace, &search);
	return search.holder;
}

/* Runs one statement on the mapping table as its owner; the number of rows. */
static uint64
run_as_owner(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls)
{
	Oid			mapping_relid = plc_mapping_relid();
	Relation	rel;
	Oid			save_userid;
	int			save_context;
	uint64		processed;

	if (!OidIsValid(mapping_relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"local_cache.mapping\" does not exist"),
				 errhint("Run CREATE EXTENSION pg_local_cache in this database.")));
	rel = table_open(mapping_relid, RowExclusiveLock);
	GetUserIdAndSecContext(&save_userid, &save_context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   save_context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);

	SPI_connect();
	if (SPI_execute_with_args(sql, nargs, types, values, nulls, false, 0) < 0)
		elog(ERROR, "could not write table \"local_cache.mapping\": %s",
			 SPI_result_code_string(SPI_result));
	processed = SPI_processed;
	SPI_finish();

	SetUserIdAndSecContext(save_userid, save_context);
	CacheInvalidateRelcache(rel);
	table_close(rel, NoLock);
	return processed;
}

static Datum
names_to_array(List *names)
{
	Datum	   *elements = palloc(list_length(names) * sizeof(Datum));
	ListCell   *cell;
	int			n = 0;

	foreach(cell, names)
		elements[n++] = DirectFunctionCall1(namein, CStringGetDatum((char *) lfirst(cell)));
	return PointerGetDatum(construct_array(elements, n, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR));
}

/* Attaches a relation, or changes how it is attached; sweeps dropped relations. */
void
plc_mapping_write(Oid relid, const PlcMapping *mapping)
{
	Oid			types[5] = {REGCLASSOID, NAMEARRAYOID, NAMEOID, BOOLOID, TEXTOID};
	Datum		values[5];
	char		nulls[5] = {' ', ' ', ' ', ' ', ' '};

	values[0] = ObjectIdGetDatum(relid);
	values[1] = names_to_array(mapping->key_columns);
	values[2] = mapping->key_index ? DirectFunctionCall1(namein, CStringGetDatum(mapping->key_index)) : (Datum) 0;
	nulls[1] = nulls[2] = mapping->key_index == NULL ? 'n' : ' ';
	values[3] = BoolGetDatum(mapping->writable);
	values[4] = mapping->namespace_name ? CStringGetTextDatum(mapping->namespace_name) : (Datum) 0;
	nulls[4] = mapping->namespace_name ? ' ' : 'n';

	run_as_owner("DELETE FROM local_cache.mapping WHERE NOT EXISTS "
				 "(SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) relation)",
				 0, NULL, NULL, NULL);
	run_as_owner("INSERT INTO local_cache.mapping VALUES ($1, $2, $3, $4, $5) "
				 "ON CONFLICT (relation) DO UPDATE SET (key_columns, key_index, writable, namespace) = ROW($2, $3, $4, $5)",
				 5, types, values, nulls);
}

/* Detaches a relation; false if it was not attached. */
bool
plc_mapping_delete(Oid relid)
{
	Oid			type = REGCLASSOID;
	Datum		value = ObjectIdGetDatum(relid);

	return run_as_owner("DELETE FROM local_cache.mapping "
						"WHERE relation::pg_catalog.oid OPERATOR(pg_catalog.=) $1::pg_catalog.oid",
						1, &type, &value, " ") > 0;
}
