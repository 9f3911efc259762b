/*
 * writer.c
 *		Changes rows in every way that an application has.
 */
#include <stdio.h>

#include "change.h"
#include "question.h"
#include "roles.h"

/* Mostly READ COMMITTED. */
static Level
choose_level(Rng *rng)
{
	return rng_one_in(rng, 5) ? REPEATABLE_READ : READ_COMMITTED;
}

/* With so many keys of some table. */
static void
begin(Tx *tx, Session *s, int nkeys)
{
	tx_begin_some(tx, s, choose_level(&s->rng), rng_below(&s->rng, TABLES), nkeys);
}

static bool
update(Session *s)
{
	Tx			tx;

	begin(&tx, s, 1 + rng_below(&s->rng, 4));
	for (int i = 0; i < tx.nkeys; i++)
		if (tx_update(&tx, tx.keys[i]) == 0)
			tx_put(&tx, tx.keys[i]);
	if (rng_one_in(&s->rng, 2))
		tx_read(&tx);
	return tx_commit(&tx);
}

static bool
roll_back(Session *s)
{
	Tx			tx;

	begin(&tx, s, 1 + rng_below(&s->rng, 4));
	for (int i = 0; i < tx.nkeys; i++)
	{
		if (rng_one_in(&s->rng, 2))
			tx_put(&tx, tx.keys[i]);
		else
			tx_delete(&tx, tx.keys[i]);
	}
	tx_read(&tx);
	return tx_rollback(&tx);
}

static bool
savepoint(Session *s)
{
	Tx			tx;
	int			mark;

	begin(&tx, s, 4);
	tx_update(&tx, tx.keys[0]);
	mark = tx_savepoint(&tx);
	tx_put(&tx, tx.keys[0]);
	tx_put(&tx, tx.keys[1]);
	tx_delete(&tx, tx.keys[2]);
	tx_read(&tx);
	if (rng_one_in(&s->rng, 2))
		tx_rollback_to(&tx, mark);
	tx_read(&tx);
	tx_put(&tx, tx.keys[3]);
	return tx_commit(&tx);
}

/* Deletes rows that are there, and inserts those that are not. */
static bool
delete_or_insert(Session *s)
{
	Tx			tx;

	begin(&tx, s, 1 + rng_below(&s->rng, 3));
	for (int i = 0; i < tx.nkeys; i++)
		if (tx_delete(&tx, tx.keys[i]) == 0)
			tx_put(&tx, tx.keys[i]);
	return tx_commit(&tx);
}

static bool
replace(Session *s)
{
	Tx			tx;

	begin(&tx, s, 2);
	tx_delete_all(&tx);
	if (rng_one_in(&s->rng, 2))
		tx_read(&tx);
	tx_put_all(&tx);
	tx_read(&tx);
	return tx_commit(&tx);
}

/* Gives a row the key of another one, which is deleted; then perhaps makes a new one. */
static bool
move(Session *s)
{
	Tx			tx;
	int			from = rng_below(&s->rng, 2);

	begin(&tx, s, 2);
	tx_delete(&tx, tx.keys[1 - from]);
	tx_move(&tx, tx.keys[from], tx.keys[1 - from]);
	if (rng_one_in(&s->rng, 2))
		tx_read(&tx);
	if (rng_one_in(&s->rng, 2))
		tx_put(&tx, tx.keys[from]);
	return tx_commit(&tx);
}

static bool
together(Session *s)
{
	Tx			tx;

	tx_begin_group(&tx, s, choose_level(&s->rng), rng_below(&s->rng, TABLES),
				   rng_below(&s->rng, GROUPS));
	switch (rng_below(&s->rng, 8))
	{
		case 0:
			tx_delete_all(&tx);
			break;
		case 1:
			tx_put_all(&tx);
			break;
		default:
			if (tx_update_all(&tx) == 0)
				tx_put_all(&tx);
	}
	return rng_one_in(&s->rng, 8) ? tx_rollback(&tx) : tx_commit(&tx);
}

static bool
copy(Session *s)
{
	Tx			tx;

	/* not at REPEATABLE READ: a rewrite may hide rows from the DELETE that the COPY runs into */
	tx_begin_some(&tx, s, READ_COMMITTED, rng_below(&s->rng, TABLES), 1 + rng_below(&s->rng, 6));
	tx_delete_all(&tx);
	tx_copy_all(&tx, "");
	tx_read(&tx);
	return tx_commit(&tx);
}

