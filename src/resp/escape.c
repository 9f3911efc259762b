/*
 * escape.c
 *		What stands behind a backslash in a string of JSON.
 *
 * Keys come from clients, and a surrogate alone or a zero byte is an error there;
 * rows come from PostgreSQL, whose type json keeps both.  So they are judged by the
 * callers, not here.
 */
#include "resp/escape.h"

#include <string.h>

/* Reads 4 hexadecimal digits; false if they are not there. */
static bool
read_unit(const char *at, const char *end, uint32_t *unit)
{
	*unit = 0;
	if (end - at < 4)
		return false;
	for (int i = 0; i < 4; i++)
	{
		char		c = at[i];
		char		lower = c | 0x20;

		if (c >= '0' && c <= '9')
			*unit = *unit * 16 + (uint32_t) (c - '0');
		else if (lower >= 'a' && lower <= 'f')
			*unit = *unit * 16 + (uint32_t) (lower - 'a' + 10);
		else
			return false;
	}
	return true;
}

static size_t
read_unicode(const char *at, const char *end, uint32_t *code)
{
	uint32_t	low;

	if (!read_unit(at + 2, end, code))
		return 0;
	if (*code < 0xd800 || *code > 0xdbff)
		return 6;
	if (end - at < 12 || at[6] != '\\' || at[7] != 'u' || !read_unit(at + 8, end, &low) ||
		low < 0xdc00 || low > 0xdfff)
		return 6;
	*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
	return 12;
}

size_t
plc_escape_read(const char *at, const char *end, uint32_t *code)
{
	static const char names[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (end - at < 2)
		return 0;
	if (at[1] == 'u')
		return read_unicode(at, end, code);
	name = memchr(names, at[1], sizeof(names) - 1);
	if (name == NULL)
		return 0;
	*code = (unsigned char) meanings[name - names];
	return 2;
}

size_t
plc_escape_utf8(uint32_t code, char *out)
{
	size_t		n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = n; i-- > 1; code >>= 6)
		out[i] = (char) (0x80 | (code & 0x3f));
	out[0] = (char) (lead[n] | code);
	return n;
}
