/*
 * server.h
 *		The loop of a worker.
 */
#ifndef PLC_RESP_SERVER_H
#define PLC_RESP_SERVER_H

#include "datatype/timestamp.h"

/* Serves clients; returns never.  The sockets are open, the database is connected. */
extern void plc_server_run(void) __attribute__((noreturn));

/* When the turn began */
extern TimestampTz plc_server_now(void);

/* Watches statement_timeout from here on, until the command at hand is over. */
extern void plc_server_watch(void);

/* It is over, or is committed: no time limit and no cancel hits it any more. */
extern void plc_server_unwatch(void);

#endif							/* PLC_RESP_SERVER_H */
