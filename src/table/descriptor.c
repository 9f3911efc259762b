/*
 * descriptor.c
 *		What a process knows of attached tables, kept until something changes.
 *
 * A descriptor is made from the mapping row, the relcache and the syscaches.
 * It is only used after the table was locked and invalidations were taken in;
 * the callbacks here then have marked as invalid whatever a change touches:
 *
 *	- relcache: the table itself, a row type that one of its columns uses, the
 *	  mapping table (attach and detach, of any table);
 *	- syscaches that shapes depend on (shape.c): types, enum labels, casts,
 *	  functions; only descriptors that name the changed entry;
 *	- roles, memberships and schemas: not the descriptor, but what it remembers
 *	  of privileges.
 *
 * An invalid descriptor is made anew when it is next asked for; whenever one is
 * made, all invalid ones are forgotten.  They may still be in use further up the
 * stack (a row security policy may call mget again), so their memory is freed
 * when no read is under way.  A read that ends in an error does not say so; the
 * end of the transaction does.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_index.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "stats.h"
#include "table/mapping.h"
#include "table/render.h"
#include "table/table.h"

typedef struct DescriptorEntry
{
	Oid			relid;			/* hash key */
	PlcTable   *table;
} DescriptorEntry;

static HTAB *descriptors = NULL;
static PlcTable *latest = NULL; /* the one that was asked for last, or NULL */
static Oid	mapping_relid = InvalidOid; /* as of the newest descriptor */

/* Count invalidations: of what descriptors are made from, of what privileges are. */
static uint64 catalog_state = 1;
static uint64 roles_state = 1;

/* Reads under way, and the contexts of replaced descriptors that they may use. */
static int	reads_under_way = 0;
static List *replaced = NIL;

static void
on_relcache_change(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS seq;
	DescriptorEntry *entry;
	bool		all = !OidIsValid(relid) || relid == mapping_relid;

	catalog_state++;
	hash_seq_init(&seq, descriptors);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		PlcTable   *table = entry->table;

		if (all || relid == table->relid || list_member_oid(table->shape.relids, relid))
			table->valid = false;
	}
}

static void
on_syscache_change(Datum arg, int cacheid, uint32 hash)
{
	HASH_SEQ_STATUS seq;
	DescriptorEntry *entry;

	catalog_state++;
	hash_seq_init(&seq, descriptors);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		if (plc_shape_depends_on(&entry->table->shape, cacheid, hash))
			entry->table->valid = false;
	}
}

static void
on_roles_change(Datum arg, int cacheid, uint32 hash)
{
	roles_state++;
}

static void
free_replaced(void)
{
	ListCell   *cell;

	foreach(cell, replaced)
		MemoryContextDelete(lfirst(cell));
	list_free(replaced);
	replaced = NIL;
}

static void
on_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
	{
		reads_under_way = 0;
		free_replaced();
	}
}

/* Registers the callbacks, before the first descriptor is made. */
static void
register_callbacks(void)
{
	CacheRegisterRelcacheCallback(on_relcache_change, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, on_syscache_change, (Datum) 0);
	CacheRegisterSyscacheCallback(ENUMOID, on_syscache_change, (Datum) 0);
	CacheRegisterSyscacheCallback(CASTSOURCETARGET, on_syscache_change, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, on_syscache_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, on_roles_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, on_roles_change, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, on_roles_change, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, on_roles_change, (Datum) 0);
	RegisterXactCallback(on_transaction_end, NULL);
}

static void
create_descriptors(void)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid), .entrysize = sizeof(DescriptorEntry)};

	descriptors = hash_create("pg_local_cache tables", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	register_callbacks();
}

/* A use of descriptors begins. */
void
plc_table_enter(void)
{
	if (reads_under_way == 0 && replaced != NIL)
		free_replaced();
	reads_under_way++;
}

/* A use of descriptors ends. */
void
plc_table_leave(void)
{
	reads_under_way--;
}

