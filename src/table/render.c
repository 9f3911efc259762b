/*
 * render.c
 *		Rows to JSON, byte for byte as row_to_json does it.
 *
 * row_to_json looks up the type of every column of every row in the catalogs.
 * A renderer does this once for a table, and has short paths for the common
 * types.  Whatever is not simple (arrays, composite types, casts to json) is
 * handed to the server's own to_json.  test/regress/sql/render.sql compares
 * the two for every type of the server; pg_local_cache.verify compares in
 * production, with row_to_json itself.
 *
 * Works in the current memory context, and leaves there what output functions
 * leave.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/datetime.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "table/render.h"

/* How a column's value becomes text. */
typedef enum RenderHow
{
	RENDER_DROPPED,				/* not at all */
	RENDER_BOOL,
	RENDER_INT2,
	RENDER_INT4,
	RENDER_INT8,
	RENDER_NUMBER,				/* output function, quoted unless it is a number */
	RENDER_DATETIME,			/* date, timestamp, timestamptz: ISO 8601 */
	RENDER_TEXT,				/* text and its kin: the bytes, escaped */
	RENDER_JSON,				/* output function, as it is */
	RENDER_OUTPUT,				/* output function, escaped */
	RENDER_TO_JSON				/* the server's to_json */
} RenderHow;

typedef struct RenderColumn
{
	RenderHow	how;
	Oid			type;			/* base type */
	FmgrInfo	function;		/* output function or to_json */
	char	   *label;			/* "name": with the comma before it if not first */
	int			label_len;
} RenderColumn;

struct PlcRenderer
{
	int			ncolumns;
	RenderColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

static bool
has_json_cast(Oid type)
{
	Oid			cast;

	return type >= FirstNormalObjectId &&
		find_coercion_pathway(JSONOID, type, COERCION_EXPLICIT, &cast) == COERCION_PATH_FUNC;
}

/* The decision that json.c takes for a type. */
static RenderHow
choose(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return RENDER_BOOL;
		case INT2OID:
			return RENDER_INT2;
		case INT4OID:
			return RENDER_INT4;
		case INT8OID:
			return RENDER_INT8;
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return RENDER_NUMBER;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return RENDER_DATETIME;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return RENDER_TEXT;
		case JSONOID:
		case JSONBOID:
			return RENDER_JSON;
		default:
			if (OidIsValid(get_element_type(type)) || type_is_rowtype(type) || has_json_cast(type))
				return RENDER_TO_JSON;
			return RENDER_OUTPUT;
	}
}

/* to_json finds out the type of its argument from its call expression. */
static void
prepare_to_json(RenderColumn *column, Oid type)
{
	Param	   *argument = makeNode(Param);

	argument->paramkind = PARAM_EXTERN;
	argument->paramtype = type;
	argument->paramtypmod = -1;
	fmgr_info(F_TO_JSON, &column->function);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_TO_JSON, JSONOID, list_make1(argument),
											 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
					   &column->function);
}

static void
make_label(RenderColumn *column, const char *name, bool first)
{
	StringInfoData label;

	initStringInfo(&label);
	if (!first)
		appendStringInfoChar(&label, ',');
	escape_json(&label, name);
	appendStringInfoChar(&label, ':');
	column->label = label.data;
	column->label_len = label.len;
}

static void
make_column(RenderColumn *column, Form_pg_attribute attribute, bool first)
{
	Oid			output;
	bool		is_varlena;

	column->type = getBaseType(attribute->atttypid);
	column->how = choose(column->type);
	make_label(column, NameStr(attribute->attname), first);
	if (column->how == RENDER_TO_JSON)
	{
		prepare_to_json(column, attribute->atttypid);
		return;
	}
	getTypeOutputInfo(column->type, &output, &is_varlena);
	fmgr_info(output, &column->function);
}

/* Makes a renderer in the current memory context, for rows of this shape. */
PlcRenderer *
plc_renderer_make(TupleDesc desc)
{
	PlcRenderer *renderer = palloc0(offsetof(PlcRenderer, columns) +
									desc->natts * sizeof(RenderColumn));
	bool		first = true;

	renderer->ncolumns = desc->natts;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (attribute->attisdropped)
			continue;
		make_column(&renderer->columns[i], attribute, first);
		first = false;
	}
	return renderer;
}

/* What JSON wants escaped: a byte below space, a quote, a backslash. */
static inline bool
needs_escape(unsigned char c)
{
	return c < ' ' || c == '"' || c == '\\';
}

