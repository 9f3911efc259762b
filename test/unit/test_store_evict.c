/*
 * test_store_evict.c
 *		Who stays and who leaves when the store is full.
 */
#include "store_fixture.h"
#include "tap.h"

#define VALUE_BYTES	200
#define ITEM_BYTES	(16 + 8 + 200)	/* a multiple of 16 */

static const char value[VALUE_BYTES];

static void
put_range(PlcStore *store, uint64_t first, uint64_t n)
{
	uint64_t	i;

	for (i = 0; i < n; i++)
		put_number(store, first + i, value, VALUE_BYTES);
}

static uint64_t
count_range(const PlcStore *store, uint64_t first, uint64_t n)
{
	uint64_t	found = 0;
	uint64_t	i;

	for (i = 0; i < n; i++)
		found += has_number(store, first + i);
	return found;
}

static void
touch_range(PlcStore *store, uint64_t first, uint64_t n)
{
	uint64_t	i;

	for (i = 0; i < n; i++)
		touch_number(store, first + i);
}

static uint64_t
log_items(const PlcStore *store, int log)
{
	return store->shards[0].logs[log].units * PLC_UNIT_BYTES / ITEM_BYTES;
}

/* A store whose main log is full, of items that nobody has used. */
static PlcStore *
make_full_store(void)
{
	PlcStore   *store = make_store(MB);

	put_range(store, UINT64_C(1) << 40, 2 * (log_items(store, PLC_SMALL) + log_items(store, PLC_MAIN)));
	return store;
}

/*
 * Keys that are put once and never asked for again, as many as fit: there is
 * nobody who would need the room more, so nearly all are kept.
 */
static void
test_fill(void)
{
	PlcStore   *store = make_store(MB);
	uint64_t	fits = log_items(store, PLC_SMALL) + log_items(store, PLC_MAIN);

	put_range(store, 0, fits);
	tap_ok(count_range(store, 0, fits) > fits * 9 / 10, "an empty store fills up");
	free(store);
}

/*
 * 300 hot keys and a scan of 20000 others, five times as many as fit.  A plain
 * FIFO keeps the last that came; a hot key would be found in it only if it came
 * among those.
 */
static void
test_scan(void)
{
	PlcStore   *store = make_full_store();
	PlcStoreCounts before = all_counts(store);
	uint64_t	fits = log_items(store, PLC_SMALL) + log_items(store, PLC_MAIN);
	uint64_t	hits = 0;
	uint64_t	asked = 0;
	uint64_t	i;

	put_range(store, 0, 300);
	touch_range(store, 0, 300);
	for (i = 0; i < 20000; i++)
	{
		put_range(store, 1000 + i, 1);
		if (i % 10 == 0)
		{
			hits += touch_number(store, i / 10 % 300);
			asked++;
		}
	}
	tap_note("%llu items fit, the scan had 20000; %llu of %llu asked were there, %llu were promoted, %llu displaced",
			 (unsigned long long) fits, (unsigned long long) hits, (unsigned long long) asked,
			 (unsigned long long) (all_counts(store).promoted - before.promoted),
			 (unsigned long long) (all_counts(store).displaced - before.displaced));
	tap_ok(fits < 10000, "the scan is longer than what fits");
	tap_ok(count_range(store, 0, 300) >= 288, "hot keys survive the scan, but for a few in full buckets");
	tap_ok(hits >= asked * 96 / 100, "and were there all the time");
	tap_ok(all_counts(store).promoted - before.promoted <=
		   300 + all_counts(store).displaced - before.displaced,
		   "nothing else was promoted, but for the room of displaced items");
	tap_ok(counts_agree(store), "the counts agree with a sweep");
	free(store);
}

/* An item that nobody used goes when the small log has gone round. */
static void
test_one_hit_wonders(void)
{
	PlcStore   *store = make_full_store();
	PlcStoreCounts before = all_counts(store);
	uint64_t	small = log_items(store, PLC_SMALL);

	put_range(store, 0, small);
	tap_ok(count_range(store, 0, small) + all_counts(store).displaced - before.displaced >= small,
		   "what fits in the small log is there");
	put_range(store, small, small);
	tap_ok(count_range(store, 0, small) <= all_counts(store).displaced - before.displaced,
		   "and gone after as many more, but for the room of displaced items");
	free(store);
}

/* How many numbers of a range are in the main log */
static uint64_t
count_main(const PlcStore *store, uint64_t first, uint64_t n)
{
	uint64_t	found = 0;
	uint64_t	i;
	PlcRef		ref;

	for (i = 0; i < n; i++)
		found += find_number(store, first + i, &ref) && ref.main_log;
	return found;
}

