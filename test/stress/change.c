/*
 * change.c
 *		A writing transaction and what it will have changed once it commits.
 *
 * Before a transaction begins, an advisory lock is taken for each key that it
 * is going to change, in ascending order; they are kept until its end is
 * acknowledged.  Only then are versions drawn from the clock.  So the states of
 * a key are committed in the order of their numbers, deletions included, and
 * "known" can be a maximum.
 *
 * The locks come before the snapshot for a reason: at REPEATABLE READ a
 * transaction that inserts a key which others have deleted since its snapshot
 * sees two rows with that key, the deleted one and its own.  PostgreSQL is like
 * that, and there is no single right answer that mget could be held against.
 *
 * The new states are announced before the commit is sent, since a reader may
 * see them as soon as it is, and told as known to all when the commit is
 * acknowledged.  A transaction that fails tells nothing.
 *
 * A change that is not made by a transaction of the session, but by the
 * endpoint, goes the same way: lock, note, announce, finish.
 *
 * The rows' other columns are generated from the version (checker.c), so to
 * change the version is to change the row.
 */
#include <stdio.h>
#include <stdlib.h>

#include "change.h"
#include "question.h"

static void
lock_keys(Tx *tx)
{
	Text		sql;

	if (tx->nkeys == 0)
		return;
	text_clear(&sql);
	text_add(&sql, "SELECT pg_advisory_lock(%d, key) FROM unnest(ARRAY[", tx->table);
	for (int i = 0; i < tx->nkeys; i++)
		text_add(&sql, "%s%d", i > 0 ? "," : "", tx->keys[i]);
	text_add(&sql, "]) key");
	session_run(tx->session, "%s", sql.bytes);
}

static void
prepare_to_lock(Tx *tx, Session *s, int table)
{
	tx->session = s;
	tx->table = table;
	tx->keep_locks = false;
	tx->nchanges = 0;
}

static void
begin(Tx *tx, Level level)
{
	lock_keys(tx);
	tx_begin_again(tx, level);
}

