/*
 * store.c
 *		The shared store: its life, and its functions on single keys.
 *
 * The store maps key bytes to an immutable value in a fixed amount of memory,
 * which many processes share.  Readers take no lock, wait for nobody and write
 * nothing but a byte now and then, to say that an item is used.  The store knows
 * nothing of tables, row versions or snapshots; it may forget any item at any
 * time, and never gives bytes that were not put under that very key.
 *
 * Memory.  One block, laid out by plc_store_format and never changed in shape.
 * It holds sizes and offsets but no pointers:
 *
 *		PlcStore		sizes, offsets
 *		PlcShard[n]		for each shard: the ends of its two logs, its counts
 *		PlcBucket[]		for each shard: its part of the index, 64 bytes a kB of log
 *		rings			for each shard: small log (10 %), main log (90 %)
 *		ghosts			for each shard: 4 bytes for each slot
 *
 * A hash is used in parts: 7 bits choose the shard, 32 bits the bucket and the
 * ghost, 15 bits are the slot's tag.  It must be good in all its bits.
 *
 *		hash ---> bucket, a line
 *		          +-----------+
 *		          | tag, pos  |        tail                        head
 *		          | tag, pos -+--+      v                           v
 *		          |   ...     |  |   ---+--------+------+-----------+---
 *		          | uses      |  |      | item   | item | item      |
 *		          +-----------+  |   ---+--------+------+-----------+---
 *		                         +---------------^        log, a ring
 *
 * Life of an item.  A put appends it to the head of a log and points a slot at
 * it.  It never changes there, but for hints that plc_store_patch_locked writes.
 * When the log has gone round, the item is at the tail, and then it is copied to
 * a head again or given up (evict.c).  If its key is put again the slot is swung
 * to the new item, and the old one is dead weight until the tail passes it.  So
 * there is no free list, no size class and no fragmentation, and an item costs
 * its own bytes and 16 to 38 more: header and padding.
 *
 * Locks.  One a shard, for writers, held by the caller: all functions whose
 * names end in _locked need it, exclusively.  Functions that read need none.
 *
 * Ordering, in one sentence: the writer says "given up" before it overwrites,
 * and the reader asks "given up?" after it has copied, so what passes is whole.
 * log.c spells out the interleaving that the fences exclude, and why a slot is
 * never seen before its item.  A reader may be as slow as it likes, for positions
 * are 64 bits and never come again.  (A slot has only 47 of these, so if a reader
 * slept between loading a slot and using it while 1 PB was written to that log,
 * it might take other bytes for a header; it would still compare hash and key.)
 *
 * What it does not do: no item is pinned, so a reader copies what it wants to
 * keep.  No order among keys and no listing, but for the sweep of a whole shard.
 * No time to live.  No resizing.  No recovery: if a writer dies while it holds
 * the lock, the block must be formatted anew, as a server does after a crash.
 * Nothing here allocates, waits, raises an error or calls the system.
 */
#include "cache/store_internal.h"

/*
 * A shard has 8 to 16 MB: large enough that one item, an eighth of it, may be a
 * MB, and small enough that writers seldom meet.  128 shards are more than
 * there are writers at one moment on most machines.
 */
#define SHARD_BYTES			((size_t) 8 * 1024 * 1024)
#define MAX_SHARD_BITS		7

/*
 * One bucket, and a ghost for each of its slots, for this much log.  An item of
 * 250 bytes then finds 4 of its bucket's 7 slots taken, and the index costs 8 %.
 */
#define LOG_BYTES_PER_BUCKET	1024

/* A value of an eighth leaves room for 7 more: a shard is never one item. */
#define VALUE_PART			8

/* So that all sums of an item's lengths fit in 32 bits */
#define MAX_VALUE_BYTES		((uint64_t) 1 << 30)

static uint32_t
shard_bits_for_size(size_t size)
{
	uint32_t	bits = 0;

	while (bits < MAX_SHARD_BITS && size >> (bits + 1) >= SHARD_BYTES)
		bits++;
	return bits;
}

/*
 * How many shards, and so locks, a store of this size has.  A power of two,
 * at most 128.
 */
uint32_t
plc_store_shards_for_size(size_t size)
{
	return UINT32_C(1) << shard_bits_for_size(size);
}

