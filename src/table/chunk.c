/*
 * chunk.c
 *		The keys of a call, some at a time, so that waits for memory overlap.
 *
 * A chunk goes in steps: encode all keys; prefetch their buckets, then the items;
 * find the items; prove their versions, those in a row on one page under one lock
 * of it; then serve each key in turn.  Nothing else happens while a page is
 * locked: rows are served, and misses fetched, when all proofs are done.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat.h"
#include "rules.h"
#include "shmem.h"
#include "table/read_internal.h"

/* Enough to hide the latency of memory, few enough to stay in the first cache. */
#define KEYS_PER_CHUNK	32

static void
encode(const PlcRead *read, PlcCandidate *candidate, const Datum *values, char *room)
{
	candidate->values = values;
	plc_key_encode(read->table, &read->prefix, read->seed, values, room, &candidate->key);
	if (candidate->key.len == 0)
	{
		candidate->state = CANDIDATE_TOO_LONG;
		return;
	}
	candidate->state = CANDIDATE_ENCODED;
}

/* Has the memory fetched that look_up will want; not worth it for one key. */
static void
prefetch(PlcCandidate *candidates, int n)
{
	if (n == 1)
		return;
	for (int i = 0; i < n; i++)
		if (candidates[i].state == CANDIDATE_ENCODED)
			plc_store_prefetch_bucket(plc_store, candidates[i].key.hash);
	for (int i = 0; i < n; i++)
		if (candidates[i].state == CANDIDATE_ENCODED &&
			plc_store_prefetch_item(plc_store, candidates[i].key.hash, &candidates[i].ref))
			candidates[i].state = CANDIDATE_PREFETCHED;
}

/* Finds an item and reads its version. */
static bool
find(PlcCandidate *candidate)
{
	const PlcKeyBytes *key = &candidate->key;

	if (candidate->state == CANDIDATE_PREFETCHED)
		return plc_store_find_prefetched(plc_store, key->bytes, key->len, &candidate->ref,
										 &candidate->version, sizeof(PlcVersion));
	return plc_store_find(plc_store, key->hash, key->bytes, key->len, &candidate->ref) &&
		plc_store_read(plc_store, &candidate->ref, 0, &candidate->version, sizeof(PlcVersion));
}

static void
look_up(PlcCandidate *candidate)
{
	if (candidate->state == CANDIDATE_ENCODED || candidate->state == CANDIDATE_PREFETCHED)
		candidate->state = find(candidate) ? CANDIDATE_FOUND : CANDIDATE_MISSING;
}

/* Has the heap pages fetched that the proofs will want; not worth it for one key. */
static void
prefetch_pages(const PlcCandidate *candidates, int n)
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
prove(PlcRead *read, PlcProver *prover, PlcCandidate *candidate)
{
	static const PlcCandidateState verdict[] = {
		[PLC_PROOF_VISIBLE] = CANDIDATE_PROVEN,
		[PLC_PROOF_FAILED] = CANDIDATE_FAILED,
		[PLC_PROOF_LOST_PAGE] = CANDIDATE_LOST_PAGE
	};
	bool		copy = read->wants == PLC_ENTRY_VERSION;

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
prove_all(PlcRead *read, PlcCandidate *candidates, int n)
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
serve_all(PlcRead *read, PlcCandidate *candidates, int n)
{
	uint64		missed = 0;		/* a bit for each hash, modulo 64 */

	for (int i = 0; i < n; i++)
	{
		PlcCandidate *candidate = &candidates[i];

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
		plc_serve(read, candidate);
	}
}

/* Frees the bytes of keys that did not fit in their room. */
static void
free_keys(PlcCandidate *candidates, int n, char (*room)[PLC_KEY_ROOM])
{
	for (int i = 0; i < n; i++)
		if (candidates[i].state > CANDIDATE_TOO_LONG && candidates[i].key.bytes != room[i])
			pfree(candidates[i].key.bytes);
}

/* Keys first to last - 1, through the cache. */
static void
read_chunk(PlcRead *read, const PlcKeys *keys, int first, int last)
{
	char		room[KEYS_PER_CHUNK][PLC_KEY_ROOM];
	PlcCandidate candidates[KEYS_PER_CHUNK];
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

/* Reads all keys of a lot through the cache, in order.  Can be cancelled between chunks. */
void
plc_chunk_read_all(PlcRead *read, const PlcKeys *keys)
{
	for (int first = 0; first < keys->nkeys; first += KEYS_PER_CHUNK)
	{
		CHECK_FOR_INTERRUPTS();
		read_chunk(read, keys, first, Min(first + KEYS_PER_CHUNK, keys->nkeys));
	}
}
