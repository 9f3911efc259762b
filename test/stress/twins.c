/*
 * twins.c
 *		Two rows in two tables that are always changed together.
 *
 * A command that names several tables has one snapshot, taken after all of them
 * were locked.  With a snapshot for each table the twins would be torn; with one
 * from before the last lock, a TRUNCATE and new rows in between would hide them.
 * For there is always a row in both tables.
 *
 * In a pipeline the second twin may be newer than the first, but not older.
 *
 * One process changes them, all the time, since a commit has to meet a read
 * half-way; RESP readers read them.
 */
#include <stdio.h>

#include "resp_read.h"
#include "roles.h"
#include "twins.h"

static const char *const twins[2] = {"east", "west"};

void
twins_create(Session *s)
{
	for (int i = 0; i < 2; i++)
	{
		session_run(s, "CREATE TABLE stress.%s (id int PRIMARY KEY, version bigint NOT NULL)", twins[i]);
		session_run(s, "INSERT INTO stress.%s VALUES (1, 0)", twins[i]);
		session_run(s, "SELECT local_cache.attach_table('stress.%s', writable => true)", twins[i]);
	}
}

static void
add_twin(Command *command, Session *s, int i)
{
	command_add(command, "CRUD:%s.stress.%s:1", PQdb(s->conn), twins[i]);
}

/* Changing */

static Outcome
set_both(Session *s, Resp *resp, uint64_t version)
{
	int			first = rng_below(&s->rng, 2);
	Command		command;

	command_begin(&command, "MSET");
	for (int i = 0; i < 2; i++)
	{
		add_twin(&command, s, first ^ i);
		command_add(&command, "{\"version\":%lu}", version);
	}
	resp_send(resp, &command);
	return resp_receive_status(s, resp, "OK");
}

/*
 * One table is emptied and filled again, the other one's row is changed, which a
 * read of that table does not hold up.
 */
static Outcome
refill(Session *s, uint64_t version)
{
	int			emptied = rng_below(&s->rng, 2);

	session_begin(s, READ_COMMITTED);
	session_run(s, "UPDATE stress.%s SET version = %lu WHERE id = 1", twins[!emptied], version);
	session_run(s, "TRUNCATE stress.%s", twins[emptied]);
	session_run(s, "INSERT INTO stress.%s VALUES (1, %lu)", twins[emptied], version);
	return session_end(s, "COMMIT") ? ANSWERED : REFUSED;
}

static Outcome
update_both(Session *s, uint64_t version)
{
	session_begin(s, READ_COMMITTED);
	for (int i = 0; i < 2; i++)
		session_run(s, "UPDATE stress.%s SET version = %lu WHERE id = 1", twins[i], version);
	return session_end(s, "COMMIT") ? ANSWERED : REFUSED;
}

/* What came of a change is not known: makes another one, which waits for the first. */
static void
settle(Session *s)
{
	bool		settled = false;

	while (!settled && running())
	{
		uint64_t	version = next_version();

		raise_to(&shared->twins_committing, version);
		settled = refill(s, version) == ANSWERED;
		if (settled)
			raise_to(&shared->twins_known, version);
	}
}

static bool
change(Session *s)
{
	Resp	   *resp = resp_choose(s);
	uint64_t	version = next_version();
	Outcome		outcome;

	if (resp == NULL)
		return false;
	raise_to(&shared->twins_committing, version);
	switch (rng_below(&s->rng, 3))
	{
		case 0:
			outcome = refill(s, version);
			break;
		case 1:
			outcome = update_both(s, version);
			break;
		default:
			outcome = set_both(s, resp, version);
	}
	if (outcome == ANSWERED)
		raise_to(&shared->twins_known, version);
	else if (outcome == LOST)
		settle(s);
	return outcome == ANSWERED;
}

void
twins_run(Session *s)
{
	while (running())
	{
		double		started = now();

		if (change(s))
			count(KIND_TWINS);
		pause_after(started, 0.5, 0.02);
	}
	resp_close_all();
}

/* Reading */

typedef enum Manner
{
	BY_MGET,
	BY_EXEC,
	BY_PIPELINE,
	MANNERS
} Manner;

static const char *const manner_names[] = {"MGET", "EXEC", "pipeline"};

/*
 * Between the twins, other rows are looked for, so that there is time for a commit.
 * There are none, so each takes a look into the index, and the answer is small.  A
 * worker reads 16 kB from a connection in a turn, and all of it fits into one.
 */
#define COMMANDS		3
#define OTHER_KEYS		330

static void
send_other_reads(Session *s, Resp *resp)
{
	Command		command;

	command_begin(&command, "MGET");
	for (int i = 0; i < OTHER_KEYS; i++)
		command_add(&command, "CRUD:%s.stress.items:%d", PQdb(s->conn), KEYS + MISSING_KEYS + i);
	resp_send(resp, &command);
}

