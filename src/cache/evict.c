/*
 * evict.c
 *		Room in the logs: who stays and who leaves, by S3-FIFO.
 *
 * S3-FIFO is the eviction policy of J. Yang, Y. Zhang, Z. Qiu, Y. Yue and
 * K. V. Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023.
 * Most objects of most caches are never asked for again, so a new one has to
 * show its worth quickly in a small queue before it may take room in the main
 * one.  Here the queues are the two logs of a shard:
 *
 *		new item ---> small log --- used meanwhile? ---> main log ---+
 *		              (10 %)  |                            ^    |    |
 *		                      no                           +----+    |
 *		                      v                        used: again,  |
 *		                 ghost list                  with one less   |
 *		                      |                                      v
 *		comes back soon ------+---> main log                     forgotten
 *
 * A hit only raises a byte in the index (plc_store_touch), at most to 3, so hot
 * items are read without writing anything.  All else happens here, when a put
 * needs room, at the tail of a log:
 *
 * - In the small log an item that was used moves to the main log, its count
 *   reset to 0; another leaves, and its hash is remembered as a ghost.  While
 *   the main log has room that nobody uses, all move there: memory that was
 *   reserved is not left empty.
 * - In the main log an item with a count is appended again with one less;
 *   another leaves for good.
 * - An item that no slot points at, since it was replaced, removed or displaced,
 *   is passed over.
 *
 * A put's work is bounded.  It appends at most REAPPEND_ITEMS items again, and
 * one more for each 256 bytes that it needs; and no further one when it has
 * copied REAPPEND_BYTES and as much as it needs.  Then items leave the main log
 * whatever their count.  So a shard whose items are all hot costs a put some 16
 * copies instead of a whole round of the ring, and behaves like a plain FIFO.
 *
 * An item appended again was given up first, so for the time of the copy its
 * readers miss it: when the log is full its new place overlaps the old one.
 * An item promoted is given up after its slot was swung, so it can be found at
 * any moment.
 *
 * All functions need the shard's lock.
 */
#include "cache/store_internal.h"

/*
 * Per put.  16 items are enough while fewer than 16 in 17 items at the tail are
 * hot.  To copy them takes 0.6 us if they have 224 bytes each, and what waits
 * for memory comes to it; to copy 256 kB takes 40 us.  The last item may be
 * larger than what is left of these.
 */
#define REAPPEND_ITEMS		16
#define REAPPEND_BYTES		(256 * 1024)
#define BYTES_PER_REAPPEND	256

/*
 * The small log takes items up to an eighth of it, as a shard takes values up to
 * an eighth of it: a larger one would push out too much of what is on trial.
 */
#define SMALL_LOG_PART		8

/* What one put wants, and how much it may still do for others */
typedef struct Room
{
	PlcStore   *store;
	PlcShard   *shard;
	uint32_t	items;			/* that may still be appended again */
	int64_t		units;			/* likewise; the last item may overdraw it */
} Room;

/* Describes the item at a log's tail; false if it is dead. */
static bool
tail_item(const Room *room, bool main_log, PlcRef *item)
{
	const PlcLog *log = &room->shard->logs[main_log];

	item->position = log->tail;
	item->main_log = main_log;
	plc_log_describe_locked(log, item);
	return plc_index_owner_locked(plc_hash_bucket(room->store, item->hash), item);
}

static void
evict(Room *room, const PlcRef *item)
{
	plc_shard_forget_locked(room->shard, plc_hash_bucket(room->store, item->hash), item);
	room->shard->counts.evicted++;
}

/* Copies an item to the main log's head, and swings its slot there. */
static void
move_to_main(Room *room, const PlcRef *item, uint8_t uses)
{
	PlcShard   *shard = room->shard;
	PlcBucket  *bucket = plc_hash_bucket(room->store, item->hash);
	PlcRef		moved = *item;

	moved.main_log = true;
	moved.position = plc_log_copy_locked(&shard->logs[PLC_MAIN], &shard->logs[item->main_log],
										 item->position, plc_item_units(item));
	plc_slot_set_locked(bucket, item->slot, plc_slot_of(&moved));
	plc_uses_store(bucket, item->slot, uses);
}

