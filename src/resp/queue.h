/*
 * queue.h
 *		Requests that wait for EXEC.
 */
#ifndef PLC_RESP_QUEUE_H
#define PLC_RESP_QUEUE_H

#include "resp/command.h"

typedef struct PlcQueued
{
	const PlcCommand *command;
	int			argc;
	PlcArg	   *argv;
} PlcQueued;

typedef struct PlcQueue
{
	MemoryContext context;
	size_t		bytes;			/* of arguments, bounded by request_limit */
	bool		spoilt;			/* a request could not be queued: EXEC refuses */
	bool		executing;		/* EXEC has begun: with its reply the queue is gone */
	int			n;
	int			room;
	PlcQueued  *requests;
} PlcQueue;

extern PlcQueue *plc_queue_make(void);

/* Copies the request into the queue; raises an error if that is more than may wait. */
extern void plc_queue_add(PlcQueue *queue, const PlcRequest *request);

extern void plc_queue_free(PlcQueue **queue);

/* The connection queues no more, and its queue is gone. */
extern void plc_queue_end(PlcConn *conn);

#endif							/* PLC_RESP_QUEUE_H */
