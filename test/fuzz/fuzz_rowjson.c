/*
 * fuzz_rowjson.c
 *		Any bytes as a row's text, which must end; and any bytes as the columns of a
 *		row, which must be found again in its text.
 */
#include "fuzz.h"
#include "resp/rowjson.h"

static void
check_any(const char *json, size_t len)
{
	PlcRowField field;
	size_t		at = 0;
	size_t		before = 0;

	while (plc_row_next(json, len, &at, &field))
	{
		char	   *name = malloc(field.name_len);
		char	   *value = malloc(field.value_len);
		size_t		name_len = plc_row_unescape(field.name, field.name_len, name);

		MUST(at > before && at <= len);
		MUST(field.name > json && field.name + field.name_len < field.value && field.value + field.value_len <= json + at);
		MUST(plc_row_unescape(field.value, field.value_len, value) <= field.value_len);
		MUST(name_len <= field.name_len && plc_row_name_is(&field, name, name_len));
		before = at;
		free(name);
		free(value);
	}
	MUST(at == len && !plc_row_next(json, len, &at, &field));
}

/* Writes a row of one column: a text, null, or a piece of an array around the text. */
static size_t
write_column(char *out, const char *name, size_t name_len, const char *value, size_t value_len, uint8_t kind)
{
	static const char *const starts[] = {"\"", "null", "[{\"a\":\"", " [ \""};
	static const char *const ends[] = {"\"", "", "\"},[]]", "\" ] "};
	char	   *at = out;

	*at++ = '"';
	at += json_escape(name, name_len, at);
	at += sprintf(at, "\":%s", starts[kind % 4]);
	if (kind % 4 != 1)
		at += json_escape(value, value_len, at);
	at += sprintf(at, "%s", ends[kind % 4]);
	return (size_t) (at - out);
}

static void
check_column(const PlcRowField *field, const char *name, size_t name_len,
			 const char *value, size_t value_len, uint8_t kind)
{
	static const PlcRowValue kinds[] = {PLC_ROW_TEXT, PLC_ROW_NULL, PLC_ROW_RAW, PLC_ROW_RAW};
	char	   *out = malloc(field->value_len);

	MUST(field->kind == kinds[kind % 4] && plc_row_name_is(field, name, name_len));
	if (field->kind == PLC_ROW_TEXT)
		MUST(plc_row_unescape(field->value, field->value_len, out) == value_len &&
			 (value_len == 0 || memcmp(out, value, value_len) == 0));
	if (field->kind == PLC_ROW_RAW)
		MUST(field->value[0] == '[' && field->value[field->value_len - 1] == ']');
	free(out);
}

/* The first byte says what kind each column is, the second how long names and values are. */
static void
check_columns(const char *bytes, size_t len)
{
	size_t		piece = (uint8_t) bytes[1] % 16 + 1;
	size_t		columns = len / (2 * piece);
	char	   *json = malloc(6 * len + 50 * columns + 10);
	size_t		n = 0;
	size_t		at = 0;
	PlcRowField field;

	json[n++] = '{';
	for (size_t i = 0; i < columns; i++)
	{
		const char *name = bytes + i * 2 * piece;

		if (i > 0)
			json[n++] = ',';
		n += write_column(json + n, name, piece, name + piece, piece, (uint8_t) ((uint8_t) bytes[0] >> i % 7));
	}
	json[n++] = '}';
	for (size_t i = 0; i < columns; i++)
	{
		const char *name = bytes + i * 2 * piece;

		MUST(plc_row_next(json, n, &at, &field));
		check_column(&field, name, piece, name + piece, piece, (uint8_t) ((uint8_t) bytes[0] >> i % 7));
	}
	MUST(!plc_row_next(json, n, &at, &field));
	free(json);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *bytes = copy_of(data, size);

	check_any(bytes, size);
	if (size >= 2)
		check_columns(bytes, size);
	free(bytes);
	return 0;
}
