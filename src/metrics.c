/*
 * metrics.c
 *		All counters of the server, gathered from where they are kept: those of the
 *		tables (stats.c), of the store, of the endpoint.
 *
 * Counters of the tables count reads of SQL and of Redis clients, those of the
 * endpoint the latter alone.  What is SQL's is the difference.  The endpoint's are
 * read first, hence are the older ones; should its workers count in between all the
 * same, a difference is 0 rather than below.
 */
#include "postgres.h"

#include "guc.h"
#include "metrics.h"
#include "resp/endpoint.h"
#include "shmem.h"
#include "stats.h"
#include "table/entries.h"

/* entries to memory, and clients */
#define NGAUGES		9

/* Where they are kept. */
typedef struct Sources
{
	uint64		endpoint[PLC_ENDPOINT_NCOUNTERS];
	PlcCounts	tables;
	PlcStoreCounts store;
} Sources;

static void
read_sources(Sources *sources)
{
	plc_endpoint_totals(sources->endpoint);
	plc_stats_totals(&sources->tables);
	plc_entries_totals(&sources->store);
}

int
plc_metrics_count(void)
{
	return PLC_NCOUNTERS + NGAUGES + PLC_ENDPOINT_NCOUNTERS;
}

static void
name_all(const Sources *sources, PlcMetric *metrics)
{
	int			n = 0;

	for (int c = 0; c < PLC_NCOUNTERS; c++)
		metrics[n++] = (PlcMetric) {plc_counter_names[c], sources->tables.n[c]};
	metrics[n++] = (PlcMetric) {"entries", sources->store.items};
	metrics[n++] = (PlcMetric) {"bytes", sources->store.bytes};
	metrics[n++] = (PlcMetric) {"inserted", sources->store.inserted};
	metrics[n++] = (PlcMetric) {"evicted", sources->store.evicted};
	metrics[n++] = (PlcMetric) {"displaced", sources->store.displaced};
	metrics[n++] = (PlcMetric) {"promoted", sources->store.promoted};
	metrics[n++] = (PlcMetric) {"returned", sources->store.returned};
	metrics[n++] = (PlcMetric) {"memory", plc_store == NULL ? 0 : (uint64) plc_guc_memory * 1024};
	metrics[n++] = (PlcMetric) {"clients", plc_endpoint_clients()};
	for (int c = 0; c < PLC_ENDPOINT_NCOUNTERS; c++)
		metrics[n++] = (PlcMetric) {plc_endpoint_counter_names[c], sources->endpoint[c]};
	Assert(n == plc_metrics_count());
}

void
plc_metrics_collect(PlcMetric *metrics)
{
	Sources		sources;

	read_sources(&sources);
	name_all(&sources, metrics);
}

static uint64
less(uint64 all, uint64 part)
{
	return all > part ? all - part : 0;
}

static void
append_metric(StringInfo json, const char *name, uint64 value)
{
	appendStringInfo(json, "%s\"%s\":" UINT64_FORMAT,
					 json->data[json->len - 1] == '{' ? "" : ",", name, value);
}

/* The sums that monitoring of caches asks for first. */
static void
append_sums(StringInfo json, const Sources *sources)
{
	const uint64 *tables = sources->tables.n;
	const uint64 *endpoint = sources->endpoint;
	uint64		bypasses = plc_counts_bypasses(&sources->tables);

	append_metric(json, "sql_cache_hits", less(tables[PLC_COUNT_HITS], endpoint[PLC_ENDPOINT_HITS]));
	append_metric(json, "sql_cache_misses",
				  less(tables[PLC_COUNT_MISSES],
					   less(endpoint[PLC_ENDPOINT_MISSES], endpoint[PLC_ENDPOINT_BYPASSES])));
	append_metric(json, "sql_cache_fills", less(tables[PLC_COUNT_PUBLISHES], endpoint[PLC_ENDPOINT_FILLS]));
	append_metric(json, "sql_cache_bypasses", less(bypasses, endpoint[PLC_ENDPOINT_BYPASSES]));
	append_metric(json, "database_reads", tables[PLC_COUNT_MISSES] + bypasses);
}

void
plc_metrics_json(StringInfo json)
{
	PlcMetric  *metrics = palloc(plc_metrics_count() * sizeof(PlcMetric));
	Sources		sources;

	read_sources(&sources);
	name_all(&sources, metrics);
	appendStringInfoChar(json, '{');
	for (int i = 0; i < plc_metrics_count(); i++)
		append_metric(json, metrics[i].name, metrics[i].value);
	append_sums(json, &sources);
	appendStringInfoChar(json, '}');
	pfree(metrics);
}
