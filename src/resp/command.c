/*
 * command.c
 *		Commands: the table of them, and how one is run.
 *
 * The table is the only place that knows all commands; COMMAND and docs/resp.md tell
 * what stands in it.  What is refused for all alike (an unknown name, a wrong number of
 * arguments, no authentication) is refused here, in the words that clients look for.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "lib/stringinfo.h"

#include "resp/command.h"
#include "resp/identity.h"
#include "resp/queue.h"
#include "resp/server.h"
#include "resp/turn.h"

#define OPEN		PLC_CMD_OPEN
#define READ		PLC_CMD_READ
#define WRITE		(PLC_CMD_WRITE | PLC_CMD_SLOW)
#define LOOKS_UP	PLC_CMD_CATALOG
#define SLOW		PLC_CMD_SLOW
#define ANY_TABLE	PLC_CMD_ANY_TABLE
#define AT_ONCE		PLC_CMD_AT_ONCE
#define NO_MULTI	PLC_CMD_NO_MULTI

/* name, arity, flags, handler, keys, group, arguments, summary, subcommands */
static const PlcCommand acl_commands[] = {
	{"whoami", 2, LOOKS_UP, plc_cmd_acl_whoami, 0, 0, 0, "connection", "", "Tells the role that this connection acts as."},
	{NULL}
};

static const PlcCommand client_commands[] = {
	{"capa", -3, 0, plc_cmd_client_ok, 0, 0, 0, "connection", "capability [...]", "Accepted, and without effect."},
	{"getname", 2, 0, plc_cmd_client_getname, 0, 0, 0, "connection", "", "Tells the name of this connection."},
	{"getredir", 2, 0, plc_cmd_client_getredir, 0, 0, 0, "connection", "", "Tells that invalidations are not redirected."},
	{"id", 2, 0, plc_cmd_client_id, 0, 0, 0, "connection", "", "Tells the number of this connection."},
	{"info", 2, LOOKS_UP, plc_cmd_client_info, 0, 0, 0, "connection", "", "Describes this connection."},
	{"list", -2, LOOKS_UP | SLOW, plc_cmd_client_list, 0, 0, 0, "connection", "[TYPE normal] [ID id [...]]", "Describes all connections, of all workers."},
	{"no-evict", 3, 0, plc_cmd_client_ok, 0, 0, 0, "connection", "ON | OFF", "Accepted, and without effect."},
	{"no-touch", 3, 0, plc_cmd_client_ok, 0, 0, 0, "connection", "ON | OFF", "Accepted, and without effect."},
	{"reply", 3, AT_ONCE, plc_cmd_client_reply, 0, 0, 0, "connection", "ON | OFF | SKIP", "Turns replies on or off, or drops the next one."},
	{"setinfo", 4, 0, plc_cmd_client_setinfo, 0, 0, 0, "connection", "LIB-NAME name | LIB-VER version", "Notes the library that the client uses."},
	{"setname", 3, 0, plc_cmd_client_setname, 0, 0, 0, "connection", "name", "Names this connection."},
	{"tracking", -3, 0, plc_cmd_client_tracking, 0, 0, 0, "connection", "ON | OFF", "Refused: invalidation messages are not sent."},
	{"trackinginfo", 2, 0, plc_cmd_client_trackinginfo, 0, 0, 0, "connection", "", "Tells that tracking is off."},
	{NULL}
};

static const PlcCommand cluster_commands[] = {
	{NULL}
};

static const PlcCommand command_commands[] = {
	{"count", 2, 0, plc_cmd_command_count, 0, 0, 0, "server", "", "Tells how many commands there are."},
	{"docs", -2, 0, plc_cmd_command_docs, 0, 0, 0, "server", "[name [...]]", "Documents commands."},
	{"info", -2, 0, plc_cmd_command_info, 0, 0, 0, "server", "[name [...]]", "Describes commands."},
	{"list", 2, 0, plc_cmd_command_list, 0, 0, 0, "server", "", "Lists the names of all commands."},
	{NULL}
};

static const PlcCommand config_commands[] = {
	{"get", -3, SLOW, plc_cmd_config_get, 0, 0, 0, "server", "pattern [...]", "Tells settings that clients ask for."},
	{"resetstat", 2, 0, plc_cmd_config_refused, 0, 0, 0, "server", "", "Refused."},
	{"rewrite", 2, 0, plc_cmd_config_refused, 0, 0, 0, "server", "", "Refused: settings are PostgreSQL's."},
	{"set", -4, 0, plc_cmd_config_refused, 0, 0, 0, "server", "name value", "Refused: settings are PostgreSQL's."},
	{NULL}
};

