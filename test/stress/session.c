/*
 * session.c
 *		A connection, its transaction, and what was known when it began.
 *
 * The server may refuse a statement because of what others do: a
 * serialization failure, a deadlock, a lock time-out.  That is no fault, but
 * the end of the transaction: the session is then "broken", each further call
 * does nothing, and session_end() rolls back and says that it did not happen.
 * So a transaction can be written down without a test after each statement.
 * Any other error ends the process, and with it the run.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

const char *const level_names[LEVELS] = {
	[READ_COMMITTED] = "READ COMMITTED",
	[REPEATABLE_READ] = "REPEATABLE READ",
	[SERIALIZABLE] = "SERIALIZABLE"
};

/*
 * Profiles of settings.  The last one also lets the plain SELECT choose
 * sequential scans, so that not every comparison rests on the same indexes.
 */
static const char *const profiles[] = {
	("SET TimeZone = 'UTC'; SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres';"
	 " SET extra_float_digits = 1; SET bytea_output = 'hex'; SET enable_seqscan = off"),
	"SET TimeZone = 'Asia/Kolkata'; SET IntervalStyle = 'iso_8601'",
	"SET TimeZone = 'America/St_Johns'; SET DateStyle = 'SQL, DMY'; SET extra_float_digits = 0",
	"SET bytea_output = 'escape'; SET IntervalStyle = 'sql_standard'; SET enable_seqscan = on",
};

#define PROFILES ((int) (sizeof(profiles) / sizeof(profiles[0])))

/* Says what went wrong and ends the process.  The parent then ends the run. */
void
fail(const char *who, const char *format,...)
{
	char		message[4096];
	va_list		args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	fprintf(stderr, "%s: %s\n", who, message);
	shared->stop = true;
	exit(2);
}

/* Errors that concurrency alone can cause. */
static bool
is_refusal(const char *sqlstate)
{
	return strcmp(sqlstate, "40001") == 0 ||	/* serialization failure */
		strcmp(sqlstate, "40P01") == 0 ||	/* deadlock */
		strcmp(sqlstate, "55P03") == 0; /* lock not available */
}

/* Takes in a result: it itself if it is a good one, else NULL. */
static PGresult *
accept_result(Session *s, PGresult *result, const char *sql)
{
	ExecStatusType status = PQresultStatus(result);
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN)
		return result;
	if (sqlstate == NULL || !is_refusal(sqlstate))
		fail(s->name, "%s (SQLSTATE %s) in: %.300s",
			 sqlstate ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : PQerrorMessage(s->conn),
			 sqlstate ? sqlstate : "none", sql);
	PQclear(result);
	atomic_fetch_add(&shared->retries, 1);
	s->broken = true;
	return NULL;
}

PGresult *
session_query(Session *s, const char *sql)
{
	return s->broken ? NULL : accept_result(s, PQexec(s->conn, sql), sql);
}

PGresult *
session_query_param(Session *s, const char *sql, const char *param)
{
	if (s->broken)
		return NULL;
	return accept_result(s, PQexecParams(s->conn, sql, 1, NULL, &param, NULL, NULL, 0), sql);
}

PGresult *
session_query_prepared(Session *s, const char *name, const char *param)
{
	if (s->broken)
		return NULL;
	return accept_result(s, PQexecPrepared(s->conn, name, 1, &param, NULL, NULL, 0), name);
}

/* Runs a command.  Returns how many rows it changed. */
int
session_run(Session *s, const char *format,...)
{
	Text		sql;
	va_list		args;
	PGresult   *result;
	int			rows;

	va_start(args, format);
	vsnprintf(sql.bytes, sizeof(sql.bytes), format, args);
	va_end(args);

	result = session_query(s, sql.bytes);
	rows = result ? atoi(PQcmdTuples(result)) : 0;
	PQclear(result);
	return rows;
}

/* COPY ... FROM STDIN of these lines. */
void
session_copy(Session *s, const char *sql, const char *lines, int len)
{
	PGresult   *result = session_query(s, sql);

	if (result == NULL)
		return;
	PQclear(result);
	if (PQputCopyData(s->conn, lines, len) != 1 || PQputCopyEnd(s->conn, NULL) != 1)
		fail(s->name, "could not send data: %s", PQerrorMessage(s->conn));
	while ((result = PQgetResult(s->conn)) != NULL)
		PQclear(accept_result(s, result, sql));
}

/* Begins a transaction, having noted what it must see. */
void
session_begin(Session *s, Level level)
{
	floor_take(&s->floor);
	s->level = level;
	s->in_transaction = true;
	session_run(s, "BEGIN ISOLATION LEVEL %s", level_names[level]);
}

/*
 * Ends a transaction by this command, or just forgives a refusal if none is
 * open.  Returns whether all of it happened.
 */
bool
session_end(Session *s, const char *how)
{
	bool		in_transaction = s->in_transaction;
	bool		happened;

	if (in_transaction)
		session_run(s, "%s", how);
	happened = !s->broken;
	s->broken = false;
	if (in_transaction && !happened)
		session_run(s, "ROLLBACK");
	s->in_transaction = false;
	s->level = READ_COMMITTED;
	return happened;
}

/* Mostly back to the first profile, sometimes to another one. */
void
session_change_settings(Session *s)
{
	s->settings = rng_one_in(&s->rng, 2) ? 0 : rng_below(&s->rng, PROFILES);
	session_run(s, "%s", profiles[0]);
	if (s->settings > 0)
	{
		session_run(s, "%s", profiles[s->settings]);
		count(KIND_SETTINGS);
	}
}

const char *
session_settings(const Session *s)
{
	return profiles[s->settings];
}

void
session_open(Session *s, const char *conninfo, const char *role, int number, int process)
{
	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s %d", role, number);
	s->number = number;
	s->conninfo = conninfo;
	s->rng = rng_of_process(shared->seed, process);

	s->conn = PQconnectdb(conninfo);
	if (PQstatus(s->conn) != CONNECTION_OK)
		fail(s->name, "could not connect: %s", PQerrorMessage(s->conn));
	PQsetErrorVerbosity(s->conn, PQERRORS_TERSE);
	session_run(s, "SET application_name = '%s'", s->name);
	session_run(s, "SET client_min_messages = error");
	/* sequential scans are given a cost for which each statement would be compiled */
	session_run(s, "SET jit = off");
	/* no wait may last for ever: these are far beyond what a run needs */
	session_run(s, "SET lock_timeout = '5s'");
	session_run(s, "SET statement_timeout = '60s'");
	session_run(s, "%s", profiles[0]);
}
