/*
 * resp_read.h
 *		Reads over RESP.
 */
#ifndef STRESS_RESP_READ_H
#define STRESS_RESP_READ_H

#include "question.h"
#include "resp.h"

/* One question; what its answer must not be behind is the session's floor */
extern void resp_send_question(Session *s, Resp *resp, const Question *q);
extern void resp_receive_question(Session *s, Resp *resp, const Question *q);

/* Notes what the answers must not be behind, asks all questions at once, and checks. */
extern void resp_ask(Session *s, Resp *resp, const Question *questions, int n);

#endif							/* STRESS_RESP_READ_H */
