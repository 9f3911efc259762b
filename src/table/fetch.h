/*
 * fetch.h
 *		Rows by key through the index: what the cache falls back on.
 */
#ifndef PLC_TABLE_FETCH_H
#define PLC_TABLE_FETCH_H

#include "access/genam.h"
#include "access/skey.h"
#include "executor/tuptable.h"
#include "utils/snapshot.h"

#include "table/table.h"

/* An index that is opened at the first fetch and closed at the end. */
typedef struct PlcFetch
{
	PlcTable   *table;
	Relation	heap;
	Snapshot	snapshot;
	MemoryContext context;		/* of the call: the scan lives in it */
	Relation	index;			/* NULL until the first fetch */
	IndexScanDesc scan;
	TupleTableSlot *slot;
	TupleTableSlot *second;		/* for a key that is seen twice; NULL: cannot be */
	ScanKeyData keys[INDEX_MAX_KEYS];
} PlcFetch;

extern void plc_fetch_begin(PlcFetch *fetch, PlcTable *table, Relation heap, Snapshot snapshot);
extern TupleTableSlot *plc_fetch_row(PlcFetch *fetch, const Datum *values);
extern void plc_fetch_end(PlcFetch *fetch);
extern bool plc_fetch_may_see_two(void);
extern bool plc_fetch_usable(const PlcTable *table, Snapshot snapshot);

#endif							/* PLC_TABLE_FETCH_H */
