/*
 * test_store_overtaken.c
 *		A reader overtaken by writers half way, a writer looked at half way.
 *
 * Threads meet at such moments by chance only.  Here the meeting is arranged:
 * the memory that a function copies from or to begins on one page and goes on
 * on the next, which is inaccessible.  So in the middle of its work comes a
 * signal, and its handler makes the page accessible and does what the others
 * would do.  All in one thread, the same way each time.
 */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store_fixture.h"
#include "tap.h"

#define ITEMS		400
#define LONG_KEY	2000
#define VALUE_BYTES	5000

static PlcStore *store;

static unsigned char *pages;	/* two of them, the second closed by close_page */
static size_t page_size;
static void (*meanwhile) (void);
static int	meetings;

static void
open_page(int signal_number, siginfo_t *info, void *context)
{
	unsigned char *address = info->si_addr;

	(void) signal_number;
	(void) context;
	if (address < pages + page_size || address >= pages + 2 * page_size)
		abort();
	mprotect(pages + page_size, page_size, PROT_READ | PROT_WRITE);
	meetings++;
	meanwhile();
}

static void
set_up(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = open_page;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	page_size = (size_t) sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		abort();
}

/* From now on whoever passes the middle of the two pages lets others do this. */
static void
close_page(void (*others) (void))
{
	meanwhile = others;
	meetings = 0;
	mprotect(pages + page_size, page_size, PROT_NONE);
}

static void
fill(unsigned char *value, uint64_t number)
{
	uint32_t	i;

	for (i = 0; i < VALUE_BYTES; i++)
		value[i] = (unsigned char) (mix(number + 1) + i * 3);
}

static void
put_filled(uint64_t number)
{
	unsigned char value[VALUE_BYTES];

	fill(value, number);
	put_number(store, number, value, VALUE_BYTES);
}

static bool
is_filled(const unsigned char *value, uint64_t number)
{
	unsigned char expected[VALUE_BYTES];

	fill(expected, number);
	return memcmp(value, expected, VALUE_BYTES) == 0;
}

/* What others do meanwhile */

static void
nothing(void)
{
}

static void
put_one(void)
{
	put_filled(1000);
}

static void
put_many(void)
{
	uint64_t	number;

	for (number = 1000; number < 1000 + ITEMS; number++)
		put_filled(number);
}

/* The very first step of a writer that needs the place of item 1 */
static void
give_up_first(void)
{
	PlcLog	   *log = &store->shards[0].logs[PLC_SMALL];

	plc_log_give_up_locked(log, (uint32_t) (log->head - log->tail));
}

/* A copy out of the store meets the others at its middle. */
static void
read_and_meet(const char *name, void (*others) (void), bool still_there)
{
	unsigned char *dst = pages + page_size - VALUE_BYTES / 2;
	PlcRef		ref;
	bool		whole;

	store = make_store(MB);
	put_filled(1);
	find_number(store, 1, &ref);
	close_page(others);
	whole = plc_store_read(store, &ref, 0, dst, VALUE_BYTES);
	tap_is(meetings, 1, "the read meets the others once");
	tap_is(whole, still_there, name);
	tap_ok(!whole || is_filled(dst, 1), "what is said to be whole is right");
	free(store);
}

/* A comparison of keys meets the others at the key's middle. */
static void
find_and_meet(const char *name, void (*others) (void), bool still_there)
{
	unsigned char *key = pages + page_size - LONG_KEY / 2;
	uint64_t	hash;
	PlcRef		ref;

	store = make_store(MB);
	memset(key, 'k', LONG_KEY);
	hash = hash_bytes(key, LONG_KEY);
	put_bytes(store, key, LONG_KEY, "value", 5);
	close_page(others);
	tap_is(plc_store_find(store, hash, key, LONG_KEY, &ref), still_there, name);
	tap_is(meetings, 1, "the find meets the others once");
	free(store);
}

/* What readers know when a writer is half way */
static PlcRef refs[ITEMS];
static uint64_t first_number;
static bool known_right;
static int	known_good;
static int	given_up;
static bool new_is_found;
static bool found_right;

static void
look_at_all(void)
{
	unsigned char value[VALUE_BYTES];
	uint64_t	i;
	PlcRef		ref;

	for (i = 0; i < ITEMS; i++)
	{
		uint64_t	number = first_number + i;

		if (plc_store_read(store, &refs[i], 0, value, VALUE_BYTES))
		{
			known_good++;
			known_right = known_right && is_filled(value, number);
		}
		else if (refs[i].value_len > 0)
			given_up++;
		if (find_number(store, number, &ref))
			found_right = found_right && plc_store_read(store, &ref, 0, value, VALUE_BYTES) &&
				is_filled(value, number);
	}
	new_is_found = has_number(store, 9999);
}

/*
 * A put into a full store meets readers at the middle of its value, when half of
 * the new item has overwritten an old one.
 */
static void
put_and_meet(const char *name, bool used)
{
	unsigned char *value = pages + page_size - VALUE_BYTES / 2;
	uint64_t	i;

	store = make_store(MB);
	memset(refs, 0, sizeof(refs));
	known_right = found_right = true;
	known_good = given_up = 0;
	first_number = 1;
	for (i = 0; i < ITEMS; i++)
	{
		put_filled(first_number + i);
		if (used)
			touch_number(store, first_number + i);
	}
	for (i = 0; i < ITEMS; i++)
		find_number(store, first_number + i, &refs[i]);
	fill(value, 9999);
	close_page(look_at_all);
	put_number(store, 9999, value, VALUE_BYTES);

	tap_note("%s: %d items can be read, %d were given up", name, known_good, given_up);
	tap_is(meetings, 1, "the put meets readers once");
	tap_ok(known_good > 0 && given_up > 0, "they know of items that were given up and of others");
	tap_ok(known_right, "%s: nobody reads what is being overwritten", name);
	tap_ok(found_right, "all that is found can be read");
	tap_ok(!new_is_found, "the new item is not found before it is whole");
	tap_ok(has_number(store, 9999), "and is found then");
	free(store);
}

int
main(void)
{
	set_up();
	read_and_meet("a read that nobody disturbs succeeds", nothing, true);
	read_and_meet("so does one while another item is put", put_one, true);
	read_and_meet("a read whose item is given up says so", give_up_first, false);
	read_and_meet("so does one whose item is overwritten", put_many, false);
	find_and_meet("a find that nobody disturbs succeeds", nothing, true);
	find_and_meet("so does one while another item is put", put_one, true);
	find_and_meet("a find whose item is given up finds nothing", give_up_first, false);
	find_and_meet("nor does one whose item is overwritten", put_many, false);
	put_and_meet("unused items", false);
	put_and_meet("used items", true);
	return tap_done();
}
