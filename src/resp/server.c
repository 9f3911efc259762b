/*
 * server.c
 *		The loop of a worker.
 *
 * One WaitEventSet of the process's latch, the postmaster's death and one epoll
 * descriptor; the clients' sockets are in the epoll set, which unlike a WaitEventSet
 * lets them go again.  So a signal, a reload, a shutdown or a barrier of the server
 * wakes a worker at once, without a tick.
 *
 * A turn:
 *
 *	1. Take what epoll has; read from each of these sockets, once.
 *	2. Run the requests that are whole, connection by connection, some of each
 *	   (pipeline_limit; LONG_TURN_US).  The first that wants rows begins the turn's transaction
 *	   (turn.c), thus after all bytes were received.
 *	3. End the transaction.
 *	4. Send the replies.
 *
 * A connection is idle (waits for its client), ready (has bytes that may be a request)
 * or parked (its request waits for a lock or for a password check: it stays in the input
 * and is run again from retry_at on).  Only of idle ones that have nothing to be sent we
 * ask epoll for input: who does not read replies, or sends faster than we answer, is not
 * read from.  So what a connection holds is bounded by request_limit and output_limit.
 *
 * Errors: one PG_TRY around all requests of a turn.  An error costs the request at hand
 * its reply and the turn's transaction, which has only been read in; replies written
 * before are copies, and stand.
 */
#include "postgres.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "postmaster/postmaster.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/pmsignal.h"
#include "storage/sinval.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "resp/auth.h"
#include "resp/command.h"
#include "resp/errors.h"
#include "resp/identity.h"
#include "resp/listen.h"
#include "resp/queue.h"
#include "resp/server.h"
#include "resp/turn.h"
#include "resp/worker.h"
#include "rules.h"

/*
 * Sockets looked at in a turn.  More of them share a transaction, which costs half a
 * microsecond; fewer let the first reply leave sooner, and their buffers stay in the
 * processor's cache.
 */
#define EVENTS_PER_TURN		32

/* Requests of who has not authenticated yet: arguments, bytes of one, bytes of all. */
#define UNKNOWN_ARGS_LIMIT		10
#define UNKNOWN_BULK_LIMIT		16384
#define UNKNOWN_REQUEST_LIMIT	(1024 * 1024)

/* Connections accepted at once from one socket. */
#define ACCEPTS_PER_TURN	64

/*
 * A turn that has taken so long runs only a few requests more of each connection: there
 * are requests of some bytes that take a millisecond.
 */
#define LONG_TURN_US		10000
#define FEW_REQUESTS		16

/* Replies that may wait while more requests of the same connection are run. */
#define OUTPUT_PAUSE		(256 * 1024)

/* A parked request is tried again after so long, doubled each time up to the maximum. */
#define MIN_PAUSE_US		1000
#define MAX_PAUSE_US		50000

/* The server's own sessions report their statistics as often. */
#define REPORT_PAUSE_US		USECS_PER_SEC

/* How long no connection is accepted after the system has run out of descriptors. */
#define ACCEPT_PAUSE_US		USECS_PER_SEC

static int	epoll_fd = -1;
static WaitEventSet *wait_set = NULL;
static MemoryContext request_context = NULL;
static TimestampTz now = 0;			/* of the turn */
static TimestampTz accept_again_at = 0;	/* 0: accepting */
static TimestampTz report_at = 0;	/* when statistics are due to be reported; 0: there are none */

static dlist_head ready = DLIST_STATIC_INIT(ready);
static dlist_head parked = DLIST_STATIC_INIT(parked);
static dlist_head touched = DLIST_STATIC_INIT(touched);
static dlist_head by_activity = DLIST_STATIC_INIT(by_activity);	/* the one idle longest in front */
static dlist_head strangers = DLIST_STATIC_INIT(strangers);	/* not seen to be authenticated, the oldest in front */

/* The request at hand. */
static struct
{
	PlcConn    *conn;			/* NULL: none */
	PlcRequest	request;
	size_t		consumed;		/* its bytes in conn->in */
	size_t		reply_at;		/* where its reply begins in conn->out */
	int			requests;		/* it stands for so many, GETs that are run together */
	bool		watched;		/* statement_timeout is armed */
} current;

