/*
 * test_resp_reply.c
 *		Replies in both versions of the protocol, byte for byte.
 */
#include <stdint.h>
#include <string.h>

#include "resp/codec.h"
#include "tap.h"

static PlcBuffer out;

/* Is this what was written since the last call? */
static void
wrote(const char *bytes, size_t len, const char *name)
{
	bool		right = plc_buffer_length(&out) == len && memcmp(plc_buffer_bytes(&out), bytes, len) == 0;

	tap_ok(right && !out.failed, "%s", name);
	if (!right)
		tap_note("wrote %.*s", (int) plc_buffer_length(&out), plc_buffer_bytes(&out));
	plc_buffer_cut(&out, 0);
}

#define WROTE(bytes, name) wrote(bytes, sizeof(bytes) - 1, name)

static void
test_lines(void)
{
	plc_reply_simple(&out, "OK");
	WROTE("+OK\r\n", "a simple string");
	plc_reply_simple(&out, "");
	WROTE("+\r\n", "an empty one");
	plc_reply_error(&out, "ERR unknown command 'x'");
	WROTE("-ERR unknown command 'x'\r\n", "an error");
	plc_reply_error(&out, "ERR a\r\nb\nc\rd");
	WROTE("-ERR a  b c d\r\n", "an error of several lines becomes one line");
	plc_reply_simple(&out, "a\r\n+b");
	WROTE("+a  +b\r\n", "so does a simple string");
}

/* An error of n bytes, then "..." which must be cut. */
static void
check_cut(size_t n, const char *tail, size_t kept)
{
	char		text[2000];
	char		reply[2000];

	memset(text, 'e', n);
	strcpy(text + n, tail);
	plc_reply_error(&out, text);
	reply[0] = '-';
	memcpy(reply + 1, text, kept);
	memcpy(reply + 1 + kept, "\r\n", 2);
	wrote(reply, kept + 3, "a long error is cut, between characters");
}

static void
test_integers(void)
{
	plc_reply_integer(&out, 0);
	WROTE(":0\r\n", "zero");
	plc_reply_integer(&out, 1234567890);
	WROTE(":1234567890\r\n", "a number");
	plc_reply_integer(&out, -2);
	WROTE(":-2\r\n", "a negative number");
	plc_reply_integer(&out, INT64_MAX);
	WROTE(":9223372036854775807\r\n", "the largest number");
	plc_reply_integer(&out, INT64_MIN);
	WROTE(":-9223372036854775808\r\n", "the smallest number");
}

static void
test_bulks(void)
{

	plc_reply_bulk(&out, "{\"id\":42}", 9);
	WROTE("$9\r\n{\"id\":42}\r\n", "a bulk string");
	plc_reply_bulk(&out, "", 0);
	WROTE("$0\r\n\r\n", "an empty one");
	plc_reply_bulk(&out, NULL, 0);
	WROTE("$0\r\n\r\n", "an empty one of no address");
	plc_reply_bulk(&out, "a\0\r\n", 4);
	WROTE("$4\r\na\0\r\n\r\n", "one with any bytes");
	plc_reply_string(&out, "text");
	WROTE("$4\r\ntext\r\n", "one from a string");
	plc_reply_verbatim(&out, 2, "# Server\r\n", 10);
	WROTE("$10\r\n# Server\r\n\r\n", "a verbatim string in version 2");
	plc_reply_verbatim(&out, 3, "# Server\r\n", 10);
	WROTE("=14\r\ntxt:# Server\r\n\r\n", "and in version 3");
}

static void
test_nulls(void)
{
	plc_reply_null(&out, 2);
	WROTE("$-1\r\n", "null in version 2");
	plc_reply_null(&out, 3);
	WROTE("_\r\n", "and in version 3");
}

static void
test_collections(void)
{
	plc_reply_array(&out, 0);
	WROTE("*0\r\n", "an empty array");
	plc_reply_array(&out, 1000000);
	WROTE("*1000000\r\n", "a long array");
	plc_reply_map(&out, 2, 7);
	WROTE("*14\r\n", "a map in version 2");
	plc_reply_map(&out, 3, 7);
	WROTE("%7\r\n", "and in version 3");
	plc_reply_map(&out, 2, 0);
	WROTE("*0\r\n", "an empty map in version 2");
	plc_reply_map(&out, 3, 0);
	WROTE("%0\r\n", "and in version 3");
	plc_reply_set(&out, 2, 3);
	WROTE("*3\r\n", "a set in version 2");
	plc_reply_set(&out, 3, 3);
	WROTE("~3\r\n", "and in version 3");
}

/* Each kind of reply; returns how many there are. */
static int
write_reply(int kind)
{
	static char large[20000];

	switch (kind)
	{
		case 0: plc_reply_simple(&out, "simple"); break;
		case 1: plc_reply_error(&out, "ERR error"); break;
		case 2: plc_reply_integer(&out, 12345); break;
		case 3: plc_reply_bulk(&out, large, sizeof(large)); break;
		case 4: plc_reply_verbatim(&out, 3, large, 100); break;
		case 5: plc_reply_null(&out, 2); break;
		case 6: plc_reply_array(&out, 12345); break;
		case 7: plc_reply_map(&out, 3, 12345); break;
	}
	return 8;
}

static void
test_full(void)
{
	for (int kind = 0; kind < write_reply(-1); kind++)
	{
		plc_buffer_release(&out);
		plc_buffer_init(&out, 8);
		plc_reply_null(&out, 2);
		plc_reply_null(&out, 3);
		write_reply(kind);
		tap_ok(out.failed && plc_buffer_length(&out) == 8, "a reply of kind %d that does not fit writes nothing", kind);
	}
}

int
main(void)
{
	plc_buffer_init(&out, 100000);
	test_lines();
	check_cut(511, "", 511);
	check_cut(512, "", 512);
	check_cut(513, "", 512);
	check_cut(511, "\xc3\xa9", 511);
	check_cut(510, "\xc3\xa9...", 512);
	check_cut(509, "\xf0\x9f\x98\x82", 509);
	check_cut(510, "\xf0\x9f\x98\x82", 510);
	check_cut(511, "\xf0\x9f\x98\x82", 511);
	check_cut(508, "\xf0\x9f\x98\x82", 512);
	check_cut(500, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 508);
	test_integers();
	test_bulks();
	test_nulls();
	test_collections();
	plc_reply_bulk(&out, "", SIZE_MAX - 3);
	tap_ok(out.failed, "a size that overflows does not fit");
	test_full();
	plc_buffer_release(&out);
	return tap_done();
}
