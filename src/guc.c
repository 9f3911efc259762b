/*
 * guc.c
 *		Settings, one paragraph each.
 *
 * Those of the memory and of the endpoint mean something only to a server that
 * preloaded the library.  They are not defined in a session that loads it late:
 * there they stay what the server makes of unclaimed names, so that a
 * configuration file which mentions them harms nobody.
 *
 * A value in the file that a check refuses is a warning when the server starts,
 * and the default stays; that is how the server treats settings of extensions.
 * So each default is the harmless value: no port, the loopback, no role.
 */
#include "postgres.h"

#include <limits.h>

#include "libpq/pqcomm.h"
#include "miscadmin.h"
#include "port.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "guc.h"

int			plc_guc_memory = 128 * 1024;
bool		plc_guc_enabled = true;
int			plc_guc_max_row_size = 1024 * 1024;
double		plc_guc_verify = 0.0;

int			plc_guc_port = 0;
char	   *plc_guc_listen_addresses = "localhost";
char	   *plc_guc_unix_socket_directory = "";
int			plc_guc_workers = 2;
char	   *plc_guc_database = "postgres";
int			plc_guc_max_clients = 1000;
char	   *plc_guc_role = "";
char	   *plc_guc_token_file = "";
bool		plc_guc_allow_superuser = false;
int			plc_guc_client_idle_timeout = 0;
int			plc_guc_statement_timeout = 10 * 1000;
int			plc_guc_lock_timeout = 5 * 1000;
int			plc_guc_request_limit = 16 * 1024 * 1024;
int			plc_guc_output_limit = 64 * 1024 * 1024;
int			plc_guc_pipeline_limit = 256;

/*
 * Is this, at first sight, a host name, an IP address or "*"?  If not, says what
 * is wrong.  Whether it exists on this machine is seen when a worker listens.
 */
static bool
check_address(const char *address)
{
	const char *colon = strchr(address, ':');

	if (colon != NULL && strchr(colon + 1, ':') == NULL)
	{
		GUC_check_errdetail("\"%s\" has a port.", address);
		GUC_check_errhint("Set \"pg_local_cache.port\" for the port.");
		return false;
	}
	if (*address == '\0' || strpbrk(address, " \t\r\n[]/") != NULL)
	{
		GUC_check_errdetail("\"%s\" is neither a host name nor an IP address.", address);
		GUC_check_errhint("Separate addresses by commas, and write IPv6 addresses without brackets.");
		return false;
	}
	return true;
}

static bool
check_listen_addresses(char **value, void **extra, GucSource source)
{
	char	   *copy = pstrdup(*value);
	List	   *addresses;
	ListCell   *cell;
	bool		valid = SplitGUCList(copy, ',', &addresses);

	if (!valid)
		GUC_check_errdetail("List syntax is invalid.");
	foreach(cell, addresses)
		valid = valid && check_address(lfirst(cell));
	list_free(addresses);
	pfree(copy);
	return valid;
}

/* The name of the socket in this folder must fit into an address. */
static bool
check_unix_socket_directory(char **value, void **extra, GucSource source)
{
	const size_t name_len = strlen("/.s.PGLC.65535");

	if (strlen(*value) + name_len >= UNIXSOCK_PATH_BUFLEN)
	{
		GUC_check_errdetail("The path is longer than %d bytes.",
							(int) (UNIXSOCK_PATH_BUFLEN - 1 - name_len));
		return false;
	}
	canonicalize_path(*value);
	return true;
}

/* The server would cut a longer name off, and find another one. */
static bool
check_name(char **value, void **extra, GucSource source)
{
	if (strlen(*value) < NAMEDATALEN)
		return true;
	GUC_check_errdetail("A name has at most %d bytes.", NAMEDATALEN - 1);
	return false;
}

static bool
check_database(char **value, void **extra, GucSource source)
{
	if (**value != '\0')
		return check_name(value, extra, source);
	GUC_check_errdetail("The name is empty.");
	return false;
}

/* Where the endpoint is, and how large: at server start only. */
static void
define_endpoint_start(void)
{
	/* As on any port of PostgreSQL, nobody is there unless asked for. */
	DefineCustomIntVariable("pg_local_cache.port",
							"Sets the TCP port on which Redis clients are served.",
							"0 serves none over TCP.",
							&plc_guc_port, 0, 0, 65535,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);

	/* Nobody beyond this machine unless asked for. */
	DefineCustomStringVariable("pg_local_cache.listen_addresses",
							   "Sets the host names or IP addresses on which Redis clients are served.",
							   NULL,
							   &plc_guc_listen_addresses, "localhost",
							   PGC_POSTMASTER, GUC_LIST_INPUT, check_listen_addresses, NULL, NULL);

	DefineCustomStringVariable("pg_local_cache.unix_socket_directory",
							   "Sets the folder of the Unix socket on which Redis clients are served.",
							   "Empty makes no Unix socket.",
							   &plc_guc_unix_socket_directory, "",
							   PGC_POSTMASTER, GUC_SUPERUSER_ONLY, check_unix_socket_directory, NULL, NULL);

	/* Two, so that one that is busy or starts anew does not stand for all. */
	DefineCustomIntVariable("pg_local_cache.workers",
							"Sets the number of processes that serve Redis clients.",
							"Each takes one of \"max_worker_processes\".",
							&plc_guc_workers, 2, 1, PLC_MAX_WORKERS,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);

	DefineCustomStringVariable("pg_local_cache.database",
							   "Sets the database whose tables Redis clients read.",
							   NULL,
							   &plc_guc_database, "postgres",
							   PGC_POSTMASTER, 0, check_database, NULL, NULL);

	/* A slot for each is reserved in shared memory. */
	DefineCustomIntVariable("pg_local_cache.max_clients",
							"Sets the number of Redis clients that may be connected at once.",
							NULL,
							&plc_guc_max_clients, 1000, 1, 100000,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);
}

