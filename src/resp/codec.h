/*
 * codec.h
 *		The Redis protocol: requests from bytes, replies to bytes.
 *
 * Pure C.  Versions 2 and 3 of the protocol differ in replies only.
 */
#ifndef PLC_RESP_CODEC_H
#define PLC_RESP_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp/buffer.h"

/* An argument of a request; points into the bytes that were parsed. */
typedef struct PlcArg
{
	const char *data;
	size_t		len;
} PlcArg;

typedef struct PlcLimits
{
	size_t		request;		/* bytes of a whole request */
	size_t		bulk;			/* bytes of one argument */
	size_t		args;			/* arguments of a request */
	bool		authenticated;	/* if not, the limits of strangers hold too */
} PlcLimits;

/* The limits of strangers, who could not fill much memory with them; clients know these from Redis */
#define PLC_UNAUTHENTICATED_BULK	16384
#define PLC_UNAUTHENTICATED_ARGS	10

/* A request under way.  All zeroes to begin with. */
typedef struct PlcParser
{
	/* For the caller */
	int			argc;
	PlcArg	   *argv;			/* as offsets until the request is whole */
	const char *error;			/* after PLC_PARSE_FAILED; NULL: close without a word */

	/* For the parser; offsets count from the request's first byte */
	size_t		position;		/* what is before was understood */
	size_t		scanned;		/* no line ends before */
	long		expected;		/* arguments that the header promised; 0: no header yet */
	long		bulk;			/* bytes of the argument that comes next, while in_bulk */
	bool		in_bulk;		/* its header was read */
	int			room;			/* of argv */
	char	   *words;			/* of an inline request, without their quotes */
	char		error_text[56];
} PlcParser;

typedef enum PlcParseResult
{
	PLC_PARSE_MORE,				/* not whole yet */
	PLC_PARSE_REQUEST,			/* whole; without arguments: nothing to answer */
	PLC_PARSE_FAILED			/* answer parser->error, then close */
} PlcParseResult;

/*
 * Looks for a request at the start of these bytes, which must be those of the
 * last call and what came since, if that said PLC_PARSE_MORE; they may have
 * moved.  A request is in argc and argv, valid until the next call, and *consumed
 * says how many bytes it took.  Never looks at a byte more than a constant number
 * of times, and what comes out does not depend on where the bytes were split.
 */
extern PlcParseResult plc_parse(PlcParser *parser, const PlcLimits *limits,
								const char *bytes, size_t len, size_t *consumed);

/* Forgets a request, whole or under way, and frees memory that is only worth keeping for more. */
extern void plc_parser_reset(PlcParser *parser);

/* The same, and frees all memory. */
extern void plc_parser_release(PlcParser *parser);

/*
 * Replies.  What does not fit sets out->failed.  "protocol" is 2 or 3.
 */
extern void plc_reply_simple(PlcBuffer *out, const char *text);
extern void plc_reply_error(PlcBuffer *out, const char *text);	/* made one line, cut at 512 bytes */
extern void plc_reply_integer(PlcBuffer *out, int64_t value);
extern void plc_reply_bulk(PlcBuffer *out, const void *data, size_t len);
extern void plc_reply_string(PlcBuffer *out, const char *text);	/* as bulk */
extern void plc_reply_verbatim(PlcBuffer *out, int protocol, const char *text, size_t len);
extern void plc_reply_null(PlcBuffer *out, int protocol);
extern void plc_reply_array(PlcBuffer *out, size_t n);
extern void plc_reply_map(PlcBuffer *out, int protocol, size_t pairs);
extern void plc_reply_set(PlcBuffer *out, int protocol, size_t n);

/* Is this argument that word, in any case?  The word is lower case. */
extern bool plc_arg_is(const PlcArg *arg, const char *word);

/* A whole decimal number, with nothing before or after it; false if it is none or overflows. */
extern bool plc_arg_integer(const PlcArg *arg, int64_t *value);

/* The longest pattern that clients may give: a class can be as long as it is, and is looked through for each byte */
#define PLC_LONGEST_PATTERN	4096

/* Does the pattern, of *, ?, [a-z], [^a] and \, match all of the text?  Takes time of n times m at most. */
extern bool plc_glob_match(const char *pattern, size_t pattern_len, const char *text, size_t text_len);

#endif							/* PLC_RESP_CODEC_H */
