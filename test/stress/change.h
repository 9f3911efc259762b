/*
 * change.h
 *		A writing transaction and what it will have changed once it commits.
 */
#ifndef STRESS_CHANGE_H
#define STRESS_CHANGE_H

#include "session.h"

#define MAX_CHANGES		(4 * KEYS)

typedef struct Tx
{
	Session    *session;
	int			table;
	int			nkeys;			/* locked ones, ascending */
	int			keys[KEYS];
	bool		keep_locks;		/* beyond the end of the transaction */
	int			nchanges;
	int			changed[MAX_CHANGES];	/* keys */
	State		states[MAX_CHANGES];	/* that they were given, in this order */
} Tx;

/* Beginning, with keys locked */
extern void tx_begin_some(Tx *tx, Session *s, Level level, int table, int nkeys);
extern void tx_begin_group(Tx *tx, Session *s, Level level, int table, int group);
extern void tx_begin_all(Tx *tx, Session *s, Level level, int table);
extern void tx_begin_unlocked(Tx *tx, Session *s, Level level, int table);

/* The same locks, for changes that the endpoint makes; false if they were refused */
extern bool tx_lock_some(Tx *tx, Session *s, int table, int nkeys);
extern bool tx_lock_group(Tx *tx, Session *s, int table, int group);
extern void tx_note(Tx *tx, int key, State state);
extern void tx_note_all(Tx *tx, State state);
extern void tx_announce(const Tx *tx);
extern bool tx_finish(Tx *tx, bool happened);

/* Several transactions under one set of locks */
extern void tx_begin_again(Tx *tx, Level level);
extern void tx_release(Tx *tx);

/* Changing; each returns how many rows it changed */
extern int	tx_update(Tx *tx, int key);
extern int	tx_put(Tx *tx, int key);
extern int	tx_delete(Tx *tx, int key);
extern int	tx_move(Tx *tx, int from, int to);
extern int	tx_put_all(Tx *tx);
extern int	tx_update_all(Tx *tx);
extern int	tx_delete_all(Tx *tx);
extern void tx_copy_all(Tx *tx, const char *options);

/* Reading what was written */
extern void tx_read(Tx *tx);

/* Savepoints: a mark is the number of changes */
extern int	tx_savepoint(Tx *tx);
extern void tx_rollback_to(Tx *tx, int mark);

/* Ending; each returns whether it happened */
extern bool tx_commit(Tx *tx);
extern bool tx_commit_prepared(Tx *tx, const char *name);
extern bool tx_rollback(Tx *tx);

#endif							/* STRESS_CHANGE_H */
