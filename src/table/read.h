/*
 * read.h
 *		Reading rows by key: the one way to the cache, for SQL and for RESP.
 */
#ifndef PLC_TABLE_READ_H
#define PLC_TABLE_READ_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "utils/snapshot.h"

#include "stats.h"
#include "table/key.h"

/*
 * Where rows go, in the order of the keys.  For JSON: room() gives len bytes,
 * which are filled; then keep() makes them the next row, or another room()
 * takes their place.  With "framed" a text comes as RESP sends it, with
 * "$<length>\r\n" before it and "\r\n" behind, which len counts too.  For tuples: tuple(), whose data are gone afterwards.
 * absent() is the next row of either kind where there is none.  All may raise
 * errors; the current memory context is not the sink's.
 */
typedef struct PlcSink PlcSink;
struct PlcSink
{
	PlcEntryKind wants;			/* JSON texts, or tuples */
	bool		framed;
	char	   *(*room) (PlcSink *sink, uint32 len);
	void		(*keep) (PlcSink *sink, uint32 len);
	void		(*tuple) (PlcSink *sink, HeapTuple tuple, TupleDesc desc);
	void		(*absent) (PlcSink *sink);
};

/* For SQL: the current role may read; all keys are answered under the active snapshot. */
extern void plc_read_array(Oid relid, ArrayType *key_values, PlcSink *sink);

/*
 * The same in pieces, for a caller that has locked and opened the table, has its
 * descriptor, has checked who asks, and has taken the snapshot after that: one
 * read, many lots of keys.  Between plc_table_enter and plc_table_leave.
 */
typedef struct PlcRead PlcRead;
extern PlcRead *plc_read_begin(Relation relation, PlcTable *table, Snapshot snapshot,
							   PlcEntryKind wants);
extern void plc_read_keys(PlcRead *read, const PlcKeys *keys, PlcSink *sink);

/* Hands the counters over, and adds them to "sums", if that is given; frees the read. */
extern void plc_read_end(PlcRead *read, PlcCounts *sums);

/* Will texts be made by code that is not the server's own, so that it may take its time? */
extern bool plc_read_runs_user_code(const PlcRead *read);

#endif							/* PLC_TABLE_READ_H */
