/*
 * health.c
 *		health(): do the cache and the endpoint work, and if not, why.
 *
 * Must answer when something is wrong, so it raises no error for a table that
 * cannot be read, and waits for no lock: a table that some DDL has locked is
 * said to be locked.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "guc.h"
#include "resp/endpoint.h"
#include "shmem.h"
#include "sql/json.h"
#include "stats.h"
#include "table/eligible.h"
#include "table/mapping.h"
#include "table/shape.h"

PG_FUNCTION_INFO_V1(plc_health);

/* What is the matter with an attached table. */
typedef struct TableHealth
{
	const char *unreadable;		/* why reads of it fail, or NULL */
	const char *uncacheable;	/* why its rows are read and not cached, or NULL */
} TableHealth;

/* Why nothing at all is cached for this session, or NULL. */
static const char *
not_caching_because(void)
{
	if (plc_store == NULL)
		return "the library is not in shared_preload_libraries: rows are read through the index";
	if (!plc_guc_enabled)
		return "pg_local_cache.enabled is off: rows are read through the index";
	return NULL;
}

static void
examine_relation(Relation relation, TableHealth *health)
{
	PlcMapping	mapping;
	PlcShape	shape;
	Oid			index;

	if (!plc_mapping_read(RelationGetRelid(relation), &mapping))
		return;
	if (plc_eligible_find_index(relation, mapping.key_columns, mapping.key_index, &index) != PLC_ELIGIBLE)
	{
		health->unreadable = mapping.key_index == NULL ? "no usable primary key"
			: "no usable index of the name and on the columns it was attached with";
		return;
	}
	plc_shape_make(relation, &shape);
	health->uncacheable = plc_eligible_unprovable(relation);
	if (health->uncacheable == NULL)
		health->uncacheable = shape.uncacheable;
}

static void
examine(Oid relid, TableHealth *health)
{
	Relation	relation;

	memset(health, 0, sizeof(*health));
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		health->uncacheable = "locked by another session";
		return;
	}
	relation = try_relation_open(relid, NoLock);
	if (relation != NULL)
	{
		examine_relation(relation, health);
		relation_close(relation, NoLock);
	}
	UnlockRelationOid(relid, AccessShareLock);
}

/* One table: into the list, and into the reason if it cannot be read. */
static void
report_table(StringInfo tables, Oid relid, const char **reason)
{
	char	   *name = DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(relid)));
	TableHealth health;

	examine(relid, &health);
	if (health.unreadable != NULL && *reason == NULL)
		*reason = psprintf("reads of table \"%s\" fail: %s", name, health.unreadable);

	appendStringInfoString(tables, tables->len > 0 ? ",{" : "{");
	plc_json_string(tables, "relation", name);
	plc_json_bool(tables, "readable", health.unreadable == NULL);
	plc_json_bool(tables, "cacheable", health.unreadable == NULL && health.uncacheable == NULL);
	plc_json_string(tables, "reason", health.unreadable ? health.unreadable : health.uncacheable);
	appendStringInfoChar(tables, '}');
}

static void
report_tables(StringInfo tables, const char **reason)
{
	List	   *relids = plc_mapping_relations();
	ListCell   *cell;

	foreach(cell, relids)
	{
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(cell))))
			report_table(tables, lfirst_oid(cell), reason);
	}
}

/* What is the matter with a worker, or NULL. */
static const char *
worker_trouble(const PlcWorker *worker)
{
	if (worker->problem[0] != '\0')
		return worker->problem;
	switch (worker->status)
	{
		case PLC_WORKER_NONE:
			return "it has no process: see the server log";
		case PLC_WORKER_STARTING:
			return "it is starting";
		case PLC_WORKER_WAITING:
			return "it is waiting: see the server log";
		case PLC_WORKER_SERVING:
			break;
	}
	return NULL;
}

/* One worker, counted from 1 as in its process's name: into the list, and into the reason if it does not serve as it should. */
static void
report_worker(StringInfo workers, int number, const PlcWorker *worker, const char **reason)
{
	const char *trouble = worker_trouble(worker);

	if (trouble != NULL && *reason == NULL)
		*reason = psprintf("worker %d of the endpoint %s: %s", number + 1,
						   worker->status == PLC_WORKER_SERVING ? "serves in part" : "does not serve",
						   trouble);

	appendStringInfoString(workers, workers->len > 0 ? ",{" : "{");
	plc_json_uint64(workers, "worker", number + 1);
	plc_json_name(workers, "pid");
	appendStringInfo(workers, worker->pid == 0 ? "null" : "%d", (int) worker->pid);
	plc_json_string(workers, "status", plc_worker_status_names[worker->status]);
	plc_json_string(workers, "problem", trouble);
	plc_json_uint64(workers, "failures", worker->failures);
	plc_json_uint64(workers, "clients", worker->clients);
	appendStringInfoChar(workers, '}');
}

/* All of it, as an object. */
static void
report_endpoint(StringInfo json, const char **reason)
{
	StringInfoData workers;
	PlcWorker	worker;

	initStringInfo(&workers);
	for (int i = 0; plc_worker_read(i, &worker); i++)
		report_worker(&workers, i, &worker, reason);

	appendStringInfoChar(json, '{');
	plc_json_bool(json, "enabled", plc_endpoint != NULL);
	if (plc_endpoint != NULL)
	{
		plc_json_uint64(json, "port", plc_guc_port);
		plc_json_string(json, "listen_addresses", plc_guc_listen_addresses);
		plc_json_string(json, "unix_socket_directory",
						plc_guc_unix_socket_directory[0] == '\0' ? NULL : plc_guc_unix_socket_directory);
		plc_json_string(json, "database", plc_guc_database);
		plc_json_uint64(json, "clients", plc_endpoint_clients());
		plc_json_uint64(json, "max_clients", plc_guc_max_clients);
	}
	plc_json_name(json, "workers");
	appendStringInfo(json, "[%s]}", workers.data);
}

Datum
plc_health(PG_FUNCTION_ARGS)
{
	StringInfoData json;
	StringInfoData endpoint;
	StringInfoData tables;
	PlcCounts	totals;
	const char *reason = not_caching_because();

	plc_stats_totals(&totals);
	if (totals.n[PLC_COUNT_VERIFY_FAILURES] > 0)
		reason = "rows in the cache differed from the stored rows: see verify_failures and the server log";
	initStringInfo(&endpoint);
	report_endpoint(&endpoint, &reason);
	initStringInfo(&tables);
	report_tables(&tables, &reason);

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	plc_json_string(&json, "status", reason == NULL ? "ok" : "degraded");
	plc_json_string(&json, "reason", reason);
	plc_json_string(&json, "version", PLC_VERSION);
	plc_json_bool(&json, "preloaded", plc_store != NULL);
	plc_json_bool(&json, "enabled", plc_guc_enabled);
	plc_json_uint64(&json, "memory", plc_store == NULL ? 0 : (uint64) plc_guc_memory * 1024);
	plc_json_name(&json, "endpoint");
	appendStringInfoString(&json, endpoint.data);
	plc_json_name(&json, "tables");
	appendStringInfo(&json, "[%s]}", tables.data);
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}
