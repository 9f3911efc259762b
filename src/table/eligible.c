/*
 * eligible.c
 *		Which tables and which keys can be attached, and the words of refusal.
 *
 * A table must be a permanent or unlogged one that keeps its rows itself.  A
 * key is an index that lets at most one visible row answer: btree, unique,
 * checked at once, complete, valid, plain columns, all NOT NULL.  Each reason
 * has one text, here, whoever meets it: attach_table, a read after the table
 * was altered, health().
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "table/eligible.h"

/* Can rows of this relation be served by key at all? */
PlcRefusal
plc_eligible_relation(Relation relation)
{
	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return PLC_REFUSED_PARTITIONED;
	if (relation->rd_rel->relkind != RELKIND_RELATION)
		return PLC_REFUSED_KIND;
	if (relation->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return PLC_REFUSED_TEMPORARY;
	if (IsCatalogRelation(relation))
		return PLC_REFUSED_CATALOG;
	if (plc_eligible_unprovable(relation) != NULL)
		return PLC_REFUSED_ACCESS_METHOD;
	return PLC_ELIGIBLE;
}

/*
 * Why the row versions of this relation cannot be proven, or NULL.  Such a table
 * cannot be attached; one that becomes such is read and not cached.
 */
const char *
plc_eligible_unprovable(Relation relation)
{
	return relation->rd_rel->relam == HEAP_TABLE_AM_OID ? NULL
		: "row versions can be proven in tables with access method \"heap\" only";
}

/* Raises the error for an oid that names no relation. */
void
plc_eligible_missing(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation with OID %u does not exist", relid)));
}

static bool
columns_not_null(Relation relation, Form_pg_index index)
{
	for (int i = 0; i < index->indnkeyatts; i++)
	{
		AttrNumber	attnum = index->indkey.values[i];

		if (attnum > 0 && !TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attnotnull)
			return false;
	}
	return true;
}

static bool
columns_are_plain(Form_pg_index index, HeapTuple tuple)
{
	for (int i = 0; i < index->indnkeyatts; i++)
		if (index->indkey.values[i] <= 0)
			return false;
	return heap_attisnull(tuple, Anum_pg_index_indexprs, NULL);
}

static bool
is_btree(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_class) GETSTRUCT(tuple))->relam == BTREE_AM_OID;
	ReleaseSysCache(tuple);
	return result;
}

static PlcRefusal
check_index_tuple(Relation relation, HeapTuple tuple)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

	if (index->indrelid != RelationGetRelid(relation))
		return PLC_REFUSED_NOT_AN_INDEX;
	if (!is_btree(index->indexrelid))
		return PLC_REFUSED_NOT_BTREE;
	if (!index->indisunique)
		return PLC_REFUSED_NOT_UNIQUE;
	if (!index->indimmediate)
		return PLC_REFUSED_DEFERRABLE;
	if (!heap_attisnull(tuple, Anum_pg_index_indpred, NULL))
		return PLC_REFUSED_PARTIAL;
	if (!columns_are_plain(index, tuple))
		return PLC_REFUSED_EXPRESSION;
	if (!index->indisvalid || !index->indisready || !index->indislive)
		return PLC_REFUSED_INVALID;
	if (!columns_not_null(relation, index))
		return PLC_REFUSED_NULLABLE;
	return PLC_ELIGIBLE;
}

/* Can this index be the key of this table? */
PlcRefusal
plc_eligible_index(Relation relation, Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	PlcRefusal	refusal;

	if (!HeapTupleIsValid(tuple))
		return PLC_REFUSED_NOT_AN_INDEX;
	refusal = check_index_tuple(relation, tuple);
	ReleaseSysCache(tuple);
	return refusal;
}

/* Is it the primary key (no name given), or has it this name and just these columns? */
static bool
is_wanted(Relation relation, Form_pg_index index, List *key_columns, const char *name)
{
	const char *index_name;
	ListCell   *cell;
	int			i = 0;

	if (name == NULL)
		return index->indisprimary;
	index_name = get_rel_name(index->indexrelid);
	if (index_name == NULL || strcmp(index_name, name) != 0)
		return false;
	if (index->indnkeyatts != list_length(key_columns) || !index->indisunique)
		return false;
	foreach(cell, key_columns)
	{
		AttrNumber	attnum = index->indkey.values[i++];

		if (attnum <= 0 ||
			strcmp(NameStr(TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attname),
				   (char *) lfirst(cell)) != 0)
			return false;
	}
	return true;
}

