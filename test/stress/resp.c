/*
 * resp.c
 *		Connections to the endpoint, and commands on them.
 *
 * A process has two connections and wants them to lead to two workers, so that
 * what it has seen through one can be held against the other.  The kernel
 * chooses the worker: so it connects again until they differ, but not for ever,
 * since one of the workers may just be down.
 *
 * The keeper ends workers.  A connection to one that was ended is lost at any
 * moment, in the middle of an answer too; then a read was in vain, and of a
 * write nobody knows whether it has happened.  A connection that is lost though
 * nobody ended its worker fails the run, and so does an answer that does not
 * come.
 *
 * The client is hiredis: a second opinion on the protocol, not ours.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "resp.h"

#define CONNECTIONS		2

/* To get another worker than the other connection has: it fails once in 2^8 times. */
#define ATTEMPTS		8

/* Seconds in which a worker must be there, and an answer. */
#define PATIENCE		30

static Resp connections[CONNECTIONS];

/* Commands */

void
command_begin(Command *command, const char *name)
{
	command->argc = 0;
	text_clear(&command->text);
	command_add(command, "%s", name);
}

void
command_add(Command *command, const char *format,...)
{
	char		argument[1024];
	int			start = command->text.len;
	va_list		args;

	va_start(args, format);
	vsnprintf(argument, sizeof(argument), format, args);
	va_end(args);
	/* the zero byte stays between the arguments */
	text_add(&command->text, "%s%c", argument, '\0');
	command->argv[command->argc++] = command->text.bytes + start;
}

void
command_add_key(Command *command, Session *s, int table, int key)
{
	Text		text;

	text_clear(&text);
	add_key_wire(&text, table, key, PQdb(s->conn), rng_below(&s->rng, WIRE_SPELLINGS));
	command_add(command, "%s", text.bytes);
}

void
resp_send(Resp *resp, const Command *command)
{
	if (resp->context != NULL)
		redisAppendCommandArgv(resp->context, command->argc, (const char **) command->argv, NULL);
}

void
resp_send_word(Resp *resp, const char *word)
{
	if (resp->context != NULL)
		redisAppendCommandArgv(resp->context, 1, &word, NULL);
}

/* Answers */

void
resp_unexpected(Session *s, const redisReply *reply, const char *command)
{
	fail(s->name, "%s was answered with type %d, \"%.300s\", %lld, %zu elements",
		 command, reply->type, reply->str ? reply->str : "", reply->integer, reply->elements);
}

