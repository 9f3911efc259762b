/*
 * escape.h
 *		What stands behind a backslash in a string of JSON.
 *
 * Pure C.
 */
#ifndef PLC_RESP_ESCAPE_H
#define PLC_RESP_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the escape whose backslash is at "at": *code is the character, two
 * surrogates that belong together are one, a surrogate alone stays what it is.
 * Returns the bytes it takes, or 0 if it is none.
 */
extern size_t plc_escape_read(const char *at, const char *end, uint32_t *code);

/*
 * Writes a character in UTF-8, which takes less than its escape did; returns the
 * bytes, at most 4.
 */
extern size_t plc_escape_utf8(uint32_t code, char *out);

static inline bool
plc_escape_surrogate(uint32_t code)
{
	return code >= 0xd800 && code <= 0xdfff;
}

#endif							/* PLC_RESP_ESCAPE_H */
