/*
 * listen.c
 *		The sockets on which a worker waits for clients.
 *
 * Each worker has sockets of its own on the same addresses (SO_REUSEPORT), and the
 * system deals new connections out to them.  That option lets any process of the same
 * user share the port, another server's workers too.  So the first worker of a server,
 * while no other listens, first binds the addresses without it, which fails if anybody
 * has them.
 *
 * A Unix socket cannot be shared that way; the first worker alone has it.
 *
 * Without a token anybody who can connect is let in, so then only loopback addresses
 * are listened on.
 */
#include "postgres.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "storage/ipc.h"
#include "utils/varlena.h"

#include "guc.h"
#include "resp/auth.h"
#include "resp/listen.h"
#include "resp/worker.h"

#define BACKLOG		1024

/* Why opening failed. */
typedef struct Failure
{
	char	   *problem;
	Size		size;
	const char *hint;
} Failure;

static PlcListener listeners[PLC_MAX_LISTENERS];
static int	nlisteners = 0;

PlcListener *
plc_listeners(int *n)
{
	*n = nlisteners;
	return listeners;
}

static void
close_all(void)
{
	for (int i = 0; i < nlisteners; i++)
	{
		close(listeners[i].fd);
		if (listeners[i].is_unix)
			unlink(listeners[i].name);
	}
	nlisteners = 0;
}

static void
close_at_exit(int code, Datum arg)
{
	close_all();
}

static bool
is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_UNIX)
		return true;
	if (address->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *) address)->sin_addr.s_addr) >> 24) == 127;
	if (address->sa_family == AF_INET6)
	{
		const struct in6_addr *in6 = &((const struct sockaddr_in6 *) address)->sin6_addr;

		if (IN6_IS_ADDR_V4MAPPED(in6))
			return in6->s6_addr[12] == 127;
		return IN6_IS_ADDR_LOOPBACK(in6);
	}
	return false;
}