static const PlcCommand latency_commands[] = {
	{"latest", 2, 0, plc_cmd_empty_array, 0, 0, 0, "server", "", "Answers an empty list."},
	{"history", 3, 0, plc_cmd_empty_array, 0, 0, 0, "server", "event", "Answers an empty list."},
	{NULL}
};

static const PlcCommand memory_commands[] = {
	{"usage", -3, READ, plc_cmd_strlen, 2, 2, 1, "server", "key [SAMPLES count]", "Tells the bytes of the row's text."},
	{NULL}
};

static const PlcCommand module_commands[] = {
	{"list", 2, 0, plc_cmd_empty_array, 0, 0, 0, "server", "", "Answers an empty list."},
	{NULL}
};

static const PlcCommand slowlog_commands[] = {
	{"get", -2, 0, plc_cmd_empty_array, 0, 0, 0, "server", "[count]", "Answers an empty list."},
	{"len", 2, 0, plc_cmd_zero, 0, 0, 0, "server", "", "Answers 0."},
	{"reset", 2, 0, plc_cmd_client_ok, 0, 0, 0, "server", "", "Accepted, and without effect."},
	{NULL}
};

const PlcCommand plc_commands[] = {
	{"acl", -2, 0, NULL, 0, 0, 0, "connection", "", "Tells about access.", acl_commands},
	{"auth", -2, OPEN | NO_MULTI, plc_cmd_auth, 0, 0, 0, "connection", "token | role password", "Authenticates this connection."},
	{"client", -2, 0, NULL, 0, 0, 0, "connection", "", "Tells and sets what is known of connections.", client_commands},
	{"cluster", -2, 0, plc_cmd_no_cluster, 0, 0, 0, "cluster", "", "Refused: this is no cluster.", cluster_commands},
	{"command", -1, 0, plc_cmd_command, 0, 0, 0, "server", "", "Describes all commands.", command_commands},
	{"config", -2, 0, NULL, 0, 0, 0, "server", "", "Tells settings that clients ask for.", config_commands},
	{"dbsize", 1, READ | SLOW | ANY_TABLE, plc_cmd_dbsize, 0, 0, 0, "generic", "", "Estimates how many rows the attached tables have."},
	{"del", -2, WRITE, plc_cmd_del, 1, -1, 1, "generic", "key [...]", "Deletes rows; tells how many there were."},
	{"discard", 1, AT_ONCE, plc_cmd_discard, 0, 0, 0, "transactions", "", "Forgets the commands since MULTI."},
	{"echo", 2, 0, plc_cmd_echo, 0, 0, 0, "connection", "message", "Answers the message."},
	{"exec", 1, AT_ONCE, plc_cmd_exec, 0, 0, 0, "transactions", "", "Runs the commands since MULTI as one transaction, under one snapshot."},
	{"exists", -2, READ, plc_cmd_exists, 1, -1, 1, "generic", "key [...]", "Tells how many of the rows exist."},
	{"expire", -3, 0, plc_cmd_no_expiry, 1, 1, 1, "generic", "key seconds", "Refused: rows do not expire."},
	{"expireat", -3, 0, plc_cmd_no_expiry, 1, 1, 1, "generic", "key time", "Refused: rows do not expire."},
	{"get", 2, READ, plc_cmd_get, 1, 1, 1, "string", "key", "Answers the row as JSON."},
	{"hdel", -3, WRITE, plc_cmd_hdel, 1, 1, 1, "hash", "key column [...]", "Sets columns of the row to null; tells how many were not."},
	{"hello", -1, OPEN | NO_MULTI, plc_cmd_hello, 0, 0, 0, "connection", "[2 | 3 [AUTH role password] [SETNAME name]]", "Chooses the protocol; authenticates and names the connection."},
	{"hexists", 3, READ, plc_cmd_hexists, 1, 1, 1, "hash", "key column", "Tells whether the row has the column, not null."},
	{"hget", 3, READ, plc_cmd_hget, 1, 1, 1, "hash", "key column", "Answers a column of the row."},
	{"hgetall", 2, READ, plc_cmd_hgetall, 1, 1, 1, "hash", "key", "Answers the columns of the row that are not null."},
	{"hkeys", 2, READ, plc_cmd_hkeys, 1, 1, 1, "hash", "key", "Answers the names of the columns that are not null."},
	{"hlen", 2, READ, plc_cmd_hlen, 1, 1, 1, "hash", "key", "Tells how many columns are not null."},
	{"hmget", -3, READ, plc_cmd_hmget, 1, 1, 1, "hash", "key column [...]", "Answers columns of the row."},
	{"hmset", -4, WRITE, plc_cmd_hmset, 1, 1, 1, "hash", "key column value [...]", "Sets columns of the row."},
	{"hscan", -3, READ | SLOW, plc_cmd_hscan, 1, 1, 1, "hash", "key cursor [MATCH pattern] [COUNT count] [NOVALUES]", "Answers the columns that are not null, all at once."},
	{"hset", -4, WRITE, plc_cmd_hset, 1, 1, 1, "hash", "key column value [...]", "Sets columns of the row; tells how many were null before."},
	{"hstrlen", 3, READ, plc_cmd_hstrlen, 1, 1, 1, "hash", "key column", "Tells the bytes of a column's text."},
	{"hvals", 2, READ, plc_cmd_hvals, 1, 1, 1, "hash", "key", "Answers the columns that are not null, without names."},
	{"info", -1, LOOKS_UP | ANY_TABLE, plc_cmd_info, 0, 0, 0, "server", "[section [...]]", "Tells about the server."},
	{"invalidate", 2, LOOKS_UP | SLOW | ANY_TABLE, plc_cmd_invalidate, 0, 0, 0, "server", "CRUD | CRUD:database | CRUD:database.schema.table | key", "Forgets cached rows; tells how many. Never needed."},
	{"keys", 2, 0, plc_cmd_no_keys, 0, 0, 0, "generic", "pattern", "Refused: use SCAN."},
	{"latency", -2, 0, NULL, 0, 0, 0, "server", "", "Answers empty lists.", latency_commands},
	{"memory", -2, 0, NULL, 0, 0, 0, "server", "", "Tells sizes.", memory_commands},
	{"mget", -2, READ, plc_cmd_mget, 1, -1, 1, "string", "key [...]", "Answers rows as JSON, all as of one moment."},
	{"module", -2, 0, NULL, 0, 0, 0, "server", "", "Answers an empty list.", module_commands},
	{"mset", -3, WRITE, plc_cmd_mset, 1, -1, 2, "string", "key row [...]", "Writes rows, all or none."},
	{"multi", 1, AT_ONCE, plc_cmd_multi, 0, 0, 0, "transactions", "", "Collects commands for EXEC."},
	{"pexpire", -3, 0, plc_cmd_no_expiry, 1, 1, 1, "generic", "key milliseconds", "Refused: rows do not expire."},
	{"ping", -1, 0, plc_cmd_ping, 0, 0, 0, "connection", "[message]", "Answers PONG, or the message."},
	{"psetex", 4, 0, plc_cmd_no_expiry, 1, 1, 1, "string", "key milliseconds row", "Refused: rows do not expire."},
	{"psubscribe", -2, 0, plc_cmd_no_subscribe, 0, 0, 0, "pubsub", "pattern [...]", "Refused: messages are not sent."},
	{"pttl", 2, READ, plc_cmd_ttl, 1, 1, 1, "generic", "key", "Answers -1 for a row, -2 if there is none."},
	{"quit", -1, OPEN | AT_ONCE, plc_cmd_quit, 0, 0, 0, "connection", "", "Closes the connection."},
	{"randomkey", 1, 0, plc_cmd_no_keys, 0, 0, 0, "generic", "", "Refused: use SCAN."},
	{"readonly", 1, 0, plc_cmd_no_cluster, 0, 0, 0, "cluster", "", "Refused: this is no cluster."},
	{"readwrite", 1, 0, plc_cmd_no_cluster, 0, 0, 0, "cluster", "", "Refused: this is no cluster."},
	{"reset", 1, OPEN | AT_ONCE, plc_cmd_reset, 0, 0, 0, "connection", "", "Takes the connection back to how it began."},
	{"role", 1, 0, plc_cmd_role, 0, 0, 0, "server", "", "Tells whether this is a primary or a standby."},
	{"scan", -2, READ | SLOW | ANY_TABLE, plc_cmd_scan, 0, 0, 0, "generic", "cursor [MATCH pattern] [COUNT count] [TYPE type]", "Lists keys of rows, some at a time."},
	{"select", 2, 0, plc_cmd_select, 0, 0, 0, "connection", "index", "Accepted from 0 to 15: all show the same rows."},
	{"sentinel", -2, 0, plc_cmd_no_sentinel, 0, 0, 0, "sentinel", "", "Refused: this is no Sentinel."},
	{"set", -3, WRITE, plc_cmd_set, 1, 1, 1, "string", "key row [NX | XX]", "Writes a row, given as a JSON object."},
	{"setex", 4, 0, plc_cmd_no_expiry, 1, 1, 1, "string", "key seconds row", "Refused: rows do not expire."},
	{"setnx", 3, WRITE, plc_cmd_setnx, 1, 1, 1, "string", "key row", "Writes a row if there is none."},
	{"slowlog", -2, 0, NULL, 0, 0, 0, "server", "", "Answers empty lists.", slowlog_commands},
	{"stat", 1, LOOKS_UP, plc_cmd_stat, 0, 0, 0, "server", "", "Answers all counters as JSON."},
	{"strlen", 2, READ, plc_cmd_strlen, 1, 1, 1, "string", "key", "Tells the bytes of the row's text."},
	{"subscribe", -2, 0, plc_cmd_no_subscribe, 0, 0, 0, "pubsub", "channel [...]", "Refused: messages are not sent."},
	{"time", 1, 0, plc_cmd_time, 0, 0, 0, "server", "", "Tells the server's time."},
	{"ttl", 2, READ, plc_cmd_ttl, 1, 1, 1, "generic", "key", "Answers -1 for a row, -2 if there is none."},
	{"type", 2, READ, plc_cmd_type, 1, 1, 1, "generic", "key", "Answers hash for a row, none if there is none."},
	{"unlink", -2, WRITE, plc_cmd_del, 1, -1, 1, "generic", "key [...]", "Deletes rows, as DEL."},
	{"unwatch", 1, 0, plc_cmd_client_ok, 0, 0, 0, "transactions", "", "Accepted: nothing is watched."},
	{"watch", -2, AT_ONCE, plc_cmd_no_watch, 1, -1, 1, "transactions", "key [...]", "Refused."},
	{NULL}
};

