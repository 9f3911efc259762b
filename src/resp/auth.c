/*
 * auth.c
 *		Who a client is: token, role and password.
 *
 * A check of a password takes some milliseconds of computing, more if the
 * administrator wants it so, and a worker has others to serve in the meantime.  So
 * a check is a thing that the connection keeps and asks again and again, and that
 * does a slice of its work each time.
 *
 * Its life:
 *
 *		QUEUED		waits for its turn; one check computes at a time
 *		COMPUTING	has its turn: a slice a call
 *		LATE		wrong, and says so when the time has come
 *
 * The queue.  Checks stand in it from their first call to their last slice, and the
 * first of them computes.  It goes to the end after a quantum that is enough for
 * usual secrets, so one with a million rounds does not keep the others out, and also
 * if its connection has stopped asking, for a client that does not read its replies
 * may be served no more.  The others are told to come again after a time that grows
 * with their place, so that thousands of them cost little.
 *
 * What is proven is remembered.  When a server has been restarted, all of an
 * application's connections come back at once with the same password; computing for
 * each of them would keep the last waiting for minutes, and its time-out would send
 * it to the end.  So the worker keeps a keyed digest (of role, secret and password)
 * of the last few that were right.  A new secret makes another digest, so there is
 * nothing to invalidate.  The key is random, lives in this process only, and is never
 * shown: what the digests give away, they give away to those who can read the
 * worker's memory, where passwords pass in plain text anyway.
 *
 * The same digest, taken at the beginning and in the end, tells whether the role
 * was altered, dropped or renamed in between, and that the work was done for this
 * password and no other.
 *
 * Failures are answered late, later the more there are in this worker.  A wrong
 * password is so never answered at once, whatever was wrong, while a right one is.
 * While failures are frequent, slices are also spaced, so that guessing does not take
 * the worker away from the others.
 *
 * All is private to the worker; there is nothing to lock.  Checks live in
 * TopMemoryContext, a few hundred bytes each, at most one a connection.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "resp/auth.h"
#include "resp/auth_internal.h"

#define MILLISECOND		INT64CONST(1000)

/* Slices in a row: more than the 41 of a usual secret */
#define QUANTUM			50

/* A check that was to ask again so long ago has a connection that does not */
#define OVERDUE			(100 * MILLISECOND)

/* The longest that one in the queue is sent away for, and what each place before it makes of that */
#define LONGEST_WAIT	(1000 * MILLISECOND)
#define WAIT_A_PLACE	(2 * MILLISECOND)

/* From the first failure's delay to the longest it doubles six times; one is forgiven now and then */
#define FIRST_DELAY		(100 * MILLISECOND)
#define LONGEST_DELAY	(5000 * MILLISECOND)
#define MOST_FAILURES	10
#define FORGIVE_EVERY	(250 * MILLISECOND)

/* From so many recent failures on, slices are a millisecond apart */
#define MANY_FAILURES	4

/* Proven passwords that are remembered: roles of applications, old and new password each */
#define REMEMBERED		64

typedef uint8 Digest[PG_SHA256_DIGEST_LENGTH];

typedef enum Step
{
	QUEUED,
	COMPUTING,
	LATE
} Step;

struct PlcAuth
{
	Step		step;
	TimestampTz due;			/* when it is to ask again */

	/* QUEUED and COMPUTING */
	dlist_node	node;			/* in queue */
	uint64		place;			/* grows along the queue */
	int			slices;			/* of its quantum that are used up */

	/* COMPUTING */
	Digest		claim;			/* what is to be proven */
	PlcStretch	stretch;
};

static dlist_head queue = DLIST_STATIC_INIT(queue);
static uint64 last_place = 0;

/* ---------- failures ---------- */

static int	failures = 0;		/* recent ones */
static TimestampTz failures_at = 0; /* when they were last counted down */

static int
recent_failures(TimestampTz now)
{
	int64		forgiven = (now - failures_at) / FORGIVE_EVERY;

	/* A clock that was set back forgives nothing, and starts anew. */
	if (forgiven != 0)
	{
		failures = forgiven > 0 ? Max(failures - forgiven, 0) : failures;
		failures_at = now;
	}
	return failures;
}

static TimestampTz
late_from(TimestampTz now)
{
	int			before = recent_failures(now);

	failures = Min(before + 1, MOST_FAILURES);
	return now + Min(FIRST_DELAY << before, LONGEST_DELAY);
}