/*
 * Finds the index of this name on these columns, or the primary key for a NULL
 * name.  Not by columns alone: two unique indexes may differ in collation or
 * operator class, hence in what they take for one key.  If the index is not
 * eligible *index is set all the same.
 */
PlcRefusal
plc_eligible_find_index(Relation relation, List *key_columns, const char *name, Oid *index)
{
	PlcRefusal	refusal = name == NULL ? PLC_REFUSED_NO_PRIMARY_KEY : PLC_REFUSED_NO_SUCH_KEY;
	List	   *indexes = RelationGetIndexList(relation);
	ListCell   *cell;

	*index = InvalidOid;
	foreach(cell, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (!HeapTupleIsValid(tuple))
			continue;
		if (is_wanted(relation, (Form_pg_index) GETSTRUCT(tuple), key_columns, name))
		{
			refusal = check_index_tuple(relation, tuple);
			*index = lfirst_oid(cell);
		}
		ReleaseSysCache(tuple);
		if (refusal == PLC_ELIGIBLE)
			break;
	}
	list_free(indexes);
	return refusal;
}

/* Raises the error that belongs to a refusal of the relation itself. */
static void
refuse_relation(PlcRefusal refusal, Relation relation)
{
	const char *name = RelationGetRelationName(relation);

	switch (refusal)
	{
		case PLC_REFUSED_PARTITIONED:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot cache rows of partitioned table \"%s\"", name),
					 errhint("Attach its partitions instead.")));
			break;
		case PLC_REFUSED_TEMPORARY:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot cache rows of temporary table \"%s\"", name),
					 errdetail("Only its own session can read a temporary table.")));
			break;
		case PLC_REFUSED_CATALOG:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot cache rows of system catalog \"%s\"", name)));
			break;
		case PLC_REFUSED_ACCESS_METHOD:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot cache rows of table \"%s\" with access method \"%s\"",
							name, get_am_name(relation->rd_rel->relam)),
					 errdetail("Row versions can be proven in tables with access method \"heap\" only.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot cache rows of relation \"%s\"", name),
					 errdetail_relkind_not_supported(relation->rd_rel->relkind)));
	}
}

static const char *
key_refusal_detail(PlcRefusal refusal)
{
	switch (refusal)
	{
		case PLC_REFUSED_NOT_UNIQUE:
			return "The index is not unique.";
		case PLC_REFUSED_DEFERRABLE:
			return "Its constraint is deferrable, so a transaction may hold two rows with one key.";
		case PLC_REFUSED_PARTIAL:
			return "The index is partial.";
		case PLC_REFUSED_EXPRESSION:
			return "The index has expressions or system columns.";
		case PLC_REFUSED_INVALID:
			return "The index is not valid.";
		case PLC_REFUSED_NOT_BTREE:
			return "The index is not a btree.";
		case PLC_REFUSED_NULLABLE:
			return "A column of the index is not NOT NULL.";
		default:
			return "It is not an index of this table.";
	}
}

/* Raises the error that belongs to a refusal.  "index" only for refusals of an index. */
void
plc_eligible_refuse(PlcRefusal refusal, Relation relation, Oid index)
{
	const char *index_name;

	Assert(refusal != PLC_ELIGIBLE);
	if (refusal < PLC_REFUSED_NO_PRIMARY_KEY)
		refuse_relation(refusal, relation);

	if (refusal == PLC_REFUSED_NO_PRIMARY_KEY)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no primary key", RelationGetRelationName(relation)),
				 errhint("Add a primary key, or attach the table with a unique index as \"key_index\".")));
	if (refusal == PLC_REFUSED_NO_SUCH_KEY)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has lost the key index that it was attached with",
						RelationGetRelationName(relation)),
				 errdetail("There is no unique index of that name on those columns."),
				 errhint("Attach the table again.")));

	index_name = get_rel_name(index);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot use index \"%s\" as the key of table \"%s\"",
					index_name ? index_name : "?", RelationGetRelationName(relation)),
			 errdetail("%s", key_refusal_detail(refusal))));
}
