/*
 * cmd_client.c
 *		CLIENT: what is known of connections.
 *
 * Everything told of a connection is in its slot in shared memory (endpoint.h), so any
 * worker can tell of all.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "resp/cmd_client.h"

/* Bytes that would break the line of CLIENT LIST. */
static bool
is_printable(const PlcArg *arg)
{
	for (size_t i = 0; i < arg->len; i++)
		if (arg->data[i] < '!' || arg->data[i] > '~')
			return false;
	return true;
}

bool
plc_client_name_valid(PlcRequest *request, const PlcArg *name)
{
	if (!is_printable(name))
		plc_reply_error(request->out,
						"ERR Client names cannot contain spaces, newlines or special characters.");
	else if (name->len >= sizeof(request->conn->client->name))
		plc_reply_error(request->out,
						psprintf("ERR client names cannot be longer than %zu bytes",
								 sizeof(request->conn->client->name) - 1));
	else
		return true;
	return false;
}

/* Puts an argument, which may be longer, into a field of the slot. */
static void
set_text(PlcClient *client, char *field, size_t size, const PlcArg *value)
{
	size_t		len = Min(value->len, size - 1);

	plc_client_change(client);
	memcpy(field, value->data, len);
	field[len] = '\0';
	plc_client_changed(client);
}

void
plc_client_set_name(PlcConn *conn, const PlcArg *name)
{
	set_text(conn->client, conn->client->name, sizeof(conn->client->name), name);
}

PlcOutcome
plc_cmd_client_setname(PlcRequest *request)
{
	if (plc_client_name_valid(request, &request->argv[2]))
	{
		plc_client_set_name(request->conn, &request->argv[2]);
		plc_reply_simple(request->out, "OK");
	}
	return PLC_DONE;
}

PlcOutcome
plc_cmd_client_getname(PlcRequest *request)
{
	const char *name = request->conn->client->name;

	if (name[0] == '\0')
		plc_reply_null(request->out, request->conn->protocol);
	else
		plc_reply_string(request->out, name);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_client_setinfo(PlcRequest *request)
{
	PlcClient  *client = request->conn->client;
	const PlcArg *attribute = &request->argv[2];
	const PlcArg *value = &request->argv[3];

	if (!plc_arg_is(attribute, "lib-name") && !plc_arg_is(attribute, "lib-ver"))
		plc_reply_error(request->out, psprintf("ERR Unrecognized option '%.*s'",
											   (int) Min(attribute->len, 128), attribute->data));
	else if (!is_printable(value))
		plc_reply_error(request->out,
						psprintf("ERR %s cannot contain spaces, newlines or special characters.",
								 plc_arg_is(attribute, "lib-name") ? "lib-name" : "lib-ver"));
	else
	{
		if (plc_arg_is(attribute, "lib-name"))
			set_text(client, client->library, sizeof(client->library), value);
		else
			set_text(client, client->library_version, sizeof(client->library_version), value);
		plc_reply_simple(request->out, "OK");
	}
	return PLC_DONE;
}

PlcOutcome
plc_cmd_client_id(PlcRequest *request)
{
	plc_reply_integer(request->out, request->conn->client->id);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_client_info(PlcRequest *request)
{
	char	   *line = plc_client_line(request->conn->client);

	plc_reply_verbatim(request->out, request->conn->protocol, line, strlen(line));
	return PLC_DONE;
}

/* Which connections CLIENT LIST is to tell of. */
typedef struct Filter
{
	bool		normal;			/* TYPE normal, or none given; all others are none of ours */
	int64	   *ids;			/* sorted */
	int			nids;			/* 0: whatever their id */
} Filter;

static int
compare_ids(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

static bool
parse_filter(PlcRequest *request, Filter *filter)
{
	*filter = (Filter) {.normal = true};
	if (request->argc == 2)
		return true;
	if (request->argc == 4 && plc_arg_is(&request->argv[2], "type"))
	{
		static const char *const types[] = {"normal", "master", "replica", "slave", "pubsub"};

		for (int i = 0; i < lengthof(types); i++)
			if (plc_arg_is(&request->argv[3], types[i]))
			{
				filter->normal = i == 0;
				return true;
			}
		plc_reply_error(request->out, psprintf("ERR Unknown client type '%.*s'",
											   (int) Min(request->argv[3].len, 128),
											   request->argv[3].data));
		return false;
	}
	if (request->argc >= 4 && plc_arg_is(&request->argv[2], "id"))
	{
		filter->nids = request->argc - 3;
		filter->ids = palloc(filter->nids * sizeof(int64));
		for (int i = 0; i < filter->nids; i++)
			if (!plc_arg_integer(&request->argv[3 + i], &filter->ids[i]))
			{
				plc_reply_error(request->out, "ERR Invalid client ID");
				return false;
			}
		qsort(filter->ids, filter->nids, sizeof(int64), compare_ids);
		return true;
	}
	plc_reply_error(request->out, "ERR syntax error");
	return false;
}

static bool
passes(const Filter *filter, const PlcClient *client)
{
	int64		id = client->id;

	return filter->normal &&
		(filter->nids == 0 ||
		 bsearch(&id, filter->ids, filter->nids, sizeof(int64), compare_ids) != NULL);
}

PlcOutcome
plc_cmd_client_list(PlcRequest *request)
{
	StringInfoData lines;
	PlcClient	client;
	Filter		filter;

	if (!parse_filter(request, &filter))
		return PLC_DONE;
	initStringInfo(&lines);
	for (int i = 0; i < plc_clients_bound(); i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (plc_client_read(i, &client) && passes(&filter, &client))
		{
			char	   *line = plc_client_line(&client);

			appendStringInfoString(&lines, line);
			pfree(line);
		}
	}
	plc_reply_verbatim(request->out, request->conn->protocol, lines.data, lines.len);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_client_reply(PlcRequest *request)
{
	const PlcArg *mode = &request->argv[2];

	if (plc_arg_is(mode, "on"))
	{
		request->conn->reply_mode = PLC_REPLY_ON;
		plc_reply_simple(request->out, "OK");
	}
	else if (plc_arg_is(mode, "off"))
		request->conn->reply_mode = PLC_REPLY_OFF;
	else if (plc_arg_is(mode, "skip"))
	{
		if (request->conn->reply_mode != PLC_REPLY_OFF)
			request->conn->reply_mode = PLC_REPLY_SKIP_NEXT;
	}
	else
		plc_reply_error(request->out, "ERR syntax error");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_client_ok(PlcRequest *request)
{
	plc_reply_simple(request->out, "OK");
	return PLC_DONE;
}

/* Clients that are told this go on without a cache of their own. */
PlcOutcome
plc_cmd_client_tracking(PlcRequest *request)
{
	if (request->argc == 3 && plc_arg_is(&request->argv[2], "off"))
		plc_reply_simple(request->out, "OK");
	else
		plc_reply_error(request->out,
						"ERR CLIENT TRACKING is not supported: this server sends no invalidation messages");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_client_trackinginfo(PlcRequest *request)
{
	int			protocol = request->conn->protocol;

	plc_reply_map(request->out, protocol, 3);
	plc_reply_string(request->out, "flags");
	plc_reply_set(request->out, protocol, 1);
	plc_reply_string(request->out, "off");
	plc_reply_string(request->out, "redirect");
	plc_reply_integer(request->out, -1);
	plc_reply_string(request->out, "prefixes");
	plc_reply_array(request->out, 0);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_client_getredir(PlcRequest *request)
{
	plc_reply_integer(request->out, -1);
	return PLC_DONE;
}
