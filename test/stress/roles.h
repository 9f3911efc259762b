/*
 * roles.h
 *		What a process of the checker does until the time is over.
 */
#ifndef STRESS_ROLES_H
#define STRESS_ROLES_H

#include "session.h"

extern void reader_run(Session *s);
extern void writer_run(Session *s);
extern void keeper_run(Session *s);
extern void resp_reader_run(Session *s);
extern void resp_writer_run(Session *s);
extern void twins_run(Session *s);

/* skew.c */
extern bool skew_try(Session *s);

/* Waits, if the time is not over, for about this many times as long as the work took. */
extern void pause_after(double started, double times, double most);

#endif							/* STRESS_ROLES_H */
