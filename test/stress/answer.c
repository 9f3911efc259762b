/*
 * answer.c
 *		What is wrong with an answer.
 *
 *	- Got and plain SELECT differ, or there are too few or too many rows.
 *	- A row is older than what was known before the question was sent, or it is
 *	  missing although nobody could have deleted it.  Known is what a writer's
 *	  commit was acknowledged for, and what any reader has seen: a snapshot
 *	  taken later sees it too.  Hence no reader ever goes back.
 *	- A row is newer than anything whose commit had been sent when the answer was
 *	  there.
 *	- Keys that are always changed together have different versions, or one key
 *	  has two.
 *	- A row has another key than the one asked for.
 *	- The enum's label is not one that the enum had in this time.
 *
 * Two excuses, both PostgreSQL's own.  TRUNCATE and ALTER TABLE with a rewrite
 * hide all rows from snapshots that were taken before: a row may be missing if
 * there was one since the snapshot (unless the statement has locked the table
 * before its snapshot, as the comparing ones of READ COMMITTED do, and as all
 * commands of the endpoint have to).  And ALTER
 * TYPE ... RENAME VALUE locks no table: while it is being committed, the two
 * halves of one statement may find different labels.  This excuse is exact, too:
 * the renames are numbered, the label goes to and fro with them, and each half
 * must have the label of a number between the last one acknowledged before and
 * the last one begun after; and all the rest of the texts must be equal.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "question.h"

#define MAX_REPORTED	5

/* One key's answer, and all that it is judged by. */
typedef struct Case
{
	Session    *session;
	const Question *question;
	int			key;
	bool		compared;		/* with a plain SELECT */
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
	text_add(&text, "\n  enum label before: %s (%lu); now: %s (%lu)", label_name(c->label), c->label,
			 label_name(shared->label_started), (uint64_t) shared->label_started);
	text_add(&text, "\n  got:  %.3000s", c->got ? c->got : "no row");
	text_add(&text, "\n  want: %.3000s\n", !c->compared ? "(not asked)" : c->want ? c->want : "no row");
	mismatch(c->session, what, "%s", text.bytes);
}

/* The version in a row's text; 0 if it has none. */
uint64_t
row_version(const char *text)
{
	static const char name[] = "\"version\":";
	const char *found = strstr(text, name);

	return found ? strtoull(found + sizeof(name) - 1, NULL, 10) : 0;
}

/* Where the label of the enum starts, or NULL if there is none. */
static const char *
find_label(const char *text)
{
	static const char name[] = "\"mood\":\"";
	const char *found = strstr(text, name);

	return found ? found + sizeof(name) - 1 : NULL;
}

static bool
label_is(const char *label, const char *name)
{
	return strncmp(label, name, strlen(name)) == 0 && label[strlen(name)] == '"';
}

/* Is the label in this text one that can be seen? */
static bool
label_is_current(const char *text, uint64_t least)
{
	const char *label = find_label(text);
	uint64_t	most = shared->label_started;

	if (label == NULL)
		return false;
	for (uint64_t number = least; number <= most && number < least + 2; number++)
		if (label_is(label, label_name(number)))
			return true;
	return label_is(label, "loud");
}

/* Equal, but for the label? */
static bool
same_but_for_label(const char *a, const char *b)
{
	const char *a_label = find_label(a);
	const char *b_label = find_label(b);

	return a_label - a == b_label - b && strncmp(a, b, (size_t) (a_label - a)) == 0 &&
		strcmp(strchr(a_label, '"'), strchr(b_label, '"')) == 0;
}

