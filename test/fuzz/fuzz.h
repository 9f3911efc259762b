/*
 * fuzz.h
 *		What the fuzzers share.
 */
#ifndef PLC_FUZZ_H
#define PLC_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input is; says so and stops if it does not. */
#define MUST(holds) \
	do { \
		if (!(holds)) \
		{ \
			fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #holds); \
			abort(); \
		} \
	} while (0)

/* A copy whose end is the end of its memory, for the sanitizer to watch. */
static inline char *
copy_of(const void *bytes, size_t len)
{
	char	   *copy = malloc(len);

	if (len > 0)
		memcpy(copy, bytes, len);
	return copy;
}

/* Writes a text as a string of JSON, without quotes; returns its length, at most 6 times the text's. */
static inline size_t
json_escape(const char *text, size_t len, char *out)
{
	char	   *at = out;

	for (size_t i = 0; i < len; i++)
	{
		if ((unsigned char) text[i] < ' ' || text[i] == '"' || text[i] == '\\')
			at += sprintf(at, "\\u%04x", (unsigned char) text[i]);
		else
			*at++ = text[i];
	}
	return (size_t) (at - out);
}

#endif							/* PLC_FUZZ_H */
