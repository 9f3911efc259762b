/*
 * table.c
 *		The hot tables and the spelling of their keys.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "table.h"

#define ELEMENT(type)	"($1::" type "[])[z.ord::int]"

/* refills has a bigint key that is asked for with an int array. */
const Table tables[TABLES] = {
	{"stress.items", "id", "id int", {"id"}, {false}, "int[]",
	"t.id = " ELEMENT("int"), 1},
	{"stress.names", "name", "name text", {"name"}, {true}, "text[]",
	"t.name = " ELEMENT("text"), 1},
	{"stress.pairs", "a, b", "a int, b text", {"a", "b"}, {false, true}, "text[]",
	"t.a = ($1::text[])[z.ord::int][1]::int AND t.b = ($1::text[])[z.ord::int][2]", 2},
	[REFILLS] = {"stress.refills", "id", "id bigint", {"id"}, {false}, "int[]",
	"t.id = " ELEMENT("int"), 1},
};

void
text_clear(Text *text)
{
	text->len = 0;
	text->bytes[0] = '\0';
}

void
text_add(Text *text, const char *format, ...)
{
	int			room = (int) sizeof(text->bytes) - text->len;
	int			len;
	va_list		args;

	va_start(args, format);
	len = vsnprintf(text->bytes + text->len, (size_t) room, format, args);
	va_end(args);
	if (len < 0 || len >= room)
	{
		fprintf(stderr, "text longer than %zu bytes\n", sizeof(text->bytes));
		exit(2);
	}
	text->len += len;
}

/*
 * The text of one column of a key.  Text keys hold what JSON, arrays and UTF-8
 * make work of, but no quote and no backslash, so that SQL and COPY take them
 * as they are.
 */
static void
spell(char *bytes, size_t size, int table, int key, int column)
{
	if (tables[table].ncolumns == 2)
		snprintf(bytes, size, column == 0 ? "%d" : "b{%d}", column == 0 ? key / 8 : key % 8);
	else if (table == 1)
		snprintf(bytes, size, "ключ \"%d\", {é}", key);
	else
		snprintf(bytes, size, "%d", key);
}

/* 'one' or 'one', 'two': literals for SQL, of whatever type is wanted there. */
void
add_key_literals(Text *text, int table, int key)
{
	char		bytes[64];

	for (int column = 0; column < tables[table].ncolumns; column++)
	{
		spell(bytes, sizeof(bytes), table, key, column);
		text_add(text, "%s'%s'", column > 0 ? ", " : "", bytes);
	}
}

/* An element of an array literal; for two columns an array of two. */
void
add_key_element(Text *text, int table, int key)
{
	char		bytes[64];

	if (key == NULL_KEY)
	{
		text_add(text, "NULL");
		return;
	}
	for (int column = 0; column < tables[table].ncolumns; column++)
	{
		spell(bytes, sizeof(bytes), table, key, column);
		text_add(text, "%s\"", column > 0 ? "," : tables[table].ncolumns > 1 ? "{" : "");
		for (const char *c = bytes; *c != '\0'; c++)
			text_add(text, *c == '"' ? "\\%c" : "%c", *c);
		text_add(text, "\"");
	}
	if (tables[table].ncolumns > 1)
		text_add(text, "}");
}

/* The columns of a line of COPY. */
void
add_key_copied(Text *text, int table, int key)
{
	char		bytes[64];

	for (int column = 0; column < tables[table].ncolumns; column++)
	{
		spell(bytes, sizeof(bytes), table, key, column);
		text_add(text, "%s%s", column > 0 ? "\t" : "", bytes);
	}
}

static void
add_json_field(Text *text, int table, int key, int column, bool quoted)
{
	char		bytes[64];

	spell(bytes, sizeof(bytes), table, key, column);
	text_add(text, quoted ? "\"%s\":\"" : "\"%s\":", tables[table].names[column]);
	for (const char *c = bytes; *c != '\0'; c++)
		text_add(text, *c == '"' ? "\\%c" : "%c", *c);
	text_add(text, "%s", quoted ? "\"" : "");
}

/* "a":1,"b":"x": as in JSON, in the order of the columns. */
void
add_key_fields(Text *text, int table, int key)
{
	for (int column = 0; column < tables[table].ncolumns; column++)
	{
		text_add(text, "%s", column > 0 ? "," : "");
		add_json_field(text, table, key, column, tables[table].quoted[column]);
	}
}

/* JSON with all that it allows: white space, the other order, numbers as strings. */
static void
add_key_odd_json(Text *text, int table, int key)
{
	text_add(text, "{ ");
	for (int column = tables[table].ncolumns - 1; column >= 0; column--)
	{
		add_json_field(text, table, key, column, true);
		text_add(text, column > 0 ? " ,\t" : " ");
	}
	text_add(text, "}");
}

/* 42, or a=1,b=x */
static void
add_key_bare(Text *text, int table, int key, bool zeros)
{
	char		bytes[64];

	for (int column = 0; column < tables[table].ncolumns; column++)
	{
		spell(bytes, sizeof(bytes), table, key, column);
		if (tables[table].ncolumns > 1)
			text_add(text, "%s%s=", column > 0 ? "," : "", tables[table].names[column]);
		text_add(text, "%s%s", zeros && !tables[table].quoted[column] ? "00000" : "", bytes);
	}
}

/*
 * A key as clients of the endpoint write it.  NULL_KEY stands for one that leads
 * to no table; there must be no row for it either.
 */
void
add_key_wire(Text *text, int table, int key, const char *database, int spelling)
{
	if (key == NULL_KEY)
	{
		text_add(text, "nobody's:1");
		return;
	}
	text_add(text, "CRUD:%s.%s:", database, tables[table].name);
	switch (spelling)
	{
		case 0:
			text_add(text, "{");
			add_key_fields(text, table, key);
			text_add(text, "}");
			break;
		case 1:
			add_key_odd_json(text, table, key);
			break;
		default:
			add_key_bare(text, table, key, spelling == 2);
	}
}

/* The group of a key, or -1. */
int
group_of_key(int key)
{
	return key < SINGLE_KEYS || key >= KEYS ? -1 : (key - SINGLE_KEYS) / GROUP_SIZE;
}

int
group_key(int group, int member)
{
	return SINGLE_KEYS + group * GROUP_SIZE + member;
}
