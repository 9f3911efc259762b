/*
 * identity.c
 *		In whose name a connection's commands run.
 *
 * Who gave a password acts as that role.  Who gave the token, or need not, acts as
 * pg_local_cache.role.  What was found is remembered with the connection until a role,
 * a membership, a database or a setting changes; then the next command looks again, so
 * a role that was dropped or locked out is out with its next command.
 *
 * What keeps clients from being served is looked for when there is nothing else to do,
 * and told to health().
 */
#include "postgres.h"

#include "commands/extension.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "guc.h"
#include "resp/identity.h"
#include "resp/server.h"
#include "resp/turn.h"
#include "resp/worker.h"

/* An idle worker hears of nothing by itself; one that waits for a role or the extension looks so often. */
#define REVIEW_PAUSE_US	USECS_PER_SEC

static uint64 state = 1;		/* counts changes; 0 is no state */
static uint64 reviewed_state = 0;

static void
on_change(Datum arg, int cacheid, uint32 hash)
{
	state++;
}

/* The extension comes and goes with its functions; its schema may stay. */
static void
on_function(Datum arg, int cacheid, uint32 hash)
{
	reviewed_state = 0;
}

/* Once, and before anything is remembered. */
static void
watch(void)
{
	static bool watching = false;

	if (watching)
		return;
	watching = true;
	CacheRegisterSyscacheCallback(PROCOID, on_function, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, on_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, on_change, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, on_change, (Datum) 0);
}

void
plc_identity_changed(void)
{
	state++;
}

bool
plc_identity_is_known(const PlcConn *conn)
{
	return OidIsValid(conn->role) ||
		(!conn->by_password && conn->local && plc_guc_role[0] != '\0' && !plc_auth_token_required());
}

static Oid
default_role(void)
{
	const char *reason = NULL;
	Oid			role = plc_auth_default_role(&reason);

	if (!OidIsValid(role))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
				 errmsg("role \"%s\" of pg_local_cache.role cannot be used: %s", plc_guc_role,
						reason ? reason : "none is set")));
	return role;
}

/*
 * Looks again whether a role that gave its password may still be here.  If not, the
 * connection does not become somebody else, who may be allowed more.
 */
static void
check_own_role(PlcConn *conn)
{
	const char *reason;

	if (plc_auth_role_usable(conn->role, true, &reason))
		return;
	plc_conn_become(conn, InvalidOid, true);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
			 errmsg("role of this connection cannot be used any more: %s", reason)));
}

Oid
plc_identity_role(PlcConn *conn)
{
	uint64		seen;

	watch();
	seen = state;				/* what changes during the look makes another one necessary */
	if (conn->role_checked == seen)
		return conn->role;
	if (conn->by_password)
		check_own_role(conn);
	else
	{
		Oid			role = default_role();

		if (role != conn->role)
			plc_conn_become(conn, role, false);
	}
	conn->role_checked = seen;
	return conn->role;
}

/* ---------- what keeps clients from being served ---------- */

static TimestampTz review_at = 0;

static const char *
extension_problem(void)
{
	if (OidIsValid(get_extension_oid("pg_local_cache", true)))
		return NULL;
	return psprintf("extension \"pg_local_cache\" has not been created in database \"%s\"",
					plc_guc_database);
}

static const char *
role_problem(void)
{
	const char *reason = NULL;

	(void) plc_auth_default_role(&reason);
	if (reason == NULL)
		return NULL;
	return psprintf("role \"%s\" of pg_local_cache.role cannot be used: %s", plc_guc_role, reason);
}

/* token.c has told the log of its file. */
static void
log_problem(const char *extension, const char *role)
{
	if (extension != NULL)
		ereport(LOG,
				(errmsg("pg_local_cache has no rows to serve: %s", extension),
				 errhint("Create it there, or set pg_local_cache.database to where the tables are.")));
	else if (role != NULL)
		ereport(LOG,
				(errmsg("pg_local_cache serves only clients that authenticate as a role: %s", role)));
}

/* Is there any?  The worst, to health(), and to the log once, by one worker. */
static bool
report_problem(void)
{
	static char last[256] = "";
	char		problem[256] = "";
	const char *extension = extension_problem();
	const char *token = extension ? NULL : plc_auth_token_problem();
	const char *role = extension || token ? NULL : role_problem();

	if (extension || token || role)
		strlcpy(problem, extension ? extension : token ? token : role, sizeof(problem));
	if (strcmp(problem, last) != 0)
	{
		strlcpy(last, problem, sizeof(last));
		plc_worker_report(plc_my_worker, PLC_WORKER_SERVING, problem);
		if (plc_my_number == 0)
			log_problem(extension, role);
	}
	return problem[0] != '\0';
}

void
plc_identity_review(void)
{
	watch();
	if (reviewed_state == state && (review_at == 0 || review_at > plc_server_now()))
		return;
	plc_turn_begin();
	reviewed_state = state;
	review_at = report_problem() ? plc_server_now() + REVIEW_PAUSE_US : 0;
	plc_turn_end();
}

TimestampTz
plc_identity_review_at(void)
{
	return review_at;
}
