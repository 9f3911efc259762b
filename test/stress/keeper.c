/*
 * keeper.c
 *		What an administrator does: VACUUM, rewrites, ALTER TABLE, ALTER TYPE.
 *
 * One process does it, so it knows the names of the columns and labels that
 * come and go.  No writer ever mentions them.
 */
#include <stdio.h>

#include "change.h"
#include "question.h"
#include "roles.h"

/* A table may have had 1600 columns in its life: after these no more are added. */
#define MAX_ADDED	1000

/* In a row, with deletions in between. */
#define FULL_VACUUMS 6

/* The life of the column that comes and goes. */
typedef enum ColumnState
{
	NO_COLUMN,
	ADDED,
	RENAMED,
	RETYPED,
	REWRITTEN
} ColumnState;

static ColumnState columns[TABLES];
static int	added[TABLES];		/* columns so far: the number in the name */
static bool elsewhere[TABLES];	/* in the other tablespace? */

static bool
alter(Session *s, int table, const char *what, int number)
{
	char		action[256];

	snprintf(action, sizeof(action), what, number, number);
	session_run(s, "ALTER TABLE %s %s", tables[table].name, action);
	return session_end(s, NULL);
}

/*
 * The next step in the life of a table's extra column; returns its kind, or -1
 * if the step was refused.  ADD COLUMN leaves the tuples as they are, and so
 * does timestamptz to timestamp, since this session's TimeZone is UTC.
 */
static int
step_column(Session *s, int table)
{
	int			number = added[table];

	switch (columns[table])
	{
		case NO_COLUMN:
			if (number == MAX_ADDED)
				return KIND_ADD_COLUMN;
			if (!alter(s, table, "ADD COLUMN extra_%d timestamptz DEFAULT to_timestamp(%d)", number + 1))
				return -1;
			added[table]++;
			columns[table] = ADDED;
			return KIND_ADD_COLUMN;
		case ADDED:
			if (!alter(s, table, "RENAME extra_%d TO more_%d", number))
				return -1;
			columns[table] = RENAMED;
			return KIND_RENAME_COLUMN;
		case RENAMED:
			if (!alter(s, table, "ALTER more_%d TYPE timestamp", number))
				return -1;
			columns[table] = RETYPED;
			return KIND_RETYPE_COLUMN;
		case RETYPED:
			atomic_fetch_add(&shared->rewrites_started[table], 1);
			if (alter(s, table, "ALTER more_%d DROP DEFAULT, ALTER more_%d TYPE date", number))
				columns[table] = REWRITTEN;
			atomic_fetch_add(&shared->rewrites_done[table], 1);
			return columns[table] == REWRITTEN ? KIND_REWRITE_COLUMN : -1;
		default:
			if (!alter(s, table, "DROP COLUMN more_%d", number))
				return -1;
			columns[table] = NO_COLUMN;
			return KIND_DROP_COLUMN;
	}
}

static bool
vacuum(Session *s, const char *options, int table)
{
	session_run(s, "VACUUM %s %s", options, tables[table].name);
	return session_end(s, NULL);
}

/* Reads a whole table through the cache: as text, and as rows. */
static void
read_all(Session *s, int table)
{
	static const Function functions[] = {MGET, MGET_ROWS};
	Question	q = {.prepared = true, .table = table, .nkeys = KEYS};

	for (int key = 0; key < KEYS; key++)
		q.keys[key] = key;
	for (int i = 0; i < 2; i++)
	{
		q.function = functions[i];
		question_ask(s, &q);
	}
	session_end(s, NULL);
}

/*
 * VACUUM FULL several times, made so that a cache which does not tell the files
 * of a table apart must err: all rows have one xmin; before each time some are
 * deleted that were cached, and the rest moves together to where these stood.
 * New files often get buffers that an older file had.
 */
static bool
vacuum_full(Session *s, int table)
{
	Tx			tx;
	bool		happened;

	tx_begin_all(&tx, s, READ_COMMITTED, table);
	tx.keep_locks = true;
	tx_put_all(&tx);
	happened = tx_commit(&tx);
	for (int time = 0; time < FULL_VACUUMS && happened; time++)
	{
		read_all(s, table);
		tx_begin_again(&tx, READ_COMMITTED);
		for (int key = time; key < SINGLE_KEYS; key += FULL_VACUUMS + 2)
			tx_delete(&tx, key);
		happened = tx_commit(&tx) && vacuum(s, "FULL", table);
	}
	read_all(s, table);
	tx_begin_again(&tx, READ_COMMITTED);
	tx_put_all(&tx);
	happened &= tx_commit(&tx);
	tx_release(&tx);
	return happened;
}

