/*
 * fetch.c
 *		Rows by key through the index: what the cache falls back on.
 *
 * One index scan serves all keys of a call, started anew for each.  No
 * executor and no SPI.  Predicate locks and conflict checks of SERIALIZABLE
 * are those of any index scan.  An error leaves nothing behind: relations,
 * buffers and memory belong to the resource owner and the memory context.
 *
 * A unique key has at most one version that a snapshot sees, with one exception:
 * a transaction above READ COMMITTED may insert a key whose old row others
 * deleted after its snapshot.  It then sees the old row and its own, and its own
 * is what it means.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "table/fetch.h"

/* Prepares fetches; opens nothing yet.  The scan will live in the current memory context. */
void
plc_fetch_begin(PlcFetch *fetch, PlcTable *table, Relation heap, Snapshot snapshot)
{
	fetch->table = table;
	fetch->heap = heap;
	fetch->snapshot = snapshot;
	fetch->context = CurrentMemoryContext;
	fetch->index = NULL;
	fetch->second = NULL;
}

/* May this transaction see two rows with one key? */
bool
plc_fetch_may_see_two(void)
{
	return IsolationUsesXactSnapshot() && TransactionIdIsValid(GetTopTransactionIdIfAny());
}

static void
open_index(PlcFetch *fetch)
{
	PlcTable   *table = fetch->table;

	fetch->index = index_open(table->index, AccessShareLock);
	fetch->scan = plc_index_beginscan(fetch->heap, fetch->index, fetch->snapshot, table->ncolumns);
	fetch->slot = table_slot_create(fetch->heap, NULL);
	if (plc_fetch_may_see_two())
		fetch->second = table_slot_create(fetch->heap, NULL);
	for (int i = 0; i < table->ncolumns; i++)
	{
		PlcKeyColumn *column = &table->columns[i];

		ScanKeyEntryInitializeWithInfo(&fetch->keys[i], 0, i + 1, BTEqualStrategyNumber,
									   column->opcintype, column->collation, &column->equality, 0);
	}
}

static bool
is_own(TupleTableSlot *slot)
{
	bool		isnull;
	Datum		xmin = slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull);

	return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}

/* The next row of the scan that the snapshot sees, or of two its own. */
static TupleTableSlot *
next_row(PlcFetch *fetch)
{
	if (!index_getnext_slot(fetch->scan, ForwardScanDirection, fetch->slot))
		return NULL;
	if (fetch->second == NULL || is_own(fetch->slot) ||
		!index_getnext_slot(fetch->scan, ForwardScanDirection, fetch->second))
		return fetch->slot;
	return is_own(fetch->second) ? fetch->second : fetch->slot;
}

/*
 * The row with this key that the snapshot sees, or NULL.  It stays in the slot
 * until the next fetch.  The scan allocates now and then what it keeps, so the
 * context is switched whatever the caller's.
 */
TupleTableSlot *
plc_fetch_row(PlcFetch *fetch, const Datum *values)
{
	MemoryContext caller = MemoryContextSwitchTo(fetch->context);
	TupleTableSlot *row;

	if (fetch->index == NULL)
		open_index(fetch);
	for (int i = 0; i < fetch->table->ncolumns; i++)
		fetch->keys[i].sk_argument = values[i];

	index_rescan(fetch->scan, fetch->keys, fetch->table->ncolumns, NULL, 0);
	row = next_row(fetch);
	MemoryContextSwitchTo(caller);
	return row;
}

/* Closes what was opened. */
void
plc_fetch_end(PlcFetch *fetch)
{
	if (fetch->index == NULL)
		return;
	ExecDropSingleTupleTableSlot(fetch->slot);
	if (fetch->second != NULL)
		ExecDropSingleTupleTableSlot(fetch->second);
	index_endscan(fetch->scan);
	index_close(fetch->index, AccessShareLock);
}

/* Does the snapshot not know of what another transaction has done? */
static bool
snapshot_is_older(Snapshot snapshot, TransactionId xid)
{
	return TransactionIdIsNormal(xid) && snapshot->snapshot_type == SNAPSHOT_MVCC &&
		XidInMVCCSnapshot(xid, snapshot) && !TransactionIdIsCurrentTransactionId(xid);
}

/*
 * May rows be read by this index under the snapshot?  A snapshot from before the
 * index may see several rows with what has become a unique key.  And an index
 * that was built over broken HOT chains must not be used by transactions from
 * before it; the planner has the same test.
 */
bool
plc_fetch_usable(const PlcTable *table, Snapshot snapshot)
{
	HeapTuple	tuple;
	bool		usable;

	if (snapshot_is_older(snapshot, table->index_xmin))
		return false;
	if (likely(!table->index_checkxmin))
		return true;
	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(table->index));
	if (!HeapTupleIsValid(tuple))
		return false;
	usable = !((Form_pg_index) GETSTRUCT(tuple))->indcheckxmin ||
		TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple->t_data), TransactionXmin);
	ReleaseSysCache(tuple);
	return usable;
}
