/*
 * test_resp_cost.c
 *		What parsing costs, in steps that the compiler counts: no client can make a
 *		byte cost more by the way it sends it.
 *
 * This is built with -fsanitize-coverage=trace-pc, so a function of ours is called
 * for each basic block that runs.  A count says what a clock cannot on a busy
 * machine.  What is quadratic anywhere shows as a cost a byte that grows with
 * the length: from 1,000 to 100,000 bytes it would grow a hundredfold.
 */
#include <stdint.h>

#include "guard.h"
#include "resp/codec.h"
#include "resp/escape.h"
#include "resp/rowjson.h"
#include "resp/wirekey.h"
#include "tap.h"

#if defined(__clang__)
#define UNCOUNTED __attribute__((no_sanitize("coverage")))
#else
#define UNCOUNTED __attribute__((no_sanitize_coverage))
#endif

static long long steps = 0;

extern void __sanitizer_cov_trace_pc(void);

UNCOUNTED void
__sanitizer_cov_trace_pc(void)
{
	steps++;
}

#define SIZE	1000000

static const PlcLimits wide = {.request = SIZE, .bulk = SIZE, .args = SIZE, .authenticated = true};

static char *bytes;
static char *scratch;

/* Steps to parse this in pieces of one size. */
static UNCOUNTED long long
cost(size_t len, size_t piece)
{
	PlcParser	parser = {0};
	long long	before = steps;
	size_t		start = 0;

	for (size_t end = 0; end < len;)
	{
		PlcParseResult result;
		size_t		consumed;

		end = len - end < piece ? len : end + piece;
		while ((result = plc_parse(&parser, &wide, bytes + start, end - start, &consumed)) == PLC_PARSE_REQUEST)
			start += consumed;
		if (result == PLC_PARSE_FAILED)
			break;
	}
	before = steps - before;
	plc_parser_release(&parser);
	return before;
}

/* A kind of request whose size can be chosen: writes about n bytes. */
typedef size_t (*Writer) (size_t n);

static size_t
write_args(size_t n)
{
	size_t		len = (size_t) sprintf(bytes, "*%zu\r\n", n / 7);

	for (size_t i = 0; i < n / 7; i++, len += 7)
		memcpy(bytes + len, "$1\r\nx\r\n", 7);
	return len;
}

static size_t
write_empty_args(size_t n)
{
	size_t		len = (size_t) sprintf(bytes, "*%zu\r\n", n / 6);

	for (size_t i = 0; i < n / 6; i++, len += 6)
		memcpy(bytes + len, "$0\r\n\r\n", 6);
	return len;
}

static size_t
write_body(size_t n)
{
	size_t		len = (size_t) sprintf(bytes, "*1\r\n$%zu\r\n", n);

	memset(bytes + len, '\r', n);
	memcpy(bytes + len + n, "\r\n", 2);
	return len + n + 2;
}

static size_t
write_repeated(size_t n, const char *piece)
{
	size_t		len = strlen(piece);

	for (size_t i = 0; i < n; i++)
		bytes[i] = piece[i % len];
	return n;
}

static size_t
write_pings(size_t n)
{
	return write_repeated(n, "*1\r\n$4\r\nPING\r\n");
}

static size_t
write_empty_lines(size_t n)
{
	return write_repeated(n, "\r\n*0\r\n\n");
}

/* Lines have an end at 64 kB, so these do not grow with n beyond that. */
static size_t
write_count_digits(size_t n)
{
	write_repeated(n, "7");
	bytes[0] = '*';
	return n;
}

static size_t
write_bulk_digits(size_t n)
{
	write_repeated(n, "7");
	memcpy(bytes, "*1\r\n$", 5);
	return n;
}

static size_t
write_words(size_t n)
{
	n = n < 65536 ? n : 65536;
	write_repeated(n, "a \"\\x41\" '' ");
	bytes[n - 1] = '\n';
	return n;
}

static void
test_growth(const char *name, Writer write, long long most)
{
	static const size_t pieces[] = {1, 7, 1448, SIZE};

	for (int i = 0; i < 4; i++)
	{
		size_t		small = write(1000);
		double		small_cost = (double) cost(small, pieces[i]) / (double) small;
		size_t		large = write(SIZE / 10);
		double		large_cost = (double) cost(large, pieces[i]) / (double) large;

		tap_ok(large_cost <= (double) most && large_cost <= small_cost * 1.5 + 1, "%s in pieces of %zu", name, pieces[i]);
		tap_note("%.1f steps a byte of %zu, %.1f of %zu", small_cost, small, large_cost, large);
	}
}

