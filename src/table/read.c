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
 *	4. Keys go in chunks, and a chunk in steps: encode all keys; prefetch their
 *	   buckets, then the items; find the items; prove their versions, those in
 *	   a row on one page under one lock; then serve each key in turn.
 *	   A proven text is copied straight to where it is wanted.  Anything else
 *	   goes through the index, with the same snapshot, and is published on the
 *	   way.
 *	5. Counters are handed over once, at the end.
 *
 * Shard locks are taken here around a put or a patch, which neither allocate
 * nor wait (and in entries.c, to walk a shard).
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "common/pg_prng.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
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
#include "table/fetch.h"
#include "table/query.h"
#include "table/read.h"
#include "table/render.h"
#include "table/version.h"

/* Enough to hide the latency of memory, few enough to stay in the first cache. */
#define KEYS_PER_CHUNK	32

/* The end of the framing that RESP wants around a text: $<length>\r\n … \r\n */
static const char framing_end[2] = {'\r', '\n'};

/* A key of a chunk, on its way. */
typedef enum CandidateState
{
	CANDIDATE_NULL,				/* no key */
	CANDIDATE_TOO_LONG,			/* a key that the store does not take */
	CANDIDATE_ENCODED,			/* a key, not looked up yet */
	CANDIDATE_MISSING,			/* not in the store */
	CANDIDATE_FOUND,			/* in the store, not proven yet */
	CANDIDATE_PROVEN,
	CANDIDATE_FAILED,			/* its version is not visible */
	CANDIDATE_LOST_PAGE
} CandidateState;

typedef struct Candidate
{
	CandidateState state;
	const Datum *values;
	PlcKeyBytes key;
	PlcRef		ref;
	PlcVersion	version;
	HeapTuple	tuple;			/* copy, where tuples are wanted */
} Candidate;

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
needs_query(Read *read)
{
	if (read->table->shape.by_query || !plc_fetch_usable(read->table, read->snapshot))
		return true;
	return read->relation->rd_rel->relrowsecurity &&
		check_enable_rls(read->table->relid, InvalidOid, false) == RLS_ENABLED;
}

/* ---------- publishing ---------- */

/*
 * Has this transaction written?  Then what it sees may be nobody else's, and
 * looking at the tuple is not enough to tell: rows of COPY FREEZE look
 * committed, and a second TRUNCATE in one transaction gives another row the
 * same file, line pointer and xmin.  So it publishes nothing (rule P6).
 */
static bool
has_written(void)
{
	return PLC_RULE_P6 && TransactionIdIsValid(GetTopTransactionIdIfAny());
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
	char		framing[16] = {0};
	char		number[12];
	int			digits = pg_ltoa(text->len, number);
	char	   *start;
	PlcSlice	slices[4];

	version->lead = digits + 3 <= 8 ? 8 : 16;
	start = framing + version->lead - digits - 3;
	*start = '$';
	memcpy(start + 1, number, digits);
	memcpy(start + 1 + digits, framing_end, sizeof(framing_end));
	slices[0] = (PlcSlice) {version, sizeof(*version)};
	slices[1] = (PlcSlice) {framing, version->lead};
	slices[2] = (PlcSlice) {text->data, text->len};
	slices[3] = (PlcSlice) {framing_end, sizeof(framing_end)};
	put(read, key, slices, lengthof(slices));
}

/* The version of the tuple that a fetch left in its slot; false if it has none. */
static bool
version_of_slot(Read *read, TupleTableSlot *slot, PlcVersion *version)
{
	BufferHeapTupleTableSlot *buffer_slot = (BufferHeapTupleTableSlot *) slot;

	return TTS_IS_BUFFERTUPLE(slot) &&
		plc_version_of_tuple(buffer_slot->base.tuple, buffer_slot->buffer, read->snapshot,
							 read->next_xid, version);
}

