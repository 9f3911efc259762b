/*
 * test_store_basic.c
 *		The store with one caller and room enough: what goes in comes out.
 */
#include "store_fixture.h"
#include "tap.h"

static void
test_sizes(void)
{
	static unsigned char memory[2 * MB] __attribute__((aligned(64)));
	uint32_t	shards = 1;
	bool		powers = true;
	size_t		size;

	tap_ok(plc_store_format(memory, PLC_STORE_MIN_SIZE - 1) == NULL, "too small a block is refused");
	tap_ok(plc_store_format(memory + 8, PLC_STORE_MIN_SIZE) == NULL, "a block off its alignment is refused");
	tap_ok(plc_store_format(memory, PLC_STORE_MIN_SIZE) == (PlcStore *) memory,
		   "the least block is taken");
	tap_is(plc_store_shards_for_size(PLC_STORE_MIN_SIZE), 1, "1 MB is one shard");
	tap_is(plc_store_shards_for_size((size_t) 16 * MB - 1), 1, "less than 16 MB is one shard");
	tap_is(plc_store_shards_for_size((size_t) 16 * MB), 2, "16 MB are two shards");
	tap_is(plc_store_shards_for_size((size_t) 1024 * MB), 128, "1 GB is 128 shards");
	tap_is(plc_store_shards_for_size((size_t) 1 << 40), 128, "1 TB is 128 shards");
	for (size = PLC_STORE_MIN_SIZE; size < (size_t) 1 << 33; size += size / 7)
	{
		uint32_t	n = plc_store_shards_for_size(size);

		powers = powers && (n & (n - 1)) == 0 && n >= shards && n <= 128;
		shards = n;
	}
	tap_ok(powers, "shards are a power of two, and grow with the size");
}

/* The end of the layout must lie in the block: what lies behind stays as it was. */
static void
test_layout(void)
{
	size_t		size;
	bool		inside = true;

	for (size = PLC_STORE_MIN_SIZE; size < (size_t) 70 * MB; size += size / 3 + 1)
	{
		unsigned char *memory = NULL;
		PlcStore   *store;

		if (posix_memalign((void **) &memory, 64, size + 64) != 0)
			abort();
		memset(memory + size, 0x5a, 64);
		store = plc_store_format(memory, size);
		inside = inside && store != NULL && memory[size] == 0x5a && memory[size + 63] == 0x5a &&
			plc_store_shards(store) == plc_store_shards_for_size(size) &&
			store->ghosts_offset + plc_store_shards(store) * store->ghosts * 4 <= size &&
			store->ghosts_offset + plc_store_shards(store) * store->ghosts * 4 >
			size - plc_store_shards(store) * 1200;
		free(memory);
	}
	tap_ok(inside, "the layout fills the block but for a bucket's worth a shard");
}

static void
test_shard(void)
{
	PlcStore   *store = make_store((size_t) 128 * MB);
	uint32_t	seen = 0;
	uint64_t	state = 1;
	bool		in_range = true;
	int			i;

	for (i = 0; i < 1000; i++)
	{
		uint32_t	shard = plc_store_shard(store, next_random(&state));

		in_range = in_range && shard < plc_store_shards(store);
		seen |= UINT32_C(1) << shard;
	}
	tap_is(plc_store_shards(store), 16, "128 MB are 16 shards");
	tap_ok(in_range, "a hash belongs to one of the shards");
	tap_is(seen, 0xffff, "all shards are used");
	free(store);
}

static void
test_put_find_read(void)
{
	PlcStore   *store = make_store(MB);
	char		value[32];
	PlcRef		ref;
	PlcStoreCounts counts;

	tap_ok(!find_bytes(store, "one", 3, &ref), "an empty store has nothing");
	tap_ok(put_bytes(store, "one", 3, "first value", 11), "put");
	tap_ok(find_bytes(store, "one", 3, &ref), "find what was put");
	tap_is(ref.value_len, 11, "the ref tells the value's length");
	tap_ok(plc_store_read(store, &ref, 0, value, 11), "read");
	tap_ok(memcmp(value, "first value", 11) == 0, "the value is what was put");
	tap_ok(!find_bytes(store, "one", 2, &ref), "a prefix of the key is another key");
	tap_ok(!find_bytes(store, "one\0", 4, &ref), "a longer key is another key");
	tap_ok(!plc_store_find(store, hash_bytes("one", 3), "two", 3, &ref),
		   "equal hashes do not make keys equal");

	tap_ok(put_bytes(store, "one", 3, "other", 5), "put again");
	tap_is(get_bytes(store, "one", 3, value, sizeof(value)), 5, "the newest value is found");
	tap_ok(memcmp(value, "other", 5) == 0, "and read");
	tap_ok(put_bytes(store, "", 0, "", 0), "put an empty value under an empty key");
	tap_is(get_bytes(store, "", 0, value, sizeof(value)), 0, "and find it");

	counts = all_counts(store);
	tap_is(counts.items, 2, "two items are counted");
	tap_is(counts.bytes, (16 + 8 + 8) + 16, "with their bytes");
	tap_is(counts.inserted, 3, "and three puts");
	tap_ok(counts_agree(store), "a sweep agrees");
	free(store);
}

