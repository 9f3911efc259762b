/*
 * report.c
 *		Counters, in three forms: stats, metrics, table_stats.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/hsearch.h"
#include "utils/json.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "guc.h"
#include "shmem.h"
#include "stats.h"
#include "table/eligible.h"
#include "table/entries.h"
#include "table/mapping.h"
#include "table/table.h"

PG_FUNCTION_INFO_V1(plc_table_stats);
PG_FUNCTION_INFO_V1(plc_stats_json);
PG_FUNCTION_INFO_V1(plc_metrics);

/* A library and SQL functions of different versions must not guess at columns. */
static void
check_columns(TupleDesc desc, int expected, const char *function)
{
	if (desc->natts != expected)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("function \"%s\" does not match this library", function),
				 errhint("Run ALTER EXTENSION pg_local_cache UPDATE; if the library was replaced, restart the server.")));
}

Datum
plc_table_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	HTAB	   *occupancy = plc_entries_occupancy();
	int			ntables;
	PlcTableCounts *tables = plc_stats_collect(&ntables);

	InitMaterializedSRF(fcinfo, 0);
	check_columns(rsinfo->setDesc, 1 + PLC_NCOUNTERS + 2, "table_stats");
	for (int i = 0; i < ntables; i++)
	{
		Datum		values[1 + PLC_NCOUNTERS + 2];
		bool		nulls[lengthof(values)] = {false};
		PlcOccupancy *occupied = hash_search(occupancy, &tables[i].relid, HASH_FIND, NULL);

		values[0] = ObjectIdGetDatum(tables[i].relid);
		for (int c = 0; c < PLC_NCOUNTERS; c++)
			values[1 + c] = Int64GetDatum(tables[i].counts.n[c]);
		values[1 + PLC_NCOUNTERS] = Int64GetDatum(occupied ? occupied->entries : 0);
		values[2 + PLC_NCOUNTERS] = Int64GetDatum(occupied ? occupied->bytes : 0);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* One counter of the whole server. */
typedef struct Metric
{
	const char *name;
	uint64		value;
} Metric;

#define NMETRICS	(PLC_NCOUNTERS + 8)

static void
collect_metrics(Metric *metrics)
{
	PlcCounts	totals;
	PlcStoreCounts store;
	int			n = 0;

	plc_stats_totals(&totals);
	plc_entries_totals(&store);
	for (int c = 0; c < PLC_NCOUNTERS; c++)
		metrics[n++] = (Metric) {plc_counter_names[c], totals.n[c]};
	metrics[n++] = (Metric) {"entries", store.items};
	metrics[n++] = (Metric) {"bytes", store.bytes};
	metrics[n++] = (Metric) {"inserted", store.inserted};
	metrics[n++] = (Metric) {"evicted", store.evicted};
	metrics[n++] = (Metric) {"displaced", store.displaced};
	metrics[n++] = (Metric) {"promoted", store.promoted};
	metrics[n++] = (Metric) {"returned", store.returned};
	metrics[n++] = (Metric) {"memory", plc_store == NULL ? 0 : (uint64) plc_guc_memory * 1024};
	Assert(n == NMETRICS);
}

Datum
plc_metrics(PG_FUNCTION_ARGS)
{
	Metric		metrics[NMETRICS];
	Datum		values[NMETRICS];
	bool		nulls[NMETRICS] = {false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	check_columns(desc, NMETRICS, "metrics");
	collect_metrics(metrics);
	for (int i = 0; i < NMETRICS; i++)
		values[i] = Int64GetDatum(metrics[i].value);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * The counters under their own names, then the four sums that monitoring of
 * caches asks for first.
 */
Datum
plc_stats_json(PG_FUNCTION_ARGS)
{
	Metric		metrics[NMETRICS];
	StringInfoData json;
	uint64		bypasses = 0;

	collect_metrics(metrics);
	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	for (int i = 0; i < NMETRICS; i++)
	{
		appendStringInfo(&json, "\"%s\":" UINT64_FORMAT ",", metrics[i].name, metrics[i].value);
		if (i >= PLC_COUNT_BYPASS_DISABLED && i < PLC_NCOUNTERS)
			bypasses += metrics[i].value;
	}
	appendStringInfo(&json,
					 "\"sql_cache_hits\":" UINT64_FORMAT ",\"sql_cache_misses\":" UINT64_FORMAT
					 ",\"sql_cache_fills\":" UINT64_FORMAT ",\"sql_cache_bypasses\":" UINT64_FORMAT "}",
					 metrics[PLC_COUNT_HITS].value, metrics[PLC_COUNT_MISSES].value,
					 metrics[PLC_COUNT_PUBLISHES].value, bypasses);
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}
