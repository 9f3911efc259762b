/*
 * test_resp_wirekey.c
 *		Keys in all spellings.
 */
#include <limits.h>
#include <string.h>

#include "guard.h"
#include "resp/escape.h"
#include "resp/wirekey.h"
#include "tap.h"

#define MAX_FIELDS	4

static Guard guard;
static Guard scratch_guard;

/* Tables */

static void
names_are(const char *key, size_t prefix, const char *namespace_name, const char *database,
		  const char *schema, const char *table)
{
	const char *bytes = guard_put(&guard, key, strlen(key));
	size_t		len = plc_wirekey_prefix(bytes, strlen(key));
	PlcWireNames names;

	tap_is((long long) len, (long long) prefix, key);
	bytes = guard_put(&guard, key, len);
	tap_ok(plc_wirekey_names(bytes, len, &names) && strcmp(names.namespace_name, namespace_name) == 0 &&
		   strcmp(names.database, database) == 0 && strcmp(names.schema, schema) == 0 &&
		   strcmp(names.table, table) == 0, "... has its names");
}

/* A key that is not ours, or whose names cannot be. */
static void
no_names(const char *key, size_t len)
{
	size_t		prefix = plc_wirekey_prefix(guard_put(&guard, key, len), len);
	PlcWireNames names;

	tap_ok(prefix == 0 || !plc_wirekey_names(guard_put(&guard, key, prefix), prefix, &names),
		   "\"%.40s\" names no table", key);
}

static void
test_names(void)
{
	static const char *const none[] = {"", "CRUD", "CRUD:", "CRUD:a", "CRUD:a:1", "CRUD:a.b:1", "CRUD:a.b.c",
		"CRUD:a.b.c.d:1", "CRUD:.b.c:1", "CRUD:a..c:1", "CRUD:a.b.:1", "CRUD::1", "CRUD:\"a.b.c:1", "CRUD:\"a\"b.c.d:1",
		"CRUD:a\"b\".c.d:1", "CRUD:\"\".b.c:1", "CRUD:a.b c.d:1", "items", ":42", "\"\":42", "\"items:42",
		"it\"ems:42", "{items}:42", "it ems:42", "items\t:42",
		"a123456789a123456789a123456789a123456789a123456789a123456789abcd:1",
	"CRUD:a.b.\"a123456789a123456789a123456789a123456789a123456789a123456789abc\"\"\":1"};

	names_are("CRUD:app.public.items:{\"id\":42}", 22, "", "app", "public", "items");
	names_are("CRUD:app.public.items:42", 22, "", "app", "public", "items");
	names_are("CRUD:app.public.items:a:b.c", 22, "", "app", "public", "items");
	names_are("CRUD:app.public.items:", 22, "", "app", "public", "items");
	names_are("CRUD:App.Public.Items:1", 22, "", "App", "Public", "Items");
	names_are("CRUD:\"a.b\".\"c:d\".\"e\"\"f\":1", 24, "", "a.b", "c:d", "e\"f");
	names_are("CRUD:\"app\".\"public\".\"items\":1", 28, "", "app", "public", "items");
	names_are("CRUD:\"{ }\".\xc3\xa9.$1_-=,:1", 21, "", "{ }", "\xc3\xa9", "$1_-=,");
	names_are("items:42", 6, "items", "", "", "");
	names_are("items::", 6, "items", "", "", "");
	names_are("a.b:1", 4, "a.b", "", "", "");
	names_are("\"my items\":42", 11, "my items", "", "", "");
	names_are("\"CRUD\":42", 7, "CRUD", "", "", "");
	names_are("\"\"\"\"\"\":42", 7, "\"\"", "", "", "");
	names_are("crud:42", 5, "crud", "", "", "");
	names_are("CRUDs:42", 6, "CRUDs", "", "", "");
	names_are("a123456789a123456789a123456789a123456789a123456789a123456789abc:1", 64,
			  "a123456789a123456789a123456789a123456789a123456789a123456789abc", "", "", "");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		no_names(none[i], strlen(none[i]));
	no_names("it\0ems:42", 9);
	no_names("\"it\0ems\":42", 11);
}

