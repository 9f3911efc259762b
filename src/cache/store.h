/*
 * store.h
 *		The shared store: key bytes to an immutable value, in fixed memory.
 *
 * Knows nothing of PostgreSQL.  Lives in one block of memory that many
 * processes (or threads) share; holds no pointers, so each may map it where it
 * likes.  Reads take no lock.  Functions that end in _locked want the caller
 * to hold the exclusive lock of one shard; which lock that is, and what kind,
 * is the caller's business.  store.c explains the design.
 */
#ifndef PLC_CACHE_STORE_H
#define PLC_CACHE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PlcStore PlcStore;

/* Longest key that the store takes, in bytes. */
#define PLC_STORE_MAX_KEY		4096

/* Least memory that a store can be made of, in bytes.  It begins at a multiple of 64. */
#define PLC_STORE_MIN_SIZE		(1024 * 1024)

/* Uses that count for an item; more do not make it stay longer */
#define PLC_STORE_MAX_USES	3

/*
 * Where an item was when it was found.  Plain data, valid for as long as the
 * caller likes: using it later is safe, it then says "gone".
 */
typedef struct PlcRef
{
	uint64_t	position;		/* in its log, in units of 16 bytes */
	uint64_t	hash;
	uint32_t	value_len;		/* bytes; true, was checked when found */
	uint32_t	value_offset;	/* bytes from the item's start to its value */
	uint8_t		slot;			/* in the bucket */
	uint8_t		uses;			/* counted when it was found, up to PLC_STORE_MAX_USES */
	bool		main_log;		/* else in the small log */
} PlcRef;

/* A piece of a value that is to be stored. */
typedef struct PlcSlice
{
	const void *data;
	uint32_t	len;
} PlcSlice;

/* Sums over one shard; monotonic but for items and bytes. */
typedef struct PlcStoreCounts
{
	uint64_t	items;			/* live: an index slot points at them */
	uint64_t	bytes;			/* of live items, headers and keys included */
	uint64_t	inserted;		/* puts that took place, replacements included */
	uint64_t	evicted;		/* left the store for want of room */
	uint64_t	displaced;		/* left because their bucket was full */
	uint64_t	promoted;		/* moved from the small log to the main log */
	uint64_t	returned;		/* found in the ghost list when put again */
} PlcStoreCounts;

/* Life */
extern PlcStore *plc_store_format(void *memory, size_t size);
extern uint32_t plc_store_shards_for_size(size_t size);
extern uint32_t plc_store_shards(const PlcStore *store);
extern uint32_t plc_store_max_value(const PlcStore *store);

/* Reading: no lock, no wait, no allocation */
extern uint32_t plc_store_shard(const PlcStore *store, uint64_t hash);
extern void plc_store_prefetch_bucket(const PlcStore *store, uint64_t hash);
extern bool plc_store_prefetch_item(const PlcStore *store, uint64_t hash, PlcRef *ref);
extern bool plc_store_find(const PlcStore *store, uint64_t hash,
						   const void *key, uint32_t key_len, PlcRef *ref);
extern bool plc_store_find_prefetched(const PlcStore *store, const void *key, uint32_t key_len,
									  PlcRef *ref, void *head, uint32_t head_len);
extern bool plc_store_read(const PlcStore *store, const PlcRef *ref,
						   uint32_t offset, void *dst, uint32_t len)
			__attribute__((warn_unused_result));
extern void plc_store_count_use(PlcStore *store, const PlcRef *ref);

/*
 * Counts one use of a found item, which will help it to stay.  Most that are used have
 * all their uses already: then not even their bucket is looked at again.
 */
static inline void
plc_store_touch(PlcStore *store, const PlcRef *ref)
{
	if (ref->uses < PLC_STORE_MAX_USES)
		plc_store_count_use(store, ref);
}

/* Writing, with the lock of plc_store_shard(hash) held */
extern bool plc_store_put_locked(PlcStore *store, uint64_t hash,
								 const void *key, uint32_t key_len,
								 const PlcSlice *slices, int nslices);
extern bool plc_store_patch_locked(PlcStore *store, const PlcRef *ref,
								   uint32_t offset, uint32_t word);
extern bool plc_store_remove_locked(PlcStore *store, const PlcRef *ref);

/* Whole shards, with that shard's lock held */
typedef bool (*PlcStoreVisitor) (const void *key, uint32_t key_len,
								 uint32_t item_bytes, void *arg);
extern uint64_t plc_store_sweep_locked(PlcStore *store, uint32_t shard,
									   PlcStoreVisitor visitor, uint32_t key_prefix,
									   void *arg);
extern void plc_store_counts_locked(const PlcStore *store, uint32_t shard,
									PlcStoreCounts *counts);

#endif							/* PLC_CACHE_STORE_H */