/* Who clients are: by reload. */
static void
define_endpoint_identity(void)
{
	DefineCustomStringVariable("pg_local_cache.role",
							   "Sets the role that Redis clients act as which name none.",
							   "Empty lets clients only authenticate as a role, with its password.",
							   &plc_guc_role, "",
							   PGC_SIGHUP, 0, check_name, NULL, NULL);

	DefineCustomStringVariable("pg_local_cache.token_file",
							   "Sets the file that holds the token with which Redis clients become pg_local_cache.role.",
							   "Empty asks clients on this machine for no token, and serves no others.",
							   &plc_guc_token_file, "",
							   PGC_SIGHUP, GUC_SUPERUSER_ONLY, NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_local_cache.allow_superuser",
							 "Lets Redis clients act as a superuser.",
							 NULL,
							 &plc_guc_allow_superuser, false,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
}

/* What one client may take of the others' time and memory: by reload. */
static void
define_endpoint_limits(void)
{
	DefineCustomIntVariable("pg_local_cache.client_idle_timeout",
							"Sets how long a Redis client may be idle before it is disconnected.",
							"0 disconnects none.",
							&plc_guc_client_idle_timeout, 0, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	/* The server's settings of these names are for sessions, which hold nobody up. */
	DefineCustomIntVariable("pg_local_cache.statement_timeout",
							"Sets the longest time that a command of a Redis client may run.",
							"0 sets no limit.",
							&plc_guc_statement_timeout, 10 * 1000, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	DefineCustomIntVariable("pg_local_cache.lock_timeout",
							"Sets the longest time that a command of a Redis client waits for a lock.",
							"0 sets no limit.",
							&plc_guc_lock_timeout, 5 * 1000, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	/* A row is one argument, and must fit where PostgreSQL keeps a text, escaped. */
	DefineCustomIntVariable("pg_local_cache.request_limit",
							"Sets the size of the largest request that is taken from a Redis client.",
							NULL,
							&plc_guc_request_limit, 16 * 1024 * 1024, 64 * 1024, 512 * 1024 * 1024,
							PGC_SIGHUP, GUC_UNIT_BYTE, NULL, NULL, NULL);

	DefineCustomIntVariable("pg_local_cache.output_limit",
							"Sets the size of the largest reply to a Redis client.",
							NULL,
							&plc_guc_output_limit, 64 * 1024 * 1024, 64 * 1024, 1024 * 1024 * 1024,
							PGC_SIGHUP, GUC_UNIT_BYTE, NULL, NULL, NULL);

	/*
	 * Fairness only.  What commands of one turn share (a transaction, a snapshot, a
	 * few system calls) costs some ten microseconds, a GET one or two: with 256 the
	 * share is lost in them, and the others wait for less than a millisecond.
	 */
	DefineCustomIntVariable("pg_local_cache.pipeline_limit",
							"Sets how many commands of one Redis client run before it is the turn of others.",
							NULL,
							&plc_guc_pipeline_limit, 256, 1, 1000 * 1000,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
}

/* Define all settings.  Called once in each process that loads the library. */
void
plc_guc_define(void)
{
	/* Any session may turn the cache off for itself. */
	DefineCustomBoolVariable("pg_local_cache.enabled",
							 "Reads rows through the cache.",
							 "When off, the same functions read through the index.",
							 &plc_guc_enabled, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	/* Large rows push out many small ones; the store has its own limit besides. */
	DefineCustomIntVariable("pg_local_cache.max_row_size",
							"Sets the size of the largest row, as JSON, that is cached.",
							"Larger rows are served and not cached.",
							&plc_guc_max_row_size, 1024 * 1024, 0, 64 * 1024 * 1024,
							PGC_SUSET, GUC_UNIT_BYTE, NULL, NULL, NULL);

	/* The cache's own consistency check, in production. */
	DefineCustomRealVariable("pg_local_cache.verify",
							 "Sets the share of cache hits that are fetched again and compared.",
							 "A difference is counted, reported as a warning, and the fetched row is served.",
							 &plc_guc_verify, 0.0, 0.0, 1.0,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	if (!process_shared_preload_libraries_in_progress)
		return;

	/*
	 * The one size to choose: index, rows and counters all live in it.  A terabyte
	 * at most, or what a 32-bit server can address.
	 */
	DefineCustomIntVariable("pg_local_cache.memory",
							"Sets the amount of shared memory that the cache uses.",
							NULL,
							&plc_guc_memory, 128 * 1024, 2 * 1024, Min(INT_MAX / 2, MAX_KILOBYTES),
							PGC_POSTMASTER, GUC_UNIT_KB, NULL, NULL, NULL);
	define_endpoint_start();
	define_endpoint_identity();
	define_endpoint_limits();

	MarkGUCPrefixReserved("pg_local_cache");
}
