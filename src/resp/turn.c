/*
 * turn.c
 *		The transaction of a turn: its snapshot, its tables, in whose name.
 *
 * A turn of a worker answers what many clients have sent.  All reads of it share one
 * transaction, which begins when the first of them wants a row: after the bytes of
 * all of them were received.  So whatever was committed, and acknowledged to anybody,
 * before a client sent its request is in the snapshot that answers it.
 *
 * A transaction is dear: beginning and ending one, with the lock of a table, costs more
 * than a hit.  So a busy worker keeps it for the turns of the next millisecond.  What
 * makes a new turn see what was committed before it is then done by itself: it takes in
 * invalidations, and takes a new snapshot.  Locks of tables are held that millisecond
 * longer, and never while the worker waits.
 *
 * Rule P2, lock, then snapshot, then look: a request first locks the tables that it
 * names and that the turn does not hold yet.  If it locked any, it takes a new
 * snapshot; else the turn's will do.  A lock is asked for conditionally: a worker that
 * waits is deaf to all its clients.  So is a lock of the server's own making (an
 * index's, a row's), for lock_timeout is two milliseconds in a worker; who runs into it
 * is asked to come again (server.c).
 *
 * Identity.  A worker is connected as the bootstrap superuser, and each command runs as
 * the role of its client: session user and current user, within a security context in
 * which neither can be changed back, as in a SECURITY DEFINER function.  That holds to
 * the end of the commit, since deferred triggers run there.
 *
 * One session serves many clients, so what user code (triggers, defaults, casts, input
 * functions) sets is undone at the end of the transaction: settings by a level of their
 * own, when the commit has run all that was left to it (deferred triggers, cursors that
 * are held, temporary tables); and after code may have run, all that DISCARD would throw
 * away.  What is left to the commit runs as the role of that moment, so a command that
 * runs user code is the last of its transaction (command.c).
 *
 * After the commit nothing may fail that could be taken for a failed write: a time limit
 * or a cancel is too late, and a session that cannot be cleaned ends.
 *
 * Errors: whoever catches one calls plc_turn_abort, which leaves nothing behind.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "commands/prepare.h"
#include "commands/sequence.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "resp/escape.h"
#include "resp/names.h"
#include "resp/server.h"
#include "resp/turn.h"
#include "resp/wirekey.h"
#include "resp/worker.h"
#include "rules.h"
#include "table/write.h"

/* How long a transaction may go on over turns; who wants to lock a table waits so long. */
#define LONGEST_US		1000

static struct
{
	bool		under_way;
	bool		sealed;			/* no more tables */
	bool		resting;		/* between turns; see plc_turn_rest */
	bool		written;
	bool		ran_user_code;
	bool		logged;			/* it has written what a standby is to confirm */
	bool		unconfirmed;	/* and the commit has not waited until one has */
	Oid			role;			/* in whose name */
	bool		superuser;		/* whether that is one; if session_changed */
	bool		session_changed;	/* another session user than in the last turn */
	int			guc_level;
	Snapshot	snapshot;		/* active, or NULL */
	PlcTurnTable *tables;		/* the one that was used last in front */
} turn;

/* ---------- life ---------- */

void
plc_turn_act_as(Oid role)
{
	if (turn.role == role)
		return;
	if (GetSessionUserId() != role)
	{
		turn.superuser = superuser_arg(role);
		turn.session_changed = true;
		SetUserIdAndSecContext(GetSessionUserId(), 0);
		SetSessionAuthorization(role, turn.superuser);
	}
	SetUserIdAndSecContext(role, SECURITY_LOCAL_USERID_CHANGE);
	turn.role = role;
}

/*
 * After the transaction: leaves the security context.  The setting is_superuser went
 * back with the others, and follows the session's user again.
 */
static void
leave_role(void)
{
	SetUserIdAndSecContext(GetSessionUserId(), 0);
	if (turn.session_changed)
		SetSessionAuthorization(GetSessionUserId(), turn.superuser);
	turn.session_changed = false;
}

/* Has the commit, which is done, waited until the standbys that are set have it? */
static bool
is_confirmed(void)
{
	int			mode = synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_WRITE ? SYNC_REP_WAIT_WRITE
		: synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_APPLY ? SYNC_REP_WAIT_APPLY : SYNC_REP_WAIT_FLUSH;
	XLogRecPtr	confirmed;

	if (!SyncRepRequested() || SyncRepStandbyNames == NULL || *SyncRepStandbyNames == '\0')
		return true;
	LWLockAcquire(SyncRepLock, LW_SHARED);
	confirmed = WalSndCtl->lsn[mode];
	LWLockRelease(SyncRepLock);
	return confirmed >= XactLastCommitEnd;
}

