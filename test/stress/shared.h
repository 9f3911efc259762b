/*
 * shared.h
 *		What the processes of the checker tell each other: what is known to be
 *		committed, how often each thing was done, what was found.
 */
#ifndef STRESS_SHARED_H
#define STRESS_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "table.h"

/*
 * Everything that must happen in a run at least once, with its name in the
 * report; the second list only if there is an endpoint.
 */
#define KINDS(X) \
	X(READ_COMMITTED, "read committed") \
	X(REPEATABLE_READ, "repeatable read") \
	X(SERIALIZABLE, "serializable") \
	X(MGET, "mget") \
	X(MGET_JSON, "mget_json") \
	X(MGET_ROWS, "mget_rows") \
	X(MGET_ALONE, "mget alone") \
	X(OWN_READ, "read of own writes") \
	X(SETTINGS, "other settings") \
	X(UPDATE, "update") \
	X(ROLLBACK, "rollback") \
	X(SAVEPOINT, "savepoint") \
	X(DELETE, "delete or insert") \
	X(REPLACE, "delete and insert") \
	X(MOVE, "key change") \
	X(TOGETHER, "keys moved together") \
	X(COPY, "copy") \
	X(LOCK, "row lock") \
	X(PREPARED, "prepared transaction") \
	X(REFILL, "truncate twice") \
	X(SKEW, "write skew refused") \
	X(VACUUM, "vacuum") \
	X(FREEZE, "vacuum freeze") \
	X(VACUUM_FULL, "vacuum full") \
	X(CLUSTER, "cluster") \
	X(TABLESPACE, "set tablespace") \
	X(REINDEX, "reindex concurrently") \
	X(ADD_COLUMN, "add column") \
	X(RENAME_COLUMN, "rename column") \
	X(RETYPE_COLUMN, "alter type, no rewrite") \
	X(REWRITE_COLUMN, "alter type, rewrite") \
	X(DROP_COLUMN, "drop column") \
	X(RENAME_LABEL, "rename enum label") \
	X(DDL_ROLLBACK, "ddl rolled back")

#define RESP_KINDS(X) \
	X(GET, "GET") \
	X(RESP_MGET, "MGET") \
	X(HGETALL, "HGETALL") \
	X(EXEC, "EXEC") \
	X(SET, "SET, then GET") \
	X(SET_IF, "SET NX or XX") \
	X(HSET, "HSET") \
	X(DEL, "DEL") \
	X(MSET, "MSET or DEL together") \
	X(EXEC_WRITE, "EXEC with writes") \
	X(TWINS, "two tables at once") \
	X(TWINS_READ, "two tables read") \
	X(RECONNECT, "reconnected") \
	X(WORKERS, "two workers at once") \
	X(CANCEL_WORKER, "worker interrupted") \
	X(END_WORKER, "worker ended") \
	X(LOST, "connection lost")

typedef enum Kind
{
#define X(id, name) KIND_##id,
	KINDS(X)
	RESP_KINDS(X)
#undef X
	NKINDS
} Kind;

#define FIRST_RESP_KIND	KIND_GET

/*
 * What is known of a key: the version that was last committed, times two, and
 * one if that version was the deletion of the row.  Versions come from one
 * clock and are drawn while the key is locked, so for each key states are
 * committed in their order.  0: nothing is known.
 */
typedef uint64_t State;

#define STATE_ROW(version)		((State) (version) << 1)
#define STATE_DELETED(version)	((State) (version) << 1 | 1)
#define STATE_IS_DELETED(state)	(((state) & 1) != 0)

/* Workers that the checker has ended, at most */
#define MAX_ENDED		4096

typedef struct Shared
{
	/* set before the processes start */
	uint64_t	seed;
	double		started;		/* seconds, of now() */
	double		deadline;
	int			enough;			/* mismatches after which to stop */
	int			port;			/* of the endpoint, or 0 */
	bool		only_resp;		/* judge only what was read there */

	/* all below: atomic, sequentially consistent */
	_Atomic bool stop;
	_Atomic uint64_t clock;		/* versions given out */

	/* raised when a commit was acknowledged, and when a row was seen by others */
	_Atomic State known[TABLES][KEYS];
	/* raised before the commit is sent: from then on it may be seen */
	_Atomic State committing[TABLES][KEYS];
	/* the same for deletions alone */
	_Atomic State deleting[TABLES][KEYS];

	/* the same for the twins' version; see twins.c */
	_Atomic uint64_t twins_known;
	_Atomic uint64_t twins_committing;

	/* process ids of workers, noted before they were ended */
	_Atomic int nended;
	_Atomic int ended[MAX_ENDED];

	/* TRUNCATE and rewrites, which hide all rows from snapshots that are older */
	_Atomic uint64_t rewrites_started[TABLES];
	_Atomic uint64_t rewrites_done[TABLES];

	/* renames of the enum's label: begun, and acknowledged */
	_Atomic uint64_t label_started;
	_Atomic uint64_t label_done;

	/* the report */
	_Atomic uint64_t counts[NKINDS];
	_Atomic uint64_t checked;	/* keys compared */
	_Atomic uint64_t retries;	/* statements refused for concurrency */
	_Atomic uint64_t mismatches;
	char		first[64];		/* kind of the first mismatch, set by who made it 1 */
	double		first_at;		/* seconds after the start */
} Shared;

/*
 * Lower bounds: what was known before a question was sent.  No answer may be
 * behind it.
 */
typedef struct Floor
{
	State		known[TABLES][KEYS];
	uint64_t	rewrites[TABLES];
	uint64_t	label;
} Floor;

extern Shared *shared;
extern const char *const kind_names[NKINDS];

extern void shared_create(void);
extern double now(void);
extern bool running(void);
extern uint64_t next_version(void);
extern void count(Kind kind);
extern void raise_to(_Atomic uint64_t *value, uint64_t least);
extern const char *label_name(uint64_t number);
extern void floor_take(Floor *floor);

#endif							/* STRESS_SHARED_H */