static void
publish(Read *read, const PlcKeyBytes *key, TupleTableSlot *slot)
{
	PlcVersion	version;

	if (has_written())
	{
		count(read, PLC_COUNT_UNPUBLISHED_OWN);
		return;
	}
	if (!read->table->valid)
		return;					/* the catalogs have changed: see shape.c */
	if (!version_of_slot(read, slot, &version) || plc_version_expired(&version, read->next_xid))
		return;					/* not a name that lasts: see version.c */
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

/*
 * The text of a row that will not be cached may need functions in any language,
 * which may raise errors or read this very table again.  They want to be called
 * as the server calls them: what such a function keeps between calls must not
 * outlive the query, nor be shared by calls inside of each other.
 */
static void
render(Read *read, TupleTableSlot *slot)
{
	resetStringInfo(&read->text);
	if (read->table->shape.uncacheable == NULL)
		plc_render(read->table->renderer, slot, &read->text);
	else
	{
		text	   *json = plc_render_by_server(slot);

		appendBinaryStringInfo(&read->text, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json));
	}
}

/* Gives the row in the slot to the sink; a rendered text stays in read->text. */
static void
serve_slot(Read *read, TupleTableSlot *slot)
{
	MemoryContext caller = enter_scratch(read);

	if (read->sink->wants == PLC_ENTRY_JSON)
	{
		render(read, slot);
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

/* may_publish_over: this miss may take the place of an entry, or there is none. */
static void
serve_miss(Read *read, const Candidate *candidate, bool may_publish_over)
{
	TupleTableSlot *slot = serve_by_index(read, candidate->values);

	count(read, PLC_COUNT_MISSES);
	if (slot != NULL && may_publish_over)
		publish(read, &candidate->key, slot);
}

/* Bytes of the JSON text in an item. */
static uint32
text_len(const Candidate *candidate)
{
	return candidate->ref.value_len - sizeof(PlcVersion) - candidate->version.lead -
		sizeof(framing_end);
}

/* Copies an item's text to the sink, not yet kept; NULL if the item is gone. */
static char *
copy_text(Read *read, const Candidate *candidate)
{
	uint32		len = text_len(candidate);
	char	   *text = read->sink->room(read->sink, len);

	if (!plc_store_read(plc_store, &candidate->ref,
						sizeof(PlcVersion) + candidate->version.lead, text, len))
		return NULL;
	return text;
}

/* Is what the index leads to now the row that the proven entry gives? */
static bool
same_as_stored(Read *read, const Candidate *candidate, const char *text)
{
	TupleTableSlot *slot = plc_fetch_row(&read->fetch, candidate->values);
	struct varlena *rendered;
	PlcVersion	stored;

	if (slot == NULL)
		return false;
	if (text == NULL)
		return version_of_slot(read, slot, &stored) &&
			plc_version_same(&candidate->version, &stored);
	rendered = (struct varlena *) plc_render_by_server(slot);
	return VARSIZE_ANY_EXHDR(rendered) == text_len(candidate) &&
		memcmp(VARDATA_ANY(rendered), text, text_len(candidate)) == 0;
}

/*
 * Have the catalogs changed since the call began, so that the server may now
 * render a row otherwise than it was right to then?
 */
static bool
catalogs_changed(Read *read)
{
	AcceptInvalidationMessages();
	return !read->table->valid;
}

/*
 * Never blind: fetches a proven row again through the index, under the same
 * snapshot, has the server render it, and compares.  True if all is well.
 */
static bool
verify(Read *read, const Candidate *candidate, const char *text)
{
	MemoryContext caller = enter_scratch(read);
	bool		same = same_as_stored(read, candidate, text) || catalogs_changed(read);

	count(read, PLC_COUNT_VERIFIED);
	if (!same)
	{
		count(read, PLC_COUNT_VERIFY_FAILURES);
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("cached row %s of table \"%s\" differs from the stored row",
						plc_key_describe(read->table, candidate->values),
						RelationGetRelationName(read->relation)),
				 errdetail("The cached row is version (%u,%u) of transaction %u.",
						   candidate->version.block, candidate->version.offset,
						   candidate->version.xmin),
				 errhint("The stored row was served. Report this as a bug.")));
	}
	MemoryContextSwitchTo(caller);
	return same;
}

static bool
chosen_for_verification(void)
{
	return unlikely(plc_guc_verify > 0.0) &&
		pg_prng_double(&pg_global_prng_state) < plc_guc_verify;
}