/* When the commit is done, all user code has run, and settings made to last are not so yet. */
static void
watch_commit(XactEvent event, void *arg)
{
	if (!turn.under_way)
		return;
	if (event == XACT_EVENT_PRE_COMMIT)
		turn.logged = XactLastRecEnd != 0 && TransactionIdIsValid(GetTopTransactionIdIfAny());
	else if (event == XACT_EVENT_COMMIT)
	{
		turn.unconfirmed = turn.logged && !is_confirmed();
		AtEOXact_GUC(false, turn.guc_level);
	}
}

bool
plc_turn_take_unconfirmed(void)
{
	bool		unconfirmed = turn.unconfirmed;

	turn.unconfirmed = false;
	return unconfirmed;
}

static void
start(void)
{
	static bool registered = false;

	if (!registered)
		RegisterXactCallback(watch_commit, NULL);
	registered = true;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	XactIsoLevel = XACT_READ_COMMITTED;
	turn.under_way = true;
	turn.sealed = turn.resting = turn.written = turn.ran_user_code = turn.unconfirmed = false;
	turn.role = InvalidOid;
	turn.snapshot = NULL;
	turn.tables = NULL;
	turn.guc_level = NewGUCNestLevel();
	plc_table_enter();
}

/* Goes on with the transaction of the turn before: as good as a new one, see above. */
static void
wake(void)
{
	AcceptInvalidationMessages();
	turn.resting = false;
}

void
plc_turn_begin(void)
{
	MemoryContext caller = CurrentMemoryContext;

	if (!turn.under_way)
		start();
	else if (turn.resting)
		wake();
	MemoryContextSwitchTo(caller);
}

bool
plc_turn_under_way(void)
{
	return turn.under_way;
}

void
plc_turn_freeze(void)
{
	Assert(turn.under_way && turn.snapshot == NULL);
	if (PLC_RULE_T4)
		XactIsoLevel = XACT_REPEATABLE_READ;
}

void
plc_turn_seal(void)
{
	turn.sealed = true;
}

/* Hands over what the reads of a table have counted. */
static void
end_read(PlcTurnTable *table)
{
	PlcCounts	counts = {0};

	if (table->read == NULL)
		return;
	plc_read_end(table->read, &counts);
	table->read = NULL;
	plc_worker_count_reads(&counts);
}

void
plc_turn_end_reads(void)
{
	for (PlcTurnTable *table = turn.tables; table != NULL; table = table->next)
		end_read(table);
}

void
plc_turn_forget_reads(void)
{
	for (PlcTurnTable *table = turn.tables; table != NULL; table = table->next)
		table->read = NULL;
}

/* No snapshot: the next one that is asked for is new. */
static void
drop_snapshot(void)
{
	plc_turn_end_reads();
	if (turn.snapshot != NULL)
		PopActiveSnapshot();
	turn.snapshot = NULL;
}

/*
 * What a session keeps beyond its transactions, and user code may have made.  If it
 * cannot be thrown away, the process ends, and its connections without a reply: what the
 * last one wrote may be committed.
 */
static void
clean_session(void)
{
	Oid			temporary;
	Oid			toast;

	ExitOnAnyError = true;
	PortalHashTableDeleteAll();
	DropAllPreparedStatements();
	LockReleaseAll(USER_LOCKMETHOD, true);
	ResetSequenceCaches();
	GetTempNamespaceState(&temporary, &toast);
	if (OidIsValid(temporary))
	{
		StartTransactionCommand();
		ResetTempTableNamespace();
		CommitTransactionCommand();
	}
	ExitOnAnyError = false;
}

void
plc_turn_end(void)
{
	MemoryContext caller = CurrentMemoryContext;
	bool		clean;

	if (!turn.under_way)
		return;
	drop_snapshot();
	for (PlcTurnTable *table = turn.tables; table != NULL; table = table->next)
		relation_close(table->relation, NoLock);
	turn.tables = NULL;
	plc_table_leave();
	clean = turn.written || turn.ran_user_code;
	CommitTransactionCommand();
	turn.under_way = false;
	plc_server_unwatch();
	leave_role();
	if (clean)
		clean_session();
	MemoryContextSwitchTo(caller);
}

