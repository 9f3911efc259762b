/*
 * turn.h
 *		The transaction of a turn: its snapshot, its tables, in whose name.
 */
#ifndef PLC_RESP_TURN_H
#define PLC_RESP_TURN_H

#include "datatype/timestamp.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "resp/codec.h"
#include "table/read.h"
#include "table/table.h"

/* A table of the turn: locked and open, until the transaction ends. */
typedef struct PlcTurnTable
{
	Oid			relid;
	Relation	relation;
	PlcTable   *table;
	LOCKMODE	lock;			/* the strongest that is held */
	PlcRead    *read;			/* under the turn's snapshot, or NULL */
	struct PlcTurnTable *next;
} PlcTurnTable;

/* A key of a request, taken apart: a table of the turn and what stands behind the colon. */
typedef struct PlcTurnKey
{
	PlcTurnTable *table;		/* NULL: a key that names no attached table */
	const char *row;
	size_t		len;
} PlcTurnKey;

/*
 * Makes sure that a transaction is under way.  The bytes of all requests that it will
 * answer have been received.
 */
extern void plc_turn_begin(void);

/* What follows acts as this role. */
extern void plc_turn_act_as(Oid role);

/* Commits what is under way, if anything. */
extern void plc_turn_end(void);

/*
 * A turn is over that had only to read: its snapshot goes, its counts are told, and
 * transaction and locks stay for the next turn, if that comes soon.  False if what is
 * under way has to end now.
 */
extern bool plc_turn_rest(TimestampTz now);

/*
 * Rolls back what is under way, if anything; also after an error.  The current memory
 * context is none of the transaction's.
 */
extern void plc_turn_abort(void);

extern bool plc_turn_under_way(void);

/*
 * Has a commit since the last call given up waiting for its synchronous standbys?  It is
 * committed here, but its client asked for more.
 */
extern bool plc_turn_take_unconfirmed(void);

/*
 * Repeatable read from here on: one snapshot for all that follows until the turn
 * ends.  To be called right after plc_turn_begin has begun a new transaction.
 */
extern void plc_turn_freeze(void);

/*
 * Finds the tables that the keys argv[0], argv[step], … (n of them) name, locks
 * those that are not yet, and renews the snapshot if it locked any.  False if one is
 * locked by others: park the request.  Raises an error if the current role may not
 * read one (or, with RowExclusiveLock, if it is not writable).
 */
extern bool plc_turn_keys(const PlcArg *argv, int n, int step, LOCKMODE lock, PlcTurnKey *keys);

/* Only locks them.  False if one is locked by others. */
extern bool plc_turn_lock(const PlcArg *argv, int n, int step, LOCKMODE lock);
extern bool plc_turn_lock_table(Oid relid, LOCKMODE lock);

/* No more tables are locked in this transaction: it is an error to name another one. */
extern void plc_turn_seal(void);

/* As plc_turn_keys for a table known by its oid; NULL if it is locked by others, or gone. */
extern PlcTurnTable *plc_turn_table(Oid relid, LOCKMODE lock);

/* The key's values, palloc'd if need be; ncolumns of them.  Raises an error for what is no key. */
extern void plc_turn_key_values(const PlcTurnKey *key, Datum *values);

/* Reads keys of one table under the turn's snapshot, in order. */
extern void plc_turn_read(PlcTurnTable *table, const PlcKeys *keys, PlcSink *sink);

/* Ends the reads of all tables; or forgets them, after an error in a subtransaction. */
extern void plc_turn_end_reads(void);
extern void plc_turn_forget_reads(void);

/* The turn's snapshot, active; taken if there is none yet. */
extern Snapshot plc_turn_snapshot(void);

/* Rows were written: what is read next in this transaction sees them. */
extern void plc_turn_written(void);

/* User code may have run: the session is to be cleaned of what it left. */
extern void plc_turn_ran_user_code(void);

/* Has it in this transaction?  Then nobody else's command may run in it. */
extern bool plc_turn_has_run_user_code(void);

#endif							/* PLC_RESP_TURN_H */
