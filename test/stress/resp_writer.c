/*
 * resp_writer.c
 *		Changes rows over RESP, among writers that use SQL.
 *
 * The keys are locked as for SQL, through the process's session, so when they are
 * locked it is exactly known which of them have a row, and what DEL, NX and XX
 * have to answer.
 *
 * A worker that is ended takes the connection along, and leaves a writer without
 * an answer: the change was begun, and may have been committed or not.  It is
 * known that it may be seen, but not that it must.  Then all the keys are written
 * anew by SQL before the locks are given back, which also waits for what may
 * still be under way; so what came of the change matters no longer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "change.h"
#include "resp_read.h"
#include "roles.h"
#include "twins.h"

static bool
has_row(const Tx *tx, int key)
{
	return !STATE_IS_DELETED(shared->known[tx->table][key]);
}

static void
wrong_answer(const Tx *tx, const char *command, const char *got, const char *wanted)
{
	mismatch(tx->session, "wrong answer to a write", "  %s, table %s, %d keys from %d on: got %s, want %s\n",
			 command, tables[tx->table].name, tx->nkeys, tx->keys[0], got, wanted);
}

/* Sending; what is noted follows from the command alone */

/* The row as JSON: sometimes the key is in there too. */
static void
add_row(Command *command, Tx *tx, int key, uint64_t version)
{
	Text		row;

	text_clear(&row);
	text_add(&row, "{");
	if (rng_one_in(&tx->session->rng, 2))
	{
		add_key_fields(&row, tx->table, key);
		text_add(&row, ",");
	}
	text_add(&row, "\"version\":%lu}", version);
	command_add(command, "%s", row.bytes);
}

static void
send_set(Tx *tx, Resp *resp, int key, uint64_t version, const char *condition)
{
	Command		command;

	command_begin(&command, "SET");
	command_add_key(&command, tx->session, tx->table, key);
	add_row(&command, tx, key, version);
	if (condition != NULL)
		command_add(&command, "%s", condition);
	resp_send(resp, &command);
	tx_note(tx, key, STATE_ROW(version));
}

static void
send_mset(Tx *tx, Resp *resp)
{
	uint64_t	version = next_version();
	Command		command;

	command_begin(&command, "MSET");
	for (int i = 0; i < tx->nkeys; i++)
	{
		command_add_key(&command, tx->session, tx->table, tx->keys[i]);
		add_row(&command, tx, tx->keys[i], version);
	}
	resp_send(resp, &command);
	tx_note_all(tx, STATE_ROW(version));
}

static void
send_hset(Tx *tx, Resp *resp, int key)
{
	uint64_t	version = next_version();
	Command		command;

	command_begin(&command, "HSET");
	command_add_key(&command, tx->session, tx->table, key);
	command_add(&command, "version");
	command_add(&command, "%lu", version);
	resp_send(resp, &command);
	tx_note(tx, key, STATE_ROW(version));
}

static uint64_t
send_del(Tx *tx, Resp *resp)
{
	uint64_t	version = next_version();
	Command		command;

	command_begin(&command, rng_one_in(&tx->session->rng, 2) ? "DEL" : "UNLINK");
	for (int i = 0; i < tx->nkeys; i++)
		command_add_key(&command, tx->session, tx->table, tx->keys[i]);
	resp_send(resp, &command);
	tx_note_all(tx, STATE_DELETED(version));
	return version;
}

/* Taking */

/* A number that is known beforehand. */
static Outcome
receive_number(Tx *tx, Resp *resp, const char *command, long long wanted)
{
	redisReply *reply;
	Outcome		outcome = resp_receive(tx->session, resp, &reply);

	if (outcome != ANSWERED)
		return outcome;
	if (reply->type != REDIS_REPLY_INTEGER)
		resp_unexpected(tx->session, reply, command);
	if (reply->integer != wanted)
	{
		char		got_text[32];
		char		wanted_text[32];

		snprintf(got_text, sizeof(got_text), "%lld", reply->integer);
		snprintf(wanted_text, sizeof(wanted_text), "%lld", wanted);
		wrong_answer(tx, command, got_text, wanted_text);
	}
	freeReplyObject(reply);
	return outcome;
}

/*
 * Ends a change by what is known of it.  What has to be written anew is, though the
 * time be over: others may still wait for the locks, and rely on what is known.
 */