/* Two keys of one hash are two items, in one bucket, with one tag. */
static void
test_equal_hashes(void)
{
	PlcStore   *store = make_store(MB);
	PlcSlice	a = {"value of a", 10};
	PlcSlice	b = {"value of b", 10};
	char		value[10];
	PlcRef		ref;

	plc_store_put_locked(store, 42, "a", 1, &a, 1);
	plc_store_put_locked(store, 42, "b", 1, &b, 1);
	tap_ok(plc_store_find(store, 42, "a", 1, &ref) &&
		   plc_store_read(store, &ref, 0, value, 10) && memcmp(value, "value of a", 10) == 0,
		   "of two keys with one hash the first is found");
	tap_ok(plc_store_find(store, 42, "b", 1, &ref) &&
		   plc_store_read(store, &ref, 0, value, 10) && memcmp(value, "value of b", 10) == 0,
		   "and the second");
	tap_ok(plc_store_remove_locked(store, &ref), "the second is removed");
	tap_ok(plc_store_find(store, 42, "a", 1, &ref) && !plc_store_find(store, 42, "b", 1, &ref),
		   "and the first stays");
	tap_ok(plc_store_put_locked(store, 0, "zero", 4, &a, 1) &&
		   plc_store_find(store, 0, "zero", 4, &ref), "a hash of 0 is a hash");
	free(store);
}

static void
test_refused(void)
{
	PlcStore   *store = make_store(MB);
	static char key[PLC_STORE_MAX_KEY + 1];
	uint32_t	max = plc_store_max_value(store);
	char	   *value = malloc(max + 1);
	char	   *copy = malloc(max + 1);
	PlcSlice	halves[2];
	PlcRef		ref;

	memset(value, 'v', max + 1);
	tap_ok(max > MB / 10 && max < MB / 8, "the largest value is an eighth of the logs");
	tap_ok(put_bytes(store, key, PLC_STORE_MAX_KEY, value, max), "largest key and value are taken");
	tap_is(get_bytes(store, key, PLC_STORE_MAX_KEY, copy, max), max, "and found");
	tap_ok(memcmp(value, copy, max) == 0, "and read");
	tap_ok(!put_bytes(store, key, PLC_STORE_MAX_KEY, value, max + 1), "a byte more is refused");
	tap_ok(find_bytes(store, key, PLC_STORE_MAX_KEY, &ref) && ref.value_len == max,
		   "and changes nothing");
	tap_ok(!put_bytes(store, key, PLC_STORE_MAX_KEY + 1, "x", 1), "a longer key is refused");
	tap_ok(!find_bytes(store, key, PLC_STORE_MAX_KEY + 1, &ref), "and not found");

	halves[0].data = value;
	halves[1].data = value;
	halves[0].len = max;
	halves[1].len = UINT32_MAX - max + 2;	/* the sum would be 1 in 32 bits */
	tap_ok(!plc_store_put_locked(store, 1, "k", 1, halves, 2), "lengths are summed up in 64 bits");
	free(value);
	free(copy);
	free(store);
}

/* The key is in a block of its own, so that a sanitizer sees a byte too far. */
static bool
key_comes_back(PlcStore *store, uint32_t len)
{
	char	   *key = calloc(1, len > 0 ? len : 1);
	PlcRef		ref;
	uint32_t	value = len;
	bool		right;
	uint32_t	i;

	for (i = 0; i < len; i++)
		key[i] = (char) (i * 7 + len);
	right = put_bytes(store, key, len, &value, sizeof(value));
	right = right && get_bytes(store, key, len, &value, sizeof(value)) == 4 && value == len;
	for (i = 0; i < len && right; i++)
	{
		uint64_t	hash = hash_bytes(key, len);

		key[i] ^= 1;
		right = !plc_store_find(store, hash, key, len, &ref);
		key[i] ^= 1;
	}
	free(key);
	return right;
}

