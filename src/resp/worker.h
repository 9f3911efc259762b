/*
 * worker.h
 *		A worker process of the endpoint: registered at server start, and what its
 *		parts know of it.
 */
#ifndef PLC_RESP_WORKER_H
#define PLC_RESP_WORKER_H

#include "resp/endpoint.h"
#include "stats.h"

/* This process, if it is a worker */
extern PlcWorker *plc_my_worker;
extern int	plc_my_number;

/* Registers the workers with the postmaster; called while the library is preloaded. */
extern void plc_workers_register(void);

/*
 * Ends the process if it was told to, without a line in the log: to be called where
 * nothing is under way.  Elsewhere the server ends it, and calls that FATAL.
 */
extern void plc_worker_heed_end(void);

/* Counts for this worker */
static inline void
plc_worker_count(PlcEndpointCounter counter, uint64 n)
{
	plc_endpoint_count(plc_my_worker, counter, n);
}

static inline void
plc_worker_count_reads(const PlcCounts *counts)
{
	plc_endpoint_count_read(plc_my_worker, counts);
}

#endif							/* PLC_RESP_WORKER_H */