void
resp_refused(Session *s, const redisReply *error)
{
	static const char *const refusals[] = {
		"canceling statement due to lock timeout",
		"canceling statement due to user request",
		"deadlock detected",
		"could not serialize access",
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (strstr(error->str, refusals[i]) != NULL)
		{
			atomic_fetch_add(&shared->retries, 1);
			return;
		}
	fail(s->name, "error over RESP: %s", error->str);
}

static bool
was_ended(int worker)
{
	for (int i = 0; i < shared->nended; i++)
		if (shared->ended[i] == worker)
			return true;
	return false;
}

static void
close_connection(Resp *resp)
{
	if (resp->context != NULL)
		redisFree(resp->context);
	resp->context = NULL;
}

/* Reading or writing failed.  The only good reason is that the worker was ended. */
static void
lose(Session *s, Resp *resp)
{
	int			error = errno;
	const redisContext *context = resp->context;

	if (context->err == REDIS_ERR_IO && (error == EAGAIN || error == EWOULDBLOCK))
		fail(s->name, "worker %d has not answered for %d s", resp->worker, PATIENCE);
	if (context->err == REDIS_ERR_PROTOCOL)
		fail(s->name, "worker %d: %s", resp->worker, context->errstr);
	if (resp->worker != 0 && !was_ended(resp->worker))
		fail(s->name, "worker %d, which nobody ended, closed the connection: %s",
			 resp->worker, context->errstr);
	close_connection(resp);
}

Outcome
resp_receive(Session *s, Resp *resp, redisReply **reply)
{
	void	   *got = NULL;

	*reply = NULL;
	if (resp->context == NULL)
		return LOST;
	if (redisGetReply(resp->context, &got) != REDIS_OK)
	{
		lose(s, resp);
		if (resp->worker != 0)
			count(KIND_LOST);
		return LOST;
	}
	*reply = got;
	if ((*reply)->type != REDIS_REPLY_ERROR)
		return ANSWERED;
	resp_refused(s, *reply);
	freeReplyObject(*reply);
	*reply = NULL;
	return REFUSED;
}

/* For an answer that can only be this status, or an error. */
Outcome
resp_receive_status(Session *s, Resp *resp, const char *status)
{
	redisReply *reply;
	Outcome		outcome = resp_receive(s, resp, &reply);

	if (outcome == ANSWERED && (reply->type != REDIS_REPLY_STATUS || strcmp(reply->str, status) != 0))
		resp_unexpected(s, reply, status);
	freeReplyObject(reply);
	return outcome;
}

/* Connecting */

/* The process that serves the client with this number; 0 if it is no more. */
static int
find_worker(Session *s, long long client)
{
	char		sql[512];
	PGresult   *result;
	int			pid;

	snprintf(sql, sizeof(sql), "SELECT w ->> 'pid' FROM local_cache.clients c"
			 " JOIN jsonb_array_elements(local_cache.health() #> '{endpoint,workers}') w"
			 " ON (w ->> 'worker')::int = c.worker WHERE c.id = %lld", client);
	result = session_query(s, sql);
	pid = PQntuples(result) == 1 ? atoi(PQgetvalue(result, 0, 0)) : 0;
	PQclear(result);
	return pid;
}

/* Asks who serves this connection. */
static bool
learn_worker(Session *s, Resp *resp)
{
	redisReply *reply;
	Command		command;

	resp->worker = 0;
	command_begin(&command, "CLIENT");
	command_add(&command, "ID");
	resp_send(resp, &command);
	if (resp_receive(s, resp, &reply) != ANSWERED)
		return false;
	if (reply->type != REDIS_REPLY_INTEGER)
		resp_unexpected(s, reply, "CLIENT ID");
	resp->worker = find_worker(s, reply->integer);
	freeReplyObject(reply);
	return resp->worker != 0;
}

/* False if there is no worker, or it ends right now. */
static bool
try_to_open(Session *s, Resp *resp)
{
	struct timeval patience = {PATIENCE, 0};

	close_connection(resp);
	resp->context = redisConnectWithTimeout(RESP_HOST, shared->port, patience);
	if (resp->context == NULL)
		fail(s->name, "out of memory");
	if (resp->context->err == 0)
	{
		redisSetTimeout(resp->context, patience);
		return learn_worker(s, resp);
	}
	close_connection(resp);
	return false;
}

static void
open_connection(Session *s, Resp *resp)
{
	const Resp *other = &connections[resp == &connections[0]];
	struct timespec pause = {0, 10000000};
	double		deadline = now() + PATIENCE;

	for (int attempt = 0; attempt < ATTEMPTS && running();)
	{
		if (!try_to_open(s, resp))
		{
			if (now() > deadline)
				fail(s->name, "no worker for %d s on port %d", PATIENCE, shared->port);
			nanosleep(&pause, NULL);
			continue;
		}
		if (other->context == NULL)
			return;
		if (other->worker != resp->worker)
		{
			count(KIND_WORKERS);
			return;
		}
		attempt++;
	}
}

Resp *
resp_choose(Session *s)
{
	Resp	   *resp = &connections[rng_below(&s->rng, CONNECTIONS)];

	if (resp->context == NULL)
		open_connection(s, resp);
	return resp->context != NULL ? resp : NULL;
}

/* Leaves one worker, and perhaps finds another one. */
void
resp_reconnect(Session *s)
{
	Resp	   *resp = &connections[rng_below(&s->rng, CONNECTIONS)];

	close_connection(resp);
	open_connection(s, resp);
	count(KIND_RECONNECT);
}

void
resp_close_all(void)
{
	for (int i = 0; i < CONNECTIONS; i++)
		close_connection(&connections[i]);
}
