/*
 * test_resp_request.c
 *		Requests from bytes: what they mean, what is refused, however they are split.
 *
 * Each case is bytes and what must come out of them, written down: a request as its
 * arguments in brackets, "-" for one without any, "!" and the reason when it is
 * refused, nothing for what is not whole.  Each is fed whole, a byte at a time, in
 * pieces of 3, and split in two at every place.  With each piece, all bytes that
 * have come are put before an inaccessible page, so they move, and a byte read
 * behind them is a crash.
 */
#include <stdint.h>

#include "guard.h"
#include "resp/codec.h"
#include "tap.h"

static const PlcLimits usual = {.request = 4096, .bulk = 1024, .args = 20, .authenticated = true};
static const PlcLimits stranger = {.request = 1 << 20, .bulk = 1 << 20, .args = 1000, .authenticated = false};

typedef struct Case
{
	const char *bytes;
	size_t		len;
	const char *outcome;
} Case;

#define CASE(bytes, outcome) {bytes, sizeof(bytes) - 1, outcome}

static const Case requests[] = {
	CASE("*1\r\n$4\r\nPING\r\n", "[PING]"),
	CASE("*2\r\n$3\r\nGET\r\n$8\r\nitems:42\r\n", "[GET items:42]"),
	CASE("*2\r\n$3\r\nGET\r\n$0\r\n\r\n", "[GET ]"),
	CASE("*1\r\n$0\r\n\r\n", "[]"),
	CASE("*2\r\n$3\r\nGET\r\n$4\r\n\r\n\0*\r\n", "[GET \\x0d\\x0a\\x00*]"),
	CASE("*3\r\n$1\r\na\r\n$12\r\n$3\r\n*1\r\n'\"  \r\n$1\r\n$\r\n", "[a $3\\x0d\\x0a*1\\x0d\\x0a'\"\\x20\\x20 $]"),
	CASE("*12\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n"
		 "$2\r\n10\r\n$2\r\n11\r\n$2\r\n12\r\n", "[1 2 3 4 5 6 7 8 9 10 11 12]"),
	/* nothing to answer */
	CASE("*0\r\n", "-"),
	CASE("*-1\r\n", "-"),
	CASE("*-9223372036854775808\r\n", "-"),
	CASE("\r\n", "-"),
	CASE("\n", "-"),
	CASE(" \t \r\n", "-"),
	CASE("*0\r\n*-1\r\n\r\n*1\r\n$4\r\nPING\r\n", "---[PING]"),
	/* one behind the other */
	CASE("*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "[PING][GET k]"),
	CASE("PING\r\n*1\r\n$4\r\nPING\r\nPING\n*1\r\n$4\r\nQUIT\r\n", "[PING][PING][PING][QUIT]"),
	CASE("\r\n*2\r\n$4\r\nECHO\r\n$20\r\n01234567890123456789\r\n", "-[ECHO 01234567890123456789]"),
	/* not whole */
	CASE("*", ""),
	CASE("*2\r\n$3\r\nGET\r\n$8\r\nitems:4", ""),
	CASE("*2\r\n$3\r\nGET\r\n$8\r\nitems:42\r", ""),
	CASE("PING", ""),
	CASE("*abc", ""),
};

static const Case inlines[] = {
	CASE("PING\r\n", "[PING]"),
	CASE("PING\n", "[PING]"),
	CASE("  ping  \r\n", "[ping]"),
	CASE("SET k\tv\r\n", "[SET k v]"),
	CASE("GET \"a b\"\r\n", "[GET a\\x20b]"),
	CASE("GET 'a b'\r\n", "[GET a\\x20b]"),
	CASE("GET \"\" ''\r\n", "[GET  ]"),
	CASE("GET \"\\x41\\x00\\xfF\\n\\r\\t\\b\\a\\\\\\\"\\q\"\r\n", "[GET A\\x00\\xff\\x0a\\x0d\\x09\\x08\\x07\\\"q]"),
	CASE("GET \"\\x4\" \"\\xg1\"\r\n", "[GET x4 xg1]"),
	CASE("GET 'it\\'s \\n'\r\n", "[GET it's\\x20\\n]"),
	CASE("GET a\"b c\"\r\n", "[GET ab\\x20c]"),
	CASE("GET \\x41\r\n", "[GET \\x41]"),
	CASE("GET 'CRUD:app.public.items:{\"id\":42}'\r\n", "[GET CRUD:app.public.items:{\"id\":42}]"),
	CASE("GET \"CRUD:app.public.items:{\\\"id\\\":42}\"\r\n", "[GET CRUD:app.public.items:{\"id\":42}]"),
	CASE("$3\r\n", "[$3]"),
	CASE("+OK\r\n:1\r\n", "[+OK][:1]"),
	CASE("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\r\n",
		 "[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20]"),
	/* commands whose names a browser knows too */
	CASE("GET HTTP/1.1\r\n", "[GET HTTP/1.1]"),
	CASE("GET / HTTP\r\n", "[GET / HTTP]"),
	CASE("a b c\r\n", "[a b c]"),
	CASE("*1\r\n$4\r\nPOST\r\n", "[POST]"),
};

static const Case refusals[] = {
	CASE("*abc\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*\r\nPING\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*01\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*00\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*+1\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*-0\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*-\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("* 1\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*1 \r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*1\n$4\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*1\rx", "!ERR Protocol error: invalid multibulk length"),
	CASE("*1\0\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*1\0\n$4\r\nPING\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*21\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*4294967297\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*18446744073709551617\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*9223372036854775808\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*1\r\n$-1\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n$-9223372036854775809\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n$1025\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n$536870913\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n$18446744073709551617\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n$04\r\nPING\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n$\r\n\r\n\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n$x\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n$4\n\nPING\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*1\r\n:4\r\n", "!ERR Protocol error: expected '$', got ':'"),
	CASE("*1\r\n*1\r\n", "!ERR Protocol error: expected '$', got '*'"),
	CASE("*1\r\n\r\n", "!ERR Protocol error: expected '$', got '\\x0d'"),
	CASE("*2\r\n$1\r\na\r\n\377", "!ERR Protocol error: expected '$', got '\\xff'"),
	CASE("*1\r\n$4\r\nPINGS\r\n", "!ERR Protocol error: expected CRLF after bulk string"),
	CASE("*1\r\n$4\r\nPINGS", "!ERR Protocol error: expected CRLF after bulk string"),
	CASE("*1\r\n$4\r\nPING\rx", "!ERR Protocol error: expected CRLF after bulk string"),
	CASE("*1\r\n$4\r\nPING\n\r", "!ERR Protocol error: expected CRLF after bulk string"),
	CASE("*1\r\n$4\r\nPIN\r\n*1\r\n", "!ERR Protocol error: expected CRLF after bulk string"),
	CASE("*1\r\n$4\r\nPING\r\n*1\r\n$x\r\n", "[PING]!ERR Protocol error: invalid bulk length"),
	CASE("GET {\"id\":42}\r\n", "!ERR Protocol error: unbalanced quotes in request"),
	CASE("GET \"a\r\n", "!ERR Protocol error: unbalanced quotes in request"),
	CASE("GET 'a\n", "!ERR Protocol error: unbalanced quotes in request"),
	CASE("GET \"a\"b\r\n", "!ERR Protocol error: unbalanced quotes in request"),
	CASE("GET 'a'b\r\n", "!ERR Protocol error: unbalanced quotes in request"),
	CASE("GET \"a\\\"\r\n", "!ERR Protocol error: unbalanced quotes in request"),
	CASE("GET \"a\\\n", "!ERR Protocol error: unbalanced quotes in request"),
	CASE("PI\0NG\r\n", "!ERR Protocol error: unexpected zero byte in inline request"),
	CASE("\26\3\1\0", "!ERR Protocol error: unexpected zero byte in inline request"),
	CASE("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\r\n", "!ERR Protocol error: invalid multibulk length"),
	/* browsers get no answer */
	CASE("POST / HTTP/1.1\r\nHost: x\r\n\r\nSET k v\r\n", "!close"),
	CASE("post\r\n", "!close"),
	CASE("Host: localhost\r\n", "!close"),
	CASE("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "!close"),
	CASE("PUT /x HTTP/1.0\r\n", "!close"),
	CASE("HEAD /x HTTP/2\n", "!close"),
};

static const Case strangers[] = {
	CASE("*11\r\n", "!ERR Protocol error: unauthenticated multibulk length"),
	CASE("*2147483647\r\n", "!ERR Protocol error: unauthenticated multibulk length"),
	CASE("*2147483648\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*x\r\n", "!ERR Protocol error: invalid multibulk length"),
	CASE("*10\r\n$16384\r\n", ""),
	CASE("*10\r\n$-1\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("*10\r\n$16385\r\n", "!ERR Protocol error: unauthenticated bulk length"),
	CASE("*10\r\n$536870912\r\n", "!ERR Protocol error: unauthenticated bulk length"),
	CASE("*10\r\n$536870913\r\n", "!ERR Protocol error: invalid bulk length"),
	CASE("1 2 3 4 5 6 7 8 9 10\r\n", "[1 2 3 4 5 6 7 8 9 10]"),
	CASE("1 2 3 4 5 6 7 8 9 10 11\r\n", "!ERR Protocol error: unauthenticated multibulk length"),
};

/* What came out */
typedef struct Outcome
{
	char		text[512];
	size_t		len;
	bool		strayed;		/* an argument was not in the bytes, or too much was consumed */
} Outcome;

static Guard guard;

static void __attribute__((format(printf, 2, 3)))
note(Outcome *outcome, const char *format,...)
{
	size_t		room = sizeof(outcome->text) - outcome->len;
	va_list		args;

	va_start(args, format);
	outcome->len += (size_t) vsnprintf(outcome->text + outcome->len, room, format, args);
	va_end(args);
	if (outcome->len >= sizeof(outcome->text))
		outcome->len = sizeof(outcome->text) - 1;
}

/* Long arguments as their length, since that is what matters of them here. */
static void
note_arg(Outcome *outcome, const PlcArg *arg)
{
	if (arg->len > 100)
	{
		note(outcome, "(%zu)", arg->len);
		return;
	}
	for (size_t i = 0; i < arg->len; i++)
	{
		unsigned char c = (unsigned char) arg->data[i];

		if (c > ' ' && c < 0x7f)
			note(outcome, "%c", c);
		else
			note(outcome, "\\x%02x", c);
	}
}

static void
note_request(Outcome *outcome, const PlcParser *parser)
{
	for (int i = 0; i < parser->argc; i++)
	{
		note(outcome, i == 0 ? "[" : " ");
		note_arg(outcome, &parser->argv[i]);
	}
	note(outcome, parser->argc > 0 ? "]" : "-");
}

static void
check_place(Outcome *outcome, const PlcParser *parser, const char *bytes, size_t consumed)
{
	for (int i = 0; i < parser->argc && bytes[0] == '*'; i++)
	{
		const char *data = parser->argv[i].data;

		if (data < bytes || data + parser->argv[i].len + 2 > bytes + consumed)
			outcome->strayed = true;
	}
}

/* Parses what is there; returns how much of it is done with.  *open: the connection still is. */
static size_t
parse_all(PlcParser *parser, const PlcLimits *limits, const char *bytes, size_t len,
		  Outcome *outcome, bool *open)
{
	size_t		done = 0;

	while (*open)
	{
		size_t		consumed = 99;
		PlcParseResult result = plc_parse(parser, limits, bytes + done, len - done, &consumed);

		if (result != PLC_PARSE_REQUEST && consumed != 0)
			outcome->strayed = true;
		if (result == PLC_PARSE_MORE)
			break;
		if (result == PLC_PARSE_FAILED)
		{
			note(outcome, "!%s", parser->error != NULL ? parser->error : "close");
			*open = false;
			break;
		}
		if (consumed == 0 || consumed > len - done)
			outcome->strayed = true;
		note_request(outcome, parser);
		check_place(outcome, parser, bytes + done, consumed);
		done += consumed;
	}
	return done;
}

/* A first piece, then pieces of one size. */
static Outcome
feed(const char *bytes, size_t len, const PlcLimits *limits, size_t first, size_t size)
{
	Outcome		outcome = {.len = 0};
	PlcParser	parser = {0};
	size_t		start = 0;
	size_t		end = 0;
	bool		open = true;

	while (end < len && open)
	{
		size_t		piece = end == 0 ? first : size;

		end = len - end < piece ? len : end + piece;
		start += parse_all(&parser, limits, guard_put(&guard, bytes + start, end - start),
						   end - start, &outcome, &open);
	}
	plc_parser_release(&parser);
	return outcome;
}

static bool
feed_is(const Case *c, const PlcLimits *limits, size_t first, size_t size)
{
	Outcome		outcome = feed(c->bytes, c->len, limits, first, size);

	if (!outcome.strayed && strcmp(outcome.text, c->outcome) == 0)
		return true;
	tap_note("pieces of %zu, then %zu: %s%s", first, size, outcome.text, outcome.strayed ? ", and strayed" : "");
	return false;
}

static void
test_case(const Case *c, const PlcLimits *limits)
{
	bool		right = feed_is(c, limits, c->len, c->len) && feed_is(c, limits, 1, 1) && feed_is(c, limits, 3, 3);

	for (size_t first = 1; first < c->len && right; first++)
		right = feed_is(c, limits, first, c->len);
	tap_ok(right, "%.40s%s", c->outcome[0] != '\0' ? c->outcome : "waits for more", " in all splits");
}

#define TEST_CASES(cases, limits) \
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) \
		test_case(&cases[i], limits)

/* Long lines */

/* A line of that many bytes before its end, split around the limit and elsewhere. */
static void
test_long_line(char first, char filler, size_t bytes_before_end, const char *end, const char *outcome)
{
	static char line[2 * 65536];
	size_t		len = bytes_before_end + strlen(end);
	Case		c = {line, len, outcome};
	bool		right;

	memset(line, filler, bytes_before_end);
	line[0] = first;
	memcpy(line + bytes_before_end, end, strlen(end));
	right = feed_is(&c, &usual, len, len) && feed_is(&c, &usual, 1000, 16384);
	for (size_t split = 65530; split < 65545 && split < len && right; split++)
		right = feed_is(&c, &usual, split, 1);
	tap_ok(right, "a line of %zu bytes of '%c'%s: %.50s", bytes_before_end, filler,
		   end[0] != '\0' ? " and its end" : "", outcome);
}

static void
test_long_lines(void)
{
	static const char *inline_error = "!ERR Protocol error: too big inline request";
	static const char *larger = "!ERR Protocol error: request is larger than pg_local_cache.request_limit";
	static const char *count_error = "!ERR Protocol error: too big mbulk count string";

	test_long_line('x', 'x', 65536, "", "");
	test_long_line('x', 'x', 65537, "", inline_error);
	test_long_line('x', 'x', 65536, "\n", larger);
	test_long_line('x', 'x', 65537, "\n", inline_error);
	test_long_line('*', '1', 65536, "", "");
	test_long_line('*', '1', 65536, "\r\n", "!ERR Protocol error: invalid multibulk length");
	test_long_line('*', '1', 65537, "", count_error);
	test_long_line('*', 'a', 65537, "\r\n", count_error);
	test_long_line('*', '0', 65536, "\r\n", "!ERR Protocol error: invalid multibulk length");
}

static void
test_long_bulk_header(void)
{
	static char bytes[65536 + 100];
	size_t		start = (size_t) sprintf(bytes, "*2\r\n$1\r\na\r\n$");
	Case		waits = {bytes, start - 1 + 65536, ""};
	Case		fails = {bytes, start - 1 + 65537, "!ERR Protocol error: too big bulk count string"};

	memset(bytes + start, '7', sizeof(bytes) - start);
	tap_ok(feed_is(&waits, &usual, 5000, 16384), "a length of 65535 digits is waited for");
	tap_ok(feed_is(&fails, &usual, 5000, 16384) && feed_is(&fails, &usual, 65536, 1) &&
		   feed_is(&fails, &usual, fails.len, 1), "a length of 65536 digits is refused");
}

/* Limits */

static void
test_request_limit(void)
{
	static const char request[] = "*2\r\n$3\r\nGET\r\n$8\r\nitems:42\r\n";
	static const char line[] = "GET items:42\r\n";
	static const char *larger = "!ERR Protocol error: request is larger than pg_local_cache.request_limit";
	PlcLimits	limits = usual;
	Case		c = CASE(request, "[GET items:42]");
	Case		early = {request, sizeof("*2\r\n$3\r\nGET\r\n$8\r\n") - 1, larger};
	Case		l = CASE(line, "[GET items:42]");

	limits.request = sizeof(request) - 1;
	test_case(&c, &limits);
	limits.request--;
	c.outcome = larger;
	test_case(&c, &limits);
	test_case(&early, &limits);
	limits.request = 1;
	test_case(&c, &limits);
	limits.request = sizeof(line) - 1;
	test_case(&l, &limits);
	limits.request--;
	l.outcome = larger;
	test_case(&l, &limits);
}

static void
test_bulk_limit(void)
{
	static char bytes[2000];
	PlcLimits	limits = usual;
	size_t		len = (size_t) sprintf(bytes, "*1\r\n$1024\r\n%01024d\r\n", 7);
	Case		fits = {bytes, len, "[(1024)]"};
	Case		word = {bytes, 0, "[(1024)]"};

	test_case(&fits, &usual);
	limits.bulk = 1023;
	fits.outcome = "!ERR Protocol error: invalid bulk length";
	test_case(&fits, &limits);
	word.len = (size_t) sprintf(bytes, "%01024d\n", 7);
	test_case(&word, &usual);
	word.outcome = fits.outcome;
	test_case(&word, &limits);
}

/* Memory */

static void
test_memory(void)
{
	static char bytes[100000 * 8 + 100];
	PlcLimits	limits = {.request = sizeof(bytes), .bulk = 1024, .args = 100000, .authenticated = true};
	PlcParser	parser = {0};
	size_t		len = (size_t) sprintf(bytes, "*100000\r\n");
	size_t		consumed;

	tap_ok(plc_parse(&parser, &limits, bytes, len, &consumed) == PLC_PARSE_MORE && parser.room <= 256,
		   "a promise of 100000 arguments takes little memory");
	for (int i = 0; i < 100000; i++)
		len += (size_t) sprintf(bytes + len, "$1\r\n%d\r\n", i % 10);
	tap_ok(plc_parse(&parser, &limits, bytes, len, &consumed) == PLC_PARSE_REQUEST && consumed == len &&
		   parser.argc == 100000 && parser.argv[99999].data[0] == '9', "a request of 100000 arguments");
	tap_is(parser.room, 131072, "memory for them was doubled each time");
	plc_parser_reset(&parser);
	tap_ok(parser.argv == NULL && parser.room == 0, "its memory is not kept");
	len = (size_t) sprintf(bytes, "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
	tap_ok(plc_parse(&parser, &limits, bytes, len, &consumed) == PLC_PARSE_REQUEST && parser.argc == 2,
		   "the parser goes on after a reset");
	plc_parser_reset(&parser);
	tap_ok(parser.argv != NULL && parser.argc == 0, "memory for few arguments is kept");
	tap_ok(plc_parse(&parser, &limits, bytes, len - 5, &consumed) == PLC_PARSE_MORE, "a request cut off");
	plc_parser_reset(&parser);
	tap_ok(plc_parse(&parser, &limits, bytes, len, &consumed) == PLC_PARSE_REQUEST && parser.argc == 2 &&
		   consumed == len, "a reset forgets it");
	plc_parse(&parser, &limits, "a 'b'\n", 6, &consumed);
	plc_parser_reset(&parser);
	tap_ok(parser.words == NULL, "the words of an inline request are not kept");
	plc_parser_release(&parser);
	tap_ok(parser.argv == NULL && parser.room == 0, "release keeps nothing");
}

/* Many */

/* A million commands in one stream, as --pipe sends them, through a buffer of a few kB. */
static void
test_glued(void)
{
	static const char piece[] = "*2\r\n$3\r\nGET\r\n$8\r\nitems:42\r\nPING\r\n*1\r\n$4\r\nPING\r\n\r\n*3\r\n$3\r\nSET\r\n"
		"$1\r\nk\r\n$5\r\n1\r\n\0005\r\n";
	static const int args[] = {2, 1, 1, 0, 3};
	const size_t pieces = 200000;
	PlcParser	parser = {0};
	PlcBuffer	buffer;
	size_t		fed = 0;
	size_t		total = pieces * (sizeof(piece) - 1);
	size_t		wrong = 0;
	size_t		commands = 0;
	size_t		most = 0;

	plc_buffer_init(&buffer, 10000);
	while (fed < total)
	{
		char	   *room = plc_buffer_room(&buffer, 4001);
		size_t		n = total - fed < 4001 ? total - fed : 4001;
		size_t		consumed;

		for (size_t i = 0; i < n; i++)
			room[i] = piece[fed++ % (sizeof(piece) - 1)];
		plc_buffer_added(&buffer, n);
		while (plc_parse(&parser, &usual, plc_buffer_bytes(&buffer), plc_buffer_length(&buffer), &consumed) ==
			   PLC_PARSE_REQUEST)
		{
			wrong += parser.argc != args[commands++ % 5];
			plc_buffer_taken(&buffer, consumed);
		}
		most = buffer.size > most ? buffer.size : most;
	}
	tap_is((long long) commands, 1000000, "commands in one stream");
	tap_is((long long) wrong, 0, "none is mistaken for another");
	tap_ok(most <= PLC_BUFFER_MEDIUM, "they take one medium piece of memory");
	plc_parser_release(&parser);
	plc_buffer_release(&buffer);
}

/* Arguments */

static PlcArg
arg(const char *text)
{
	PlcArg		result = {guard_put(&guard, text, strlen(text)), strlen(text)};

	return result;
}

static bool
is_integer(const char *text, int64_t should_be)
{
	PlcArg		a = arg(text);
	int64_t		value;

	return plc_arg_integer(&a, &value) && value == should_be;
}

static void
test_args(void)
{
	static const char *const none[] = {"", "-", "+1", " 1", "1 ", "01", "-0", "00", "0x1", "1.0", "9223372036854775808",
	"-9223372036854775809", "18446744073709551616", "99999999999999999999999"};
	PlcArg		a = arg("NoDe");
	PlcArg		with_zero = {"get", 4};
	int64_t		value;

	tap_ok(plc_arg_is(&a, "node"), "a word is found in any case");
	tap_ok(!plc_arg_is(&a, "nod") && !plc_arg_is(&a, "nodes") && !plc_arg_is(&a, "") && !plc_arg_is(&a, "mode"),
		   "a word is no other word");
	a = arg("N/DE[");
	tap_ok(!plc_arg_is(&a, "n\x0f" "de{") && plc_arg_is(&a, "n/de["), "only letters have another case");
	tap_ok(!plc_arg_is(&with_zero, "get"), "a zero byte counts");
	tap_ok(is_integer("0", 0) && is_integer("42", 42) && is_integer("-7", -7) &&
		   is_integer("9223372036854775807", INT64_MAX) && is_integer("-9223372036854775808", INT64_MIN),
		   "whole numbers are read");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
	{
		a = arg(none[i]);
		tap_ok(!plc_arg_integer(&a, &value), "\"%s\" is no whole number", none[i]);
	}
}

int
main(void)
{
	guard = guard_new(2 * 65536);
	TEST_CASES(requests, &usual);
	TEST_CASES(inlines, &usual);
	TEST_CASES(refusals, &usual);
	TEST_CASES(strangers, &stranger);
	test_long_lines();
	test_long_bulk_header();
	test_request_limit();
	test_bulk_limit();
	test_memory();
	test_glued();
	test_args();
	return tap_done();
}
