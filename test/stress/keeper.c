/*
 * keeper.c
 *		What an administrator does: VACUUM, rewrites, ALTER TABLE, ALTER TYPE, and
 *		the end of a worker.
 *
 * One process does it, so it knows the names of the columns and labels that
 * come and go.  No writer ever mentions them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "resp_read.h"
#include "roles.h"

/* A table may have had 1600 columns in its life: after these no more are added. */
#define MAX_ADDED	1000

/* In a row, with deletions in between. */
#define FULL_VACUUMS 6

/* Of the enum's label, in a row.  Odd, so that each label has its time. */
#define RENAMES 5

/* The life of the column that comes and goes. */
typedef enum ColumnState
{
	NO_COLUMN,
	ADDED,
	RENAMED,
	RETYPED,
	REWRITTEN,
	COLUMN_STATES
} ColumnState;

static ColumnState columns[TABLES];
static int	added[TABLES];		/* columns so far */
static bool elsewhere[TABLES];	/* in the other tablespace? */

static bool
alter(Session *s, int table, const char *what)
{
	session_run(s, "ALTER TABLE %s %s", tables[table].name, what);
	return session_end(s, NULL);
}

/* The same name each time, with another default. */
static bool
add_column(Session *s, int table)
{
	char		action[128];

	snprintf(action, sizeof(action), "ADD COLUMN extra timestamptz DEFAULT to_timestamp(%d)",
			 added[table] + 1);
	if (!alter(s, table, action))
		return false;
	added[table]++;
	return true;
}

static bool
rewrite_column(Session *s, int table)
{
	bool		happened;

	atomic_fetch_add(&shared->rewrites_started[table], 1);
	happened = alter(s, table, "ALTER more DROP DEFAULT, ALTER more TYPE date");
	atomic_fetch_add(&shared->rewrites_done[table], 1);
	return happened;
}

/*
 * The next step in the life of a table's extra column; returns its kind, or -1
 * if the step was refused.  ADD COLUMN leaves the tuples as they are, and so
 * does timestamptz to timestamp, since this session's TimeZone is UTC.
 */
static int
step_column(Session *s, int table)
{
	Kind		kind;
	bool		happened;

	switch (columns[table])
	{
		case NO_COLUMN:
			if (added[table] == MAX_ADDED)
				return KIND_ADD_COLUMN;
			kind = KIND_ADD_COLUMN;
			happened = add_column(s, table);
			break;
		case ADDED:
			kind = KIND_RENAME_COLUMN;
			happened = alter(s, table, "RENAME extra TO more");
			break;
		case RENAMED:
			kind = KIND_RETYPE_COLUMN;
			happened = alter(s, table, "ALTER more TYPE timestamp");
			break;
		case RETYPED:
			kind = KIND_REWRITE_COLUMN;
			happened = rewrite_column(s, table);
			break;
		default:
			kind = KIND_DROP_COLUMN;
			happened = alter(s, table, "DROP COLUMN more");
	}
	if (!happened)
		return -1;
	columns[table] = (columns[table] + 1) % COLUMN_STATES;
	return kind;
}

static bool
vacuum(Session *s, const char *options, int table)
{
	session_run(s, "VACUUM %s %s", options, tables[table].name);
	return session_end(s, NULL);
}

static void
read_all_over_resp(Session *s, Question *q)
{
	Resp	   *resp = shared->port != 0 ? resp_choose(s) : NULL;

	q->function = RESP_MGET;
	if (resp != NULL)
		resp_ask(s, resp, q, 1);
}

/* Reads a whole table through the cache: as text, as rows, and over RESP. */
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
	read_all_over_resp(s, &q);
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

static bool
rename_label(Session *s)
{
	uint64_t	number = shared->label_done + 1;

	raise_to(&shared->label_started, number);
	session_run(s, "ALTER TYPE stress.mood RENAME VALUE '%s' TO '%s'",
				label_name(number - 1), label_name(number));
	if (!session_end(s, NULL))
		return false;
	raise_to(&shared->label_done, number);
	return true;
}

/*
 * To and fro, and so on.  What was made with one label while the rename was
 * going on may not be found when the other label is back.
 */
static bool
rename_labels(Session *s)
{
	for (int time = 0; time < RENAMES; time++)
		if (!rename_label(s))
			return false;
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
	session_run(s, "ALTER TYPE stress.mood RENAME VALUE '%s' TO 'draft'",
				label_name(shared->label_done));
	tx_read(&tx);
	return tx_rollback(&tx);
}

/* Any worker's process id; 0 if there is none right now. */
static int
choose_worker(Session *s)
{
	PGresult   *result = session_query(s, "SELECT pid FROM pg_stat_activity WHERE backend_type ~ '^pg_local_cache'"
									   " ORDER BY random() LIMIT 1");
	int			pid = PQntuples(result) > 0 ? atoi(PQgetvalue(result, 0, 0)) : 0;

	PQclear(result);
	return pid;
}

/* Ends a worker.  The server starts it again; whether all are there at the end is seen by the parent. */
static bool
end_worker(Session *s)
{
	int			worker = choose_worker(s);
	PGresult   *result;
	char		sql[64];

	if (worker == 0 || shared->nended == MAX_ENDED)
		return false;
	shared->ended[shared->nended] = worker;
	shared->nended++;
	snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%d, 20000)", worker);
	result = session_query(s, sql);
	if (strcmp(PQgetvalue(result, 0, 0), "t") != 0)
		fail(s->name, "worker %d does not end", worker);
	PQclear(result);
	return true;
}

static bool
cancel_worker(Session *s)
{
	int			worker = choose_worker(s);

	if (worker != 0)
		session_run(s, "SELECT pg_cancel_backend(%d)", worker);
	return worker != 0;
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
			return rename_labels(s);
		case KIND_END_WORKER:
			return end_worker(s);
		case KIND_CANCEL_WORKER:
			return cancel_worker(s);
		default:
			return roll_back(s, table);
	}
}

/*
 * One turn of the year; ADD_COLUMN stands for the next step of the column.  What
 * stands at the end needs an endpoint.
 */
static const int year[] = {
	KIND_VACUUM, KIND_VACUUM, KIND_FREEZE, KIND_VACUUM_FULL, KIND_CLUSTER, KIND_TABLESPACE,
	KIND_REINDEX, KIND_DDL_ROLLBACK, KIND_RENAME_LABEL, KIND_RENAME_LABEL, KIND_RENAME_LABEL,
	KIND_ADD_COLUMN, KIND_ADD_COLUMN, KIND_ADD_COLUMN, KIND_ADD_COLUMN, KIND_ADD_COLUMN,
	KIND_END_WORKER, KIND_CANCEL_WORKER, KIND_CANCEL_WORKER
};

#define YEAR ((int) (sizeof(year) / sizeof(year[0])))
#define RESP_WORKS 3

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
	int			works = shared->port != 0 ? YEAR : YEAR - RESP_WORKS;

	question_prepare_all(s);
	for (int i = 0; i < works; i++)
		order[i] = year[i];
	for (int column_table = 0; running(); column_table = (column_table + 1) % TABLES)
	{
		rng_shuffle(&s->rng, order, works);
		for (int i = 0; i < works && running(); i++)
			work_once(s, order[i], order[i] == KIND_ADD_COLUMN ? column_table
					  : rng_below(&s->rng, TABLES));
	}
}