/*
 * The equality that the index itself uses, ready to be called, and what the
 * index takes for equal, into the hash of the key's definition.
 */
static void
make_key_column(PlcTable *table, Relation relation, Form_pg_index index,
				oidvector *opclasses, oidvector *collations, int i)
{
	PlcKeyColumn *column = &table->columns[i];
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation),
												index->indkey.values[i] - 1);
	Oid			opfamily = get_opclass_family(opclasses->values[i]);
	Oid			definition[4];
	Oid			input;

	column->attnum = attribute->attnum;
	column->name = pstrdup(NameStr(attribute->attname));
	column->name_len = strlen(column->name);
	column->type = getBaseType(attribute->atttypid);
	column->typlen = attribute->attlen;
	column->typbyval = attribute->attbyval;
	column->opcintype = get_opclass_input_type(opclasses->values[i]);
	column->collation = collations->values[i];
	column->equality_operator = get_opfamily_member(opfamily, column->opcintype, column->opcintype,
													BTEqualStrategyNumber);
	if (!OidIsValid(column->equality_operator))
		elog(ERROR, "missing equality operator in operator family %u", opfamily);
	fmgr_info_cxt(get_opcode(column->equality_operator), &column->equality, table->context);
	getTypeInputInfo(column->type, &input, &column->input_param);
	fmgr_info_cxt(input, &column->input, table->context);

	definition[0] = attribute->attnum;
	definition[1] = opfamily;
	definition[2] = column->opcintype;
	definition[3] = column->collation;
	table->key_hash = hash_bytes_extended((unsigned char *) definition, sizeof(definition),
										  table->key_hash);
}

static void
make_key(PlcTable *table, Relation relation)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(table->index));
	Form_pg_index index;
	oidvector  *opclasses;
	oidvector  *collations;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", table->index);
	index = (Form_pg_index) GETSTRUCT(tuple);
	opclasses = (oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, tuple,
															  Anum_pg_index_indclass, &isnull));
	collations = (oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, tuple,
															   Anum_pg_index_indcollation, &isnull));
	table->index_checkxmin = index->indcheckxmin;
	table->index_xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	table->ncolumns = index->indnkeyatts;
	table->columns = palloc0(table->ncolumns * sizeof(PlcKeyColumn));
	for (int i = 0; i < table->ncolumns; i++)
		make_key_column(table, relation, index, opclasses, collations, i);
	ReleaseSysCache(tuple);
}

/* As SELECT * would check: the table as a whole, or else each column. */
static void
check_privileges(Relation relation, Oid role)
{
	Oid			relid = RelationGetRelid(relation);

	if (pg_class_aclcheck(relid, role, ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relid, role, ACL_SELECT, ACLMASK_ALL) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(relation));
	if (plc_namespace_usage(RelationGetNamespace(relation), role) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA,
					   get_namespace_name(RelationGetNamespace(relation)));
}

/* Fills a descriptor whose context is current.  May raise an error. */
static void
fill_descriptor(PlcTable *table, Relation relation)
{
	PlcMapping	mapping;
	PlcRefusal	refusal;

	mapping_relid = plc_mapping_relid();
	if (!plc_mapping_read(table->relid, &mapping))
	{
		check_privileges(relation, GetUserId());
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" is not attached to the cache",
						RelationGetRelationName(relation)),
				 errhint("Attach it with local_cache.attach_table().")));
	}
	table->writable = mapping.writable;
	table->namespace_name = mapping.namespace_name;

	refusal = plc_eligible_relation(relation);
	table->unprovable = plc_eligible_unprovable(relation);
	if (refusal != PLC_ELIGIBLE && refusal != PLC_REFUSED_ACCESS_METHOD)
		plc_eligible_refuse(refusal, relation, InvalidOid);
	refusal = plc_eligible_find_index(relation, mapping.key_columns, mapping.key_index,
									  &table->index);
	if (refusal != PLC_ELIGIBLE)
		plc_eligible_refuse(refusal, relation, table->index);

	make_key(table, relation);
	plc_shape_make(relation, &table->shape);
	table->shape.relids = lappend_oid(table->shape.relids, table->index);
	if (table->shape.uncacheable == NULL)
		table->renderer = plc_renderer_make(RelationGetDescr(relation));
	table->stats_slot = plc_stats_slot(table->relid);
}

