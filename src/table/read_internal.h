/*
 * read_internal.h
 *		What the three files that read rows share: read.c (a call), chunk.c (its
 *		keys, some at a time) and serve.c (a row).
 */
#ifndef PLC_TABLE_READ_INTERNAL_H
#define PLC_TABLE_READ_INTERNAL_H

#include "lib/stringinfo.h"

#include "cache/store.h"
#include "stats.h"
#include "table/fetch.h"
#include "table/key.h"
#include "table/read.h"
#include "table/version.h"

/* How keys are answered. */
typedef enum PlcReadWay
{
	PLC_READ_CACHE,
	PLC_READ_INDEX,				/* the cache must not be asked */
	PLC_READ_QUERY				/* only a query can answer */
} PlcReadWay;

/* A read under way. */
struct PlcRead
{
	PlcTable   *table;
	Relation	relation;
	Snapshot	snapshot;
	uint64		next_xid;
	PlcEntryKind wants;
	PlcReadWay	way;
	PlcCounter	bypass;			/* why, if it is not by the cache */
	PlcSink    *sink;			/* of the lot of keys at hand */
	PlcFetch	fetch;
	PlcKeyPrefix prefix;
	uint64		seed;			/* of the keys' hashes */
	PlcCounts	counts;
	MemoryContext context;		/* of what lives as long as the read */
	MemoryContext scratch;		/* of one row; NULL until needed */
	StringInfoData text;		/* a rendered row */
};

/* A key of a chunk, on its way. */
typedef enum PlcCandidateState
{
	CANDIDATE_NULL,				/* no key */
	CANDIDATE_TOO_LONG,			/* a key that the store does not take */
	CANDIDATE_ENCODED,			/* a key, not looked up yet */
	CANDIDATE_PREFETCHED,		/* the same, and ref says where it may be */
	CANDIDATE_MISSING,			/* not in the store */
	CANDIDATE_FOUND,			/* in the store, not proven yet */
	CANDIDATE_PROVEN,
	CANDIDATE_FAILED,			/* its version is not visible */
	CANDIDATE_LOST_PAGE
} PlcCandidateState;

typedef struct PlcCandidate
{
	PlcCandidateState state;
	const Datum *values;
	PlcKeyBytes key;
	PlcRef		ref;
	PlcVersion	version;
	HeapTuple	tuple;			/* copy, where tuples are wanted */
} PlcCandidate;

static inline void
plc_read_count(PlcRead *read, PlcCounter counter)
{
	read->counts.n[counter]++;
}

/* chunk.c */
extern void plc_chunk_read_all(PlcRead *read, const PlcKeys *keys);

/* serve.c */
extern void plc_serve_text(PlcSink *sink, const char *text, uint32 len);
extern void plc_serve(PlcRead *read, PlcCandidate *candidate);
extern TupleTableSlot *plc_serve_by_index(PlcRead *read, const Datum *values);

#endif							/* PLC_TABLE_READ_INTERNAL_H */
