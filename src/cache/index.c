/*
 * index.c
 *		The index: from a hash to where in the logs an item is.
 *
 * A bucket is one cache line: 7 slots of 8 bytes and, for each, a byte that
 * says how often its item was used.  A slot is
 *
 *		bit  63			1: the slot is used
 *		bits 48 .. 62	tag, 15 bits of the hash that neither shard nor bucket use
 *		bit  47			1: main log, 0: small log
 *		bits 0 .. 46	position in that log, in units of 16 bytes
 *
 * and is loaded and stored as one word, so it is always whole.  A look-up loads
 * one line and seldom more than one item: two of a bucket's items have equal
 * tags once in 1500 full buckets (7 * 6 / 2 pairs / 2^15).
 *
 * The index is lossy.  There is no chain and no second choice: an item that
 * finds its bucket full takes the slot of the least used one, which is then
 * forgotten.  With one bucket for a kB of log, items of 250 bytes fill 4 slots
 * of 7, and one item in 50 finds a full bucket; 7 slots are few enough to compare
 * without a branch and leave a line's last 8 bytes to the frequencies.
 *
 * A slot with the "used" bit always points at a live item of its shard: the
 * writer clears it, or points it elsewhere, in the same call that gives up the
 * item.  Readers may see it between the two; they find out from the log's tail.
 */
#include "cache/store_internal.h"

/*
 * A row of 150 bytes, with header and key, begins in one line and ends in the
 * fourth.  With 1, 2, 3 and 4 lines fetched, reading 100000 such rows in batches
 * of 64 took 101, 85, 69 and 67 ns a row; without any it took 175.
 */
#define PREFETCH_LINES	4

/*
 * The slots whose label is that of the hash, as bits.  All are compared, always:
 * which slot it will be cannot be predicted, and a wrong guess costs more.
 */
static inline uint32_t
labelled_slots(const PlcBucket *bucket, uint64_t hash)
{
	uint64_t	label = plc_slot_label(hash);
	uint32_t	found = 0;
	int			i;

#pragma GCC unroll 7
	for (i = 0; i < PLC_BUCKET_SLOTS; i++)
		found |= (uint32_t) (plc_word_load(&bucket->slots[i]) >> 48 == label) << i;
	return found;
}

/*
 * Finds the item of a key, whose hash is item->hash.  If there is one the whole
 * ref is filled in.  Needs no lock.
 *
 * The slot is loaded again, now with acquire, since only then the item's words
 * are sure to be there; it may have changed, so its label is looked at again.
 */
bool
plc_index_find(const PlcStore *store, const void *key, uint32_t key_len, PlcRef *item)
{
	const PlcBucket *bucket = plc_hash_bucket(store, item->hash);
	const PlcShard *shard = plc_hash_shard_of(store, item->hash);
	uint32_t	candidates = labelled_slots(bucket, item->hash);

	for (; candidates != 0; candidates &= candidates - 1)
	{
		int			i = __builtin_ctz(candidates);
		uint64_t	slot = __atomic_load_n(&bucket->slots[i], __ATOMIC_ACQUIRE);
		const PlcLog *log = &shard->logs[plc_slot_main(slot)];

		if (slot >> 48 != plc_slot_label(item->hash))
			continue;
		item->position = plc_log_expand(log, slot);
		item->slot = i;
		item->uses = plc_uses_load(bucket, i);
		item->main_log = plc_slot_main(slot);
		if (plc_log_match(log, item, key, key_len))
			return true;
	}
	return false;
}

/*
 * Fetches the first lines of the item that this hash, item->hash, may be of, so that a
 * later find and read do not wait for memory.  False if there is none; else the ref says
 * where it is, so the slot is loaded with acquire, as in a find.  Needs no lock.
 */
bool
plc_index_prefetch(const PlcStore *store, PlcRef *item)
{
	const PlcBucket *bucket = plc_hash_bucket(store, item->hash);
	uint32_t	candidates = labelled_slots(bucket, item->hash);
	const PlcLog *log;
	const char *first;
	uint64_t	slot;
	int			i;

	if (candidates == 0)
		return false;
	item->slot = __builtin_ctz(candidates);
	item->uses = plc_uses_load(bucket, item->slot);
	slot = __atomic_load_n(&bucket->slots[item->slot], __ATOMIC_ACQUIRE);
	item->main_log = plc_slot_main(slot);
	log = &plc_hash_shard_of(store, item->hash)->logs[item->main_log];
	item->position = plc_log_expand(log, slot);
	first = (const char *) &plc_log_ring(log)[plc_log_word(log, item->position)];
	for (i = 0; i < PREFETCH_LINES; i++)
		__builtin_prefetch(first + i * PLC_LINE_BYTES);
	return true;
}

/* Finds the slot that points at this item; false if none does, so it is dead. */
bool
plc_index_owner_locked(const PlcBucket *bucket, PlcRef *item)
{
	uint64_t	slot = plc_slot_of(item);
	int			i;

	for (i = 0; i < PLC_BUCKET_SLOTS; i++)
	{
		if (plc_word_load(&bucket->slots[i]) == slot)
		{
			item->slot = i;
			return true;
		}
	}
	return false;
}

/*
 * An empty slot, else the least used one.  Among equals the first at or after
 * slot `first`; callers vary it, since the loser would always be the item that
 * came last if it were always the same.
 */
int
plc_index_least_used_locked(const PlcBucket *bucket, uint64_t first)
{
	int			best = 0;
	int			best_uses = PLC_STORE_MAX_USES + 1;
	int			i;

	for (i = 0; i < PLC_BUCKET_SLOTS; i++)
	{
		int			candidate = (first + i) % PLC_BUCKET_SLOTS;
		int			uses = plc_uses_load(bucket, candidate);

		if (plc_word_load(&bucket->slots[candidate]) == 0)
			return candidate;
		if (uses < best_uses)
		{
			best = candidate;
			best_uses = uses;
		}
	}
	return best;
}