static void
serve_proven(Read *read, Candidate *candidate)
{
	char	   *text = NULL;

	if (read->sink->wants == PLC_ENTRY_JSON && (text = copy_text(read, candidate)) == NULL)
	{
		serve_miss(read, candidate, true);	/* given up between proof and copy */
		return;
	}
	count(read, PLC_COUNT_HITS);
	plc_store_touch(plc_store, &candidate->ref);
	if (chosen_for_verification() && !verify(read, candidate, text))
		serve_by_index(read, candidate->values);
	else if (text != NULL)
		read->sink->keep(read->sink, text_len(candidate));
	else
		read->sink->tuple(read->sink, candidate->tuple, RelationGetDescr(read->relation));
	if (candidate->tuple != NULL)
		heap_freetuple(candidate->tuple);
}

/*
 * May the row that this reader sees take the place of an entry that did not
 * answer?  The snapshot of a transaction above READ COMMITTED may be old.  If
 * it does not know the transaction that wrote the entry's version, that version
 * is newer, and everybody else wants it.  If it does, it sees a newer one than
 * that (rule P7).
 */
static bool
may_replace(Read *read, const Candidate *candidate)
{
	return !IsolationUsesXactSnapshot() ||
		!XidInMVCCSnapshot(candidate->version.xmin, read->snapshot);
}

/*
 * The entry's page is not where it was.  If the index leads to the same
 * version, its text is still true: serve it without rendering, and note where
 * the page is now (rule P4).
 */
static void
serve_lost_page(Read *read, const Candidate *candidate)
{
	TupleTableSlot *slot = plc_fetch_row(&read->fetch, candidate->values);
	LWLock	   *lock = plc_shard_lock(plc_store_shard(plc_store, candidate->key.hash));
	PlcVersion	now;

	count(read, PLC_COUNT_LOST_PAGES);
	if (slot == NULL || read->sink->wants != PLC_ENTRY_JSON ||
		!version_of_slot(read, slot, &now) || !plc_version_same(&candidate->version, &now) ||
		copy_text(read, candidate) == NULL)
	{
		serve_miss(read, candidate, may_replace(read, candidate));
		return;
	}
	read->sink->keep(read->sink, text_len(candidate));
	count(read, PLC_COUNT_MISSES);
	plc_store_touch(plc_store, &candidate->ref);

	LWLockAcquire(lock, LW_EXCLUSIVE);
	plc_store_patch_locked(plc_store, &candidate->ref, offsetof(PlcVersion, buffer), now.buffer);
	LWLockRelease(lock);
}

/* Gives a candidate's row to the sink. */
static void
serve(Read *read, Candidate *candidate)
{
	switch (candidate->state)
	{
		case CANDIDATE_NULL:
			read->sink->absent(read->sink);
			break;
		case CANDIDATE_TOO_LONG:
			count(read, PLC_COUNT_BYPASS_KEY);
			serve_by_index(read, candidate->values);
			break;
		case CANDIDATE_PROVEN:
			serve_proven(read, candidate);
			break;
		case CANDIDATE_FAILED:
			count(read, PLC_COUNT_PROOF_FAILURES);
			serve_miss(read, candidate, may_replace(read, candidate));
			break;
		case CANDIDATE_LOST_PAGE:
			serve_lost_page(read, candidate);
			break;
		default:
			serve_miss(read, candidate, true);
	}
}

/* ---------- batches ---------- */

static void
encode(const Read *read, Candidate *candidate, const Datum *values, char *room)
{
	candidate->values = values;
	plc_key_encode(read->table, &read->prefix, values, room, &candidate->key);
	if (candidate->key.len == 0)
	{
		candidate->state = CANDIDATE_TOO_LONG;
		return;
	}
	candidate->state = CANDIDATE_ENCODED;
}

/* Has the memory fetched that look_up will want; not worth it for one key. */
static void
prefetch(const Candidate *candidates, int n)
{
	if (n == 1)
		return;
	for (int i = 0; i < n; i++)
		if (candidates[i].state == CANDIDATE_ENCODED)
			plc_store_prefetch_bucket(plc_store, candidates[i].key.hash);
	for (int i = 0; i < n; i++)
		if (candidates[i].state == CANDIDATE_ENCODED)
			plc_store_prefetch_item(plc_store, candidates[i].key.hash);
}

static void
look_up(Candidate *candidate)
{
	if (candidate->state != CANDIDATE_ENCODED)
		return;
	if (plc_store_find(plc_store, candidate->key.hash, candidate->key.bytes, candidate->key.len,
					   &candidate->ref) &&
		plc_store_read(plc_store, &candidate->ref, 0, &candidate->version, sizeof(PlcVersion)))
		candidate->state = CANDIDATE_FOUND;
	else
		candidate->state = CANDIDATE_MISSING;
}

