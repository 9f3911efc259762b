/*
 * store_internal.h
 *		What lies in the store's memory, and what its files use of each other.
 *
 * Only files of the store and its unit tests include this.  store.c explains
 * the design; log.c, index.c, evict.c and ghost.c explain their own part.
 */
#ifndef PLC_CACHE_STORE_INTERNAL_H
#define PLC_CACHE_STORE_INTERNAL_H

#include "cache/store.h"
#include "cache/word.h"

/* The unit tests check invariants that no caller can break. */
#ifdef PLC_STORE_CHECK
#include <assert.h>
#define plc_check(condition)	assert(condition)
#else
#define plc_check(condition)	((void) 0)
#endif

/* Of a cache line, which the struct that readers share begins */
#define PLC_LINE_BYTES		64

/*
 * Positions count units.  An item is a whole number of units, so 47 bits of
 * position reach over 2 PB of log.
 */
#define PLC_UNIT_BYTES		16
#define PLC_UNIT_WORDS		2

/* Item: hash, lengths, key, value; log.c draws it. */
#define PLC_HEADER_BYTES	16
#define PLC_ITEM_MAGIC		0x1CAC

/*
 * A slot: 1 bit "used", 15 bits tag, 1 bit log, 47 bits position.  The word 0
 * is an empty slot, whatever positions there are, since "used" is not set.
 */
#define PLC_POSITION_BITS	47
#define PLC_SLOT_USED		(UINT64_C(1) << 63)
#define PLC_TAG_MASK		UINT64_C(0x7fff)

#define PLC_BUCKET_SLOTS	7

/* The two logs of a shard, as slots and PlcShard.logs number them */
#define PLC_SMALL			0
#define PLC_MAIN			1

typedef struct PlcBucket
{
	/*
	 * Atomics.  A slot is stored with the shard's lock held, with release, when
	 * its item is complete; readers load it with acquire.
	 */
	uint64_t	slots[PLC_BUCKET_SLOTS];

	/*
	 * Atomics, relaxed, stored by anybody: how often the slot's item was used,
	 * at most PLC_STORE_MAX_USES.  A lost increment does no harm.
	 */
	uint8_t		uses[PLC_BUCKET_SLOTS];
	uint8_t		spare;
} __attribute__((aligned(PLC_LINE_BYTES))) PlcBucket;

typedef struct PlcLog
{
	/* Set at start-up and never changed */
	uint64_t	units;			/* capacity of the ring */
	uint64_t	ring_offset;	/* bytes from this struct to the ring */

	/*
	 * Atomics, stored with the shard's lock held.  Before overwriting an item
	 * the writer moves tail past it, with a release fence between the two.
	 */
	uint64_t	tail;			/* what lies before it has been given up */
	uint64_t	lap;			/* position of the ring's first unit */

	/* Protected by the shard's lock */
	uint64_t	head;			/* where the next item goes */
} __attribute__((aligned(PLC_LINE_BYTES))) PlcLog;

typedef struct PlcShard
{
	PlcLog		logs[2];		/* PLC_SMALL, PLC_MAIN */

	/* Protected by the shard's lock */
	PlcStoreCounts counts;
} __attribute__((aligned(PLC_LINE_BYTES))) PlcShard;

struct PlcStore
{
	/* Set at start-up and never changed */
	uint32_t	shard_bits;		/* there are 1 << shard_bits shards */
	uint32_t	max_value;		/* bytes */
	uint64_t	buckets;		/* of one shard */
	uint64_t	ghosts;			/* of one shard */
	uint64_t	buckets_offset; /* bytes from this struct */
	uint64_t	ghosts_offset;	/* bytes from this struct */

	PlcShard	shards[];
};

_Static_assert(sizeof(PlcBucket) == PLC_LINE_BYTES, "a bucket is one cache line");
_Static_assert(sizeof(PlcLog) == PLC_LINE_BYTES, "a reader's view of a log is one cache line");

/* Parts of a hash: 7 bits shard, 32 bits bucket and ghost, 15 bits tag */

static inline uint32_t
plc_hash_shard(const PlcStore *store, uint64_t hash)
{
	return (uint32_t) (hash >> 32) >> 1 >> (31 - store->shard_bits);
}

/* Evenly onto 0 .. n - 1, by 32 bits of the hash that no tag contains */
static inline uint64_t
plc_hash_scale(uint64_t hash, uint64_t n)
{
	return ((uint64_t) (uint32_t) (hash >> 16) * n) >> 32;
}

static inline PlcShard *
plc_hash_shard_of(const PlcStore *store, uint64_t hash)
{
	return (PlcShard *) &store->shards[plc_hash_shard(store, hash)];
}

static inline PlcBucket *
plc_hash_bucket(const PlcStore *store, uint64_t hash)
{
	PlcBucket  *buckets = (PlcBucket *) ((char *) store + store->buckets_offset);

	return &buckets[plc_hash_shard(store, hash) * store->buckets +
					plc_hash_scale(hash, store->buckets)];
}

/* Sizes of an item */

static inline uint32_t
plc_item_value_offset(uint32_t key_len)
{
	return PLC_HEADER_BYTES + (key_len + 7) / 8 * 8;
}

static inline uint32_t
plc_item_units(const PlcRef *item)
{
	return (item->value_offset + item->value_len + PLC_UNIT_BYTES - 1) / PLC_UNIT_BYTES;
}