/* ---------- finding ---------- */

#define SLOTS		512			/* a power of two, several times the number of commands */
#define NAME_ROOM	16			/* longer than any name */

static const PlcCommand *slots[SLOTS];

static uint32
hash_name(const char *name, size_t len)
{
	uint32		hash = len;

	for (size_t i = 0; i < len; i++)
		hash = hash * 31 + (unsigned char) name[i];
	return hash;
}

static void
fill_slots(void)
{
	for (const PlcCommand *command = plc_commands; command->name != NULL; command++)
	{
		uint32		slot = hash_name(command->name, strlen(command->name));

		while (slots[slot % SLOTS] != NULL)
			slot++;
		slots[slot % SLOTS] = command;
	}
}

const PlcCommand *
plc_command_find(const PlcArg *name)
{
	char		lower[NAME_ROOM];
	uint32		slot;

	if (name->len >= NAME_ROOM)
		return NULL;
	if (slots[hash_name("get", 3) % SLOTS] == NULL)
		fill_slots();
	for (size_t i = 0; i < name->len; i++)
		lower[i] = pg_ascii_tolower((unsigned char) name->data[i]);
	lower[name->len] = '\0';
	for (slot = hash_name(lower, name->len); slots[slot % SLOTS] != NULL; slot++)
		if (strcmp(slots[slot % SLOTS]->name, lower) == 0)
			return slots[slot % SLOTS];
	return NULL;
}

