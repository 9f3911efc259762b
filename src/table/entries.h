/*
 * entries.h
 *		Entries by table: forgetting them, and adding up what they take.
 */
#ifndef PLC_TABLE_ENTRIES_H
#define PLC_TABLE_ENTRIES_H

#include "cache/store.h"
#include "table/table.h"

/* What the entries of one table take. */
typedef struct PlcOccupancy
{
	Oid			relid;			/* hash key */
	uint64		entries;
	uint64		bytes;
} PlcOccupancy;

extern uint64 plc_entries_forget(Oid relid);
extern uint64 plc_entries_forget_key(const PlcTable *table, Relation relation, const Datum *key);
extern struct HTAB *plc_entries_occupancy(void);
extern void plc_entries_totals(PlcStoreCounts *totals);

#endif							/* PLC_TABLE_ENTRIES_H */