bool
plc_turn_rest(TimestampTz now)
{
	if (!turn.under_way)
		return true;
	if (turn.written || turn.ran_user_code || IsolationUsesXactSnapshot() ||
		now - GetCurrentTransactionStartTimestamp() >= LONGEST_US)
		return false;
	if (PLC_RULE_T1)
		drop_snapshot();
	turn.resting = true;
	return true;
}

void
plc_turn_abort(void)
{
	MemoryContext caller = CurrentMemoryContext;
	bool		clean = turn.under_way && (turn.written || turn.ran_user_code);

	turn.under_way = false;
	turn.tables = NULL;
	turn.snapshot = NULL;
	AbortOutOfAnyTransaction();	/* an error may have left a subtransaction open */
	leave_role();
	if (clean)
		clean_session();
	MemoryContextSwitchTo(caller);
}

void
plc_turn_written(void)
{
	CommandCounterIncrement();
	if (PLC_RULE_T3)
		drop_snapshot();
	turn.written = true;
}

void
plc_turn_ran_user_code(void)
{
	turn.ran_user_code = true;
}

bool
plc_turn_has_run_user_code(void)
{
	return turn.under_way && turn.ran_user_code;
}

Snapshot
plc_turn_snapshot(void)
{
	if (turn.snapshot == NULL)
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		turn.snapshot = GetActiveSnapshot();
	}
	return turn.snapshot;
}

/* ---------- tables ---------- */

static PlcTurnTable *
find_table(Oid relid)
{
	for (PlcTurnTable **link = &turn.tables; *link != NULL; link = &(*link)->next)
	{
		PlcTurnTable *table = *link;

		if (table->relid != relid)
			continue;
		*link = table->next;
		table->next = turn.tables;
		turn.tables = table;
		return table;
	}
	return NULL;
}

/* Notes that a table is locked; false if it is gone. */
static bool
open_table(Oid relid, LOCKMODE lock)
{
	MemoryContext caller;
	PlcTurnTable *table = find_table(relid);

	if (table != NULL)
	{
		table->lock = lock;
		return true;
	}
	caller = MemoryContextSwitchTo(TopTransactionContext);
	table = palloc0(sizeof(PlcTurnTable));
	table->relid = relid;
	table->lock = lock;
	table->relation = try_relation_open(relid, NoLock);
	MemoryContextSwitchTo(caller);
	if (table->relation == NULL)
		return false;
	table->next = turn.tables;
	turn.tables = table;
	return true;
}

/* Row security cannot be heeded by a cache of whole rows. */
static void
check_row_security(Relation relation)
{
	if (relation->rd_rel->relrowsecurity &&
		check_enable_rls(RelationGetRelid(relation), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row security of table \"%s\" applies to role \"%s\", so it is not served here",
						RelationGetRelationName(relation), GetUserNameFromId(GetUserId(), false))));
}

/* Sees to the descriptor, and to whether the current role may do this with the table. */
static void
prepare_table(PlcTurnTable *table, LOCKMODE lock)
{
	if (table->table == NULL || !table->table->valid)
	{
		MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);

		end_read(table);
		table->table = plc_table_get(table->relation);
		MemoryContextSwitchTo(caller);
	}
	if (lock > AccessShareLock)
		plc_write_check(table->table, table->relation);
	else
	{
		plc_table_check_privileges(table->table, table->relation);
		check_row_security(table->relation);
		plc_table_check_has_rows(table->relation);
	}
}

typedef enum Lookup
{
	FOUND,						/* locked and open */
	FOREIGN,					/* no attached table */
	LOCKED,						/* by others */
	NAMES_CHANGED				/* look again */
} Lookup;

/*
 * Locks a table if the turn does not hold it yet.  Its name was looked up before; if
 * names have changed since, it may be another table's now.
 */
static Lookup
lock_table(Oid relid, LOCKMODE lock, PlcTurnTable **result)
{
	if (turn.sealed)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("names of tables have changed during the transaction")));
	if (!ConditionalLockRelationOid(relid, lock))
		return LOCKED;
	if (PLC_RULE_T2)
		drop_snapshot();
	if (plc_names_stale())
		return NAMES_CHANGED;
	if (!open_table(relid, lock))
		return FOREIGN;
	*result = turn.tables;
	return FOUND;
}

