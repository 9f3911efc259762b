/*
 * shmem.h
 *		The shared memory of the cache: one block, and one lock a shard.
 */
#ifndef PLC_SHMEM_H
#define PLC_SHMEM_H

#include "storage/lwlock.h"

#include "cache/store.h"
#include "stats.h"

/* Both are NULL in a server that did not preload the library. */
extern PlcStore *plc_store;
extern PlcStats *plc_stats;

extern void plc_shmem_install_hooks(void);
extern LWLock *plc_shard_lock(uint32 shard);
extern LWLock *plc_stats_lock(void);

#endif							/* PLC_SHMEM_H */
