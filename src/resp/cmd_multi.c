/*
 * cmd_multi.c
 *		MULTI, EXEC, DISCARD.
 *
 * EXEC runs its commands in one transaction of its own, at REPEATABLE READ: all that
 * they read is as of one moment, and what they write is seen by those that follow.  All
 * tables are locked before the snapshot is taken and before anything is done, so an EXEC
 * that finds one locked can wait and begin anew.
 *
 * Without writes each command has its own error, as in Redis; a subtransaction keeps
 * the snapshot for those that follow.  Not so what ends all of it: the time limit, a
 * cancel, and a lock that is not to be had, with which the whole EXEC comes again.  With
 * writes it is all or nothing: the first error rolls all back, and EXEC answers that
 * alone.
 *
 * The queue goes when EXEC is answered (server.c), however that came about.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "resp/command.h"
#include "resp/errors.h"
#include "resp/identity.h"
#include "resp/names.h"
#include "resp/queue.h"
#include "resp/server.h"
#include "resp/turn.h"
#include "resp/worker.h"

PlcOutcome
plc_cmd_multi(PlcRequest *request)
{
	if (request->conn->queue != NULL)
	{
		plc_reply_error(request->out, "ERR MULTI calls can not be nested");
		return PLC_DONE;
	}
	request->conn->queue = plc_queue_make();
	request->conn->client->queued = 0;
	plc_reply_simple(request->out, "OK");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_discard(PlcRequest *request)
{
	if (request->conn->queue == NULL)
		plc_reply_error(request->out, "ERR DISCARD without MULTI");
	else
	{
		plc_queue_end(request->conn);
		plc_reply_simple(request->out, "OK");
	}
	return PLC_DONE;
}

static bool
writes(const PlcQueue *queue)
{
	for (int i = 0; i < queue->n; i++)
		if (queue->requests[i].command->flags & PLC_CMD_WRITE)
			return true;
	return false;
}

/* May it look at tables that no key names? */
static bool
wants_every_table(const PlcCommand *command)
{
	return command->flags & PLC_CMD_ANY_TABLE;
}

static bool
lock_every_table(void)
{
	int			n;
	Oid		   *relids = plc_names_tables(&n);

	for (int i = 0; i < n; i++)
		if (!plc_turn_lock_table(relids[i], AccessShareLock))
			return false;
	return true;
}

/* The tables of a queued command; its row of the table of commands says where keys are. */
static bool
lock_tables(const PlcQueued *queued)
{
	const PlcCommand *command = queued->command;
	int			last = command->last_key < 0 ? queued->argc + command->last_key : command->last_key;
	LOCKMODE	lock = command->flags & PLC_CMD_WRITE ? RowExclusiveLock : AccessShareLock;

	if (command->first_key == 0 || last < command->first_key)
		return true;
	return plc_turn_lock(&queued->argv[command->first_key],
						 (last - command->first_key) / command->step + 1, command->step, lock);
}

static bool
lock_all(const PlcQueue *queue)
{
	bool		every = false;

	for (int i = 0; i < queue->n; i++)
	{
		const PlcQueued *queued = &queue->requests[i];

		CHECK_FOR_INTERRUPTS();
		if (wants_every_table(queued->command))
			every = true;
		else if (!lock_tables(queued))
			return false;
	}
	return !every || lock_every_table();
}

/* Its tables were locked, so only one that has been attached since can be in the way. */
static void
run(PlcRequest *request)
{
	if (request->command->handler(request) == PLC_PARK)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("canceling statement due to lock timeout")));
}

/*
 * One that answers with an error and raises none (as EXPIRE does) is no reason to write
 * the rest either.
 */
static void
run_with_others(PlcRequest *request)
{
	size_t		reply_at = plc_buffer_length(request->out);
	const char *reply;
	int			len;

	run(request);
	if (plc_buffer_length(request->out) == reply_at)
		return;
	reply = plc_buffer_bytes(request->out) + reply_at;
	if (*reply != '-')
		return;
	if (strncmp(++reply, "ERR ", 4) == 0)
		reply += 4;
	len = plc_buffer_bytes(request->out) + plc_buffer_length(request->out) - reply - 2;
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%.*s", len, reply)));
}