TimestampTz
plc_server_now(void)
{
	return now;
}

/* ---------- places ---------- */

static void
place_idle(PlcConn *conn)
{
	if (conn->place != PLC_CONN_IDLE)
		dlist_delete(&conn->work_node);
	conn->place = PLC_CONN_IDLE;
}

static void
place_ready(PlcConn *conn)
{
	place_idle(conn);
	dlist_push_tail(&ready, &conn->work_node);
	conn->place = PLC_CONN_READY;
}

static void
place_parked(PlcConn *conn)
{
	place_idle(conn);
	dlist_push_tail(&parked, &conn->work_node);
	conn->place = PLC_CONN_PARKED;
}

static void
touch(PlcConn *conn)
{
	if (!conn->touched)
		dlist_push_tail(&touched, &conn->touched_node);
	conn->touched = true;
}

/* ---------- epoll ---------- */

static void
watch_socket(int operation, int fd, uint32 events, void *what)
{
	struct epoll_event event = {.events = events, .data.ptr = what};

	if (epoll_ctl(epoll_fd, operation, fd, &event) < 0)
		ereport(FATAL,
				(errcode_for_socket_access(),
				 errmsg("could not change what a pg_local_cache worker waits for: %m")));
}

/* Asks for input if another request may be run, for room if something is to be sent. */
static void
update_interest(PlcConn *conn)
{
	uint32		interest = 0;

	if (plc_buffer_length(&conn->out) > 0)
		interest = EPOLLOUT;
	else if (conn->state == PLC_CONN_OPEN && conn->place == PLC_CONN_IDLE)
		interest = EPOLLIN;
	if (interest != conn->interest)
		watch_socket(EPOLL_CTL_MOD, conn->fd, interest, conn);
	conn->interest = interest;
}

/* ---------- coming and going ---------- */

static void
refuse_client(int fd)
{
	static const char reply[] = "-ERR max number of clients reached\r\n";

	plc_worker_count(PLC_ENDPOINT_REJECTED, 1);
	(void) send(fd, reply, sizeof(reply) - 1, MSG_NOSIGNAL);
	close(fd);
}

static void
admit_client(int fd, const char *address, bool local)
{
	PlcClient  *client = plc_client_take(plc_my_number, address);
	PlcConn    *conn;

	if (client == NULL)
	{
		refuse_client(fd);
		return;
	}
	conn = plc_conn_open(fd, client, local);
	conn->active_at = now;
	conn->interest = EPOLLIN;
	dlist_push_tail(&by_activity, &conn->idle_node);
	conn->stranger = !plc_identity_is_known(conn);
	if (conn->stranger)
		dlist_push_tail(&strangers, &conn->stranger_node);
	watch_socket(EPOLL_CTL_ADD, fd, EPOLLIN, conn);
	plc_worker_count(PLC_ENDPOINT_CONNECTIONS, 1);
}

static void
watch_listeners(int operation, uint32 events)
{
	int			n;
	PlcListener *listeners = plc_listeners(&n);

	for (int i = 0; i < n; i++)
		watch_socket(operation, listeners[i].fd, events, &listeners[i]);
}

static bool
is_listener(const void *what)
{
	int			n;
	const PlcListener *listeners = plc_listeners(&n);

	return (const PlcListener *) what >= listeners && (const PlcListener *) what < listeners + n;
}

/* Descriptors or memory have run out: clients may wait in the queue of the socket. */
static void
pause_accepting(void)
{
	ereport(LOG,
			(errcode_for_socket_access(),
			 errmsg("could not accept client connection: %m")));
	watch_listeners(EPOLL_CTL_MOD, 0);
	accept_again_at = now + ACCEPT_PAUSE_US;
}

