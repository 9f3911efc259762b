/*
 * compat.h
 *		All that differs between the server's major versions.
 *
 * No other file tests PG_VERSION_NUM.
 */
#ifndef PLC_COMPAT_H
#define PLC_COMPAT_H

#include "access/genam.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "common/scram-common.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#if PG_VERSION_NUM < 150000
#error "pg_local_cache needs PostgreSQL 15 or later"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#if PG_VERSION_NUM >= 180000
#include "storage/waiteventset.h"
#endif
#include "utils/wait_event.h"

/* 16 renamed a relation's file identity, and the type of its number */
#if PG_VERSION_NUM >= 160000
#define plc_rel_spc(rel)		((rel)->rd_locator.spcOid)
#define plc_rel_number(rel)		((rel)->rd_locator.relNumber)
#define plc_read_recent_buffer(rel, block, buffer) \
	ReadRecentBuffer((rel)->rd_locator, MAIN_FORKNUM, block, buffer)
#else
#define plc_rel_spc(rel)		((rel)->rd_node.spcNode)
#define plc_rel_number(rel)		((rel)->rd_node.relNode)
#define plc_read_recent_buffer(rel, block, buffer) \
	ReadRecentBuffer((rel)->rd_node, MAIN_FORKNUM, block, buffer)
#endif

/* 16 folded the privilege checks of object kinds into one function */
#if PG_VERSION_NUM >= 160000
#define plc_owns_relation(relid, role) object_ownercheck(RelationRelationId, relid, role)
#define plc_owns_database(dbid, role) object_ownercheck(DatabaseRelationId, dbid, role)
#define plc_namespace_usage(nspid, role) object_aclcheck(NamespaceRelationId, nspid, role, ACL_USAGE)
#define plc_function_execute(funcid, role) object_aclcheck(ProcedureRelationId, funcid, role, ACL_EXECUTE)
#define plc_database_connect(dbid, role) object_aclcheck(DatabaseRelationId, dbid, role, ACL_CONNECT)
#else
#define plc_owns_relation(relid, role) pg_class_ownercheck(relid, role)
#define plc_owns_database(dbid, role) pg_database_ownercheck(dbid, role)
#define plc_namespace_usage(nspid, role) pg_namespace_aclcheck(nspid, role, ACL_USAGE)
#define plc_function_execute(funcid, role) pg_proc_aclcheck(funcid, role, ACL_EXECUTE)
#define plc_database_connect(dbid, role) pg_database_aclcheck(dbid, role, ACL_CONNECT)
#endif

/* 18 wants to instrument index scans */
static inline IndexScanDesc
plc_index_beginscan(Relation heap, Relation index, Snapshot snapshot, int nkeys)
{
#if PG_VERSION_NUM >= 180000
	return index_beginscan(heap, index, snapshot, NULL, nkeys, 0);
#else
	return index_beginscan(heap, index, snapshot, nkeys, 0);
#endif
}

/*
 * The next transaction id to be assigned, with its epoch.
 *
 * Where eight bytes are read in one piece no lock is needed: the caller has
 * taken a snapshot before, which orders this load behind the assignment of
 * every xid that the snapshot sees, and only that matters (see version.c).
 */
static inline uint64
plc_next_full_xid(void)
{
#ifndef PG_HAVE_8BYTE_SINGLE_COPY_ATOMICITY
	return U64FromFullTransactionId(ReadNextFullTransactionId());
#elif PG_VERSION_NUM >= 170000
	return ((volatile TransamVariablesData *) TransamVariables)->nextXid.value;
#else
	return ((volatile VariableCacheData *) ShmemVariableCache)->nextXid.value;
#endif
}

/* 18 has columns that exist only in the query */
static inline bool
plc_attribute_is_virtual(Form_pg_attribute attribute)
{
#if PG_VERSION_NUM >= 180000
	return attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL;
#else
	return false;
#endif
}

/* What pg_stat_activity shows of a worker that waits; 17 lets extensions name it */
static inline uint32
plc_wait_event(void)
{
#if PG_VERSION_NUM >= 170000
	static uint32 event = 0;

	if (event == 0)
		event = WaitEventExtensionNew("LocalCacheClients");
	return event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* 17 ties sets of events to resource owners, and has a time-out for transactions */
#if PG_VERSION_NUM >= 170000
#define plc_wait_event_set(n)	CreateWaitEventSet(NULL, n)
#define plc_disable_transaction_timeout() \
	SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE)
#else
#define plc_wait_event_set(n)	CreateWaitEventSet(TopMemoryContext, n)
#define plc_disable_transaction_timeout() ((void) 0)
#endif

/*
 * The parts of a SCRAM secret, the salt in base64 and palloc'd.  16 tells the hash as well, of which there
 * is one, and has a setting for the rounds.  Declared in libpq/scram.h; but that header wants those of
 * OpenSSL and Kerberos, which a machine with PostgreSQL's development files need not have.
 */
#if PG_VERSION_NUM >= 160000
extern bool parse_scram_secret(const char *secret, int *iterations, pg_cryptohash_type *hash_type,
							   int *key_length, char **salt, uint8 *stored_key, uint8 *server_key);
extern PGDLLIMPORT int scram_sha_256_iterations;
#else
extern bool parse_scram_secret(const char *secret, int *iterations, char **salt,
							   uint8 *stored_key, uint8 *server_key);
#endif

static inline bool
plc_parse_scram_secret(const char *secret, int *rounds, char **salt, uint8 *stored_key, uint8 *server_key)
{
#if PG_VERSION_NUM >= 160000
	pg_cryptohash_type hash;
	int			key_length;

	return parse_scram_secret(secret, rounds, &hash, &key_length, salt, stored_key, server_key);
#else
	return parse_scram_secret(secret, rounds, salt, stored_key, server_key);
#endif
}

/* The rounds of a secret that is made now */
static inline int
plc_scram_usual_rounds(void)
{
#if PG_VERSION_NUM >= 160000
	return scram_sha_256_iterations;
#else
	return SCRAM_DEFAULT_ITERATIONS;
#endif
}

/*
 * 16 lets the actions of a JSON parser fail and changed how a lexer is made; the
 * lexer here resolves escapes.  jsonapi.h and jsonfuncs.h must have been included.
 */
#if PG_VERSION_NUM >= 160000
#define PlcJsonResult			JsonParseErrorType
#define PLC_JSON_OK				JSON_SUCCESS
#else
#define PlcJsonResult			void
#define PLC_JSON_OK
#endif
#if PG_VERSION_NUM >= 170000
#define plc_json_lexer(text)	makeJsonLexContext(NULL, text, true)
#else
#define plc_json_lexer(text)	makeJsonLexContext(text, true)
#endif

/*
 * The session's lc_monetary, read.  Declared in utils/pg_locale.h, alike in all
 * versions; but that header wants those of ICU, which a machine with PostgreSQL's
 * development files need not have.
 */
struct lconv;
extern struct lconv *PGLC_localeconv(void);

#endif							/* PLC_COMPAT_H */
