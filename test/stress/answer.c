/*
 * answer.c
 *		What is wrong with an answer.
 *
 *	- Got and plain SELECT differ, or there are too few or too many rows.
 *	- A row is older than what was known before the question was sent, or it is
 *	  missing although nobody could have deleted it.  Known is what a writer's
 *	  commit was acknowledged for, and what any reader has seen: a snapshot
 *	  taken later sees it too.  Hence no reader ever goes back.
 *	- Keys that are always changed together have different versions.
 *	- The enum's label is not one that the enum had in this time.
 *
 * Two excuses, both PostgreSQL's own.  TRUNCATE and ALTER TABLE with a rewrite
 * hide all rows from snapshots that were taken before: a row may be missing if
 * there was one since the snapshot (unless the statement has locked the table
 * before its snapshot, as the comparing ones of READ COMMITTED do).  And ALTER
 * TYPE ... RENAME VALUE locks no table: while it is being committed, the two
 * halves of one statement may find different labels.  The labels are numbered
 * and never come again, so this excuse is exact: each half must have a label
 * between the last one acknowledged before and the last one begun after, and
 * all the rest of the texts must be equal.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "question.h"

#define MAX_REPORTED	5
#define LABEL			"\"mood\":\"calm "

/* One key's answer, and all that it is judged by. */
typedef struct Case
{
	Session    *session;
	const Question *question;
	int			key;
	bool		alone;			/* no plain SELECT beside it */
	const char *got;			/* or NULL */
	const char *want;			/* or NULL */
	uint64_t	label;			/* acknowledged before mget was sent */
} Case;

/* Counts a mismatch, and describes it if it is one of the first. */
void
mismatch(Session *s, const char *what, const char *format,...)
{
	uint64_t	number = atomic_fetch_add(&shared->mismatches, 1) + 1;
	Text		text;
	char		details[12 * 1024];
	va_list		args;

	if (number == 1)
	{
		shared->first_at = now() - shared->started;
		snprintf(shared->first, sizeof(shared->first), "%s", what);
	}
	if (number >= (uint64_t) shared->enough)
		shared->stop = true;
	if (number > MAX_REPORTED)
		return;

	va_start(args, format);
	vsnprintf(details, sizeof(details), format, args);
	va_end(args);
	text_clear(&text);
	text_add(&text, "MISMATCH %lu: %s\n  %s, %s%s, seed %lu, after %.3f s\n  settings: %s\n%s",
			 number, what, s->name, level_names[s->level],
			 s->in_transaction ? " transaction" : "", shared->seed,
			 now() - shared->started, session_settings(s), details);
	/* one write, so that reports of several processes do not mix */
	if (write(STDERR_FILENO, text.bytes, (size_t) text.len) < 0)
		perror("could not report a mismatch");
}

static void
add_state(Text *text, State state)
{
	if (state == 0)
		text_add(text, "nothing");
	else
		text_add(text, "version %lu%s", state >> 1, STATE_IS_DELETED(state) ? ", deleted" : "");
}

static void
report(const Case *c, const char *what)
{
	const Question *q = c->question;
	Text		text;

	text_clear(&text);
	text_add(&text, "  %s%s, table %s, %d keys, key ", q->own ? "own " : "",
			 function_names[q->function], tables[q->table].name, q->nkeys);
	if (c->key == NULL_KEY)
		text_add(&text, "NULL");
	else
		add_key_literals(&text, q->table, c->key);
	if (c->key >= 0 && c->key < KEYS)
	{
		text_add(&text, "\n  known before: ");
		add_state(&text, c->session->floor.known[q->table][c->key]);
		text_add(&text, "; now: ");
		add_state(&text, shared->known[q->table][c->key]);
	}
	text_add(&text, "\n  enum label before: %lu; now: %lu",
			 c->label, (uint64_t) shared->label_started);
	text_add(&text, "\n  got:  %.3000s", c->got ? c->got : "no row");
	text_add(&text, "\n  want: %.3000s\n", c->alone ? "(not asked)" : c->want ? c->want : "no row");
	mismatch(c->session, what, "%s", text.bytes);
}

/* The version in a row's text; 0 if it has none. */
static uint64_t
version_of(const char *text)
{
	static const char name[] = "\"version\":";
	const char *found = strstr(text, name);

	return found ? strtoull(found + sizeof(name) - 1, NULL, 10) : 0;
}

