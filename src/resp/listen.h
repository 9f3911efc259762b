/*
 * listen.h
 *		The sockets on which a worker waits for clients.
 */
#ifndef PLC_RESP_LISTEN_H
#define PLC_RESP_LISTEN_H

typedef struct PlcListener
{
	int			fd;
	bool		is_unix;
	char		name[128];		/* for messages and, of a Unix socket, its path */
} PlcListener;

#define PLC_MAX_LISTENERS	32

/*
 * Opens all sockets that this worker is to have, or none: then the result is false
 * and "problem" says why, with a hint or NULL in *hint.  "alone": no other worker
 * listens, so the port must be free.
 */
extern bool plc_listen_open(bool alone, char *problem, Size size, const char **hint);

/* Those that are open. */
extern PlcListener *plc_listeners(int *n);

/* Does a connection come from this machine: by loopback or Unix socket? */
extern bool plc_listen_accept(const PlcListener *listener, int *fd, char address[64], bool *local);

#endif							/* PLC_RESP_LISTEN_H */
