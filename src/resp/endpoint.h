/*
 * endpoint.h
 *		What workers and sessions share of the endpoint: who is connected, how the
 *		workers are, what was counted.
 *
 * A slot a client, pg_local_cache.max_clients of them, a slot a worker.  Slots are
 * written by the worker that they belong to and read by anybody, without locks; a
 * reader that meets a writer reads again.
 */
#ifndef PLC_RESP_ENDPOINT_H
#define PLC_RESP_ENDPOINT_H

#include "datatype/timestamp.h"
#include "port/atomics.h"

#define PLC_MAX_WORKERS	64

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
	X(MGET_KEYS, "client_mget_keys") 		/* of these by GET and MGET */ \
	X(HITS, "cache_hit") 					/* of client_keys: answered from the cache */ \
	X(MISSES, "cache_miss") 				/* of client_keys: answered through the index or a query */ \
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
	/* Set when the slot is taken and never changed until it is given back */
	uint64		id;				/* unique over all workers until the server restarts; 0: slot is free */
	int			worker;
	TimestampTz connected_at;
	char		address[64];	/* 127.0.0.1:40000, [::1]:40000, or the path of the socket */

	/* Changed by the worker with each command, without a stir: one may be older than another */
	TimestampTz last_command_at;
	const char *last_command;	/* a name in the library's command table; the same address in all processes */
	uint32		input;			/* bytes received and not yet run */
	uint32		output;			/* bytes not yet sent */
	int			queued;			/* commands in MULTI; -1: none open */
	uint64		commands;

	/* Changed by the worker between plc_client_change and plc_client_changed */
	uint32		changes;
	Oid			role;			/* InvalidOid: not authenticated */
	int			protocol;		/* 2 or 3 */
	char		name[64];
	char		library[64];
	char		library_version[32];
} PlcClient;

/* How a worker is. */
typedef enum PlcWorkerStatus
{
	PLC_WORKER_NONE,			/* not started yet */
	PLC_WORKER_STARTING,
	PLC_WORKER_SERVING,
	PLC_WORKER_WAITING			/* after a failure, for the next attempt; "problem" says why */
} PlcWorkerStatus;

typedef struct PlcWorker
{
	pid_t		pid;
	PlcWorkerStatus status;
	int			failures;		/* attempts in a row that failed; the pause grows with it */
	int			clients;
	char		problem[256];	/* or empty */
	uint64		n[PLC_ENDPOINT_NCOUNTERS];	/* written by this worker alone */
} PlcWorker;

/* Shared memory; called by shmem.c.  All zero when the endpoint is off. */
typedef struct PlcEndpoint PlcEndpoint;
extern PlcEndpoint *plc_endpoint;	/* NULL if the library was not preloaded */
extern Size plc_endpoint_size(void);
extern void plc_endpoint_format(PlcEndpoint *endpoint);

/* Is there to be an endpoint: is a port or a folder for a socket set? */
extern bool plc_endpoint_enabled(void);

/* The slot of a worker, by its number from 0 */
extern PlcWorker *plc_worker(int number);
extern void plc_worker_report(PlcWorker *worker, PlcWorkerStatus status, const char *problem);

/*
 * A slot for a client of this worker, filled in but for the names; NULL if all
 * max_clients are taken.  Slots of a worker that died without giving them back
 * are freed when it starts again, by plc_clients_forget.
 */
extern PlcClient *plc_client_take(int worker, const char *address);
extern void plc_client_release(PlcClient *client);
extern void plc_clients_forget(int worker);

/* Brackets a change of the last group, by the worker of the client */
extern void plc_client_change(PlcClient *client);
extern void plc_client_changed(PlcClient *client);

/* A true copy of the slot's client; false if it is free.  number from 0 to max_clients - 1 */
extern bool plc_client_read(int number, PlcClient *copy);

/* The line of CLIENT LIST and CLIENT INFO for it, palloc'd, with a line feed at the end.  Needs a transaction. */
extern char *plc_client_line(const PlcClient *client);

/* Sums over all workers */
extern void plc_endpoint_totals(uint64 totals[PLC_ENDPOINT_NCOUNTERS]);

#endif							/* PLC_RESP_ENDPOINT_H */