static void
accept_clients(const PlcListener *listener)
{
	char		address[64];
	bool		local;
	int			fd;

	for (int i = 0; i < ACCEPTS_PER_TURN; i++)
	{
		if (plc_listen_accept(listener, &fd, address, &local))
			admit_client(fd, address, local);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		{
			pause_accepting();
			return;
		}
		else if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void
no_stranger(PlcConn *conn)
{
	if (conn->stranger)
		dlist_delete(&conn->stranger_node);
	conn->stranger = false;
}

static void
drop_client(PlcConn *conn)
{
	place_idle(conn);
	no_stranger(conn);
	if (conn->touched)
		dlist_delete(&conn->touched_node);
	dlist_delete(&conn->idle_node);
	plc_conn_free(conn);
}

/* ---------- one request ---------- */

/* From now on it counts how long it is idle. */
static void
not_idle(PlcConn *conn)
{
	conn->active_at = now;
	dlist_delete(&conn->idle_node);
	dlist_push_tail(&by_activity, &conn->idle_node);
}

static void
note_activity(PlcConn *conn)
{
	not_idle(conn);
	conn->client->last_command_at = now;
	conn->client->commands += current.requests;
}

/* The reply is written, or the error that stands for it: the request is over. */
static void
finish_request(PlcConn *conn)
{
	if (conn->out.failed)
	{
		plc_buffer_cut(&conn->out, current.reply_at);
		plc_reply_error(&conn->out, "ERR the reply is larger than pg_local_cache.output_limit");
	}
	if (plc_turn_take_unconfirmed())
	{
		plc_buffer_cut(&conn->out, current.reply_at);
		plc_reply_error(&conn->out, "ERR the write is committed here, but no synchronous standby has confirmed it:"
						" pg_local_cache.statement_timeout or a cancel ended the wait");
	}
	plc_worker_count(PLC_ENDPOINT_COMMANDS, current.requests);
	if (plc_buffer_length(&conn->out) > current.reply_at &&
		plc_buffer_bytes(&conn->out)[current.reply_at] == '-')
		plc_worker_count(PLC_ENDPOINT_ERRORS, 1);
	if (conn->reply_mode == PLC_REPLY_OFF || conn->reply_mode == PLC_REPLY_SKIP)
		plc_buffer_cut(&conn->out, current.reply_at);
	if (conn->reply_mode == PLC_REPLY_SKIP)
		conn->reply_mode = PLC_REPLY_ON;
	else if (conn->reply_mode == PLC_REPLY_SKIP_NEXT)
		conn->reply_mode = PLC_REPLY_SKIP;

	plc_buffer_taken(&conn->in, current.consumed);
	plc_parser_reset(&conn->parser);
	plc_auth_abandon(&conn->auth);
	if (conn->queue != NULL && conn->queue->executing)
		plc_queue_end(conn);	/* whatever EXEC has come to */
	conn->parked_since = 0;
	conn->singly -= conn->singly > 0;
	current.conn = NULL;
}

/* The request stays where it is, and is read again. */
static void
park_request(PlcConn *conn, bool for_lock)
{
	plc_buffer_cut(&conn->out, current.reply_at);
	plc_parser_reset(&conn->parser);
	if (conn->parked_since == 0)
	{
		conn->parked_since = now;
		if (for_lock)
			plc_worker_count(PLC_ENDPOINT_PARKED, 1);
	}
	if (for_lock)
		conn->retry_at = now + Min(MAX_PAUSE_US,
								   Max(MIN_PAUSE_US, (now - conn->parked_since) / 2));
	place_parked(conn);
	current.conn = NULL;
}

static bool
waited_too_long(const PlcConn *conn)
{
	return conn->parked_since != 0 && plc_guc_lock_timeout > 0 &&
		now - conn->parked_since >= plc_guc_lock_timeout * INT64CONST(1000);
}

/* A lock is not to be had: later, or never. */
static void
park_for_lock(PlcConn *conn)
{
	if (!waited_too_long(conn))
	{
		park_request(conn, true);
		return;
	}
	plc_buffer_cut(&conn->out, current.reply_at);
	plc_reply_error(&conn->out, "ERR canceling statement due to lock timeout");
	finish_request(conn);
}

/* A cancel or a time-out that has come and not been taken notice of would cost the next one its reply. */
void
plc_server_unwatch(void)
{
	if (current.watched)
		disable_timeout(STATEMENT_TIMEOUT, false);
	current.watched = false;
	(void) get_timeout_indicator(LOCK_TIMEOUT, true);
	QueryCancelPending = false;
}

void
plc_server_watch(void)
{
	/* A time limit or a cancel is to cost one of them its reply: recover() runs them one by one. */
	if (current.requests > 1)
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("requests that may take long are not run together")));
	if (!current.watched && plc_guc_statement_timeout > 0)
	{
		enable_timeout_after(STATEMENT_TIMEOUT, plc_guc_statement_timeout);
		current.watched = true;
	}
}

