/*
 * endpoint.h
 *		What workers and sessions share of the endpoint: who is connected, how the
 *		workers are, what was counted.
 *
 * A slot a client, pg_local_cache.max_clients of them, a slot a worker.  Slots are
 * written by the worker that they belong to and read by anybody, without locks; a
 * reader that meets a writer reads again.
 *
 * Functions that read may be called without an endpoint, and find nothing.
 */
#ifndef PLC_RESP_ENDPOINT_H
#define PLC_RESP_ENDPOINT_H

#include "datatype/timestamp.h"
#include "port/atomics.h"

#include "guc.h"
#include "stats.h"

/* Counters of the endpoint, of each worker since the server started. */
#define PLC_ENDPOINT_COUNTERS(X) \
	X(CONNECTIONS, "client_connections") 	/* accepted */ \
	X(REJECTED, "client_limit_rejections") 	/* refused: max_clients */ \
	X(COMMANDS, "client_commands") 			/* answered, errors too */ \
	X(ERRORS, "client_request_errors") 		/* answered with an error */ \
	X(PROTOCOL_ERRORS, "client_protocol_errors") /* closed for what they sent */ \
	X(AUTH_FAILURES, "client_auth_failures") /* wrong token, password or role */ \
	X(TIMEOUTS, "client_timeouts") 			/* closed for idleness */ \
	X(KEYS, "client_keys") 					/* keys of attached tables, read */ \
	X(MGET_KEYS, "client_mget_keys") 		/* keys that GET and MGET asked for, foreign ones too */ \
	X(HITS, "cache_hit") 					/* of client_keys: answered from the cache */ \
	X(MISSES, "cache_miss") 				/* of client_keys: answered through the index or a query */ \
	X(BYPASSES, "cache_bypass") 			/* of cache_miss: without asking the cache */ \
	X(FILLS, "cache_fill") 					/* of cache_miss: put into the cache */ \
	X(FOREIGN_KEYS, "client_foreign_keys") 	/* keys that name no attached table */ \
	X(WRITES, "client_writes") 				/* rows written or deleted */ \
	X(PARKED, "client_parked") 				/* commands that found a table or a row locked */ \
	X(TURNS, "client_turns") 				/* turns of a worker's loop that ran commands */ \
	X(BYTES_IN, "client_bytes_received") 	/* from clients */ \
	X(BYTES_OUT, "client_bytes_sent") 		/* to clients */

typedef enum PlcEndpointCounter
{
#define X(id, name) PLC_ENDPOINT_##id,
	PLC_ENDPOINT_COUNTERS(X)
#undef X
	PLC_ENDPOINT_NCOUNTERS
} PlcEndpointCounter;

extern const char *const plc_endpoint_counter_names[PLC_ENDPOINT_NCOUNTERS];

/* A connection, as others see it. */
typedef struct PlcClient
{
	/* Set when the slot is taken and not changed until it is given back */
	uint64		id;				/* unique over all workers until the server restarts; 0: slot is free */
	int			worker;
	TimestampTz connected_at;
	char		address[64];	/* 127.0.0.1:40000, [::1]:40000, or the path of the socket */

	/* Changed by the worker with each command, without a stir: one may be older than another */
	TimestampTz last_command_at;	/* 0: none yet */
	const struct PlcCommand *last_command;	/* the same address in all processes; NULL: none yet */
	uint32		input;			/* bytes received and not yet run */
	uint32		output;			/* bytes not yet sent */
	int			queued;			/* commands in MULTI; -1: none open */
	uint64		commands;

	/* Changed by the worker between plc_client_change and plc_client_changed */
	Oid			role;			/* InvalidOid: not authenticated */
	int			protocol;		/* 2 or 3 */
	char		name[64];
	char		library[64];
	char		library_version[32];
} PlcClient;

/* How a worker is. */
typedef enum PlcWorkerStatus
{
	PLC_WORKER_NONE,			/* no process: not started yet, or ended */
	PLC_WORKER_STARTING,
	PLC_WORKER_SERVING,			/* with a "problem": it serves, but not all that was set */
	PLC_WORKER_WAITING			/* after a failure, for the next attempt; "problem" says why */
} PlcWorkerStatus;