/* Sets sizes and offsets for a block of this size; returns the offset of the rings. */
static uint64_t
set_sizes(PlcStore *store, size_t size)
{
	uint64_t	nshards = plc_store_shards_for_size(size);
	uint64_t	fixed = sizeof(PlcStore) + nshards * sizeof(PlcShard);
	uint64_t	cost = LOG_BYTES_PER_BUCKET + sizeof(PlcBucket) +
		PLC_BUCKET_SLOTS * sizeof(uint32_t);
	uint64_t	buckets = (size - fixed) / nshards / cost;
	uint64_t	max_value = buckets * LOG_BYTES_PER_BUCKET / VALUE_PART;
	uint64_t	rings_offset = fixed + nshards * buckets * sizeof(PlcBucket);

	store->shard_bits = shard_bits_for_size(size);
	store->max_value = (uint32_t) (max_value < MAX_VALUE_BYTES ? max_value : MAX_VALUE_BYTES);
	store->buckets = buckets;
	store->ghosts = buckets * PLC_BUCKET_SLOTS;
	store->buckets_offset = fixed;
	store->ghosts_offset = rings_offset + nshards * buckets * LOG_BYTES_PER_BUCKET;
	return rings_offset;
}

static void
set_ring(PlcStore *store, PlcLog *log, uint64_t offset, uint64_t bytes)
{
	log->units = bytes / PLC_UNIT_BYTES;
	log->ring_offset = offset - (uint64_t) ((char *) log - (char *) store);
}

/* Gives each shard its two rings, one after the other. */
static void
set_rings(PlcStore *store, uint64_t offset)
{
	uint64_t	log_bytes = store->buckets * LOG_BYTES_PER_BUCKET;
	uint64_t	small_bytes = log_bytes / 10 / PLC_LINE_BYTES * PLC_LINE_BYTES;
	uint32_t	i;

	for (i = 0; i < plc_store_shards(store); i++, offset += log_bytes)
	{
		PlcShard   *shard = &store->shards[i];

		set_ring(store, &shard->logs[PLC_SMALL], offset, small_bytes);
		set_ring(store, &shard->logs[PLC_MAIN], offset + small_bytes, log_bytes - small_bytes);
	}
}

/*
 * Lays out an empty store in a block of memory, aligned to 64 bytes, that
 * nobody else uses yet.  The result is the block itself; others may use it at
 * whatever address they have it.  NULL if the block is smaller than
 * PLC_STORE_MIN_SIZE or not aligned.
 */
PlcStore *
plc_store_format(void *memory, size_t size)
{
	PlcStore   *store = memory;
	uint64_t	nshards = plc_store_shards_for_size(size);
	uint64_t	rings_offset;

	if (size < PLC_STORE_MIN_SIZE || (uintptr_t) memory % PLC_LINE_BYTES != 0)
		return NULL;
	rings_offset = set_sizes(store, size);
	memset(store->shards, 0, nshards * sizeof(PlcShard));
	memset((char *) store + store->buckets_offset, 0,
		   nshards * store->buckets * sizeof(PlcBucket));
	memset((char *) store + store->ghosts_offset, 0,
		   nshards * store->ghosts * sizeof(uint32_t));
	set_rings(store, rings_offset);
	plc_store_set_origin(store, 0);
	return store;
}

/*
 * Makes an empty store count its positions from here.  Any number will do;
 * tests choose one just below the end of the 47 bits of a slot.
 */
void
plc_store_set_origin(PlcStore *store, uint64_t position)
{
	uint32_t	i;

	for (i = 0; i < 2 * plc_store_shards(store); i++)
	{
		PlcLog	   *log = &store->shards[i / 2].logs[i % 2];

		log->lap = log->tail = log->head = position;
	}
}

uint32_t
plc_store_shards(const PlcStore *store)
{
	return UINT32_C(1) << store->shard_bits;
}

/*
 * The longest value that can be put, in bytes, with any key: an eighth of a
 * shard's logs, and at most 1 GB.
 */
uint32_t
plc_store_max_value(const PlcStore *store)
{
	return store->max_value;
}

