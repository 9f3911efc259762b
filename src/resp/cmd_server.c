/*
 * cmd_server.c
 *		What clients and tools ask a server about itself: CONFIG, INFO, TIME, ROLE, and
 *		what we refuse in the words that they look for.
 */
#include "postgres.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>

#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "guc.h"
#include "metrics.h"
#include "resp/cmd_scan.h"
#include "resp/command.h"
#include "resp/turn.h"

/* ---------- CONFIG ---------- */

/* A setting as Redis would call it. */
typedef struct Setting
{
	const char *name;
	const char *value;
} Setting;

#define MAX_SETTINGS	16

/* Bytes of a pattern that are looked at */
#define MAX_PATTERN		256

static int
collect_settings(Setting *settings)
{
	int			n = 0;

	settings[n++] = (Setting) {"appendonly", "no"};
	settings[n++] = (Setting) {"cluster-enabled", "no"};
	settings[n++] = (Setting) {"databases", "16"};
	settings[n++] = (Setting) {"maxclients", psprintf("%d", plc_guc_max_clients)};
	settings[n++] = (Setting) {"maxmemory", psprintf("%lld", (long long) plc_guc_memory * 1024)};
	settings[n++] = (Setting) {"maxmemory-policy", "allkeys-lfu"};
	settings[n++] = (Setting) {"port", psprintf("%d", plc_guc_port)};
	settings[n++] = (Setting) {"proto-max-bulk-len", psprintf("%d", plc_guc_request_limit)};
	settings[n++] = (Setting) {"replica-read-only", "yes"};
	settings[n++] = (Setting) {"save", ""};
	settings[n++] = (Setting) {"slave-read-only", "yes"};
	settings[n++] = (Setting) {"timeout", psprintf("%d", plc_guc_client_idle_timeout / 1000)};
	Assert(n <= MAX_SETTINGS);
	return n;
}

/* Is it asked for by one of the patterns?  They are of any case, names are lower case. */
static bool
is_wanted(const PlcRequest *request, const char *name)
{
	for (int i = 2; i < request->argc; i++)
	{
		char		pattern[MAX_PATTERN];
		size_t		len = Min(request->argv[i].len, sizeof(pattern));

		CHECK_FOR_INTERRUPTS();
		for (size_t c = 0; c < len; c++)
			pattern[c] = pg_ascii_tolower((unsigned char) request->argv[i].data[c]);
		if (plc_glob_match(pattern, len, name, strlen(name)))
			return true;
	}
	return false;
}

PlcOutcome
plc_cmd_config_get(PlcRequest *request)
{
	Setting		settings[MAX_SETTINGS];
	int			n = collect_settings(settings);
	int			wanted = 0;

	for (int i = 0; i < n; i++)
		if (is_wanted(request, settings[i].name))
			settings[wanted++] = settings[i];
	plc_reply_map(request->out, request->conn->protocol, wanted);
	for (int i = 0; i < wanted; i++)
	{
		plc_reply_string(request->out, settings[i].name);
		plc_reply_string(request->out, settings[i].value);
	}
	return PLC_DONE;
}

PlcOutcome
plc_cmd_config_refused(PlcRequest *request)
{
	plc_reply_error(request->out,
					"ERR settings are PostgreSQL's: use ALTER SYSTEM SET pg_local_cache.…, then pg_reload_conf()");
	return PLC_DONE;
}

/* ---------- INFO ---------- */

static void
info_server(StringInfo info)
{
	struct utsname os;
	int64		uptime = (GetCurrentTimestamp() - PgStartTime) / USECS_PER_SEC;

	uname(&os);
	appendStringInfo(info,
					 "redis_version:" PLC_REDIS_VERSION "\r\nredis_mode:standalone\r\n"
					 "pg_local_cache_version:" PLC_VERSION "\r\npostgresql_version:" PG_VERSION "\r\n"
					 "os:%s %s %s\r\narch_bits:%d\r\nprocess_id:%d\r\n"
					 "run_id:%016llx%016llx00000000\r\n"
					 "tcp_port:%d\r\nuptime_in_seconds:%lld\r\nuptime_in_days:%lld\r\n"
					 "executable:%s\r\n",
					 os.sysname, os.release, os.machine, SIZEOF_VOID_P * 8, PostmasterPid,
					 (unsigned long long) GetSystemIdentifier(), (unsigned long long) PgStartTime,
					 plc_guc_port, (long long) uptime, (long long) uptime / 86400, my_exec_path);
}

