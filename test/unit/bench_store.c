/*
 * bench_store.c
 *		How long a look-up and a put take, in ns.  Not a test.
 *
 * Values of 150 bytes under keys of 16, in random order, with hashes computed
 * beforehand.  Each figure is the best of several rounds, since others use the
 * machine too.
 */
#include <time.h>

#include "store_fixture.h"

#define VALUE_BYTES	150
#define ROUNDS		7
#define BATCH		64

typedef struct Key
{
	uint64_t	parts[2];
	uint64_t	hash;
} Key;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static Key *
make_keys(uint32_t n, uint64_t seed)
{
	Key		   *keys = malloc(n * sizeof(Key));
	uint32_t	i;

	for (i = 0; i < n; i++)
	{
		keys[i].parts[0] = seed;
		keys[i].parts[1] = i;
		keys[i].hash = hash_bytes(keys[i].parts, 16);
	}
	for (i = n - 1; i > 0; i--)
	{
		uint32_t	j = next_random(&seed) % (i + 1);
		Key			swap = keys[i];

		keys[i] = keys[j];
		keys[j] = swap;
	}
	return keys;
}

static void
put_key(PlcStore *store, const Key *key)
{
	static char value[VALUE_BYTES];
	PlcSlice	slices[2] = {{value, 50}, {value + 50, VALUE_BYTES - 50}};

	plc_store_put_locked(store, key->hash, key->parts, 16, slices, 2);
}

static inline bool
read_key(PlcStore *store, const Key *key, char *value)
{
	PlcRef		ref;

	if (!plc_store_find(store, key->hash, key->parts, 16, &ref))
		return false;
	plc_store_touch(store, &ref);
	return plc_store_read(store, &ref, 0, value, ref.value_len);
}

static uint32_t
read_one_by_one(PlcStore *store, const Key *keys, uint32_t n)
{
	char		value[VALUE_BYTES + 10];
	uint32_t	hits = 0;
	uint32_t	i;

	for (i = 0; i < n; i++)
		hits += read_key(store, &keys[i], value);
	return hits;
}

static uint32_t
read_in_batches(PlcStore *store, const Key *keys, uint32_t n)
{
	char		value[VALUE_BYTES + 10];
	uint32_t	hits = 0;
	uint32_t	i;
	uint32_t	first;

	for (first = 0; first < n; first += BATCH)
	{
		uint32_t	end = first + BATCH < n ? first + BATCH : n;

		for (i = first; i < end; i++)
			plc_store_prefetch_bucket(store, keys[i].hash);
		for (i = first; i < end; i++)
			plc_store_prefetch_item(store, keys[i].hash, &(PlcRef) {0});
		for (i = first; i < end; i++)
			hits += read_key(store, &keys[i], value);
	}
	return hits;
}

static uint32_t
put_all(PlcStore *store, const Key *keys, uint32_t n)
{
	uint32_t	i;

	for (i = 0; i < n; i++)
		put_key(store, &keys[i]);
	return n;
}

/* ns per key; *share is the part of the keys that were there */
static double
measure(uint32_t (*work) (PlcStore *, const Key *, uint32_t), PlcStore *store,
		const Key *keys, uint32_t n, double *share)
{
	uint32_t	repeats = n < 100000 ? 100000 / n : 1;
	double		best = 1e30;
	uint64_t	hits = 0;
	int			round;

	for (round = 0; round < ROUNDS; round++)
	{
		double		start = now();
		double		each;
		uint32_t	i;

		for (i = 0, hits = 0; i < repeats; i++)
			hits += work(store, keys, n);
		each = (now() - start) / ((double) n * repeats);
		best = each < best ? each : best;
	}
	*share = (double) hits / ((double) n * repeats);
	return best;
}

static void
bench_reads(uint32_t n)
{
	PlcStore   *store = make_store((size_t) 256 * MB);
	Key		   *keys = make_keys(n, n);
	double		share;
	double		one;
	double		batch;
	double		again;

	put_all(store, keys, n);
	one = measure(read_one_by_one, store, keys, n, &share);
	batch = measure(read_in_batches, store, keys, n, &share);
	again = measure(put_all, store, keys, n, &share);
	measure(read_one_by_one, store, keys, n, &share);
	printf("%7u keys: find+touch+read %6.1f, in batches of %d %6.1f, put again %6.1f  (%.1f %% hits)\n",
		   n, one, BATCH, batch, again, 100 * share);
	free(keys);
	free(store);
}

/* Each put of a new key pushes others out of a full store. */
static void
bench_evicting_puts(size_t size)
{
	PlcStore   *store = make_store(size);
	uint32_t	n = size / 100;
	double		best = 1e30;
	int			round;

	for (round = 0; round < ROUNDS; round++)
	{
		Key		   *keys = make_keys(n, 1000 + round);
		double		start = now();
		double		each;

		put_all(store, keys, n);
		each = (now() - start) / n;
		if (round > 0 && each < best)
			best = each;
		free(keys);
	}
	printf("%7u MB full: put of a new key %6.1f\n", (unsigned) (size / MB), best);
	free(store);
}

int
main(void)
{
	bench_reads(1000);
	bench_reads(10000);
	bench_reads(100000);
	bench_evicting_puts((size_t) 4 * MB);
	bench_evicting_puts((size_t) 128 * MB);
	return 0;
}
