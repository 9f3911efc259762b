/*
 * test_store_threads.c
 *		Readers without a lock against writers, for some seconds.
 *
 * A value tells its key and its version, and all its other bytes and its length
 * follow from these, so a reader sees at once if it was given a mixture.  The
 * store is small, so that writers overtake readers often, and positions start
 * just before the end of the 47 bits.  The same program runs under the thread
 * sanitizer.  The seed is printed; give it as the argument to use it again.
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "store_fixture.h"
#include "tap.h"

#define WRITERS		2
#define READERS		2
#define MAX_KEYS	1000
#define MAX_LEN		60000
#define MAX_SHARDS	128

/* A key's lengths are all of one residue, so that a wrong length shows alone. */
#define RESIDUES	61

typedef struct Value
{
	uint64_t	key;
	uint64_t	version;
	uint32_t	hint;			/* patched: its halves are complements */
	uint32_t	unused;
	unsigned char rest[MAX_LEN];	/* a whole number of words */
} Value;

#define FIXED_LEN	24			/* of a value, before rest */

/* What a run is to do */
typedef struct Load
{
	const char *name;
	size_t		size;			/* of the store */
	uint32_t	keys;
	uint32_t	max_len;		/* of long values */
	uint32_t	long_part;		/* one value in so many is long */
	int			milliseconds;
} Load;

typedef struct Shared
{
	const Load *load;
	PlcStore   *store;
	bool		stop;			/* atomic */
	pthread_mutex_t locks[MAX_SHARDS];
	uint64_t	versions[MAX_KEYS]; /* protected by the lock of the key's shard */
} Shared;

typedef struct Thread
{
	pthread_t	thread;
	Shared	   *shared;
	uint64_t	random;
	uint64_t	done;			/* puts, or values read */
	uint64_t	refused;		/* found, but given up before read */
	uint64_t	wrong_lengths;
	uint64_t	wrong_values;
	uint64_t	backwards;		/* an older version after a newer one */
	uint64_t	newest[MAX_KEYS];	/* version seen by this thread */
} Thread;

static uint64_t
hash_of(uint64_t key)
{
	return mix(key + 1);
}

static uint32_t
length_of(const Load *load, uint64_t key, uint64_t version)
{
	uint64_t	r = mix(key << 32 ^ version);
	uint32_t	spread = r % load->long_part == 0 ? load->max_len : 300;
	uint32_t	len = FIXED_LEN + (r >> 8) % (spread - 2 * RESIDUES);

	return len + (RESIDUES + key % RESIDUES - len % RESIDUES) % RESIDUES;
}

static uint64_t
word_of(uint64_t key, uint64_t version, uint32_t i)
{
	return (key << 40) + (version << 16) + i * UINT64_C(0x9e3779b97f4a7c15);
}

static uint32_t
make_hint(uint64_t random)
{
	return (random & 0xffff) | (~random & 0xffff) << 16;
}

/* Makes at least the first len bytes. */
static void
make_value(uint64_t key, uint64_t version, Value *value, uint32_t len)
{
	uint32_t	i;

	value->key = key;
	value->version = version;
	value->hint = make_hint(version);
	value->unused = 0;
	for (i = 0; FIXED_LEN + 8 * i < len; i++)
	{
		uint64_t	word = word_of(key, version, i);

		memcpy(value->rest + 8 * i, &word, 8);
	}
}

static bool
value_whole(const Load *load, uint64_t key, const Value *value, uint32_t len)
{
	uint32_t	i;
	uint64_t	word;

	if (value->key != key || length_of(load, key, value->version) != len ||
		((value->hint >> 16) ^ (value->hint & 0xffff)) != 0xffff || value->unused != 0)
		return false;
	len -= FIXED_LEN;
	for (i = 0; i < len / 8; i++)
	{
		word = word_of(key, value->version, i);
		if (memcmp(value->rest + 8 * i, &word, 8) != 0)
			return false;
	}
	word = word_of(key, value->version, i);
	return memcmp(value->rest + 8 * i, &word, len % 8) == 0;
}

