/*
 * clients.c
 *		client_list(): who is connected to the endpoint, a row each.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "resp/endpoint.h"
#include "sql/columns.h"

PG_FUNCTION_INFO_V1(plc_client_list);

#define NCOLUMNS	15
#define NPUBLIC		3			/* the first ones, which everybody may see */

/* A row of client_list, filled from left to right. */
typedef struct ClientRow
{
	int			n;
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS];
} ClientRow;

static void
add_value(ClientRow *row, Datum value)
{
	row->nulls[row->n] = false;
	row->values[row->n++] = value;
}

static void
add_null(ClientRow *row)
{
	row->nulls[row->n++] = true;
}

/* A text that is empty was never set. */
static void
add_text(ClientRow *row, const char *text)
{
	if (text == NULL || *text == '\0')
		add_null(row);
	else
		add_value(row, CStringGetTextDatum(text));
}

static void
add_time(ClientRow *row, TimestampTz time)
{
	if (time == 0)
		add_null(row);
	else
		add_value(row, TimestampTzGetDatum(time));
}

/* Others' clients have the first columns only, as others' sessions in pg_stat_activity. */
static void
make_row(const PlcClient *client, ClientRow *row)
{
	row->n = 0;
	add_value(row, Int64GetDatum(client->id));
	add_value(row, Int32GetDatum(client->worker + 1));
	add_text(row, plc_client_role_name(client));
	Assert(row->n == NPUBLIC);
	add_text(row, client->address);
	add_value(row, Int32GetDatum(client->protocol));
	add_text(row, client->name);
	add_text(row, client->library);
	add_text(row, client->library_version);
	add_time(row, client->connected_at);
	add_time(row, client->last_command_at);
	add_text(row, plc_client_last_command(client));
	add_value(row, Int64GetDatum(client->commands));
	if (client->queued < 0)
		add_null(row);
	else
		add_value(row, Int32GetDatum(client->queued));
	add_value(row, Int64GetDatum(client->input));
	add_value(row, Int64GetDatum(client->output));
	Assert(row->n == NCOLUMNS);
	if (!plc_client_visible(client))
		memset(row->nulls + NPUBLIC, true, NCOLUMNS - NPUBLIC);
}

Datum
plc_client_list(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			bound = plc_clients_bound();
	PlcClient	client;
	ClientRow	row;

	InitMaterializedSRF(fcinfo, 0);
	plc_check_columns(rsinfo->setDesc, NCOLUMNS, "client_list");
	for (int i = 0; i < bound; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!plc_client_read(i, &client))
			continue;
		make_row(&client, &row);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row.values, row.nulls);
	}
	return (Datum) 0;
}