static Lookup
look_up(Oid relid, LOCKMODE lock, PlcTurnTable **result)
{
	PlcTurnTable *table = turn.tables;

	if (table == NULL || table->relid != relid)
		table = find_table(relid);
	*result = table;
	if (table == NULL || table->lock < lock)
		return lock_table(relid, lock, result);
	return FOUND;
}

static Lookup
look_up_key(const PlcArg *arg, LOCKMODE lock, PlcTurnKey *key)
{
	size_t		prefix_len;
	Oid			relid = plc_names_find(arg->data, arg->len, &prefix_len);

	key->table = NULL;
	if (!OidIsValid(relid))
		return FOREIGN;
	key->row = arg->data + prefix_len;
	key->len = arg->len - prefix_len;
	return look_up(relid, lock, &key->table);
}

/* Looks a key's table up and locks it; LOCKED if others have it. */
static Lookup
take_key(const PlcArg *arg, LOCKMODE lock, PlcTurnKey *key)
{
	Lookup		lookup;

	do
		CHECK_FOR_INTERRUPTS();
	while ((lookup = look_up_key(arg, lock, key)) == NAMES_CHANGED);
	if (lookup == FOREIGN)
		key->table = NULL;
	return lookup;
}

/* Are n bytes equal?  A few are compared at once, overlapping in the middle. */
static inline bool
equal_bytes(const char *a, const char *b, size_t n)
{
	uint64		long_ends[4];
	uint32		short_ends[4];

	if (n < 4 || n > 16)
		return memcmp(a, b, n) == 0;
	if (n < 8)
	{
		memcpy(&short_ends[0], a, 4);
		memcpy(&short_ends[1], a + n - 4, 4);
		memcpy(&short_ends[2], b, 4);
		memcpy(&short_ends[3], b + n - 4, 4);
		return ((short_ends[0] ^ short_ends[2]) | (short_ends[1] ^ short_ends[3])) == 0;
	}
	memcpy(&long_ends[0], a, 8);
	memcpy(&long_ends[1], a + n - 8, 8);
	memcpy(&long_ends[2], b, 8);
	memcpy(&long_ends[3], b + n - 8, 8);
	return ((long_ends[0] ^ long_ends[2]) | (long_ends[1] ^ long_ends[3])) == 0;
}

/* Does the key name the table of the one before, in the same letters?  Then that is known. */
static inline bool
same_table(const PlcArg *arg, const PlcArg *before, const PlcTurnKey *key_before, PlcTurnKey *key)
{
	size_t		prefix_len;

	if (key_before->table == NULL || plc_names_stale())
		return false;
	prefix_len = before->len - key_before->len;
	if (arg->len < prefix_len || !equal_bytes(arg->data, before->data, prefix_len))
		return false;
	*key = (PlcTurnKey) {key_before->table, arg->data + prefix_len, arg->len - prefix_len};
	return true;
}

bool
plc_turn_lock(const PlcArg *argv, int n, int step, LOCKMODE lock)
{
	PlcTurnKey	key;

	for (int i = 0; i < n; i++)
		if (take_key(&argv[i * step], lock, &key) == LOCKED)
			return false;
	return true;
}

/*
 * All tables are locked before the snapshot is taken and anything is read, so all keys
 * are answered under one.
 */
bool
plc_turn_keys(const PlcArg *argv, int n, int step, LOCKMODE lock, PlcTurnKey *keys)
{
	for (int i = 0; i < n; i++)
	{
		if (i > 0 && same_table(&argv[i * step], &argv[(i - 1) * step], &keys[i - 1], &keys[i]))
			continue;
		if (take_key(&argv[i * step], lock, &keys[i]) == LOCKED)
			return false;
	}
	for (int i = 0; i < n; i++)
	{
		if (keys[i].table == NULL)
			plc_worker_count(PLC_ENDPOINT_FOREIGN_KEYS, 1);
		else if (i == 0 || keys[i].table != keys[i - 1].table)
		{
			CHECK_FOR_INTERRUPTS();
			prepare_table(keys[i].table, lock);
		}
	}
	return true;
}

static Lookup
take_table(Oid relid, LOCKMODE lock, PlcTurnTable **table)
{
	Lookup		lookup;

	while ((lookup = look_up(relid, lock, table)) == NAMES_CHANGED)
		plc_names_refresh();
	return lookup;
}

bool
plc_turn_lock_table(Oid relid, LOCKMODE lock)
{
	PlcTurnTable *table;

	return take_table(relid, lock, &table) != LOCKED;
}

