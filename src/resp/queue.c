/*
 * queue.c
 *		Requests that wait for EXEC.
 *
 * All of a queue is in a memory context of its own, so a connection without one
 * pays nothing.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "guc.h"
#include "resp/queue.h"

PlcQueue *
plc_queue_make(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "pg_local_cache MULTI",
												  ALLOCSET_SMALL_SIZES);
	PlcQueue   *queue = MemoryContextAllocZero(context, sizeof(PlcQueue));

	queue->context = context;
	queue->room = 8;
	queue->requests = MemoryContextAlloc(context, queue->room * sizeof(PlcQueued));
	return queue;
}

static size_t
request_bytes(const PlcRequest *request)
{
	/* with what the allocator adds to each */
	size_t		bytes = sizeof(PlcQueued) + request->argc * (sizeof(PlcArg) + 32);

	for (int i = 0; i < request->argc; i++)
		bytes += request->argv[i].len;
	return bytes;
}

static PlcArg *
copy_arguments(MemoryContext context, const PlcRequest *request)
{
	PlcArg	   *argv = MemoryContextAllocHuge(context, request->argc * sizeof(PlcArg));

	for (int i = 0; i < request->argc; i++)
	{
		char	   *data = MemoryContextAllocHuge(context, request->argv[i].len + 1);

		memcpy(data, request->argv[i].data, request->argv[i].len);
		argv[i] = (PlcArg) {data, request->argv[i].len};
	}
	return argv;
}

void
plc_queue_add(PlcQueue *queue, const PlcRequest *request)
{
	size_t		bytes = request_bytes(request);

	if (queue->bytes + bytes > (size_t) plc_guc_request_limit)
	{
		queue->spoilt = true;
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("commands after MULTI take more than pg_local_cache.request_limit (%d bytes)",
						plc_guc_request_limit)));
	}
	if (queue->n == queue->room)
	{
		queue->room *= 2;
		queue->requests = repalloc_huge(queue->requests, queue->room * sizeof(PlcQueued));
	}
	queue->requests[queue->n].argv = copy_arguments(queue->context, request);
	queue->requests[queue->n].argc = request->argc;
	queue->requests[queue->n].command = request->command;
	queue->n++;
	queue->bytes += bytes;
}

void
plc_queue_free(PlcQueue **queue)
{
	if (*queue != NULL)
		MemoryContextDelete((*queue)->context);
	*queue = NULL;
}

void
plc_queue_end(PlcConn *conn)
{
	plc_queue_free(&conn->queue);
	conn->client->queued = -1;
}
