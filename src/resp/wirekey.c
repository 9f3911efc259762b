/*
 * wirekey.c
 *		Keys as clients write them, taken apart.
 *
 * Every key of every command comes through here, so the common spelling has a
 * short way: the table's part is found in one pass, callers remember what it led
 * to and need not take it apart again, and plc_wirekey_integer reads the usual row
 * without looking for anything else.  All other spellings are read by a small
 * parser, which needs no memory but the caller's scratch.
 *
 * A key that is not ours, as one of another application, is no error here: it has
 * no table's part, or that part names no table.  But once a table is named, the row
 * must be well-formed, and whoever writes it wrong is told.
 */
#include "resp/wirekey.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "resp/escape.h"

#define NAME_SIZE		64

/* The long form's first bytes */
static const char marker[] = "CRUD:";

#define MARKER_LEN		(sizeof(marker) - 1)

/* Names */

/* May this byte stand in a name without quotes? */
static inline bool
is_bare(char c)
{
	unsigned char byte = (unsigned char) c;

	return byte > ' ' && byte != '"' && byte != '.' && byte != ':' &&
		byte != '{' && byte != '}' && byte != 0x7f;
}

static bool
has_marker(const char *key, size_t len)
{
	return len >= MARKER_LEN && memcmp(key, marker, MARKER_LEN) == 0;
}

/* Where the name that begins at "at" ends; NULL if its quotes do not, or it contains a zero byte. */
static const char *
skip_name(const char *at, const char *end)
{
	if (at == end || *at != '"')
	{
		while (at < end && is_bare(*at))
			at++;
		return at;
	}
	for (at++; at < end && *at != '\0'; at++)
	{
		if (*at != '"')
			continue;
		if (at + 1 == end || at[1] != '"')
			return at + 1;
		at++;
	}
	return NULL;
}

/* The colon behind a namespace, in which dots need no quotes; NULL if there is none. */
static const char *
namespace_end(const char *key, const char *end)
{
	const char *at = key;

	if (at < end && *at == '"')
		at = skip_name(at, end);
	else
		while (at < end && (is_bare(*at) || *at == '.'))
			at++;
	return at != NULL && at < end && *at == ':' ? at : NULL;
}

size_t
plc_wirekey_prefix(const char *key, size_t len)
{
	const char *end = key + len;
	const char *at = key;
	int			dots = 2;

	if (!has_marker(key, len))
	{
		at = namespace_end(key, end);
		return at == NULL ? 0 : (size_t) (at + 1 - key);
	}
	for (at += MARKER_LEN;; dots--, at++)
	{
		at = skip_name(at, end);
		if (at == NULL || at == end)
			return 0;
		if (*at == ':' && dots == 0)
			return (size_t) (at + 1 - key);
		if (*at != '.' || dots == 0)
			return 0;
	}
}

/* Copies a name without its quotes; false if it is empty or too long. */
static bool
copy_name(const char *at, const char *end, char *name)
{
	bool		quoted = at < end && *at == '"';
	size_t		n = 0;

	if (quoted)
	{
		at++;
		end--;
	}
	while (at < end)
	{
		if (n == NAME_SIZE - 1)
			return false;
		name[n++] = *at;
		at += quoted && *at == '"' ? 2 : 1;
	}
	name[n] = '\0';
	return n > 0;
}

bool
plc_wirekey_names(const char *prefix, size_t len, PlcWireNames *names)
{
	char	   *long_form[] = {names->database, names->schema, names->table};
	char	   *short_form[] = {names->namespace_name};
	bool		is_long = has_marker(prefix, len);
	char	  **name = is_long ? long_form : short_form;
	const char *at = is_long ? prefix + MARKER_LEN : prefix;

	memset(names, 0, sizeof(*names));
	if (len == 0 || plc_wirekey_prefix(prefix, len) != len)
		return false;
	while (at < prefix + len)
	{
		const char *end = is_long ? skip_name(at, prefix + len) : prefix + len - 1;

		if (!copy_name(at, end, *name++))
			return false;
		at = end + 1;
	}
	return true;
}

