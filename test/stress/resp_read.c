/*
 * resp_read.c
 *		Reads over RESP.
 *
 * GET, HGETALL and MGET are each one snapshot; so is EXEC as a whole, which
 * asks for its keys by all three.  A hash is put together as JSON again, so that
 * all answers are judged alike.
 *
 * There is no plain SELECT beside these reads: they are judged by what is known
 * and by what has been begun.  A pipeline is sent at once, so its commands may
 * share a snapshot; but each may only see what its predecessor saw, or more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp_read.h"

static const Kind kinds[FUNCTIONS] = {
	[RESP_GET] = KIND_GET,
	[RESP_HGETALL] = KIND_HGETALL,
	[RESP_MGET] = KIND_RESP_MGET,
	[RESP_EXEC] = KIND_EXEC
};

/* What an EXEC is made of, over and over until its keys are used up. */
static const struct
{
	Function	function;
	int			nkeys;
}			pieces[] = {
	{RESP_MGET, 9},
	{RESP_GET, 1},
	{RESP_HGETALL, 1},
	{RESP_MGET, 3},
	{RESP_GET, 1},
};

#define PIECES ((int) (sizeof(pieces) / sizeof(pieces[0])))

/* The part of a question that one command asks */
static Question
part_of(const Question *q, Function function, int first, int nkeys)
{
	Question	part = {.function = function, .table = q->table};

	part.nkeys = nkeys < q->nkeys - first ? nkeys : q->nkeys - first;
	memcpy(part.keys, q->keys + first, (size_t) part.nkeys * sizeof(int));
	return part;
}

/* Sending */

static void
send_command(Session *s, Resp *resp, const Question *q)
{
	Command		command;

	command_begin(&command, function_names[q->function]);
	for (int i = 0; i < q->nkeys; i++)
		command_add_key(&command, s, q->table, q->keys[i]);
	resp_send(resp, &command);
}

void
resp_send_question(Session *s, Resp *resp, const Question *q)
{
	int			piece = 0;

	if (q->function != RESP_EXEC)
	{
		send_command(s, resp, q);
		return;
	}
	resp_send_word(resp, "MULTI");
	for (int first = 0; first < q->nkeys; first += pieces[piece++ % PIECES].nkeys)
	{
		Question	part = part_of(q, pieces[piece % PIECES].function, first, pieces[piece % PIECES].nkeys);

		send_command(s, resp, &part);
	}
	resp_send_word(resp, "EXEC");
}

/* Taking */

static const char *
take_bulk(Session *s, const redisReply *reply, Function function)
{
	if (reply->type == REDIS_REPLY_NIL)
		return NULL;
	if (reply->type != REDIS_REPLY_STRING)
		resp_unexpected(s, reply, function_names[function]);
	return reply->str;
}

static void
add_json_string(Text *text, const char *bytes)
{
	text_add(text, "\"");
	for (const char *c = bytes; *c != '\0'; c++)
		text_add(text, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	text_add(text, "\"");
}

/*
 * The row that a hash tells of.  What looks like a number is one; that is true at
 * least of the key and of the version.
 */
static const char *
take_hash(Session *s, const redisReply *reply, Text *text)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 2 != 0)
		resp_unexpected(s, reply, "HGETALL");
	if (reply->elements == 0)
		return NULL;
	text_clear(text);
	for (size_t i = 0; i < reply->elements; i += 2)
	{
		const char *name = take_bulk(s, reply->element[i], RESP_HGETALL);
		const char *value = take_bulk(s, reply->element[i + 1], RESP_HGETALL);

		if (name == NULL || value == NULL)
			resp_unexpected(s, reply, "HGETALL");
		text_add(text, "%s", i == 0 ? "{" : ",");
		add_json_string(text, name);
		text_add(text, ":");
		if (*value != '\0' && strspn(value, "0123456789") == strlen(value))
			text_add(text, "%s", value);
		else
			add_json_string(text, value);
	}
	text_add(text, "}");
	return text->bytes;
}

/* Adds what one command was answered.  "hash" is room for a row. */
static void
take_command(Session *s, const Question *q, const redisReply *reply, Text *hash, Answer *answer)
{
	if (q->function == RESP_MGET)
	{
		if (reply->type != REDIS_REPLY_ARRAY || reply->elements != (size_t) q->nkeys)
			resp_unexpected(s, reply, "MGET");
		for (int i = 0; i < q->nkeys; i++)
			answer->got[answer->nrows++] = take_bulk(s, reply->element[i], RESP_MGET);
	}
	else if (q->function == RESP_HGETALL)
		answer->got[answer->nrows++] = take_hash(s, reply, hash);
	else
		answer->got[answer->nrows++] = take_bulk(s, reply, RESP_GET);
}

/*
 * What EXEC was answered.  False if one of its commands was refused: the others
 * are then not judged.
 */
static bool
take_exec(Session *s, const Question *q, const redisReply *reply, Text *hashes, Answer *answer)
{
	int			piece = 0;
	int			first = 0;

	if (reply->type != REDIS_REPLY_ARRAY)
		resp_unexpected(s, reply, "EXEC");
	for (; first < q->nkeys && (size_t) piece < reply->elements; piece++)
	{
		const redisReply *element = reply->element[piece];
		Question	part = part_of(q, pieces[piece % PIECES].function, first, pieces[piece % PIECES].nkeys);

		if (element->type == REDIS_REPLY_ERROR)
		{
			resp_refused(s, element);
			return false;
		}
		take_command(s, &part, element, &hashes[piece / PIECES], answer);
		first += part.nkeys;
	}
	if (first < q->nkeys || (size_t) piece != reply->elements)
		resp_unexpected(s, reply, "EXEC");
	return true;
}

/* Takes in what comes before EXEC is answered. */
static bool
receive_queued(Session *s, Resp *resp, const Question *q)
{
	bool		queued = resp_receive_status(s, resp, "OK") == ANSWERED;
	int			piece = 0;

	for (int first = 0; first < q->nkeys; first += pieces[piece++ % PIECES].nkeys)
		queued &= resp_receive_status(s, resp, "QUEUED") == ANSWERED;
	return queued;
}

void
resp_receive_question(Session *s, Resp *resp, const Question *q)
{
	static Text hashes[MAX_ASKED / PIECES];
	Answer		answer = {0};
	redisReply *reply;
	bool		whole = true;

	if (q->function == RESP_EXEC)
		whole = receive_queued(s, resp, q);
	if (resp_receive(s, resp, &reply) != ANSWERED)
		return;
	if (q->function == RESP_EXEC)
		whole &= take_exec(s, q, reply, hashes, &answer);
	else
		take_command(s, q, reply, hashes, &answer);
	if (whole)
	{
		answer_check(s, q, s->floor.label, &answer);
		count(kinds[q->function]);
	}
	freeReplyObject(reply);
}

void
resp_ask(Session *s, Resp *resp, const Question *questions, int n)
{
	floor_take(&s->floor);
	for (int i = 0; i < n; i++)
		resp_send_question(s, resp, &questions[i]);
	for (int i = 0; i < n; i++)
		resp_receive_question(s, resp, &questions[i]);
}
