/*
 * endpoint.c
 *		The endpoint's shared memory: slots of workers and of clients.
 *
 *		| head | a slot for each worker | a slot for each of max_clients |
 *
 * It comes on top of pg_local_cache.memory, and only if there is an endpoint.
 *
 * Each slot has one writer, the worker that it belongs to, and any number of
 * readers, who take no lock: a writer makes the slot's change count odd before it
 * changes a group of fields that belong together, and even after it; a reader
 * copies all of the slot, and does so again if the count was odd or is another
 * after the copy.  This excludes that a reader sees half of a name, or the address
 * of one client with the name of the next one in the same slot.  Numbers that
 * change with each command are not worth that: each is one aligned word, stored
 * whole, and only what belongs to the client that has the slot may be mixed.
 *
 * All workers take client slots from one pool, under a spinlock that guards a few
 * words: the slots that were given back are a list, and the others begin where the
 * list never was.  So to take and to give back cost the same with ten slots as with
 * a hundred thousand, readers look only at slots that have ever been in use, and
 * memory of the others is never touched.
 *
 * A process that dies between two of these stores takes the server down with it,
 * and the postmaster makes the memory anew (rule P10).  One that exits in order,
 * through FATAL too, gives its slots back on the way.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

#include "guc.h"
#include "resp/command.h"
#include "resp/endpoint.h"

#define NO_SLOT		(-1)

/* Whole cache lines, so that a worker's stores disturb no other worker. */
typedef union ClientSlot
{
	struct
	{
		PlcClient	client;		/* first: a client's address is its slot's */
		uint32		changes;	/* odd while a change is under way */
		int			next;		/* in the list of slots given back; under the lock */
	};
	char		pad[CACHELINEALIGN(sizeof(PlcClient) + 2 * sizeof(uint32))];
} ClientSlot;

typedef union WorkerSlot
{
	PlcWorker	worker;
	char		pad[CACHELINEALIGN(sizeof(PlcWorker))];
} WorkerSlot;

struct PlcEndpoint
{
	/* Set at start-up and never changed */
	int			nworkers;
	int			nslots;

	/* Protected by the lock; "bound" is read without it */
	slock_t		lock;
	int			released;		/* the first slot of those given back, or NO_SLOT */
	int			bound;			/* slots from here on have never been taken */
	uint64		last_id;
};

PlcEndpoint *plc_endpoint = NULL;

const char *const plc_endpoint_counter_names[PLC_ENDPOINT_NCOUNTERS] = {
#define X(id, name) name,
	PLC_ENDPOINT_COUNTERS(X)
#undef X
};

const char *const plc_worker_status_names[] = {
	[PLC_WORKER_NONE] = "ended",
	[PLC_WORKER_STARTING] = "starting",
	[PLC_WORKER_SERVING] = "serving",
	[PLC_WORKER_WAITING] = "waiting"
};

/* ---------- memory ---------- */

bool
plc_endpoint_enabled(void)
{
	return plc_guc_port > 0 || *plc_guc_unix_socket_directory != '\0';
}

static WorkerSlot *
worker_slots(void)
{
	return (WorkerSlot *) ((char *) plc_endpoint + CACHELINEALIGN(sizeof(PlcEndpoint)));
}

static ClientSlot *
client_slots(void)
{
	return (ClientSlot *) (worker_slots() + plc_endpoint->nworkers);
}

Size
plc_endpoint_size(void)
{
	return CACHELINEALIGN(sizeof(PlcEndpoint)) +
		plc_guc_workers * sizeof(WorkerSlot) +
		plc_guc_max_clients * sizeof(ClientSlot);
}