static bool
cluster(Session *s, int table)
{
	session_run(s, "CLUSTER %s USING %s_pkey", tables[table].name,
				tables[table].name + sizeof("stress.") - 1);
	return session_end(s, NULL);
}

static bool
change_tablespace(Session *s, int table)
{
	session_run(s, "ALTER TABLE %s SET TABLESPACE %s", tables[table].name,
				elsewhere[table] ? "pg_default" : "stress_elsewhere");
	if (!session_end(s, NULL))
		return false;
	elsewhere[table] = !elsewhere[table];
	return true;
}

static bool
reindex(Session *s, int table)
{
	session_run(s, "REINDEX TABLE CONCURRENTLY %s", tables[table].name);
	return session_end(s, NULL);
}

/* The labels are numbered, so each can be told from all that were before. */
static bool
rename_label(Session *s)
{
	uint64_t	number = shared->label_done + 1;

	raise_to(&shared->label_started, number);
	session_run(s, "ALTER TYPE stress.mood RENAME VALUE 'calm %lu' TO 'calm %lu'", number - 1, number);
	if (!session_end(s, NULL))
		return false;
	raise_to(&shared->label_done, number);
	return true;
}

/* Changes of the schema that never come to be; nobody else may see a trace of them. */
static bool
roll_back(Session *s, int table)
{
	Tx			tx;

	tx_begin_unlocked(&tx, s, READ_COMMITTED, table);
	session_run(s, "ALTER TABLE %s ADD COLUMN draft int DEFAULT 1", tables[table].name);
	tx_read(&tx);
	session_run(s, "ALTER TYPE stress.mood RENAME VALUE 'calm %lu' TO 'draft'",
				(uint64_t) shared->label_done);
	tx_read(&tx);
	return tx_rollback(&tx);
}

static bool
work(Session *s, Kind kind, int table)
{
	switch (kind)
	{
		case KIND_VACUUM:
			return vacuum(s, "", table);
		case KIND_FREEZE:
			return vacuum(s, "(FREEZE)", table);
		case KIND_VACUUM_FULL:
			return vacuum_full(s, table);
		case KIND_CLUSTER:
			return cluster(s, table);
		case KIND_TABLESPACE:
			return change_tablespace(s, table);
		case KIND_REINDEX:
			return reindex(s, table);
		case KIND_RENAME_LABEL:
			return rename_label(s);
		default:
			return roll_back(s, table);
	}
}

/* One turn of the year; ADD_COLUMN stands for the next step of the column. */
static const int year[] = {
	KIND_VACUUM, KIND_VACUUM, KIND_FREEZE, KIND_VACUUM_FULL, KIND_CLUSTER, KIND_TABLESPACE,
	KIND_REINDEX, KIND_RENAME_LABEL, KIND_RENAME_LABEL, KIND_DDL_ROLLBACK,
	KIND_ADD_COLUMN, KIND_ADD_COLUMN, KIND_ADD_COLUMN, KIND_ADD_COLUMN, KIND_ADD_COLUMN
};

#define YEAR ((int) (sizeof(year) / sizeof(year[0])))

/* Does it until it is not refused. */
static void
work_once(Session *s, Kind kind, int table)
{
	int			happened = -1;

	while (happened < 0 && running())
	{
		double		started = now();

		if (kind == KIND_ADD_COLUMN)
			happened = step_column(s, table);
		else
			happened = work(s, kind, table) ? (int) kind : -1;
		pause_after(started, 2, 0.2);
	}
	if (happened >= 0)
		count(happened);
}

/*
 * Year after year, each in another order.  Within one year the column's five
 * steps are done to one table.
 */
void
keeper_run(Session *s)
{
	int			order[YEAR];

	question_prepare_all(s);
	for (int i = 0; i < YEAR; i++)
		order[i] = year[i];
	for (int column_table = 0; running(); column_table = (column_table + 1) % TABLES)
	{
		rng_shuffle(&s->rng, order, YEAR);
		for (int i = 0; i < YEAR && running(); i++)
			work_once(s, order[i], order[i] == KIND_ADD_COLUMN ? column_table
					  : rng_below(&s->rng, TABLES));
	}
}
