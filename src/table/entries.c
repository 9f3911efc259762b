/*
 * entries.c
 *		Entries by table: forgetting them, and adding up what they take.
 *
 * Walks the whole store, one shard at a time with that shard's lock held:
 * readers go on, writers of the shard wait for some milliseconds.  Nothing on
 * the read path has to keep account of tables for this.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/hsearch.h"

#include "shmem.h"
#include "table/entries.h"
#include "table/key.h"

static const PlcKeyPrefix *
prefix_of(const void *key)
{
	return (const PlcKeyPrefix *) key;
}

/* arg: the table, or InvalidOid for the whole database. */
static bool
is_of_table(const void *key, uint32_t key_len, uint32_t item_bytes, void *arg)
{
	Oid			relid = *(Oid *) arg;

	return prefix_of(key)->database == MyDatabaseId &&
		(!OidIsValid(relid) || prefix_of(key)->relid == relid);
}

/*
 * Forgets the entries of a table of this database, or of all (InvalidOid);
 * their number.  Can be cancelled between shards.
 */
uint64
plc_entries_forget(Oid relid)
{
	uint64		forgotten = 0;

	if (plc_store == NULL)
		return 0;
	for (uint32 shard = 0; shard < plc_store_shards(plc_store); shard++)
	{
		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(plc_shard_lock(shard), LW_EXCLUSIVE);
		forgotten += plc_store_sweep_locked(plc_store, shard, is_of_table,
											sizeof(PlcKeyPrefix), &relid);
		LWLockRelease(plc_shard_lock(shard));
	}
	return forgotten;
}

/* Forgets the entry of this kind; was there one? */
static bool
forget_entry(const PlcTable *table, Relation relation, const Datum *key, PlcEntryKind kind)
{
	PlcKeyPrefix prefix;
	PlcKeyBytes bytes;
	char		room[PLC_KEY_ROOM];
	uint64		seed = plc_key_prefix(table, relation, kind, &prefix);
	LWLock	   *lock;
	PlcRef		ref;
	bool		forgotten;

	plc_key_encode(table, &prefix, seed, key, room, &bytes);
	if (bytes.len == 0)
		return false;
	lock = plc_shard_lock(plc_store_shard(plc_store, bytes.hash));
	LWLockAcquire(lock, LW_EXCLUSIVE);
	forgotten = plc_store_find(plc_store, bytes.hash, bytes.bytes, bytes.len, &ref) &&
		plc_store_remove_locked(plc_store, &ref);
	LWLockRelease(lock);
	return forgotten;
}

/*
 * Forgets what is cached of one row, as a session with the present settings would
 * find it; the number of entries.  The relation is open and locked.
 */
uint64
plc_entries_forget_key(const PlcTable *table, Relation relation, const Datum *key)
{
	if (plc_store == NULL)
		return 0;
	return (uint64) forget_entry(table, relation, key, PLC_ENTRY_JSON) +
		forget_entry(table, relation, key, PLC_ENTRY_VERSION);
}

/*
 * One shard's entries of this database, one relid and size each.  They are
 * noted under the lock, in memory that was allocated before, and added up
 * after.
 */
typedef struct Notes
{
	uint64		n;
	uint64		room;
	struct
	{
		Oid			relid;
		uint32		bytes;
	}		   *notes;
} Notes;

static bool
note(const void *key, uint32_t key_len, uint32_t item_bytes, void *arg)
{
	Notes	   *notes = arg;

	if (prefix_of(key)->database == MyDatabaseId && notes->n < notes->room)
	{
		notes->notes[notes->n].relid = prefix_of(key)->relid;
		notes->notes[notes->n].bytes = item_bytes;
		notes->n++;
	}
	return false;
}

static void
add_notes(HTAB *tables, const Notes *notes)
{
	for (uint64 i = 0; i < notes->n; i++)
	{
		bool		found;
		PlcOccupancy *table = hash_search(tables, &notes->notes[i].relid, HASH_ENTER, &found);

		if (!found)
			table->entries = table->bytes = 0;
		table->entries++;
		table->bytes += notes->notes[i].bytes;
	}
}

static void
add_shard(HTAB *tables, uint32 shard)
{
	Notes		notes = {0};
	PlcStoreCounts counts;

	LWLockAcquire(plc_shard_lock(shard), LW_SHARED);
	plc_store_counts_locked(plc_store, shard, &counts);
	LWLockRelease(plc_shard_lock(shard));

	notes.room = counts.items + counts.items / 8 + 64;
	notes.notes = MemoryContextAllocHuge(CurrentMemoryContext, notes.room * sizeof(*notes.notes));

	LWLockAcquire(plc_shard_lock(shard), LW_SHARED);
	plc_store_sweep_locked(plc_store, shard, note, sizeof(PlcKeyPrefix), &notes);
	LWLockRelease(plc_shard_lock(shard));

	add_notes(tables, &notes);
	pfree(notes.notes);
}

/* A hash table of PlcOccupancy, of the tables of this database that have entries. */
HTAB *
plc_entries_occupancy(void)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid), .entrysize = sizeof(PlcOccupancy),
	.hcxt = CurrentMemoryContext};
	HTAB	   *tables = hash_create("pg_local_cache occupancy", 64, &ctl,
									 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	if (plc_store == NULL)
		return tables;
	for (uint32 shard = 0; shard < plc_store_shards(plc_store); shard++)
	{
		CHECK_FOR_INTERRUPTS();
		add_shard(tables, shard);
	}
	return tables;
}

/* The store's own counts, summed over the shards. */
void
plc_entries_totals(PlcStoreCounts *totals)
{
	memset(totals, 0, sizeof(*totals));
	if (plc_store == NULL)
		return;
	for (uint32 shard = 0; shard < plc_store_shards(plc_store); shard++)
	{
		PlcStoreCounts counts;

		LWLockAcquire(plc_shard_lock(shard), LW_SHARED);
		plc_store_counts_locked(plc_store, shard, &counts);
		LWLockRelease(plc_shard_lock(shard));
		totals->items += counts.items;
		totals->bytes += counts.bytes;
		totals->inserted += counts.inserted;
		totals->evicted += counts.evicted;
		totals->displaced += counts.displaced;
		totals->promoted += counts.promoted;
		totals->returned += counts.returned;
	}
}