/* Whose lock the _locked functions want for this hash. */
uint32_t
plc_store_shard(const PlcStore *store, uint64_t hash)
{
	return plc_hash_shard(store, hash);
}

/*
 * For batches: first fetch all keys' buckets, then all their items, then find
 * and read, so that the waits for memory overlap.
 */
void
plc_store_prefetch_bucket(const PlcStore *store, uint64_t hash)
{
	__builtin_prefetch(plc_hash_bucket(store, hash));
}

/*
 * Worth the while only if the bucket is there by now.  True if there may be such an
 * item: *ref says which for plc_store_find_prefetched, and is good for nothing else.
 */
bool
plc_store_prefetch_item(const PlcStore *store, uint64_t hash, PlcRef *ref)
{
	ref->hash = hash;
	return plc_index_prefetch(store, ref);
}

/*
 * Finds the item of a key; the same key must always come with the same hash.
 * If there is one, fills in *ref; else its content is undefined.  Counts as no
 * use: see plc_store_touch.  Needs no lock.
 */
bool
plc_store_find(const PlcStore *store, uint64_t hash, const void *key, uint32_t key_len,
			   PlcRef *ref)
{
	if (key_len > PLC_STORE_MAX_KEY)
		return false;
	ref->hash = hash;
	return plc_index_find(store, key, key_len, ref);
}

/*
 * The same for a key for which plc_store_prefetch_item has said "true": looks at that
 * item first, and as a rule at no other.  If the key was put again meanwhile, it may
 * find what was there before.  Reads the first head_len bytes of the value, which are
 * whole words, in the same go; false if it has not as many.
 */
bool
plc_store_find_prefetched(const PlcStore *store, const void *key, uint32_t key_len, PlcRef *ref,
						  void *head, uint32_t head_len)
{
	const PlcShard *shard = plc_hash_shard_of(store, ref->hash);

	return plc_log_match_head(&shard->logs[ref->main_log], ref, key, key_len, head, head_len) ||
		(plc_store_find(store, ref->hash, key, key_len, ref) &&
		 plc_store_read(store, ref, 0, head, head_len));
}

/*
 * Copies len bytes of a found item's value, from offset on, to dst; neither
 * needs an alignment.  False if the item has been given up meanwhile, and dst
 * holds anything then; or if the value has no such bytes.  Needs no lock.
 */
bool
plc_store_read(const PlcStore *store, const PlcRef *ref, uint32_t offset, void *dst,
			   uint32_t len)
{
	const PlcShard *shard = plc_hash_shard_of(store, ref->hash);

	if (offset > ref->value_len || len > ref->value_len - offset)
		return false;
	return plc_log_read(&shard->logs[ref->main_log], ref, offset, dst, len);
}

/*
 * The rest of plc_store_touch.  Does nothing if the item is elsewhere by now, or has all
 * its uses already, so the lines of hot items are not written.  Needs no lock; of two at
 * once one may be lost.
 */
void
plc_store_count_use(PlcStore *store, const PlcRef *ref)
{
	PlcBucket  *bucket = plc_hash_bucket(store, ref->hash);
	uint8_t		uses = plc_uses_load(bucket, ref->slot);

	if (uses < PLC_STORE_MAX_USES &&
		plc_word_load(&bucket->slots[ref->slot]) == plc_slot_of(ref))
		plc_uses_store(bucket, ref->slot, uses + 1);
}

/* Sums up the lengths; false if the store takes no such key or value. */
static bool
measure(const PlcStore *store, uint32_t key_len, const PlcSlice *slices, int nslices,
		PlcRef *item)
{
	uint64_t	value_len = 0;
	int			i;

	for (i = 0; i < nslices; i++)
		value_len += slices[i].len;
	if (key_len > PLC_STORE_MAX_KEY || value_len > store->max_value)
		return false;
	item->value_len = (uint32_t) value_len;
	item->value_offset = plc_item_value_offset(key_len);
	return true;
}

/* Which log a put goes to.  A key's next item goes where the one before it is. */
static bool
choose_main_log(PlcStore *store, PlcShard *shard, const PlcRef *item, const PlcRef *old)
{
	if (old == NULL && plc_ghost_recall_locked(store, item->hash))
	{
		shard->counts.returned++;
		return true;
	}
	if (old != NULL && old->main_log)
		return true;
	return plc_evict_too_big_for_small(shard, plc_item_units(item));
}

