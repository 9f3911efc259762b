/*
 * read.h
 *		Reading rows by key: the one way to the cache, for SQL and for RESP.
 */
#ifndef PLC_TABLE_READ_H
#define PLC_TABLE_READ_H

#include "access/htup.h"
#include "access/tupdesc.h"

#include "table/key.h"

/*
 * Where rows go, in the order of the keys.  For JSON: room() gives len bytes,
 * which are filled; then keep() makes them the next row, or another room()
 * takes their place.  For tuples: tuple(), whose data are gone afterwards.
 * absent() is the next row of either kind where there is none.  All may raise
 * errors; the current memory context is not the sink's.
 */
typedef struct PlcSink PlcSink;
struct PlcSink
{
	PlcEntryKind wants;			/* JSON texts, or tuples */
	char	   *(*room) (PlcSink *sink, uint32 len);
	void		(*keep) (PlcSink *sink, uint32 len);
	void		(*tuple) (PlcSink *sink, HeapTuple tuple, TupleDesc desc);
	void		(*absent) (PlcSink *sink);
};

/* The current role may read; all keys are answered under the active snapshot. */
extern void plc_read_array(Oid relid, ArrayType *key_values, PlcSink *sink);

#endif							/* PLC_TABLE_READ_H */
