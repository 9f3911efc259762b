/*
 * rng.h
 *		Random choices that a seed repeats (splitmix64).
 */
#ifndef STRESS_RNG_H
#define STRESS_RNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Rng
{
	uint64_t	state;
} Rng;

static inline uint64_t
rng_next(Rng *rng)
{
	uint64_t	z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* One of 0 .. n - 1. */
static inline int
rng_below(Rng *rng, int n)
{
	return (int) ((rng_next(rng) >> 32) * (uint64_t) n >> 32);
}

static inline bool
rng_one_in(Rng *rng, int n)
{
	return rng_below(rng, n) == 0;
}

/* A stream of its own for each process. */
static inline Rng
rng_of_process(uint64_t seed, int process)
{
	Rng			rng = {seed * UINT64_C(1000003) + (uint64_t) process};

	rng_next(&rng);
	return rng;
}

static inline void
rng_shuffle(Rng *rng, int *items, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		int			j = rng_below(rng, i + 1);
		int			item = items[i];

		items[i] = items[j];
		items[j] = item;
	}
}

#endif							/* STRESS_RNG_H */
