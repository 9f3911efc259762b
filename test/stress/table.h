/*
 * table.h
 *		The hot tables and the spelling of their keys.
 *
 * Each table has the keys 0 .. KEYS - 1, spelled in its own way.  The last of
 * them form groups that are always changed together.  Numbers from KEYS on
 * are keys that never have a row.
 */
#ifndef STRESS_TABLE_H
#define STRESS_TABLE_H

#include <stdbool.h>

#define TABLES			4
#define SINGLE_KEYS		48
#define GROUPS			4
#define GROUP_SIZE		4
#define KEYS			(SINGLE_KEYS + GROUPS * GROUP_SIZE)
#define MISSING_KEYS	8
#define MAX_KEY_COLUMNS	2
#define NULL_KEY		(-1)

/* The table that is truncated. */
#define REFILLS			3

typedef struct Text
{
	int			len;
	char		bytes[32 * 1024];
} Text;

typedef struct Table
{
	const char *name;			/* with its schema */
	const char *columns;		/* of the key */
	const char *definition;		/* of these columns */
	const char *names[MAX_KEY_COLUMNS]; /* of these columns, one by one */
	bool		quoted[MAX_KEY_COLUMNS];	/* text, so in quotes in JSON */
	const char *array_type;		/* what mget takes */
	const char *match;			/* row "t" has the key at z.ord of array $1 */
	int			ncolumns;
} Table;

extern const Table tables[TABLES];

/* Texts */
extern void text_clear(Text *text);
extern void text_add(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Keys, spelled */
extern void add_key_literals(Text *text, int table, int key);
extern void add_key_element(Text *text, int table, int key);
extern void add_key_copied(Text *text, int table, int key);
extern void add_key_fields(Text *text, int table, int key);

/* The same in ways that the endpoint must take for one */
#define WIRE_SPELLINGS	4
extern void add_key_wire(Text *text, int table, int key, const char *database, int spelling);

/* Groups */
extern int	group_of_key(int key);
extern int	group_key(int group, int member);

#endif							/* STRESS_TABLE_H */
