/*
 * test_store_sweep.c
 *		Sweeps: every item is visited once, and leaves if the visitor says so.
 */
#include "store_fixture.h"
#include "tap.h"

#define KEYS	3000

/* A key: a table's number, then the row's. */
typedef struct Key
{
	uint32_t	table;
	uint32_t	row;
	char		rest[100];
} Key;

typedef struct Visit
{
	uint32_t	table;			/* whose items are to leave */
	uint32_t	prefix;			/* bytes of the key that we asked for */
	uint64_t	visits;
	uint64_t	bytes;
	bool		right;
	unsigned char seen[KEYS];
} Visit;

static void
make_key(uint32_t number, Key *key)
{
	memset(key, 0, sizeof(*key));
	key->table = number % 3;
	key->row = number;
	memset(key->rest, 'r', number % 100);
}

static uint32_t
key_len(uint32_t number)
{
	return 8 + number % 100;
}

static bool
visit(const void *key, uint32_t len, uint32_t item_bytes, void *arg)
{
	Visit	   *visit = arg;
	Key			expected;
	uint32_t	table;
	uint32_t	row;

	memcpy(&table, key, 4);
	memcpy(&row, (const char *) key + 4, 4);
	visit->visits++;
	visit->bytes += item_bytes;
	if (row >= KEYS)
	{
		visit->right = false;
		return false;
	}
	visit->seen[row]++;
	make_key(row, &expected);
	visit->right = visit->right && len == key_len(row) &&
		memcmp(key, &expected, len < visit->prefix ? len : visit->prefix) == 0;
	return table == visit->table;
}

static void
sweep_all(PlcStore *store, Visit *visit_arg, uint32_t prefix, uint32_t table, uint64_t *removed)
{
	uint32_t	i;

	memset(visit_arg, 0, sizeof(*visit_arg));
	visit_arg->right = true;
	visit_arg->prefix = prefix < 64 ? prefix : 64;
	visit_arg->table = table;
	*removed = 0;
	for (i = 0; i < plc_store_shards(store); i++)
		*removed += plc_store_sweep_locked(store, i, visit, prefix, visit_arg);
}

static void
put_all(PlcStore *store)
{
	uint32_t	number;
	Key			key;

	for (number = 0; number < KEYS; number++)
	{
		make_key(number, &key);
		put_bytes(store, &key, key_len(number), &number, sizeof(number));
	}
}

static uint64_t
seen_twice(const Visit *seen)
{
	uint64_t	n = 0;
	uint32_t	i;

	for (i = 0; i < KEYS; i++)
		n += seen->seen[i] > 1;
	return n;
}

static void
test_sweep(PlcStore *store)
{
	static Visit seen;
	uint64_t	removed;
	uint64_t	items;
	uint32_t	number;
	bool		gone = true;
	uint64_t	left = 0;
	Key			key;
	PlcRef		ref;

	put_all(store);
	items = all_counts(store).items;
	tap_ok(items > KEYS * 9 / 10, "most of the keys have a place");

	sweep_all(store, &seen, 1000, UINT32_MAX, &removed);
	tap_is(seen.visits, items, "each item is visited");
	tap_is(seen_twice(&seen), 0, "no key is visited twice");
	tap_is(seen.bytes, all_counts(store).bytes, "the bytes add up");
	tap_ok(seen.right, "64 bytes of the key are given, and its length");
	tap_is(removed, 0, "nothing leaves unless the visitor says so");

	sweep_all(store, &seen, 13, 1, &removed);
	tap_ok(seen.right, "a shorter part of the key is given");
	for (number = 0; number < KEYS; number++)
	{
		bool		found;

		make_key(number, &key);
		found = find_bytes(store, &key, key_len(number), &ref);
		gone = gone && !(found && key.table == 1);
		left += found;
	}
	tap_ok(gone, "one table's items leave");
	tap_is(left, items - removed, "the others stay");
	tap_is(all_counts(store).items, left, "and are counted");
	tap_ok(counts_agree(store), "the bytes agree too");

	put_all(store);
	tap_is(all_counts(store).items > items * 9 / 10, true, "their place is used again");
	for (number = 0; number < 3; number++)
		sweep_all(store, &seen, 8, number, &removed);
	tap_is(all_counts(store).items, 0, "a store can be emptied");
	tap_is(all_counts(store).bytes, 0, "to the last byte");
}

int
main(void)
{
	PlcStore   *one = make_store(16 * MB);
	PlcStore   *four = make_store(64 * MB);

	tap_is(plc_store_shards(four), 4, "64 MB are four shards");
	test_sweep(one);
	test_sweep(four);
	free(one);
	free(four);
	return tap_done();
}