/* Where the number in the label starts, or NULL if the row has another label. */
static const char *
find_label(const char *text)
{
	const char *found = strstr(text, LABEL);

	return found ? found + sizeof(LABEL) - 1 : NULL;
}

/* Is the label in this text, if any, one that can be seen? */
static bool
label_is_current(const char *text, uint64_t least)
{
	const char *number = find_label(text);
	uint64_t	label;

	if (number == NULL)
		return true;
	label = strtoull(number, NULL, 10);
	return label >= least && label <= shared->label_started;
}

/* Equal, but for the number in the label? */
static bool
same_but_for_label(const char *a, const char *b)
{
	const char *a_number = find_label(a);
	const char *b_number = find_label(b);

	if (a_number == NULL || b_number == NULL || a_number - a != b_number - b)
		return false;
	return strncmp(a, b, (size_t) (a_number - a)) == 0 &&
		strcmp(a_number + strspn(a_number, "0123456789"),
			   b_number + strspn(b_number, "0123456789")) == 0;
}

static const char *
compare_texts(const Case *c)
{
	if (c->got && !label_is_current(c->got, c->label))
		return "label out of its time";
	if (c->alone || (c->got == NULL && c->want == NULL))
		return NULL;
	if (c->got == NULL)
		return "row missing";
	if (c->want == NULL)
		return "row that does not exist";
	if (!label_is_current(c->want, c->session->floor.label))
		return "label of the plain SELECT out of its time";
	if (strcmp(c->got, c->want) == 0 || same_but_for_label(c->got, c->want))
		return NULL;
	return version_of(c->got) == version_of(c->want) ? "text differs" : "other version";
}

/* May the row be missing, seen from a floor that says it was there? */
static bool
absence_is_excused(const Case *c, State floor)
{
	const Question *q = c->question;

	if (floor == 0 || STATE_IS_DELETED(floor) || shared->deleting[q->table][c->key] > floor)
		return true;
	if (c->session->level == READ_COMMITTED && !c->alone)
		return false;
	return shared->rewrites_started[q->table] > c->session->floor.rewrites[q->table];
}

/* Holds the answer against what was known, and adds to what is known. */
static const char *
check_version(const Case *c)
{
	int			table = c->question->table;
	State		floor = c->session->floor.known[table][c->key];
	State		seen;

	if (c->got == NULL)
		return absence_is_excused(c, floor) ? NULL : "committed row missing";
	seen = STATE_ROW(version_of(c->got));
	if (seen < floor)
		return "older than what was known";
	raise_to(&shared->known[table][c->key], seen);
	return NULL;
}

static void
check_case(const Case *c)
{
	const char *what = compare_texts(c);

	if (what == NULL && c->got != NULL && (c->key < 0 || c->key >= KEYS))
		what = "row for a key that has none";
	if (what == NULL && !c->question->own && c->key >= 0 && c->key < KEYS)
		what = check_version(c);
	if (what != NULL)
		report(c, what);
}

/* Keys of one group have one version, or none of them has a row. */
static void
check_group(const Case *c, uint64_t versions[GROUPS], bool seen[GROUPS])
{
	int			group = group_of_key(c->key);
	uint64_t	version = c->got ? version_of(c->got) : 0;

	if (group < 0)
		return;
	if (seen[group] && versions[group] != version)
		report(c, "torn group");
	seen[group] = true;
	versions[group] = version;
}

/* Checks all of an answer.  "label" was acknowledged before the question was sent. */
void
answer_check(Session *s, const Question *q, uint64_t label, const PGresult *answer)
{
	uint64_t	versions[GROUPS] = {0};
	bool		seen[GROUPS] = {false};
	bool		alone = PQnfields(answer) == 1;

	if (PQntuples(answer) != q->nkeys)
	{
		mismatch(s, "wrong number of rows", "  %s, table %s: %d rows for %d keys\n",
				 function_names[q->function], tables[q->table].name, PQntuples(answer), q->nkeys);
		return;
	}
	for (int i = 0; i < q->nkeys; i++)
	{
		Case		c = {s, q, q->keys[i], alone, NULL, NULL, label};

		if (!PQgetisnull(answer, i, 0))
			c.got = PQgetvalue(answer, i, 0);
		if (!alone && !PQgetisnull(answer, i, 1))
			c.want = PQgetvalue(answer, i, 1);
		check_case(&c);
		check_group(&c, versions, seen);
	}
	atomic_fetch_add(&shared->checked, (uint64_t) q->nkeys);
}
