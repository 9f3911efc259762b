/*
 * reader.c
 *		Asks for single keys and batches, at all isolation levels.
 */

#include "question.h"
#include "roles.h"

static void
ask_something(Session *s)
{
	Question	q;

	question_choose(&s->rng, &q, rng_below(&s->rng, SQL_FUNCTIONS));
	question_ask(s, &q);
}

/* Several questions under one snapshot, while others go on committing. */
static void
read_in_transaction(Session *s, Level level, int questions)
{
	session_begin(s, level);
	for (int i = 0; i < questions && running(); i++)
		ask_something(s);
	session_end(s, "COMMIT");
}

void
reader_run(Session *s)
{
	question_prepare_all(s);
	while (running())
	{
		int			choice = rng_below(&s->rng, 32);

		if (choice == 0)
			session_change_settings(s);
		else if (choice == 1)
			read_in_transaction(s, READ_COMMITTED, 1 + rng_below(&s->rng, 8));
		else if (choice == 2)
			read_in_transaction(s, REPEATABLE_READ, 2 + rng_below(&s->rng, 24));
		else if (choice == 3)
			read_in_transaction(s, SERIALIZABLE, 1 + rng_below(&s->rng, 4));
		else
		{
			ask_something(s);
			session_end(s, NULL);
		}
	}
}
