/*
 * cmd_command.c
 *		COMMAND: the table of commands, told to clients.
 */
#include "postgres.h"

#include "resp/command.h"

static int
count_commands(const PlcCommand *commands)
{
	int			n = 0;

	while (commands != NULL && commands[n].name != NULL)
		n++;
	return n;
}

static const char *
full_name(const PlcCommand *container, const PlcCommand *command)
{
	return container ? psprintf("%s|%s", container->name, command->name) : command->name;
}

static void
reply_flags(PlcRequest *request, const PlcCommand *command)
{
	const char *flags[4];
	int			n = 0;

	if (command->flags & PLC_CMD_READ)
		flags[n++] = "readonly";
	if (command->flags & PLC_CMD_WRITE)
		flags[n++] = "write";
	if (command->flags & PLC_CMD_OPEN)
		flags[n++] = "no_auth";
	if (!(command->flags & PLC_CMD_SLOW))
		flags[n++] = "fast";
	plc_reply_set(request->out, request->conn->protocol, n);
	for (int i = 0; i < n; i++)
		plc_reply_simple(request->out, flags[i]);
}

/* Ten elements, as Redis 7 has them. */
static void
reply_info(PlcRequest *request, const PlcCommand *container, const PlcCommand *command)
{
	int			protocol = request->conn->protocol;

	plc_reply_array(request->out, 10);
	plc_reply_string(request->out, full_name(container, command));
	plc_reply_integer(request->out, command->arity);
	reply_flags(request, command);
	plc_reply_integer(request->out, command->first_key);
	plc_reply_integer(request->out, command->last_key);
	plc_reply_integer(request->out, command->step);
	plc_reply_set(request->out, protocol, 1);
	plc_reply_simple(request->out, psprintf("@%s", command->group));
	plc_reply_array(request->out, 0);	/* tips */
	plc_reply_array(request->out, 0);	/* key specifications */
	plc_reply_array(request->out, count_commands(command->subcommands));
	for (int i = 0; i < count_commands(command->subcommands); i++)
		reply_info(request, command, &command->subcommands[i]);
}

PlcOutcome
plc_cmd_command(PlcRequest *request)
{
	plc_reply_array(request->out, count_commands(plc_commands));
	for (const PlcCommand *command = plc_commands; command->name != NULL; command++)
		reply_info(request, NULL, command);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_command_count(PlcRequest *request)
{
	plc_reply_integer(request->out, count_commands(plc_commands));
	return PLC_DONE;
}

PlcOutcome
plc_cmd_command_list(PlcRequest *request)
{
	plc_reply_array(request->out, count_commands(plc_commands));
	for (const PlcCommand *command = plc_commands; command->name != NULL; command++)
		plc_reply_string(request->out, command->name);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_command_info(PlcRequest *request)
{
	if (request->argc == 2)
		return plc_cmd_command(request);
	plc_reply_array(request->out, request->argc - 2);
	for (int i = 2; i < request->argc && !request->out->failed; i++)
	{
		const PlcCommand *command = plc_command_find(&request->argv[i]);

		if (command == NULL)
			plc_reply_null(request->out, request->conn->protocol);
		else
			reply_info(request, NULL, command);
	}
	return PLC_DONE;
}

static void
reply_docs(PlcRequest *request, const PlcCommand *container, const PlcCommand *command)
{
	int			protocol = request->conn->protocol;
	int			nsubcommands = count_commands(command->subcommands);
	bool		arguments = command->arguments[0] != '\0';

	plc_reply_string(request->out, full_name(container, command));
	plc_reply_map(request->out, protocol, 3 + arguments + (nsubcommands > 0));
	plc_reply_string(request->out, "summary");
	plc_reply_string(request->out, command->summary);
	plc_reply_string(request->out, "since");
	plc_reply_string(request->out, "1.0.0");
	plc_reply_string(request->out, "group");
	plc_reply_string(request->out, command->group);
	if (arguments)
	{
		plc_reply_string(request->out, "arguments");
		plc_reply_array(request->out, 1);
		plc_reply_map(request->out, protocol, 2);
		plc_reply_string(request->out, "name");
		plc_reply_string(request->out, command->arguments);
		plc_reply_string(request->out, "type");
		plc_reply_string(request->out, "string");
	}
	if (nsubcommands > 0)
	{
		plc_reply_string(request->out, "subcommands");
		plc_reply_map(request->out, protocol, nsubcommands);
		for (int i = 0; i < nsubcommands; i++)
			reply_docs(request, command, &command->subcommands[i]);
	}
}

/* Names that are no command are left out. */
PlcOutcome
plc_cmd_command_docs(PlcRequest *request)
{
	int			n = 0;

	if (request->argc == 2)
	{
		plc_reply_map(request->out, request->conn->protocol, count_commands(plc_commands));
		for (const PlcCommand *command = plc_commands; command->name != NULL; command++)
			reply_docs(request, NULL, command);
		return PLC_DONE;
	}
	for (int i = 2; i < request->argc; i++)
		n += plc_command_find(&request->argv[i]) != NULL;
	plc_reply_map(request->out, request->conn->protocol, n);
	for (int i = 2; i < request->argc && !request->out->failed; i++)
	{
		const PlcCommand *command = plc_command_find(&request->argv[i]);

		if (command != NULL)
			reply_docs(request, NULL, command);
	}
	return PLC_DONE;
}

/* The subcommands of argv[0], a line each. */
PlcOutcome
plc_cmd_help(PlcRequest *request)
{
	const PlcCommand *container = plc_command_find(&request->argv[0]);
	int			n = count_commands(container->subcommands);

	plc_reply_array(request->out, n);
	for (int i = 0; i < n; i++)
	{
		const PlcCommand *sub = &container->subcommands[i];

		plc_reply_simple(request->out, psprintf("%s %s%s%s: %s", plc_command_upper(container->name),
												plc_command_upper(sub->name),
												sub->arguments[0] == '\0' ? "" : " ",
												sub->arguments, sub->summary));
	}
	return PLC_DONE;
}