/*
 * A new descriptor in a context of its own, which outlives the call only when
 * the descriptor is whole: after an error it goes with the caller's.
 */
static PlcTable *
make_descriptor(Relation relation)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pg_local_cache table",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	PlcTable   *table = palloc0(sizeof(PlcTable));

	table->relid = RelationGetRelid(relation);
	table->context = context;
	fill_descriptor(table, relation);
	MemoryContextSwitchTo(caller);
	MemoryContextSetParent(context, CacheMemoryContext);
	return table;
}

/*
 * Forgets all invalid descriptors, of dropped tables too, for which nobody will
 * ask again; their memory waits until nobody can be using it.
 */
static void
discard_invalid(void)
{
	MemoryContext caller = MemoryContextSwitchTo(CacheMemoryContext);
	HASH_SEQ_STATUS seq;
	DescriptorEntry *entry;

	latest = NULL;
	hash_seq_init(&seq, descriptors);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		if (entry->table->valid)
			continue;
		replaced = lappend(replaced, entry->table->context);
		hash_search(descriptors, &entry->relid, HASH_REMOVE, NULL);
	}
	MemoryContextSwitchTo(caller);
}

/* The descriptor of a relation, valid or not, or NULL. */
static PlcTable *
find_descriptor(Oid relid)
{
	DescriptorEntry *entry;

	if (latest != NULL && latest->relid == relid)
		return latest;
	if (descriptors == NULL)
		return NULL;
	entry = hash_search(descriptors, &relid, HASH_FIND, NULL);
	return entry == NULL ? NULL : (latest = entry->table);
}

/* Is there a valid descriptor of this relation, so that it is one still? */
bool
plc_table_is_known(Oid relid)
{
	PlcTable   *table = find_descriptor(relid);

	return table != NULL && table->valid;
}

/*
 * The descriptor of a relation that the caller has open and locked, after it
 * has accepted invalidations; between plc_table_enter and plc_table_leave.
 * Raises an error if the table is not attached, or cannot be read by key.
 *
 * Invalidations that arrive while a descriptor is being made may be about
 * something it has already looked at.  It then serves this call, which began
 * before them, but publishes nothing, and is made anew for the next.
 */
PlcTable *
plc_table_get(Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	PlcTable   *table = find_descriptor(relid);
	DescriptorEntry *entry;
	uint64		state;

	if (table != NULL && table->valid)
		return table;
	if (descriptors == NULL)
		create_descriptors();
	discard_invalid();

	state = catalog_state;
	table = make_descriptor(relation);
	table->valid = state == catalog_state;
	entry = hash_search(descriptors, &relid, HASH_ENTER, NULL);
	entry->table = table;
	return table;
}

/* Why rows of this table are served and not cached, or NULL. */
const char *
plc_table_uncacheable(const PlcTable *table)
{
	return table->unprovable ? table->unprovable : table->shape.uncacheable;
}

/*
 * Raises an error unless the current role may read the whole table.  What was
 * found is remembered until the table, a role, a membership or a schema
 * changes.
 */
void
plc_table_check_privileges(PlcTable *table, Relation relation)
{
	Oid			role = GetUserId();
	uint64		state = roles_state;

	if (table->permitted_role == role && table->permitted_at == state)
		return;
	check_privileges(relation, role);
	table->permitted_role = role;
	table->permitted_at = state;
}

/* Raises an error where the planner does too: on a standby an unlogged table has no file. */
void
plc_table_check_has_rows(Relation relation)
{
	if (!RelationIsPermanent(relation) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read unlogged table \"%s\" during recovery",
						RelationGetRelationName(relation))));
}