size_t
plc_wirekey_quote(const char *name, char *out)
{
	size_t		len = strlen(name);
	size_t		n = 0;
	bool		bare = len > 0 && strcmp(name, "CRUD") != 0;

	for (size_t i = 0; i < len; i++)
		bare = bare && is_bare(name[i]);
	if (bare)
	{
		memcpy(out, name, len);
		return len;
	}
	out[n++] = '"';
	for (size_t i = 0; i < len; i++)
	{
		if (name[i] == '"')
			out[n++] = '"';
		out[n++] = name[i];
	}
	out[n++] = '"';
	return n;
}

/* Rows */

/* A row being read */
typedef struct Row
{
	const char *at;
	const char *end;
	char	   *scratch;		/* free room */
	PlcWireEncoder encode;
	const char *error;
} Row;

static bool
fail(Row *row, const char *error)
{
	row->error = error;
	return false;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_white(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
skip_white(Row *row)
{
	while (row->at < row->end && is_white(*row->at))
		row->at++;
}

/* Takes this byte, with white space around it, if it is the next one. */
static bool
take(Row *row, char c)
{
	skip_white(row);
	if (row->at == row->end || *row->at != c)
		return false;
	row->at++;
	skip_white(row);
	return true;
}

/* Reads the rest of a string with escapes into scratch, which holds what is before "at" since "text". */
static bool
unescape_rest(Row *row, const char **text, size_t *len)
{
	char	   *out = row->scratch;
	uint32_t	code;
	size_t		n;

	memcpy(out, *text, (size_t) (row->at - *text));
	out += row->at - *text;
	while (row->at < row->end && *row->at != '"')
	{
		if ((unsigned char) *row->at < ' ')
			return fail(row, "key object contains a control character");
		if (*row->at != '\\')
		{
			*out++ = *row->at++;
			continue;
		}
		n = plc_escape_read(row->at, row->end, &code);
		if (n == 0 || plc_escape_surrogate(code))
			return fail(row, "key object contains an invalid escape");
		if (code == 0)
			return fail(row, "key contains a zero byte");
		out += row->encode(code, out);
		row->at += n;
	}
	*text = row->scratch;
	*len = (size_t) (out - row->scratch);
	row->scratch = out;
	return true;
}

/* Reads a string whose opening quote is at hand. */
static bool
read_string(Row *row, const char **text, size_t *len)
{
	*text = ++row->at;
	while (row->at < row->end && *row->at != '"' && *row->at != '\\' && (unsigned char) *row->at >= ' ')
		row->at++;
	*len = (size_t) (row->at - *text);
	if (row->at < row->end && *row->at != '"' && !unescape_rest(row, text, len))
		return false;
	if (row->at == row->end)
		return fail(row, "key object ends within a string");
	row->at++;
	return true;
}

/* Skips digits; false if there are none. */
static bool
skip_digits(Row *row)
{
	const char *start = row->at;

	while (row->at < row->end && is_digit(*row->at))
		row->at++;
	return row->at > start;
}

/* Skips one of these bytes, if it is there. */
static bool
skip_either(Row *row, char a, char b)
{
	if (row->at == row->end || (*row->at != a && *row->at != b))
		return false;
	row->at++;
	return true;
}

static bool
skip_number(Row *row)
{
	skip_either(row, '-', '-');
	if (!skip_digits(row) || (skip_either(row, '.', '.') && !skip_digits(row)))
		return false;
	if (!skip_either(row, 'e', 'E'))
		return true;
	skip_either(row, '+', '-');
	return skip_digits(row);
}

static bool
skip_word(Row *row, const char *word)
{
	size_t		len = strlen(word);

	if ((size_t) (row->end - row->at) < len || memcmp(row->at, word, len) != 0)
		return false;
	row->at += len;
	return true;
}

static bool
read_value(Row *row, PlcWireField *field)
{
	if (row->at == row->end)
		return fail(row, "key object ends too early");
	if (*row->at == '"')
		return read_string(row, &field->value, &field->value_len);
	if (*row->at == '{' || *row->at == '[')
		return fail(row, "key object must not be nested");
	if (skip_word(row, "null"))
		return fail(row, "key column must not be null");
	field->value = row->at;
	if (!skip_word(row, "true") && !skip_word(row, "false") && !skip_number(row))
		return fail(row, "key object contains an invalid value");
	field->value_len = (size_t) (row->at - field->value);
	return true;
}

static bool
read_member(Row *row, PlcWireField *field)
{
	if (row->at == row->end || *row->at != '"')
		return fail(row, "key object must have column names in double quotes");
	if (!read_string(row, &field->name, &field->name_len))
		return false;
	if (!take(row, ':'))
		return fail(row, "key object must have a colon behind each column name");
	return read_value(row, field);
}

/* Reads "name=value" up to a comma. */
static bool
read_pair(Row *row, PlcWireField *field)
{
	const char *comma = memchr(row->at, ',', (size_t) (row->end - row->at));
	const char *end = comma != NULL ? comma : row->end;
	const char *equals = memchr(row->at, '=', (size_t) (end - row->at));

	if (equals == NULL)
		return fail(row, "key of several columns must be a JSON object or column=value,column=value");
	field->name = row->at;
	field->name_len = (size_t) (equals - row->at);
	field->value = equals + 1;
	field->value_len = (size_t) (end - field->value);
	row->at = end;
	return true;
}

static bool
same_name(const PlcWireField *a, const PlcWireField *b)
{
	return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

/* Reads one more field, of whatever form; false if there may not be one. */
static bool
add_field(Row *row, bool (*read) (Row *, PlcWireField *), PlcWireField *fields, int *n, int max)
{
	if (*n == max)
		return fail(row, "key has too many columns");
	if (!read(row, &fields[*n]))
		return false;
	for (int i = 0; i < *n; i++)
	{
		if (same_name(&fields[i], &fields[*n]))
			return fail(row, "key has a column twice");
	}
	(*n)++;
	return true;
}

static int
read_object(Row *row, PlcWireField *fields, int max)
{
	int			n = 0;

	if (!take(row, '}'))
	{
		do
		{
			if (!add_field(row, read_member, fields, &n, max))
				return -1;
		} while (take(row, ','));
		if (!take(row, '}'))
		{
			fail(row, row->at == row->end ? "key object ends too early" :
				 "key object must have a comma or a closing brace behind each value");
			return -1;
		}
	}
	if (row->at == row->end)
		return n;
	fail(row, "key goes on behind its object");
	return -1;
}

static int
read_pairs(Row *row, PlcWireField *fields, int max)
{
	int			n = 0;

	for (;;)
	{
		if (!add_field(row, read_pair, fields, &n, max))
			return -1;
		if (row->at == row->end)
			return n;
		row->at++;
	}
}

/* The value of the one key column, with or without its name in front. */
static int
read_single(Row *row, const char *single, PlcWireField *field)
{
	size_t		len = strlen(single);
	bool		named = (size_t) (row->end - row->at) > len && row->at[len] == '=' &&
		memcmp(row->at, single, len) == 0;

	field->name = named ? row->at : NULL;
	field->name_len = named ? len : 0;
	field->value = named ? row->at + len + 1 : row->at;
	field->value_len = (size_t) (row->end - field->value);
	return 1;
}

int
plc_wirekey_fields(const char *text, size_t len, const char *single,
				   PlcWireField *fields, int max, char *scratch, PlcWireEncoder encode,
				   const char **error)
{
	Row			row = {text, text + len, scratch, encode, NULL};
	int			n = -1;

	skip_white(&row);
	if (row.at < row.end && *row.at == '{')
	{
		take(&row, '{');
		n = read_object(&row, fields, max);
	}
	else if (len > 0 && memchr(text, '\0', len) != NULL)
		fail(&row, "key contains a zero byte");
	else if (max < 1)
		fail(&row, "key has too many columns");
	else
	{
		row.at = text;
		n = single != NULL ? read_single(&row, single, fields) : read_pairs(&row, fields, max);
	}
	*error = row.error;
	return n;
}

/* The short way */

/*
 * The number that eight digits write; false if they are not all digits.  The first is in
 * the lowest byte: it is multiplied by ten and the second added, in all four pairs at once;
 * then two pairs make a number of four digits, and two of these the whole.
 */
static inline bool
eight_digits(const char *at, uint64_t *number)
{
	uint64_t	digits;

	memcpy(&digits, at, sizeof(digits));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	digits = __builtin_bswap64(digits);
#endif
	if (((digits & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
		 ((digits + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4) !=
		UINT64_C(0x3333333333333333))
		return false;
	digits -= UINT64_C(0x3030303030303030);
	digits = digits * 10 + (digits >> 8);
	digits = (digits & UINT64_C(0x00ff00ff00ff00ff)) * 100 + (digits >> 16 & UINT64_C(0x00ff00ff00ff00ff));
	digits = (digits & UINT64_C(0x0000ffff0000ffff)) * 10000 + (digits >> 32 & UINT64_C(0x0000ffff0000ffff));
	*number = digits & UINT64_C(0xffffffff);
	return true;
}

/* Reads digits, a minus in front, up to end and nothing else; false if that is not a bigint. */
static bool
read_integer(const char *at, const char *end, long long *value)
{
	bool		negative = at < end && *at == '-';
	uint64_t	number = 0;
	uint64_t	eight;

	at += negative ? 1 : 0;
	if (at == end)
		return false;
	while (end - at > 19 && *at == '0')
		at++;
	if (end - at > 19)			/* more might not even fit into number */
		return false;
	for (; end - at >= 8; at += 8)
	{
		if (!eight_digits(at, &eight))
			return false;
		number = number * 100000000 + eight;
	}
	for (; at < end; at++)
	{
		if (!is_digit(*at))
			return false;
		number = number * 10 + (uint64_t) (*at - '0');
	}
	if (number > (uint64_t) LLONG_MAX + (negative ? 1 : 0))
		return false;
	*value = (long long) (negative ? 0 - number : number);
	return true;
}

/* Does the column's name stand at "at", where end is not before it ends?  In JSON it may have no escapes. */
static inline bool
name_at(const char *at, const char *column, size_t column_len, bool json)
{
	for (size_t i = 0; i < column_len; i++)
	{
		char		c = column[i];

		if (at[i] != c || (json && (c == '"' || c == '\\' || (unsigned char) c < ' ')))
			return false;
	}
	return true;
}

/* {"id":42}, with blanks before the number, or quotes around it */
static bool
read_integer_object(const char *row, size_t len, const char *column, size_t column_len, long long *value)
{
	const char *at;
	const char *end;

	if (len < column_len + 6 || row[1] != '"' || !name_at(row + 2, column, column_len, true))
		return false;
	at = row + 2 + column_len;
	end = row + len - 1;
	if (at[0] != '"' || at[1] != ':' || *end != '}')
		return false;
	at += 2;
	while (*at == ' ')
		at++;
	if (*at == '"' && end - at > 2 && end[-1] == '"')
	{
		at++;
		end--;
	}
	return read_integer(at, end, value);
}

bool
plc_wirekey_integer(const char *row, size_t len, const char *column, size_t column_len, long long *value)
{
	if (len > 0 && *row == '{')
		return read_integer_object(row, len, column, column_len, value);
	if (read_integer(row, row + len, value))
		return true;
	return len > column_len && row[column_len] == '=' && name_at(row, column, column_len, false) &&
		read_integer(row + column_len + 1, row + len, value);
}
