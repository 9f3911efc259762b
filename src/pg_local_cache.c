/*
 * pg_local_cache.c
 *		Entry point of the library.
 *
 * Preloaded, the library reserves shared memory, the cache works, and the workers
 * of the endpoint are started, if there is to be one.  Loaded
 * later, by the first call of one of its functions, there is no shared memory:
 * the functions then read through the index, and health() says so.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "guc.h"
#include "resp/worker.h"
#include "shmem.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	plc_guc_define();
	if (process_shared_preload_libraries_in_progress)
	{
		plc_shmem_install_hooks();
		plc_workers_register();
	}
}
