/*
 * test_store_model.c
 *		The store against a plain array, under random work.
 *
 * A cache may forget, but it never lies: whatever is found is the newest value
 * of its key, to the byte.  Right after a put its key is found.  The seed is
 * printed; give it as the argument to repeat a run.
 */
#include "store_fixture.h"
#include "tap.h"

#define KEYS		6000
#define MAX_LEN		200000

typedef struct Model
{
	PlcStore   *store;
	uint64_t	random;
	uint32_t	largest;		/* of values, in bytes */
	bool		right;
	uint64_t	hits;
	uint64_t	misses;
	uint64_t	versions[KEYS]; /* 0: never put, or removed */
	uint32_t	lengths[KEYS];
	uint32_t	hints[KEYS];	/* the word at offset 8 of a value that has one */
} Model;

static unsigned char value[MAX_LEN];
static unsigned char expected[MAX_LEN];

static void
make_value(const Model *model, uint64_t key, unsigned char *dst)
{
	uint64_t	word = mix(model->versions[key] * KEYS + key);
	uint32_t	len = model->lengths[key];
	uint32_t	i;

	for (i = 0; i < len; i++)
		dst[i] = (unsigned char) ((word + i * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
	if (len >= 12)
		memcpy(dst + 8, &model->hints[key], 4);
}

/* Keys are 0 to 40 bytes longer than their number, so that they have all lengths. */
static uint32_t
make_key(uint64_t number, unsigned char *key)
{
	uint32_t	more = number % 41;

	memcpy(key, &number, 8);
	memset(key + 8, (int) number, more);
	return 8 + more;
}

static bool
look_up(Model *model, uint64_t number, PlcRef *ref)
{
	unsigned char key[48];
	uint32_t	len = make_key(number, key);
	uint32_t	from;

	if (!find_bytes(model->store, key, len, ref))
		return false;
	make_value(model, number, expected);
	model->right = model->right && model->versions[number] != 0 &&
		ref->value_len == model->lengths[number];
	if (!model->right)
		return false;
	from = next_random(&model->random) % (ref->value_len + 1);
	model->right = plc_store_read(model->store, ref, 0, value, ref->value_len) &&
		memcmp(value, expected, ref->value_len) == 0 &&
		plc_store_read(model->store, ref, from, value, ref->value_len - from) &&
		memcmp(value, expected + from, ref->value_len - from) == 0;
	return model->right;
}

/* Most values are short; one in 200 may have any length. */
static uint32_t
choose_length(Model *model)
{
	uint64_t	r = next_random(&model->random);

	if (r % 200 == 0)
		return (r >> 8) % (model->largest + 1);
	return (r >> 8) % 1000;
}

static void
put(Model *model, uint64_t number)
{
	unsigned char key[48];
	uint32_t	key_len = make_key(number, key);
	uint32_t	cut;
	PlcSlice	slices[2];
	PlcRef		ref;

	model->versions[number] = next_random(&model->random) | 1;
	model->lengths[number] = choose_length(model);
	model->hints[number] = (uint32_t) next_random(&model->random);
	make_value(model, number, value);
	cut = next_random(&model->random) % (model->lengths[number] + 1);
	slices[0].data = value;
	slices[0].len = cut;
	slices[1].data = value + cut;
	slices[1].len = model->lengths[number] - cut;
	model->right = model->right &&
		plc_store_put_locked(model->store, hash_bytes(key, key_len), key, key_len, slices, 2) &&
		look_up(model, number, &ref);
}

static void
get(Model *model, uint64_t number)
{
	PlcRef		ref;

	if (look_up(model, number, &ref))
	{
		model->hits++;
		plc_store_touch(model->store, &ref);
	}
	else
		model->misses++;
}

static void
patch(Model *model, uint64_t number)
{
	PlcRef		ref;

	if (!look_up(model, number, &ref) || ref.value_len < 12)
		return;
	model->hints[number] = (uint32_t) next_random(&model->random);
	model->right = plc_store_patch_locked(model->store, &ref, 8, model->hints[number]) &&
		look_up(model, number, &ref);
}

static void
take_out(Model *model, uint64_t number)
{
	PlcRef		ref;

	if (!look_up(model, number, &ref))
		return;
	model->right = plc_store_remove_locked(model->store, &ref);
	model->versions[number] = 0;
	model->right = model->right && !look_up(model, number, &ref);
}

/* Small numbers are much more frequent than large ones. */
static uint64_t
choose_key(Model *model)
{
	uint64_t	r = next_random(&model->random);

	return (r & 0xffffffff) % KEYS * ((r >> 32) % KEYS) / KEYS;
}

static void
run(const char *name, size_t size, uint64_t origin, uint64_t seed, int steps)
{
	static Model model;
	PlcStoreCounts counts;
	bool		agree = true;
	int			i;

	memset(&model, 0, sizeof(model));
	model.store = make_store(size);
	model.random = seed;
	model.largest = plc_store_max_value(model.store) < MAX_LEN ?
		plc_store_max_value(model.store) : MAX_LEN;
	plc_store_set_origin(model.store, origin);
	model.right = true;
	for (i = 0; i < steps && model.right; i++)
	{
		uint64_t	what = next_random(&model.random) % 100;

		if (what < 30)
			put(&model, choose_key(&model));
		else if (what < 90)
			get(&model, choose_key(&model));
		else if (what < 95)
			patch(&model, choose_key(&model));
		else
			take_out(&model, choose_key(&model));
		if (i % 5000 == 0)
			agree = agree && counts_agree(model.store);
	}
	counts = all_counts(model.store);
	tap_note("%s: %d steps, %llu hits, %llu misses", name, i, (unsigned long long) model.hits,
			 (unsigned long long) model.misses);
	tap_note("items %llu, evicted %llu, displaced %llu, promoted %llu, returned %llu",
			 (unsigned long long) counts.items, (unsigned long long) counts.evicted,
			 (unsigned long long) counts.displaced, (unsigned long long) counts.promoted,
			 (unsigned long long) counts.returned);
	tap_ok(model.right && i == steps, "%s: what is found is the newest value", name);
	tap_ok(agree && counts_agree(model.store), "%s: the counts agree with sweeps", name);
	tap_ok(model.hits > 10000 && model.misses > 10000, "%s: both hits and misses occur", name);
	free(model.store);
}

int
main(int argc, char **argv)
{
	uint64_t	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240607;

	tap_note("seed %llu", (unsigned long long) seed);
	run("1 MB", MB, 0, seed, 150000);
	run("1 MB over a wrap", MB, (UINT64_C(1) << PLC_POSITION_BITS) - 100000, seed + 1, 150000);
	run("2 shards", 32 * MB, 0, seed + 2, 150000);
	return tap_done();
}