static void
put(Thread *me, uint64_t key)
{
	Shared	   *shared = me->shared;
	Value		value;
	PlcSlice	slice;

	slice.data = &value;
	slice.len = length_of(shared->load, key, ++shared->versions[key]);
	make_value(key, shared->versions[key], &value, slice.len);
	if (!plc_store_put_locked(shared->store, hash_of(key), &key, sizeof(key), &slice, 1))
		abort();
	me->done++;
}

static void
patch_or_remove(Thread *me, uint64_t key, bool patch)
{
	PlcStore   *store = me->shared->store;
	PlcRef		ref;

	if (!plc_store_find(store, hash_of(key), &key, sizeof(key), &ref))
		return;
	if (patch)
		plc_store_patch_locked(store, &ref, offsetof(Value, hint),
							   make_hint(next_random(&me->random)));
	else
		plc_store_remove_locked(store, &ref);
}

static bool
every_tenth(const void *key, uint32_t key_len, uint32_t item_bytes, void *arg)
{
	uint64_t	number;

	(void) key_len;
	(void) item_bytes;
	(void) arg;
	memcpy(&number, key, sizeof(number));
	return number % 10 == 0;
}

static void *
writer_main(void *arg)
{
	Thread	   *me = arg;
	Shared	   *shared = me->shared;

	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
	{
		uint64_t	key = next_random(&me->random) % shared->load->keys;
		uint32_t	what = next_random(&me->random) % 10000;
		uint32_t	shard = plc_store_shard(shared->store, hash_of(key));

		pthread_mutex_lock(&shared->locks[shard]);
		if (what == 0)
			plc_store_sweep_locked(shared->store, shard, every_tenth, sizeof(key), NULL);
		else if (what < 500)
			patch_or_remove(me, key, false);
		else if (what < 2000)
			patch_or_remove(me, key, true);
		else
			put(me, key);
		pthread_mutex_unlock(&shared->locks[shard]);
	}
	return NULL;
}

/*
 * Reads a value at once or in two parts.  Between these it may be given up, or
 * its hint be patched, so the hint itself is read at once.
 */
static bool
read_value(Thread *me, const PlcRef *ref, Value *value)
{
	PlcStore   *store = me->shared->store;
	uint64_t	r = next_random(&me->random);
	uint32_t	cut = r % 2 == 0 ? ref->value_len : (r >> 8) % ref->value_len;

	if (cut > offsetof(Value, hint) && cut < offsetof(Value, unused))
		cut = offsetof(Value, unused);
	if (r % 64 == 1)
		sched_yield();			/* let writers overtake */
	return plc_store_read(store, ref, 0, value, cut) &&
		plc_store_read(store, ref, cut, (char *) value + cut, ref->value_len - cut);
}

/*
 * Reads a key; "prefetched" is a ref of it that a prefetch has left, or NULL.  Such a ref
 * may lead to what the key had at the time of the prefetch, which is whole but may be old.
 */
static void
look_up(Thread *me, uint64_t key, PlcRef *prefetched)
{
	PlcStore   *store = me->shared->store;
	PlcRef		ref;
	Value		value;

	if (prefetched == NULL ? !plc_store_find(store, hash_of(key), &key, sizeof(key), &ref)
		: !plc_store_find_prefetched(store, &key, sizeof(key), prefetched, NULL, 0))
		return;
	if (prefetched != NULL)
		ref = *prefetched;
	if (ref.value_len % RESIDUES != key % RESIDUES || ref.value_len < FIXED_LEN ||
		ref.value_len > MAX_LEN)
	{
		me->wrong_lengths++;
		return;
	}
	plc_store_touch(me->shared->store, &ref);
	if (!read_value(me, &ref, &value))
	{
		me->refused++;
		return;
	}
	me->done++;
	me->wrong_values += !value_whole(me->shared->load, key, &value, ref.value_len);
	if (prefetched != NULL)
		return;
	me->backwards += value.version < me->newest[key];
	me->newest[key] = value.version;
}