/* A ghost's place may be taken by another, so of 100 some are forgotten. */
static void
test_ghost(void)
{
	PlcStore   *store = make_full_store();
	uint64_t	small = log_items(store, PLC_SMALL);
	uint64_t	returned;
	uint64_t	i;
	PlcRef		ref;

	put_range(store, 0, 2 * small);
	tap_is(count_range(store, 0, 100), 0, "a hundred items left the small log unused");
	put_range(store, 0, 100);
	returned = count_main(store, 0, 100);
	tap_note("%llu went to the main log when they returned", (unsigned long long) returned);
	tap_ok(returned >= 85 && returned < 100, "most of them go to the main log on their return");
	tap_is(all_counts(store).returned, returned, "and are counted as returned");
	put_range(store, 100000, 100);
	tap_is(count_main(store, 100000, 100), 0, "others go to the small log");
	put_range(store, 200000, 4 * small);
	tap_ok(count_main(store, 0, 100) >= returned * 9 / 10, "those that returned outlive the small log");

	for (i = 0; i < 100; i++)
		if (find_number(store, i, &ref))
			plc_store_remove_locked(store, &ref);
	put_range(store, 0, 100);
	tap_ok(count_main(store, 0, 100) < 15, "a ghost is good for one return");
	free(store);
}

/* For how many rounds of the main log an item is found that was used before them */
static uint64_t
rounds_survived(int uses)
{
	PlcStore   *store = make_store(MB);
	const PlcLog *log = &store->shards[0].logs[PLC_MAIN];
	static char big[20000];		/* too big for the small log */
	uint64_t	number = 1;
	uint64_t	rounds;
	int			i;

	put_number(store, 0, big, sizeof(big));
	for (i = 0; i < uses; i++)
		touch_number(store, 0);
	while (has_number(store, 0))
		put_number(store, number++, big, sizeof(big));
	rounds = log->head / log->units;
	free(store);
	return rounds;
}

static void
test_main_rounds(void)
{
	tap_is(rounds_survived(0), 1, "in the main log an unused item lasts one round");
	tap_is(rounds_survived(1), 2, "one use is worth one more");
	tap_is(rounds_survived(2), 3, "two uses two");
	tap_is(rounds_survived(3), 4, "three uses three");
	tap_is(rounds_survived(100), 4, "and a hundred no more than three");
}

/* When all items are hot, a put must neither go on for ever nor fail. */
static void
test_all_hot(void)
{
	PlcStore   *store = make_store(MB);
	const PlcLog *log = &store->shards[0].logs[PLC_MAIN];
	uint64_t	most = 0;
	uint64_t	number;

	for (number = 0; number < 6000; number++)
	{
		uint64_t	tail = log->tail;

		put_range(store, number, 1);
		most = log->tail - tail > most ? log->tail - tail : most;
		touch_range(store, number > 5000 ? number - 5000 : 0, 5001);
	}
	tap_note("a put passed at most %llu items", (unsigned long long) most * 16 / ITEM_BYTES);
	tap_ok(most * 16 / ITEM_BYTES >= 16, "hot items are appended again");
	tap_ok(most * 16 / ITEM_BYTES <= 40, "but not too many by one put");
	tap_ok(all_counts(store).evicted > 0, "then they leave though they are hot");
	tap_ok(counts_agree(store), "the counts agree with a sweep");
	free(store);
}

static void
test_replacement(void)
{
	PlcStore   *store = make_store(MB);
	uint64_t	small = log_items(store, PLC_SMALL);
	PlcRef		ref;

	put_range(store, 0, 1);
	touch_number(store, 0);
	put_range(store, 0, 1);
	tap_ok(find_number(store, 0, &ref) && !ref.main_log, "a replacement stays in the small log");
	put_range(store, 1000, 2 * small);
	tap_ok(find_number(store, 0, &ref) && ref.main_log, "with the uses of what it replaced");
	put_range(store, 0, 1);
	tap_ok(find_number(store, 0, &ref) && ref.main_log, "a replacement stays in the main log");
	tap_ok(counts_agree(store), "the counts agree with a sweep");
	free(store);
}