PlcTurnTable *
plc_turn_table(Oid relid, LOCKMODE lock)
{
	PlcTurnTable *table;

	if (take_table(relid, lock, &table) != FOUND)
		return NULL;
	prepare_table(table, lock);
	return table;
}

/* ---------- keys ---------- */

static Datum
value_from_text(PlcKeyColumn *column, const char *text, size_t len)
{
	if (!pg_verifymbstr(text, len, true) || memchr(text, '\0', len) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("value for key column \"%s\" is not valid text in encoding \"%s\"",
						column->name, GetDatabaseEncodingName())));
	if (column->type == TEXTOID)
		return PointerGetDatum(cstring_to_text_with_len(text, len));
	return InputFunctionCall(&column->input, pnstrdup(text, len), column->input_param, -1);
}

static bool
integer_value(PlcKeyColumn *column, const PlcTurnKey *key, Datum *value)
{
	long long	number;

	if (column->type != INT8OID && column->type != INT4OID && column->type != INT2OID)
		return false;
	if (!plc_wirekey_integer(key->row, key->len, column->name, column->name_len, &number))
		return false;
	if (column->type == INT8OID)
		*value = Int64GetDatum(number);
	else if (column->type == INT4OID && number >= PG_INT32_MIN && number <= PG_INT32_MAX)
		*value = Int32GetDatum(number);
	else if (column->type == INT2OID && number >= PG_INT16_MIN && number <= PG_INT16_MAX)
		*value = Int16GetDatum(number);
	else
		return false;
	return true;
}

static void
invalid_row(const PlcTurnKey *key, const char *what)
{
	int			shown = 0;

	/* In this order: half a character at the end would be taken for a whole one. */
	if (pg_verifymbstr(key->row, key->len, true))
		shown = pg_mbcliplen(key->row, key->len, 128);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("\"%s\" is no key of table \"%s\": %s",
					pnstrdup(key->row, shown), RelationGetRelationName(key->table->relation), what)));
}

/* What "\u00e9" means in the encoding of the database; an error if there is no such character. */
static size_t
encode(uint32_t code, char *out)
{
	unsigned char bytes[MAX_UNICODE_EQUIVALENT_STRING + 1];
	size_t		len;

	if (GetDatabaseEncoding() == PG_UTF8)
		return plc_escape_utf8(code, out);
	pg_unicode_to_server(code, bytes);
	len = strlen((char *) bytes);
	if (len > 6)
		elog(ERROR, "character %x takes %zu bytes", code, len);
	memcpy(out, bytes, len);
	return len;
}

/* The field of a column, by name, or the only one if it has none. */
static const PlcWireField *
field_of_column(const PlcKeyColumn *column, const PlcWireField *fields, int n)
{
	for (int i = 0; i < n; i++)
		if (fields[i].name == NULL ||
			(fields[i].name_len == column->name_len &&
			 memcmp(fields[i].name, column->name, fields[i].name_len) == 0))
			return &fields[i];
	return NULL;
}

void
plc_turn_key_values(const PlcTurnKey *key, Datum *values)
{
	PlcTable   *table = key->table->table;
	const char *single = table->ncolumns == 1 ? table->columns[0].name : NULL;
	PlcWireField fields[INDEX_MAX_KEYS];
	const char *error;
	char	   *scratch;
	int			n;

	if (single != NULL && integer_value(&table->columns[0], key, &values[0]))
		return;
	scratch = palloc(key->len + 1);
	n = plc_wirekey_fields(key->row, key->len, single, fields, table->ncolumns, scratch, encode, &error);
	if (n < 0)
		invalid_row(key, error);
	for (int c = 0; c < table->ncolumns; c++)
	{
		const PlcWireField *field = field_of_column(&table->columns[c], fields, n);

		if (field == NULL)
			invalid_row(key, psprintf("column \"%s\" is missing", table->columns[c].name));
		values[c] = value_from_text(&table->columns[c], field->value, field->value_len);
	}
}

void
plc_turn_read(PlcTurnTable *table, const PlcKeys *keys, PlcSink *sink)
{
	if (table->read == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);

		table->read = plc_read_begin(table->relation, table->table, plc_turn_snapshot(),
									 sink->wants);
		MemoryContextSwitchTo(caller);
	}
	if (plc_read_runs_user_code(table->read))
	{
		plc_turn_ran_user_code();
		plc_server_watch();
	}
	plc_read_keys(table->read, keys, sink);
}