/*
 * Points the item's slot at it, now that it is complete.  What the slot pointed
 * at before is forgotten: an older item of the key, or of a key that must give
 * way.
 */
static void
publish(PlcShard *shard, PlcBucket *bucket, const PlcRef *item, uint8_t uses)
{
	uint64_t	before = plc_word_load(&bucket->slots[item->slot]);

	if (before != 0)
	{
		const PlcLog *log = &shard->logs[plc_slot_main(before)];
		PlcRef		forgotten;

		forgotten.position = plc_log_expand(log, before);
		plc_log_describe_locked(log, &forgotten);
		plc_shard_discount_locked(shard, &forgotten);
	}
	plc_uses_store(bucket, item->slot, uses);
	plc_slot_set_locked(bucket, item->slot, plc_slot_of(item));
	shard->counts.items++;
	shard->counts.bytes += plc_item_bytes(item);
	shard->counts.inserted++;
}

/* A slot for a key that has none: empty, or of an item that gives way. */
static uint8_t
take_slot(PlcShard *shard, const PlcBucket *bucket)
{
	int			slot = plc_index_least_used_locked(bucket, shard->counts.displaced);

	if (plc_word_load(&bucket->slots[slot]) != 0)
		shard->counts.displaced++;
	return (uint8_t) slot;
}

/*
 * Stores a value, the slices one after the other, under a key.  What was stored
 * under it before is forgotten; its uses are taken over.  False if the store
 * takes no such key or value (PLC_STORE_MAX_KEY, plc_store_max_value); nothing
 * has changed then.  The slices must not lie in the store.  The work is bounded
 * by the size of the item, see evict.c.
 */
bool
plc_store_put_locked(PlcStore *store, uint64_t hash, const void *key, uint32_t key_len,
					 const PlcSlice *slices, int nslices)
{
	PlcShard   *shard = plc_hash_shard_of(store, hash);
	PlcBucket  *bucket = plc_hash_bucket(store, hash);
	PlcRef		item;
	PlcRef		old;
	bool		replaces;
	uint8_t		uses = 0;

	if (!measure(store, key_len, slices, nslices, &item))
		return false;
	item.hash = old.hash = hash;
	replaces = plc_index_find(store, key, key_len, &old);
	if (replaces)
		uses = plc_uses_load(bucket, old.slot);

	item.main_log = choose_main_log(store, shard, &item, replaces ? &old : NULL);
	plc_evict_make_room_locked(store, shard, item.main_log, plc_item_units(&item));
	item.position = plc_log_append_locked(&shard->logs[item.main_log], &item,
										  key, key_len, slices, nslices);

	/* Making room may have moved the old item or cleared its slot: ours either way. */
	item.slot = replaces ? old.slot : take_slot(shard, bucket);
	publish(shard, bucket, &item, uses);
	return true;
}

/*
 * Overwrites an aligned 32-bit word of a found item's value, in place; a reader
 * sees the old one or the new one.  For hints only: a copy that somebody made
 * before keeps the old one.  False if the item has been given up, or if the
 * value has no such word.
 */
bool
plc_store_patch_locked(PlcStore *store, const PlcRef *ref, uint32_t offset, uint32_t word)
{
	PlcLog	   *log = &plc_hash_shard_of(store, ref->hash)->logs[ref->main_log];

	if (offset % sizeof(word) != 0 || ref->value_len < sizeof(word) ||
		offset > ref->value_len - sizeof(word) || !plc_log_holds(log, ref->position))
		return false;
	plc_log_patch_locked(log, ref, offset, word);
	return true;
}

/*
 * Forgets a found item.  False if it is not there any more, replaced and moved
 * ones included; the caller may find the key again.
 */
bool
plc_store_remove_locked(PlcStore *store, const PlcRef *ref)
{
	PlcBucket  *bucket = plc_hash_bucket(store, ref->hash);

	if (plc_word_load(&bucket->slots[ref->slot]) != plc_slot_of(ref))
		return false;
	plc_shard_forget_locked(plc_hash_shard_of(store, ref->hash), bucket, ref);
	return true;
}
