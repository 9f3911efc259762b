/*
 * test_resp_rowjson.c
 *		The columns of a row, out of its JSON text.
 */
#include <string.h>

#include "guard.h"
#include "resp/rowjson.h"
#include "tap.h"

static Guard guard;
static Guard out_guard;

/* All columns, as "name kind value;" with the escapes resolved in texts only. */
static const char *
columns_of(const char *json, size_t len)
{
	static char text[4000];
	const char *bytes = guard_put(&guard, json, len);
	char	   *to = text;
	PlcRowField field;
	size_t		at = 0;

	while (plc_row_next(bytes, len, &at, &field))
	{
		char	   *out = guard_room(&out_guard, field.value_len);
		size_t		n = field.value_len;

		if (field.kind == PLC_ROW_TEXT)
			n = plc_row_unescape(field.value, field.value_len, out);
		else
			memcpy(out, field.value, n);
		to += sprintf(to, "%.*s %c ", (int) field.name_len, field.name,
					  field.kind == PLC_ROW_TEXT ? 't' : field.kind == PLC_ROW_RAW ? 'r' : 'n');
		memcpy(to, out, n);
		to += n;
		*to++ = ';';
	}
	*to = '\0';
	if (plc_row_next(bytes, len, &at, &field) || at != len)
		return "goes on behind its end";
	return text;
}

static void
check(const char *json, const char *should)
{
	const char *is = columns_of(json, strlen(json));

	if (!tap_ok(strcmp(is, should) == 0, "%.70s is %s", json, should))
		tap_note("but: %s", is);
}

static void
test_columns(void)
{
	check("{}", "");
	check("{ }", "");
	check("{\"id\":42}", "id r 42;");
	check("{\"id\":42,\"name\":\"x\",\"note\":null}", "id r 42;name t x;note n null;");
	check("{\"a\":true,\"b\":false,\"c\":-1.5e+10,\"d\":\"NaN\"}", "a r true;b r false;c r -1.5e+10;d t NaN;");
	check("{\"a\":\"\",\"\":\"b\"}", "a t ; t b;");
	check("{\"a\":\"null\",\"b\":\"{\",\"c\":\",\\\"d\\\":\"}", "a t null;b t {;c t ,\"d\":;");
	check("{\"a\":{},\"b\":[],\"c\":1}", "a r {};b r [];c r 1;");
	check("{\"a\":{\"b\":{\"c\":[1,[2,{}]]}},\"d\":2}", "a r {\"b\":{\"c\":[1,[2,{}]]}};d r 2;");
	check("{\"a\":[\"]\",\"}\",\"\\\"]\",\"\\\\\"],\"d\":2}", "a r [\"]\",\"}\",\"\\\"]\",\"\\\\\"];d r 2;");
	check("{\"a\":{\"b\":null},\"n\":null}", "a r {\"b\":null};n n null;");
	/* columns of type json keep their white space */
	check("{\"a\":  {\"x\" : 1}  ,\"b\":\n[ ]\t,\"c\": 1 ,\"d\": null ,\"e\": \"x\" }",
		  "a r {\"x\" : 1};b r [ ];c r 1;d n null;e t x;");
	check(" { \"a\" : 1 , \"b\" : 2 } ", "a r 1;b r 2;");
	check("{\"\\\"\":1,\"a\\\\\":2,\"{,\":3}", "\\\" r 1;a\\\\ r 2;{, r 3;");
}

static void
test_escapes(void)
{
	check("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "a t \"\\/\b\f\n\r\t;");
	check("{\"a\":\"x\\u00e9\\u20ac\\uD83D\\ude02y\"}", "a t x\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x82y;");
	check("{\"a\":\"\xc3\xa9\"}", "a t \xc3\xa9;");
	/* the type json lets these pass */
	check("{\"a\":\"<\\ud83d>\",\"b\":\"\\ude02\\ud83d\"}", "a t <\xef\xbf\xbd>;b t \xef\xbf\xbd\xef\xbf\xbd;");
	check("{\"a\":\"\\ud83d\\ud83d\\ude02\"}", "a t \xef\xbf\xbd\xf0\x9f\x98\x82;");
	tap_ok(memcmp(columns_of("{\"a\":\"\\u0000\"}", 14), "a t \0;", 7) == 0, "a zero byte is one");
	/* what is no escape stays */
	check("{\"a\":\"\\x\\u12\\u12g4\"}", "a t \\x\\u12\\u12g4;");
}

/* What is no row must end, and must not be read behind its end. */
static void
test_broken(void)
{
	static const char row[] = "{\"a\\n\":{\"b\":[\"]\\\"\"]} ,\"c\":\"\\ud83d\\ude02\",\"d\":-1.5,\"e\":null}";
	static const char *const broken[] = {"", " ", "{", "}", "[1]", "null", "\"a\"", "{a:1}", "{\"a\"}", "{\"a\" 1}",
	"{\"a\":}", "{\"a\":,", "{,", "{\"a", "{\"a\\", "{\"a\":\"", "{\"a\":\"\\", "{\"a\":\"b\\\""};
	int			wrong = 0;

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		check(broken[i], "");
	check("{\"a\":1 2,\"b\":3}", "a r 1;");
	check("{\"a\":1]", "a r 1];");
	check("{\"a\":[1", "a r [1;");
	check("{\"a\":[\"", "a r [\";");
	check("{\"a\":}}", "");
	for (size_t len = 0; len < sizeof(row) - 1; len++)
		wrong += strcmp(columns_of(row, len), "goes on behind its end") == 0;
	tap_is(wrong, 0, "a row that is cut off has an end");
}

static bool
name_is(const char *escaped, const char *name)
{
	PlcRowField field = {guard_put(&guard, escaped, strlen(escaped)), strlen(escaped), PLC_ROW_NULL, NULL, 0};

	return plc_row_name_is(&field, guard_put(&out_guard, name, strlen(name)), strlen(name));
}

static void
test_names(void)
{
	static const char *const same[][2] = {{"id", "id"}, {"", ""}, {"a\\\"b", "a\"b"}, {"\\\\", "\\"}, {"\\u0001", "\x01"},
	{"\\u00e9", "\xc3\xa9"}, {"\xc3\xa9", "\xc3\xa9"}, {"\\ud83d\\ude02x", "\xf0\x9f\x98\x82x"}, {"a\\nb\\tc", "a\nb\tc"}};
	static const char *const different[][2] = {{"id", "ID"}, {"id", "i"}, {"id", "idx"}, {"id", ""}, {"", "i"},
	{"a\\nb", "a\\nb"}, {"a\\nb", "anb"}, {"a\\nb", "a\n"}, {"a\\n", "a\nb"}, {"a\\nb", "a\nc"}, {"\\\\", "\\\\"},
	{"\\u00e9", "\xc3"}, {"\\u00e9", "\xc3\xa8"}};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		tap_ok(name_is(same[i][0], same[i][1]), "\"%s\" is its name", same[i][0]);
	for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++)
		tap_ok(!name_is(different[i][0], different[i][1]), "\"%s\" is not %s", different[i][0], different[i][1]);
}

int
main(void)
{
	guard = guard_new(4096);
	out_guard = guard_new(4096);
	test_columns();
	test_escapes();
	test_broken();
	test_names();
	return tap_done();
}
