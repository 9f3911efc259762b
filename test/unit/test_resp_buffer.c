/*
 * test_resp_buffer.c
 *		Buffers: bytes come out as they went in, and memory stays bounded.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "resp/buffer.h"
#include "tap.h"

/* So that memory can run out under the sanitizer too. */
extern const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool
holds(const PlcBuffer *buffer, const char *text)
{
	return plc_buffer_length(buffer) == strlen(text) && memcmp(plc_buffer_bytes(buffer), text, strlen(text)) == 0;
}

static void
test_basics(void)
{
	PlcBuffer	buffer;

	plc_buffer_init(&buffer, 100);
	tap_ok(buffer.memory == NULL && plc_buffer_length(&buffer) == 0, "a new buffer is empty and has no memory");
	plc_buffer_append(&buffer, "hello ", 6);
	plc_buffer_append(&buffer, "world", 5);
	tap_ok(holds(&buffer, "hello world"), "bytes follow each other");
	plc_buffer_taken(&buffer, 6);
	tap_ok(holds(&buffer, "world"), "bytes are taken from the front");
	plc_buffer_cut(&buffer, 3);
	tap_ok(holds(&buffer, "wor"), "bytes are cut from the end");
	plc_buffer_append(&buffer, "", 0);
	tap_ok(holds(&buffer, "wor") && !buffer.failed, "nothing is appended");
	plc_buffer_release(&buffer);
	tap_ok(buffer.memory == NULL && plc_buffer_length(&buffer) == 0, "a released buffer is empty and has no memory");
	plc_buffer_append(&buffer, "again", 5);
	tap_ok(holds(&buffer, "again"), "it can be used again");
	plc_buffer_release(&buffer);
}

static void
test_limit(void)
{
	PlcBuffer	buffer;

	plc_buffer_init(&buffer, 10);
	plc_buffer_append(&buffer, "0123456789", 10);
	tap_ok(holds(&buffer, "0123456789") && !buffer.failed, "a buffer may be full");
	tap_ok(plc_buffer_room(&buffer, 1) == NULL && buffer.failed, "there is no room for a byte more");
	plc_buffer_append(&buffer, "x", 1);
	tap_ok(holds(&buffer, "0123456789"), "what does not fit leaves it as it was");
	plc_buffer_cut(&buffer, 5);
	tap_ok(!buffer.failed && plc_buffer_room(&buffer, 5) != NULL, "after a cut there is room again");
	tap_ok(plc_buffer_room(&buffer, SIZE_MAX) == NULL && plc_buffer_room(&buffer, SIZE_MAX - 2) == NULL,
		   "a size that overflows does not fit");
	plc_buffer_cut(&buffer, 5);
	plc_buffer_taken(&buffer, 3);
	tap_ok(plc_buffer_room(&buffer, 8) != NULL && plc_buffer_room(&buffer, 9) == NULL,
		   "the limit counts what waits, not what was taken");
	buffer.limit = 1;
	tap_ok(plc_buffer_room(&buffer, 1) == NULL, "a limit below what waits leaves no room");
	plc_buffer_release(&buffer);
}

static void
test_no_memory(void)
{
	PlcBuffer	buffer;

	plc_buffer_init(&buffer, SIZE_MAX);
	plc_buffer_append(&buffer, "kept", 4);
	tap_ok(plc_buffer_room(&buffer, SIZE_MAX / 4) == NULL && buffer.failed, "memory runs out");
	tap_ok(holds(&buffer, "kept"), "the bytes are still there");
	plc_buffer_release(&buffer);
}

