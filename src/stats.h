/*
 * stats.h
 *		Counters: one table of names, a slot a table of the database.
 *
 * To add a counter: a row here; in the install script the OUT columns and the
 * column of the view; a line in docs/monitoring.md.
 */
#ifndef PLC_STATS_H
#define PLC_STATS_H

/*
 * Every key that is not null counts once as hit, miss or bypass.
 */
#define PLC_COUNTERS(X) \
	X(HITS, "hits") 				/* answered from the cache, proven */ \
	X(MISSES, "misses") 			/* answered through the index, missing rows too */ \
	X(PROOF_FAILURES, "proof_failures") /* misses whose entry was not visible to the reader */ \
	X(LOST_PAGES, "lost_pages") 	/* misses whose heap page had left shared buffers */ \
	X(PUBLISHES, "publishes") 		/* rows put into the cache */ \
	X(UNPUBLISHED_OWN, "unpublished_own") /* misses of a transaction that had written */ \
	X(UNPUBLISHED_SIZE, "unpublished_size") /* misses with a row too large to cache */ \
	X(VERIFIED, "verified") 		/* hits that were fetched again and compared */ \
	X(VERIFY_FAILURES, "verify_failures") /* of these, different ones */ \
	X(BYPASS_DISABLED, "bypass_disabled") /* setting off, or library not preloaded */ \
	X(BYPASS_SERIALIZABLE, "bypass_serializable") /* predicate locks wanted */ \
	X(BYPASS_PARALLEL, "bypass_parallel") /* parallel worker or logical decoding */ \
	X(BYPASS_UNCACHEABLE, "bypass_uncacheable") /* the table's rows cannot be cached */ \
	X(BYPASS_QUERY, "bypass_query") /* answered by a query: row security, virtual columns */ \
	X(BYPASS_KEY, "bypass_key") 	/* key too long for the store */

typedef enum PlcCounter
{
#define X(id, name) PLC_COUNT_##id,
	PLC_COUNTERS(X)
#undef X
	PLC_NCOUNTERS
} PlcCounter;

/* What one call adds up before it tells the others. */
typedef struct PlcCounts
{
	uint64		n[PLC_NCOUNTERS];
} PlcCounts;

/* All bypasses together; they are the last counters of the table. */
static inline uint64
plc_counts_bypasses(const PlcCounts *counts)
{
	uint64		sum = 0;

	for (int c = PLC_COUNT_BYPASS_DISABLED; c < PLC_NCOUNTERS; c++)
		sum += counts->n[c];
	return sum;
}

/* One table's sums, as read by plc_stats_collect. */
typedef struct PlcTableCounts
{
	Oid			relid;
	PlcCounts	counts;
} PlcTableCounts;

typedef struct PlcStats PlcStats;

extern const char *const plc_counter_names[PLC_NCOUNTERS];

/* Shared memory: size, format, attach */
extern Size plc_stats_size(void);
extern void plc_stats_format(PlcStats *stats);

/* Counting */
extern int	plc_stats_slot(Oid relid);
extern void plc_stats_add(int slot, Oid relid, const PlcCounts *counts);

/* Reading */
extern PlcTableCounts *plc_stats_collect(int *ntables);
extern void plc_stats_totals(PlcCounts *totals);

#endif							/* PLC_STATS_H */