/* 127.0.0.1:6380, [::1]:6380 */
static void
name_address(const struct sockaddr *address, socklen_t len, char *name, Size size)
{
	char		host[NI_MAXHOST];
	char		port[NI_MAXSERV];

	if (getnameinfo(address, len, host, sizeof(host), port, sizeof(port),
					NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		strlcpy(name, "unknown", size);
	else
		snprintf(name, size, address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static bool
fail(Failure *failure, const char *what, const char *name)
{
	int			save_errno = errno;

	snprintf(failure->problem, failure->size, "could not %s \"%s\": %s", what, name,
			 strerror(save_errno));
	failure->hint = save_errno == EADDRINUSE
		? "Is another server using this port? If not, choose another pg_local_cache.port."
		: NULL;
	return false;
}

static bool
set_option(int fd, int level, int option)
{
	int			on = 1;

	return setsockopt(fd, level, option, &on, sizeof(on)) == 0;
}

/* A socket bound to the address, or -1.  "shared": with our other workers. */
static int
bind_tcp(const struct addrinfo *info, bool shared)
{
	int			fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (set_option(fd, SOL_SOCKET, SO_REUSEADDR) &&
		(!shared || set_option(fd, SOL_SOCKET, SO_REUSEPORT)) &&
		(info->ai_family != AF_INET6 || set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY)) &&
		bind(fd, info->ai_addr, info->ai_addrlen) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Does nobody have this address?  Not even one who would share it. */
static bool
is_free(const struct addrinfo *info)
{
	int			fd = bind_tcp(info, false);
	bool		free = fd >= 0 && listen(fd, 1) == 0;

	if (fd >= 0)
		close(fd);
	return free;
}

static bool
already_open(const char *name)
{
	for (int i = 0; i < nlisteners; i++)
		if (strcmp(listeners[i].name, name) == 0)
			return true;
	return false;
}

static void
add_listener(int fd, bool is_unix, const char *name)
{
	PlcListener *listener = &listeners[nlisteners++];

	listener->fd = fd;
	listener->is_unix = is_unix;
	strlcpy(listener->name, name, sizeof(listener->name));
}

static bool
open_address(const struct addrinfo *info, bool alone, Failure *failure)
{
	char		name[128];
	int			fd;

	name_address(info->ai_addr, info->ai_addrlen, name, sizeof(name));
	if (already_open(name) || nlisteners == PLC_MAX_LISTENERS)
		return true;
	if (!is_loopback(info->ai_addr) && !plc_auth_token_required())
	{
		snprintf(failure->problem, failure->size,
				 "cannot listen on \"%s\" without a token", name);
		failure->hint = "Set pg_local_cache.token_file, or listen on loopback addresses only.";
		return false;
	}
	if (alone && !is_free(info))
		return fail(failure, "listen on", name);
	fd = bind_tcp(info, true);
	if (fd < 0)
		return fail(failure, "listen on", name);
	if (listen(fd, BACKLOG) < 0)
	{
		fail(failure, "listen on", name);
		close(fd);
		return false;
	}
	add_listener(fd, false, name);
	return true;
}

/*
 * All addresses of a host name.  One that this machine does not have (::1 where
 * there is no IPv6) is left out, as long as another is left.
 */
static bool
open_host(const char *host, bool alone, Failure *failure)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *infos;
	char		port[12];
	int			error;
	int			before = nlisteners;
	bool		ok = true;

	snprintf(port, sizeof(port), "%d", plc_guc_port);
	error = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &hints, &infos);
	if (error != 0)
	{
		snprintf(failure->problem, failure->size, "could not find address \"%s\": %s", host,
				 gai_strerror(error));
		failure->hint = "Check pg_local_cache.listen_addresses.";
		return false;
	}
	for (struct addrinfo *info = infos; info != NULL && ok; info = info->ai_next)
	{
		if (info->ai_family != AF_INET && info->ai_family != AF_INET6)
			continue;
		ok = open_address(info, alone, failure) ||
			((errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) &&
			 (info->ai_next != NULL || nlisteners > before));
	}
	freeaddrinfo(infos);
	return ok;
}

static bool
open_tcp(bool alone, Failure *failure)
{
	char	   *addresses = pstrdup(plc_guc_listen_addresses);
	List	   *hosts;
	ListCell   *cell;

	if (!SplitGUCList(addresses, ',', &hosts))
	{
		snprintf(failure->problem, failure->size,
				 "pg_local_cache.listen_addresses is not a list of addresses");
		return false;
	}
	foreach(cell, hosts)
	{
		errno = 0;
		if (!open_host(lfirst(cell), alone, failure))
			return false;
	}
	return true;
}

/* Removes a socket that nobody listens on any more; false if somebody does, if only with a full queue. */
static bool
clear_path(const struct sockaddr_un *address)
{
	int			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool		dead;

	if (fd < 0)
		return false;
	dead = connect(fd, (const struct sockaddr *) address, sizeof(*address)) < 0 &&
		(errno == ECONNREFUSED || errno == ENOENT);
	close(fd);
	if (!dead)
		errno = EADDRINUSE;
	else
		unlink(address->sun_path);
	return dead;
}

static bool
open_unix(Failure *failure)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			fd;

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGLC.%d",
				 plc_guc_unix_socket_directory, plc_guc_port) >= sizeof(address.sun_path))
	{
		snprintf(failure->problem, failure->size, "path of Unix socket \"%s/.s.PGLC.%d\" is too long",
				 plc_guc_unix_socket_directory, plc_guc_port);
		failure->hint = "Choose a shorter pg_local_cache.unix_socket_directory.";
		return false;
	}
	if (!clear_path(&address))
		return fail(failure, "listen on", address.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(failure, "listen on", address.sun_path);
	if (bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 ||
		chmod(address.sun_path, 0777) < 0 || listen(fd, BACKLOG) < 0)
	{
		fail(failure, "listen on", address.sun_path);
		close(fd);
		return false;
	}
	add_listener(fd, true, address.sun_path);
	return true;
}

bool
plc_listen_open(bool alone, char *problem, Size size, const char **hint)
{
	static bool registered = false;
	Failure		failure = {problem, size, NULL};

	if (!registered)
		on_proc_exit(close_at_exit, (Datum) 0);
	registered = true;

	if ((plc_guc_port == 0 || open_tcp(alone, &failure)) &&
		(plc_guc_unix_socket_directory[0] == '\0' || plc_my_number > 0 || open_unix(&failure)))
		return true;
	close_all();
	*hint = failure.hint;
	return false;
}

/* Takes a connection; false if there is none, or errno says why not. */
bool
plc_listen_accept(const PlcListener *listener, int *fd, char address[64], bool *local)
{
	struct sockaddr_storage peer;
	socklen_t	len = sizeof(peer);

	*fd = accept4(listener->fd, (struct sockaddr *) &peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (*fd < 0)
		return false;
	*local = is_loopback((struct sockaddr *) &peer);
	if (listener->is_unix)
	{
		*local = true;
		strlcpy(address, listener->name, 64);
		return true;
	}
	name_address((struct sockaddr *) &peer, len, address, 64);
	set_option(*fd, IPPROTO_TCP, TCP_NODELAY);
	set_option(*fd, SOL_SOCKET, SO_KEEPALIVE);
	return true;
}
