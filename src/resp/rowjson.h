/*
 * rowjson.h
 *		The columns of a row, out of its JSON text.
 *
 * Pure C.  Reads what our renderer or PostgreSQL's row_to_json wrote, so the text
 * is known to be valid JSON, an object at the top; but no memory outside of it is
 * ever touched, whatever it is.
 */
#ifndef PLC_RESP_ROWJSON_H
#define PLC_RESP_ROWJSON_H

#include <stdbool.h>
#include <stddef.h>

typedef enum PlcRowValue
{
	PLC_ROW_NULL,
	PLC_ROW_TEXT,				/* a string, to be unescaped with plc_row_unescape */
	PLC_ROW_RAW					/* a number, true, false, array or object, as it stands */
} PlcRowValue;

typedef struct PlcRowField
{
	const char *name;			/* escaped as in the JSON, without the quotes */
	size_t		name_len;
	PlcRowValue kind;
	const char *value;			/* a string's without the quotes */
	size_t		value_len;
} PlcRowField;

/* The next column at *at, which begins with 0; false after the last one. */
extern bool plc_row_next(const char *json, size_t len, size_t *at, PlcRowField *field);

/* Writes the text without its escapes, in UTF-8; returns its length, at most len. */
extern size_t plc_row_unescape(const char *text, size_t len, char *out);

/* Is the escaped name that name? */
extern bool plc_row_name_is(const PlcRowField *field, const char *name, size_t len);

#endif							/* PLC_RESP_ROWJSON_H */