static void
info_clients(StringInfo info)
{
	appendStringInfo(info,
					 "connected_clients:%d\r\nmaxclients:%d\r\nblocked_clients:0\r\ntracking_clients:0\r\n",
					 plc_endpoint_clients(), plc_guc_max_clients);
}

static void
info_memory(StringInfo info)
{
	long long	bytes = (long long) plc_guc_memory * 1024;

	appendStringInfo(info,
					 "used_memory:%lld\r\nused_memory_human:%.2fM\r\nmaxmemory:%lld\r\nmaxmemory_human:%.2fM\r\n"
					 "maxmemory_policy:allkeys-lfu\r\n",
					 bytes, bytes / 1048576.0, bytes, bytes / 1048576.0);
}

static void
info_persistence(StringInfo info)
{
	appendStringInfoString(info, "loading:0\r\nrdb_changes_since_last_save:0\r\naof_enabled:0\r\n");
}

static void
info_stats(StringInfo info)
{
	uint64		n[PLC_ENDPOINT_NCOUNTERS];

	plc_endpoint_totals(n);
	appendStringInfo(info,
					 "total_connections_received:" UINT64_FORMAT "\r\n"
					 "total_commands_processed:" UINT64_FORMAT "\r\n"
					 "total_net_input_bytes:" UINT64_FORMAT "\r\ntotal_net_output_bytes:" UINT64_FORMAT "\r\n"
					 "instantaneous_ops_per_sec:0\r\nrejected_connections:" UINT64_FORMAT "\r\n"
					 "keyspace_hits:" UINT64_FORMAT "\r\nkeyspace_misses:" UINT64_FORMAT "\r\n"
					 "total_error_replies:" UINT64_FORMAT "\r\n"
					 "tracking_total_keys:0\r\ntracking_total_items:0\r\n",
					 n[PLC_ENDPOINT_CONNECTIONS], n[PLC_ENDPOINT_COMMANDS],
					 n[PLC_ENDPOINT_BYTES_IN], n[PLC_ENDPOINT_BYTES_OUT],
					 n[PLC_ENDPOINT_REJECTED], n[PLC_ENDPOINT_HITS], n[PLC_ENDPOINT_MISSES],
					 n[PLC_ENDPOINT_ERRORS]);
}

static void
info_replication(StringInfo info)
{
	appendStringInfo(info, "role:%s\r\nconnected_slaves:0\r\n",
					 RecoveryInProgress() ? "slave" : "master");
}

static void
info_cpu(StringInfo info)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	appendStringInfo(info, "used_cpu_sys:%ld.%06ld\r\nused_cpu_user:%ld.%06ld\r\n",
					 (long) usage.ru_stime.tv_sec, (long) usage.ru_stime.tv_usec,
					 (long) usage.ru_utime.tv_sec, (long) usage.ru_utime.tv_usec);
}

static void
info_cluster(StringInfo info)
{
	appendStringInfoString(info, "cluster_enabled:0\r\n");
}

static void
info_keyspace(StringInfo info)
{
	int64		rows;

	if (plc_scan_estimate_all(&rows) && rows > 0)
		appendStringInfo(info, "db0:keys=" INT64_FORMAT ",expires=0,avg_ttl=0\r\n", rows);
}

static const struct
{
	const char *name;			/* as in the title */
	const char *asked;			/* as in the argument */
	void		(*append) (StringInfo info);
}			sections[] = {
	{"Server", "server", info_server},
	{"Clients", "clients", info_clients},
	{"Memory", "memory", info_memory},
	{"Persistence", "persistence", info_persistence},
	{"Stats", "stats", info_stats},
	{"Replication", "replication", info_replication},
	{"CPU", "cpu", info_cpu},
	{"Cluster", "cluster", info_cluster},
	{"Keyspace", "keyspace", info_keyspace},
};

