/*
 * scan.h
 *		The keys of a table, a block at a time.
 */
#ifndef PLC_TABLE_SCAN_H
#define PLC_TABLE_SCAN_H

#include "storage/block.h"
#include "utils/snapshot.h"

#include "table/table.h"

/*
 * Can the current role read the keys and rows of this attached table, now?  False, not
 * an error, for whatever reason.  The relation is open and locked.
 */
extern bool plc_scan_possible(Relation relation);

/* Called for a row; the values last as long as the call. */
typedef void (*PlcScanVisitor) (const PlcTable *table, const Datum *key, void *arg);

/* Visits the rows of a block that the snapshot sees.  A block beyond the end has none. */
extern void plc_scan_block(const PlcTable *table, Relation relation, Snapshot snapshot,
						   BlockNumber block, PlcScanVisitor visit, void *arg);

/* About how many rows the table has; exactly, as the snapshot sees it, if it has few blocks. */
extern double plc_scan_estimate(const PlcTable *table, Relation relation, Snapshot snapshot);

#endif							/* PLC_TABLE_SCAN_H */
