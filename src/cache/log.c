/*
 * log.c
 *		A log: items in a ring, appended at one end and given up at the other.
 *
 * Positions count units of 16 bytes and only grow.  The ring has room for the
 * last `units` of them; an item that meets the end of the ring goes on at its
 * start.  An item is
 *
 *		word 0		hash of the key
 *		word 1		value_len (32 bits), key_len (16), PLC_ITEM_MAGIC (16)
 *		...			key, padded with zeros to whole words
 *		...			value, padded with zeros to whole units
 *
 * `lap` is the position that the ring's first unit has, or had last.  A live
 * position is at most one ring's length before or behind it, so a subtraction
 * finds the place of a position in the ring, without a division, and rebuilds a
 * position from the 47 bits that a slot keeps (plc_log_word, plc_log_expand).
 * Since nothing else depends on a position's size, nothing happens when the 47
 * bits wrap.
 *
 * Readers and the writer.  A reader takes no lock, so the writer may overwrite
 * the words that it loads.  Writer and reader go by these steps:
 *
 *		writer							reader
 *		1. store tail, past the old		a. load words
 *		2. release fence				b. acquire fence
 *		3. store words, then lap		c. load tail: past the item? a miss
 *
 * What must not happen is that a reader loads a word of step 3 in (a), and in
 * (c) a tail from before step 1: it would take a mixture for an item.  But if
 * (a) sees a store that follows the fence of step 2, then the fence of step 2
 * synchronizes with the fence (b), and (c) sees the tail of step 1 or a later
 * one.  The same holds if (a) sees the lap of step 3: a reader that computed a
 * place from a lap too young for its position is denied by the tail.
 * Without step 2 the stores of step 3 might become visible before that of step
 * 1; without (b) the load (c) might be done before those of (a).
 *
 * In the other direction, an item is complete before anybody knows of it: the
 * slot that points at it is stored with release after steps 1 to 3, and loaded
 * with acquire before (a).
 *
 * What a reader loads before (c) may be anything, so until then it decides
 * nothing but how soon to say "miss": no length from the ring bounds a loop, and
 * places are always inside the ring.
 */
#include "cache/store_internal.h"

/* Where the next word of an item goes, and what of it is known already */
typedef struct Writer
{
	uint64_t   *ring;
	uint64_t	words;			/* in the ring */
	uint64_t	next;
	uint64_t	piece;			/* the next word's first bytes, then zeros */
	uint32_t	filled;			/* bytes in piece, less than 8 */
} Writer;

static inline uint64_t
ring_words(const PlcLog *log)
{
	return log->units * PLC_UNIT_WORDS;
}

/* Places within an item may lie behind the ring's end by less than its length. */
static inline uint64_t
wrap(uint64_t place, uint64_t end)
{
	return place < end ? place : place - end;
}

static inline uint64_t
lengths_word(uint32_t value_len, uint32_t key_len)
{
	return value_len | (uint64_t) key_len << 32 | (uint64_t) PLC_ITEM_MAGIC << 48;
}

static bool
key_equal(const PlcLog *log, uint64_t place, const unsigned char *key, uint32_t key_len)
{
	const uint64_t *ring = plc_log_ring(log);
	uint64_t	words = ring_words(log);
	uint64_t	difference = 0;

	for (; key_len >= 8; key += 8, key_len -= 8)
	{
		difference |= plc_word_load(&ring[place]) ^ plc_word_from(key);
		if (++place == words)
			place = 0;
	}
	if (key_len > 0)
		difference |= plc_word_load(&ring[place]) ^ plc_word_from_piece(key, key_len);
	return difference == 0;
}

/* Whether the words at item->position are the item of this key; lengths are filled in. */
static inline bool
is_item(const PlcLog *log, uint64_t place, PlcRef *item, const void *key, uint32_t key_len)
{
	const uint64_t *ring = plc_log_ring(log);
	uint64_t	hash = plc_word_load(&ring[place]);
	uint64_t	lengths = plc_word_load(&ring[place + 1]);	/* same unit */

	item->value_len = (uint32_t) lengths;
	item->value_offset = plc_item_value_offset(key_len);
	return hash == item->hash && lengths == lengths_word(item->value_len, key_len) &&
		key_equal(log, wrap(place + PLC_UNIT_WORDS, ring_words(log)), key, key_len);
}

/*
 * Whether item->position holds the item of this key, whose hash is item->hash.
 * If so the lengths are filled in, and were true when this function returned.
 * The position must come from a slot.  Needs no lock.
 */
