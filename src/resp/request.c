/*
 * request.c
 *		Requests of the Redis protocol, from bytes.
 *
 * A request is an array of bulk strings,
 *
 *		*2\r\n $3\r\n GET\r\n $8\r\n items:42\r\n		(without the blanks)
 *
 * or, for people with telnet, a line of words: an inline request.
 *
 * The parser takes what there is, remembers how far it understood it, and goes on
 * there.  `position` moves past a header or a body when it is whole.  A header that
 * is cut off is looked at again with each call, at its first 11 bytes; where it is
 * longer than that, or an inline request, `scanned` says where the search for its
 * end goes on.  A body is never looked at, but for the two bytes behind it.  So the
 * work is proportional to the bytes, however they come.
 *
 * Everything that is refused is refused at the same byte for the same reason,
 * wherever the bytes were split.  Redis is not that strict: it judges a line that is
 * too long by what has arrived.  Nor does it look at the two bytes behind a body.
 * We close there, since all that follows would be read wrong.
 *
 * The usual request, "GET key" or an MGET of some keys, is parsed without a call of
 * any function; memory is asked for only if it has more arguments than any before.
 * How many it promises to have counts for the first 4 kB of argv; for more of it they
 * must come, and each takes at least 6 bytes to send.
 */
#include "resp/codec.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a line before its end, headers and inline requests alike; Redis has the same */
#define LINE_LIMIT		65536

/* A header that is read at once: a type, 8 digits and a line end */
#define SHORT_HEADER	11

/* Room in argv to begin with, what of it a promise is good for, and what is kept between requests: 2 kB */
#define FIRST_ARGS		8
#define PROMISED_ARGS	256
#define KEPT_ARGS		128

/* Redis's largest bulk; before authentication a length up to there is not invalid, only too large */
#define LARGEST_BULK	(512L * 1024 * 1024)

#define PROTOCOL_ERROR(what)	"ERR Protocol error: " what

/* The kinds of header, and what is said of those that are refused */
typedef struct HeaderKind
{
	const char *invalid;
	const char *unauthenticated;
	const char *endless;
	long		largest;
} HeaderKind;

static const HeaderKind array_header = {
	PROTOCOL_ERROR("invalid multibulk length"),
	PROTOCOL_ERROR("unauthenticated multibulk length"),
	PROTOCOL_ERROR("too big mbulk count string"),
	INT_MAX
};

static const HeaderKind bulk_header = {
	PROTOCOL_ERROR("invalid bulk length"),
	PROTOCOL_ERROR("unauthenticated bulk length"),
	PROTOCOL_ERROR("too big bulk count string"),
	LARGEST_BULK
};

static PlcParseResult
fail(PlcParser *parser, const char *error)
{
	parser->error = error;
	return PLC_PARSE_FAILED;
}

static PlcParseResult
fail_type(PlcParser *parser, char got)
{
	unsigned char byte = (unsigned char) got;

	snprintf(parser->error_text, sizeof(parser->error_text),
			 byte >= ' ' && byte < 0x7f ? PROTOCOL_ERROR("expected '$', got '%c'") :
			 PROTOCOL_ERROR("expected '$', got '\\x%02x'"), byte);
	return fail(parser, parser->error_text);
}

/* Is a number of arguments or bytes beyond its limit?  Then says so. */
static bool
beyond(PlcParser *parser, const PlcLimits *limits, const HeaderKind *kind, long value)
{
	size_t		limit = kind == &array_header ? limits->args : limits->bulk;
	size_t		stranger = kind == &array_header ? PLC_UNAUTHENTICATED_ARGS : PLC_UNAUTHENTICATED_BULK;

	if (!limits->authenticated && limit > stranger)
		limit = stranger;
	if (value <= kind->largest && (size_t) value <= limit)
		return false;
	fail(parser, limits->authenticated || value > kind->largest ? kind->invalid : kind->unauthenticated);
	return true;
}

/* Lines */

/*
 * Looks for the end of the line that begins at position: that byte, or a zero byte,
 * which no line has.  PLC_PARSE_REQUEST if it is there, at `scanned`.
 */
static PlcParseResult
find_line_end(PlcParser *parser, const char *bytes, size_t len, char end, const char *endless)
{
	size_t		at = parser->scanned > parser->position ? parser->scanned : parser->position;
	size_t		last = parser->position + LINE_LIMIT;

	while (at < len && at <= last && bytes[at] != end && bytes[at] != '\0')
		at++;
	parser->scanned = at;
	if (at > last)
		return fail(parser, endless);
	return at < len ? PLC_PARSE_REQUEST : PLC_PARSE_MORE;
}

