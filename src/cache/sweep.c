/*
 * sweep.c
 *		Whole shards: a visit to every item, and the counts.
 *
 * A sweep goes along the index, not along the logs: only what a slot points at
 * is alive, and the logs do not know it.  Each item then costs a cache miss;
 * the items of a bucket are fetched together while the bucket before is looked
 * at, which hides most of that.
 *
 * All functions need the shard's lock.
 */
#include "cache/store_internal.h"

/* What of a key a visitor can see: enough for what identifies a table. */
#define PREFIX_BYTES	64
#define PREFIX_WORDS	(PREFIX_BYTES / 8)

typedef struct Sweep
{
	PlcShard   *shard;
	PlcStoreVisitor visitor;
	uint32_t	prefix_words;
	void	   *arg;
	uint64_t	removed;
} Sweep;

static void
visit_slot(Sweep *sweep, PlcBucket *bucket, int slot)
{
	uint64_t	word = plc_word_load(&bucket->slots[slot]);
	const PlcLog *log = &sweep->shard->logs[plc_slot_main(word)];
	uint64_t	key[PREFIX_WORDS];
	uint32_t	key_len;
	PlcRef		item;

	item.position = plc_log_expand(log, word);
	item.main_log = plc_slot_main(word);
	item.slot = slot;
	plc_log_describe_locked(log, &item);
	key_len = plc_log_key_locked(log, item.position, key, sweep->prefix_words);
	if (sweep->visitor(key, key_len, plc_item_bytes(&item), sweep->arg))
	{
		plc_shard_forget_locked(sweep->shard, bucket, &item);
		sweep->removed++;
	}
}

static void
fetch_items(const PlcShard *shard, const PlcBucket *bucket)
{
	int			i;

	for (i = 0; i < PLC_BUCKET_SLOTS; i++)
	{
		uint64_t	word = plc_word_load(&bucket->slots[i]);
		const PlcLog *log = &shard->logs[plc_slot_main(word)];

		__builtin_prefetch(&plc_log_ring(log)[plc_log_word(log, plc_log_expand(log, word))]);
	}
}

/*
 * Shows each item of a shard to the visitor, in no order, and removes those for
 * which it answers true; returns how many.  The visitor gets the key's length,
 * the item's bytes, and of the key itself the first key_prefix bytes, at most 64,
 * valid during the call.  It must not use the store's _locked functions.
 */
uint64_t
plc_store_sweep_locked(PlcStore *store, uint32_t shard, PlcStoreVisitor visitor,
					   uint32_t key_prefix, void *arg)
{
	PlcBucket  *buckets = (PlcBucket *) ((char *) store + store->buckets_offset) +
		shard * store->buckets;
	Sweep		sweep = {0};
	uint64_t	i;
	int			slot;

	sweep.shard = &store->shards[shard];
	sweep.visitor = visitor;
	sweep.arg = arg;
	sweep.prefix_words = key_prefix < PREFIX_BYTES ? (key_prefix + 7) / 8 : PREFIX_WORDS;
	for (i = 0; i < store->buckets; i++)
	{
		if (i + 1 < store->buckets)
			fetch_items(sweep.shard, &buckets[i + 1]);
		for (slot = 0; slot < PLC_BUCKET_SLOTS; slot++)
		{
			if (plc_word_load(&buckets[i].slots[slot]) != 0)
				visit_slot(&sweep, &buckets[i], slot);
		}
	}
	return sweep.removed;
}

/* The counts of one shard, as of now. */
void
plc_store_counts_locked(const PlcStore *store, uint32_t shard, PlcStoreCounts *counts)
{
	*counts = store->shards[shard].counts;
}
