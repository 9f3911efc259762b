/*
 * resp_reader.c
 *		Asks the endpoint for single keys and batches, through two workers.
 */

#include "resp_read.h"
#include "roles.h"
#include "twins.h"

/* Questions sent at once, at most */
#define DEPTH			16

static Function
choose_function(Rng *rng)
{
	switch (rng_below(rng, 8))
	{
		case 0:
			return RESP_EXEC;
		case 1:
		case 2:
			return RESP_HGETALL;
		case 3:
		case 4:
		case 5:
			return RESP_MGET;
		default:
			return RESP_GET;
	}
}

static void
ask_something(Session *s, Resp *resp)
{
	Question	questions[DEPTH];
	int			n = rng_one_in(&s->rng, 2) ? 1 : 1 + rng_below(&s->rng, DEPTH);

	for (int i = 0; i < n; i++)
		question_choose(&s->rng, &questions[i], choose_function(&s->rng));
	resp_ask(s, resp, questions, n);
}

void
resp_reader_run(Session *s)
{
	while (running())
	{
		int			choice = rng_below(&s->rng, 64);
		Resp	   *resp = resp_choose(s);

		if (resp == NULL)
			break;
		if (choice == 0)
			resp_reconnect(s);
		else if (choice < 24)
			twins_read(s, resp);
		else
			ask_something(s, resp);
	}
	resp_close_all();
}
