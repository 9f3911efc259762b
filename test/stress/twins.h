/*
 * twins.h
 *		Two rows in two tables that are always changed together.
 */
#ifndef STRESS_TWINS_H
#define STRESS_TWINS_H

#include "resp.h"

extern void twins_create(Session *s);
extern void twins_read(Session *s, Resp *resp);

/* For an EXEC that is about something else: GET or MGET of n twins, and the answers to two GETs */
extern void twins_send(Session *s, Resp *resp, const char *name, int first, int n);
extern void twins_check_exec(Session *s, uint64_t known, const redisReply *one, const redisReply *other);

#endif							/* STRESS_TWINS_H */
