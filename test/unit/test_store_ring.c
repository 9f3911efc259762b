/*
 * test_store_ring.c
 *		Items that wrap around the end of a ring, and positions that wrap around
 *		the end of what a slot can keep.
 */
#include "store_fixture.h"
#include "tap.h"

#define MAX_VALUE	60000

/* The value of a number: its length and its bytes follow from it. */
static uint32_t
make_value(uint64_t number, uint32_t least, uint32_t spread, unsigned char *value)
{
	uint32_t	len = least + mix(number) % spread;
	uint32_t	i;

	for (i = 0; i < len; i++)
		value[i] = (unsigned char) (number * 31 + i * 7);
	return len;
}

/* Whether the number's value is right; *found counts those that are there. */
static bool
value_right(const PlcStore *store, uint64_t number, uint32_t least, uint32_t spread, int *found)
{
	static unsigned char expected[MAX_VALUE];
	static unsigned char value[MAX_VALUE];
	uint32_t	len = make_value(number, least, spread, expected);
	int64_t		got = get_bytes(store, &number, sizeof(number), value, sizeof(value));

	if (got < 0)
		return true;
	(*found)++;
	return got == len && memcmp(value, expected, len) == 0;
}

/*
 * Puts values of ever different lengths until the log has gone round some ten
 * times; the last 20 must be there and right each time, since they fit.
 */
static void
go_round(const char *name, uint64_t origin, uint32_t least, uint32_t spread)
{
	PlcStore   *store = make_store(MB);
	unsigned char value[MAX_VALUE];
	uint64_t	bytes = 0;
	uint64_t	number;
	bool		right = true;
	int			missing = 0;

	plc_store_set_origin(store, origin);
	for (number = 0; bytes < 10 * MB; number++)
	{
		uint32_t	len = make_value(number, least, spread, value);
		uint64_t	back;
		int			found = 0;

		right = right && put_number(store, number, value, len);
		bytes += len;
		for (back = 0; back < 20 && back <= number; back++)
			right = right && value_right(store, number - back, least, spread, &found);
		missing += (number < 19 ? (int) number + 1 : 20) - found;
	}
	tap_ok(right, "%s: all values found are right", name);
	/* items of one hash are rare and nothing else may be lost so soon */
	tap_ok(missing <= 20, "%s: the last 20 are found", name);
	tap_ok(counts_agree(store), "%s: the counts agree with a sweep", name);
	free(store);
}

/* In the small log values are short, in the main log they are long. */
static void
go_round_both(const char *name, uint64_t origin)
{
	char		full_name[100];

	snprintf(full_name, sizeof(full_name), "small log from %s", name);
	go_round(full_name, origin, 0, 2000);
	snprintf(full_name, sizeof(full_name), "main log from %s", name);
	go_round(full_name, origin, 12000, 20000);
}

/*
 * The 47 bits of a position are all 0 at a wrap.  With a tag of 0 in the small
 * log that slot's word would be 0, were it not for its "used" bit.
 */
static void
test_zero_slot(void)
{
	PlcStore   *store = make_store(MB);
	PlcSlice	slice = {"value", 5};
	PlcRef		ref;

	plc_store_set_origin(store, UINT64_C(1) << PLC_POSITION_BITS);
	tap_ok(plc_store_put_locked(store, 0, "key", 3, &slice, 1) &&
		   plc_store_find(store, 0, "key", 3, &ref), "an item with nothing but zeros is found");
	tap_is(ref.position, 1LL << PLC_POSITION_BITS, "its position is that of the wrap");
	tap_ok(plc_store_remove_locked(store, &ref) && all_counts(store).items == 0, "and removed");
	free(store);
}

/* What a slow reader holds: a ref whose item was given up long ago. */
static void
test_old_ref(void)
{
	PlcStore   *store = make_store(MB);
	char		value[1000];
	PlcRef		ref;
	uint64_t	number;
	bool		gone = true;

	memset(value, 'x', sizeof(value));
	plc_store_set_origin(store, (UINT64_C(1) << PLC_POSITION_BITS) - 1000);
	put_number(store, 1, value, sizeof(value));
	find_number(store, 1, &ref);
	tap_ok(plc_store_read(store, &ref, 0, value, sizeof(value)), "a new ref is good");
	for (number = 2; number < 20000; number++)
	{
		put_number(store, number, value, sizeof(value));
		if (number < 300)
			continue;
		gone = gone && !plc_store_read(store, &ref, 0, value, sizeof(value)) &&
			!plc_store_patch_locked(store, &ref, 0, 0) && !plc_store_remove_locked(store, &ref);
		plc_store_touch(store, &ref);
	}
	tap_ok(gone, "an old ref says \"gone\", however often the log went round since");
	free(store);
}

/*
 * A reader that loaded a slot just before its item was given up: the slot and
 * the bytes are as they were, only the tail has moved.
 */
static void
test_given_up(void)
{
	PlcStore   *store = make_store(MB);
	char		value[5];
	PlcRef		ref;
	PlcRef		again;

	put_number(store, 1, "value", 5);
	tap_ok(find_number(store, 1, &ref) && plc_store_read(store, &ref, 0, value, 5),
		   "an item is found and read");
	plc_log_give_up_locked(&store->shards[0].logs[PLC_SMALL], plc_item_units(&ref));
	tap_ok(!find_number(store, 1, &again), "it is not found when the tail is past it");
	tap_ok(!plc_store_read(store, &ref, 0, value, 5), "nor read");
	tap_ok(!plc_store_patch_locked(store, &ref, 0, 0), "nor patched");
	free(store);
}

/*
 * Whatever a reader sees, it stays inside the rings.  All slots have the label
 * of the hash, any log and any position; every unit looks like a header of the
 * key, with any length.
 */
static void
test_garbage(void)
{
	PlcStore   *store = make_store(MB);
	PlcBucket  *buckets = (PlcBucket *) ((char *) store + store->buckets_offset);
	uint64_t   *ring = plc_log_ring(&store->shards[0].logs[PLC_SMALL]);
	uint64_t	ring_words = 2 * (store->shards[0].logs[PLC_SMALL].units +
								  store->shards[0].logs[PLC_MAIN].units);
	static char key[PLC_STORE_MAX_KEY];
	char		head[24];
	uint64_t	state = 11;
	uint64_t	i;
	PlcRef		ref;

	for (i = 0; i < ring_words; i += 2)
	{
		ring[i] = 0;
		ring[i + 1] = (uint32_t) next_random(&state) | (uint64_t) PLC_STORE_MAX_KEY << 32 |
			(uint64_t) PLC_ITEM_MAGIC << 48;
	}
	for (i = 0; i < 100000; i++)
	{
		int			slot;

		plc_store_set_origin(store, next_random(&state));
		for (slot = 0; slot < PLC_BUCKET_SLOTS; slot++)
			buckets[0].slots[slot] = plc_slot_label(0) << 48 | next_random(&state) >> 16;
		if (plc_store_prefetch_item(store, 0, &ref))
			plc_store_find_prefetched(store, key, sizeof(key), &ref, head, sizeof(head));
		plc_store_find(store, 0, key, sizeof(key), &ref);
	}
	tap_ok(true, "garbage is looked at without harm");
	free(store);
}

int
main(void)
{
	go_round_both("0", 0);
	go_round_both("the middle of 47 bits", (UINT64_C(1) << 46) - 1000);
	go_round_both("the end of 47 bits", (UINT64_C(1) << 47) - 1000);
	go_round_both("the end of 64 bits", UINT64_MAX - 1000);
	test_zero_slot();
	test_old_ref();
	test_given_up();
	test_garbage();
	return tap_done();
}
