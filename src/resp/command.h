/*
 * command.h
 *		Commands: the table of them, and how one is run.
 */
#ifndef PLC_RESP_COMMAND_H
#define PLC_RESP_COMMAND_H

#include "resp/conn.h"

/* One request: a command and its arguments; argv[0] is its name. */
typedef struct PlcRequest
{
	PlcConn    *conn;
	const struct PlcCommand *command;
	int			argc;
	const PlcArg *argv;
	PlcBuffer  *out;
} PlcRequest;

typedef enum PlcOutcome
{
	PLC_DONE,					/* answered */
	PLC_PARK					/* not now: ask again from conn->retry_at on; nothing has been done */
} PlcOutcome;

/*
 * A handler appends exactly one reply to request->out.  It may raise an error
 * instead: what it has written by then is dropped, and the error is the reply.
 * The current memory context is emptied after it.
 */
typedef PlcOutcome (*PlcHandler) (PlcRequest *request);

/* What clients are told that this is: docs/resp.md tells why */
#define PLC_REDIS_VERSION	"7.4.0"

#define PLC_CMD_READ		0x01	/* reads rows; runs in the turn's transaction */
#define PLC_CMD_WRITE		0x02	/* writes rows; runs in a transaction of its own, which is then committed */
#define PLC_CMD_CATALOG		0x04	/* needs a transaction, but no table */
#define PLC_CMD_SLOW		0x08	/* may take long: statement_timeout is watched */
#define PLC_CMD_OPEN		0x10	/* runs before authentication */
#define PLC_CMD_AT_ONCE		0x20	/* is not queued after MULTI */
#define PLC_CMD_NO_MULTI	0x40	/* is refused after MULTI */
#define PLC_CMD_ANY_TABLE	0x80	/* may look at tables that no key names */

typedef struct PlcCommand
{
	const char *name;			/* lower case */
	int			arity;			/* arguments, name included; -n: n at least */
	unsigned	flags;
	PlcHandler	handler;		/* NULL: has subcommands */
	int			first_key;		/* position of keys, as COMMAND INFO says it */
	int			last_key;
	int			step;
	const char *group;
	const char *arguments;
	const char *summary;
	const struct PlcCommand *subcommands;	/* ends with a NULL name */
} PlcCommand;

/* All commands, in the order of their names; ends with a NULL name. */
extern const PlcCommand plc_commands[];

/* The command of that name, in any case, or NULL. */
extern const PlcCommand *plc_command_find(const PlcArg *name);

/* A name in capitals, palloc'd. */
extern char *plc_command_upper(const char *name);

/*
 * Runs a request: looks up, checks, calls the handler; MULTI queues.  Errors of
 * use are answered, errors of the server are raised.
 */
extern PlcOutcome plc_command_run(PlcRequest *request);

/* Runs several GETs as one request: argv[1] and so on are their keys. */
extern PlcOutcome plc_command_call_gets(PlcRequest *request);

/* Handlers, by file */
#define PLC_HANDLER(name) extern PlcOutcome plc_cmd_##name(PlcRequest *request)

/* cmd_connection.c */
PLC_HANDLER(auth);
PLC_HANDLER(hello);
PLC_HANDLER(ping);
PLC_HANDLER(echo);
PLC_HANDLER(select);
PLC_HANDLER(quit);
PLC_HANDLER(reset);

/* cmd_client.c */
PLC_HANDLER(client_id);
PLC_HANDLER(client_getname);
PLC_HANDLER(client_setname);
PLC_HANDLER(client_setinfo);
PLC_HANDLER(client_info);
PLC_HANDLER(client_list);
PLC_HANDLER(client_reply);
PLC_HANDLER(client_ok);
PLC_HANDLER(client_tracking);
PLC_HANDLER(client_trackinginfo);
PLC_HANDLER(client_getredir);

/* cmd_command.c */
PLC_HANDLER(help);
PLC_HANDLER(command);
PLC_HANDLER(command_count);
PLC_HANDLER(command_docs);
PLC_HANDLER(command_info);
PLC_HANDLER(command_list);

/* cmd_server.c */
PLC_HANDLER(config_get);
PLC_HANDLER(config_refused);
PLC_HANDLER(info);
PLC_HANDLER(time);
PLC_HANDLER(role);
PLC_HANDLER(no_cluster);
PLC_HANDLER(no_sentinel);
PLC_HANDLER(acl_whoami);
PLC_HANDLER(empty_array);
PLC_HANDLER(zero);
PLC_HANDLER(no_expiry);
PLC_HANDLER(no_keys);
PLC_HANDLER(no_subscribe);
PLC_HANDLER(no_watch);
PLC_HANDLER(stat);

/* cmd_invalidate.c */
PLC_HANDLER(invalidate);

/* cmd_read.c */
PLC_HANDLER(get);
PLC_HANDLER(gets);
PLC_HANDLER(mget);
PLC_HANDLER(exists);
PLC_HANDLER(strlen);
PLC_HANDLER(type);
PLC_HANDLER(ttl);

/* cmd_hash.c */
PLC_HANDLER(hget);
PLC_HANDLER(hmget);
PLC_HANDLER(hgetall);
PLC_HANDLER(hexists);
PLC_HANDLER(hlen);
PLC_HANDLER(hkeys);
PLC_HANDLER(hvals);
PLC_HANDLER(hscan);
PLC_HANDLER(hstrlen);

/* cmd_write.c */
PLC_HANDLER(set);
PLC_HANDLER(setnx);
PLC_HANDLER(mset);
PLC_HANDLER(del);
PLC_HANDLER(hset);
PLC_HANDLER(hmset);
PLC_HANDLER(hdel);

/* cmd_scan.c */
PLC_HANDLER(scan);
PLC_HANDLER(dbsize);

/* cmd_multi.c */
PLC_HANDLER(multi);
PLC_HANDLER(exec);
PLC_HANDLER(discard);

#endif							/* PLC_RESP_COMMAND_H */