static void
test_key_lengths(void)
{
	PlcStore   *store = make_store(MB);
	bool		right = true;
	uint32_t	len;

	for (len = 0; len <= 200; len++)
		right = right && key_comes_back(store, len);
	tap_ok(right, "keys of 0 to 200 bytes are told apart by each byte");
	tap_ok(key_comes_back(store, PLC_STORE_MAX_KEY - 1) && key_comes_back(store, PLC_STORE_MAX_KEY),
		   "so are the longest keys");
	free(store);
}

/* Every slice of a value of 0 to 40 bytes, to every alignment */
static void
test_read_any_part(void)
{
	PlcStore   *store = make_store(MB);
	char		value[40];
	bool		right = true;
	PlcRef		ref;
	uint32_t	len;
	uint32_t	offset;
	uint32_t	n;

	for (len = 0; len < sizeof(value); len++)
		value[len] = (char) ('A' + len);
	for (len = 0; len <= sizeof(value); len++)
	{
		put_bytes(store, "k", 1, value, len);
		right = right && find_bytes(store, "k", 1, &ref);
		for (offset = 0; offset <= len; offset++)
		{
			for (n = 0; n <= len - offset; n++)
			{
				char	   *dst = malloc(n + n % 8 + 1);

				dst[n % 8 + n] = '!';
				right = right && plc_store_read(store, &ref, offset, dst + n % 8, n) &&
					memcmp(dst + n % 8, value + offset, n) == 0 && dst[n % 8 + n] == '!';
				free(dst);
			}
		}
		right = right && !plc_store_read(store, &ref, 0, value, len + 1) &&
			!plc_store_read(store, &ref, len + 1, value, 0) &&
			!plc_store_read(store, &ref, 1, value, UINT32_MAX);
	}
	tap_ok(right, "any part of a value is read, and no byte more");
	free(store);
}

/* A value in pieces of 0 to 12 bytes is the same as in one. */
static void
test_slices(void)
{
	PlcStore   *store = make_store(MB);
	char		value[100];
	char		copy[100];
	bool		right = true;
	uint64_t	state = 7;
	int			round;
	uint32_t	i;

	for (i = 0; i < sizeof(value); i++)
		value[i] = (char) (' ' + i);
	for (round = 0; round < 1000; round++)
	{
		PlcSlice	slices[20];
		uint32_t	len = 0;
		int			n = 0;

		for (; n < 20 && len < 80; n++)
		{
			slices[n].len = next_random(&state) % 13;
			slices[n].data = slices[n].len > 0 ? value + len : NULL;
			len += slices[n].len;
		}
		right = right &&
			plc_store_put_locked(store, hash_bytes("k", 1), "k", 1, slices, n) &&
			get_bytes(store, "k", 1, copy, sizeof(copy)) == len && memcmp(copy, value, len) == 0;
	}
	tap_ok(right, "a value put in pieces is read as one");
	tap_ok(plc_store_put_locked(store, hash_bytes("k", 1), "k", 1, NULL, 0) &&
		   get_bytes(store, "k", 1, copy, sizeof(copy)) == 0, "no piece at all is an empty value");
	free(store);
}

static void
test_remove(void)
{
	PlcStore   *store = make_store(MB);
	PlcRef		first;
	PlcRef		second;
	char		value[8];

	put_bytes(store, "k", 1, "first", 5);
	find_bytes(store, "k", 1, &first);
	put_bytes(store, "k", 1, "second", 6);
	tap_ok(!plc_store_remove_locked(store, &first), "a ref to a replaced item removes nothing");
	tap_ok(find_bytes(store, "k", 1, &second), "the new item is still there");
	tap_ok(plc_store_read(store, &first, 0, value, 5) && memcmp(value, "first", 5) == 0,
		   "the old one can be read until it is given up");
	tap_ok(plc_store_remove_locked(store, &second), "a ref to the new item removes it");
	tap_ok(!find_bytes(store, "k", 1, &second), "it is gone");
	tap_ok(!plc_store_remove_locked(store, &first) && all_counts(store).items == 0 &&
		   all_counts(store).bytes == 0, "the counts are those of an empty store");
	tap_ok(counts_agree(store), "a sweep agrees");
	free(store);
}