static bool
section_wanted(const PlcRequest *request, const char *section)
{
	for (int i = 1; i < request->argc; i++)
		if (plc_arg_is(&request->argv[i], section) || plc_arg_is(&request->argv[i], "all") ||
			plc_arg_is(&request->argv[i], "default") || plc_arg_is(&request->argv[i], "everything"))
			return true;
	return request->argc == 1;
}

PlcOutcome
plc_cmd_info(PlcRequest *request)
{
	StringInfoData info;

	initStringInfo(&info);
	for (int i = 0; i < lengthof(sections); i++)
	{
		if (!section_wanted(request, sections[i].asked))
			continue;
		appendStringInfo(&info, "%s# %s\r\n", info.len > 0 ? "\r\n" : "", sections[i].name);
		sections[i].append(&info);
	}
	plc_reply_verbatim(request->out, request->conn->protocol, info.data, info.len);
	return PLC_DONE;
}

/* ---------- the rest ---------- */

PlcOutcome
plc_cmd_time(PlcRequest *request)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	plc_reply_array(request->out, 2);
	plc_reply_string(request->out, psprintf("%ld", (long) now.tv_sec));
	plc_reply_string(request->out, psprintf("%ld", (long) now.tv_usec));
	return PLC_DONE;
}

PlcOutcome
plc_cmd_role(PlcRequest *request)
{
	if (RecoveryInProgress())
	{
		plc_reply_array(request->out, 5);
		plc_reply_string(request->out, "slave");
		plc_reply_string(request->out, "");
		plc_reply_integer(request->out, 0);
		plc_reply_string(request->out, "connected");
		plc_reply_integer(request->out, 0);
		return PLC_DONE;
	}
	plc_reply_array(request->out, 3);
	plc_reply_string(request->out, "master");
	plc_reply_integer(request->out, 0);
	plc_reply_array(request->out, 0);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_no_cluster(PlcRequest *request)
{
	plc_reply_error(request->out, "ERR This instance has cluster support disabled");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_no_sentinel(PlcRequest *request)
{
	plc_reply_error(request->out, "ERR unknown command 'SENTINEL': this instance is no Sentinel");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_acl_whoami(PlcRequest *request)
{
	plc_reply_string(request->out, GetUserNameFromId(GetUserId(), false));
	return PLC_DONE;
}

PlcOutcome
plc_cmd_empty_array(PlcRequest *request)
{
	plc_reply_array(request->out, 0);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_zero(PlcRequest *request)
{
	plc_reply_integer(request->out, 0);
	return PLC_DONE;
}

PlcOutcome
plc_cmd_no_expiry(PlcRequest *request)
{
	plc_reply_error(request->out,
					psprintf("ERR rows do not expire: %s is not supported",
							 plc_command_upper(request->command->name)));
	return PLC_DONE;
}

PlcOutcome
plc_cmd_no_keys(PlcRequest *request)
{
	plc_reply_error(request->out,
					plc_arg_is(&request->argv[0], "keys")
					? "ERR KEYS is not supported: use SCAN, which takes a pattern too"
					: "ERR RANDOMKEY is not supported: use SCAN");
	return PLC_DONE;
}

PlcOutcome
plc_cmd_no_subscribe(PlcRequest *request)
{
	plc_reply_error(request->out,
					psprintf("ERR %s is not supported: this server sends no messages",
							 plc_command_upper(request->command->name)));
	return PLC_DONE;
}

PlcOutcome
plc_cmd_no_watch(PlcRequest *request)
{
	plc_reply_error(request->out,
					"ERR WATCH is not supported: EXEC is one transaction at REPEATABLE READ");
	return PLC_DONE;
}

/* What has been counted in this turn is told too. */
PlcOutcome
plc_cmd_stat(PlcRequest *request)
{
	StringInfoData json;

	plc_turn_end_reads();
	initStringInfo(&json);
	plc_metrics_json(&json);
	plc_reply_bulk(request->out, json.data, json.len);
	return PLC_DONE;
}