static int
compare_ints(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

static void
choose_some(Tx *tx, Session *s, int table, int nkeys)
{
	int			all[SINGLE_KEYS];

	prepare_to_lock(tx, s, table);
	for (int key = 0; key < SINGLE_KEYS; key++)
		all[key] = key;
	rng_shuffle(&s->rng, all, SINGLE_KEYS);
	for (int i = 0; i < nkeys; i++)
		tx->keys[i] = all[i];
	tx->nkeys = nkeys;
	qsort(tx->keys, (size_t) nkeys, sizeof(int), compare_ints);
}

static void
choose_group(Tx *tx, Session *s, int table, int group)
{
	prepare_to_lock(tx, s, table);
	for (int member = 0; member < GROUP_SIZE; member++)
		tx->keys[member] = group_key(group, member);
	tx->nkeys = GROUP_SIZE;
}

/* Locks a few keys that belong to no group; false if that was refused. */
bool
tx_lock_some(Tx *tx, Session *s, int table, int nkeys)
{
	choose_some(tx, s, table, nkeys);
	lock_keys(tx);
	return !s->broken;
}

bool
tx_lock_group(Tx *tx, Session *s, int table, int group)
{
	choose_group(tx, s, table, group);
	lock_keys(tx);
	return !s->broken;
}

/* Begins with a few keys that belong to no group. */
void
tx_begin_some(Tx *tx, Session *s, Level level, int table, int nkeys)
{
	choose_some(tx, s, table, nkeys);
	begin(tx, level);
}

void
tx_begin_group(Tx *tx, Session *s, Level level, int table, int group)
{
	choose_group(tx, s, table, group);
	begin(tx, level);
}

void
tx_begin_all(Tx *tx, Session *s, Level level, int table)
{
	prepare_to_lock(tx, s, table);
	for (int key = 0; key < KEYS; key++)
		tx->keys[key] = key;
	tx->nkeys = KEYS;
	begin(tx, level);
}

/* For one that changes no rows. */
void
tx_begin_unlocked(Tx *tx, Session *s, Level level, int table)
{
	prepare_to_lock(tx, s, table);
	tx->nkeys = 0;
	begin(tx, level);
}

/* Begins the next transaction under locks that were kept. */
void
tx_begin_again(Tx *tx, Level level)
{
	tx->nchanges = 0;
	session_begin(tx->session, level);
}

/* Notes what this key will be after the commit. */
void
tx_note(Tx *tx, int key, State state)
{
	if (tx->nchanges == MAX_CHANGES)
		fail(tx->session->name, "a transaction with more than %d changes", MAX_CHANGES);
	tx->changed[tx->nchanges] = key;
	tx->states[tx->nchanges] = state;
	tx->nchanges++;
}

void
tx_note_all(Tx *tx, State state)
{
	for (int i = 0; i < tx->nkeys; i++)
		tx_note(tx, tx->keys[i], state);
}

/* WHERE the row is one of these keys */
static void
add_where(Text *sql, int table, const int *keys, int nkeys)
{
	text_add(sql, " WHERE (%s) IN (", tables[table].columns);
	for (int i = 0; i < nkeys; i++)
	{
		text_add(sql, "%s(", i > 0 ? ", " : "");
		add_key_literals(sql, table, keys[i]);
		text_add(sql, ")");
	}
	text_add(sql, ")");
}

static int
update(Tx *tx, const int *keys, int nkeys, uint64_t version)
{
	Text		sql;

	text_clear(&sql);
	text_add(&sql, "UPDATE %s SET version = %lu", tables[tx->table].name, version);
	add_where(&sql, tx->table, keys, nkeys);
	return session_run(tx->session, "%s", sql.bytes);
}

static int
put(Tx *tx, const int *keys, int nkeys, uint64_t version)
{
	const Table *table = &tables[tx->table];
	Text		sql;

	text_clear(&sql);
	text_add(&sql, "INSERT INTO %s (%s, version) VALUES ", table->name, table->columns);
	for (int i = 0; i < nkeys; i++)
	{
		text_add(&sql, "%s(", i > 0 ? ", " : "");
		add_key_literals(&sql, tx->table, keys[i]);
		text_add(&sql, ", %lu)", version);
	}
	text_add(&sql, " ON CONFLICT (%s) DO UPDATE SET version = excluded.version", table->columns);
	return session_run(tx->session, "%s", sql.bytes);
}

static int
delete(Tx *tx, const int *keys, int nkeys)
{
	Text		sql;

	text_clear(&sql);
	text_add(&sql, "DELETE FROM %s", tables[tx->table].name);
	add_where(&sql, tx->table, keys, nkeys);
	return session_run(tx->session, "%s", sql.bytes);
}

/* Changes the row if there is one. */
int
tx_update(Tx *tx, int key)
{
	uint64_t	version = next_version();
	int			rows = update(tx, &key, 1, version);

	if (rows > 0)
		tx_note(tx, key, STATE_ROW(version));
	return rows;
}

/* Changes the row or makes it. */
int
tx_put(Tx *tx, int key)
{
	uint64_t	version = next_version();
	int			rows = put(tx, &key, 1, version);

	if (rows > 0)
		tx_note(tx, key, STATE_ROW(version));
	return rows;
}

int
tx_delete(Tx *tx, int key)
{
	uint64_t	version = next_version();
	int			rows = delete(tx, &key, 1);

	if (rows > 0)
		tx_note(tx, key, STATE_DELETED(version));
	return rows;
}

/* Gives the row, if there is one, another key, which no row has. */
int
tx_move(Tx *tx, int from, int to)
{
	uint64_t	version = next_version();
	int			rows;
	Text		sql;

	text_clear(&sql);
	text_add(&sql, "UPDATE %s SET (%s, version) = ROW (",
			 tables[tx->table].name, tables[tx->table].columns);
	add_key_literals(&sql, tx->table, to);
	text_add(&sql, ", %lu)", version);
	add_where(&sql, tx->table, &from, 1);
	rows = session_run(tx->session, "%s", sql.bytes);
	if (rows > 0)
	{
		tx_note(tx, from, STATE_DELETED(version));
		tx_note(tx, to, STATE_ROW(version));
	}
	return rows;
}

/* All locked keys, in one statement, with one version. */
int
tx_put_all(Tx *tx)
{
	uint64_t	version = next_version();
	int			rows = put(tx, tx->keys, tx->nkeys, version);

	if (rows > 0)
		tx_note_all(tx, STATE_ROW(version));
	return rows;
}

/* The same for keys that either all have a row or none. */
int
tx_update_all(Tx *tx)
{
	uint64_t	version = next_version();
	int			rows = update(tx, tx->keys, tx->nkeys, version);

	if (rows > 0)
		tx_note_all(tx, STATE_ROW(version));
	return rows;
}

int
tx_delete_all(Tx *tx)
{
	uint64_t	version = next_version();
	int			rows = delete(tx, tx->keys, tx->nkeys);

	if (rows > 0)
		tx_note_all(tx, STATE_DELETED(version));
	return rows;
}

/* COPY of all locked keys, none of which may have a row. */
void
tx_copy_all(Tx *tx, const char *options)
{
	const Table *table = &tables[tx->table];
	uint64_t	version = next_version();
	Text		lines;
	char		sql[256];

	text_clear(&lines);
	for (int i = 0; i < tx->nkeys; i++)
	{
		add_key_copied(&lines, tx->table, tx->keys[i]);
		text_add(&lines, "\t%lu\n", version);
	}
	snprintf(sql, sizeof(sql), "COPY %s (%s, version) FROM STDIN %s",
			 table->name, table->columns, options);
	session_copy(tx->session, sql, lines.bytes, lines.len);
	tx_note_all(tx, STATE_ROW(version));
}

/* Reads the locked keys and some others through the cache, beside the plain SELECT. */
void
tx_read(Tx *tx)
{
	Rng		   *rng = &tx->session->rng;
	Question	q = {.function = rng_below(rng, MGET_ALONE), .prepared = true, .own = true,
					 .table = tx->table, .nkeys = tx->nkeys};

	for (int i = 0; i < tx->nkeys; i++)
		q.keys[i] = tx->keys[i];
	for (int i = 0; i < 4; i++)
		q.keys[q.nkeys++] = rng_below(rng, KEYS);
	question_ask(tx->session, &q);
}

int
tx_savepoint(Tx *tx)
{
	session_run(tx->session, "SAVEPOINT s");
	return tx->nchanges;
}

void
tx_rollback_to(Tx *tx, int mark)
{
	session_run(tx->session, "ROLLBACK TO SAVEPOINT s");
	tx->nchanges = mark;
}

/* Is this the last change of its key? */
static bool
is_final(const Tx *tx, int change)
{
	for (int later = change + 1; later < tx->nchanges; later++)
		if (tx->changed[later] == tx->changed[change])
			return false;
	return true;
}

/* From now on others may see what was changed. */
void
tx_announce(const Tx *tx)
{
	for (int i = 0; i < tx->nchanges; i++)
	{
		if (!is_final(tx, i))
			continue;
		raise_to(&shared->committing[tx->table][tx->changed[i]], tx->states[i]);
		if (STATE_IS_DELETED(tx->states[i]))
			raise_to(&shared->deleting[tx->table][tx->changed[i]], tx->states[i]);
	}
}

/* Lets others change these keys. */
void
tx_release(Tx *tx)
{
	if (tx->nkeys > 0)
		session_run(tx->session, "SELECT pg_advisory_unlock_all()");
}

/* Tells the changes if they happened, and lets the keys go. */
bool
tx_finish(Tx *tx, bool happened)
{
	for (int i = 0; i < tx->nchanges && happened; i++)
		raise_to(&shared->known[tx->table][tx->changed[i]], tx->states[i]);
	if (!tx->keep_locks)
		tx_release(tx);
	return happened;
}

bool
tx_commit(Tx *tx)
{
	bool		happened;

	tx_announce(tx);
	happened = session_end(tx->session, "COMMIT");
	return tx_finish(tx, happened);
}

/* Two-phase commit. */
bool
tx_commit_prepared(Tx *tx, const char *name)
{
	char		prepare[64];
	bool		happened;

	snprintf(prepare, sizeof(prepare), "PREPARE TRANSACTION '%s'", name);
	happened = session_end(tx->session, prepare);
	if (happened)
	{
		tx_announce(tx);
		session_run(tx->session, "COMMIT PREPARED '%s'", name);
	}
	return tx_finish(tx, happened);
}

bool
tx_rollback(Tx *tx)
{
	tx->nchanges = 0;
	return tx_finish(tx, session_end(tx->session, "ROLLBACK"));
}