/* Client slots are made when they are first taken. */
void
plc_endpoint_format(PlcEndpoint *endpoint)
{
	endpoint->nworkers = plc_guc_workers;
	endpoint->nslots = plc_guc_max_clients;
	SpinLockInit(&endpoint->lock);
	endpoint->released = NO_SLOT;
	endpoint->bound = 0;
	endpoint->last_id = 0;

	plc_endpoint = endpoint;
	for (int i = 0; i < endpoint->nworkers; i++)
	{
		PlcWorker  *worker = plc_worker(i);

		memset(worker, 0, offsetof(PlcWorker, n));
		for (int c = 0; c < PLC_ENDPOINT_NCOUNTERS; c++)
			pg_atomic_init_u64(&worker->n[c], 0);
	}
}

/* ---------- change counts ---------- */

static void
begin_change(volatile uint32 *changes)
{
	*changes |= 1;
	pg_write_barrier();
}

static void
end_change(volatile uint32 *changes)
{
	pg_write_barrier();
	*changes = (*changes | 1) + 1;
}

/*
 * Copies what the change count guards, without what a writer was in the middle of.
 * A writer makes a few stores between begin and end; if it takes long, it does not
 * run, and is given time to.
 */
static void
copy_unchanged(void *copy, const void *source, Size size, const volatile uint32 *changes)
{
	for (int attempt = 1;; attempt++)
	{
		uint32		before = *changes;

		pg_read_barrier();
		memcpy(copy, source, size);
		pg_read_barrier();
		if (before % 2 == 0 && *changes == before)
			return;
		CHECK_FOR_INTERRUPTS();
		if (attempt % 100 == 0)
			pg_usleep(1000L);
	}
}

/* Text of a worker's database, of a setting or of a client becomes text of this database. */
static void
make_valid(char *text)
{
	if (pg_verifymbstr(text, strlen(text), true))
		return;
	for (; *text != '\0'; text++)
		if (IS_HIGHBIT_SET(*text))
			*text = '?';
}

/* ---------- workers ---------- */

PlcWorker *
plc_worker(int number)
{
	Assert(plc_endpoint != NULL && number >= 0 && number < plc_endpoint->nworkers);
	return &worker_slots()[number].worker;
}

static void
set_worker(PlcWorker *worker, pid_t pid, PlcWorkerStatus status)
{
	worker->pid = pid;
	worker->status = status;
}

/* At exit of the worker's process.  The last problem stays: it may be why. */
static void
worker_ends(int code, Datum number)
{
	PlcWorker  *worker = plc_worker(DatumGetInt32(number));

	plc_clients_forget(DatumGetInt32(number));
	begin_change(&worker->changes);
	set_worker(worker, 0, PLC_WORKER_NONE);
	end_change(&worker->changes);
}

void
plc_worker_report(PlcWorker *worker, PlcWorkerStatus status, const char *problem)
{
	static bool registered = false;

	if (!registered)
		on_shmem_exit(worker_ends, Int32GetDatum((WorkerSlot *) worker - worker_slots()));
	registered = true;

	begin_change(&worker->changes);
	set_worker(worker, MyProcPid, status);
	strlcpy(worker->problem, problem == NULL ? "" : problem, sizeof(worker->problem));
	end_change(&worker->changes);
}

bool
plc_worker_read(int number, PlcWorker *copy)
{
	PlcWorker  *worker;

	if (plc_endpoint == NULL || number < 0 || number >= plc_endpoint->nworkers)
		return false;
	worker = plc_worker(number);
	copy_unchanged(copy, worker, offsetof(PlcWorker, n), &worker->changes);
	make_valid(copy->problem);
	return true;
}

/* ---------- clients: the pool ---------- */

static void
format_slot(ClientSlot *slot)
{
	slot->client.id = 0;
	slot->changes = 0;
}