/* Are these names well-formed only as a whole? */
static void
test_part_of_prefix(void)
{
	static const char prefix[] = "CRUD:a.\"b:\".c:";
	PlcWireNames names;
	int			wrong = 0;

	for (size_t len = 0; len < sizeof(prefix) - 1; len++)
		wrong += plc_wirekey_names(guard_put(&guard, prefix, len), len, &names) ||
			plc_wirekey_prefix(guard_put(&guard, prefix, len), len) != 0;
	tap_is(wrong, 0, "a prefix that is cut off is none");
	tap_ok(!plc_wirekey_names("items:42", 8, &names), "nor is one with something behind");
}

static void
test_quote(void)
{
	static const char *const names[] = {"items", "a.b", "a:b", "a\"b", "\"", "\"\"", "a b", "{", "}", "CRUD", "\xc3\xa9",
		"a\tb", "\x01", "\x7f", "a,b=c", "Items",
	"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		char		key[200];
		size_t		len = plc_wirekey_quote(names[i], guard_room(&guard, 2 * 63 + 2));
		PlcWireNames found;

		memcpy(key, guard_room(&guard, 2 * 63 + 2), len);
		key[len] = ':';
		tap_ok(len <= 2 * 63 + 2 && plc_wirekey_names(key, len + 1, &found) &&
			   strcmp(found.namespace_name, names[i]) == 0, "the name %s is found again as %.*s", names[i],
			   (int) len, key);
	}
	tap_ok(plc_wirekey_quote("items", guard_room(&guard, 128)) == 5, "a usual name needs no quotes");
}

/* Rows */

/* What fields a row has, as "name=value;", and the error if there are none. */
static const char *
fields_of(const char *row, size_t len, const char *single)
{
	static char text[2000];
	PlcWireField fields[MAX_FIELDS];
	const char *error = "no error said";
	int			n = plc_wirekey_fields(guard_put(&guard, row, len), len, single, fields, MAX_FIELDS,
									   guard_room(&scratch_guard, len), plc_escape_utf8, &error);
	char	   *at = text;

	if (n < 0)
		return error;
	*at = '\0';
	for (int i = 0; i < n; i++)
		at += sprintf(at, "%.*s%s%.*s;", (int) fields[i].name_len, fields[i].name != NULL ? fields[i].name : "",
					  fields[i].name != NULL ? "=" : "", (int) fields[i].value_len, fields[i].value);
	return text;
}

static void
check_row(const char *row, size_t len, const char *single, const char *should)
{
	const char *is = fields_of(row, len, single);

	if (!tap_ok(strcmp(is, should) == 0, "%.60s is %s", row, should))
		tap_note("but: %s", is);
}

#define ROW(row, should) check_row(row, sizeof(row) - 1, "id", should)
#define ROWS(row, should) check_row(row, sizeof(row) - 1, NULL, should)

static void
test_json(void)
{
	ROW("{\"id\":42}", "id=42;");
	ROW("{\"id\":\"42\"}", "id=42;");
	ROW(" \t\r\n{ \"id\" : 42 } \n", "id=42;");
	ROW("{\"a\":1,\"b\":\"x\"}", "a=1;b=x;");
	ROW("{ \"b\" : \"x\" , \"a\" : 1 }", "b=x;a=1;");
	ROW("{}", "");
	ROW("{ }", "");
	ROW("{\"\":\"\"}", "=;");
	ROW("{\"id\":000000000042}", "id=000000000042;");
	ROW("{\"id\":\"000000000042\"}", "id=000000000042;");
	ROW("{\"a\":-0,\"b\":-1.5e+10,\"c\":1E5,\"d\":0.10}", "a=-0;b=-1.5e+10;c=1E5;d=0.10;");
	ROW("{\"a\":true,\"b\":false}", "a=true;b=false;");
	ROW("{\"i\\u0064\":\"\\u0034\\u0032\"}", "id=42;");
	ROW("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "a=\"\\/\b\f\n\r\t;");
	ROW("{\"a\":\"x\\u00e9y\\u20ACz\\ud83d\\uDE02\"}", "a=x\xc3\xa9y\xe2\x82\xacz\xf0\x9f\x98\x82;");
	ROW("{\"a\":\"\xc3\xa9\",\"\xc3\xa9\":\"\x7f\"}", "a=\xc3\xa9;\xc3\xa9=\x7f;");
	ROW("{\"a\\n\":\"b\\n\",\"c\\n\":\"d\\n\"}", "a\n=b\n;c\n=d\n;");
	ROW("{\"a\":1,\"b\":2,\"c\":3,\"d\":4}", "a=1;b=2;c=3;d=4;");
	ROWS("{\"id\":42}", "id=42;");
}