bool
plc_log_match(const PlcLog *log, PlcRef *item, const void *key, uint32_t key_len)
{
	if (!is_item(log, plc_log_word(log, item->position), item, key, key_len))
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return plc_log_holds(log, item->position);
}

/*
 * The same, and copies the first head_len bytes of the value, whole words of which it
 * must have as many.
 */
bool
plc_log_match_head(const PlcLog *log, PlcRef *item, const void *key, uint32_t key_len,
				   void *head, uint32_t head_len)
{
	const uint64_t *ring = plc_log_ring(log);
	uint64_t	words = ring_words(log);
	uint64_t	place = plc_log_word(log, item->position);
	uint32_t	i;

	if (!is_item(log, place, item, key, key_len) || item->value_len < head_len)
		return false;
	place = wrap(place + item->value_offset / 8, words);
	for (i = 0; i < head_len; i += 8)
	{
		plc_word_to((unsigned char *) head + i, plc_word_load(&ring[place]));
		place = wrap(place + 1, words);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return plc_log_holds(log, item->position);
}

/* Copies bytes that do not wrap; `from` counts bytes of the ring. */
static void
copy_out(const uint64_t *ring, uint64_t from, unsigned char *dst, uint32_t len)
{
	const uint64_t *word = &ring[from / 8];
	uint32_t	skip = from % 8;

	if (skip > 0)
	{
		uint32_t	n = len < 8 - skip ? len : 8 - skip;

		plc_word_to_piece(dst, plc_word_skip(plc_word_load(word++), skip), n);
		dst += n;
		len -= n;
	}
	for (; len >= 32; dst += 32, len -= 32, word += 4)
	{
		plc_word_to(dst, plc_word_load(word));
		plc_word_to(dst + 8, plc_word_load(word + 1));
		plc_word_to(dst + 16, plc_word_load(word + 2));
		plc_word_to(dst + 24, plc_word_load(word + 3));
	}
	for (; len >= 8; dst += 8, len -= 8)
		plc_word_to(dst, plc_word_load(word++));
	if (len > 0)
		plc_word_to_piece(dst, plc_word_load(word), len);
}

/*
 * Copies len bytes of an item's value, from offset on, to dst.  The caller has
 * checked that the value has as many.  False if the item was given up before
 * the copy was complete; dst then holds anything.  Needs no lock.
 */
bool
plc_log_read(const PlcLog *log, const PlcRef *item, uint32_t offset, void *dst, uint32_t len)
{
	const uint64_t *ring = plc_log_ring(log);
	uint64_t	end = log->units * PLC_UNIT_BYTES;
	uint64_t	from = plc_log_word(log, item->position) * 8 + item->value_offset + offset;
	uint32_t	first;

	from = wrap(from, end);
	first = len <= end - from ? len : (uint32_t) (end - from);
	copy_out(ring, from, dst, first);
	if (first < len)
		copy_out(ring, 0, (unsigned char *) dst + first, len - first);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return plc_log_holds(log, item->position);
}

/* Fills in what the log knows of the item at item->position. */
void
plc_log_describe_locked(const PlcLog *log, PlcRef *item)
{
	const uint64_t *ring = plc_log_ring(log);
	uint64_t	place = plc_log_word(log, item->position);
	uint64_t	lengths = plc_word_load(&ring[place + 1]);

	plc_check(lengths >> 48 == PLC_ITEM_MAGIC);
	item->hash = plc_word_load(&ring[place]);
	item->value_len = (uint32_t) lengths;
	item->value_offset = plc_item_value_offset((lengths >> 32) & 0xffff);
}

/*
 * Copies up to nwords words of the key of the item at a position; returns the
 * length of the key in bytes.
 */
uint32_t
plc_log_key_locked(const PlcLog *log, uint64_t position, uint64_t *words, uint32_t nwords)
{
	const uint64_t *ring = plc_log_ring(log);
	uint64_t	place = plc_log_word(log, position);
	uint32_t	key_len = (plc_word_load(&ring[place + 1]) >> 32) & 0xffff;
	uint32_t	i;

	place += PLC_UNIT_WORDS;
	for (i = 0; i < nwords && i < (key_len + 7) / 8; i++)
		words[i] = plc_word_load(&ring[wrap(place + i, ring_words(log))]);
	return key_len;
}

uint64_t
plc_log_free_locked(const PlcLog *log)
{
	return log->units - (log->head - log->tail);
}

/* Gives up the item at the tail: steps 1 and 2 for all that is appended next. */
void
plc_log_give_up_locked(PlcLog *log, uint32_t units)
{
	plc_check(units <= log->head - log->tail);
	plc_word_store(&log->tail, log->tail + units);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/*
 * Moves the head past an item that has been written; returns its position.
 * From now on plc_log_word and plc_log_expand understand it.
 */
static uint64_t
advance(PlcLog *log, uint32_t units)
{
	uint64_t	position = log->head;

	log->head += units;
	if (log->head - log->lap >= log->units)
		plc_word_store(&log->lap, log->lap + log->units);
	return position;
}

static inline void
write_word(Writer *writer, uint64_t word)
{
	plc_word_store(&writer->ring[writer->next], word);
	writer->next = wrap(writer->next + 1, writer->words);
}

/* Completes the word begun with what the data has; false if it was too short. */
static bool
complete_piece(Writer *writer, const unsigned char **data, uint32_t *len)
{
	uint32_t	n = 8 - writer->filled < *len ? 8 - writer->filled : *len;

	memcpy((unsigned char *) &writer->piece + writer->filled, *data, n);
	writer->filled += n;
	*data += n;
	*len -= n;
	if (writer->filled < 8)
		return false;
	write_word(writer, writer->piece);
	return true;
}

static void
write_bytes(Writer *writer, const unsigned char *data, uint32_t len)
{
	if (len == 0)
		return;
	if (writer->filled > 0 && !complete_piece(writer, &data, &len))
		return;
	for (; len >= 8; data += 8, len -= 8)
		write_word(writer, plc_word_from(data));
	writer->piece = plc_word_from_piece(data, len);
	writer->filled = len;
}

/* Ends a key or a value at a word's end. */
static void
write_padding(Writer *writer)
{
	if (writer->filled > 0)
		write_word(writer, writer->piece);
	writer->piece = 0;
	writer->filled = 0;
}

/*
 * Appends an item, for which there must be room; returns its position.
 * item has its hash and value length.
 */
uint64_t
plc_log_append_locked(PlcLog *log, const PlcRef *item, const void *key, uint32_t key_len,
					  const PlcSlice *slices, int nslices)
{
	Writer		writer = {0};
	int			i;

	plc_check(plc_item_units(item) <= plc_log_free_locked(log));
	writer.ring = plc_log_ring(log);
	writer.words = ring_words(log);
	writer.next = plc_log_word(log, log->head);

	write_word(&writer, item->hash);
	write_word(&writer, lengths_word(item->value_len, key_len));
	write_bytes(&writer, key, key_len);
	write_padding(&writer);
	for (i = 0; i < nslices; i++)
		write_bytes(&writer, slices[i].data, slices[i].len);
	write_padding(&writer);
	if (writer.next % PLC_UNIT_WORDS != 0)
		write_word(&writer, 0);
	return advance(log, plc_item_units(item));
}

/*
 * Appends a copy of an item, for which there must be room; returns the copy's
 * position.  The logs may be the same one, with the item just given up: the
 * copy then starts at or before its source in the ring, and overlaps it if the
 * log is full, so words are copied in ascending order.
 */
uint64_t
plc_log_copy_locked(PlcLog *to, const PlcLog *from, uint64_t position, uint32_t units)
{
	const uint64_t *source_ring = plc_log_ring(from);
	uint64_t   *ring = plc_log_ring(to);
	uint64_t	source = plc_log_word(from, position);
	uint64_t	place = plc_log_word(to, to->head);
	uint64_t	n;

	plc_check(units <= plc_log_free_locked(to));
	for (n = (uint64_t) units * PLC_UNIT_WORDS; n > 0; n--)
	{
		plc_word_store(&ring[place], plc_word_load(&source_ring[source]));
		source = wrap(source + 1, ring_words(from));
		place = wrap(place + 1, ring_words(to));
	}
	return advance(to, units);
}

/*
 * Overwrites an aligned 32-bit word in the value of a live item.  Readers see
 * the old one or the new one, for the 8 bytes around it are stored at once.
 */
void
plc_log_patch_locked(PlcLog *log, const PlcRef *item, uint32_t offset, uint32_t word)
{
	uint64_t	place = plc_log_word(log, item->position) + (item->value_offset + offset) / 8;
	uint64_t   *target = &plc_log_ring(log)[wrap(place, ring_words(log))];
	uint64_t	both = plc_word_load(target);

	memcpy((unsigned char *) &both + offset % 8, &word, sizeof(word));
	plc_word_store(target, both);
}
