/*
 * guc.c
 *		Settings, one paragraph each.
 *
 * The one that means something only at server start is not defined in a session
 * that loads the library late: there it stays what the server makes of an
 * unclaimed name, so that a configuration file which mentions it harms nobody.
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"

#include "guc.h"

int			plc_guc_memory = 128 * 1024;
bool		plc_guc_enabled = true;
int			plc_guc_max_row_size = 1024 * 1024;
double		plc_guc_verify = 0.0;

/* Define all settings.  Called once in each process that loads the library. */
void
plc_guc_define(void)
{
	/* Any session may turn the cache off for itself. */
	DefineCustomBoolVariable("pg_local_cache.enabled",
							 "Reads rows through the cache.",
							 "When off, the same functions read through the index.",
							 &plc_guc_enabled, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	/* Large rows push out many small ones; the store has its own limit besides. */
	DefineCustomIntVariable("pg_local_cache.max_row_size",
							"Sets the size of the largest row, as JSON, that is cached.",
							"Larger rows are served and not cached.",
							&plc_guc_max_row_size, 1024 * 1024, 0, 64 * 1024 * 1024,
							PGC_SUSET, GUC_UNIT_BYTE, NULL, NULL, NULL);

	/* The cache's own consistency check, in production. */
	DefineCustomRealVariable("pg_local_cache.verify",
							 "Sets the share of cache hits that are fetched again and compared.",
							 "A difference is counted, reported as a warning, and the fetched row is served.",
							 &plc_guc_verify, 0.0, 0.0, 1.0,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	if (!process_shared_preload_libraries_in_progress)
		return;

	/*
	 * The one size to choose: index, rows and counters all live in it.  A terabyte
	 * at most, or what a 32-bit server can address.
	 */
	DefineCustomIntVariable("pg_local_cache.memory",
							"Sets the amount of shared memory that the cache uses.",
							NULL,
							&plc_guc_memory, 128 * 1024, 2 * 1024, Min(INT_MAX / 2, MAX_KILOBYTES),
							PGC_POSTMASTER, GUC_UNIT_KB, NULL, NULL, NULL);

	MarkGUCPrefixReserved("pg_local_cache");
}
