/*
 * question.h
 *		Reads through the cache, and what is wrong with the answers.
 */
#ifndef STRESS_QUESTION_H
#define STRESS_QUESTION_H

#include "session.h"

#define MAX_ASKED	128

typedef enum Function
{
	MGET,
	MGET_JSON,
	MGET_ROWS,
	MGET_ALONE,					/* without the plain SELECT beside it */
	SQL_FUNCTIONS,

	RESP_GET = SQL_FUNCTIONS,	/* of one key, as the next */
	RESP_HGETALL,
	RESP_MGET,
	RESP_EXEC,					/* all of these, under one snapshot */
	FUNCTIONS
} Function;

typedef struct Question
{
	Function	function;
	bool		prepared;
	bool		own;			/* of a transaction that has written */
	int			table;
	int			nkeys;
	int			keys[MAX_ASKED];	/* NULL_KEY, missing ones and duplicates allowed */
} Question;

/* All under one snapshot */
typedef struct Answer
{
	int			nrows;
	bool		compared;		/* with a plain SELECT */
	const char *got[MAX_ASKED]; /* rows as JSON, or NULL */
	const char *want[MAX_ASKED];
} Answer;

extern const char *const function_names[FUNCTIONS];

/* question.c */
extern void question_prepare_all(Session *s);
extern void question_choose(Rng *rng, Question *q, Function function);
extern void question_ask(Session *s, const Question *q);

/* answer.c */
extern void answer_check(Session *s, const Question *q, uint64_t label, const Answer *answer);
extern uint64_t row_version(const char *text);
extern void mismatch(Session *s, const char *what, const char *format, ...)
			__attribute__((format(printf, 3, 4)));

#endif							/* STRESS_QUESTION_H */
