/*
 * question.c
 *		Reads through the cache, each beside the plain SELECT of the same keys.
 *
 * Both stand in one statement, so both have its snapshot:
 *
 *		SELECT z.got, (SELECT row_to_json(t)::text FROM table t WHERE t.key = ($1)[z.ord])
 *		FROM unnest(mget('table', $1)) WITH ORDINALITY z(got, ord)
 *
 * mget runs first, for all keys, then the plain SELECT for one after the
 * other.  Too few or too many elements of mget show in the number of rows.
 *
 * The plain SELECT locks the table before the snapshot is taken, which could
 * hide that mget does not; so the fourth kind of question is mget alone, of
 * which only the versions are checked.
 */
#include <stdio.h>
#include <stdlib.h>

#include "question.h"

const char *const function_names[FUNCTIONS] = {
	[MGET] = "mget",
	[MGET_JSON] = "mget_json",
	[MGET_ROWS] = "mget_rows",
	[MGET_ALONE] = "mget alone",
	[RESP_GET] = "GET",
	[RESP_HGETALL] = "HGETALL",
	[RESP_MGET] = "MGET",
	[RESP_EXEC] = "EXEC"
};

static const Kind function_kinds[SQL_FUNCTIONS] = {
	[MGET] = KIND_MGET,
	[MGET_JSON] = KIND_MGET_JSON,
	[MGET_ROWS] = KIND_MGET_ROWS,
	[MGET_ALONE] = KIND_MGET_ALONE
};

static const Kind level_kinds[LEVELS] = {
	[READ_COMMITTED] = KIND_READ_COMMITTED,
	[REPEATABLE_READ] = KIND_REPEATABLE_READ,
	[SERIALIZABLE] = KIND_SERIALIZABLE
};

/* How long a batch is: mostly long ones, so that many keys are checked. */
static int
choose_size(Rng *rng)
{
	switch (rng_below(rng, 4))
	{
		case 0:
			return 1;
		case 1:
			return 2 + rng_below(rng, 15);
		default:
			return 64 + rng_below(rng, 33);
	}
}

static int
choose_key(Rng *rng, int table)
{
	if (rng_one_in(rng, 40))
		return KEYS + rng_below(rng, MISSING_KEYS);
	/* a NULL component of a key of several columns is an error */
	if (rng_one_in(rng, 60) && tables[table].ncolumns == 1)
		return NULL_KEY;
	return rng_below(rng, KEYS);
}

/* Of any table. */
void
question_choose(Rng *rng, Question *q, Function function)
{
	q->function = function;
	q->prepared = !rng_one_in(rng, 8);
	q->own = false;
	q->table = rng_below(rng, TABLES);
	q->nkeys = function == RESP_GET || function == RESP_HGETALL ? 1 : choose_size(rng);
	for (int i = 0; i < q->nkeys; i++)
		q->keys[i] = choose_key(rng, q->table);

	/* a whole group, to see whether it is torn; rows anywhere in the batch */
	if (q->nkeys >= GROUP_SIZE && rng_one_in(rng, 2))
	{
		int			group = rng_below(rng, GROUPS);

		for (int member = 0; member < GROUP_SIZE; member++)
			q->keys[member * q->nkeys / GROUP_SIZE] = group_key(group, member);
	}
}

/* Adds the expression of what was got. */
static void
add_got(Text *sql, Function function)
{
	switch (function)
	{
		case MGET_JSON:
			text_add(sql, "nullif(z.got::text, 'null')");
			break;
		case MGET_ROWS:
			text_add(sql, "CASE WHEN NOT z.got IS NULL THEN row_to_json(z.got)::text END");
			break;
		default:
			text_add(sql, "z.got");
	}
}

