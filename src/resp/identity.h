/*
 * identity.h
 *		In whose name a connection's commands run.
 */
#ifndef PLC_RESP_IDENTITY_H
#define PLC_RESP_IDENTITY_H

#include "resp/conn.h"

/* May it send commands: has it authenticated, or need it not? */
extern bool plc_identity_is_known(const PlcConn *conn);

/*
 * The role that its commands run as, as of the catalogs that this transaction has
 * taken in.  Raises an error if that role cannot be used, or cannot any more: the
 * connection then has to authenticate again.
 */
extern Oid	plc_identity_role(PlcConn *conn);

/* Settings have changed: look again. */
extern void plc_identity_changed(void);

/*
 * Looks whether the extension is there and the token file and pg_local_cache.role can be
 * used, if that may have changed, and tells health() and the log if not.  Outside of a turn's transaction; may raise an error.
 */
extern void plc_identity_review(void);

/* When to look again, though nothing has been heard of; 0: never */
extern TimestampTz plc_identity_review_at(void);

#endif							/* PLC_RESP_IDENTITY_H */
