/*
 * read.c
 *		Reading rows by key: the one way to the cache, for SQL and for RESP.
 *
 * Order of a call, and why:
 *
 *	1. Take in invalidations, lock the table, open it (rule P2).  What the
 *	   descriptor and the privileges say is then as new as the last DDL that
 *	   was acknowledged before the call (rule P8).
 *	2. The snapshot is the active one, the same for all keys (rules P7, P9).
 *	3. next_xid is read after the snapshot was taken (version.c tells why).
 *	4. Keys go in chunks (chunk.c); a row comes from its entry, proven, or
 *	   through the index, with the same snapshot (serve.c).
 *	5. Counters are handed over once, at the end.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "guc.h"
#include "rules.h"
#include "shmem.h"
#include "table/query.h"
#include "table/read_internal.h"

/*
 * Why this call must not use the cache, or -1.
 */
static int
bypass_reason(PlcRead *read)
{
	if (plc_store == NULL || !plc_guc_enabled)
		return PLC_COUNT_BYPASS_DISABLED;
	if (PLC_RULE_P7 && IsolationIsSerializable())
		return PLC_COUNT_BYPASS_SERIALIZABLE;
	if (IsParallelWorker() || read->snapshot->snapshot_type != SNAPSHOT_MVCC)
		return PLC_COUNT_BYPASS_PARALLEL;
	if (read->table->unprovable != NULL ||
		(read->sink->wants == PLC_ENTRY_JSON && plc_table_uncacheable(read->table) != NULL))
		return PLC_COUNT_BYPASS_UNCACHEABLE;
	return -1;
}

/* Can only a query answer: row security, virtual columns, an index too new? */
static bool
needs_query(PlcRead *read)
{
	if (read->table->shape.by_query || !plc_fetch_usable(read->table, read->snapshot))
		return true;
	return read->relation->rd_rel->relrowsecurity &&
		check_enable_rls(read->table->relid, InvalidOid, false) == RLS_ENABLED;
}

static void
read_by_index(PlcRead *read, const PlcKeys *keys, PlcCounter reason)
{
	for (int i = 0; i < keys->nkeys; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (keys->nulls[i])
			read->sink->absent(read->sink);
		else
		{
			plc_read_count(read, reason);
			plc_serve_by_index(read, &keys->values[i * keys->ncolumns]);
		}
	}
}

static void
read_by_query(PlcRead *read, const PlcKeys *keys)
{
	for (int i = 0; i < keys->nkeys; i++)
		if (!keys->nulls[i])
			plc_read_count(read, PLC_COUNT_BYPASS_QUERY);
	plc_query_rows(read->table, read->relation, keys, read->sink);
}

/* The snapshot of the statement, never a newer one (rule P7). */
static Snapshot
statement_snapshot(void)
{
	if (!ActiveSnapshotSet())
		elog(ERROR, "cannot read rows without an active snapshot");
	return PLC_RULE_P7 ? GetActiveSnapshot() : RegisterSnapshot(GetLatestSnapshot());
}

static void
read_keys(PlcRead *read, const PlcKeys *keys)
{
	int			reason;

	plc_fetch_begin(&read->fetch, read->table, read->relation, read->snapshot);
	reason = bypass_reason(read);
	if (reason < 0)
		plc_chunk_read_all(read, keys);
	else
		read_by_index(read, keys, reason);
	plc_fetch_end(&read->fetch);
}

/* Locks and opens the table; the friendly error costs only those who might need it. */
static Relation
open_table(Oid relid)
{
	if (!plc_table_is_known(relid) && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		plc_eligible_missing(relid);
	return table_open(relid, AccessShareLock);
}

/* What the planner refuses too: on a standby an unlogged table has no file. */
static void
check_has_rows(Relation relation)
{
	if (!RelationIsPermanent(relation) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read unlogged table \"%s\" during recovery",
						RelationGetRelationName(relation))));
}

/*
 * Reads the rows with these keys and gives them to the sink, in order.  Keeps
 * the lock on the table until the transaction ends, as SELECT does.  Raises an
 * error if the role may not read the table, if it is not attached, or if the
 * keys are not such.  May wait for the lock; can be cancelled.
 */
void
plc_read_array(Oid relid, ArrayType *key_values, PlcSink *sink)
{
	PlcRead		read;
	PlcKeys		keys;

	memset(&read.counts, 0, sizeof(read.counts));
	read.scratch = NULL;
	read.sink = sink;

	plc_table_enter();
	AcceptInvalidationMessages();
	read.relation = open_table(relid);
	read.table = plc_table_get(read.relation);
	plc_table_check_privileges(read.table, read.relation);
	check_has_rows(read.relation);
	plc_keys_from_array(read.table, key_values, &keys);

	read.snapshot = statement_snapshot();
	read.next_xid = plc_next_full_xid();
	if (needs_query(&read))
		read_by_query(&read, &keys);
	else
		read_keys(&read, &keys);
	if (!PLC_RULE_P7)
		UnregisterSnapshot(read.snapshot);

	plc_stats_add(read.table->stats_slot, relid, &read.counts);
	table_close(read.relation, NoLock);
	plc_table_leave();
}