static const char *
compare_texts(const Case *c)
{
	/* a transaction that has changed the schema itself is right about it */
	if (c->question->own && c->got && c->want && strcmp(c->got, c->want) == 0)
		return NULL;
	if (c->got && !label_is_current(c->got, c->label))
		return "label out of its time";
	if (!c->compared || (c->got == NULL && c->want == NULL))
		return NULL;
	if (c->got == NULL)
		return "row missing";
	if (c->want == NULL)
		return "row that does not exist";
	if (!label_is_current(c->want, c->session->floor.label))
		return "label of the plain SELECT out of its time";
	if (strcmp(c->got, c->want) == 0 || same_but_for_label(c->got, c->want))
		return NULL;
	return row_version(c->got) == row_version(c->want) ? "text differs" : "other version";
}

/* May the row be missing, seen from a floor that says it was there? */
static bool
absence_is_excused(const Case *c, State floor)
{
	const Question *q = c->question;

	if (floor == 0 || STATE_IS_DELETED(floor) || shared->deleting[q->table][c->key] > floor)
		return true;
	if (c->session->level == READ_COMMITTED && q->function != MGET_ALONE)
		return false;
	return shared->rewrites_started[q->table] > c->session->floor.rewrites[q->table];
}

static bool
is_row_of_key(const char *row, int table, int key)
{
	Text		start;

	text_clear(&start);
	text_add(&start, "{");
	add_key_fields(&start, table, key);
	text_add(&start, ",");
	return strncmp(row, start.bytes, (size_t) start.len) == 0;
}

/*
 * Holds the answer against what was known, and adds to what is known: for all,
 * and, in case this was one of several answers to come, for this session.
 */
static const char *
check_version(const Case *c)
{
	int			table = c->question->table;
	State	   *floor = &c->session->floor.known[table][c->key];
	State		seen;

	if (c->got == NULL)
		return absence_is_excused(c, *floor) ? NULL : "committed row missing";
	seen = STATE_ROW(row_version(c->got));
	if (seen < *floor)
		return "older than what was known";
	if (seen > shared->committing[table][c->key])
		return "not committed yet";
	raise_to(&shared->known[table][c->key], seen);
	*floor = seen;
	return NULL;
}

static const char *
check_row(const Case *c)
{
	if (c->key < 0 || c->key >= KEYS)
		return c->got != NULL ? "row for a key that has none" : NULL;
	if (c->got != NULL && !is_row_of_key(c->got, c->question->table, c->key))
		return "row of another key";
	return c->question->own ? NULL : check_version(c);
}

static void
check_case(const Case *c)
{
	const char *what = compare_texts(c);

	if (what == NULL)
		what = check_row(c);
	if (what != NULL)
		report(c, what);
}

/* Versions seen of what must have one: a key, or all keys of a group.  0: no row. */
typedef struct Units
{
	bool		seen[SINGLE_KEYS + GROUPS];
	uint64_t	versions[SINGLE_KEYS + GROUPS];
} Units;

static void
check_unit(const Case *c, Units *units)
{
	int			group = group_of_key(c->key);
	int			unit = group < 0 ? c->key : SINGLE_KEYS + group;
	uint64_t	version = c->got ? row_version(c->got) : 0;

	if (c->key < 0 || c->key >= KEYS)
		return;
	if (units->seen[unit] && units->versions[unit] != version)
		report(c, group < 0 ? "one key, two versions" : "torn group");
	units->seen[unit] = true;
	units->versions[unit] = version;
}

/* Checks all of an answer.  "label" was acknowledged before the question was sent. */
void
answer_check(Session *s, const Question *q, uint64_t label, const Answer *answer)
{
	Units		units = {0};

	if (shared->only_resp && q->function < SQL_FUNCTIONS)
		return;
	if (answer->nrows != q->nkeys)
	{
		mismatch(s, "wrong number of rows", "  %s, table %s: %d rows for %d keys\n",
				 function_names[q->function], tables[q->table].name, answer->nrows, q->nkeys);
		return;
	}
	for (int i = 0; i < q->nkeys; i++)
	{
		Case		c = {s, q, q->keys[i], answer->compared, answer->got[i], answer->want[i], label};

		check_case(&c);
		check_unit(&c, &units);
	}
	atomic_fetch_add(&shared->checked, (uint64_t) q->nkeys);
}
