/*
 * json.h
 *		Objects in JSON, a field at a time.
 */
#ifndef PLC_SQL_JSON_H
#define PLC_SQL_JSON_H

#include "lib/stringinfo.h"
#include "utils/json.h"

/* Begins a field: with a comma, but for the first of an object. */
static inline void
plc_json_name(StringInfo json, const char *name)
{
	if (json->data[json->len - 1] != '{')
		appendStringInfoChar(json, ',');
	appendStringInfo(json, "\"%s\":", name);
}

/* A string, or null for NULL. */
static inline void
plc_json_string(StringInfo json, const char *name, const char *value)
{
	plc_json_name(json, name);
	if (value == NULL)
		appendStringInfoString(json, "null");
	else
		escape_json(json, value);
}

static inline void
plc_json_bool(StringInfo json, const char *name, bool value)
{
	plc_json_name(json, name);
	appendStringInfoString(json, value ? "true" : "false");
}

static inline void
plc_json_uint64(StringInfo json, const char *name, uint64 value)
{
	plc_json_name(json, name);
	appendStringInfo(json, UINT64_FORMAT, value);
}

#endif							/* PLC_SQL_JSON_H */
