/*
 * version.h
 *		Row versions: their identity, and the proof that one is visible.
 */
#ifndef PLC_TABLE_VERSION_H
#define PLC_TABLE_VERSION_H

#include "access/htup.h"
#include "storage/buf.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * Identity of a row version within its file, as kept at the head of an entry's
 * value.  The file itself, database, tablespace and relfilenumber, is part of
 * the entry's key.
 */
typedef struct PlcVersion
{
	uint64		expires;		/* full transaction id at which xmin can come again */
	uint32		block;
	uint32		xmin;			/* raw */
	int32		buffer;			/* where the page was last seen; a hint, may be patched */
	uint16		offset;			/* line pointer of the tuple itself, not of its HOT root */
	uint16		lead;			/* bytes of framing before the JSON text; 0 if there is none */
} PlcVersion;

typedef enum PlcProof
{
	PLC_PROOF_VISIBLE,			/* this version answers */
	PLC_PROOF_FAILED,			/* it is not visible to this snapshot, or is not there */
	PLC_PROOF_LOST_PAGE			/* its page is not where it was: ask the index */
} PlcProof;

/* Proofs in a row: versions on one page are proven under one lock of it. */
typedef struct PlcProver
{
	Relation	relation;
	Snapshot	snapshot;
	uint64		next_xid;		/* read after the snapshot was taken */
	bool		wary;			/* a deleted version may not be the only one: fail it */
	Buffer		buffer;			/* pinned and locked, or InvalidBuffer */
	uint32		block;			/* of that buffer */
} PlcProver;

extern void plc_prove_begin(PlcProver *prover, Relation relation, Snapshot snapshot,
							uint64 next_xid, bool wary);
extern void plc_prove_prefetch_page(const PlcVersion *version);
extern void plc_prove_prefetch_tuple(const PlcVersion *version);
extern PlcProof plc_prove(PlcProver *prover, const PlcVersion *version, HeapTuple *copy);
extern void plc_prove_end(PlcProver *prover);
extern bool plc_version_of_tuple(HeapTuple tuple, Buffer buffer, Snapshot snapshot,
								 uint64 next_xid, PlcVersion *version);
extern bool plc_version_same(const PlcVersion *a, const PlcVersion *b);

/* May another tuple with this xmin exist, if this is the next id to be assigned? */
static inline bool
plc_version_expired(const PlcVersion *version, uint64 next_xid)
{
	return next_xid > version->expires;
}

#endif							/* PLC_TABLE_VERSION_H */
