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

/* A call under way. */
typedef struct PlcRead
{
	PlcTable   *table;
	Relation	relation;
	Snapshot	snapshot;
	uint64		next_xid;
	PlcSink    *sink;
	PlcFetch	fetch;
	PlcKeyPrefix prefix;
	uint64		seed;			/* of the keys' hashes */
	PlcCounts	counts;
	MemoryContext scratch;		/* of one row; NULL until needed */
	StringInfoData text;		/* a rendered row */
} PlcRead;

/* A key of a chunk, on its way. */
typedef enum PlcCandidateState
{
	CANDIDATE_NULL,				/* no key */
	CANDIDATE_TOO_LONG,			/* a key that the store does not take */
	CANDIDATE_ENCODED,			/* a key, not looked up yet */
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
extern void plc_serve(PlcRead *read, PlcCandidate *candidate);
extern TupleTableSlot *plc_serve_by_index(PlcRead *read, const Datum *values);

#endif							/* PLC_TABLE_READ_INTERNAL_H */