/* Patches a value in the store and its copy alike. */
static bool
patch_both(PlcStore *store, const PlcRef *ref, char *copy, uint32_t offset, const char *text)
{
	uint32_t	word;

	memcpy(&word, text, sizeof(word));
	memcpy(copy + offset, text, sizeof(word));
	return plc_store_patch_locked(store, ref, offset, word);
}

static void
test_patch(void)
{
	PlcStore   *store = make_store(MB);
	char		expected[24] = "aaaabbbbccccddddeeeeff";
	char		value[24];
	PlcRef		ref;

	put_bytes(store, "key", 3, expected, 22);
	find_bytes(store, "key", 3, &ref);
	tap_ok(patch_both(store, &ref, expected, 4, "1234") &&
		   patch_both(store, &ref, expected, 8, "5678") &&
		   patch_both(store, &ref, expected, 16, "9012"), "patch");
	tap_ok(get_bytes(store, "key", 3, value, 24) == 22 && memcmp(value, expected, 22) == 0,
		   "a patch changes its word and nothing else");
	tap_ok(!plc_store_patch_locked(store, &ref, 2, 0), "an odd place is refused");
	tap_ok(!plc_store_patch_locked(store, &ref, 20, 0), "a word beyond the end is refused");
	tap_ok(!plc_store_patch_locked(store, &ref, UINT32_MAX - 3, 0), "so is one far beyond");
	free(store);
}

/* Each process may have the block at another address. */
static void
test_moved(void)
{
	PlcStore   *here = make_store(MB);
	PlcStore   *there = make_store(MB);
	char		value[5];

	put_bytes(here, "k", 1, "value", 5);
	memcpy(there, here, MB);
	memset(here, 0, MB);
	free(here);
	tap_ok(get_bytes(there, "k", 1, value, 5) == 5 && memcmp(value, "value", 5) == 0,
		   "a store can be moved");
	tap_ok(put_bytes(there, "l", 1, "other", 5) && get_bytes(there, "l", 1, value, 5) == 5,
		   "and used where it is then");
	free(there);
}

static void
test_prefetch(void)
{
	PlcStore   *store = make_store(MB);
	PlcRef		ref;
	char		value[8];
	char		head[16];

	put_bytes(store, "k", 1, "value", 5);
	plc_store_prefetch_bucket(store, hash_bytes("k", 1));
	tap_ok(plc_store_prefetch_item(store, hash_bytes("k", 1), &ref) &&
		   plc_store_find_prefetched(store, "k", 1, &ref, head, 0) &&
		   ref.value_len == 5 && plc_store_read(store, &ref, 0, value, 5) &&
		   memcmp(value, "value", 5) == 0, "what was prefetched is found");
	tap_ok(plc_store_prefetch_item(store, hash_bytes("k", 1), &ref) &&
		   !plc_store_find_prefetched(store, "l", 1, &ref, head, 0), "another key with that hash is not");
	plc_store_prefetch_bucket(store, hash_bytes("absent", 6));
	tap_ok(!plc_store_prefetch_item(store, hash_bytes("absent", 6), &ref),
		   "what is absent is known to be");
	tap_ok(plc_store_prefetch_item(store, hash_bytes("k", 1), &ref) &&
		   put_bytes(store, "k", 1, "other", 5) &&
		   plc_store_find_prefetched(store, "k", 1, &ref, head, 0) &&
		   plc_store_read(store, &ref, 0, value, 5) &&
		   memcmp(value, "value", 5) == 0, "what was replaced meanwhile may be found as it was");
	put_bytes(store, "m", 1, "0123456789abcdefrest", 20);
	tap_ok(plc_store_prefetch_item(store, hash_bytes("m", 1), &ref) &&
		   plc_store_find_prefetched(store, "m", 1, &ref, head, sizeof(head)) &&
		   memcmp(head, "0123456789abcdef", sizeof(head)) == 0, "with its head, if that is wanted");
	tap_ok(plc_store_prefetch_item(store, hash_bytes("k", 1), &ref) &&
		   !plc_store_find_prefetched(store, "k", 1, &ref, head, sizeof(head)),
		   "what is shorter than a head has none");
	tap_ok(all_counts(store).items == 2, "prefetching changes nothing");
	free(store);
}

int
main(void)
{
	test_sizes();
	test_layout();
	test_shard();
	test_put_find_read();
	test_equal_hashes();
	test_refused();
	test_key_lengths();
	test_read_any_part();
	test_slices();
	test_remove();
	test_patch();
	test_moved();
	test_prefetch();
	return tap_done();
}