void
twins_send(Session *s, Resp *resp, const char *name, int first, int n)
{
	Command		command;

	command_begin(&command, name);
	for (int i = 0; i < n; i++)
		add_twin(&command, s, first ^ i);
	resp_send(resp, &command);
}

static void
send_read(Session *s, Resp *resp, Manner manner, int first)
{
	if (manner == BY_MGET)
	{
		twins_send(s, resp, "MGET", first, 2);
		return;
	}
	if (manner == BY_EXEC)
		resp_send_word(resp, "MULTI");
	twins_send(s, resp, "GET", first, 1);
	send_other_reads(s, resp);
	twins_send(s, resp, "GET", !first, 1);
	if (manner == BY_EXEC)
		resp_send_word(resp, "EXEC");
}

/* A row's version; -1 if there is none.  False if it was refused. */
static bool
take_version(Session *s, const redisReply *reply, int64_t *version)
{
	if (reply->type == REDIS_REPLY_ERROR)
	{
		resp_refused(s, reply);
		return false;
	}
	if (reply->type != REDIS_REPLY_NIL && reply->type != REDIS_REPLY_STRING)
		resp_unexpected(s, reply, "GET");
	*version = reply->type == REDIS_REPLY_NIL ? -1 : (int64_t) row_version(reply->str);
	return true;
}

/* Two versions, from the first and the last of so many elements. */
static bool
receive_elements(Session *s, Resp *resp, Manner manner, size_t n, int64_t versions[2])
{
	redisReply *reply;
	bool		all;

	if (resp_receive(s, resp, &reply) != ANSWERED)
		return false;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != n)
		resp_unexpected(s, reply, manner_names[manner]);
	all = take_version(s, reply->element[0], &versions[0]) &&
		take_version(s, reply->element[n - 1], &versions[1]);
	freeReplyObject(reply);
	return all;
}

static bool
receive_exec(Session *s, Resp *resp, int64_t versions[2])
{
	bool		queued = resp_receive_status(s, resp, "OK") == ANSWERED;

	for (int i = 0; i < COMMANDS; i++)
		queued &= resp_receive_status(s, resp, "QUEUED") == ANSWERED;
	return receive_elements(s, resp, BY_EXEC, COMMANDS, versions) && queued;
}

static bool
receive_pipeline(Session *s, Resp *resp, int64_t versions[2])
{
	bool		all = true;

	for (int i = 0; i < COMMANDS; i++)
	{
		redisReply *reply;

		if (resp_receive(s, resp, &reply) != ANSWERED)
			all &= i == 1;
		else if (i != 1)
			all &= take_version(s, reply, &versions[i / 2]);
		freeReplyObject(reply);
	}
	return all;
}

static bool
receive_read(Session *s, Resp *resp, Manner manner, int64_t versions[2])
{
	switch (manner)
	{
		case BY_MGET:
			return receive_elements(s, resp, BY_MGET, 2, versions);
		case BY_EXEC:
			return receive_exec(s, resp, versions);
		default:
			return receive_pipeline(s, resp, versions);
	}
}

/* Judges two rows: under one snapshot, unless in a pipeline. */
static void
judge(Session *s, Manner manner, int64_t known, const int64_t versions[2])
{
	const char *what = NULL;

	if (versions[0] < 0 || versions[1] < 0)
		what = "committed row missing";
	else if (versions[0] < known || versions[1] < versions[0])
		what = "older than what was known";
	else if (versions[1] > (int64_t) shared->twins_committing)
		what = "not committed yet";
	else if (manner != BY_PIPELINE && versions[0] != versions[1])
		what = "torn twins";
	if (what != NULL)
		mismatch(s, what, "  twins, by %s: got versions %ld and %ld, known before %ld\n",
				 manner_names[manner], versions[0], versions[1], known);
	else
		raise_to(&shared->twins_known, (uint64_t) versions[1]);
	atomic_fetch_add(&shared->checked, 2);
}

void
twins_check_exec(Session *s, uint64_t known, const redisReply *one, const redisReply *other)
{
	int64_t		versions[2];

	if (take_version(s, one, &versions[0]) && take_version(s, other, &versions[1]))
		judge(s, BY_EXEC, (int64_t) known, versions);
}

void
twins_read(Session *s, Resp *resp)
{
	Manner		manner = rng_one_in(&s->rng, 2) ? BY_PIPELINE : rng_below(&s->rng, MANNERS);
	int64_t		known = (int64_t) shared->twins_known;
	int64_t		versions[2];

	send_read(s, resp, manner, rng_below(&s->rng, 2));
	if (!receive_read(s, resp, manner, versions))
		return;
	judge(s, manner, known, versions);
	count(KIND_TWINS_READ);
}
