/*
 * given.c
 *		Columns as a client gives them, for a row that is to be written.
 *
 * SET gives a whole row as a JSON object, HSET gives fields.  Both become one
 * thing here: a set of columns, and a JSON object that has their values, which the
 * server's json_to_record takes apart (statement.c).  So there is one way from text
 * to values, the server's: numbers never pass through a float, columns of type json
 * keep their text, arrays and composites are JSON arrays and objects, as they are
 * when they are read.
 *
 * Fields are texts.  A field becomes a JSON string, for the input function of its
 * type; but what is read as an array, an object or JSON may be written as such:
 *
 *	- columns of type json and jsonb want JSON, nothing else;
 *	- an array may be [1,2], a composite {"a":1}, or either in the server's own
 *	  spelling, {1,2} and (1,), which cannot be mistaken for the other.
 *
 * What stands in the client's JSON besides the columns asked for is an error, not
 * ignored: whoever misspells a column must hear of it.
 */
#include "postgres.h"

#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "common/jsonapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonfuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "table/key.h"
#include "table/write_internal.h"

/* Names and values under way. */
typedef struct Reader
{
	PlcWrite   *write;
	bool		clears;			/* there are no values: the columns become null */
	Bitmapset  *seen;
	int			key_column;		/* position in the key of the column at hand, or -1 */
	JsonLexContext *lexer;
} Reader;

/* ---------- columns ---------- */

/* The column of that name; raises an error if there is none. */
static Form_pg_attribute
find_column(Relation relation, const char *name)
{
	TupleDesc	desc = RelationGetDescr(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), name) == 0)
			return attribute;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of table \"%s\" does not exist",
					name, RelationGetRelationName(relation))));
}

/* Raises an error for a column that the server fills in itself. */
static void
check_writable(Relation relation, Form_pg_attribute attribute)
{
	if (attribute->attgenerated != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_GENERATED_ALWAYS),
				 errmsg("column \"%s\" of table \"%s\" is generated and cannot be written",
						NameStr(attribute->attname), RelationGetRelationName(relation)),
				 errhint("Leave the column out.")));
	if (attribute->attidentity == ATTRIBUTE_IDENTITY_ALWAYS)
		ereport(ERROR,
				(errcode(ERRCODE_GENERATED_ALWAYS),
				 errmsg("identity column \"%s\" of table \"%s\" is always generated and cannot be written",
						NameStr(attribute->attname), RelationGetRelationName(relation)),
				 errhint("Leave the column out.")));
}

/* The position of a column in the key, or -1. */
static int
position_in_key(const PlcTable *table, AttrNumber attnum)
{
	for (int c = 0; c < table->ncolumns; c++)
		if (table->columns[c].attnum == attnum)
			return c;
	return -1;
}

/* A column has been named.  Raises an error if it must not be. */
static Form_pg_attribute
read_name(Reader *reader, const char *name)
{
	PlcWrite   *write = reader->write;
	Form_pg_attribute attribute = find_column(write->relation, name);
	AttrNumber	attnum = attribute->attnum;

	if (bms_is_member(attnum, reader->seen))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("column \"%s\" of table \"%s\" is given twice",
						name, RelationGetRelationName(write->relation))));
	reader->seen = bms_add_member(reader->seen, attnum);

	reader->key_column = position_in_key(write->table, attnum);
	if (reader->key_column >= 0 && !reader->clears)
		return attribute;
	if (reader->key_column >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("column \"%s\" of table \"%s\" belongs to the key and cannot be cleared",
						name, RelationGetRelationName(write->relation))));
	check_writable(write->relation, attribute);
	write->columns = bms_add_member(write->columns, attnum);
	return attribute;
}

static void
refuse_key_value(Reader *reader)
{
	const PlcWrite *write = reader->write;

	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("column \"%s\" is not what the key %s says",
					write->table->columns[reader->key_column].name,
					plc_key_describe(write->table, write->key)),
			 errhint("Columns of the key can be left out.")));
}

/* The column at hand is of the key: is its value the key's, as the index compares? */
static void
check_key_value(Reader *reader, char *value)
{
	PlcKeyColumn *column = &reader->write->table->columns[reader->key_column];
	Oid			input;
	Oid			ioparam;
	Datum		given;

	getTypeInputInfo(column->type, &input, &ioparam);
	given = OidInputFunctionCall(input, value, ioparam, -1);
	if (!DatumGetBool(FunctionCall2Coll(&column->equality, column->collation,
										reader->write->key[reader->key_column], given)))
		refuse_key_value(reader);
}

/* Bytes of a client as a string; raises an error if they are no text in the database's encoding. */
static char *
text_of(const char *bytes, size_t len)
{
	(void) pg_verify_mbstr(GetDatabaseEncoding(), bytes, len, false);
	return pnstrdup(bytes, len);
}

