/*
 * skew.c
 *		The classic write skew, with mget as the read.
 *
 * Of two rows at most one may be 1.  Two transactions each read both rows, find
 * 0 and 0, and set one of them to 1, not the same.  SERIALIZABLE lets only one
 * commit, provided that reads through mget take part in its bookkeeping: there
 * must be no plain SELECT beside them.
 *
 * One process holds both sessions, so that the two always overlap.  Each
 * process has two rows of its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "question.h"
#include "roles.h"

/* The two rows, through mget; a broken session reads nothing. */
static int
read_sum(Session *s, int first)
{
	char		sql[256];
	PGresult   *result;
	int			sum = 0;

	snprintf(sql, sizeof(sql), "SELECT row::json ->> 'v'"
			 " FROM unnest(local_cache.mget('stress.skew', ARRAY[%d, %d])) row", first, first + 1);
	result = session_query(s, sql);
	for (int i = 0; i < PQntuples(result); i++)
		sum += atoi(PQgetvalue(result, i, 0));
	PQclear(result);
	atomic_fetch_add(&shared->checked, 2);
	return sum;
}

static void
begin_and_read(Session *s, int first)
{
	session_begin(s, SERIALIZABLE);
	if (read_sum(s, first) != 0 && !shared->only_resp)
		mismatch(s, "older than what was known", "  mget, table stress.skew:"
				 " both rows are 0 and the sum is not\n");
}

static void
set_row(Session *s, int row, int value)
{
	session_run(s, "UPDATE stress.skew SET v = %d WHERE id = %d", value, row);
}

/* Makes both rows 0, and has them cached. */
static void
set_up(Session *s, int first)
{
	set_row(s, first, 0);
	set_row(s, first + 1, 0);
	read_sum(s, first);
	session_end(s, NULL);
}

bool
skew_try(Session *s)
{
	static Session other;
	int			first = s->number * 2;
	bool		committed;
	bool		both_committed;

	if (other.conn == NULL)
		session_open(&other, s->conninfo, "second session of writer", s->number, s->number);
	set_up(s, first);
	begin_and_read(s, first);
	begin_and_read(&other, first);
	set_row(s, first, 1);
	set_row(&other, first + 1, 1);
	committed = session_end(s, "COMMIT");
	both_committed = session_end(&other, "COMMIT") && committed;
	if (both_committed && !shared->only_resp)
		mismatch(s, "write skew", "  two SERIALIZABLE transactions each read 0 and 0,"
				 " each set another row to 1, and both committed\n");
	return committed;
}
