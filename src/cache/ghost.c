/*
 * ghost.c
 *		The ghost list: the keys that left the small log lately, by hash.
 *
 * An item that comes back soon after it was thrown out was worth keeping; the
 * list is how the store notices (see evict.c).  It is a table of 32-bit hash
 * pieces, 0 for none, in which each hash has one place.  A later ghost that
 * has the same place overwrites the earlier one, and that is all the expiry
 * there is.  There are as many places as slots in the index, so a ghost has an
 * even chance to last while 0.7 times as many others leave (e^-0.7 = 0.5).
 *
 * The list may be wrong.  A false ghost, once in 2^32, sends one new item to
 * the main log; a lost one sends an item through the small log once more.
 *
 * All functions need the lock of the hash's shard.
 */
#include "cache/store_internal.h"

static uint32_t *
ghost_place(PlcStore *store, uint64_t hash)
{
	uint32_t   *ghosts = (uint32_t *) ((char *) store + store->ghosts_offset);

	return &ghosts[plc_hash_shard(store, hash) * store->ghosts +
				   plc_hash_scale(hash, store->ghosts)];
}

static uint32_t
ghost_of(uint64_t hash)
{
	return (uint32_t) hash != 0 ? (uint32_t) hash : 1;
}

void
plc_ghost_remember_locked(PlcStore *store, uint64_t hash)
{
	*ghost_place(store, hash) = ghost_of(hash);
}

/* Whether the hash is in the list; if so it is taken out. */
bool
plc_ghost_recall_locked(PlcStore *store, uint64_t hash)
{
	uint32_t   *place = ghost_place(store, hash);

	if (*place != ghost_of(hash))
		return false;
	*place = 0;
	return true;
}
