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
 *	4. Keys go in chunks: encode all and prefetch their buckets; prefetch the
 *	   items; then serve each in turn.  A hit is: find, prove, copy the text
 *	   straight to where it is wanted.  Anything else goes through the index,
 *	   with the same snapshot, and is published on the way.
 *	5. Counters are handed over once, at the end.
 *
 * Shard locks are taken here alone, around a put or a patch, which neither
 * allocate nor wait.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "common/pg_prng.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "guc.h"
#include "rules.h"
#include "shmem.h"
#include "table/fetch.h"
#include "table/query.h"
#include "table/read.h"
#include "table/render.h"
#include "table/version.h"

/* Enough to hide the latency of memory, few enough to stay in the first cache. */
#define KEYS_PER_CHUNK	32

/* The end of the framing that RESP wants around a text: $<length>\r\n … \r\n */
static const char framing_end[2] = {'\r', '\n'};

/* A call under way. */
typedef struct Read
{
	PlcTable   *table;
	Relation	relation;
	Snapshot	snapshot;
	uint64		next_xid;
	PlcSink    *sink;
	PlcFetch	fetch;
	PlcKeyPrefix prefix;
	PlcCounts	counts;
	MemoryContext scratch;		/* of one row; NULL until needed */
	StringInfoData text;		/* a rendered row */
} Read;

static void
count(Read *read, PlcCounter counter)
{
	read->counts.n[counter]++;
}

/* Enters the memory context of one row, empty; returns the one to go back to. */
static MemoryContext
enter_scratch(Read *read)
{
	if (read->scratch == NULL)
	{
		read->scratch = AllocSetContextCreate(CurrentMemoryContext, "pg_local_cache row",
											  ALLOCSET_DEFAULT_SIZES);
		initStringInfo(&read->text);
	}
	else
		MemoryContextReset(read->scratch);
	return MemoryContextSwitchTo(read->scratch);
}

/*
 * Why this call must not use the cache, or -1.
 */
static int
bypass_reason(Read *read)
{
	if (plc_store == NULL || !plc_guc_enabled)
		return PLC_COUNT_BYPASS_DISABLED;
	if (PLC_RULE_P7 && IsolationIsSerializable())
		return PLC_COUNT_BYPASS_SERIALIZABLE;
	if (IsParallelWorker() || read->snapshot->snapshot_type != SNAPSHOT_MVCC)
		return PLC_COUNT_BYPASS_PARALLEL;
	if (!read->table->cacheable_storage ||
		(read->sink->wants == PLC_ENTRY_JSON && plc_table_uncacheable(read->table) != NULL))
		return PLC_COUNT_BYPASS_UNCACHEABLE;
	return -1;
}

/* Can only a query answer: row security, virtual columns, an index too new? */
static bool
needs_query(PlcTable *table, Relation relation)
{
	if (table->shape.by_query || !plc_fetch_usable(table))
		return true;
	return relation->rd_rel->relrowsecurity &&
		check_enable_rls(table->relid, InvalidOid, false) == RLS_ENABLED;
}

/* ---------- publishing ---------- */

/*
 * May this transaction publish?  Once it has written, what it sees may be
 * nobody else's, and looking at the tuple is not enough to tell: rows of COPY
 * FREEZE look committed, and a second TRUNCATE in one transaction gives
 * another row the same file, line pointer and xmin (rule P6).
 */
static bool
may_publish(void)
{
	return !PLC_RULE_P6 || !TransactionIdIsValid(GetTopTransactionIdIfAny());
}

static void
put(Read *read, const PlcKeyBytes *key, const PlcSlice *slices, int nslices)
{
	LWLock	   *lock = plc_shard_lock(plc_store_shard(plc_store, key->hash));
	bool		stored;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	stored = plc_store_put_locked(plc_store, key->hash, key->bytes, key->len, slices, nslices);
	LWLockRelease(lock);
	count(read, stored ? PLC_COUNT_PUBLISHES : PLC_COUNT_UNPUBLISHED_SIZE);
}

/*
 * Publishes a text: version, framing, text.  The framing is padded in front so
 * that the text starts at a multiple of eight.
 */
