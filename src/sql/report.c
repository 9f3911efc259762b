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
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "metrics.h"
#include "sql/columns.h"
#include "stats.h"
#include "table/eligible.h"
#include "table/entries.h"
#include "table/mapping.h"
#include "table/table.h"

PG_FUNCTION_INFO_V1(plc_table_stats);
PG_FUNCTION_INFO_V1(plc_stats_json);
PG_FUNCTION_INFO_V1(plc_metrics);

Datum
plc_table_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	HTAB	   *occupancy = plc_entries_occupancy();
	int			ntables;
	PlcTableCounts *tables = plc_stats_collect(&ntables);

	InitMaterializedSRF(fcinfo, 0);
	plc_check_columns(rsinfo->setDesc, 1 + PLC_NCOUNTERS + 2, "table_stats");
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

Datum
plc_metrics(PG_FUNCTION_ARGS)
{
	int			n = plc_metrics_count();
	PlcMetric  *metrics = palloc(n * sizeof(PlcMetric));
	Datum	   *values = palloc(n * sizeof(Datum));
	bool	   *nulls = palloc0(n * sizeof(bool));
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	plc_check_columns(desc, n, "metrics");
	plc_metrics_collect(metrics);
	for (int i = 0; i < n; i++)
		values[i] = Int64GetDatum(metrics[i].value);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

Datum
plc_stats_json(PG_FUNCTION_ARGS)
{
	StringInfoData json;

	initStringInfo(&json);
	plc_metrics_json(&json);
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}