/* Some requests are at hand, as one. */
static void
take_request(PlcConn *conn, int requests, size_t consumed, int argc, const PlcArg *argv)
{
	current.conn = conn;
	current.requests = requests;
	current.consumed = consumed;
	current.reply_at = plc_buffer_length(&conn->out);
	current.request = (PlcRequest) {conn, NULL, argc, argv, &conn->out};
	if (conn->parked_since == 0)
		note_activity(conn);
}

/* Runs the request that the parser has found; false if the connection has to wait. */
static bool
run_request(PlcConn *conn, size_t consumed)
{
	PlcOutcome	outcome;

	take_request(conn, 1, consumed, conn->parser.argc, conn->parser.argv);
	outcome = plc_command_run(&current.request);
	plc_server_unwatch();
	MemoryContextReset(request_context);
	if (outcome == PLC_DONE)
		finish_request(conn);
	else if (conn->auth != NULL)
		park_request(conn, false);
	else
		park_for_lock(conn);
	return outcome == PLC_DONE;
}

/*
 * GETs that follow each other in a pipeline are run together, as MGET would run them,
 * so that their waits for memory overlap.  Whatever goes wrong with one of them is
 * found out when all are run again one by one.
 */
#define MAX_GETS	32

/* Not an inline one, whose words go when the parser goes on. */
static bool
is_get(const PlcParser *parser)
{
	return parser->argc == 2 && parser->words == NULL && plc_arg_is(&parser->argv[0], "get");
}

/* May the request that the parser has found be run together with others? */
static bool
may_run_together(const PlcConn *conn)
{
	return is_get(&conn->parser) && conn->singly == 0 && conn->parked_since == 0 &&
		conn->queue == NULL && conn->reply_mode == PLC_REPLY_ON && plc_identity_is_known(conn);
}

/* The GETs at the front of the input, their keys to argv[1] and so on; how many. */
static int
collect_gets(PlcConn *conn, const PlcLimits *limits, PlcArg *argv, size_t *consumed)
{
	size_t		len = plc_buffer_length(&conn->in);
	size_t		end = *consumed;
	int			n = 0;

	argv[0] = conn->parser.argv[0];
	do
	{
		argv[++n] = conn->parser.argv[1];
		*consumed = end;
		plc_parser_reset(&conn->parser);
		if (n == MAX_GETS || end == len ||
			plc_parse(&conn->parser, limits, plc_buffer_bytes(&conn->in) + end, len - end,
					  &end) != PLC_PARSE_REQUEST)
			break;
		end += *consumed;
	} while (is_get(&conn->parser));
	plc_parser_reset(&conn->parser);
	return n;
}

/* They have to be run one by one. */
static void
run_singly(PlcConn *conn)
{
	plc_buffer_cut(&conn->out, current.reply_at);
	conn->singly = current.requests;
	current.conn = NULL;
}

/* Runs these GETs; how many. */
static int
run_gets(PlcConn *conn, const PlcLimits *limits, size_t consumed)
{
	PlcArg		argv[1 + MAX_GETS];
	int			n = collect_gets(conn, limits, argv, &consumed);
	PlcOutcome	outcome;

	take_request(conn, n, consumed, n + 1, argv);
	outcome = plc_command_call_gets(&current.request);
	plc_server_unwatch();
	if (outcome == PLC_DONE && !conn->out.failed)	/* one error would be one reply, for all of them */
		finish_request(conn);
	else
		run_singly(conn);
	MemoryContextReset(request_context);
	return n;
}

