/*
 * shmem.c
 *		Reserves, lays out and finds the shared memory of the cache.
 *
 * All of pg_local_cache.memory is reserved at server start in one block:
 *
 *		| counters of the tables (stats.c) | store (cache/store.c) |
 *
 * and one named LWLock tranche, "pg_local_cache": lock 0 guards the directory
 * of the counters, lock 1 + n is held by writers of shard n.  A second block, if
 * there is an endpoint, is laid out in resp/endpoint.c.  Nothing is allocated
 * later.  After a crash of any backend the postmaster makes the
 * blocks anew, so no entry outlives a crash (rule P10).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "guc.h"
#include "resp/endpoint.h"
#include "shmem.h"

PlcStore   *plc_store = NULL;
PlcStats   *plc_stats = NULL;

static LWLockPadded *plc_locks = NULL;
static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static Size
total_size(void)
{
	return (Size) plc_guc_memory * 1024;
}

static Size
store_offset(void)
{
	return CACHELINEALIGN(plc_stats_size());
}

static Size
store_size(void)
{
	return total_size() - store_offset();
}

static void
shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();

	RequestAddinShmemSpace(total_size());
	RequestNamedLWLockTranche("pg_local_cache",
							  1 + plc_store_shards_for_size(store_size()));
	if (plc_endpoint_enabled())
		RequestAddinShmemSpace(plc_endpoint_size());
}

/* AddinShmemInitLock held. */
static void
endpoint_startup(void)
{
	PlcEndpoint *endpoint;
	bool		found;

	endpoint = ShmemInitStruct("pg_local_cache endpoint", plc_endpoint_size(), &found);
	if (!found)
		plc_endpoint_format(endpoint);
	plc_endpoint = endpoint;
}

static void
shmem_startup(void)
{
	char	   *block;
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	block = ShmemInitStruct("pg_local_cache", total_size(), &found);
	if (!found)
	{
		plc_stats_format((PlcStats *) block);
		if (plc_store_format(block + store_offset(), store_size()) == NULL)
			elog(FATAL, "could not lay out %zu bytes of cache", store_size());
	}
	plc_stats = (PlcStats *) block;
	plc_store = (PlcStore *) (block + store_offset());
	plc_locks = GetNamedLWLockTranche("pg_local_cache");
	if (plc_endpoint_enabled())
		endpoint_startup();
	LWLockRelease(AddinShmemInitLock);
}

/* Called from _PG_init while shared libraries are preloaded. */
void
plc_shmem_install_hooks(void)
{
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
}

/* The lock of the writers of one shard. */
LWLock *
plc_shard_lock(uint32 shard)
{
	Assert(shard < plc_store_shards(plc_store));
	return &plc_locks[1 + shard].lock;
}

/* The lock of the directory of counters; no other lock of ours is taken under it. */
LWLock *
plc_stats_lock(void)
{
	return &plc_locks[0].lock;
}
