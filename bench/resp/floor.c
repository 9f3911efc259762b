/*
 * floor.c
 *		The least that a Redis server can do: read, find the requests, answer a constant.
 *
 *		floor PORT LENGTH
 *
 * Listens on 127.0.0.1.  A request of n arguments, of which the first is the
 * command, is answered as a read of n - 1 keys that are all there, each with a
 * value of LENGTH bytes: one bulk string for one key, an array of them for more.
 * Nothing is looked up and nothing is copied; what is left is the system calls
 * of a server with one thread, and stepping over the arguments.  So the distance
 * between this and a server is what that server's work on the keys costs.
 *
 * One thread, level-triggered epoll, one read of at most 64 kB for each socket
 * that is ready, one write for what was found in it: what Redis does too.
 * It serves clients that it can trust, on one machine: a request that is not an
 * array of bulk strings or is larger than the buffer closes the connection, and
 * a client that does not read its replies holds up the others.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER	65536			/* bytes of requests that may wait; 64 keys are 2 kB */
#define GLUED	64				/* replies in a row that one write sends */
#define MAX_ARGS 1024

typedef struct Client
{
	int			socket;
	size_t		length;
	char		bytes[BUFFER];
} Client;

/* Replies to requests of so many arguments, GLUED of them */
static struct
{
	long		args;
	size_t		length;			/* of one */
	char	   *bytes;
}			reply;

static void
make_reply(long args, size_t value)
{
	size_t		room = 32 + (size_t) args * (value + 32);
	char	   *one = calloc(1, room);
	size_t		n = 0;

	if (args > 2)
		n += sprintf(one, "*%ld\r\n", args - 1);
	for (long key = 1; key < args; key++)
		n += sprintf(one + n, "$%zu\r\n%0*d\r\n", value, (int) value, 0);
	free(reply.bytes);
	reply.bytes = malloc(n * GLUED + 1);
	for (int i = 0; i < GLUED; i++)
		memcpy(reply.bytes + i * n, one, n);
	free(one);
	reply.length = n;
	reply.args = args;
}

/* The number behind "*" or "$"; moves *at behind its line.  -1: not all there, -2: something else. */
static long
header(const char **at, const char *end, char type)
{
	const char *p = *at;
	long		n = 0;

	if (p == end)
		return -1;
	if (*p++ != type)
		return -2;
	for (; p < end && *p >= '0' && *p <= '9' && n < BUFFER; p++)
		n = n * 10 + (*p - '0');
	if (end - p < 2)
		return -1;
	*at = p + 2;
	return p[0] == '\r' ? n : -2;
}

/* Steps over a request; how many arguments it has, or as header(). */
static long
request(const char **at, const char *end)
{
	const char *p = *at;
	long		args = header(&p, end, '*');

	if (args > MAX_ARGS || args == 0)
		return -2;
	for (long i = 0; i < args; i++)
	{
		long		length = header(&p, end, '$');

		if (length < 0)
			return length;
		if (end - p < length + 2)
			return -1;
		p += length + 2;
	}
	*at = p;
	return args;
}

static int
send_replies(Client *client, int count)
{
	const char *p = reply.bytes;
	size_t		left = count * reply.length;

	while (left > 0)
	{
		ssize_t		n = write(client->socket, p, left);

		if (n < 0 && errno == EAGAIN)
		{
			poll(&(struct pollfd) {client->socket, POLLOUT, 0}, 1, -1);
			continue;
		}
		if (n < 0)
			return 0;
		p += n;
		left -= n;
	}
	return 1;
}

/* Reads once and answers; 0 if the connection is over. */
static int
serve(Client *client, size_t value)
{
	ssize_t		got = read(client->socket, client->bytes + client->length, BUFFER - client->length);
	const char *at = client->bytes;
	const char *end;
	long		args;
	int			count = 0;

	if (got <= 0)
		return got < 0 && errno == EAGAIN;
	end = client->bytes + client->length + got;
	while ((args = request(&at, end)) > 0)
	{
		if (count == GLUED || args != reply.args)
		{
			if (!send_replies(client, count))
				return 0;
			count = 0;
		}
		if (args != reply.args)
			make_reply(args, value);
		count++;
	}
	client->length = end - at;
	memmove(client->bytes, at, client->length);
	return send_replies(client, count) && args == -1 && client->length < BUFFER;
}

static int
listen_on(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
	.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int			listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int) {1}, sizeof(int));
	if (bind(listener, (struct sockaddr *) &address, sizeof(address)) != 0 || listen(listener, 511) != 0)
		err(1, "could not listen on port %d", port);
	return listener;
}

static void
accept_client(int epoll, int listener)
{
	int			socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	Client	   *client;

	if (socket < 0)
		return;
	client = malloc(sizeof(Client));
	client->socket = socket;
	client->length = 0;
	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int) {1}, sizeof(int));
	epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &(struct epoll_event) {.events = EPOLLIN, .data.ptr = client});
}

int
main(int argc, char **argv)
{
	struct epoll_event events[1024];
	int			epoll = epoll_create1(0);
	int			listener;
	size_t		value;

	if (argc != 3)
		errx(2, "usage: floor PORT LENGTH");
	listener = listen_on(atoi(argv[1]));
	value = strtoul(argv[2], NULL, 10);
	make_reply(2, value);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event) {.events = EPOLLIN, .data.ptr = NULL});
	for (;;)
	{
		int			n = epoll_wait(epoll, events, 1024, -1);

		for (int i = 0; i < n; i++)
		{
			Client	   *client = events[i].data.ptr;

			if (client == NULL)
				accept_client(epoll, listener);
			else if (!serve(client, value))
			{
				close(client->socket);
				free(client);
			}
		}
	}
}