/* What the client sent is not the protocol: tell it why, and close. */
static void
protocol_error(PlcConn *conn)
{
	plc_worker_count(PLC_ENDPOINT_PROTOCOL_ERRORS, 1);
	if (conn->parser.error != NULL)
		plc_reply_error(&conn->out, conn->parser.error);
	plc_conn_close(conn);
	place_idle(conn);
}

/* ---------- one connection ---------- */

/* Nothing whole is left. */
static void
wait_for_more(PlcConn *conn)
{
	place_idle(conn);
	if (conn->state == PLC_CONN_DRAINING)
		plc_conn_close(conn);
	if (plc_buffer_length(&conn->in) == 0)
		plc_buffer_release(&conn->in);
}

/* How large a request may be: before authentication, just enough for that, as in Redis. */
static PlcLimits
request_limits(const PlcConn *conn)
{
	if (!plc_identity_is_known(conn))
		return (PlcLimits) {.request = Min(plc_guc_request_limit, UNKNOWN_REQUEST_LIMIT),
			.bulk = UNKNOWN_BULK_LIMIT,.args = UNKNOWN_ARGS_LIMIT,.authenticated = false};
	return (PlcLimits) {.request = plc_guc_request_limit,.bulk = plc_guc_request_limit,
		.args = plc_guc_request_limit / sizeof(PlcArg),.authenticated = true};
}

/* Runs what it has sent, up to pipeline_limit requests, or until the turn has taken long. */
static void
run_connection(PlcConn *conn)
{
	int			look_at = FEW_REQUESTS;

	touch(conn);
	conn->out.limit = (size_t) plc_guc_output_limit + OUTPUT_PAUSE;
	for (int n = 0; n < plc_guc_pipeline_limit; n++)
	{
		PlcLimits	limits = request_limits(conn);
		size_t		consumed;

		if (n >= look_at)
		{
			if (GetCurrentTimestamp() - now > LONG_TURN_US)
				break;
			look_at = n + FEW_REQUESTS;
		}
		conn->held = plc_buffer_length(&conn->out) > OUTPUT_PAUSE;
		if (conn->state >= PLC_CONN_CLOSING || conn->held)
		{
			place_idle(conn);
			return;
		}
		switch (plc_parse(&conn->parser, &limits, plc_buffer_bytes(&conn->in),
						  plc_buffer_length(&conn->in), &consumed))
		{
			case PLC_PARSE_MORE:
				wait_for_more(conn);
				return;
			case PLC_PARSE_FAILED:
				protocol_error(conn);
				return;
			case PLC_PARSE_REQUEST:
				if (conn->parser.argc == 0)
				{
					plc_buffer_taken(&conn->in, consumed);
					plc_parser_reset(&conn->parser);
				}
				else if (may_run_together(conn))
					n += run_gets(conn, &limits, consumed) - 1;
				else if (!run_request(conn, consumed))
					return;
		}
	}
	place_ready(conn);
}

/* After an error: the request's reply is the error, and all else goes on. */
static void
recover(void)
{
	PlcConn    *conn = current.conn;
	ErrorData  *error;

	MemoryContextSwitchTo(request_context);
	error = CopyErrorData();
	FlushErrorState();
	disable_all_timeouts(false);
	current.watched = false;
	QueryCancelPending = false;
	plc_turn_abort();
	MemoryContextSwitchTo(request_context);
	if (conn == NULL)
	{
		plc_error_log(error);	/* when the transaction of a turn ended */
		return;
	}

	plc_buffer_cut(&conn->out, current.reply_at);
	if (current.requests > 1)
	{
		run_singly(conn);
		place_ready(conn);
	}
	else if (plc_error_is_temporary(error) && !waited_too_long(conn))
		park_request(conn, true);
	else
	{
		plc_error_reply(&conn->out, error);
		finish_request(conn);
		place_ready(conn);		/* for the next turn: errors count for fairness too */
	}
	MemoryContextReset(request_context);
}

