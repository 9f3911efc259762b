/*
 * session.h
 *		A connection, its transaction, and what was known when it began.
 */
#ifndef STRESS_SESSION_H
#define STRESS_SESSION_H

#include <libpq-fe.h>

#include "rng.h"
#include "shared.h"

typedef enum Level
{
	READ_COMMITTED,
	REPEATABLE_READ,
	SERIALIZABLE,
	LEVELS
} Level;

typedef struct Session
{
	char		name[32];		/* "reader 2" */
	Rng			rng;
	PGconn	   *conn;
	int			settings;		/* index of the profile in use */

	/* the transaction */
	Level		level;			/* READ_COMMITTED outside of one */
	bool		in_transaction;
	bool		broken;			/* a statement was refused: skip all up to the end */

	/* known before the snapshot was taken; the label, before the transaction began */
	Floor		floor;
} Session;

extern const char *const level_names[LEVELS];

extern void session_open(Session *s, const char *conninfo, const char *role, int number, int process);

/* Settings that the text of a row depends on */
extern void session_change_settings(Session *s);
extern const char *session_settings(const Session *s);

/* Statements: do nothing if the session is broken */
extern PGresult *session_query(Session *s, const char *sql);
extern PGresult *session_query_param(Session *s, const char *sql, const char *param);
extern PGresult *session_query_prepared(Session *s, const char *name, const char *param);
extern int	session_run(Session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern void session_copy(Session *s, const char *sql, const char *lines, int len);

/* Transactions */
extern void session_begin(Session *s, Level level);
extern bool session_end(Session *s, const char *how);

extern void fail(const char *who, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

#endif							/* STRESS_SESSION_H */
