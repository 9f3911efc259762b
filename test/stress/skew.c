/*
 * skew.c
 *		The classic write skew, with mget as the read.
 *
 * Of the two rows of stress.skew at most one may be 1.  Each transaction reads
 * both through mget and, if both are 0, sets one of them to 1; else it sets
 * both to 0.  Two that read at the same time and each set another row break
 * the rule, which SERIALIZABLE forbids, provided that reads through mget take
 * part in its bookkeeping: there must be no plain SELECT beside them.
 */
#include <stdlib.h>
#include <string.h>

#include "question.h"
#include "roles.h"

static int
read_sum(Session *s, const char *sql)
{
	PGresult   *result = session_query(s, sql);
	int			sum = 0;

	for (int i = 0; i < PQntuples(result); i++)
		sum += atoi(PQgetvalue(result, i, 0));
	PQclear(result);
	return sum;
}

static int
read_by_mget(Session *s)
{
	int			sum = read_sum(s, "SELECT row::json ->> 'v'"
							   " FROM unnest(local_cache.mget('stress.skew', '{0,1}'::int[])) row");

	atomic_fetch_add(&shared->checked, 2);
	return sum;
}

/* The rule, checked by plain SQL. */
static void
check_rule(Session *s)
{
	if (read_sum(s, "SELECT v FROM stress.skew") > 1)
		mismatch(s, "write skew", "  two SERIALIZABLE transactions each read 0 and 0,"
				 " set one row to 1, and both committed\n");
	session_end(s, NULL);
}

bool
skew_try(Session *s)
{
	int			sum;
	bool		happened;

	session_begin(s, SERIALIZABLE);
	sum = read_by_mget(s);
	if (sum == 0)
		session_run(s, "UPDATE stress.skew SET v = 1 WHERE id = %d", rng_below(&s->rng, 2));
	else
		session_run(s, "UPDATE stress.skew SET v = 0");
	happened = session_end(s, "COMMIT");
	check_rule(s);
	return happened;
}