/* Does it end the whole of a reading EXEC? */
static bool
ends_all(const ErrorData *error)
{
	return plc_error_is_temporary(error) || error->sqlerrcode == ERRCODE_QUERY_CANCELED;
}

/*
 * One command of an EXEC that does not write; its error is its reply.  What it opens
 * is closed within the subtransaction; tables and snapshot belong to the transaction.
 */
static void
run_by_itself(PlcRequest *request)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	size_t		reply_at = plc_buffer_length(request->out);

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		run(request);
		plc_turn_end_reads();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		plc_turn_forget_reads();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		if (ends_all(error))
		{
			CurrentResourceOwner = owner;
			ReThrowError(error);
		}
		plc_buffer_cut(request->out, reply_at);
		plc_error_reply(request->out, error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

/* After each command, for the next one's error would cut the output and forget the failure. */
static void
check_fits(const PlcBuffer *out)
{
	if (out->failed)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the reply is larger than pg_local_cache.output_limit")));
}

/*
 * Each command's memory is gone after it: a few bytes of a queue can ask for a large
 * row, and what they answer need not be large.
 */
static void
run_all(const PlcRequest *exec, bool together)
{
	const PlcQueue *queue = exec->conn->queue;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext command = AllocSetContextCreate(caller, "pg_local_cache command of EXEC",
												  ALLOCSET_DEFAULT_SIZES);

	plc_reply_array(exec->out, queue->n);
	MemoryContextSwitchTo(command);
	for (int i = 0; i < queue->n; i++)
	{
		PlcRequest	request = {exec->conn, queue->requests[i].command, queue->requests[i].argc,
		queue->requests[i].argv, exec->out};

		CHECK_FOR_INTERRUPTS();
		if (together)
			run_with_others(&request);
		else if (!(request.command->flags & (PLC_CMD_READ | PLC_CMD_CATALOG)))
			run(&request);
		else
			run_by_itself(&request);
		check_fits(exec->out);
		plc_worker_count(PLC_ENDPOINT_COMMANDS, 1);
		MemoryContextReset(command);
	}
	MemoryContextSwitchTo(caller);
}

/*
 * Runs the queue, in the transaction that has the tables locked, and commits it.  An
 * error that may be gone in a moment leaves the queue as it is, and the server comes
 * again with the whole EXEC.
 */
static void
execute(PlcRequest *request, bool together)
{
	MemoryContext context = CurrentMemoryContext;
	size_t		reply_at = plc_buffer_length(request->out);
	ErrorData  *error;

	PG_TRY();
	{
		(void) plc_turn_snapshot();
		run_all(request, together);
		plc_turn_end();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (plc_error_is_temporary(error))
			PG_RE_THROW();
		FlushErrorState();
		plc_turn_abort();
		MemoryContextSwitchTo(context);
		plc_buffer_cut(request->out, reply_at);
		plc_reply_error(request->out,
						psprintf("EXECABORT Transaction rolled back: %s", plc_error_text(error)));
		plc_error_log_internal(error);
	}
	PG_END_TRY();
}

PlcOutcome
plc_cmd_exec(PlcRequest *request)
{
	PlcConn    *conn = request->conn;

	if (conn->queue == NULL)
	{
		plc_reply_error(request->out, "ERR EXEC without MULTI");
		return PLC_DONE;
	}
	conn->queue->executing = true;
	if (conn->queue->spoilt)
	{
		plc_reply_error(request->out, "EXECABORT Transaction discarded because of previous errors.");
		return PLC_DONE;
	}
	plc_turn_end();
	plc_turn_begin();
	plc_turn_act_as(plc_identity_role(conn));
	plc_turn_freeze();
	plc_server_watch();
	if (!lock_all(conn->queue))
	{
		plc_turn_abort();
		return PLC_PARK;
	}
	plc_turn_seal();
	execute(request, writes(conn->queue));
	return PLC_DONE;
}
