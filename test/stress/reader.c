/*
 * reader.c
 *		Asks for single keys and batches, at all isolation levels.
 */

#include "question.h"
#include "roles.h"

/* How long a batch is: mostly long ones, so that many keys are checked. */
static int
choose_size(Rng *rng)
{
	switch (rng_below(rng, 4))
	{
		case 0:
			return 1;
		case 1:
			return 2 + rng_below(rng, 15);
		default:
			return 64 + rng_below(rng, 33);
	}
}

static int
choose_key(Rng *rng, int table)
{
	if (rng_one_in(rng, 40))
		return KEYS + rng_below(rng, MISSING_KEYS);
	/* a NULL component of a key of several columns is an error */
	if (rng_one_in(rng, 60) && tables[table].ncolumns == 1)
		return NULL_KEY;
	return rng_below(rng, KEYS);
}

static void
choose_question(Rng *rng, Question *q)
{
	q->function = rng_below(rng, FUNCTIONS);
	q->prepared = !rng_one_in(rng, 8);
	q->own = false;
	q->table = rng_below(rng, TABLES);
	q->nkeys = choose_size(rng);
	for (int i = 0; i < q->nkeys; i++)
		q->keys[i] = choose_key(rng, q->table);

	/* a whole group, to see whether it is torn; rows anywhere in the batch */
	if (q->nkeys >= GROUP_SIZE && rng_one_in(rng, 2))
	{
		int			group = rng_below(rng, GROUPS);

		for (int member = 0; member < GROUP_SIZE; member++)
			q->keys[member * q->nkeys / GROUP_SIZE] = group_key(group, member);
	}
}

static void
ask_something(Session *s)
{
	Question	q;

	choose_question(&s->rng, &q);
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