static void
test_json_errors(void)
{
	ROW("{\"id\":null}", "key column must not be null");
	ROW("{\"id\":[1]}", "key object must not be nested");
	ROW("{\"id\":{}}", "key object must not be nested");
	ROW("{\"id\":1,\"id\":1}", "key has a column twice");
	ROW("{\"id\":1,\"i\\u0064\":2}", "key has a column twice");
	ROW("{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}", "key has too many columns");
	ROW("{\"id\":\"\\u0000\"}", "key contains a zero byte");
	ROW("{\"id\":\"a\0b\"}", "key object contains a control character");
	ROW("{\"id\":\"a\nb\"}", "key object contains a control character");
	ROW("{\"id\":\"\\n\n\"}", "key object contains a control character");
	ROW("{\"id\":\"\\ud83d\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\ude02\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\ude02\\ude02\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\ud83d\\ue000\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\ud83d\\ud83d\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\ud83dx\\ude02\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\u12g4\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\u123\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\x41\"}", "key object contains an invalid escape");
	ROW("{\"id\":\"\\\0\"}", "key object contains an invalid escape");
	ROW("{\"id\":4 2}", "key object must have a comma or a closing brace behind each value");
	ROW("{\"id\":42,}", "key object must have column names in double quotes");
	ROW("{,\"id\":42}", "key object must have column names in double quotes");
	ROW("{id:42}", "key object must have column names in double quotes");
	ROW("{'id':42}", "key object must have column names in double quotes");
	ROW("{\"id\" 42}", "key object must have a colon behind each column name");
	ROW("{\"id\":42}x", "key goes on behind its object");
	ROW("{\"id\":42}}", "key goes on behind its object");
	ROW("{\"id\":42}\0", "key goes on behind its object");
	ROW("{\"id\":}", "key object contains an invalid value");
	ROW("{\"id\":+1}", "key object contains an invalid value");
	ROW("{\"id\":-}", "key object contains an invalid value");
	ROW("{\"id\":.5}", "key object contains an invalid value");
	ROW("{\"id\":5.}", "key object contains an invalid value");
	ROW("{\"id\":1e}", "key object contains an invalid value");
	ROW("{\"id\":True}", "key object contains an invalid value");
	ROW("{\"id\":truest}", "key object must have a comma or a closing brace behind each value");
	ROW("{\"id\":0x10}", "key object must have a comma or a closing brace behind each value");
	ROW("{\"id\":NaN}", "key object contains an invalid value");
}

static void
test_plain(void)
{
	ROW("42", "42;");
	ROW("id=42", "id=42;");
	ROW("", ";");
	ROW("id=", "id=;");
	ROW("a,b", "a,b;");
	ROW("id=a,b=c", "id=a,b=c;");
	ROW("tenant=7", "tenant=7;");
	ROW("ID=7", "ID=7;");
	ROW("i=7", "i=7;");
	ROW("idx=7", "idx=7;");
	ROW("id", "id;");
	ROW("id:7", "id:7;");
	ROW(" 42", " 42;");
	ROW("\"42\"", "\"42\";");
	ROW("a b:c\n", "a b:c\n;");
	ROW("4\0002", "key contains a zero byte");
	ROWS("tenant=7,id=42", "tenant=7;id=42;");
	ROWS("id=42", "id=42;");
	ROWS("a=,b=x=y", "a=;b=x=y;");
	ROWS("a=1,b=2,c=3,d=4", "a=1;b=2;c=3;d=4;");
	ROWS("a=1,b=2,c=3,d=4,e=5", "key has too many columns");
	ROWS("a=1,a=2", "key has a column twice");
	ROWS("a=1,", "key of several columns must be a JSON object or column=value,column=value");
	ROWS("42", "key of several columns must be a JSON object or column=value,column=value");
	ROWS("", "key of several columns must be a JSON object or column=value,column=value");
	ROWS("7,42", "key of several columns must be a JSON object or column=value,column=value");
	ROWS("a=1,b\0=2", "key contains a zero byte");
}

