/*
 * buffer.h
 *		Bytes between a socket and the codec: a growing piece of memory, bounded.
 *
 * Pure C.  Bytes are put at the end and taken from the front.
 */
#ifndef PLC_RESP_BUFFER_H
#define PLC_RESP_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/* Sizes of memory that are kept for the next buffer; see buffer.c */
#define PLC_BUFFER_SMALL	512
#define PLC_BUFFER_MEDIUM	16384

typedef struct PlcBuffer
{
	char	   *memory;			/* NULL while there is none */
	size_t		size;			/* of memory */
	size_t		start;			/* the first byte not taken yet */
	size_t		end;			/* behind the last byte */
	size_t		limit;			/* bytes that may wait at once; set by the owner */
	bool		failed;			/* something did not fit; cleared by plc_buffer_cut */
} PlcBuffer;

/* An empty buffer without memory. */
extern void plc_buffer_init(PlcBuffer *buffer, size_t limit);

/*
 * Gives up the memory and the bytes in it: to a small pool of the process, where the
 * next one finds it.
 */
extern void plc_buffer_release(PlcBuffer *buffer);

/* The rest of plc_buffer_room: moves the bytes, or gets more memory. */
extern char *plc_buffer_make_room(PlcBuffer *buffer, size_t n);

/* Appends; sets failed if it does not fit. */
extern void plc_buffer_append(PlcBuffer *buffer, const void *bytes, size_t n);

static inline size_t
plc_buffer_length(const PlcBuffer *buffer)
{
	return buffer->end - buffer->start;
}

static inline char *
plc_buffer_bytes(const PlcBuffer *buffer)
{
	return buffer->memory + buffer->start;
}

/*
 * Room for n bytes at the end; NULL, and failed is set, if that is beyond the
 * limit or there is no memory.  Bytes before may move.  Then plc_buffer_added
 * says how many of them are there.
 */
static inline char *
plc_buffer_room(PlcBuffer *buffer, size_t n)
{
	if (buffer->start == buffer->end)
		buffer->start = buffer->end = 0;
	if (n <= buffer->size - buffer->end && buffer->memory != NULL &&
		plc_buffer_length(buffer) + n <= buffer->limit)
		return buffer->memory + buffer->end;
	return plc_buffer_make_room(buffer, n);
}

static inline void
plc_buffer_added(PlcBuffer *buffer, size_t n)
{
	buffer->end += n;
}

static inline void
plc_buffer_taken(PlcBuffer *buffer, size_t n)
{
	buffer->start += n;
}

/* Cuts the contents down to the first n bytes, and forgets a failure. */
static inline void
plc_buffer_cut(PlcBuffer *buffer, size_t n)
{
	buffer->end = buffer->start + n;
	buffer->failed = false;
}

#endif							/* PLC_RESP_BUFFER_H */
