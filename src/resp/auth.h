/*
 * auth.h
 *		Who a client is: token, role and password.
 */
#ifndef PLC_RESP_AUTH_H
#define PLC_RESP_AUTH_H

#include "datatype/timestamp.h"

/* A check under way.  It belongs to the connection, and outlives transactions. */
typedef struct PlcAuth PlcAuth;

typedef enum PlcAuthResult
{
	PLC_AUTH_OK,
	PLC_AUTH_WRONG,				/* answer WRONGPASS; why is not the client's business */
	PLC_AUTH_WORKING			/* ask again, not before *retry_at */
} PlcAuthResult;

/*
 * Reads pg_local_cache.token_file, at start and after a reload.  With a file that
 * cannot be used, says so in the log and keeps the token it had; without one, no
 * token is right.  Raises no error and needs no transaction.
 */
extern void plc_auth_load_token(void);

/* Why the file could not be used when it was last read, or NULL. */
extern const char *plc_auth_token_problem(void);

/*
 * Must clients give a token?  So it is when the setting names a file, whether that
 * can be read or not: a file that is lost must not open the door.
 */
extern bool plc_auth_token_required(void);

/*
 * Is it this?  "address" is the client's, for the log.  Called as plc_auth_password is, but needs no transaction.  Takes the
 * same time whatever is wrong with it; that it is wrong is said late, as of passwords.
 */
extern PlcAuthResult plc_auth_token(PlcAuth **auth, const char *address,
									const char *token, size_t len, TimestampTz *retry_at);

/*
 * Is this the password of that role, and may it connect?  Called again and again
 * with the same arguments, beginning with *auth = NULL, until the result is not
 * PLC_AUTH_WORKING; *auth is NULL again then.  Each call does a slice of work that
 * takes a tenth of a millisecond.  Needs a transaction, a new one each time if need
 * be, and a current memory context that is emptied soon.  After an error *auth is
 * NULL.  *role is set with PLC_AUTH_OK.
 */
extern PlcAuthResult plc_auth_password(PlcAuth **auth, const char *address,
									   const char *name, size_t name_len,
									   const char *password, size_t password_len,
									   Oid *role, TimestampTz *retry_at);

/* Gives up a check, if there is one; the client has gone.  Raises no error. */
extern void plc_auth_abandon(PlcAuth **auth);

/*
 * The role of pg_local_cache.role; InvalidOid if none is set or it cannot be used,
 * and *reason says why (NULL: none is set).  It need not be able to log in, for the
 * administrator has chosen it.  Needs a transaction.
 */
extern Oid	plc_auth_default_role(const char **reason);

/*
 * May this role use the endpoint still: it exists, has CONNECT on the database, is
 * no superuser unless that is allowed, and with "login" may log in?  If not, *reason
 * is a constant that says so ("the role is a superuser").  Needs a transaction.
 */
extern bool plc_auth_role_usable(Oid role, bool login, const char **reason);

#endif							/* PLC_RESP_AUTH_H */