/* Locks rows without changing them; others may do so at the same time. */
static bool
lock(Session *s)
{
	static const char *const strengths[] = {"KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"};
	const char *strength = strengths[rng_below(&s->rng, 4)];
	Question	q = {.function = MGET, .prepared = true, .table = rng_below(&s->rng, TABLES)};

	session_begin(s, READ_COMMITTED);
	for (q.nkeys = 0; q.nkeys < 3; q.nkeys++)
	{
		Text		sql;

		q.keys[q.nkeys] = q.nkeys * 16 + rng_below(&s->rng, 16);
		text_clear(&sql);
		text_add(&sql, "SELECT FROM %s WHERE (%s) = (",
				 tables[q.table].name, tables[q.table].columns);
		add_key_literals(&sql, q.table, q.keys[q.nkeys]);
		text_add(&sql, ") FOR %s", strength);
		session_run(s, "%s", sql.bytes);
	}
	question_ask(s, &q);
	return session_end(s, rng_one_in(&s->rng, 2) ? "COMMIT" : "ROLLBACK");
}

static bool
prepare(Session *s)
{
	Tx			tx;
	char		name[64];

	begin(&tx, s, 2);
	tx_put(&tx, tx.keys[0]);
	tx_delete(&tx, tx.keys[1]);
	snprintf(name, sizeof(name), "%s", s->name);
	return tx_commit_prepared(&tx, name);
}

/*
 * TRUNCATE twice in one transaction, the table filled again each time.  The
 * second one empties the file that the first one made, in place: the rows come
 * to stand at the same line pointers of the same file with the same xmin.
 */
static bool
refill(Session *s)
{
	Tx			tx;
	bool		happened;

	tx_begin_all(&tx, s, READ_COMMITTED, REFILLS);
	atomic_fetch_add(&shared->rewrites_started[REFILLS], 1);
	for (int time = 0; time < 2; time++)
	{
		session_run(s, "TRUNCATE %s", tables[REFILLS].name);
		if (rng_one_in(&s->rng, 2))
			tx_put_all(&tx);
		else
			tx_copy_all(&tx, "(FREEZE)");
		if (time == 0 || rng_one_in(&s->rng, 2))
			tx_read(&tx);
	}
	happened = rng_one_in(&s->rng, 4) ? tx_rollback(&tx) : tx_commit(&tx);
	atomic_fetch_add(&shared->rewrites_done[REFILLS], 1);
	return happened;
}

/* How often each is done, relative to the others. */
static const struct
{
	Kind		kind;
	bool		(*run) (Session *s);
	int			weight;
}			works[] = {
	{KIND_UPDATE, update, 20},
	{KIND_ROLLBACK, roll_back, 8},
	{KIND_SAVEPOINT, savepoint, 8},
	{KIND_DELETE, delete_or_insert, 10},
	{KIND_REPLACE, replace, 6},
	{KIND_MOVE, move, 8},
	{KIND_TOGETHER, together, 16},
	{KIND_COPY, copy, 4},
	{KIND_LOCK, lock, 8},
	{KIND_PREPARED, prepare, 6},
	{KIND_REFILL, refill, 3},
	{KIND_SKEW, skew_try, 4},
};

#define WORKS ((int) (sizeof(works) / sizeof(works[0])))

static int
choose_work(Rng *rng)
{
	int			total = 0;
	int			choice;

	for (int i = 0; i < WORKS; i++)
		total += works[i].weight;
	choice = rng_below(rng, total);
	for (int i = 0;; i++)
		if ((choice -= works[i].weight) < 0)
			return i;
}

/* Once each in some order, then as the weights say.  What is refused is tried again. */
void
writer_run(Session *s)
{
	int			order[WORKS];

	question_prepare_all(s);
	for (int i = 0; i < WORKS; i++)
		order[i] = i;
	rng_shuffle(&s->rng, order, WORKS);

	for (int done = 0; running(); done++)
	{
		int			work = done < WORKS ? order[done] : choose_work(&s->rng);
		double		started = now();

		while (!works[work].run(s) && running())
			 ;
		count(works[work].kind);
		pause_after(started, 0.5, 0.02);
	}
}
