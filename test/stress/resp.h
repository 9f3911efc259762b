/*
 * resp.h
 *		Connections to the endpoint, and commands on them.
 */
#ifndef STRESS_RESP_H
#define STRESS_RESP_H

#include <hiredis/hiredis.h>

#include "session.h"

#define RESP_HOST		"127.0.0.1"

/* A connection to one worker. */
typedef struct Resp
{
	redisContext *context;		/* NULL: there is none */
	int			worker;			/* its process id */
} Resp;

/* A command, an argument at a time. */
#define MAX_ARGUMENTS	400

typedef struct Command
{
	int			argc;
	const char *argv[MAX_ARGUMENTS];
	Text		text;			/* of the arguments */
} Command;

typedef enum Outcome
{
	ANSWERED,
	REFUSED,					/* because of what others do; nothing has happened */
	LOST						/* the connection is gone; nobody knows what has happened */
} Outcome;

/* One of this process's connections, opened if need be; NULL: the run is over. */
extern Resp *resp_choose(Session *s);
extern void resp_reconnect(Session *s);
extern void resp_close_all(void);

extern void command_begin(Command *command, const char *name);
extern void command_add(Command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern void command_add_key(Command *command, Session *s, int table, int key);

/*
 * Any number are sent, then as many answers taken, in the same order.  An answer
 * is the caller's to free, with freeReplyObject(); there is one only if ANSWERED.
 */
extern void resp_send(Resp *resp, const Command *command);
extern void resp_send_word(Resp *resp, const char *word);
extern Outcome resp_receive(Session *s, Resp *resp, redisReply **reply);
extern Outcome resp_receive_status(Session *s, Resp *resp, const char *status);

/* Is this error one that concurrency alone can cause?  Any other ends the process. */
extern void resp_refused(Session *s, const redisReply *error);

/* Ends the process: the answer makes no sense. */
extern void resp_unexpected(Session *s, const redisReply *reply, const char *command)
			__attribute__((noreturn));

#endif							/* STRESS_RESP_H */
