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
#include "utils/memutils.h"
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
 * Why this read must not use the cache, or -1.
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
		(read->wants == PLC_ENTRY_JSON && plc_table_uncacheable(read->table) != NULL))
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
choose_way(PlcRead *read)
{
	int			reason;

	if (needs_query(read))
	{
		read->way = PLC_READ_QUERY;
		read->bypass = PLC_COUNT_BYPASS_QUERY;
	}
	else if ((reason = bypass_reason(read)) >= 0)
	{
		read->way = PLC_READ_INDEX;
		read->bypass = reason;
	}
	else
	{
		read->way = PLC_READ_CACHE;
		read->seed = plc_key_prefix(read->table, read->relation, read->wants, &read->prefix);
	}
}

/* Fills in a read whose table is locked and open, and whose snapshot is taken. */
static void
begin(PlcRead *read, Relation relation, PlcTable *table, Snapshot snapshot, PlcEntryKind wants)
{
	memset(&read->counts, 0, sizeof(read->counts));
	read->context = CurrentMemoryContext;
	read->scratch = NULL;
	read->relation = relation;
	read->table = table;
	read->snapshot = snapshot;
	read->next_xid = plc_next_full_xid();
	read->wants = wants;
	choose_way(read);
	if (read->way != PLC_READ_QUERY)
		plc_fetch_begin(&read->fetch, table, relation, snapshot);
}

static void
end(PlcRead *read)
{
	if (read->way != PLC_READ_QUERY)
		plc_fetch_end(&read->fetch);
	plc_stats_add(read->table->stats_slot, read->table->relid, &read->counts);
}

static void
read_by_index(PlcRead *read, const PlcKeys *keys)
{
	for (int i = 0; i < keys->nkeys; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (keys->nulls[i])
			read->sink->absent(read->sink);
		else
		{
			plc_read_count(read, read->bypass);
			plc_serve_by_index(read, &keys->values[i * keys->ncolumns]);
		}
	}
}

static void
read_by_query(PlcRead *read, const PlcKeys *keys)
{
	for (int i = 0; i < keys->nkeys; i++)
		if (!keys->nulls[i])
			plc_read_count(read, read->bypass);
	plc_query_rows(read->table, read->relation, keys, read->sink);
}

/* Reads the rows with these keys and gives them to the sink, in order. */
void
plc_read_keys(PlcRead *read, const PlcKeys *keys, PlcSink *sink)
{
	Assert(sink->wants == read->wants);
	read->sink = sink;
	switch (read->way)
	{
		case PLC_READ_CACHE:
			plc_chunk_read_all(read, keys);
			break;
		case PLC_READ_INDEX:
			read_by_index(read, keys);
			break;
		case PLC_READ_QUERY:
			read_by_query(read, keys);
			break;
	}
}

/*
 * A read, palloc'd, which lives in the current memory context.  After an error it
 * is simply forgotten, as a call is, and its counts with it.
 */
PlcRead *
plc_read_begin(Relation relation, PlcTable *table, Snapshot snapshot, PlcEntryKind wants)
{
	PlcRead    *read = palloc(sizeof(PlcRead));

	begin(read, relation, table, snapshot, wants);
	return read;
}

void
plc_read_end(PlcRead *read, PlcCounts *sums)
{
	for (int c = 0; sums != NULL && c < PLC_NCOUNTERS; c++)
		sums->n[c] += read->counts.n[c];
	end(read);
	if (read->scratch != NULL)
	{
		MemoryContextDelete(read->scratch);
		pfree(read->text.data);
	}
	pfree(read);
}

bool
plc_read_runs_user_code(const PlcRead *read)
{
	return read->way == PLC_READ_QUERY || read->table->shape.uncacheable != NULL;
}

/* The snapshot of the statement, never a newer one (rule P7). */
static Snapshot
statement_snapshot(void)
{
	if (!ActiveSnapshotSet())
		elog(ERROR, "cannot read rows without an active snapshot");
	return PLC_RULE_P7 ? GetActiveSnapshot() : RegisterSnapshot(GetLatestSnapshot());
}

/* Locks and opens the table; the friendly error costs only those who might need it. */
static Relation
open_table(Oid relid)
{
	if (!plc_table_is_known(relid) && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		plc_eligible_missing(relid);
	return table_open(relid, AccessShareLock);
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
	Relation	relation;
	PlcTable   *table;
	Snapshot	snapshot;
	PlcRead		read;
	PlcKeys		keys;

	plc_table_enter();
	AcceptInvalidationMessages();
	relation = open_table(relid);
	table = plc_table_get(relation);
	plc_table_check_privileges(table, relation);
	plc_table_check_has_rows(relation);
	plc_keys_from_array(table, key_values, &keys);

	snapshot = statement_snapshot();
	begin(&read, relation, table, snapshot, sink->wants);
	plc_read_keys(&read, &keys, sink);
	if (!PLC_RULE_P7)
		UnregisterSnapshot(snapshot);

	end(&read);
	table_close(relation, NoLock);
	plc_table_leave();
}
