/*
 * serve.c
 *		One row to where it is wanted: from its entry, or through the index.
 *
 * A proven text is copied straight from the store to the sink.  Anything else is
 * fetched through the index under the call's snapshot, and published on the way,
 * if it may be.
 *
 * The lock of a shard is taken here around a put or a patch, which neither
 * allocate nor wait.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/pg_prng.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "guc.h"
#include "rules.h"
#include "shmem.h"
#include "table/read_internal.h"
#include "table/render.h"

/* The framing that RESP wants around a text: $<length>\r\n … \r\n */
#define FRAMING_ROOM	16
static const char framing_end[2] = {'\r', '\n'};

/* Bytes of "$<length>\r\n"; the length has seven digits at most where it counts. */
static inline uint32
framing_len(uint32 len)
{
	uint32		digits = 1;

	for (; len >= 10; len /= 10)
		digits++;
	return digits + 3;
}

static void
write_framing(char *out, uint32 len)
{
	int			digits;

	*out = '$';
	digits = pg_ultoa_n(len, out + 1);
	memcpy(out + 1 + digits, framing_end, sizeof(framing_end));
}

/* Enters the memory context of one row, empty; returns the one to go back to. */
static MemoryContext
enter_scratch(PlcRead *read)
{
	if (read->scratch == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(read->context);

		read->scratch = AllocSetContextCreate(read->context, "pg_local_cache row",
											  ALLOCSET_DEFAULT_SIZES);
		initStringInfo(&read->text);
		MemoryContextSwitchTo(caller);
	}
	else
		MemoryContextReset(read->scratch);
	return MemoryContextSwitchTo(read->scratch);
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
put(PlcRead *read, const PlcKeyBytes *key, const PlcSlice *slices, int nslices)
{
	LWLock	   *lock = plc_shard_lock(plc_store_shard(plc_store, key->hash));
	bool		stored;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	stored = plc_store_put_locked(plc_store, key->hash, key->bytes, key->len, slices, nslices);
	LWLockRelease(lock);
	plc_read_count(read, stored ? PLC_COUNT_PUBLISHES : PLC_COUNT_UNPUBLISHED_SIZE);
}

/*
 * Publishes a text: version, framing, text.  The framing is padded in front so
 * that the text starts at a multiple of eight.
 */
static void
publish_text(PlcRead *read, const PlcKeyBytes *key, PlcVersion *version, StringInfo text)
{
	char		framing[FRAMING_ROOM] = {0};
	uint32		before = framing_len(text->len);
	PlcSlice	slices[4];

	version->lead = before <= 8 ? 8 : FRAMING_ROOM;
	write_framing(framing + version->lead - before, text->len);
	slices[0] = (PlcSlice) {version, sizeof(*version)};
	slices[1] = (PlcSlice) {framing, version->lead};
	slices[2] = (PlcSlice) {text->data, text->len};
	slices[3] = (PlcSlice) {framing_end, sizeof(framing_end)};
	put(read, key, slices, lengthof(slices));
}

/* The version of the tuple that a fetch left in its slot; false if it has none. */
static bool
version_of_slot(PlcRead *read, TupleTableSlot *slot, PlcVersion *version)
{
	BufferHeapTupleTableSlot *buffer_slot = (BufferHeapTupleTableSlot *) slot;

	return TTS_IS_BUFFERTUPLE(slot) &&
		plc_version_of_tuple(buffer_slot->base.tuple, buffer_slot->buffer, read->snapshot,
							 read->next_xid, version);
}

static void
publish(PlcRead *read, const PlcKeyBytes *key, TupleTableSlot *slot)
{
	PlcVersion	version;

	if (has_written())
	{
		plc_read_count(read, PLC_COUNT_UNPUBLISHED_OWN);
		return;
	}
	if (!read->table->valid)
		return;					/* the catalogs have changed: see shape.c */
	if (!version_of_slot(read, slot, &version) || plc_version_expired(&version, read->next_xid))
		return;					/* not a name that lasts: see version.c */
	if (read->wants == PLC_ENTRY_VERSION)
		put(read, key, &(PlcSlice) {&version, sizeof(version)}, 1);
	else if (read->text.len > plc_guc_max_row_size)
		plc_read_count(read, PLC_COUNT_UNPUBLISHED_SIZE);
	else
		publish_text(read, key, &version, &read->text);
}

/* Gives a text to a sink of texts, with its framing if that is wanted. */
void
plc_serve_text(PlcSink *sink, const char *text, uint32 len)
{
	uint32		before = sink->framed ? framing_len(len) : 0;
	uint32		after = sink->framed ? sizeof(framing_end) : 0;
	char	   *room = sink->room(sink, before + len + after);

	if (sink->framed)
		write_framing(room, len);
	memcpy(room + before, text, len);
	memcpy(room + before + len, framing_end, after);
	sink->keep(sink, before + len + after);
}

/*
 * The text of a row that will not be cached may need functions in any language,
 * which may raise errors or read this very table again.  They want to be called
 * as the server calls them: what such a function keeps between calls must not
 * outlive the query, nor be shared by calls inside of each other.
 */
static void
render(PlcRead *read, TupleTableSlot *slot)
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
serve_slot(PlcRead *read, TupleTableSlot *slot)
{
	MemoryContext caller = enter_scratch(read);

	if (read->wants == PLC_ENTRY_JSON)
	{
		render(read, slot);
		plc_serve_text(read->sink, read->text.data, read->text.len);
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
TupleTableSlot *
plc_serve_by_index(PlcRead *read, const Datum *values)
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
serve_miss(PlcRead *read, const PlcCandidate *candidate, bool may_publish_over)
{
	TupleTableSlot *slot = plc_serve_by_index(read, candidate->values);

	plc_read_count(read, PLC_COUNT_MISSES);
	if (slot != NULL && may_publish_over)
		publish(read, &candidate->key, slot);
}

/* Bytes of the JSON text in an item. */
static uint32
text_len(const PlcCandidate *candidate)
{
	return candidate->ref.value_len - sizeof(PlcVersion) - candidate->version.lead -
		sizeof(framing_end);
}

/* A text on its way to the sink, as it lies there. */
typedef struct Copy
{
	char	   *room;			/* NULL: the item is gone */
	uint32		len;			/* of all that is to be kept */
	uint32		before;			/* of the framing in front of the text */
} Copy;

/* Copies an item's text to the sink, not yet kept. */
static Copy
copy_text(PlcRead *read, const PlcCandidate *candidate)
{
	Copy		copy = {NULL, text_len(candidate), 0};

	if (read->sink->framed)
	{
		copy.before = framing_len(copy.len);
		copy.len += copy.before + sizeof(framing_end);
	}
	copy.room = read->sink->room(read->sink, copy.len);
	if (!plc_store_read(plc_store, &candidate->ref,
						sizeof(PlcVersion) + candidate->version.lead - copy.before,
						copy.room, copy.len))
		copy.room = NULL;
	return copy;
}

/* Is what the index leads to now the row that the proven entry gives? */
static bool
same_as_stored(PlcRead *read, const PlcCandidate *candidate, const char *text)
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
catalogs_changed(PlcRead *read)
{
	AcceptInvalidationMessages();
	return !read->table->valid;
}

/*
 * Never blind: fetches a proven row again through the index, under the same
 * snapshot, has the server render it, and compares.  True if all is well.
 */
static bool
verify(PlcRead *read, const PlcCandidate *candidate, const char *text)
{
	MemoryContext caller = enter_scratch(read);
	bool		same = same_as_stored(read, candidate, text) || catalogs_changed(read);

	plc_read_count(read, PLC_COUNT_VERIFIED);
	if (!same)
	{
		plc_read_count(read, PLC_COUNT_VERIFY_FAILURES);
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
serve_proven(PlcRead *read, PlcCandidate *candidate)
{
	Copy		copy = {NULL};

	if (read->wants == PLC_ENTRY_JSON)
	{
		copy = copy_text(read, candidate);
		if (copy.room == NULL)
		{
			serve_miss(read, candidate, true);	/* given up between proof and copy */
			return;
		}
	}
	plc_read_count(read, PLC_COUNT_HITS);
	plc_store_touch(plc_store, &candidate->ref);
	if (chosen_for_verification() &&
		!verify(read, candidate, copy.room ? copy.room + copy.before : NULL))
		plc_serve_by_index(read, candidate->values);
	else if (copy.room != NULL)
		read->sink->keep(read->sink, copy.len);
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
may_replace(PlcRead *read, const PlcCandidate *candidate)
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
serve_lost_page(PlcRead *read, const PlcCandidate *candidate)
{
	TupleTableSlot *slot = plc_fetch_row(&read->fetch, candidate->values);
	LWLock	   *lock = plc_shard_lock(plc_store_shard(plc_store, candidate->key.hash));
	Copy		copy;
	PlcVersion	now;

	plc_read_count(read, PLC_COUNT_LOST_PAGES);
	if (slot == NULL || read->wants != PLC_ENTRY_JSON ||
		!version_of_slot(read, slot, &now) || !plc_version_same(&candidate->version, &now) ||
		(copy = copy_text(read, candidate)).room == NULL)
	{
		serve_miss(read, candidate, may_replace(read, candidate));
		return;
	}
	read->sink->keep(read->sink, copy.len);
	plc_read_count(read, PLC_COUNT_MISSES);
	plc_store_touch(plc_store, &candidate->ref);

	LWLockAcquire(lock, LW_EXCLUSIVE);
	plc_store_patch_locked(plc_store, &candidate->ref, offsetof(PlcVersion, buffer), now.buffer);
	LWLockRelease(lock);
}

/* Gives a candidate's row to the sink. */
void
plc_serve(PlcRead *read, PlcCandidate *candidate)
{
	switch (candidate->state)
	{
		case CANDIDATE_NULL:
			read->sink->absent(read->sink);
			break;
		case CANDIDATE_TOO_LONG:
			plc_read_count(read, PLC_COUNT_BYPASS_KEY);
			plc_serve_by_index(read, candidate->values);
			break;
		case CANDIDATE_PROVEN:
			serve_proven(read, candidate);
			break;
		case CANDIDATE_FAILED:
			plc_read_count(read, PLC_COUNT_PROOF_FAILURES);
			serve_miss(read, candidate, may_replace(read, candidate));
			break;
		case CANDIDATE_LOST_PAGE:
			serve_lost_page(read, candidate);
			break;
		default:
			serve_miss(read, candidate, true);
	}
}
