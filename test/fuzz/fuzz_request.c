/*
 * fuzz_request.c
 *		Any bytes as a client's: the same requests come out however they are split, and
 *		a reply that repeats a request is that request.
 *
 * The first byte chooses the limits, the second the size of pieces.
 */
#include "fuzz.h"
#include "resp/codec.h"

static const PlcLimits all_limits[] = {
	{.request = 1 << 20, .bulk = 1 << 16, .args = 1000, .authenticated = true},
	{.request = 100, .bulk = 20, .args = 5, .authenticated = true},
	{.request = 1 << 20, .bulk = 1 << 20, .args = 1000, .authenticated = false},
	{.request = 40, .bulk = 1 << 20, .args = SIZE_MAX, .authenticated = false},
};

/* All that came out, one piece behind the other */
typedef struct Outcome
{
	char	   *bytes;
	size_t		len;
	size_t		room;
} Outcome;

static void
add(Outcome *outcome, const void *bytes, size_t len)
{
	if (outcome->len + len > outcome->room)
	{
		outcome->room = (outcome->len + len) * 2;
		outcome->bytes = realloc(outcome->bytes, outcome->room);
	}
	if (len > 0)
		memcpy(outcome->bytes + outcome->len, bytes, len);
	outcome->len += len;
}

static void
add_request(Outcome *outcome, const PlcParser *parser)
{
	add(outcome, &parser->argc, sizeof(parser->argc));
	for (int i = 0; i < parser->argc; i++)
	{
		add(outcome, &parser->argv[i].len, sizeof(parser->argv[i].len));
		add(outcome, parser->argv[i].data, parser->argv[i].len);
	}
}

static void
check_limits(const PlcParser *parser, const PlcLimits *limits, size_t consumed)
{
	MUST((size_t) parser->argc <= limits->args && consumed <= limits->request + 65536);
	MUST(parser->argc == 0 || consumed <= limits->request);
	for (int i = 0; i < parser->argc; i++)
		MUST(parser->argv[i].len <= limits->bulk);
}

/* The arguments as an array of bulk strings are a request again, of the same arguments. */
static void
check_reply(const PlcParser *parser)
{
	static const PlcLimits none = {SIZE_MAX, SIZE_MAX, SIZE_MAX, true};
	PlcParser	again = {0};
	PlcBuffer	out;
	size_t		consumed;

	plc_buffer_init(&out, SIZE_MAX);
	plc_reply_array(&out, (size_t) parser->argc);
	for (int i = 0; i < parser->argc; i++)
		plc_reply_bulk(&out, parser->argv[i].data, parser->argv[i].len);
	MUST(plc_parse(&again, &none, plc_buffer_bytes(&out), plc_buffer_length(&out), &consumed) == PLC_PARSE_REQUEST);
	MUST(consumed == plc_buffer_length(&out) && again.argc == parser->argc);
	for (int i = 0; i < parser->argc; i++)
		MUST(again.argv[i].len == parser->argv[i].len &&
			 memcmp(again.argv[i].data, parser->argv[i].data, again.argv[i].len) == 0);
	plc_parser_release(&again);
	plc_buffer_release(&out);
}

/* Parses what is there; false after a failure. */
static bool
parse_all(PlcParser *parser, const PlcLimits *limits, const char *bytes, size_t len, size_t *done, Outcome *outcome)
{
	for (*done = 0;;)
	{
		size_t		consumed;
		PlcParseResult result = plc_parse(parser, limits, bytes + *done, len - *done, &consumed);

		MUST((result == PLC_PARSE_REQUEST) == (consumed > 0) && consumed <= len - *done);
		if (result == PLC_PARSE_MORE)
			return true;
		if (result == PLC_PARSE_FAILED)
		{
			if (parser->error != NULL)
				add(outcome, parser->error, strlen(parser->error));
			add(outcome, "!", 1);
			return false;
		}
		check_limits(parser, limits, consumed);
		check_reply(parser);
		add_request(outcome, parser);
		*done += consumed;
	}
}

static Outcome
feed(const uint8_t *data, size_t size, const PlcLimits *limits, size_t piece)
{
	Outcome		outcome = {0};
	PlcParser	parser = {0};
	size_t		start = 0;
	size_t		end = 0;
	bool		open = true;

	while (end < size && open)
	{
		char	   *bytes;
		size_t		done;

		end = size - end < piece ? size : end + piece;
		bytes = copy_of(data + start, end - start);
		open = parse_all(&parser, limits, bytes, end - start, &done, &outcome);
		start += done;
		free(bytes);
	}
	plc_parser_release(&parser);
	return outcome;
}

static void
check_error(const uint8_t *data, size_t size)
{
	char	   *text = malloc(size + 1);
	PlcBuffer	out;
	size_t		len;

	memcpy(text, data, size);
	text[size] = '\0';
	plc_buffer_init(&out, SIZE_MAX);
	plc_reply_error(&out, text);
	len = plc_buffer_length(&out);
	MUST(len >= 3 && len <= 515 && memcmp(plc_buffer_bytes(&out) + len - 2, "\r\n", 2) == 0);
	MUST(memchr(plc_buffer_bytes(&out), '\n', len - 1) == NULL && memchr(plc_buffer_bytes(&out), '\r', len - 2) == NULL);
	plc_buffer_release(&out);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Outcome		whole;
	Outcome		pieces;
	const PlcLimits *limits;

	if (size < 2)
		return 0;
	limits = &all_limits[data[0] % 4];
	whole = feed(data + 2, size - 2, limits, size);
	pieces = feed(data + 2, size - 2, limits, (size_t) data[1] % 32 + 1);
	MUST(whole.len == pieces.len && (whole.len == 0 || memcmp(whole.bytes, pieces.bytes, whole.len) == 0));
	check_error(data + 2, size - 2);
	free(whole.bytes);
	free(pieces.bytes);
	return 0;
}