static bool
may_reappend(Room *room, uint32_t units)
{
	if (room->items == 0 || room->units <= 0)
		return false;
	room->items--;
	room->units -= units;
	return true;
}

static void
pass_main_tail(Room *room)
{
	PlcLog	   *log = &room->shard->logs[PLC_MAIN];
	PlcRef		item;
	bool		live = tail_item(room, PLC_MAIN, &item);
	uint32_t	units = plc_item_units(&item);
	uint8_t		uses = 0;

	if (live)
		uses = plc_uses_load(plc_hash_bucket(room->store, item.hash), item.slot);
	if (live && (uses == 0 || !may_reappend(room, units)))
	{
		evict(room, &item);
		live = false;
	}
	plc_log_give_up_locked(log, units);
	if (live)
		move_to_main(room, &item, uses - 1);
}

static void
make_main_room(Room *room, uint32_t units)
{
	while (plc_log_free_locked(&room->shard->logs[PLC_MAIN]) < units)
		pass_main_tail(room);
}

static void
promote(Room *room, const PlcRef *item)
{
	make_main_room(room, plc_item_units(item));
	move_to_main(room, item, 0);
	room->shard->counts.promoted++;
}

/*
 * Is there room for so many units in the main log that nobody has to leave for?
 * Passes over a few dead items to find out.
 */
static bool
main_has_room(Room *room, uint32_t units)
{
	PlcLog	   *log = &room->shard->logs[PLC_MAIN];
	PlcRef		item;
	int			i;

	for (i = 0; i < REAPPEND_ITEMS && plc_log_free_locked(log) < units; i++)
	{
		if (tail_item(room, PLC_MAIN, &item))
			return false;
		plc_log_give_up_locked(log, plc_item_units(&item));
	}
	return plc_log_free_locked(log) >= units;
}

static bool
was_used(Room *room, const PlcRef *item)
{
	return plc_uses_load(plc_hash_bucket(room->store, item->hash), item->slot) > 0;
}

static void
pass_small_tail(Room *room)
{
	PlcRef		item;

	if (tail_item(room, PLC_SMALL, &item))
	{
		if (was_used(room, &item) || main_has_room(room, plc_item_units(&item)))
			promote(room, &item);
		else
		{
			evict(room, &item);
			plc_ghost_remember_locked(room->store, item.hash);
		}
	}
	plc_log_give_up_locked(&room->shard->logs[PLC_SMALL], plc_item_units(&item));
}

static void
make_small_room(Room *room, uint32_t units)
{
	while (plc_log_free_locked(&room->shard->logs[PLC_SMALL]) < units)
		pass_small_tail(room);
}

/* Such an item goes to the main log at once. */
bool
plc_evict_too_big_for_small(const PlcShard *shard, uint32_t units)
{
	return units > shard->logs[PLC_SMALL].units / SMALL_LOG_PART;
}

/*
 * Makes room for so many units in one of the shard's logs.  May remove, move or
 * leave alone any item of the shard; adds none, so a bucket does not get fuller,
 * and a slot holds its item or none.
 */
void
plc_evict_make_room_locked(PlcStore *store, PlcShard *shard, bool main_log, uint32_t units)
{
	Room		room;

	room.store = store;
	room.shard = shard;
	room.items = REAPPEND_ITEMS + units / (BYTES_PER_REAPPEND / PLC_UNIT_BYTES);
	room.units = REAPPEND_BYTES / PLC_UNIT_BYTES + (int64_t) units;
	if (main_log)
		make_main_room(&room, units);
	else
		make_small_room(&room, units);
}
