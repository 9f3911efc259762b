/*
 * shared.c
 *		What the processes of the checker tell each other.
 *
 * One anonymous mapping, made before the processes are, holds it.  There are
 * no locks: every field is an atomic that only grows, or is set once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "shared.h"

Shared	   *shared;

const char *const kind_names[NKINDS] = {
#define X(id, name) [KIND_##id] = name,
	KINDS(X)
	RESP_KINDS(X)
#undef X
};

void
shared_create(void)
{
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
	{
		perror("could not map shared memory");
		exit(2);
	}
}

/* Seconds of the monotonic clock. */
double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

bool
running(void)
{
	return !shared->stop && now() < shared->deadline;
}

uint64_t
next_version(void)
{
	return atomic_fetch_add(&shared->clock, 1) + 1;
}

void
count(Kind kind)
{
	atomic_fetch_add(&shared->counts[kind], 1);
}

void
raise_to(_Atomic uint64_t *value, uint64_t least)
{
	uint64_t	old = *value;

	while (old < least && !atomic_compare_exchange_weak(value, &old, least))
		 ;
}

/*
 * The enum's label after so many renames.  It goes to and fro, so that a text
 * made at the wrong moment meets its name again.
 */
const char *
label_name(uint64_t number)
{
	return number % 2 == 0 ? "calm" : "quiet";
}

void
floor_take(Floor *floor)
{
	for (int table = 0; table < TABLES; table++)
	{
		floor->rewrites[table] = shared->rewrites_done[table];
		for (int key = 0; key < KEYS; key++)
			floor->known[table][key] = shared->known[table][key];
	}
	floor->label = shared->label_done;
}