/* Each command that has subcommands has this one, too. */
static const PlcCommand *
find_subcommand(const PlcCommand *command, const PlcArg *name)
{
	static const PlcCommand help = {"help", 2, 0, plc_cmd_help};

	if (plc_arg_is(name, "help"))
		return &help;
	for (const PlcCommand *sub = command->subcommands; sub != NULL && sub->name != NULL; sub++)
		if (plc_arg_is(name, sub->name))
			return sub;
	return NULL;
}

/* ---------- refusing ---------- */

/* As many bytes of an argument as are shown of it. */
static int
shown(const PlcArg *arg, int room)
{
	return (int) Min(arg->len, (size_t) Max(room, 0));
}

static void
unknown_command(const PlcRequest *request)
{
	StringInfoData text;
	int			args;

	initStringInfo(&text);
	appendStringInfo(&text, "ERR unknown command '%.*s', with args beginning with: ",
					 shown(&request->argv[0], 128), request->argv[0].data);
	args = text.len;
	for (int i = 1; i < request->argc && text.len - args < 128; i++)
		appendStringInfo(&text, "'%.*s' ", shown(&request->argv[i], 128 - (text.len - args)),
						 request->argv[i].data);
	plc_reply_error(request->out, text.data);
}

char *
plc_command_upper(const char *name)
{
	char	   *upper = pstrdup(name);

	for (char *p = upper; *p != '\0'; p++)
		*p = pg_ascii_toupper((unsigned char) *p);
	return upper;
}