/* A row in JSON that is cut off anywhere is an error, and nothing behind it is looked at. */
static void
test_cut_off(void)
{
	static const char row[] = "{\"a\\n\":\"b\\ud83d\\ude02\",\"c\":-12.5e+3,\"d\":true}";
	int			wrong = 0;

	for (size_t len = 1; len < sizeof(row) - 1; len++)
	{
		PlcWireField fields[MAX_FIELDS];
		const char *error = NULL;

		wrong += plc_wirekey_fields(guard_put(&guard, row, len), len, "id", fields, MAX_FIELDS,
									guard_room(&scratch_guard, len), plc_escape_utf8, &error) != -1 || error == NULL;
	}
	tap_is(wrong, 0, "a row that is cut off is an error");
}

/* The short way */

static void
integer_is(const char *row, bool should, long long value)
{
	long long	found = 0;
	bool		is = plc_wirekey_integer(guard_put(&guard, row, strlen(row)), strlen(row), "id", 2, &found);

	tap_ok(is == should && (!should || found == value), "%s is %s", row, should ? "read at once" : "left to the parser");
}

static void
test_integer(void)
{
	static const char *const others[] = {"", "{", "{}", "{\"", "{\"id\"}", "{\"id\":}", "{\"id\":\"}", "{\"id\":\"\"}",
		"{\"id\":\"42}", "{\"id\":42\"}", "{\"id\":4x}", "{\"id\":42", "{\"id\":42}x", "{\"id\":42 }",
		"{\"ix\":42}", "{\"idx\":42}",
		"{\"i\":42}", "{\"id\":-}", "{\"id\":4.0}", "{\"id\":null}", "{\"id\": \" 42\"}", "id=", "id", "ID=42", "idx=42",
		"id=4x", "4x", "x", "-", "+1", " 42", "42 ", "--1", "9223372036854775808", "-9223372036854775809",
	"18446744073709551616", "99999999999999999999", "340282366920938463463374607431768211456"};
	long long	value;

	integer_is("{\"id\":42}", true, 42);
	integer_is("{\"id\":\"42\"}", true, 42);
	integer_is("{\"id\": 42}", true, 42);
	integer_is("{\"id\":  \"42\"}", true, 42);
	integer_is("{\"id\":0}", true, 0);
	integer_is("{\"id\":-7}", true, -7);
	integer_is("{\"id\":\"-7\"}", true, -7);
	integer_is("42", true, 42);
	integer_is("id=42", true, 42);
	integer_is("id=-42", true, -42);
	integer_is("000000000042", true, 42);
	integer_is("{\"id\":000000000042}", true, 42);
	integer_is("{\"id\":\"000000000042\"}", true, 42);
	integer_is("0000000000000000000000000000000000000000", true, 0);
	integer_is("-0", true, 0);
	integer_is("9223372036854775807", true, LLONG_MAX);
	integer_is("-9223372036854775808", true, LLONG_MIN);
	integer_is("{\"id\":\"0009223372036854775807\"}", true, LLONG_MAX);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		integer_is(others[i], false, 0);
	tap_ok(!plc_wirekey_integer("{\"a\"b\":1}", 9, "a\"b", 3, &value) &&
		   !plc_wirekey_integer("{\"a\\nb\":1}", 10, "a\\nb", 4, &value), "a column with escapes is left to the parser");
}

int
main(void)
{
	guard = guard_new(4096);
	scratch_guard = guard_new(4096);
	test_names();
	test_part_of_prefix();
	test_quote();
	test_json();
	test_json_errors();
	test_plain();
	test_cut_off();
	test_integer();
	return tap_done();
}
