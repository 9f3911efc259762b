/*
 * buffer.c
 *		Bytes between a socket and the codec.
 *
 * The bytes lie in one piece, so that the codec and the kernel need no list.  What
 * was taken from the front leaves a gap there.  When the end is reached, the bytes
 * are moved to the front only if a quarter of the memory comes free by that, and
 * otherwise the memory grows; so each byte taken pays for at most three bytes moved,
 * however small the pieces that come and go.  Memory is at most a third more than
 * the limit, or the smallest piece.
 *
 * Most clients are idle at any moment, and an idle one should hold no buffer.  The
 * owner gives the memory of an empty buffer up after each turn and takes it again
 * in the next: so this must cost nearly nothing, and pieces of two sizes go to pools,
 * the last one given first taken.  Ten thousand clients then share the few that are in
 * use at once, and those stay in the processor's cache: a request of one key and its
 * reply fit in small pieces, a request of many keys in medium ones.
 *
 * Needs no lock: a process has a pool of its own.
 */
#include "resp/buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of one size that nobody uses; no more of them than a turn has clients */
#define POOL_SIZE	64

typedef struct Pool
{
	size_t		size;			/* of each */
	int			n;
	char	   *memory[POOL_SIZE];
} Pool;

static Pool pools[] = {{.size = PLC_BUFFER_SMALL}, {.size = PLC_BUFFER_MEDIUM}};

void
plc_buffer_init(PlcBuffer *buffer, size_t limit)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->limit = limit;
}

/* The pool of this size, or NULL. */
static Pool *
pool_of_size(size_t size)
{
	return size == PLC_BUFFER_SMALL ? &pools[0] : size == PLC_BUFFER_MEDIUM ? &pools[1] : NULL;
}

static char *
get_memory(size_t size)
{
	Pool	   *pool = pool_of_size(size);

	if (pool != NULL && pool->n > 0)
		return pool->memory[--pool->n];
	return malloc(size);
}

static void
give_memory(char *memory, size_t size)
{
	Pool	   *pool = pool_of_size(size);

	if (pool != NULL && pool->n < POOL_SIZE)
		pool->memory[pool->n++] = memory;
	else
		free(memory);
}

void
plc_buffer_release(PlcBuffer *buffer)
{
	if (buffer->memory != NULL)
		give_memory(buffer->memory, buffer->size);
	buffer->memory = NULL;
	buffer->size = buffer->start = buffer->end = 0;
}

/*
 * A size for that many bytes: small, medium, then twice the last, until a quarter would
 * stay free; but no more than the limit and a quarter of the whole.
 */
static size_t
choose_size(const PlcBuffer *buffer, size_t needed)
{
	size_t		most = buffer->limit + buffer->limit / 3 + 1;
	size_t		size = PLC_BUFFER_SMALL;

	if (most < buffer->limit)
		most = SIZE_MAX;
	while (size - size / 4 < needed && size < most)
		size = size < PLC_BUFFER_MEDIUM ? PLC_BUFFER_MEDIUM : size <= SIZE_MAX / 2 ? size * 2 : SIZE_MAX;
	return size > most && size > PLC_BUFFER_SMALL ? most : size;
}

static bool
grow(PlcBuffer *buffer, size_t size)
{
	size_t		length = plc_buffer_length(buffer);
	char	   *memory = get_memory(size);

	if (memory == NULL)
		return false;
	if (length > 0)
		memcpy(memory, plc_buffer_bytes(buffer), length);
	plc_buffer_release(buffer);
	buffer->memory = memory;
	buffer->size = size;
	buffer->end = length;
	return true;
}

char *
plc_buffer_make_room(PlcBuffer *buffer, size_t n)
{
	size_t		length = plc_buffer_length(buffer);

	if (length > buffer->limit || n > buffer->limit - length)
	{
		buffer->failed = true;
		return NULL;
	}
	if (buffer->memory != NULL && length + n <= buffer->size - buffer->size / 4)
	{
		memmove(buffer->memory, plc_buffer_bytes(buffer), length);
		buffer->start = 0;
		buffer->end = length;
	}
	else if (!grow(buffer, choose_size(buffer, length + n)))
	{
		buffer->failed = true;
		return NULL;
	}
	return buffer->memory + buffer->end;
}

void
plc_buffer_append(PlcBuffer *buffer, const void *bytes, size_t n)
{
	char	   *room = plc_buffer_room(buffer, n);

	if (room == NULL)
		return;
	if (n > 0)
		memcpy(room, bytes, n);
	plc_buffer_added(buffer, n);
}
