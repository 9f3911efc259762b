/*
 * conn.c
 *		A client's connection, as its worker knows it.
 *
 * Sockets never block.  A connection owns a slot in shared memory, where others see
 * it, and two buffers, which have memory only while there are bytes in them: so one
 * that is idle takes some hundred bytes.  All its memory is malloc'd or in
 * TopMemoryContext and freed in plc_conn_free, whatever happens to transactions.
 */
#include "postgres.h"

#include <sys/socket.h>
#include <unistd.h>

#include "utils/memutils.h"

#include "guc.h"
#include "resp/conn.h"
#include "resp/queue.h"
#include "resp/worker.h"

/* One read: enough for any ordinary pipeline, little enough to be fair. */
#define READ_SIZE	PLC_BUFFER_MEDIUM

/* Bytes around a request's own: what comes with it in the last read. */
static size_t
input_limit(void)
{
	return (size_t) plc_guc_request_limit + READ_SIZE;
}

/* Takes over the socket and the slot; both go with the connection. */
PlcConn *
plc_conn_open(int fd, PlcClient *client, bool local)
{
	PlcConn    *conn = MemoryContextAllocZero(TopMemoryContext, sizeof(PlcConn));

	conn->fd = fd;
	conn->client = client;
	conn->local = local;
	conn->protocol = 2;
	plc_buffer_init(&conn->in, input_limit());
	plc_buffer_init(&conn->out, plc_guc_output_limit);
	return conn;
}

static void
forget_request(PlcConn *conn)
{
	plc_auth_abandon(&conn->auth);
	plc_queue_free(&conn->queue);
	conn->parked_since = 0;
}

void
plc_conn_free(PlcConn *conn)
{
	forget_request(conn);
	plc_parser_release(&conn->parser);
	plc_buffer_release(&conn->in);
	plc_buffer_release(&conn->out);
	close(conn->fd);
	plc_client_release(conn->client);
	pfree(conn);
}

void
plc_conn_become(PlcConn *conn, Oid role, bool by_password)
{
	conn->role = role;
	conn->by_password = by_password;
	conn->role_checked = 0;
	plc_client_change(conn->client);
	conn->client->role = role;
	plc_client_changed(conn->client);
}

void
plc_conn_reset(PlcConn *conn)
{
	plc_queue_end(conn);
	conn->protocol = 2;
	conn->reply_mode = PLC_REPLY_ON;
	plc_conn_become(conn, InvalidOid, false);
	plc_client_change(conn->client);
	conn->client->protocol = 2;
	conn->client->name[0] = '\0';
	plc_client_changed(conn->client);
}

/* What comes of a failed call on the socket. */
static void
socket_failed(PlcConn *conn)
{
	if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		conn->state = PLC_CONN_GONE;
}

/*
 * Bytes are read into one place and copied from there, so that a buffer is only as
 * large as what has come.
 */
bool
plc_conn_receive(PlcConn *conn)
{
	static char bytes[READ_SIZE];
	ssize_t		n = recv(conn->fd, bytes, sizeof(bytes), 0);

	if (n > 0)
	{
		conn->in.limit = input_limit();
		plc_buffer_append(&conn->in, bytes, n);
		plc_worker_count(PLC_ENDPOINT_BYTES_IN, n);
		if (conn->in.failed)
			conn->state = PLC_CONN_GONE;	/* no memory: the parser saw to the limit */
		return !conn->in.failed;
	}
	if (n == 0 && conn->state == PLC_CONN_OPEN)
		conn->state = PLC_CONN_DRAINING;
	else if (n < 0)
		socket_failed(conn);
	return n == 0;
}

void
plc_conn_send(PlcConn *conn)
{
	while (plc_buffer_length(&conn->out) > 0)
	{
		ssize_t		n = send(conn->fd, plc_buffer_bytes(&conn->out),
							 plc_buffer_length(&conn->out), MSG_NOSIGNAL);

		if (n < 0)
		{
			socket_failed(conn);
			break;
		}
		plc_buffer_taken(&conn->out, n);
		plc_worker_count(PLC_ENDPOINT_BYTES_OUT, n);
	}
	conn->client->output = plc_buffer_length(&conn->out);
	if (plc_buffer_length(&conn->out) == 0)
		plc_buffer_release(&conn->out);
}

void
plc_conn_close(PlcConn *conn)
{
	if (conn->state != PLC_CONN_GONE)
		conn->state = PLC_CONN_CLOSING;
}