static void
test_pool(void)
{
	enum {MANY = 1000};
	static PlcBuffer buffers[MANY];
	char	   *memory;
	int			wrong = 0;

	plc_buffer_init(&buffers[0], 1 << 20);
	plc_buffer_append(&buffers[0], "x", 1);
	memory = buffers[0].memory;
	plc_buffer_release(&buffers[0]);
	plc_buffer_init(&buffers[1], 1 << 20);
	plc_buffer_append(&buffers[1], "y", 1);
	tap_ok(buffers[1].memory == memory, "memory that was given up is used by the next buffer");
	plc_buffer_append(&buffers[0], "x", 1);
	tap_ok(buffers[0].memory != memory, "two buffers never share it");
	plc_buffer_release(&buffers[0]);
	plc_buffer_release(&buffers[1]);
	for (int i = 0; i < MANY; i++)
	{
		plc_buffer_init(&buffers[i], 1 << 20);
		plc_buffer_append(&buffers[i], &i, sizeof(i));
	}
	for (int i = 0; i < MANY; i++)
		wrong += memcmp(plc_buffer_bytes(&buffers[i]), &i, sizeof(i)) != 0;
	tap_ok(wrong == 0, "a thousand buffers keep apart");
	for (int i = 0; i < MANY; i++)
		plc_buffer_release(&buffers[i]);
}

/* Against a counter: byte n of the stream is a function of n. */

static unsigned char
stream_byte(uint64_t n)
{
	return (unsigned char) ((n * 0x9E3779B97F4A7C15u) >> 56);
}

typedef struct Stream
{
	PlcBuffer	buffer;
	uint64_t	put;
	uint64_t	taken;
	uint64_t	moved;			/* bytes that lie elsewhere than before */
	uint64_t	wrong;
	size_t		most;			/* memory */
} Stream;

static void
stream_put(Stream *stream, size_t n)
{
	PlcBuffer  *buffer = &stream->buffer;
	char	   *before = buffer->memory == NULL ? NULL : plc_buffer_bytes(buffer);
	size_t		length = plc_buffer_length(buffer);
	char	   *room = plc_buffer_room(buffer, n);

	if ((room == NULL) != (length + n > buffer->limit))
		stream->wrong++;
	if (room == NULL)
	{
		plc_buffer_cut(buffer, length);
		return;
	}
	if (length > 0 && plc_buffer_bytes(buffer) != before)
		stream->moved += length;
	for (size_t i = 0; i < n; i++)
		room[i] = (char) stream_byte(stream->put++);
	plc_buffer_added(buffer, n);
	if (buffer->size > stream->most)
		stream->most = buffer->size;
}

static void
stream_take(Stream *stream, size_t n)
{
	const char *bytes = plc_buffer_bytes(&stream->buffer);

	if (n > plc_buffer_length(&stream->buffer))
		n = plc_buffer_length(&stream->buffer);
	for (size_t i = 0; i < n; i++)
		stream->wrong += (unsigned char) bytes[i] != stream_byte(stream->taken++);
	plc_buffer_taken(&stream->buffer, n);
}

static void
test_stream(size_t limit, size_t most_put, size_t most_taken, size_t keep, const char *name)
{
	Stream		stream = {.put = 0};

	plc_buffer_init(&stream.buffer, limit);
	srand(1);
	while (stream.put < 3000000)
	{
		stream_put(&stream, 1 + (size_t) rand() % most_put);
		if (plc_buffer_length(&stream.buffer) > keep)
			stream_take(&stream, 1 + (size_t) rand() % most_taken);
	}
	tap_is((long long) stream.wrong, 0, name);
	tap_ok(stream.most <= (limit + limit / 3 + 1 > PLC_BUFFER_SMALL ? limit + limit / 3 + 1 : PLC_BUFFER_SMALL),
		   "... in %zu bytes of memory", stream.most);
	tap_ok(stream.moved <= 3 * stream.taken + 3 * limit, "... moving %.2f bytes for each",
		   (double) stream.moved / (double) stream.put);
	plc_buffer_release(&stream.buffer);
}

int
main(void)
{
	test_basics();
	test_limit();
	test_no_memory();
	test_pool();
	test_stream(1000, 100, 100, 0, "small pieces in and out");
	test_stream(100000, 1, 1, 12000, "single bytes through a buffer that is nearly full");
	test_stream(100000, 1, 1, 99990, "single bytes through a large buffer at its limit");
	test_stream(1 << 20, 40000, 60000, 0, "large pieces");
	test_stream(1 << 20, 5000, 10000, 500000, "a long queue");
	return tap_done();
}