/* ---------- a row as JSON ---------- */

static void
refuse_not_an_object(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("a row must be a JSON object"),
			 errhint("Write it as {\"column\": value, …}.")));
}

static PlcJsonResult
on_field(void *state, char *name, bool isnull)
{
	Reader	   *reader = state;

	if (reader->lexer->lex_level == 1)
		read_name(reader, name);
	return PLC_JSON_OK;
}

static PlcJsonResult
on_field_end(void *state, char *name, bool isnull)
{
	Reader	   *reader = state;

	if (reader->lexer->lex_level == 1)
		reader->key_column = -1;
	return PLC_JSON_OK;
}

/* Levels count what is open around: 0 is the row itself, 1 the value of a column. */
static PlcJsonResult
on_object(void *state)
{
	Reader	   *reader = state;

	if (reader->lexer->lex_level == 1 && reader->key_column >= 0)
		refuse_key_value(reader);
	return PLC_JSON_OK;
}

static PlcJsonResult
on_array(void *state)
{
	Reader	   *reader = state;

	if (reader->lexer->lex_level == 0)
		refuse_not_an_object();
	return on_object(state);
}

static PlcJsonResult
on_scalar(void *state, char *token, JsonTokenType type)
{
	Reader	   *reader = state;

	if (reader->lexer->lex_level == 0)
		refuse_not_an_object();
	if (reader->lexer->lex_level > 1 || reader->key_column < 0)
		return PLC_JSON_OK;
	if (type == JSON_TOKEN_NULL)
		refuse_key_value(reader);
	check_key_value(reader, token);
	return PLC_JSON_OK;
}

void
plc_given_row(PlcWrite *write, const char *json, size_t len)
{
	Reader		reader = {.write = write, .key_column = -1};
	JsonSemAction actions = {
		.object_start = on_object,
		.array_start = on_array,
		.object_field_start = on_field,
		.object_field_end = on_field_end,
		.scalar = on_scalar
	};
	text	   *copy;

	(void) pg_verify_mbstr(GetDatabaseEncoding(), json, len, false);
	copy = cstring_to_text_with_len(json, len);
	reader.lexer = plc_json_lexer(copy);
	actions.semstate = &reader;
	pg_parse_json_or_ereport(reader.lexer, &actions);
	write->json = PointerGetDatum(copy);
}

/* ---------- fields ---------- */

/* The first character that is not white space. */
static char
first_character(const char *value)
{
	return value[strspn(value, " \t\r\n")];
}

static bool
is_json(const char *value)
{
	return pg_parse_json(plc_json_lexer(cstring_to_text(value)), &nullSemAction) == JSON_SUCCESS;
}

/*
 * Does a field go into the object as it is?  Raises an error for a column that
 * takes nothing but JSON.
 */
static bool
goes_as_json(Form_pg_attribute attribute, char *value)
{
	Oid			type = getBaseType(attribute->atttypid);

	if (type == JSONOID || type == JSONBOID)
	{
		(void) DirectFunctionCall1(json_in, CStringGetDatum(value));
		return true;
	}
	if (OidIsValid(get_element_type(type)))
		return first_character(value) == '[' && is_json(value);
	if (type_is_rowtype(type))
		return first_character(value) == '{' && is_json(value);
	return false;
}

static void
append_field(StringInfo json, Form_pg_attribute attribute, char *value)
{
	appendStringInfoChar(json, json->len == 0 ? '{' : ',');
	escape_json(json, NameStr(attribute->attname));
	appendStringInfoChar(json, ':');
	if (goes_as_json(attribute, value))
		appendStringInfoString(json, value);
	else
		escape_json(json, value);
}

void
plc_given_fields(PlcWrite *write, const PlcWriteField *fields, int nfields)
{
	Reader		reader = {.write = write};
	StringInfoData json;

	initStringInfo(&json);
	for (int i = 0; i < nfields; i++)
	{
		Form_pg_attribute attribute = read_name(&reader, text_of(fields[i].name, fields[i].name_len));
		char	   *value = text_of(fields[i].value, fields[i].value_len);

		if (reader.key_column >= 0)
			check_key_value(&reader, value);
		else
			append_field(&json, attribute, value);
	}
	appendStringInfoString(&json, json.len == 0 ? "{}" : "}");
	write->json = PointerGetDatum(cstring_to_text_with_len(json.data, json.len));
}

void
plc_given_names(PlcWrite *write, const PlcWriteField *fields, int nfields)
{
	Reader		reader = {.write = write, .clears = true};

	for (int i = 0; i < nfields; i++)
		read_name(&reader, text_of(fields[i].name, fields[i].name_len));
}
