/*
 * version.c
 *		Row versions: their identity, and the proof that one is visible.
 *
 * A tuple's data never change once it is written; an update writes another
 * tuple.  So (database, tablespace, relfilenumber, block, offset, raw xmin)
 * names one row version for good, or rather for as long as no other tuple with
 * the same raw xmin can come to stand at the same line pointer.
 *
 * How long is that (rule P5)?  Transaction ids are 64 bits wide with 32 of
 * them in the tuple.  A tuple with this raw xmin that is not ours must be
 * written by the next transaction whose low 32 bits are equal.  "expires" is
 * its full id: the first one not below the next id to be assigned, at the time
 * of publication, that ends in xmin.  While the next id to be assigned is not
 * beyond it, that transaction does not exist.
 *
 * A frozen tuple may be of any epoch, so a transaction with an equal xmin may
 * even be running now, 2^32 ids later.  It cannot come to stand in the place of
 * a tuple that the snapshot sees before that one is deleted and vacuumed, but
 * then it can.  Transactions that run have ids not below the snapshot's xmin;
 * so for frozen tuples the search begins there.  What it finds below the next id
 * has expired at once, and is not published.
 *
 * The reader takes its next_xid after its snapshot.  Were there a tuple of
 * transaction "expires" visible to the snapshot, the transaction would have
 * been given its id before the snapshot, hence next_xid > expires.
 *
 * Locks: the relation is locked by the caller (rule P2); the page by us, share,
 * for the tests of the versions on it and nothing else.  What may go wrong
 * under it (no memory for a copy, no room to log a hint bit) is an error as in
 * any scan, whose end releases lock and pin.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "compat.h"
#include "rules.h"
#include "table/version.h"

/*
 * ReadRecentBuffer does not count as a use of the page before PostgreSQL 19,
 * so pages that are kept hot only through the cache would age out of shared
 * buffers.  Every 32nd time a page is pinned in the ordinary way: one
 * that is needed often is then used at a 32nd of the rate, which the
 * clock sweep cannot tell from more, since it counts to five.
 */
#define PINS_PER_USE	32

static bool
hint_is_valid(const PlcVersion *version)
{
	return version->buffer >= 1 && version->buffer <= NBuffers;
}

/*
 * Pins the page of a version if it is still in that buffer; else false.  Never
 * reads by number what might lie beyond the end of the relation (rule P4): a
 * block that is in shared buffers while we hold the relation's lock exists.
 */
static bool
pin_page(const PlcVersion *version, Relation relation)
{
	static uint32 pins = 0;
	Buffer		buffer;

	if (!hint_is_valid(version))
		return false;
	if (!plc_read_recent_buffer(relation, version->block, version->buffer))
		return false;
	if (++pins % PINS_PER_USE != 0)
		return true;

	ReleaseBuffer(version->buffer);
	buffer = ReadBuffer(relation, version->block);
	if (buffer == version->buffer)
		return true;
	ReleaseBuffer(buffer);
	return false;
}

/* Makes the page of a version the one that is pinned and locked; else false. */
static bool
enter_page(PlcProver *prover, const PlcVersion *version)
{
	if (BufferIsValid(prover->buffer) && prover->block == version->block)
		return true;
	plc_prove_end(prover);
	if (!pin_page(version, prover->relation))
		return false;
	LockBuffer(version->buffer, BUFFER_LOCK_SHARE);
	prover->buffer = version->buffer;
	prover->block = version->block;
	return true;
}

/* The tuple at the version's line pointer, if it is the one; page locked. */
static bool
find_tuple(const PlcVersion *version, Relation relation, Page page, HeapTuple tuple)
{
	ItemId		item;

	if (PageIsNew(page) || version->offset > PageGetMaxOffsetNumber(page))
		return false;
	item = PageGetItemId(page, version->offset);
	if (!ItemIdIsNormal(item))
		return false;

	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = RelationGetRelid(relation);
	ItemPointerSet(&tuple->t_self, version->block, version->offset);
	return !PLC_RULE_P3 || HeapTupleHeaderGetRawXmin(tuple->t_data) == version->xmin;
}

/* Where the line pointer is if the page is where it was. */
static ItemId
expected_item(const PlcVersion *version)
{
	return PageGetItemId(BufferGetPage(version->buffer), version->offset);
}

/*
 * Has the memory fetched that a proof of this version will want: the buffer's
 * header, the page's, the line pointer.
 */
