/*
 * stats.c
 *		Counters in shared memory, a slot for each table that was read.
 *
 * A call adds up in its own PlcCounts and hands the sums over once, before it
 * returns, by atomic additions: so a counter is exact, and settled for every
 * session as soon as the statement has returned.  A call that fails counts
 * nothing.
 *
 * Slots are found by open addressing over (database, table).  The lock of the
 * directory (shmem.c) is held shared to look a slot up and exclusively to give
 * or take one away; adding to a slot takes no lock.  A slot may be taken away
 * between look-up and addition, so an addition checks the slot's owner first;
 * the race that is left can at worst book one call's counts under a slot that
 * is being released, which moves them to the total of all tables, where they
 * belong anyway.
 *
 * When all slots are taken and none can be freed, a table counts in the totals
 * only.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/syscache.h"

#include "guc.h"
#include "shmem.h"

/* Owner of a slot that has none, and of one that had one. */
#define OWNER_NONE		UINT64CONST(0)
#define OWNER_RELEASED	UINT64CONST(1)

/* Sixteen 64-bit words: two cache lines of a slot's own. */
typedef struct StatsSlot
{
	pg_atomic_uint64 owner;		/* database << 32 | table; changed under the lock */
	pg_atomic_uint64 n[PLC_NCOUNTERS];
} StatsSlot;

struct PlcStats
{
	/* Set at start-up and never changed */
	uint32		nslots;
	/* Atomics: what slots that were released had counted */
	pg_atomic_uint64 released[PLC_NCOUNTERS];
	StatsSlot	slots[FLEXIBLE_ARRAY_MEMBER];
};

const char *const plc_counter_names[PLC_NCOUNTERS] = {
#define X(id, name) name,
	PLC_COUNTERS(X)
#undef X
};

/*
 * A sixteenth of the memory at most, and not more than 4096 tables, which
 * takes half a megabyte.
 */
static uint32
slots_for_memory(void)
{
	return Min(4096, (Size) plc_guc_memory * 1024 / 16 / sizeof(StatsSlot));
}

Size
plc_stats_size(void)
{
	return offsetof(PlcStats, slots) + slots_for_memory() * sizeof(StatsSlot);
}

void
plc_stats_format(PlcStats *stats)
{
	stats->nslots = slots_for_memory();
	for (int c = 0; c < PLC_NCOUNTERS; c++)
		pg_atomic_init_u64(&stats->released[c], 0);
	for (uint32 i = 0; i < stats->nslots; i++)
	{
		pg_atomic_init_u64(&stats->slots[i].owner, OWNER_NONE);
		for (int c = 0; c < PLC_NCOUNTERS; c++)
			pg_atomic_init_u64(&stats->slots[i].n[c], 0);
	}
}

static uint64
owner_of(Oid relid)
{
	return ((uint64) MyDatabaseId << 32) | relid;
}

static uint32
first_slot(uint64 owner)
{
	return (uint32) ((owner * UINT64CONST(0x9E3779B97F4A7C15)) >> 32) % plc_stats->nslots;
}

/*
 * The slot of an owner, or -1.  *vacant is set to the slot where it would go,
 * or -1 if there is none.  Lock held, shared or exclusive.
 */
static int
find_slot_locked(uint64 owner, int *vacant)
{
	uint32		slot = first_slot(owner);

	Assert(LWLockHeldByMe(plc_stats_lock()));
	*vacant = -1;
	for (uint32 probes = 0; probes < plc_stats->nslots; probes++)
	{
		uint64		found = pg_atomic_read_u64(&plc_stats->slots[slot].owner);

		if (found == owner)
			return slot;
		if ((found == OWNER_NONE || found == OWNER_RELEASED) && *vacant < 0)
			*vacant = slot;
		if (found == OWNER_NONE)
			break;
		slot = (slot + 1) % plc_stats->nslots;
	}
	return -1;
}

static void
release_slot_locked(int slot)
{
	StatsSlot  *victim = &plc_stats->slots[slot];

	Assert(LWLockHeldByMeInMode(plc_stats_lock(), LW_EXCLUSIVE));
	pg_atomic_write_u64(&victim->owner, OWNER_RELEASED);
	for (int c = 0; c < PLC_NCOUNTERS; c++)
		pg_atomic_fetch_add_u64(&plc_stats->released[c],
								pg_atomic_exchange_u64(&victim->n[c], 0));
}