/* Readers go in batches, as the caller that we have in mind does. */
static void *
reader_main(void *arg)
{
	Thread	   *me = arg;
	PlcStore   *store = me->shared->store;
	uint64_t	keys[8];
	PlcRef		refs[8];
	bool		seen[8];
	int			i;

	while (!__atomic_load_n(&me->shared->stop, __ATOMIC_RELAXED))
	{
		for (i = 0; i < 8; i++)
		{
			keys[i] = next_random(&me->random) % me->shared->load->keys;
			plc_store_prefetch_bucket(store, hash_of(keys[i]));
		}
		for (i = 0; i < 8; i++)
			seen[i] = plc_store_prefetch_item(store, hash_of(keys[i]), &refs[i]);
		for (i = 0; i < 8; i++)
			look_up(me, keys[i], seen[i] && i % 2 == 0 ? &refs[i] : NULL);
	}
	return NULL;
}

static void
run_threads(Shared *shared, Thread *threads, int milliseconds)
{
	struct timespec duration;
	int			i;

	for (i = 0; i < WRITERS + READERS; i++)
		if (pthread_create(&threads[i].thread, NULL, i < WRITERS ? writer_main : reader_main,
						   &threads[i]) != 0)
			abort();
	duration.tv_sec = milliseconds / 1000;
	duration.tv_nsec = milliseconds % 1000 * 1000000L;
	nanosleep(&duration, NULL);
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < WRITERS + READERS; i++)
		pthread_join(threads[i].thread, NULL);
}

static void
hammer(const Load *load, uint64_t seed)
{
	Shared	   *shared = calloc(1, sizeof(Shared));
	Thread	   *threads = calloc(WRITERS + READERS, sizeof(Thread));
	Thread		sum = {0};
	uint64_t	puts = 0;
	int			i;

	shared->load = load;
	shared->store = make_store(load->size);
	plc_store_set_origin(shared->store, (UINT64_C(1) << PLC_POSITION_BITS) - 1000000);
	for (i = 0; i < MAX_SHARDS; i++)
		pthread_mutex_init(&shared->locks[i], NULL);
	for (i = 0; i < WRITERS + READERS; i++)
	{
		threads[i].shared = shared;
		threads[i].random = seed + i;
	}
	run_threads(shared, threads, load->milliseconds);

	for (i = 0; i < WRITERS; i++)
		puts += threads[i].done;
	for (i = WRITERS; i < WRITERS + READERS; i++)
	{
		sum.done += threads[i].done;
		sum.refused += threads[i].refused;
		sum.wrong_lengths += threads[i].wrong_lengths;
		sum.wrong_values += threads[i].wrong_values;
		sum.backwards += threads[i].backwards;
	}
	tap_note("%s: %llu puts, %llu values read, %llu given up before", load->name,
			 (unsigned long long) puts, (unsigned long long) sum.done,
			 (unsigned long long) sum.refused);
	tap_ok(puts > 0 && sum.done > 0, "%s: writers wrote and readers read", load->name);
	tap_is(sum.wrong_lengths, 0, "all lengths found are true");
	tap_is(sum.wrong_values, 0, "all values read are whole and of their key");
	tap_is(sum.backwards, 0, "no reader saw an older version after a newer one");
	tap_ok(counts_agree(shared->store), "the counts agree with a sweep");
	free(shared->store);
	free(shared);
	free(threads);
}

/* With long values in a small store, a copy is often overtaken half way. */
static const Load loads[] = {
	{"one shard", MB, 1000, 6000, 8, 1000},
	{"two shards", 32 * MB, 1000, 6000, 8, 1000},
	{"long values", MB, 20, MAX_LEN, 1, 1500},
};

int
main(int argc, char **argv)
{
	size_t		i;
	uint64_t	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240608;

	tap_note("seed %llu", (unsigned long long) seed);
	for (i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		hammer(&loads[i], seed + 100 * i);
	return tap_done();
}