/* The bytes of a name that can be shown; others, which might do something to a terminal, in hexadecimal. */
static void
escape(const char *name, size_t len, char *out)
{
	for (size_t i = 0; i < Min(len, NAMEDATALEN - 1); i++)
	{
		unsigned char byte = name[i];

		if (byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\')
			*out++ = byte;
		else
			out += sprintf(out, "\\x%02x", byte);
	}
	*out = '\0';
}

/* One a second is written; the others count.  The name is NULL for a token. */
static void
log_failure(const PlcClaim *claim, const char *problem, TimestampTz now)
{
	static TimestampTz logged_at = 0;
	static uint64 left_out = 0;
	char		name[4 * NAMEDATALEN];

	if (now >= logged_at && now < logged_at + USECS_PER_SEC)
	{
		left_out++;
		return;
	}
	if (claim->name != NULL)
		escape(claim->name, claim->name_len, name);
	ereport(LOG,
			(errcode(ERRCODE_INVALID_PASSWORD),
			 claim->name != NULL ?
			 errmsg("authentication failed for role \"%s\": %s", name, problem) :
			 errmsg("authentication failed: %s", problem),
			 left_out > 0 ?
			 errdetail_plural("The client is %s. %llu failure before it was not logged.",
							  "The client is %s. %llu failures before it were not logged.",
							  (unsigned long) left_out, claim->address,
							  (unsigned long long) left_out) :
			 errdetail("The client is %s.", claim->address)));
	logged_at = now;
	left_out = 0;
}

/* ---------- the life of a check ---------- */

static PlcAuth *
make(Step step)
{
	PlcAuth    *auth = MemoryContextAllocZero(TopMemoryContext, sizeof(PlcAuth));

	auth->step = step;
	return auth;
}

static void
enter_queue(PlcAuth *auth)
{
	auth->place = ++last_place;
	auth->slices = 0;
	dlist_push_tail(&queue, &auth->node);
}

static void
leave_queue(PlcAuth *auth)
{
	if (auth->step != LATE)
		dlist_delete(&auth->node);
}

void
plc_auth_abandon(PlcAuth **auth)
{
	if (*auth == NULL)
		return;
	leave_queue(*auth);
	explicit_bzero(*auth, sizeof(PlcAuth));
	pfree(*auth);
	*auth = NULL;
}

static void
go_to_end(PlcAuth *auth)
{
	dlist_delete(&auth->node);
	enter_queue(auth);
}

static PlcAuth *
first_in_queue(void)
{
	return dlist_head_element(PlcAuth, node, &queue);
}

static PlcAuthResult
come_again(PlcAuth *auth, TimestampTz when, TimestampTz *retry_at)
{
	*retry_at = auth->due = when;
	return PLC_AUTH_WORKING;
}

static bool
has_turn(PlcAuth *auth, TimestampTz now)
{
	PlcAuth    *first;

	while ((first = first_in_queue()) != auth && first->due + OVERDUE < now)
		go_to_end(first);
	return first == auth;
}

static TimestampTz
turn_expected(const PlcAuth *auth, TimestampTz now)
{
	uint64		before = auth->place - first_in_queue()->place;

	return now + Min(before * WAIT_A_PLACE, LONGEST_WAIT);
}

/* After a slice: when comes the next? */
static TimestampTz
next_slice(PlcAuth *auth, TimestampTz now)
{
	if (++auth->slices >= QUANTUM)
		go_to_end(auth);
	return recent_failures(now) < MANY_FAILURES ? now : now + MILLISECOND;
}

static void
become_late(PlcAuth *auth, const PlcClaim *claim, const char *problem)
{
	TimestampTz now = GetCurrentTimestamp();

	leave_queue(auth);
	auth->step = LATE;
	auth->due = late_from(now);
	explicit_bzero(&auth->stretch, sizeof(auth->stretch));
	log_failure(claim, problem, now);
}

/* No clock that is set back makes anybody wait for hours. */
static PlcAuthResult
say_wrong(PlcAuth **auth, TimestampTz *retry_at)
{
	TimestampTz now = GetCurrentTimestamp();

	if (now < (*auth)->due && (*auth)->due <= now + LONGEST_DELAY)
		return come_again(*auth, (*auth)->due, retry_at);
	plc_auth_abandon(auth);
	return PLC_AUTH_WRONG;
}

/* ---------- what is proven ---------- */

static Digest remembered[REMEMBERED];
static int	next_to_forget = 0;

static const uint8 *
digest_key(void)
{
	static Digest key;
	static bool made = false;

	if (!made && !pg_strong_random(key, sizeof(key)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random key")));
	made = true;
	return key;
}

/* No two claims make the same bytes: the secret ends with its zero, and the password is the rest. */
static void
digest_claim(const PlcSecret *secret, const PlcClaim *claim, Digest digest)
{
	PlcPart		parts[3] = {
		{&secret->role, sizeof(secret->role)},
		{secret->text, strlen(secret->text) + 1},
		{claim->password, claim->password_len}
	};

	plc_hmac(digest_key(), sizeof(Digest), parts, lengthof(parts), digest);
}

static bool
is_remembered(const Digest digest)
{
	for (int i = 0; i < REMEMBERED; i++)
		if (timingsafe_bcmp(remembered[i], digest, sizeof(Digest)) == 0)
			return true;
	return false;
}

static void
remember(const Digest digest)
{
	memcpy(remembered[next_to_forget], digest, sizeof(Digest));
	next_to_forget = (next_to_forget + 1) % REMEMBERED;
}

/* ---------- passwords ---------- */

/*
 * Is it right because somebody has proven it before?  Asked at each call until the
 * check has its turn, for those before it in the queue may have the same password.
 */
static bool
known_already(const PlcClaim *claim, Oid *role)
{
	PlcSecret	secret;
	Digest		digest;
	const char *reason;
	bool		found = plc_secret_find(claim, &secret) == NULL;

	digest_claim(&secret, claim, digest);
	*role = secret.role;
	return found && is_remembered(digest) && plc_auth_role_usable(secret.role, true, &reason);
}

static void
start(PlcAuth *auth, const PlcClaim *claim)
{
	PlcSecret	secret;

	(void) plc_secret_find(claim, &secret); /* a problem is found again in the end */
	digest_claim(&secret, claim, auth->claim);
	plc_secret_begin(&secret, claim, &auth->stretch);
	auth->step = COMPUTING;
}

/* With the work done: what is wrong?  NULL if nothing is. */
static const char *
verdict(const PlcAuth *auth, const PlcClaim *claim, Oid *role)
{
	PlcSecret	secret;
	Digest		digest;
	const char *problem = plc_secret_find(claim, &secret);

	if (problem != NULL)
		return problem;
	digest_claim(&secret, claim, digest);
	if (timingsafe_bcmp(digest, auth->claim, sizeof(Digest)) != 0)
		return "the role was changed during the check";
	if (!plc_secret_proven(&secret, claim, &auth->stretch))
		return "the password is wrong";
	(void) plc_auth_role_usable(secret.role, true, &problem);
	*role = secret.role;
	return problem;
}

static PlcAuthResult
conclude(PlcAuth **auth, const PlcClaim *claim, Oid *role, TimestampTz *retry_at)
{
	const char *problem = verdict(*auth, claim, role);

	if (problem == NULL)
	{
		remember((*auth)->claim);
		plc_auth_abandon(auth);
		return PLC_AUTH_OK;
	}
	become_late(*auth, claim, problem);
	return say_wrong(auth, retry_at);
}

static PlcAuthResult
go_on(PlcAuth **auth, const PlcClaim *claim, Oid *role, TimestampTz *retry_at)
{
	TimestampTz now = GetCurrentTimestamp();

	if ((*auth)->step == LATE)
		return say_wrong(auth, retry_at);
	if ((*auth)->step == QUEUED && known_already(claim, role))
	{
		plc_auth_abandon(auth);
		return PLC_AUTH_OK;
	}
	if (!has_turn(*auth, now))
		return come_again(*auth, turn_expected(*auth, now), retry_at);
	if ((*auth)->step == QUEUED)
		start(*auth, claim);
	if (!plc_stretch_go_on(&(*auth)->stretch))
		return come_again(*auth, next_slice(*auth, now), retry_at);
	return conclude(auth, claim, role, retry_at);
}

PlcAuthResult
plc_auth_password(PlcAuth **auth, const char *address,
				  const char *name, size_t name_len,
				  const char *password, size_t password_len,
				  Oid *role, TimestampTz *retry_at)
{
	PlcClaim	claim = {name, name_len, password, password_len, address};
	volatile PlcAuthResult result = PLC_AUTH_OK;

	if (*auth == NULL)
	{
		*auth = make(QUEUED);
		enter_queue(*auth);
	}

	/* What an error leaves must not be gone on with for another claim. */
	PG_TRY();
	{
		result = go_on(auth, &claim, role, retry_at);
	}
	PG_CATCH();
	{
		plc_auth_abandon(auth);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return result;
}

/* ---------- the token ---------- */

PlcAuthResult
plc_auth_token(PlcAuth **auth, const char *address,
			   const char *token, size_t len, TimestampTz *retry_at)
{
	PlcClaim	claim = {.address = address};

	if (*auth == NULL)
	{
		if (plc_token_matches(token, len))
			return PLC_AUTH_OK;
		*auth = make(LATE);
		become_late(*auth, &claim, "the token is wrong");
	}
	return say_wrong(auth, retry_at);
}

/* ---------- roles ---------- */

bool
plc_auth_role_usable(Oid role, bool login, const char **reason)
{
	HeapTuple	tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
	FormData_pg_authid form;

	*reason = NULL;
	if (HeapTupleIsValid(tuple))
	{
		form = *(Form_pg_authid) GETSTRUCT(tuple);
		ReleaseSysCache(tuple);
	}

	if (!HeapTupleIsValid(tuple))
		*reason = "the role does not exist";
	else if (login && !form.rolcanlogin)
		*reason = "the role may not log in";
	else if (form.rolsuper && !plc_guc_allow_superuser)
		*reason = "the role is a superuser";
	else if (plc_database_connect(MyDatabaseId, role) != ACLCHECK_OK)
		*reason = "the role may not connect to the database";
	return *reason == NULL;
}

Oid
plc_auth_default_role(const char **reason)
{
	Oid			role;

	*reason = NULL;
	if (plc_guc_role == NULL || plc_guc_role[0] == '\0')
		return InvalidOid;
	role = get_role_oid(plc_guc_role, true);
	return plc_auth_role_usable(role, false, reason) ? role : InvalidOid;
}
