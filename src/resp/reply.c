/*
 * reply.c
 *		Replies of the Redis protocol, to bytes.
 *
 * Each function writes a whole piece or nothing: room is asked for once, for the
 * most that it can take.  If there is none the buffer says "failed" and the owner
 * throws away what was written since, so nobody has to look at every call.
 */
#include "resp/codec.h"

#include <string.h>

/* A type, 20 digits and a sign, and a line end */
#define HEADER_SIZE		24

/* Of an error's text; what PostgreSQL says may be of any length */
#define ERROR_SIZE		512

/* Writes "$12\r\n" and the like; returns what is behind it. */
static inline char *
write_header(char *out, char type, uint64_t number)
{
	uint64_t	rest = number;
	int			n = 1;

	while (rest >= 10)
	{
		rest /= 10;
		n++;
	}
	*out = type;
	for (int i = n; i > 0; i--)
	{
		out[i] = (char) ('0' + number % 10);
		number /= 10;
	}
	out[n + 1] = '\r';
	out[n + 2] = '\n';
	return out + n + 3;
}

static void
reply_header(PlcBuffer *out, char type, uint64_t number)
{
	char	   *room = plc_buffer_room(out, HEADER_SIZE);

	if (room != NULL)
		plc_buffer_added(out, (size_t) (write_header(room, type, number) - room));
}

/* A line of text with a type in front; line ends within it become blanks. */
static void
reply_line(PlcBuffer *out, char type, const char *text, size_t len)
{
	char	   *room = plc_buffer_room(out, len + 3);

	if (room == NULL)
		return;
	*room++ = type;
	for (size_t i = 0; i < len; i++)
		*room++ = text[i] == '\r' || text[i] == '\n' ? ' ' : text[i];
	*room++ = '\r';
	*room++ = '\n';
	plc_buffer_added(out, len + 3);
}

void
plc_reply_simple(PlcBuffer *out, const char *text)
{
	reply_line(out, '+', text, strlen(text));
}

void
plc_reply_error(PlcBuffer *out, const char *text)
{
	size_t		len = strnlen(text, ERROR_SIZE + 1);

	if (len > ERROR_SIZE)
	{
		/* not in the middle of a character */
		len = ERROR_SIZE;
		while (len > ERROR_SIZE - 4 && (text[len] & 0xc0) == 0x80)
			len--;
	}
	reply_line(out, '-', text, len);
}

void
plc_reply_integer(PlcBuffer *out, int64_t value)
{
	char	   *room = plc_buffer_room(out, HEADER_SIZE);
	char	   *end;

	if (room == NULL)
		return;
	if (value >= 0)
		end = write_header(room, ':', (uint64_t) value);
	else
	{
		end = write_header(room + 1, '-', 0 - (uint64_t) value);
		room[0] = ':';
	}
	plc_buffer_added(out, (size_t) (end - room));
}

void
plc_reply_bulk(PlcBuffer *out, const void *data, size_t len)
{
	char	   *room;
	char	   *body;

	if (len > SIZE_MAX - HEADER_SIZE - 2)
	{
		out->failed = true;
		return;
	}
	room = plc_buffer_room(out, HEADER_SIZE + len + 2);
	if (room == NULL)
		return;
	body = write_header(room, '$', len);
	if (len > 0)
		memcpy(body, data, len);
	body[len] = '\r';
	body[len + 1] = '\n';
	plc_buffer_added(out, (size_t) (body + len + 2 - room));
}

void
plc_reply_string(PlcBuffer *out, const char *text)
{
	plc_reply_bulk(out, text, strlen(text));
}

void
plc_reply_verbatim(PlcBuffer *out, int protocol, const char *text, size_t len)
{
	char	   *room;
	char	   *at;

	if (protocol < 3)
	{
		plc_reply_bulk(out, text, len);
		return;
	}
	room = plc_buffer_room(out, HEADER_SIZE + 4 + len + 2);
	if (room == NULL)
		return;
	at = write_header(room, '=', len + 4);
	memcpy(at, "txt:", 4);
	memcpy(at + 4, text, len);
	memcpy(at + 4 + len, "\r\n", 2);
	plc_buffer_added(out, (size_t) (at + 4 + len + 2 - room));
}

void
plc_reply_null(PlcBuffer *out, int protocol)
{
	if (protocol < 3)
		plc_buffer_append(out, "$-1\r\n", 5);
	else
		plc_buffer_append(out, "_\r\n", 3);
}

void
plc_reply_array(PlcBuffer *out, size_t n)
{
	reply_header(out, '*', n);
}

void
plc_reply_map(PlcBuffer *out, int protocol, size_t pairs)
{
	if (protocol < 3)
		reply_header(out, '*', pairs * 2);
	else
		reply_header(out, '%', pairs);
}

void
plc_reply_set(PlcBuffer *out, int protocol, size_t n)
{
	reply_header(out, protocol < 3 ? '*' : '~', n);
}
