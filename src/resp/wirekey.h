/*
 * wirekey.h
 *		Keys as clients write them, taken apart.
 *
 * Pure C.  A key is a table and a row of it:
 *
 *		CRUD:<database>.<schema>.<table>:<row>
 *		<namespace>:<row>
 *
 * Names are taken as they are, capitals and all; one that contains a dot, a colon,
 * a quote, a brace, white space or a control character, or is CRUD, is written in
 * double quotes, a quote within it twice.  The row is a JSON object of the key
 * columns, or without quotes:
 *
 *		42				the value of the one key column
 *		id=42			the same
 *		tenant=7,id=42	several columns, in any order
 *
 * There names and values are taken as they are, to the next "=" or ","; what these
 * would cut, or a text that begins with a brace, has to be written as JSON.
 *
 * Bytes are not checked for being valid in any encoding; escapes of JSON become UTF-8.
 */
#ifndef PLC_RESP_WIREKEY_H
#define PLC_RESP_WIREKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the table's part of a key, with its last colon; 0 if this has no such
 * part.  Two keys with equal parts are of one table, so it can be remembered.
 */
extern size_t plc_wirekey_prefix(const char *key, size_t len);

/* The names in such a prefix, as they are in the catalogs, zero-terminated. */
typedef struct PlcWireNames
{
	char		namespace_name[64];	/* empty if it is of the long form */
	char		database[64];
	char		schema[64];
	char		table[64];
} PlcWireNames;

/* False if it is not well-formed, or a name is empty or longer than 63 bytes. */
extern bool plc_wirekey_names(const char *prefix, size_t len, PlcWireNames *names);

/* One column of a row.  Values are text; escapes of JSON are resolved. */
typedef struct PlcWireField
{
	const char *name;			/* NULL: the one key column */
	size_t		name_len;
	const char *value;
	size_t		value_len;
} PlcWireField;

/* Writes a character of Unicode, not 0, in the encoding of keys; returns its bytes, 6 at most: plc_escape_utf8. */
typedef size_t (*PlcWireEncoder) (uint32_t code, char *out);

/*
 * The fields of a row, at most max of them.  Texts point into the row or into
 * scratch, which has room for len bytes.  Returns how many there are, or -1 and
 * *error, which says what is wrong ("key object must not be nested").  JSON: any
 * order, white space and escapes; values are strings, numbers (leading zeros
 * allowed), true or false; null, arrays and objects are errors, and so is a column
 * that occurs twice.  No text contains a zero byte.  single: the key has this one
 * column, so what has no "column=" in front is all of it its value; NULL: it has
 * several.
 */
extern int	plc_wirekey_fields(const char *row, size_t len, const char *single,
							   PlcWireField *fields, int max, char *scratch, PlcWireEncoder encode,
							   const char **error);

/*
 * The usual spelling, at once: {"id":42}, {"id": 42}, {"id":"42"}, 42 and id=42 for
 * the one integer column "column", leading zeros allowed.  False if it is not that,
 * though it may be a good key.
 */
extern bool plc_wirekey_integer(const char *row, size_t len, const char *column, size_t column_len,
								long long *value);

/* Writes a name as it stands in a key; returns the bytes, at most 2 * 63 + 2. */
extern size_t plc_wirekey_quote(const char *name, char *out);

#endif							/* PLC_RESP_WIREKEY_H */
