/*
 * rowjson.c
 *		The columns of a row, out of its JSON text.
 *
 * HGET and its like are answered from the same text as GET, so a row is cached once.
 * Values are not taken apart further: an array or object is skipped by counting
 * brackets, which needs no stack, however deep it is.  A column of type json stands
 * in the text as the user wrote it, white space around it included.
 */
#include "resp/rowjson.h"

#include <string.h>

#include "resp/escape.h"

/* What a surrogate alone becomes, which has no UTF-8 */
#define REPLACEMENT		0xfffd

static const char *
skip_white(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

/* Where the string ends whose opening quote is at "at": at its closing quote, or at the end. */
static const char *
skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
	{
		if (*at == '\\' && end - at > 1)
			at++;
	}
	return at;
}

/* Where an array or object ends: behind its last bracket. */
static const char *
skip_nested(const char *at, const char *end)
{
	size_t		depth = 0;

	for (; at < end; at++)
	{
		if (*at == '"')
			at = skip_string(at, end);
		else if (*at == '{' || *at == '[')
			depth++;
		else if ((*at == '}' || *at == ']') && --depth == 0)
			return at + 1;
		if (at == end)
			break;
	}
	return end;
}

/* Where a number, true, false or null ends. */
static const char *
skip_plain(const char *at, const char *end)
{
	while (at < end && *at != ',' && *at != '}' && *at != ' ' && *at != '\t' && *at != '\n' && *at != '\r')
		at++;
	return at;
}

/* Takes this byte, with white space around it; NULL if it is not the next one. */
static const char *
take(const char *at, const char *end, char c)
{
	at = skip_white(at, end);
	return at < end && *at == c ? skip_white(at + 1, end) : NULL;
}

/* Reads the value at "at"; returns what is behind it, NULL if there is none. */
static const char *
read_value(const char *at, const char *end, PlcRowField *field)
{
	const char *behind;

	field->kind = PLC_ROW_RAW;
	field->value = at;
	if (at < end && *at == '"')
	{
		behind = skip_string(at, end);
		field->kind = PLC_ROW_TEXT;
		field->value = at + 1;
		field->value_len = (size_t) (behind - field->value);
		return behind < end ? behind + 1 : NULL;
	}
	if (at < end && (*at == '{' || *at == '['))
		behind = skip_nested(at, end);
	else
		behind = skip_plain(at, end);
	field->value_len = (size_t) (behind - at);
	if (field->value_len == 4 && memcmp(at, "null", 4) == 0)
		field->kind = PLC_ROW_NULL;
	return behind > at ? behind : NULL;
}

bool
plc_row_next(const char *json, size_t len, size_t *position, PlcRowField *field)
{
	const char *end = json + len;
	const char *at = take(json + *position, end, *position == 0 ? '{' : ',');
	const char *behind;

	*position = len;
	if (at == NULL || at == end || *at != '"')
		return false;
	behind = skip_string(at, end);
	field->name = at + 1;
	field->name_len = (size_t) (behind - field->name);
	if (behind == end)
		return false;
	at = take(behind + 1, end, ':');
	if (at == NULL)
		return false;
	at = read_value(at, end, field);
	if (at == NULL)
		return false;
	*position = (size_t) (at - json);
	return true;
}

/* Writes the next character of an escaped text; returns the bytes that it took from there. */
static size_t
next_character(const char *at, const char *end, char *out, size_t *written)
{
	uint32_t	code;
	size_t		n = *at == '\\' ? plc_escape_read(at, end, &code) : 0;

	if (n == 0)
	{
		*out = *at;
		*written = 1;
		return 1;
	}
	*written = plc_escape_utf8(plc_escape_surrogate(code) ? REPLACEMENT : code, out);
	return n;
}

size_t
plc_row_unescape(const char *text, size_t len, char *out)
{
	const char *at = text;
	const char *end = text + len;
	char	   *start = out;

	while (at < end)
	{
		const char *escape = memchr(at, '\\', (size_t) (end - at));
		size_t		plain = (size_t) ((escape != NULL ? escape : end) - at);
		size_t		written;

		memcpy(out, at, plain);
		out += plain;
		at += plain;
		if (at == end)
			break;
		at += next_character(at, end, out, &written);
		out += written;
	}
	return (size_t) (out - start);
}

bool
plc_row_name_is(const PlcRowField *field, const char *name, size_t len)
{
	const char *at = field->name;
	const char *end = at + field->name_len;

	if (memchr(at, '\\', field->name_len) == NULL)
		return len == field->name_len && memcmp(at, name, len) == 0;
	while (at < end)
	{
		char		character[4];
		size_t		n;

		at += next_character(at, end, character, &n);
		if (n > len || memcmp(name, character, n) != 0)
			return false;
		name += n;
		len -= n;
	}
	return len == 0;
}