/* The item to be replaced is the first that its own replacement pushes out. */
static void
replace_at_tail(int uses)
{
	PlcStore   *store = make_store(MB);
	const PlcLog *log = &store->shards[0].logs[PLC_SMALL];
	PlcRef		ref;
	uint64_t	number;
	char		read[VALUE_BYTES];

	put_range(store, 0, 1);
	for (number = 1; plc_log_free_locked(log) >= ITEM_BYTES / PLC_UNIT_BYTES; number++)
		put_range(store, number, 1);
	while (uses-- > 0)
		touch_number(store, 0);
	put_number(store, 0, "new", 3);
	tap_ok(find_number(store, 0, &ref) && ref.value_len == 3 &&
		   plc_store_read(store, &ref, 0, read, 3) && memcmp(read, "new", 3) == 0,
		   "the new value is found");
	plc_store_remove_locked(store, &ref);
	tap_ok(!has_number(store, 0), "and it is the only one of its key");
	tap_ok(counts_agree(store), "the counts agree with a sweep");
	free(store);
}

/* More keys of one bucket than it has slots */
static void
test_full_bucket(void)
{
	PlcStore   *store = make_store(MB);
	PlcSlice	slice = {"v", 1};
	PlcRef		ref;
	bool		newest = true;
	uint64_t	found = 0;
	char		key;

	for (key = 'a'; key < 'h'; key++)
		plc_store_put_locked(store, 99, &key, 1, &slice, 1);
	for (key = 'a'; key < 'h'; key++)
		found += plc_store_find(store, 99, &key, 1, &ref);
	tap_is(found, 7, "a bucket has 7 slots");
	tap_is(all_counts(store).displaced, 0, "and no item gave way");
	for (key = 'b'; key < 'h'; key++)
		if (key != 'd' && plc_store_find(store, 99, &key, 1, &ref))
			plc_store_touch(store, &ref);
	plc_store_find(store, 99, "a", 1, &ref);
	plc_store_touch(store, &ref);
	plc_store_put_locked(store, 99, "h", 1, &slice, 1);
	tap_ok(!plc_store_find(store, 99, "d", 1, &ref), "the least used gives way to an eighth");
	tap_is(all_counts(store).displaced, 1, "and is counted");
	tap_is(all_counts(store).items, 7, "7 items are left");

	for (key = 'i'; key < 'z'; key++)
		newest = newest && plc_store_put_locked(store, 99, &key, 1, &slice, 1) &&
			plc_store_find(store, 99, &key, 1, &ref);
	tap_ok(newest, "the newest is found each time");
	tap_ok(counts_agree(store), "the counts agree with a sweep");
	free(store);
}

/* Large items do not push out what is on trial in the small log. */
static void
test_large(void)
{
	PlcStore   *store = make_store(MB);
	static char large[40000];
	uint32_t	limit;
	PlcRef		ref;
	uint64_t	number;

	put_range(store, 0, 100);
	for (number = 1000; number < 1100; number++)
		put_number(store, number, large, sizeof(large));
	tap_ok(find_number(store, 1099, &ref) && ref.main_log, "a large item is in the main log");
	tap_is(count_range(store, 0, 100), 100, "the small log is as it was");

	put_number(store, 0, large, sizeof(large));
	tap_ok(find_number(store, 0, &ref) && ref.main_log, "so is one that was small before");

	limit = store->shards[0].logs[PLC_SMALL].units / 8 * PLC_UNIT_BYTES - 16 - 8;
	put_number(store, 1, large, limit);
	tap_ok(find_number(store, 1, &ref) && !ref.main_log, "an eighth of the small log is not large");
	put_number(store, 2000, large, limit + 1);
	tap_ok(find_number(store, 2000, &ref) && ref.main_log, "a byte more is");
	tap_ok(counts_agree(store), "the counts agree with a sweep");
	free(store);
}

static void
test_touch(void)
{
	PlcStore   *store = make_store(MB);
	PlcBucket  *bucket;
	PlcRef		ref;
	int			i;

	put_range(store, 7, 1);
	find_number(store, 7, &ref);
	bucket = plc_hash_bucket(store, ref.hash);
	for (i = 0; i < 10; i++)
		plc_store_touch(store, &ref);
	tap_is(bucket->uses[ref.slot], 3, "uses saturate at 3");
	plc_store_remove_locked(store, &ref);
	put_range(store, 7, 1);
	tap_is(bucket->uses[ref.slot], 0, "a new item starts at 0");
	plc_store_touch(store, &ref);
	tap_is(bucket->uses[ref.slot], 0, "an old ref does not count for it");
	free(store);
}

int
main(void)
{
	test_fill();
	test_scan();
	test_one_hit_wonders();
	test_ghost();
	test_main_rounds();
	test_all_hot();
	test_replacement();
	replace_at_tail(0);
	replace_at_tail(1);
	test_full_bucket();
	test_large();
	test_touch();
	return tap_done();
}
