/*
 * store_fixture.h
 *		What the tests of the store share: a store, a hash, put and get.
 */
#ifndef PLC_TEST_STORE_FIXTURE_H
#define PLC_TEST_STORE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/store.h"
#include "cache/store_internal.h"

#define KB	1024
#define MB	(1024 * 1024)

static inline PlcStore *
make_store(size_t size)
{
	void	   *memory = NULL;
	PlcStore   *store;

	if (posix_memalign(&memory, PLC_LINE_BYTES, size) != 0)
		abort();
	memset(memory, 0xa5, size); /* the store must not count on zeros */
	store = plc_store_format(memory, size);
	if (store == NULL)
		abort();
	return store;
}

/* A good mix of all bits (the finalizer of splitmix64) */
static inline uint64_t
mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t
hash_bytes(const void *data, uint32_t len)
{
	const unsigned char *bytes = data;
	uint64_t	hash = mix(len + 1);
	uint32_t	i;

	for (i = 0; i < len; i++)
		hash = mix(hash + bytes[i] + UINT64_C(0x9e3779b97f4a7c15));
	return hash;
}

/* Deterministic pseudo-random numbers */
static inline uint64_t
next_random(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(*state);
}

static inline bool
put_bytes(PlcStore *store, const void *key, uint32_t key_len, const void *value, uint32_t len)
{
	PlcSlice	slice;

	slice.data = value;
	slice.len = len;
	return plc_store_put_locked(store, hash_bytes(key, key_len), key, key_len, &slice, 1);
}

static inline bool
find_bytes(const PlcStore *store, const void *key, uint32_t key_len, PlcRef *ref)
{
	return plc_store_find(store, hash_bytes(key, key_len), key, key_len, ref);
}

/* The whole value of a key, in dst of size bytes; its length, -1 if absent. */
static inline int64_t
get_bytes(const PlcStore *store, const void *key, uint32_t key_len, void *dst, uint32_t size)
{
	PlcRef		ref;

	if (!find_bytes(store, key, key_len, &ref))
		return -1;
	if (ref.value_len > size || !plc_store_read(store, &ref, 0, dst, ref.value_len))
		abort();				/* nobody else writes */
	return ref.value_len;
}

/* Keys that are numbers */

static inline bool
put_number(PlcStore *store, uint64_t number, const void *value, uint32_t len)
{
	return put_bytes(store, &number, sizeof(number), value, len);
}

static inline bool
find_number(const PlcStore *store, uint64_t number, PlcRef *ref)
{
	return find_bytes(store, &number, sizeof(number), ref);
}

static inline bool
has_number(const PlcStore *store, uint64_t number)
{
	PlcRef		ref;

	return find_number(store, number, &ref);
}

static inline bool
touch_number(PlcStore *store, uint64_t number)
{
	PlcRef		ref;

	if (!find_number(store, number, &ref))
		return false;
	plc_store_touch(store, &ref);
	return true;
}

/* Sums over all shards */

static inline PlcStoreCounts
all_counts(const PlcStore *store)
{
	PlcStoreCounts sum = {0};
	uint32_t	i;

	for (i = 0; i < plc_store_shards(store); i++)
	{
		PlcStoreCounts one;

		plc_store_counts_locked(store, i, &one);
		sum.items += one.items;
		sum.bytes += one.bytes;
		sum.inserted += one.inserted;
		sum.evicted += one.evicted;
		sum.displaced += one.displaced;
		sum.promoted += one.promoted;
		sum.returned += one.returned;
	}
	return sum;
}

typedef struct Seen
{
	uint64_t	items;
	uint64_t	bytes;
} Seen;

static inline bool
see(const void *key, uint32_t key_len, uint32_t item_bytes, void *arg)
{
	Seen	   *seen = arg;

	(void) key;
	(void) key_len;
	seen->items++;
	seen->bytes += item_bytes;
	return false;
}

/* Whether the counts are what a sweep finds */
static inline bool
counts_agree(PlcStore *store)
{
	PlcStoreCounts counts = all_counts(store);
	Seen		seen = {0, 0};
	uint32_t	i;

	for (i = 0; i < plc_store_shards(store); i++)
		plc_store_sweep_locked(store, i, see, 0, &seen);
	if (seen.items != counts.items || seen.bytes != counts.bytes)
		printf("# counted %llu items of %llu bytes, seen %llu of %llu\n",
			   (unsigned long long) counts.items, (unsigned long long) counts.bytes,
			   (unsigned long long) seen.items, (unsigned long long) seen.bytes);
	return seen.items == counts.items && seen.bytes == counts.bytes;
}

#endif							/* PLC_TEST_STORE_FIXTURE_H */