static inline uint32_t
plc_item_bytes(const PlcRef *item)
{
	return plc_item_units(item) * PLC_UNIT_BYTES;
}

/* Slots */

static inline uint64_t
plc_slot_label(uint64_t hash)
{
	return PLC_SLOT_USED >> 48 | (hash & PLC_TAG_MASK);
}

/* The slot that points at an item */
static inline uint64_t
plc_slot_of(const PlcRef *item)
{
	return plc_slot_label(item->hash) << 48 |
		(uint64_t) item->main_log << PLC_POSITION_BITS |
		(item->position & ((UINT64_C(1) << PLC_POSITION_BITS) - 1));
}

static inline bool
plc_slot_main(uint64_t slot)
{
	return (slot >> PLC_POSITION_BITS) & 1;
}

static inline void
plc_slot_set_locked(PlcBucket *bucket, int slot, uint64_t value)
{
	__atomic_store_n(&bucket->slots[slot], value, __ATOMIC_RELEASE);
}

static inline uint8_t
plc_uses_load(const PlcBucket *bucket, int slot)
{
	return __atomic_load_n(&bucket->uses[slot], __ATOMIC_RELAXED);
}

static inline void
plc_uses_store(PlcBucket *bucket, int slot, uint8_t uses)
{
	__atomic_store_n(&bucket->uses[slot], uses, __ATOMIC_RELAXED);
}

/* Forgetting */

static inline void
plc_shard_discount_locked(PlcShard *shard, const PlcRef *item)
{
	shard->counts.items--;
	shard->counts.bytes -= plc_item_bytes(item);
}

/* Clears the slot of a live item: from now on nobody finds it. */
static inline void
plc_shard_forget_locked(PlcShard *shard, PlcBucket *bucket, const PlcRef *item)
{
	plc_slot_set_locked(bucket, item->slot, 0);
	plc_shard_discount_locked(shard, item);
}

/* Logs: positions */

/*
 * The position that a slot means: the one next to the lap that has its 47
 * bits.  Live items are within one ring's length of the lap.
 */
static inline uint64_t
plc_log_expand(const PlcLog *log, uint64_t slot)
{
	uint64_t	lap = plc_word_load(&log->lap);
	int64_t		distance = (int64_t) ((slot - lap) << (64 - PLC_POSITION_BITS));

	return lap + (uint64_t) (distance >> (64 - PLC_POSITION_BITS));
}

/*
 * Where in the ring a position is, in words.  Always inside the ring: for a
 * position that cannot be live it is the first word, and plc_log_holds will
 * deny the position.
 */
static inline uint64_t
plc_log_word(const PlcLog *log, uint64_t position)
{
	uint64_t	unit = position - plc_word_load(&log->lap);

	if (unit >= log->units)
		unit += log->units;		/* it belongs to the lap before */
	if (unit >= log->units)
		unit = 0;
	return unit * PLC_UNIT_WORDS;
}

/* Whether the item at this position has not been given up */
static inline bool
plc_log_holds(const PlcLog *log, uint64_t position)
{
	return position - plc_word_load(&log->tail) < log->units;
}

static inline uint64_t *
plc_log_ring(const PlcLog *log)
{
	return (uint64_t *) ((char *) log + log->ring_offset);
}

/* log.c: items in a ring */

extern bool plc_log_match(const PlcLog *log, PlcRef *item, const void *key, uint32_t key_len);
extern bool plc_log_match_head(const PlcLog *log, PlcRef *item, const void *key, uint32_t key_len,
							   void *head, uint32_t head_len);
extern bool plc_log_read(const PlcLog *log, const PlcRef *item,
						 uint32_t offset, void *dst, uint32_t len);
extern uint32_t plc_log_key_locked(const PlcLog *log, uint64_t position,
								   uint64_t *words, uint32_t nwords);
extern void plc_log_describe_locked(const PlcLog *log, PlcRef *item);
extern uint64_t plc_log_free_locked(const PlcLog *log);
extern void plc_log_give_up_locked(PlcLog *log, uint32_t units);
extern uint64_t plc_log_append_locked(PlcLog *log, const PlcRef *item,
									  const void *key, uint32_t key_len,
									  const PlcSlice *slices, int nslices);
extern uint64_t plc_log_copy_locked(PlcLog *to, const PlcLog *from,
									uint64_t position, uint32_t units);
extern void plc_log_patch_locked(PlcLog *log, const PlcRef *item,
								 uint32_t offset, uint32_t word);

/* index.c: buckets and slots */

extern bool plc_index_find(const PlcStore *store, const void *key, uint32_t key_len,
						   PlcRef *item);
extern bool plc_index_prefetch(const PlcStore *store, PlcRef *item);
extern bool plc_index_owner_locked(const PlcBucket *bucket, PlcRef *item);
extern int	plc_index_least_used_locked(const PlcBucket *bucket, uint64_t first);

/* evict.c: room in the logs */

extern bool plc_evict_too_big_for_small(const PlcShard *shard, uint32_t units);
extern void plc_evict_make_room_locked(PlcStore *store, PlcShard *shard,
									   bool main_log, uint32_t units);

/* ghost.c: who left the small log lately */

extern void plc_ghost_remember_locked(PlcStore *store, uint64_t hash);
extern bool plc_ghost_recall_locked(PlcStore *store, uint64_t hash);

/* store.c: the position of the first item; only in an empty store */

extern void plc_store_set_origin(PlcStore *store, uint64_t position);

#endif							/* PLC_CACHE_STORE_INTERNAL_H */
