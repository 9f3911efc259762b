/*
 * scan.c
 *		The keys of a table, a block at a time.
 *
 * By block, not by key: where one call ends and the next goes on is then a number,
 * whatever the key is made of, and nobody has to remember anything in between.  The
 * price is that calls under different snapshots do not add up to one: a row that is
 * updated between them may move from a block that is still to come to one that has been
 * visited, or the other way, and be missed or met twice.  A row that nobody touches is
 * met once.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "compat.h"
#include "table/eligible.h"
#include "table/mapping.h"
#include "table/scan.h"

/* Blocks up to which rows are counted one by one; 32 of them take less than a millisecond. */
#define MAX_COUNTED_BLOCKS	32

static bool
may_read(Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	Oid			role = GetUserId();

	return (pg_class_aclcheck(relid, role, ACL_SELECT) == ACLCHECK_OK ||
			pg_attribute_aclcheck_all(relid, role, ACL_SELECT, ACLMASK_ALL) == ACLCHECK_OK) &&
		plc_namespace_usage(RelationGetNamespace(relation), role) == ACLCHECK_OK;
}

/* Is it still as it was attached, so that asking for its descriptor is no error? */
static bool
is_eligible(Relation relation)
{
	PlcMapping	mapping;
	Oid			index;

	return plc_mapping_read(RelationGetRelid(relation), &mapping) &&
		plc_eligible_relation(relation) == PLC_ELIGIBLE &&
		plc_eligible_find_index(relation, mapping.key_columns, mapping.key_index,
								&index) == PLC_ELIGIBLE;
}

bool
plc_scan_possible(Relation relation)
{
	if (relation->rd_rel->relrowsecurity &&
		check_enable_rls(RelationGetRelid(relation), InvalidOid, true) == RLS_ENABLED)
		return false;
	return may_read(relation) && is_eligible(relation) &&
		(RelationIsPermanent(relation) || !RecoveryInProgress());
}

static void
visit_row(const PlcTable *table, TupleTableSlot *slot, PlcScanVisitor visit, void *arg)
{
	Datum		key[INDEX_MAX_KEYS];
	bool		isnull;

	for (int c = 0; c < table->ncolumns; c++)
		key[c] = slot_getattr(slot, table->columns[c].attnum, &isnull);
	visit(table, key, arg);
}

void
plc_scan_block(const PlcTable *table, Relation relation, Snapshot snapshot,
			   BlockNumber block, PlcScanVisitor visit, void *arg)
{
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	ItemPointerData first;
	ItemPointerData last;
	TableScanDesc scan;

	ItemPointerSet(&first, block, FirstOffsetNumber);
	ItemPointerSet(&last, block, MaxOffsetNumber);
	scan = table_beginscan_tidrange(relation, snapshot, &first, &last);
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
		visit_row(table, slot, visit, arg);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

static void
count_row(const PlcTable *table, const Datum *key, void *arg)
{
	++*(double *) arg;
}

double
plc_scan_estimate(const PlcTable *table, Relation relation, Snapshot snapshot)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(relation);
	BlockNumber pages;
	double		rows = 0;
	double		visible;

	if (nblocks > MAX_COUNTED_BLOCKS)
	{
		estimate_rel_size(relation, NULL, &pages, &rows, &visible);
		return rows;
	}
	for (BlockNumber block = 0; block < nblocks; block++)
		plc_scan_block(table, relation, snapshot, block, count_row, &rows);
	return rows;
}
