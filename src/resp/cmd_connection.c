/*
 * cmd_connection.c
 *		Authentication, HELLO, and what a connection is asked for otherwise.
 *
 * A password check takes milliseconds on purpose, so it is done in slices: the request
 * is parked and run again until the result is there (auth.h).  HELLO applies all of its
 * options or none.
 */
#include "postgres.h"

#include "access/xlog.h"

#include "guc.h"
#include "resp/cmd_client.h"
#include "resp/command.h"
#include "resp/identity.h"
#include "resp/turn.h"
#include "resp/worker.h"

/* Clients look for these words */
#define WRONG_PASSWORD	"WRONGPASS invalid username-password pair or user is disabled."
#define NO_PASSWORD_SET	"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
#define HELLO_WITHOUT_AUTH \
	"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"

/* The number of databases that SELECT knows, all alike */
#define DATABASES	16

typedef enum Admission
{
	ADMITTED,
	REFUSED,					/* with a reply */
	WAIT						/* park the request */
} Admission;

static Admission
admission(PlcRequest *request, PlcAuthResult result)
{
	switch (result)
	{
		case PLC_AUTH_OK:
			return ADMITTED;
		case PLC_AUTH_WORKING:
			return WAIT;
		default:
			plc_worker_count(PLC_ENDPOINT_AUTH_FAILURES, 1);
			plc_reply_error(request->out, WRONG_PASSWORD);
			return REFUSED;
	}
}

/* The token, by those who act as pg_local_cache.role. */
static Admission
admit_by_token(PlcRequest *request, const PlcArg *token)
{
	PlcConn    *conn = request->conn;
	Admission	result = admission(request, plc_auth_token(&conn->auth, conn->client->address,
														   token->data, token->len,
														   &conn->retry_at));

	if (result != ADMITTED)
		return result;
	plc_turn_begin();
	conn->by_password = false;
	conn->role_checked = 0;
	(void) plc_identity_role(conn);
	return ADMITTED;
}

static Admission
admit_by_password(PlcRequest *request, const PlcArg *name, const PlcArg *password)
{
	PlcConn    *conn = request->conn;
	Oid			role;
	Admission	result;

	plc_turn_begin();
	result = admission(request, plc_auth_password(&conn->auth, conn->client->address,
												  name->data, name->len,
												  password->data, password->len,
												  &role, &conn->retry_at));
	if (result == ADMITTED)
		plc_conn_become(conn, role, true);
	return result;
}

/* User "default" is who gives the token, or need not give any. */
static Admission
admit(PlcRequest *request, const PlcArg *name, const PlcArg *password)
{
	if (!plc_arg_is(name, "default"))
		return admit_by_password(request, name, password);
	if (plc_auth_token_required())
		return admit_by_token(request, password);
	if (plc_guc_role[0] != '\0' && request->conn->local)
	{
		plc_conn_become(request->conn, InvalidOid, false);
		return ADMITTED;
	}
	return admission(request, PLC_AUTH_WRONG);
}

PlcOutcome
plc_cmd_auth(PlcRequest *request)
{
	Admission	result;

	if (request->argc > 3)
	{
		plc_reply_error(request->out, "ERR syntax error");
		return PLC_DONE;
	}
	if (request->argc == 3)
		result = admit(request, &request->argv[1], &request->argv[2]);
	else if (plc_auth_token_required())
		result = admit_by_token(request, &request->argv[1]);
	else
	{
		plc_reply_error(request->out, NO_PASSWORD_SET);
		return PLC_DONE;
	}
	if (result == WAIT)
		return PLC_PARK;
	if (result == ADMITTED)
		plc_reply_simple(request->out, "OK");
	return PLC_DONE;
}

/* What HELLO was asked for. */
typedef struct Hello
{
	int			protocol;
	const PlcArg *user;			/* NULL: no AUTH */
	const PlcArg *password;
	const PlcArg *name;			/* NULL: no SETNAME */
} Hello;

