/*
 * guard.h
 *		Bytes that end where memory ends: a byte read too far is a crash.
 */
#ifndef PLC_TEST_GUARD_H
#define PLC_TEST_GUARD_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Guard
{
	char	   *memory;
	size_t		size;
} Guard;

/* Memory of that size at least, between two pages that cannot be touched. */
static inline Guard
guard_new(size_t size)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	size_t		inside = (size + page - 1) / page * page;
	char	   *all = mmap(NULL, inside + 2 * page, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Guard		guard = {all + page, inside};

	if (all == MAP_FAILED || mprotect(all, page, PROT_NONE) != 0 ||
		mprotect(all + page + inside, page, PROT_NONE) != 0)
		abort();
	return guard;
}

/* The place of the last len bytes of it. */
static inline char *
guard_room(const Guard *guard, size_t len)
{
	if (len > guard->size)
		abort();
	return guard->memory + guard->size - len;
}

/* Puts bytes there; only one call's bytes are there at a time. */
static inline char *
guard_put(const Guard *guard, const void *bytes, size_t len)
{
	char	   *room = guard_room(guard, len);

	memmove(room, bytes, len);
	return room;
}

#endif							/* PLC_TEST_GUARD_H */