static bool
finish(Tx *tx, Outcome outcome)
{
	bool		settled = outcome != LOST;

	tx->keep_locks = true;
	while (!settled && !shared->stop)
	{
		tx_begin_again(tx, READ_COMMITTED);
		tx_put_all(tx);
		settled = tx_commit(tx);
	}
	tx->keep_locks = false;
	return tx_finish(tx, outcome == ANSWERED);
}

/* The keys were refused. */
static bool
give_up(Tx *tx)
{
	session_end(tx->session, NULL);
	tx_finish(tx, false);
	return false;
}

/* What is done */

/* SET, and in the same pipeline GET of what was set. */
static bool
set(Session *s, Resp *resp)
{
	Question	q = {.function = RESP_GET, .nkeys = 1, .table = rng_below(&s->rng, TABLES)};
	Outcome		outcome;
	Tx			tx;

	if (!tx_lock_some(&tx, s, q.table, 1))
		return give_up(&tx);
	q.keys[0] = tx.keys[0];
	send_set(&tx, resp, tx.keys[0], next_version(), NULL);
	tx_announce(&tx);
	floor_take(&s->floor);
	resp_send_question(s, resp, &q);
	outcome = resp_receive_status(s, resp, "OK");
	if (outcome == ANSWERED)
		s->floor.known[q.table][q.keys[0]] = tx.states[0];
	resp_receive_question(s, resp, &q);
	return finish(&tx, outcome);
}

static bool
set_if(Session *s, Resp *resp)
{
	bool		nx = rng_one_in(&s->rng, 2);
	redisReply *reply;
	Outcome		outcome;
	bool		wanted;
	Tx			tx;

	if (!tx_lock_some(&tx, s, rng_below(&s->rng, TABLES), 1))
		return give_up(&tx);
	wanted = has_row(&tx, tx.keys[0]) != nx;
	send_set(&tx, resp, tx.keys[0], next_version(), nx ? "NX" : "XX");
	tx_announce(&tx);
	outcome = resp_receive(s, resp, &reply);
	if (outcome == ANSWERED)
	{
		bool		done = reply->type == REDIS_REPLY_STATUS;

		if (!done && reply->type != REDIS_REPLY_NIL)
			resp_unexpected(s, reply, "SET");
		if (done != wanted)
			wrong_answer(&tx, nx ? "SET NX" : "SET XX", done ? "OK" : "nil", wanted ? "OK" : "nil");
		if (!done)
			tx.nchanges = 0;
		freeReplyObject(reply);
	}
	return finish(&tx, outcome);
}

/* The version is never null, so it is a new field if the row is new. */
static bool
hset(Session *s, Resp *resp)
{
	Outcome		outcome;
	Tx			tx;

	if (!tx_lock_some(&tx, s, rng_below(&s->rng, TABLES), 1))
		return give_up(&tx);
	send_hset(&tx, resp, tx.keys[0]);
	tx_announce(&tx);
	outcome = receive_number(&tx, resp, "HSET", has_row(&tx, tx.keys[0]) ? 0 : 1);
	return finish(&tx, outcome);
}

static Outcome
delete_all(Tx *tx, Resp *resp)
{
	int			rows = 0;

	for (int i = 0; i < tx->nkeys; i++)
		rows += has_row(tx, tx->keys[i]);
	send_del(tx, resp);
	tx_announce(tx);
	return receive_number(tx, resp, "DEL", rows);
}

static bool
del(Session *s, Resp *resp)
{
	Tx			tx;

	if (!tx_lock_some(&tx, s, rng_below(&s->rng, TABLES), 1 + rng_below(&s->rng, 4)))
		return give_up(&tx);
	return finish(&tx, delete_all(&tx, resp));
}

/* A whole group, by one command. */
static bool
mset(Session *s, Resp *resp)
{
	Tx			tx;

	if (!tx_lock_group(&tx, s, rng_below(&s->rng, TABLES), rng_below(&s->rng, GROUPS)))
		return give_up(&tx);
	rng_shuffle(&s->rng, tx.keys, tx.nkeys);
	if (rng_one_in(&s->rng, 6))
		return finish(&tx, delete_all(&tx, resp));
	send_mset(&tx, resp);
	tx_announce(&tx);
	return finish(&tx, resp_receive_status(s, resp, "OK"));
}