/* What a request's bytes cost must not depend on how many came before it in its piece. */
static void
test_usual(void)
{
	size_t		len = (size_t) sprintf(bytes, "*2\r\n$3\r\nGET\r\n$29\r\nCRUD:bench.public.items:12345\r\n");
	long long	first = cost(len, len);

	tap_ok(first <= 150, "a GET takes %lld steps", first);
	tap_ok(write_pings(SIZE) && cost(SIZE, 16384) <= 80 * (SIZE / 14), "70000 commands take 80 steps each at most");
}

static void
test_glob(void)
{
	char		pattern[100];
	long long	before;

	write_repeated(10000, "a");
	for (int i = 0; i < 49; i++)
		memcpy(pattern + 2 * i, "*a", 2);
	memcpy(pattern + 98, "*b", 2);
	before = steps;
	tap_ok(!plc_glob_match(pattern, 100, bytes, 10000), "a pattern of 50 stars does not match");
	tap_ok(steps - before <= 10LL * 100 * 10000, "and that takes no more than its length times the text's");
	memset(pattern, '[', 50);
	memset(pattern + 50, 'b', 50);
	pattern[0] = '*';
	before = steps;
	plc_glob_match(pattern, 100, bytes, 10000);
	tap_ok(steps - before <= 20LL * 100 * 10000, "so does one whose class is not closed");
}

static long long
cost_of_key(size_t len)
{
	PlcWireField fields[32];
	const char *error;
	long long	before = steps;

	plc_wirekey_prefix(bytes, len);
	plc_wirekey_fields(bytes, len, NULL, fields, 32, scratch, plc_escape_utf8, &error);
	plc_wirekey_fields(bytes, len, "id", fields, 32, scratch, plc_escape_utf8, &error);
	return steps - before;
}

static long long
cost_of_row(size_t len)
{
	PlcRowField field;
	size_t		at = 0;
	long long	before = steps;

	while (plc_row_next(bytes, len, &at, &field))
	{
		plc_row_unescape(field.value, field.value_len, scratch);
		plc_row_name_is(&field, "another", 7);
	}
	return steps - before;
}

/* A text that begins so, and goes on with a piece over and over. */
static void
test_text(long long (*cost_of) (size_t), const char *start, const char *piece, const char *name)
{
	static const size_t lengths[] = {1000, SIZE};
	double		a_byte[2];

	for (int i = 0; i < 2; i++)
	{
		write_repeated(lengths[i], piece);
		memmove(bytes + strlen(start), bytes, lengths[i] - strlen(start));
		memcpy(bytes, start, strlen(start));
		a_byte[i] = (double) cost_of(lengths[i]) / (double) lengths[i];
	}
	tap_ok(a_byte[1] >= 0.1 && a_byte[1] <= 100 && a_byte[1] <= a_byte[0] * 1.5 + 1, "%s", name);
	tap_note("%.1f steps a byte of 1000, %.1f of %d", a_byte[0], a_byte[1], SIZE);
}

int
main(void)
{
	bytes = malloc(SIZE + 100);
	scratch = malloc(SIZE + 100);
	test_growth("arguments of a byte", write_args, 200);
	test_growth("empty arguments", write_empty_args, 200);
	test_growth("one large argument", write_body, 200);
	test_growth("commands", write_pings, 200);
	test_growth("requests of nothing", write_empty_lines, 200);
	test_growth("a count of many digits", write_count_digits, 200);
	test_growth("a length of many digits", write_bulk_digits, 200);
	test_growth("a line of words", write_words, 200);
	test_usual();
	test_glob();
	test_text(cost_of_key, "", "\"\"", "quotes in a key");
	test_text(cost_of_key, "", "a=", "a key that is a pair");
	test_text(cost_of_key, "{\"", "\\u0041", "a key of escapes");
	test_text(cost_of_key, "{", " ", "a key of blanks");
	test_text(cost_of_key, "{\"a\":", "1", "a key of digits");
	test_text(cost_of_row, "{", "\"a\":{", "a deep row");
	test_text(cost_of_row, "{\"a\":\"", "\\n", "a row of escapes");
	test_text(cost_of_row, "{\"b\":1", ",\"a\\n\":[[1]]", "a row of columns");
	return tap_done();
}
