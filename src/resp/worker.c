/*
 * worker.c
 *		A worker process of the endpoint: its life up to the first client.
 *
 * Workers are registered with the postmaster at server start, which starts them as
 * soon as rows can be read, on a standby too, and again a second after one has ended.
 *
 * The first worker goes ahead: it connects to the database and opens the sockets; the
 * others wait until it serves.  So what is wrong for all is said once.  An attempt that
 * fails is repeated after a pause that doubles, to a minute at most; the count of
 * failures is in shared memory, since a database that is missing ends the process.
 */
#include "postgres.h"

#include <signal.h>
#include <sys/resource.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "resp/auth.h"
#include "resp/listen.h"
#include "resp/server.h"
#include "resp/worker.h"

#define MAX_PAUSE_SECONDS	60

/* How long a statement of a worker may wait for a lock before it is told to come again. */
#define LOCK_WAIT			"2ms"

PlcWorker  *plc_my_worker = NULL;
int			plc_my_number = -1;

PGDLLEXPORT void plc_worker_main(Datum number);

void
plc_workers_register(void)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = 1,
		.bgw_library_name = "pg_local_cache",
		.bgw_function_name = "plc_worker_main",
		.bgw_type = "pg_local_cache worker"
	};

	if (!plc_endpoint_enabled())
		return;
	for (int i = 0; i < plc_guc_workers; i++)
	{
		snprintf(worker.bgw_name, BGW_MAXLEN, "pg_local_cache worker %d", i + 1);
		worker.bgw_main_arg = Int32GetDatum(i);
		RegisterBackgroundWorker(&worker);
	}
}

/* Not as a success: then the postmaster would not start it again. */
void
plc_worker_heed_end(void)
{
	if (ProcDiePending)
		proc_exit(1);
}

/* Sleeps; ends with the postmaster, or when told to. */
static void
nap(long milliseconds)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds,
					 plc_wait_event());
	ResetLatch(MyLatch);
	plc_worker_heed_end();
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

static void
pause_after_failures(void)
{
	TimestampTz until = GetCurrentTimestamp();

	if (plc_my_worker->failures == 0)
		return;
	until += USECS_PER_SEC * Min(MAX_PAUSE_SECONDS, 1 << Min(plc_my_worker->failures - 1, 6));
	while (GetCurrentTimestamp() < until)
		nap(TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until));
}

static bool
first_worker_serves(void)
{
	PlcWorker	first;

	return plc_worker_read(0, &first) && first.status == PLC_WORKER_SERVING;
}

static void
wait_for_first_worker(void)
{
	if (plc_my_number == 0 || first_worker_serves())
		return;
	plc_worker_report(plc_my_worker, PLC_WORKER_STARTING, "it waits for worker 1");
	while (!first_worker_serves())
		nap(100);
}

static bool
others_serve(void)
{
	for (int i = 1; i < plc_guc_workers; i++)
	{
		PlcWorker	other;

		if (plc_worker_read(i, &other) && other.status == PLC_WORKER_SERVING)
			return true;
	}
	return false;
}

/* An attempt begins: if nothing more is heard of it, this was wrong. */
static void
connect_to_database(void)
{
	char		problem[256];

	snprintf(problem, sizeof(problem),
			 "could not connect to database \"%s\": the server log says why", plc_guc_database);
	plc_worker_report(plc_my_worker, PLC_WORKER_STARTING, problem);
	plc_my_worker->failures++;
	BackgroundWorkerInitializeConnection(plc_guc_database, NULL, 0);
	plc_my_worker->failures = 0;
	plc_worker_report(plc_my_worker, PLC_WORKER_STARTING, NULL);
}

/* Of a message and its hint, once and not with each attempt. */
static void
report_problem(const char *problem, const char *hint)
{
	static char last[256] = "";

	if (strcmp(problem, last) != 0)
		ereport(LOG,
				(errmsg("pg_local_cache cannot serve clients: %s", problem),
				 hint ? errhint("%s", hint) : 0));
	strlcpy(last, problem, sizeof(last));
	plc_worker_report(plc_my_worker, PLC_WORKER_WAITING, problem);
}

static void
open_sockets(void)
{
	char		problem[256];
	const char *hint;

	while (!plc_listen_open(plc_my_number == 0 && !others_serve(), problem, sizeof(problem), &hint))
	{
		report_problem(problem, hint);
		plc_my_worker->failures++;
		pause_after_failures();
		plc_auth_load_token();
	}
	plc_my_worker->failures = 0;
}

/* Nobody else's: a worker does one short thing after another, for many. */
static void
set_session_up(void)
{
	SetConfigOption("lock_timeout", LOCK_WAIT, PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("statement_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("idle_in_transaction_session_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
	plc_disable_transaction_timeout();
}

/* A file descriptor a client, and what the server may want for itself. */
static void
raise_file_limit(void)
{
	struct rlimit limit;
	rlim_t		wanted = (rlim_t) plc_guc_max_clients + max_files_per_process + 64;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = Min(wanted, limit.rlim_max);
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < wanted)
		ereport(LOG,
				(errmsg("a pg_local_cache worker may open %lu files, which is less than pg_local_cache.max_clients (%d) needs",
						(unsigned long) limit.rlim_cur, plc_guc_max_clients)));
}

static void
log_listening(void)
{
	int			n;
	PlcListener *listeners = plc_listeners(&n);

	for (int i = 0; i < n && plc_my_number == 0; i++)
		ereport(LOG,
				(errmsg("pg_local_cache is listening on \"%s\" for database \"%s\"",
						listeners[i].name, plc_guc_database)));
}

void
plc_worker_main(Datum number)
{
	plc_my_number = DatumGetInt32(number);
	plc_my_worker = plc_worker(plc_my_number);

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();

	pause_after_failures();
	wait_for_first_worker();
	connect_to_database();
	set_session_up();
	raise_file_limit();
	plc_auth_load_token();
	open_sockets();
	plc_worker_report(plc_my_worker, PLC_WORKER_SERVING, NULL);
	log_listening();
	plc_server_run();
}