/* What a group must look like to the transaction that has locked it */
static void
check_group(Tx *tx, const redisReply *reply, State state)
{
	uint64_t	wanted = STATE_IS_DELETED(state) ? 0 : state >> 1;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != (size_t) tx->nkeys)
		resp_unexpected(tx->session, reply, "MGET in EXEC");
	for (int i = 0; i < tx->nkeys; i++)
	{
		const char *row = reply->element[i]->str;
		uint64_t	got = row != NULL ? row_version(row) : 0;
		char		wanted_text[32];

		snprintf(wanted_text, sizeof(wanted_text), "version %lu", wanted);
		if (got != wanted)
			wrong_answer(tx, "MGET in EXEC", row != NULL ? row : "no row", wanted_text);
	}
}

/*
 * The answers of EXEC, of so many commands.  The first and the last read a twin;
 * the one at "first" and the last but one, the group.
 */
static Outcome
receive_exec(Tx *tx, Resp *resp, int commands, int first, State before, State after, uint64_t twins)
{
	redisReply *reply;
	Outcome		outcome;

	resp_receive_status(tx->session, resp, "OK");
	for (int i = 0; i < commands; i++)
		resp_receive_status(tx->session, resp, "QUEUED");
	outcome = resp_receive(tx->session, resp, &reply);
	if (outcome != ANSWERED)
		return outcome;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != (size_t) commands)
		resp_unexpected(tx->session, reply, "EXEC");
	for (int i = 0; i < commands; i++)
		if (reply->element[i]->type == REDIS_REPLY_ERROR)
			resp_unexpected(tx->session, reply->element[i], "command in EXEC");
	check_group(tx, reply->element[first], before);
	check_group(tx, reply->element[commands - 2], after);
	twins_check_exec(tx->session, twins, reply->element[0], reply->element[commands - 1]);
	freeReplyObject(reply);
	return outcome;
}

/*
 * A whole group, by one EXEC: perhaps deleted, then written one by one; read
 * before and after.  All the while the twins, which it does not change, must stay
 * as they were.
 */
static bool
exec(Session *s, Resp *resp)
{
	Question	q = {.function = RESP_MGET, .nkeys = GROUP_SIZE, .table = rng_below(&s->rng, TABLES)};
	bool		delete_first = rng_one_in(&s->rng, 3);
	State		before;
	uint64_t	twins = shared->twins_known;
	uint64_t	version;
	Outcome		outcome;
	Tx			tx;

	if (!tx_lock_group(&tx, s, q.table, rng_below(&s->rng, GROUPS)))
		return give_up(&tx);
	before = shared->known[q.table][tx.keys[0]];
	for (int i = 0; i < GROUP_SIZE; i++)
		q.keys[i] = tx.keys[i];

	resp_send_word(resp, "MULTI");
	twins_send(s, resp, "GET", 0, 1);
	if (delete_first)
		before = STATE_DELETED(send_del(&tx, resp));
	resp_send_question(s, resp, &q);
	version = next_version();
	for (int i = 0; i < tx.nkeys; i++)
		send_set(&tx, resp, tx.keys[i], version, NULL);
	resp_send_question(s, resp, &q);
	twins_send(s, resp, "GET", 1, 1);
	resp_send_word(resp, "EXEC");
	tx_announce(&tx);
	outcome = receive_exec(&tx, resp, delete_first + 4 + tx.nkeys, delete_first + 1,
						   before, STATE_ROW(version), twins);
	return finish(&tx, outcome);
}

/* How often each is done, relative to the others. */
static const struct
{
	Kind		kind;
	bool		(*run) (Session *s, Resp *resp);
	int			weight;
}			works[] = {
	{KIND_SET, set, 20},
	{KIND_SET_IF, set_if, 8},
	{KIND_HSET, hset, 12},
	{KIND_DEL, del, 10},
	{KIND_MSET, mset, 12},
	{KIND_EXEC_WRITE, exec, 8},
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

void
resp_writer_run(Session *s)
{
	while (running())
	{
		int			work = choose_work(&s->rng);
		double		started = now();
		Resp	   *resp = resp_choose(s);

		if (resp == NULL)
			break;
		if (works[work].run(s, resp))
			count(works[work].kind);
		pause_after(started, 0.5, 0.02);
	}
	resp_close_all();
}