static void
publish_text(Read *read, const PlcKeyBytes *key, PlcVersion *version, StringInfo text)
{
	char		framing[16];
	char		number[16];
	int			len = snprintf(number, sizeof(number), "$%d\r\n", text->len);
	PlcSlice	slices[4];

	version->lead = len <= 8 ? 8 : 16;
	memset(framing, 0, sizeof(framing));
	memcpy(framing + version->lead - len, number, len);
	slices[0] = (PlcSlice) {version, sizeof(*version)};
	slices[1] = (PlcSlice) {framing, version->lead};
	slices[2] = (PlcSlice) {text->data, text->len};
	slices[3] = (PlcSlice) {framing_end, sizeof(framing_end)};
	put(read, key, slices, lengthof(slices));
}

/* The version of the tuple that a fetch left in its slot; false if it has none that lasts. */
static bool
version_of_slot(Read *read, TupleTableSlot *slot, PlcVersion *version)
{
	BufferHeapTupleTableSlot *buffer_slot = (BufferHeapTupleTableSlot *) slot;

	return TTS_IS_BUFFERTUPLE(slot) &&
		plc_version_of_tuple(buffer_slot->base.tuple, buffer_slot->buffer, read->next_xid, version);
}

static void
publish(Read *read, const PlcKeyBytes *key, TupleTableSlot *slot)
{
	PlcVersion	version;

	if (!may_publish())
	{
		count(read, PLC_COUNT_UNPUBLISHED_OWN);
		return;
	}
	if (!version_of_slot(read, slot, &version))
		return;
	if (read->sink->wants == PLC_ENTRY_VERSION)
		put(read, key, &(PlcSlice) {&version, sizeof(version)}, 1);
	else if (read->text.len > plc_guc_max_row_size)
		count(read, PLC_COUNT_UNPUBLISHED_SIZE);
	else
		publish_text(read, key, &version, &read->text);
}

/* ---------- serving ---------- */

static void
sink_text(PlcSink *sink, const char *text, uint32 len)
{
	memcpy(sink->room(sink, len), text, len);
	sink->keep(sink, len);
}

/* Gives the row in the slot to the sink; a rendered text stays in read->text. */
static void
serve_slot(Read *read, TupleTableSlot *slot)
{
	MemoryContext caller = enter_scratch(read);

	if (read->sink->wants == PLC_ENTRY_JSON)
	{
		resetStringInfo(&read->text);
		plc_render(read->table->renderer, slot, &read->text);
		sink_text(read->sink, read->text.data, read->text.len);
	}
	else
	{
		bool		free_tuple;

		read->sink->tuple(read->sink, ExecFetchSlotHeapTuple(slot, false, &free_tuple),
						  RelationGetDescr(read->relation));
	}
	MemoryContextSwitchTo(caller);
}

/* Serves a key through the index.  NULL: there is no such row. */
static TupleTableSlot *
serve_by_index(Read *read, const Datum *values)
{
	TupleTableSlot *slot = plc_fetch_row(&read->fetch, values);

	if (slot == NULL)
		read->sink->absent(read->sink);
	else
		serve_slot(read, slot);
	return slot;
}

static void
serve_miss(Read *read, const PlcKeyBytes *key, const Datum *values, bool may_replace)
{
	TupleTableSlot *slot = serve_by_index(read, values);

	count(read, PLC_COUNT_MISSES);
	if (slot != NULL && may_replace)
		publish(read, key, slot);
}

/* Bytes of the JSON text in an item. */
static uint32
text_len(const PlcRef *ref, const PlcVersion *version)
{
	return ref->value_len - sizeof(PlcVersion) - version->lead - sizeof(framing_end);
}

/* Copies an item's text to the sink, not yet kept; NULL if the item is gone. */
static char *
copy_text(Read *read, const PlcRef *ref, const PlcVersion *version)
{
	uint32		len = text_len(ref, version);
	char	   *text = read->sink->room(read->sink, len);

	if (!plc_store_read(plc_store, ref, sizeof(PlcVersion) + version->lead, text, len))
		return NULL;
	return text;
}

/*
 * Never blind: fetches a proven row again through the index, under the same
 * snapshot, has the server render it, and compares.  If there is a difference
 * the fetched row is served.  True if all is well.
 */
