/*
 * conn.h
 *		A client's connection, as its worker knows it.
 */
#ifndef PLC_RESP_CONN_H
#define PLC_RESP_CONN_H

#include "datatype/timestamp.h"
#include "lib/ilist.h"

#include "resp/auth.h"
#include "resp/buffer.h"
#include "resp/codec.h"
#include "resp/endpoint.h"

/* What is to become of it.  Changed by plc_conn_* only. */
typedef enum PlcConnState
{
	PLC_CONN_OPEN,
	PLC_CONN_DRAINING,			/* no more requests: answer what came before the end, send, close */
	PLC_CONN_CLOSING,			/* run nothing more: send what there is, close */
	PLC_CONN_GONE				/* nobody will read: close at once */
} PlcConnState;

typedef enum PlcReplyMode
{
	PLC_REPLY_ON,
	PLC_REPLY_OFF,
	PLC_REPLY_SKIP,				/* this command's reply is dropped */
	PLC_REPLY_SKIP_NEXT			/* the next one's */
} PlcReplyMode;

typedef struct PlcConn
{
	/* the socket */
	int			fd;
	uint32		interest;		/* what epoll was asked for */
	PlcConnState state;
	PlcBuffer	in;
	PlcBuffer	out;
	PlcParser	parser;

	/* where the worker keeps it */
	dlist_node	idle_node;		/* in the order of the last command */
	dlist_node	work_node;		/* in the list of its place, but the idle ones */
	dlist_node	stranger_node;	/* in the order of coming, if it is a stranger */
	dlist_node	touched_node;	/* in the list of those that this turn did something for */
	enum
	{
		PLC_CONN_IDLE,			/* waits for the client */
		PLC_CONN_READY,			/* has bytes that may be a request */
		PLC_CONN_PARKED			/* its request waits for something, until retry_at */
	}			place;
	TimestampTz retry_at;
	TimestampTz parked_since;	/* 0: the request at hand was not parked */
	TimestampTz active_at;		/* of the last command */
	bool		touched;
	bool		stranger;		/* was not authenticated when it came, nor looked at since */
	int			singly;			/* so many requests must not be run together; see server.c */
	bool		held;			/* may have requests, which wait for replies to leave */

	/* who it is */
	PlcClient  *client;
	bool		local;			/* by loopback or Unix socket */
	int			protocol;
	Oid			role;			/* InvalidOid: not authenticated */
	bool		by_password;	/* as that role itself, so it must be able to log in */
	uint64		role_checked;	/* state of the roles when it was last found usable */
	PlcAuth    *auth;			/* a check of the request at hand */

	/* MULTI */
	struct PlcQueue *queue;		/* NULL: none open; queue.h */

	PlcReplyMode reply_mode;
} PlcConn;

extern PlcConn *plc_conn_open(int fd, PlcClient *client, bool local);
extern void plc_conn_free(PlcConn *conn);

/* Back to how it was when it was opened: RESET. */
extern void plc_conn_reset(PlcConn *conn);

/* Becomes a role, or InvalidOid. */
extern void plc_conn_become(PlcConn *conn, Oid role, bool by_password);

/* One read from the socket; false if there was nothing. */
extern bool plc_conn_receive(PlcConn *conn);

/* Sends as much as the socket takes. */
extern void plc_conn_send(PlcConn *conn);

/* No more is to be run: close when all is sent. */
extern void plc_conn_close(PlcConn *conn);

#endif							/* PLC_RESP_CONN_H */