/* Reads a number as Redis does: no blanks, no plus, no zero in front.  False if it is none. */
static bool
read_number(const char *digits, size_t len, int64_t *value)
{
	bool		negative = len > 0 && digits[0] == '-';
	uint64_t	most = negative ? (uint64_t) INT64_MAX + 1 : INT64_MAX;
	uint64_t	number = 0;
	size_t		i = negative ? 1 : 0;

	if (i == len || (digits[i] == '0' && len > 1))
		return false;
	for (; i < len; i++)
	{
		unsigned	digit = (unsigned char) digits[i] - '0';

		if (digit > 9 || number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*value = (int64_t) (negative ? 0 - number : number);
	return true;
}

/*
 * Reads the usual header, "*3\r\n" or "$12\r\n", if all of it is between at and end.
 * Returns its length, or 0 if it is cut off or in any way unusual.
 */
static inline size_t
short_header(const char *at, const char *end, long *value)
{
	const char *digit = at + 1;
	long		number = 0;

	if (end - at > SHORT_HEADER)
		end = at + SHORT_HEADER;
	if (end - at < 4 || *digit == '0')
		return 0;
	for (; digit < end && (unsigned char) (*digit - '0') < 10; digit++)
		number = number * 10 + (*digit - '0');
	if (digit == at + 1 || end - digit < 2 || digit[0] != '\r' || digit[1] != '\n')
		return 0;
	*value = number;
	return (size_t) (digit + 2 - at);
}

/* Reads any header at position, and moves behind it. */
static PlcParseResult
long_header(PlcParser *parser, const char *bytes, size_t len, const HeaderKind *kind, long *value)
{
	PlcParseResult result = find_line_end(parser, bytes, len, '\r', kind->endless);
	const char *digits = bytes + parser->position + 1;
	int64_t		number;

	if (result != PLC_PARSE_REQUEST)
		return result;
	if (bytes[parser->scanned] != '\r' ||
		!read_number(digits, (size_t) (bytes + parser->scanned - digits), &number))
		return fail(parser, kind->invalid);
	if (parser->scanned + 1 == len)
		return PLC_PARSE_MORE;
	if (bytes[parser->scanned + 1] != '\n')
		return fail(parser, kind->invalid);
	parser->position = parser->scanned + 2;
	*value = number > LONG_MAX ? LONG_MAX : number < -1 ? -1 : (long) number;
	return PLC_PARSE_REQUEST;
}

/* Arguments */

/* Makes room for an argument, if there is none; of a request of so many, as far as is known. */
static bool
make_room(PlcParser *parser, long promised)
{
	long		room = parser->room * 2L;
	PlcArg	   *argv;

	if (parser->argc < parser->room)
		return true;
	if (promised > PROMISED_ARGS)
		promised = PROMISED_ARGS;
	if (room < promised)
		room = promised;
	if (room < FIRST_ARGS)
		room = FIRST_ARGS;
	if (room > INT_MAX)
		room = INT_MAX;
	argv = realloc(parser->argv, (size_t) room * sizeof(PlcArg));
	if (argv == NULL)
	{
		fail(parser, "ERR out of memory for the arguments of a request");
		return false;
	}
	parser->argv = argv;
	parser->room = (int) room;
	return true;
}

/* A request is whole: the next call begins anew, behind it. */
static PlcParseResult
finish(PlcParser *parser, size_t length, size_t *consumed)
{
	*consumed = length;
	parser->position = 0;
	parser->scanned = 0;
	parser->expected = 0;
	return PLC_PARSE_REQUEST;
}

/* Inline requests */

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads what follows a backslash in double quotes; returns how many bytes that took. */
static size_t
read_escape(const char *at, const char *end, char *out)
{
	static const char names[] = "nrtba";
	static const char meanings[] = "\n\r\t\b\a";
	const char *name;

	if (end - at >= 3 && at[0] == 'x' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0)
	{
		*out = (char) (hex_digit(at[1]) * 16 + hex_digit(at[2]));
		return 3;
	}
	name = memchr(names, at[0], sizeof(names) - 1);
	*out = name != NULL ? meanings[name - names] : at[0];
	return 1;
}

/*
 * Reads the quoted part of a word behind its opening quote, and moves *out on.
 * Returns where it goes on behind the closing quote, which must end the word; NULL
 * if it does not or there is none.
 */
static const char *
read_quoted(const char *at, const char *end, char quote, char **out)
{
	for (; at < end; at++)
	{
		if (*at == quote)
			return at + 1 == end || is_blank(at[1]) ? at + 1 : NULL;
		if (*at == '\\' && end - at > 1 && quote == '"')
			at += read_escape(at + 1, end, (*out)++);
		else if (*at == '\\' && end - at > 1 && at[1] == '\'')
			*(*out)++ = *++at;
		else
			*(*out)++ = *at;
	}
	return NULL;
}

/* Reads a word without its quotes; NULL if they are unbalanced. */
static const char *
read_word(const char *at, const char *end, char **out)
{
	while (at != NULL && at < end && !is_blank(*at))
	{
		if (*at == '"' || *at == '\'')
			at = read_quoted(at + 1, end, *at, out);
		else
			*(*out)++ = *at++;
	}
	return at;
}

static PlcParseResult
split_line(PlcParser *parser, const PlcLimits *limits, const char *at, const char *end)
{
	char	   *out = parser->words;

	for (;;)
	{
		char	   *word = out;

		while (at < end && is_blank(*at))
			at++;
		if (at == end)
			return PLC_PARSE_REQUEST;
		at = read_word(at, end, &out);
		if (at == NULL)
			return fail(parser, PROTOCOL_ERROR("unbalanced quotes in request"));
		if (beyond(parser, limits, &array_header, parser->argc + 1L) ||
			beyond(parser, limits, &bulk_header, out - word) ||
			!make_room(parser, 0))
			return PLC_PARSE_FAILED;
		parser->argv[parser->argc].data = word;
		parser->argv[parser->argc++].len = (size_t) (out - word);
	}
}

/*
 * Is this a browser, made to talk to us by a page that it shows?  It would go on
 * with lines that the page chose, so nothing of it may run.
 */
static bool
is_http(const PlcParser *parser)
{
	const PlcArg *argv = parser->argv;

	if (parser->argc == 0)
		return false;
	return plc_arg_is(&argv[0], "post") || plc_arg_is(&argv[0], "host:") ||
		(parser->argc == 3 && argv[2].len > 5 && memcmp(argv[2].data, "HTTP/", 5) == 0);
}

static PlcParseResult
parse_inline(PlcParser *parser, const PlcLimits *limits, const char *bytes, size_t len, size_t *consumed)
{
	PlcParseResult result = find_line_end(parser, bytes, len, '\n', PROTOCOL_ERROR("too big inline request"));
	size_t		length = parser->scanned + 1;

	if (result != PLC_PARSE_REQUEST)
		return result;
	if (bytes[parser->scanned] == '\0')
		return fail(parser, PROTOCOL_ERROR("unexpected zero byte in inline request"));
	if (length > limits->request)
		return fail(parser, PROTOCOL_ERROR("request is larger than pg_local_cache.request_limit"));
	free(parser->words);
	parser->words = malloc(length);
	if (parser->words == NULL)
		return fail(parser, "ERR out of memory for a request");
	result = split_line(parser, limits, bytes, bytes + parser->scanned);
	if (result != PLC_PARSE_REQUEST)
		return result;
	if (is_http(parser))
		return fail(parser, NULL);
	return finish(parser, length, consumed);
}

/* Arrays of bulk strings */

/* The header of the whole request, at its start. */
static PlcParseResult
read_count(PlcParser *parser, const PlcLimits *limits, const char *bytes, size_t len)
{
	long		count;

	parser->position = short_header(bytes, bytes + len, &count);
	if (parser->position == 0)
	{
		PlcParseResult result = long_header(parser, bytes, len, &array_header, &count);

		if (result != PLC_PARSE_REQUEST)
			return result;
	}
	if (count > 0 && beyond(parser, limits, &array_header, count))
		return PLC_PARSE_FAILED;
	parser->expected = count;
	return PLC_PARSE_REQUEST;
}

/* The header of an argument, at position. */
static inline PlcParseResult
read_length(PlcParser *parser, const PlcLimits *limits, const char *bytes, size_t len)
{
	const char *at = bytes + parser->position;
	size_t		header;

	if (parser->position == len)
		return PLC_PARSE_MORE;
	if (*at != '$')
		return fail_type(parser, *at);
	header = short_header(at, bytes + len, &parser->bulk);
	if (header == 0)
	{
		PlcParseResult result = long_header(parser, bytes, len, &bulk_header, &parser->bulk);

		if (result != PLC_PARSE_REQUEST)
			return result;
	}
	parser->position += header;
	if (parser->bulk < 0)
		return fail(parser, bulk_header.invalid);
	if (beyond(parser, limits, &bulk_header, parser->bulk))
		return PLC_PARSE_FAILED;
	if (parser->position + 2 > limits->request ||
		(size_t) parser->bulk > limits->request - parser->position - 2)
		return fail(parser, PROTOCOL_ERROR("request is larger than pg_local_cache.request_limit"));
	parser->in_bulk = true;
	return PLC_PARSE_REQUEST;
}

/* The body of an argument, at position. */
static inline PlcParseResult
read_body(PlcParser *parser, const char *bytes, size_t len)
{
	size_t		rest = len - parser->position;
	size_t		bulk = (size_t) parser->bulk;
	const char *end = bytes + parser->position + bulk;

	if ((rest > bulk && end[0] != '\r') || (rest > bulk + 1 && end[1] != '\n'))
		return fail(parser, PROTOCOL_ERROR("expected CRLF after bulk string"));
	if (rest < bulk + 2)
		return PLC_PARSE_MORE;
	if (parser->argc == parser->room && !make_room(parser, parser->expected))
		return PLC_PARSE_FAILED;
	parser->argv[parser->argc].data = (const char *) (uintptr_t) parser->position;
	parser->argv[parser->argc++].len = bulk;
	parser->position += bulk + 2;
	parser->in_bulk = false;
	return PLC_PARSE_REQUEST;
}

/*
 * The usual arguments, as long as they come: whole, of less than a hundred bytes, with
 * room for them.  Whatever is otherwise is left to read_length and read_body.
 */
static inline void
read_short_arguments(PlcParser *parser, const PlcLimits *limits, const char *bytes, size_t len)
{
	const char *at = bytes + parser->position;
	const char *end = bytes + (len < limits->request ? len : limits->request);

	if (parser->in_bulk || limits->bulk < 100)
		return;
	while (parser->argc < parser->expected && parser->argc < parser->room && end - at >= 6)
	{
		unsigned	first = (unsigned char) at[1] - (unsigned) '0';
		unsigned	second = (unsigned char) at[2] - (unsigned) '0';
		size_t		bulk = second < 10 ? first * 10 + second : first;
		const char *body = at + (second < 10 ? 5 : 4);

		if (at[0] != '$' || first - 1 >= 9 || body[-2] != '\r' || body[-1] != '\n' ||
			end - body < (ptrdiff_t) bulk + 2 || body[bulk] != '\r' || body[bulk + 1] != '\n')
			break;
		parser->argv[parser->argc].data = (const char *) (uintptr_t) (body - bytes);
		parser->argv[parser->argc++].len = bulk;
		at = body + bulk + 2;
	}
	parser->position = (size_t) (at - bytes);
}

static PlcParseResult
parse_array(PlcParser *parser, const PlcLimits *limits, const char *bytes, size_t len, size_t *consumed)
{
	PlcParseResult result;

	if (parser->expected == 0)
	{
		result = read_count(parser, limits, bytes, len);
		if (result != PLC_PARSE_REQUEST)
			return result;
	}
	for (;;)
	{
		read_short_arguments(parser, limits, bytes, len);
		if (parser->argc >= parser->expected)
			break;
		if (!parser->in_bulk)
		{
			result = read_length(parser, limits, bytes, len);
			if (result != PLC_PARSE_REQUEST)
				return result;
		}
		result = read_body(parser, bytes, len);
		if (result != PLC_PARSE_REQUEST)
			return result;
	}
	for (int i = 0; i < parser->argc; i++)
		parser->argv[i].data = bytes + (uintptr_t) parser->argv[i].data;
	return finish(parser, parser->position, consumed);
}

PlcParseResult
plc_parse(PlcParser *parser, const PlcLimits *limits, const char *bytes, size_t len, size_t *consumed)
{
	*consumed = 0;
	if (parser->expected == 0)
	{
		parser->argc = 0;
		parser->in_bulk = false;
	}
	if (len == 0)
		return PLC_PARSE_MORE;
	if (bytes[0] == '*')
		return parse_array(parser, limits, bytes, len, consumed);
	return parse_inline(parser, limits, bytes, len, consumed);
}

void
plc_parser_reset(PlcParser *parser)
{
	size_t		length;

	if (parser->room > KEPT_ARGS)
	{
		free(parser->argv);
		parser->argv = NULL;
		parser->room = 0;
	}
	if (parser->words != NULL)
		free(parser->words);
	parser->words = NULL;
	parser->argc = 0;
	parser->in_bulk = false;
	finish(parser, 0, &length);
}

void
plc_parser_release(PlcParser *parser)
{
	plc_parser_reset(parser);
	free(parser->argv);
	parser->argv = NULL;
	parser->room = 0;
}

/* Arguments */

bool
plc_arg_is(const PlcArg *arg, const char *word)
{
	for (size_t i = 0; i < arg->len; i++)
	{
		char		c = arg->data[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != word[i] || c == '\0')
			return false;
	}
	return word[arg->len] == '\0';
}

bool
plc_arg_integer(const PlcArg *arg, int64_t *value)
{
	return read_number(arg->data, arg->len, value);
}