/* A slot of nobody's and a new id, or NO_SLOT. */
static int
take_slot(uint64 *id)
{
	int			slot = NO_SLOT;

	SpinLockAcquire(&plc_endpoint->lock);
	if (plc_endpoint->released != NO_SLOT)
	{
		slot = plc_endpoint->released;
		plc_endpoint->released = client_slots()[slot].next;
	}
	else if (plc_endpoint->bound < plc_endpoint->nslots)
	{
		/* Made before readers may look at it */
		slot = plc_endpoint->bound;
		format_slot(&client_slots()[slot]);
		pg_write_barrier();
		plc_endpoint->bound++;
	}
	if (slot != NO_SLOT)
		*id = ++plc_endpoint->last_id;
	SpinLockRelease(&plc_endpoint->lock);
	return slot;
}

static void
give_slot_back(ClientSlot *slot)
{
	SpinLockAcquire(&plc_endpoint->lock);
	slot->next = plc_endpoint->released;
	plc_endpoint->released = slot - client_slots();
	SpinLockRelease(&plc_endpoint->lock);
}

PlcClient *
plc_client_take(int worker, const char *address)
{
	uint64		id;
	int			number = take_slot(&id);
	PlcClient  *client;

	if (number == NO_SLOT)
		return NULL;
	client = &client_slots()[number].client;
	plc_client_change(client);
	memset(client, 0, sizeof(PlcClient));
	client->id = id;
	client->worker = worker;
	client->connected_at = GetCurrentTimestamp();
	strlcpy(client->address, address, sizeof(client->address));
	client->queued = -1;
	client->protocol = 2;
	plc_client_changed(client);
	plc_worker(worker)->clients++;
	return client;
}

void
plc_client_release(PlcClient *client)
{
	Assert(client->id != 0);
	plc_worker(client->worker)->clients--;
	plc_client_change(client);
	client->id = 0;
	plc_client_changed(client);
	give_slot_back((ClientSlot *) client);
}

void
plc_clients_forget(int worker)
{
	for (int i = 0; i < plc_clients_bound(); i++)
	{
		PlcClient  *client = &client_slots()[i].client;

		/* Of this worker's slots no other process changes these two */
		if (client->id != 0 && client->worker == worker)
			plc_client_release(client);
	}
}

/* ---------- clients: one of them ---------- */

void
plc_client_change(PlcClient *client)
{
	begin_change(&((ClientSlot *) client)->changes);
}

void
plc_client_changed(PlcClient *client)
{
	end_change(&((ClientSlot *) client)->changes);
}

int
plc_clients_bound(void)
{
	int			bound;

	if (plc_endpoint == NULL)
		return 0;
	bound = *(volatile int *) &plc_endpoint->bound;
	pg_read_barrier();
	return bound;
}

bool
plc_client_read(int number, PlcClient *copy)
{
	ClientSlot *slot;

	if (number < 0 || number >= plc_clients_bound())
		return false;
	slot = &client_slots()[number];
	copy_unchanged(copy, &slot->client, sizeof(PlcClient), &slot->changes);
	make_valid(copy->address);
	make_valid(copy->name);
	make_valid(copy->library);
	make_valid(copy->library_version);
	return copy->id != 0;
}

bool
plc_client_visible(const PlcClient *client)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		(OidIsValid(client->role) && has_privs_of_role(GetUserId(), client->role));
}

/* A role that was dropped has its number for a name, as elsewhere. */
char *
plc_client_role_name(const PlcClient *client)
{
	char	   *name;

	if (!OidIsValid(client->role))
		return NULL;
	name = GetUserNameFromId(client->role, true);
	return name != NULL ? name : psprintf("%u", client->role);
}

/* The command of which this is a subcommand, or NULL. */
static const PlcCommand *
container_of(const PlcCommand *command)
{
	for (const PlcCommand *container = plc_commands; container->name != NULL; container++)
		for (const PlcCommand *sub = container->subcommands; sub != NULL && sub->name != NULL; sub++)
			if (sub == command)
				return container;
	return NULL;
}

char *
plc_client_last_command(const PlcClient *client)
{
	const PlcCommand *container;

	if (client->last_command == NULL)
		return NULL;
	container = container_of(client->last_command);
	if (container == NULL)
		return pstrdup(client->last_command->name);
	return psprintf("%s|%s", container->name, client->last_command->name);
}