/* Has the heap pages fetched that the proofs will want; not worth it for one key. */
static void
prefetch_pages(const Candidate *candidates, int n)
{
	if (n == 1)
		return;
	for (int i = 0; i < n; i++)
		if (candidates[i].state == CANDIDATE_FOUND)
			plc_prove_prefetch_page(&candidates[i].version);
	for (int i = 0; i < n; i++)
		if (candidates[i].state == CANDIDATE_FOUND)
			plc_prove_prefetch_tuple(&candidates[i].version);
}

static void
prove(Read *read, PlcProver *prover, Candidate *candidate)
{
	static const CandidateState verdict[] = {
		[PLC_PROOF_VISIBLE] = CANDIDATE_PROVEN,
		[PLC_PROOF_FAILED] = CANDIDATE_FAILED,
		[PLC_PROOF_LOST_PAGE] = CANDIDATE_LOST_PAGE
	};
	bool		copy = read->sink->wants == PLC_ENTRY_VERSION;

	if (candidate->state != CANDIDATE_FOUND)
		return;
	candidate->tuple = NULL;
	if (PLC_RULE_PROOF || copy)
		candidate->state = verdict[plc_prove(prover, &candidate->version,
											 copy ? &candidate->tuple : NULL)];
	else
		candidate->state = CANDIDATE_PROVEN;
}

static void
prove_all(Read *read, Candidate *candidates, int n)
{
	PlcProver	prover;

	plc_prove_begin(&prover, read->relation, read->snapshot, read->next_xid,
					plc_fetch_may_see_two());
	for (int i = 0; i < n; i++)
		prove(read, &prover, &candidates[i]);
	plc_prove_end(&prover);
}

/*
 * Serves in order.  A key that is missing may be a repetition of one that was
 * missing a moment ago and has been published since: looked up again, it is
 * fetched only once.
 */
static void
serve_all(Read *read, Candidate *candidates, int n)
{
	uint64		missed = 0;		/* a bit for each hash, modulo 64 */

	for (int i = 0; i < n; i++)
	{
		Candidate  *candidate = &candidates[i];

		if (candidate->state == CANDIDATE_MISSING || candidate->state == CANDIDATE_FAILED)
		{
			uint64		bit = UINT64CONST(1) << (candidate->key.hash % 64);

			if (missed & bit)
			{
				candidate->state = CANDIDATE_ENCODED;
				look_up(candidate);
				prove_all(read, candidate, 1);
			}
			missed |= bit;
		}
		serve(read, candidate);
	}
}

/* Frees the bytes of keys that did not fit in their room. */
static void
free_keys(Candidate *candidates, int n, char (*room)[PLC_KEY_ROOM])
{
	for (int i = 0; i < n; i++)
		if (candidates[i].state > CANDIDATE_TOO_LONG && candidates[i].key.bytes != room[i])
			pfree(candidates[i].key.bytes);
}

/* Keys first to last - 1, through the cache. */
static void
read_chunk(Read *read, const PlcKeys *keys, int first, int last)
{
	char		room[KEYS_PER_CHUNK][PLC_KEY_ROOM];
	Candidate	candidates[KEYS_PER_CHUNK];
	int			n = last - first;

	for (int i = 0; i < n; i++)
	{
		if (keys->nulls[first + i])
			candidates[i].state = CANDIDATE_NULL;
		else
			encode(read, &candidates[i], &keys->values[(first + i) * keys->ncolumns], room[i]);
	}
	prefetch(candidates, n);
	for (int i = 0; i < n; i++)
		look_up(&candidates[i]);
	prefetch_pages(candidates, n);
	prove_all(read, candidates, n);
	serve_all(read, candidates, n);
	free_keys(candidates, n, room);
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

	plc_fetch_begin(&read->fetch, read->table, read->relation, read->snapshot);
	reason = bypass_reason(read);
	if (reason < 0)
		read_by_cache(read, keys);
	else
		read_by_index(read, keys, reason);
	plc_fetch_end(&read->fetch);
}

/* Locks and opens the table; the friendly error costs only those who might need it. */
static Relation
open_table(Oid relid)
{
	if (!plc_table_is_known(relid) && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
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
	Read		read;
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