extern const char *const plc_worker_status_names[];

typedef struct PlcWorker
{
	/* Changed by plc_worker_report */
	uint32		changes;
	pid_t		pid;
	PlcWorkerStatus status;
	char		problem[256];	/* or empty */

	/* Written by this worker alone, without a stir */
	int			failures;		/* attempts in a row that failed; the pause grows with it */
	int			clients;		/* counted by plc_client_take and plc_client_release */
	pg_atomic_uint64 n[PLC_ENDPOINT_NCOUNTERS]; /* see plc_endpoint_count */
} PlcWorker;

/* Shared memory; called by shmem.c.  NULL if there is no endpoint. */
typedef struct PlcEndpoint PlcEndpoint;
extern PlcEndpoint *plc_endpoint;
extern Size plc_endpoint_size(void);
extern void plc_endpoint_format(PlcEndpoint *endpoint);

/* Is there to be an endpoint: is a port or a folder for a socket set? */
extern bool plc_endpoint_enabled(void);

/*
 * The slot of a worker, by its number from 0.  With its first report a process
 * makes the slot its own: when it exits, for whatever reason, the status becomes
 * PLC_WORKER_NONE and its clients' slots are freed.  problem: NULL for none; cut
 * to fit.
 */
extern PlcWorker *plc_worker(int number);
extern void plc_worker_report(PlcWorker *worker, PlcWorkerStatus status, const char *problem);

/* A true copy of all but the counters; false if there is no such worker. */
extern bool plc_worker_read(int number, PlcWorker *copy);

/*
 * A slot for a client of this worker, all of it filled in; NULL if all max_clients
 * are taken.  plc_clients_forget frees those that a worker did not give back.
 */
extern PlcClient *plc_client_take(int worker, const char *address);
extern void plc_client_release(PlcClient *client);
extern void plc_clients_forget(int worker);

/* Brackets a change of the last group, by the worker of the client; in between no error. */
extern void plc_client_change(PlcClient *client);
extern void plc_client_changed(PlcClient *client);

/*
 * A true copy of a slot's client; false if it is free.  Numbers are from 0 to
 * plc_clients_bound() - 1, which grows with the most that were ever connected at once.
 */
extern int	plc_clients_bound(void);
extern bool plc_client_read(int number, PlcClient *copy);

/*
 * May the current role know all of it, as pg_stat_activity would tell: is the
 * client's role its own, or is it a member of pg_read_all_stats?  Needs a transaction.
 */
extern bool plc_client_visible(const PlcClient *client);

/* The name of its role, palloc'd; NULL if it is not authenticated.  Needs a transaction. */
extern char *plc_client_role_name(const PlcClient *client);

/* "get", "client|list", palloc'd; NULL before the first. */
extern char *plc_client_last_command(const PlcClient *client);

/* The line of CLIENT LIST and CLIENT INFO for it, palloc'd, with a line feed at the end.  Needs a transaction. */
extern char *plc_client_line(const PlcClient *client);

/*
 * Counts, at once and for everybody: a plain addition, for a worker's counters have
 * one writer.  What was counted before a reply is sent is seen by whoever has read
 * the reply, since the system's socket orders the two.
 */
static inline void
plc_endpoint_count(PlcWorker *worker, PlcEndpointCounter counter, uint64 n)
{
	pg_atomic_write_u64(&worker->n[counter], pg_atomic_read_u64(&worker->n[counter]) + n);
}

/* Counts what a read counted for its table: client_keys and the cache_… counters. */
extern void plc_endpoint_count_read(PlcWorker *worker, const PlcCounts *counts);

/* Sums over all workers; clients connected now */
extern void plc_endpoint_totals(uint64 totals[PLC_ENDPOINT_NCOUNTERS]);
extern int	plc_endpoint_clients(void);

#endif							/* PLC_RESP_ENDPOINT_H */