/* Runs each ready connection once. */
static void
run_ready(void)
{
	dlist_head	now_ready;

	dlist_init(&now_ready);
	while (!dlist_is_empty(&ready))
		dlist_push_tail(&now_ready, dlist_pop_head_node(&ready));
	while (!dlist_is_empty(&now_ready))
	{
		PG_TRY();
		{
			while (!dlist_is_empty(&now_ready))
				run_connection(dlist_head_element(PlcConn, work_node, &now_ready));
		}
		PG_CATCH();
		{
			recover();
		}
		PG_END_TRY();
	}
}

/* ---------- a turn ---------- */

static void
take_event(const struct epoll_event *event)
{
	PlcConn    *conn = event->data.ptr;

	if (is_listener(conn))
	{
		accept_clients(event->data.ptr);
		return;
	}
	touch(conn);
	if (event->events & EPOLLIN)
	{
		if (plc_conn_receive(conn))
			place_ready(conn);
	}
	else if (event->events & (EPOLLERR | EPOLLHUP))
		conn->state = PLC_CONN_GONE;
}

/* Parked requests whose time has come are ready again. */
static void
unpark(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &parked)
	{
		PlcConn    *conn = dlist_container(PlcConn, work_node, iter.cur);

		if (conn->retry_at <= now)
			place_ready(conn);
	}
}

/* Sends to whom there is something to send, and closes whom there is nothing left for. */
static void
settle(PlcConn *conn)
{
	conn->touched = false;
	if (plc_buffer_length(&conn->out) > 0 && conn->state != PLC_CONN_GONE)
		plc_conn_send(conn);
	conn->client->input = plc_buffer_length(&conn->in);
	if (conn->state == PLC_CONN_GONE ||
		(conn->state == PLC_CONN_CLOSING && plc_buffer_length(&conn->out) == 0))
	{
		drop_client(conn);
		return;
	}
	if (conn->held && plc_buffer_length(&conn->out) == 0)
	{
		conn->held = false;
		place_ready(conn);
	}
	update_interest(conn);
}

static void
settle_touched(void)
{
	while (!dlist_is_empty(&touched))
		settle(dlist_container(PlcConn, touched_node, dlist_pop_head_node(&touched)));
}

static void
close_idle(void)
{
	while (plc_guc_client_idle_timeout > 0 && !dlist_is_empty(&by_activity))
	{
		PlcConn    *conn = dlist_head_element(PlcConn, idle_node, &by_activity);

		if (now - conn->active_at < plc_guc_client_idle_timeout * INT64CONST(1000))
			return;
		if (conn->place == PLC_CONN_PARKED)
		{
			not_idle(conn);		/* it is waiting for us */
			continue;
		}
		plc_worker_count(PLC_ENDPOINT_TIMEOUTS, 1);
		drop_client(conn);
	}
}

/* Until when the oldest stranger has to have authenticated; PostgreSQL gives its own clients as long. */
static TimestampTz
stranger_due(void)
{
	return dlist_head_element(PlcConn, stranger_node, &strangers)->client->connected_at +
		AuthenticationTimeout * USECS_PER_SEC;
}

/* Nobody who cannot authenticate takes a connection away from others for long. */
static void
close_strangers(void)
{
	while (!dlist_is_empty(&strangers) && stranger_due() <= now)
	{
		PlcConn    *conn = dlist_head_element(PlcConn, stranger_node, &strangers);

		no_stranger(conn);
		if (plc_identity_is_known(conn))
			continue;
		plc_worker_count(PLC_ENDPOINT_TIMEOUTS, 1);
		drop_client(conn);
	}
}

static void
end_transaction(void)
{
	if (!plc_turn_under_way())
		return;
	PG_TRY();
	{
		plc_turn_end();
	}
	PG_CATCH();
	{
		recover();
	}
	PG_END_TRY();
}

/*
 * Adds what the worker has done to the server's statistics.  Unasked, the server goes by
 * when the last transaction ended, and an idle worker would keep the rest to itself.
 */
static void
report_statistics(void)
{
	if (report_at == 0 || report_at > now)
		return;
	pgstat_report_stat(true);
	report_at = 0;
}