/* Adds what it is got from: rows (got, ord), in the order of the keys. */
static void
add_source(Text *sql, Function function, const Table *table)
{
	switch (function)
	{
		case MGET_JSON:
			text_add(sql, "json_array_elements(local_cache.mget_json('%s', $1::%s))"
					 " WITH ORDINALITY z(got, ord)", table->name, table->array_type);
			break;
		case MGET_ROWS:
			text_add(sql, "(SELECT got, row_number() OVER () AS ord FROM"
					 " (SELECT local_cache.mget_rows(NULL::%s, $1::%s) AS got OFFSET 0) r) z",
					 table->name, table->array_type);
			break;
		default:
			text_add(sql, "unnest(local_cache.mget('%s', $1::%s)) WITH ORDINALITY z(got, ord)",
					 table->name, table->array_type);
	}
}

static void
make_sql(Text *sql, Function function, int table)
{
	text_clear(sql);
	text_add(sql, "SELECT ");
	add_got(sql, function);
	if (function != MGET_ALONE)
		text_add(sql, ", (SELECT row_to_json(t)::text FROM %s t WHERE %s)",
				 tables[table].name, tables[table].match);
	text_add(sql, " FROM ");
	add_source(sql, function, &tables[table]);
}

static void
make_name(char *name, size_t size, Function function, int table)
{
	snprintf(name, size, "question_%d_%d", function, table);
}

/* Prepares every kind of question in this session. */
void
question_prepare_all(Session *s)
{
	for (int function = 0; function < SQL_FUNCTIONS; function++)
		for (int table = 0; table < TABLES; table++)
		{
			Text		sql;
			char		name[32];
			PGresult   *result;

			make_sql(&sql, function, table);
			make_name(name, sizeof(name), function, table);
			result = PQprepare(s->conn, name, sql.bytes, 1, NULL);
			if (PQresultStatus(result) != PGRES_COMMAND_OK)
				fail(s->name, "could not prepare: %s", PQerrorMessage(s->conn));
			PQclear(result);
		}
}

/* The array of keys. */
static void
make_param(Text *param, const Question *q)
{
	text_clear(param);
	text_add(param, "{");
	for (int i = 0; i < q->nkeys; i++)
	{
		if (i > 0)
			text_add(param, ",");
		add_key_element(param, q->table, q->keys[i]);
	}
	text_add(param, "}");
}

static PGresult *
send_question(Session *s, const Question *q)
{
	Text		param;

	make_param(&param, q);
	if (q->prepared)
	{
		char		name[32];

		make_name(name, sizeof(name), q->function, q->table);
		return session_query_prepared(s, name, param.bytes);
	}
	else
	{
		Text		sql;

		make_sql(&sql, q->function, q->table);
		return session_query_param(s, sql.bytes, param.bytes);
	}
}

static void
take_answer(Answer *answer, const PGresult *result)
{
	answer->nrows = PQntuples(result) <= MAX_ASKED ? PQntuples(result) : MAX_ASKED;
	answer->compared = PQnfields(result) == 2;
	for (int i = 0; i < answer->nrows; i++)
	{
		answer->got[i] = PQgetisnull(result, i, 0) ? NULL : PQgetvalue(result, i, 0);
		answer->want[i] = !answer->compared || PQgetisnull(result, i, 1) ? NULL : PQgetvalue(result, i, 1);
	}
}

/*
 * Notes what the answer must not be behind, asks, and checks.
 *
 * A snapshot is taken for each statement of READ COMMITTED, else for the
 * transaction: session_begin() has noted that.  The enum's label is a matter
 * of catalogs, not of snapshots: mget takes in their changes at each call, but
 * a plain SELECT need not do so again after the transaction began.
 */
void
question_ask(Session *s, const Question *q)
{
	uint64_t	label_of_transaction = s->floor.label;
	uint64_t	label;
	PGresult   *result;
	Answer		answer;

	if (s->level == READ_COMMITTED)
	{
		floor_take(&s->floor);
		if (s->in_transaction)
			s->floor.label = label_of_transaction;
	}
	label = shared->label_done;

	result = send_question(s, q);
	if (result == NULL)
		return;
	take_answer(&answer, result);
	answer_check(s, q, label, &answer);
	PQclear(result);
	count(q->own ? KIND_OWN_READ : function_kinds[q->function]);
	if (!q->own)
		count(level_kinds[s->level]);
}