static void
release_owner(uint64 owner)
{
	int			vacant;
	int			slot;

	LWLockAcquire(plc_stats_lock(), LW_EXCLUSIVE);
	slot = find_slot_locked(owner, &vacant);
	if (slot >= 0)
		release_slot_locked(slot);
	LWLockRelease(plc_stats_lock());
}

/*
 * Frees the slots of tables and databases that are gone.  Looks into the
 * catalogs, hence must not hold the lock while it does.
 */
static void
release_dead_slots(void)
{
	for (uint32 i = 0; i < plc_stats->nslots; i++)
	{
		uint64		owner = pg_atomic_read_u64(&plc_stats->slots[i].owner);
		Oid			dbid = (Oid) (owner >> 32);
		Oid			relid = (Oid) owner;
		bool		alive;

		if (owner == OWNER_NONE || owner == OWNER_RELEASED)
			continue;
		if (dbid == MyDatabaseId)
			alive = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid));
		else
			alive = SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(dbid));
		if (!alive)
			release_owner(owner);
	}
}

static int
find_or_take_slot(uint64 owner)
{
	int			slot;
	int			vacant;

	LWLockAcquire(plc_stats_lock(), LW_SHARED);
	slot = find_slot_locked(owner, &vacant);
	LWLockRelease(plc_stats_lock());
	if (slot >= 0)
		return slot;

	LWLockAcquire(plc_stats_lock(), LW_EXCLUSIVE);
	slot = find_slot_locked(owner, &vacant);
	if (slot < 0 && vacant >= 0)
	{
		pg_atomic_write_u64(&plc_stats->slots[vacant].owner, owner);
		slot = vacant;
	}
	LWLockRelease(plc_stats_lock());
	return slot;
}

/*
 * The slot of a table of this database, taken if it has none yet; -1 when all
 * are taken, or without shared memory.  May read the catalogs.
 */
int
plc_stats_slot(Oid relid)
{
	int			slot;

	if (plc_stats == NULL)
		return -1;
	slot = find_or_take_slot(owner_of(relid));
	if (slot < 0)
	{
		release_dead_slots();
		slot = find_or_take_slot(owner_of(relid));
	}
	return slot;
}

/*
 * Hands a call's sums over.  "slot" is what plc_stats_slot(relid) said some
 * time ago.  Takes no lock.
 */
void
plc_stats_add(int slot, Oid relid, const PlcCounts *counts)
{
	pg_atomic_uint64 *sums;

	if (plc_stats == NULL)
		return;
	if (slot >= 0 && pg_atomic_read_u64(&plc_stats->slots[slot].owner) == owner_of(relid))
		sums = plc_stats->slots[slot].n;
	else
		sums = plc_stats->released;

	for (int c = 0; c < PLC_NCOUNTERS; c++)
		if (counts->n[c] != 0)
			pg_atomic_fetch_add_u64(&sums[c], counts->n[c]);
}

/* The counters of the tables of this database, palloc'd. */
PlcTableCounts *
plc_stats_collect(int *ntables)
{
	PlcTableCounts *tables;
	uint32		nslots = plc_stats == NULL ? 0 : plc_stats->nslots;

	*ntables = 0;
	tables = palloc(Max(nslots, 1) * sizeof(PlcTableCounts));
	for (uint32 i = 0; i < nslots; i++)
	{
		StatsSlot  *slot = &plc_stats->slots[i];
		uint64		owner = pg_atomic_read_u64(&slot->owner);
		PlcTableCounts *table = &tables[*ntables];

		if ((Oid) (owner >> 32) != MyDatabaseId)
			continue;
		table->relid = (Oid) owner;
		for (int c = 0; c < PLC_NCOUNTERS; c++)
			table->counts.n[c] = pg_atomic_read_u64(&slot->n[c]);
		(*ntables)++;
	}
	return tables;
}

/* The sums over all tables of all databases since the server started. */
void
plc_stats_totals(PlcCounts *totals)
{
	memset(totals, 0, sizeof(*totals));
	if (plc_stats == NULL)
		return;
	for (int c = 0; c < PLC_NCOUNTERS; c++)
	{
		totals->n[c] = pg_atomic_read_u64(&plc_stats->released[c]);
		for (uint32 i = 0; i < plc_stats->nslots; i++)
			totals->n[c] += pg_atomic_read_u64(&plc_stats->slots[i].n[c]);
	}
}