static bool
verify(Read *read, const Datum *values, const PlcVersion *version, const char *text, uint32 len)
{
	TupleTableSlot *slot = plc_fetch_row(&read->fetch, values);
	MemoryContext caller = enter_scratch(read);
	PlcVersion	fetched;
	bool		same = false;

	count(read, PLC_COUNT_VERIFIED);
	if (slot != NULL && read->sink->wants == PLC_ENTRY_VERSION)
		same = version_of_slot(read, slot, &fetched) && plc_version_same(version, &fetched);
	else if (slot != NULL)
	{
		struct varlena *rendered = (struct varlena *) plc_render_by_server(slot);

		same = VARSIZE_ANY_EXHDR(rendered) == len && memcmp(VARDATA_ANY(rendered), text, len) == 0;
	}
	if (!same)
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("cached row %s of table \"%s\" differs from the stored row",
						plc_key_describe(read->table, values),
						RelationGetRelationName(read->relation)),
				 errdetail("The cached row is version (%u,%u) of transaction %u.",
						   version->block, version->offset, version->xmin),
				 errhint("The stored row was served. Please report this, it should not happen.")));
	MemoryContextSwitchTo(caller);
	return same;
}

static bool
chosen_for_verification(void)
{
	return unlikely(plc_guc_verify > 0.0) &&
		pg_prng_double(&pg_global_prng_state) < plc_guc_verify;
}

/* Serves a proven entry; false if it has been given up meanwhile. */
static bool
serve_hit(Read *read, const PlcRef *ref, const PlcVersion *version, HeapTuple tuple,
		  const Datum *values)
{
	char	   *text = NULL;

	if (read->sink->wants == PLC_ENTRY_JSON && (text = copy_text(read, ref, version)) == NULL)
		return false;
	count(read, PLC_COUNT_HITS);
	plc_store_touch(plc_store, ref);
	if (chosen_for_verification() &&
		!verify(read, values, version, text, text == NULL ? 0 : text_len(ref, version)))
	{
		count(read, PLC_COUNT_VERIFY_FAILURES);
		serve_by_index(read, values);
	}
	else if (text != NULL)
		read->sink->keep(read->sink, text_len(ref, version));
	else
	{
		read->sink->tuple(read->sink, tuple, RelationGetDescr(read->relation));
		heap_freetuple(tuple);
	}
	return true;
}

/*
 * The entry's page is not where it was.  If the index leads to the same
 * version, its text is still true: serve it without rendering, and note where
 * the page is now (rule P4).
 */
static void
serve_lost_page(Read *read, const PlcKeyBytes *key, const PlcRef *ref, const PlcVersion *version,
				const Datum *values)
{
	TupleTableSlot *slot = plc_fetch_row(&read->fetch, values);
	LWLock	   *lock = plc_shard_lock(plc_store_shard(plc_store, key->hash));
	PlcVersion	now;

	count(read, PLC_COUNT_LOST_PAGES);
	if (slot == NULL || read->sink->wants != PLC_ENTRY_JSON ||
		!version_of_slot(read, slot, &now) || !plc_version_same(version, &now) ||
		copy_text(read, ref, version) == NULL)
	{
		serve_miss(read, key, values, !IsolationUsesXactSnapshot());
		return;
	}
	read->sink->keep(read->sink, text_len(ref, version));
	count(read, PLC_COUNT_MISSES);

	LWLockAcquire(lock, LW_EXCLUSIVE);
	plc_store_patch_locked(plc_store, ref, offsetof(PlcVersion, buffer), now.buffer);
	LWLockRelease(lock);
}

/*
 * Serves a key through the cache.  The snapshot of a transaction above READ
 * COMMITTED may be old: it fills gaps, but takes no entry's place, since that
 * entry may be the newer version that everybody else wants (rule P7).
 */