/* " name=text", without what would end the field or the line. */
static void
append_field(StringInfo line, const char *name, const char *text)
{
	appendStringInfo(line, " %s=", name);
	for (; *text != '\0'; text++)
		appendStringInfoChar(line, (unsigned char) *text <= ' ' ? '?' : *text);
}

static long
seconds_since(TimestampTz then, TimestampTz now)
{
	return TimestampDifferenceMilliseconds(then, now) / 1000;
}

/*
 * Fields are named and ordered as in Redis.  Those of which we know nothing are
 * left out, but for those that every server has had from the beginning.
 */
char *
plc_client_line(const PlcClient *client)
{
	StringInfoData line;
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz last = client->last_command_at != 0 ? client->last_command_at : client->connected_at;
	bool		is_unix = client->address[0] == '/';
	char	   *role = plc_client_role_name(client);
	char	   *command = plc_client_last_command(client);

	initStringInfo(&line);
	appendStringInfo(&line, "id=" UINT64_FORMAT, client->id);
	append_field(&line, "addr", client->address);
	appendStringInfoString(&line, is_unix ? ":0" : "");
	append_field(&line, "name", client->name);
	appendStringInfo(&line, " age=%ld idle=%ld flags=%s%s%s db=0 sub=0 psub=0 multi=%d qbuf=%u",
					 seconds_since(client->connected_at, now), seconds_since(last, now),
					 client->queued >= 0 ? "x" : "", is_unix ? "U" : "",
					 client->queued < 0 && !is_unix ? "N" : "",
					 client->queued, client->input);
	/* redis-py 5 wants each of these to be there */
	appendStringInfo(&line, " qbuf-free=0 argv-mem=0 multi-mem=0 obl=%u oll=0 omem=0 tot-mem=%u",
					 client->output, client->input + client->output);
	append_field(&line, "cmd", command != NULL ? command : "NULL");
	append_field(&line, "user", role != NULL ? role : "");
	appendStringInfo(&line, " redir=-1 resp=%d", client->protocol);
	append_field(&line, "lib-name", client->library);
	append_field(&line, "lib-ver", client->library_version);
	appendStringInfoChar(&line, '\n');
	return line.data;
}

/* ---------- counters ---------- */

void
plc_endpoint_count_read(PlcWorker *worker, const PlcCounts *counts)
{
	uint64		bypasses = plc_counts_bypasses(counts);
	uint64		misses = counts->n[PLC_COUNT_MISSES] + bypasses;

	plc_endpoint_count(worker, PLC_ENDPOINT_KEYS, counts->n[PLC_COUNT_HITS] + misses);
	plc_endpoint_count(worker, PLC_ENDPOINT_HITS, counts->n[PLC_COUNT_HITS]);
	plc_endpoint_count(worker, PLC_ENDPOINT_MISSES, misses);
	plc_endpoint_count(worker, PLC_ENDPOINT_BYPASSES, bypasses);
	plc_endpoint_count(worker, PLC_ENDPOINT_FILLS, counts->n[PLC_COUNT_PUBLISHES]);
}

void
plc_endpoint_totals(uint64 totals[PLC_ENDPOINT_NCOUNTERS])
{
	memset(totals, 0, PLC_ENDPOINT_NCOUNTERS * sizeof(uint64));
	for (int i = 0; plc_endpoint != NULL && i < plc_endpoint->nworkers; i++)
		for (int c = 0; c < PLC_ENDPOINT_NCOUNTERS; c++)
			totals[c] += pg_atomic_read_u64(&plc_worker(i)->n[c]);
}

int
plc_endpoint_clients(void)
{
	int			clients = 0;

	for (int i = 0; plc_endpoint != NULL && i < plc_endpoint->nworkers; i++)
		clients += plc_worker(i)->clients;
	return clients;
}