static void
unknown_subcommand(const PlcRequest *request, const PlcCommand *command)
{
	plc_reply_error(request->out,
					psprintf("ERR unknown subcommand '%.*s'. Try %s HELP.",
							 shown(&request->argv[1], 128), request->argv[1].data,
							 plc_command_upper(command->name)));
}

static void
wrong_arity(const PlcRequest *request, const PlcCommand *container)
{
	plc_reply_error(request->out,
					psprintf("ERR wrong number of arguments for '%s%s%s' command",
							 container ? container->name : "", container ? "|" : "",
							 request->command->name));
}

static bool
arity_fits(const PlcCommand *command, int argc)
{
	return command->arity < 0 ? argc >= -command->arity : argc == command->arity;
}

/* Finds the command, with its subcommand; false and a reply if there is none such. */
static bool
find(PlcRequest *request)
{
	const PlcCommand *container = NULL;

	request->command = plc_command_find(&request->argv[0]);
	if (request->command == NULL)
	{
		unknown_command(request);
		return false;
	}
	if (request->command->subcommands != NULL && request->argc > 1)
	{
		const PlcCommand *sub = find_subcommand(request->command, &request->argv[1]);

		if (sub == NULL && request->command->subcommands->name != NULL)
		{
			unknown_subcommand(request, request->command);
			return false;
		}
		if (sub != NULL)
		{
			container = request->command;
			request->command = sub;
		}
	}
	if (arity_fits(request->command, request->argc))
		return true;
	wrong_arity(request, container);
	return false;
}

/* Refuses what is not allowed or misspelled, with its reply; true if it may run. */
static bool
check(PlcRequest *request)
{
	if (!find(request))
		return false;
	request->conn->client->last_command = request->command;
	if (!(request->command->flags & PLC_CMD_OPEN) && !plc_identity_is_known(request->conn))
	{
		plc_reply_error(request->out, "NOAUTH Authentication required.");
		return false;
	}
	if (request->conn->queue != NULL && request->command->flags & PLC_CMD_NO_MULTI)
	{
		plc_reply_error(request->out, "ERR Command not allowed inside a transaction");
		return false;
	}
	if (request->command->flags & PLC_CMD_WRITE && RecoveryInProgress())
	{
		plc_reply_error(request->out, "READONLY You can't write against a read only replica.");
		return false;
	}
	return true;
}

/* ---------- running ---------- */

/* What the flags of the command want around its handler. */
static PlcOutcome
call(PlcRequest *request)
{
	unsigned	flags = request->command->flags;
	PlcOutcome	outcome;

	if (flags & PLC_CMD_WRITE)
		plc_turn_end();
	if (flags & (PLC_CMD_READ | PLC_CMD_WRITE | PLC_CMD_CATALOG))
	{
		plc_turn_begin();
		plc_turn_act_as(plc_identity_role(request->conn));
	}
	if (flags & PLC_CMD_SLOW)
		plc_server_watch();
	outcome = request->command->handler(request);
	if (outcome == PLC_DONE && (flags & PLC_CMD_WRITE || plc_turn_has_run_user_code()))
		plc_turn_end();
	else if (flags & PLC_CMD_WRITE)
		plc_turn_abort();
	return outcome;
}

PlcOutcome
plc_command_call_gets(PlcRequest *request)
{
	static const PlcCommand gets = {"get", -2, READ, plc_cmd_gets, 1, -1, 1};

	request->command = &gets;
	request->conn->client->last_command = plc_command_find(&request->argv[0]);
	return call(request);
}

static void
enqueue(PlcRequest *request)
{
	plc_queue_add(request->conn->queue, request);
	request->conn->client->queued = request->conn->queue->n;
	plc_reply_simple(request->out, "QUEUED");
}

PlcOutcome
plc_command_run(PlcRequest *request)
{
	if (!check(request))
	{
		if (request->conn->queue != NULL)
			request->conn->queue->spoilt = true;
		return PLC_DONE;
	}
	if (request->conn->queue != NULL && !(request->command->flags & PLC_CMD_AT_ONCE))
	{
		enqueue(request);
		return PLC_DONE;
	}
	return call(request);
}