static void
serve_cached(Read *read, const PlcKeyBytes *key, const Datum *values)
{
	PlcRef		ref;
	PlcVersion	version;
	HeapTuple	tuple = NULL;
	PlcProof	proof = PLC_PROOF_VISIBLE;

	if (!plc_store_find(plc_store, key->hash, key->bytes, key->len, &ref) ||
		!plc_store_read(plc_store, &ref, 0, &version, sizeof(version)))
	{
		serve_miss(read, key, values, true);
		return;
	}
	if (PLC_RULE_PROOF || read->sink->wants == PLC_ENTRY_VERSION)
		proof = plc_version_prove(&version, read->relation, read->snapshot, read->next_xid,
								  read->sink->wants == PLC_ENTRY_VERSION ? &tuple : NULL);
	switch (proof)
	{
		case PLC_PROOF_VISIBLE:
			if (!serve_hit(read, &ref, &version, tuple, values))
				serve_miss(read, key, values, true);
			break;
		case PLC_PROOF_FAILED:
			count(read, PLC_COUNT_PROOF_FAILURES);
			serve_miss(read, key, values, !IsolationUsesXactSnapshot());
			break;
		case PLC_PROOF_LOST_PAGE:
			serve_lost_page(read, key, &ref, &version, values);
			break;
	}
}

/* ---------- batches ---------- */

/* Keys first to last - 1, through the cache. */
static void
read_chunk(Read *read, const PlcKeys *keys, int first, int last)
{
	char		room[KEYS_PER_CHUNK][PLC_KEY_ROOM];
	PlcKeyBytes encoded[KEYS_PER_CHUNK];

	for (int i = first; i < last; i++)
	{
		PlcKeyBytes *key = &encoded[i - first];

		key->len = 0;
		if (keys->nulls[i])
			continue;
		plc_key_encode(read->table, &read->prefix, &keys->values[i * keys->ncolumns],
					   room[i - first], key);
		if (key->len > 0)
			plc_store_prefetch_bucket(plc_store, key->hash);
	}
	for (int i = first; i < last; i++)
		if (encoded[i - first].len > 0)
			plc_store_prefetch_item(plc_store, encoded[i - first].hash);

	for (int i = first; i < last; i++)
	{
		PlcKeyBytes *key = &encoded[i - first];
		const Datum *values = &keys->values[i * keys->ncolumns];

		if (keys->nulls[i])
			read->sink->absent(read->sink);
		else if (key->len > 0)
			serve_cached(read, key, values);
		else
		{
			count(read, PLC_COUNT_BYPASS_KEY);
			serve_by_index(read, values);
		}
	}
}

static void
read_by_cache(Read *read, const PlcKeys *keys)
{
	plc_key_prefix(read->table, read->relation, read->sink->wants, &read->prefix);
	for (int first = 0; first < keys->nkeys; first += KEYS_PER_CHUNK)
	{
		CHECK_FOR_INTERRUPTS();
		read_chunk(read, keys, first, Min(first + KEYS_PER_CHUNK, keys->nkeys));
	}
}

static void
read_by_index(Read *read, const PlcKeys *keys, PlcCounter reason)
{
	for (int i = 0; i < keys->nkeys; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (keys->nulls[i])
			read->sink->absent(read->sink);
		else
		{
			count(read, reason);
			serve_by_index(read, &keys->values[i * keys->ncolumns]);
		}
	}
}

static void
read_by_query(Read *read, const PlcKeys *keys)
{
	for (int i = 0; i < keys->nkeys; i++)
		if (!keys->nulls[i])
			count(read, PLC_COUNT_BYPASS_QUERY);
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
read_keys(Read *read, const PlcKeys *keys)
{
	int			reason;

	if (needs_query(read->table, read->relation))
	{
		read_by_query(read, keys);
		return;
	}
	read->snapshot = statement_snapshot();
	read->next_xid = plc_next_full_xid();
	plc_fetch_begin(&read->fetch, read->table, read->relation, read->snapshot);
	reason = bypass_reason(read);
	if (reason < 0)
		read_by_cache(read, keys);
	else
		read_by_index(read, keys, reason);
	plc_fetch_end(&read->fetch);
	if (!PLC_RULE_P7)
		UnregisterSnapshot(read->snapshot);
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
	Read		read;
	PlcKeys		keys;

	memset(&read.counts, 0, sizeof(read.counts));
	read.scratch = NULL;
	read.sink = sink;

	plc_table_enter();
	AcceptInvalidationMessages();
	read.relation = table_open(relid, AccessShareLock);
	read.table = plc_table_get(read.relation);
	plc_table_check_privileges(read.table, read.relation);
	plc_keys_from_array(read.table, key_values, &keys);

	read_keys(&read, &keys);

	plc_stats_add(read.table->stats_slot, relid, &read.counts);
	table_close(read.relation, NoLock);
	plc_table_leave();
}