/* False, and a reply, if the arguments are not right. */
static bool
parse_hello(PlcRequest *request, Hello *hello)
{
	int64_t		protocol;

	memset(hello, 0, sizeof(*hello));
	hello->protocol = request->conn->protocol;
	if (request->argc == 1)
		return true;
	if (!plc_arg_integer(&request->argv[1], &protocol))
	{
		plc_reply_error(request->out, "ERR Protocol version is not an integer or out of range");
		return false;
	}
	if (protocol != 2 && protocol != 3)
	{
		plc_reply_error(request->out, "NOPROTO unsupported protocol version");
		return false;
	}
	hello->protocol = protocol;
	for (int i = 2; i < request->argc;)
	{
		const PlcArg *option = &request->argv[i];

		if (plc_arg_is(option, "auth") && i + 2 < request->argc)
		{
			hello->user = &request->argv[i + 1];
			hello->password = &request->argv[i + 2];
			i += 3;
		}
		else if (plc_arg_is(option, "setname") && i + 1 < request->argc)
		{
			hello->name = &request->argv[i + 1];
			i += 2;
		}
		else
		{
			plc_reply_error(request->out,
							psprintf("ERR Syntax error in HELLO option '%.*s'",
									 (int) Min(option->len, 128), option->data));
			return false;
		}
	}
	return hello->name == NULL || plc_client_name_valid(request, hello->name);
}

static void
reply_hello(PlcRequest *request)
{
	PlcConn    *conn = request->conn;

	plc_reply_map(request->out, conn->protocol, 7);
	plc_reply_string(request->out, "server");
	plc_reply_string(request->out, "redis");
	plc_reply_string(request->out, "version");
	plc_reply_string(request->out, PLC_REDIS_VERSION);
	plc_reply_string(request->out, "proto");
	plc_reply_integer(request->out, conn->protocol);
	plc_reply_string(request->out, "id");
	plc_reply_integer(request->out, conn->client->id);
	plc_reply_string(request->out, "mode");
	plc_reply_string(request->out, "standalone");
	plc_reply_string(request->out, "role");
	plc_reply_string(request->out, RecoveryInProgress() ? "replica" : "master");
	plc_reply_string(request->out, "modules");
	plc_reply_array(request->out, 0);
}

PlcOutcome
plc_cmd_hello(PlcRequest *request)
{
	PlcConn    *conn = request->conn;
	Hello		hello;

	if (!parse_hello(request, &hello))
		return PLC_DONE;
	if (hello.user != NULL)
	{
		Admission	result = admit(request, hello.user, hello.password);

		if (result != ADMITTED)
			return result == WAIT ? PLC_PARK : PLC_DONE;
	}
	else if (!plc_identity_is_known(conn))
	{
		plc_reply_error(request->out, HELLO_WITHOUT_AUTH);
		return PLC_DONE;
	}
	conn->protocol = hello.protocol;
	plc_client_change(conn->client);
	conn->client->protocol = hello.protocol;
	plc_client_changed(conn->client);
	if (hello.name != NULL)
		plc_client_set_name(conn, hello.name);
	reply_hello(request);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_ping(PlcRequest *request)
{
	if (request->argc == 1)
		plc_reply_simple(request->out, "PONG");
	else if (request->argc == 2)
		plc_reply_bulk(request->out, request->argv[1].data, request->argv[1].len);
	else
		plc_reply_error(request->out, "ERR wrong number of arguments for 'ping' command");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_echo(PlcRequest *request)
{
	plc_reply_bulk(request->out, request->argv[1].data, request->argv[1].len);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_select(PlcRequest *request)
{
	int64_t		database;

	if (!plc_arg_integer(&request->argv[1], &database))
		plc_reply_error(request->out, "ERR value is not an integer or out of range");
	else if (database < 0 || database >= DATABASES)
		plc_reply_error(request->out, "ERR DB index is out of range");
	else
		plc_reply_simple(request->out, "OK");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_quit(PlcRequest *request)
{
	plc_reply_simple(request->out, "OK");
	plc_conn_close(request->conn);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_reset(PlcRequest *request)
{
	plc_conn_reset(request->conn);
	plc_reply_simple(request->out, "RESET");
	return PLC_DONE;
}