void
plc_prove_prefetch_page(const PlcVersion *version)
{
	if (!hint_is_valid(version))
		return;
	__builtin_prefetch(GetBufferDescriptor(version->buffer - 1));
	__builtin_prefetch(BufferGetPage(version->buffer));
	__builtin_prefetch(expected_item(version));
}

/*
 * Some time after plc_prove_prefetch_page: the tuple's header.  The page is not
 * pinned, so the line pointer may be anything; nothing but an address to
 * prefetch is made of it.
 */
void
plc_prove_prefetch_tuple(const PlcVersion *version)
{
	if (hint_is_valid(version))
		__builtin_prefetch((char *) BufferGetPage(version->buffer) +
						   ItemIdGetOffset(expected_item(version)));
}

/* Has anybody deleted or updated this tuple, even if the snapshot does not know it? */
static bool
is_deleted(HeapTuple tuple)
{
	return !(tuple->t_data->t_infomask & HEAP_XMAX_INVALID) &&
		!HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_data->t_infomask);
}

/* Begins a row of proofs.  Locks nothing yet. */
void
plc_prove_begin(PlcProver *prover, Relation relation, Snapshot snapshot, uint64 next_xid,
				bool wary)
{
	prover->relation = relation;
	prover->snapshot = snapshot;
	prover->next_xid = next_xid;
	prover->wary = wary;
	prover->buffer = InvalidBuffer;
}

/*
 * Is this version visible to the snapshot?  If "copy" is given and it is, it
 * gets a copy of the tuple, palloc'd.
 *
 * May leave the page pinned and locked for the next proof.  So between
 * plc_prove_begin and plc_prove_end the caller does nothing but prove.
 */
PlcProof
plc_prove(PlcProver *prover, const PlcVersion *version, HeapTuple *copy)
{
	HeapTupleData tuple;

	if (plc_version_expired(version, prover->next_xid))
		return PLC_PROOF_FAILED;
	if (!enter_page(prover, version))
		return PLC_PROOF_LOST_PAGE;
	if (!find_tuple(version, prover->relation, BufferGetPage(prover->buffer), &tuple) ||
		!HeapTupleSatisfiesVisibility(&tuple, prover->snapshot, prover->buffer))
		return PLC_PROOF_FAILED;
	if (prover->wary && is_deleted(&tuple))
		return PLC_PROOF_FAILED;
	if (copy != NULL)
		*copy = heap_copytuple(&tuple);
	return PLC_PROOF_VISIBLE;
}

/* Ends a row of proofs: nothing is pinned or locked any more. */
void
plc_prove_end(PlcProver *prover)
{
	if (BufferIsValid(prover->buffer))
		UnlockReleaseBuffer(prover->buffer);
	prover->buffer = InvalidBuffer;
}

/* The first full transaction id, not below "next", whose low half is xmin. */
static uint64
next_occurrence(TransactionId xmin, uint64 next)
{
	return next + (TransactionId) (xmin - (TransactionId) next);
}

/* The full id, below "next", that the snapshot has as its xmin. */
static uint64
oldest_running(Snapshot snapshot, uint64 next)
{
	return next - (TransactionId) ((TransactionId) next - snapshot->xmin);
}

/*
 * The identity of a tuple in a pinned buffer, which the snapshot sees; false if
 * it has none.  next_xid was read after the snapshot was taken.  One that says
 * it has expired is good for comparing only.
 */
bool
plc_version_of_tuple(HeapTuple tuple, Buffer buffer, Snapshot snapshot, uint64 next_xid,
					 PlcVersion *version)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
	bool		frozen = HeapTupleHeaderXminFrozen(tuple->t_data);

	if (!TransactionIdIsNormal(xmin))
		return false;
	version->expires = next_occurrence(xmin, frozen ? oldest_running(snapshot, next_xid)
									   : next_xid);
	version->block = ItemPointerGetBlockNumber(&tuple->t_self);
	version->offset = ItemPointerGetOffsetNumber(&tuple->t_self);
	version->xmin = xmin;
	version->buffer = buffer;
	version->lead = 0;
	return true;
}

/* Are these the same version of a row of the same file, now? */
bool
plc_version_same(const PlcVersion *a, const PlcVersion *b)
{
	return a->block == b->block && a->offset == b->offset && a->xmin == b->xmin;
}