static void
append_escape(StringInfo out, unsigned char c)
{
	static const char short_forms[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',
		['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};

	if (short_forms[c] != 0)
	{
		appendStringInfoChar(out, '\\');
		appendStringInfoChar(out, short_forms[c]);
	}
	else
		appendStringInfo(out, "\\u%04x", c);
}

/* A JSON string of these bytes: as escape_json makes it, by runs. */
static void
append_string(StringInfo out, const char *bytes, int len)
{
	int			run = 0;

	enlargeStringInfo(out, len + 2);
	appendStringInfoCharMacro(out, '"');
	for (int i = 0; i < len; i++)
	{
		if (likely(!needs_escape(bytes[i])))
			continue;
		appendBinaryStringInfo(out, bytes + run, i - run);
		append_escape(out, bytes[i]);
		run = i + 1;
	}
	appendBinaryStringInfo(out, bytes + run, len - run);
	appendStringInfoChar(out, '"');
}

static void
append_int(StringInfo out, int64 value)
{
	enlargeStringInfo(out, MAXINT8LEN + 1);
	out->len += pg_lltoa(value, out->data + out->len);
}

static void
append_datetime(StringInfo out, Oid type, Datum value)
{
	char		text[MAXDATELEN + 1];

	JsonEncodeDateTime(text, value, type, NULL);
	appendStringInfoChar(out, '"');
	appendStringInfoString(out, text);
	appendStringInfoChar(out, '"');
}

/* NaN and the infinities are not numbers to JSON. */
static void
append_number(StringInfo out, const char *text)
{
	const char *digits = *text == '-' ? text + 1 : text;

	if (*digits >= '0' && *digits <= '9')
		appendStringInfoString(out, text);
	else
		append_string(out, text, strlen(text));
}

static void
append_text(StringInfo out, struct varlena *value)
{
	struct varlena *packed = PG_DETOAST_DATUM_PACKED(PointerGetDatum(value));

	append_string(out, VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed));
}

static void
append_value(StringInfo out, RenderColumn *column, Datum value)
{
	char	   *text;
	struct varlena *json;

	switch (column->how)
	{
		case RENDER_DROPPED:
			break;
		case RENDER_BOOL:
			appendStringInfoString(out, DatumGetBool(value) ? "true" : "false");
			break;
		case RENDER_INT2:
			append_int(out, DatumGetInt16(value));
			break;
		case RENDER_INT4:
			append_int(out, DatumGetInt32(value));
			break;
		case RENDER_INT8:
			append_int(out, DatumGetInt64(value));
			break;
		case RENDER_DATETIME:
			append_datetime(out, column->type, value);
			break;
		case RENDER_TEXT:
			append_text(out, (struct varlena *) DatumGetPointer(value));
			break;
		case RENDER_NUMBER:
			append_number(out, OutputFunctionCall(&column->function, value));
			break;
		case RENDER_JSON:
			appendStringInfoString(out, OutputFunctionCall(&column->function, value));
			break;
		case RENDER_OUTPUT:
			text = OutputFunctionCall(&column->function, value);
			append_string(out, text, strlen(text));
			break;
		case RENDER_TO_JSON:
			json = PG_DETOAST_DATUM_PACKED(FunctionCall1(&column->function, value));
			appendBinaryStringInfo(out, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json));
			break;
	}
}

/* Appends the row in the slot, which must be of the shape the renderer is for. */
void
plc_render(PlcRenderer *renderer, TupleTableSlot *slot, StringInfo out)
{
	slot_getallattrs(slot);
	Assert(slot->tts_nvalid == renderer->ncolumns);

	appendStringInfoChar(out, '{');
	for (int i = 0; i < renderer->ncolumns; i++)
	{
		RenderColumn *column = &renderer->columns[i];

		if (column->how == RENDER_DROPPED)
			continue;
		appendBinaryStringInfo(out, column->label, column->label_len);
		if (slot->tts_isnull[i])
			appendBinaryStringInfo(out, "null", 4);
		else
			append_value(out, column, slot->tts_values[i]);
	}
	appendStringInfoChar(out, '}');
}

/* The row in the slot, rendered by the server's row_to_json. */
text *
plc_render_by_server(TupleTableSlot *slot)
{
	return DatumGetTextPP(DirectFunctionCall1(row_to_json, ExecFetchSlotHeapTupleDatum(slot)));
}
