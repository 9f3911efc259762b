/*
 * fuzz_wirekey.c
 *		Any bytes as a key: names that are found are found again in their usual
 *		spelling, fields too, and the short way agrees with the parser.
 */
#include "fuzz.h"
#include "resp/escape.h"
#include "resp/wirekey.h"

#define MAX_FIELDS	4

/* Spells a table's part anew, as short as it can be. */
static size_t
spell_names(const PlcWireNames *names, char *out)
{
	const char *const parts[] = {names->database, names->schema, names->table};
	size_t		n = 0;

	if (names->namespace_name[0] != '\0')
		n = plc_wirekey_quote(names->namespace_name, out);
	else
	{
		memcpy(out, "CRUD:", 5);
		n = 5;
		for (int i = 0; i < 3; i++)
		{
			n += plc_wirekey_quote(parts[i], out + n);
			out[n++] = '.';
		}
		n--;
	}
	out[n++] = ':';
	return n;
}

static void
check_names(const char *prefix, size_t len)
{
	PlcWireNames names;
	PlcWireNames again;
	char		spelled[5 + 3 * (2 * 63 + 3)];
	size_t		n;

	if (!plc_wirekey_names(prefix, len, &names))
		return;
	n = spell_names(&names, spelled);
	MUST(plc_wirekey_prefix(spelled, n) == n && plc_wirekey_names(spelled, n, &again));
	MUST(memcmp(&names, &again, sizeof(names)) == 0);
}

/* Spells fields as a JSON object. */
static size_t
spell_fields(const PlcWireField *fields, int n, char *out)
{
	char	   *at = out;

	*at++ = '{';
	for (int i = 0; i < n; i++)
	{
		at += sprintf(at, "%s\"", i > 0 ? " , " : "");
		at += json_escape(fields[i].name, fields[i].name_len, at);
		at += sprintf(at, "\" : \"");
		at += json_escape(fields[i].value, fields[i].value_len, at);
		*at++ = '"';
	}
	*at++ = '}';
	return (size_t) (at - out);
}

/* The parser has read these fields; it must read the same from their JSON. */
static void
check_again(const PlcWireField *fields, int n)
{
	PlcWireField again[MAX_FIELDS];
	const char *error;
	size_t		room = 10;
	char	   *spelled;
	char	   *scratch;

	for (int i = 0; i < n; i++)
	{
		MUST(fields[i].name_len == 0 || memchr(fields[i].name, '\0', fields[i].name_len) == NULL);
		MUST(fields[i].value_len == 0 || memchr(fields[i].value, '\0', fields[i].value_len) == NULL);
		room += 6 * (fields[i].name_len + fields[i].value_len) + 20;
	}
	spelled = malloc(room);
	scratch = malloc(room);
	MUST(plc_wirekey_fields(spelled, spell_fields(fields, n, spelled), NULL, again, MAX_FIELDS, scratch,
							plc_escape_utf8, &error) == n);
	for (int i = 0; i < n; i++)
	{
		MUST(again[i].name_len == fields[i].name_len && again[i].value_len == fields[i].value_len);
		MUST(fields[i].name == NULL || memcmp(again[i].name, fields[i].name, fields[i].name_len) == 0);
		MUST(memcmp(again[i].value, fields[i].value, fields[i].value_len) == 0);
	}
	free(spelled);
	free(scratch);
}

/* Is the text this number, with zeros in front or not? */
static bool
is_number(const PlcWireField *field, long long number)
{
	char		text[100];
	char	   *end;

	if (field->value_len >= sizeof(text))
		return true;			/* a long row of zeros */
	memcpy(text, field->value, field->value_len);
	text[field->value_len] = '\0';
	return strtoll(text, &end, 10) == number && *end == '\0';
}

static void
check_row(const char *row, size_t len)
{
	PlcWireField fields[MAX_FIELDS];
	const char *error = NULL;
	char	   *scratch = malloc(len);
	long long	number;
	bool		integer = plc_wirekey_integer(row, len, "id", 2, &number);
	int			n = plc_wirekey_fields(row, len, "id", fields, MAX_FIELDS, scratch, plc_escape_utf8, &error);

	MUST(n <= MAX_FIELDS && (n >= 0 || error != NULL));
	if (n > 0)
		check_again(fields, n);
	if (integer)
		MUST(n == 1 && is_number(&fields[0], number) &&
			 (fields[0].name == NULL || (fields[0].name_len == 2 && memcmp(fields[0].name, "id", 2) == 0)));
	n = plc_wirekey_fields(row, len, NULL, fields, MAX_FIELDS, scratch, plc_escape_utf8, &error);
	if (n > 0)
		check_again(fields, n);
	free(scratch);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *key = copy_of(data, size);
	size_t		prefix = plc_wirekey_prefix(key, size);
	char	   *part = copy_of(key, prefix);

	MUST(prefix <= size && (prefix == 0 || key[prefix - 1] == ':'));
	check_names(part, prefix);
	check_row(key + prefix, size - prefix);
	free(part);
	free(key);
	return 0;
}