/* One turn; false if there was nothing to do. */
static bool
turn(void)
{
	struct epoll_event events[EVENTS_PER_TURN];
	int			n = epoll_wait(epoll_fd, events, EVENTS_PER_TURN, 0);

	now = GetCurrentTimestamp();
	for (int i = 0; i < n; i++)
		take_event(&events[i]);
	unpark();
	close_idle();
	close_strangers();
	if (accept_again_at != 0 && accept_again_at <= now)
	{
		watch_listeners(EPOLL_CTL_MOD, EPOLLIN);
		accept_again_at = 0;
	}
	if (!dlist_is_empty(&ready))
	{
		plc_worker_count(PLC_ENDPOINT_TURNS, 1);
		run_ready();
		if (report_at == 0)
			report_at = now + REPORT_PAUSE_US;
	}
	if (n == 0 || !plc_turn_rest(now))
	{
		end_transaction();
		report_statistics();
	}
	settle_touched();
	return n > 0 || !dlist_is_empty(&ready);
}

/* ---------- waiting ---------- */

static TimestampTz
earlier(TimestampTz a, TimestampTz b)
{
	return a == 0 || b < a ? b : a;
}

/* When something is due without anybody's doing, in milliseconds from now; -1: nothing is. */
static long
wait_time(void)
{
	TimestampTz due = accept_again_at;
	dlist_iter	iter;

	if (plc_identity_review_at() != 0)
		due = earlier(due, plc_identity_review_at());
	if (report_at != 0)
		due = earlier(due, report_at);
	if (!dlist_is_empty(&strangers))
		due = earlier(due, stranger_due());
	dlist_foreach(iter, &parked)
		due = earlier(due, dlist_container(PlcConn, work_node, iter.cur)->retry_at);
	if (plc_guc_client_idle_timeout > 0 && !dlist_is_empty(&by_activity))
		due = earlier(due, dlist_head_element(PlcConn, idle_node, &by_activity)->active_at +
					  plc_guc_client_idle_timeout * INT64CONST(1000));
	return due == 0 ? -1 : TimestampDifferenceMilliseconds(GetCurrentTimestamp(), due);
}

static void
wait_for_work(void)
{
	WaitEvent	event;

	if (WaitEventSetWait(wait_set, wait_time(), &event, 1, plc_wait_event()) > 0 &&
		event.events & WL_LATCH_SET)
		ResetLatch(MyLatch);
}

static void
reload(void)
{
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	plc_auth_load_token();
	plc_identity_changed();
}

/* What the server wants of every process. */
static void
heed_server(void)
{
	if (InterruptPending || catchupInterruptPending || ConfigReloadPending)
		end_transaction();		/* the server may be waiting for it */
	QueryCancelPending = false; /* there is no query to be cancelled now */
	plc_worker_heed_end();
	CHECK_FOR_INTERRUPTS();
	if (!PostmasterIsAlive())
		proc_exit(1);
	if (ConfigReloadPending)
		reload();
	if (catchupInterruptPending)
		ProcessCatchupInterrupt();
}

static void
review(void)
{
	PG_TRY();
	{
		plc_identity_review();
	}
	PG_CATCH();
	{
		recover();
	}
	PG_END_TRY();
}

static void
set_up(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		ereport(FATAL,
				(errcode_for_socket_access(),
				 errmsg("could not create what a pg_local_cache worker waits with: %m")));
	watch_listeners(EPOLL_CTL_ADD, EPOLLIN);

	wait_set = plc_wait_event_set(3);
	AddWaitEventToSet(wait_set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(wait_set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	AddWaitEventToSet(wait_set, WL_SOCKET_READABLE, epoll_fd, NULL, NULL);

	request_context = AllocSetContextCreate(TopMemoryContext, "pg_local_cache request",
											ALLOCSET_DEFAULT_SIZES);
	pgstat_report_activity(STATE_IDLE, NULL);
}

void
plc_server_run(void)
{
	set_up();
	for (;;)
	{
		heed_server();
		MemoryContextSwitchTo(request_context);
		if (turn())
			continue;
		review();
		wait_for_work();
	}
}
