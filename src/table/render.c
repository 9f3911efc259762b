/*
 * render.c
 *		Rows to JSON, byte for byte as row_to_json does it.
 *
 * row_to_json looks up the type of every column of every row in the catalogs.
 * A renderer does this once for a table, into nested arrays and composite types,
 * and has short paths for the common types.  Besides being fast this makes the
 * text a function of the descriptor and the tuple: a change of the catalogs in
 * the middle of a call cannot show in a text that is then published under the
 * fingerprint of the old state (rule P8).  The one exception is the label of an
 * enum, which its output function looks up; shape.c takes care of that.
 *
 * test/regress/sql/render.sql compares with row_to_json for every type of the
 * server; pg_local_cache.verify compares in production.
 *
 * Works in the current memory context, and leaves there what output functions
 * leave.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

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
	RENDER_CAST,				/* cast to json, as it is */
	RENDER_ARRAY,
	RENDER_ROW
} RenderHow;

/* How values of one type are rendered. */
typedef struct RenderValue
{
	RenderHow	how;
	Oid			type;			/* base type */
	FmgrInfo	function;		/* output function or cast */

	/* of an array */
	struct RenderValue *element;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	/* of a composite type */
	PlcRenderer *row;
	TupleDesc	desc;
} RenderValue;

typedef struct RenderColumn
{
	RenderValue value;
	char	   *label;			/* "name": with the comma before it if not first */
	int			label_len;
} RenderColumn;

struct PlcRenderer
{
	int			ncolumns;
	RenderColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

static void append_value(StringInfo out, RenderValue *value, Datum datum);
static void make_value(RenderValue *value, Oid type);

/* The cast to json that json.c would call, or InvalidOid. */
static Oid
json_cast(Oid type)
{
	Oid			cast;

	if (type < FirstNormalObjectId ||
		find_coercion_pathway(JSONOID, type, COERCION_EXPLICIT, &cast) != COERCION_PATH_FUNC)
		return InvalidOid;
	return cast;
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
			if (OidIsValid(get_element_type(type)))
				return RENDER_ARRAY;
			if (type_is_rowtype(type))
				return RENDER_ROW;
			return OidIsValid(json_cast(type)) ? RENDER_CAST : RENDER_OUTPUT;
	}
}

static void
make_array(RenderValue *value)
{
	Oid			element = get_element_type(value->type);

	get_typlenbyvalalign(element, &value->typlen, &value->typbyval, &value->typalign);
	value->element = palloc0(sizeof(RenderValue));
	make_value(value->element, element);
}

static void
make_row(RenderValue *value)
{
	value->desc = lookup_rowtype_tupdesc_copy(value->type, -1);
	value->row = plc_renderer_make(value->desc);
}

static void
make_value(RenderValue *value, Oid type)
{
	Oid			output;
	bool		is_varlena;

	check_stack_depth();
	value->type = getBaseType(type);
	value->how = choose(value->type);
	switch (value->how)
	{
		case RENDER_ARRAY:
			make_array(value);
			break;
		case RENDER_ROW:
			make_row(value);
			break;
		case RENDER_CAST:
			fmgr_info(json_cast(value->type), &value->function);
			break;
		default:
			getTypeOutputInfo(value->type, &output, &is_varlena);
			fmgr_info(output, &value->function);
	}
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
		make_label(&renderer->columns[i], NameStr(attribute->attname), first);
		make_value(&renderer->columns[i].value, attribute->atttypid);
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

#define EVERY_BYTE(b)	(UINT64CONST(0x0101010101010101) * (b))

/*
 * Does any of eight bytes need an escape?  The usual test for a byte below n in
 * a word, (word - n) & ~word & 0x80 in each byte, for space, and for 1 after
 * the quote or the backslash have been turned into zeros.
 */
static inline bool
any_needs_escape(uint64 word)
{
	uint64		quote = word ^ EVERY_BYTE('"');
	uint64		backslash = word ^ EVERY_BYTE('\\');

	return (((word - EVERY_BYTE(' ')) & ~word) |
			((quote - EVERY_BYTE(1)) & ~quote) |
			((backslash - EVERY_BYTE(1)) & ~backslash)) & EVERY_BYTE(0x80);
}

/* How many bytes from here on need no escape. */
static int
plain_run(const char *bytes, int len)
{
	int			run = 0;
	uint64		word;

	for (; run + (int) sizeof(word) <= len; run += sizeof(word))
	{
		memcpy(&word, bytes + run, sizeof(word));
		if (any_needs_escape(word))
			break;
	}
	while (run < len && !needs_escape(bytes[run]))
		run++;
	return run;
}

/* A JSON string of these bytes: as escape_json makes it, by runs. */
static void
append_string(StringInfo out, const char *bytes, int len)
{
	enlargeStringInfo(out, len + 2);
	appendStringInfoCharMacro(out, '"');
	while (len > 0)
	{
		int			run = plain_run(bytes, len);

		appendBinaryStringInfo(out, bytes, run);
		if (run == len)
			break;
		append_escape(out, bytes[run]);
		bytes += run + 1;
		len -= run + 1;
	}
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

static void append_row(StringInfo out, PlcRenderer *renderer, const Datum *values,
					   const bool *nulls);

static void
append_composite(StringInfo out, RenderValue *value, Datum datum)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(datum);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
	Datum	   *values = palloc(value->desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(value->desc->natts * sizeof(bool));

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, value->desc, values, nulls);
	append_row(out, value->row, values, nulls);
}

/* An array on its way: elements are taken in the order in which they lie. */
typedef struct ArrayWalk
{
	RenderValue *element;
	int			ndims;
	int		   *dims;
	Datum	   *elements;
	bool	   *nulls;
	int			next;
} ArrayWalk;

static void
append_dimension(StringInfo out, ArrayWalk *walk, int dim)
{
	appendStringInfoChar(out, '[');
	for (int i = 0; i < walk->dims[dim]; i++)
	{
		if (i > 0)
			appendStringInfoChar(out, ',');
		if (dim + 1 < walk->ndims)
			append_dimension(out, walk, dim + 1);
		else if (walk->nulls[walk->next++])
			appendBinaryStringInfo(out, "null", 4);
		else
			append_value(out, walk->element, walk->elements[walk->next - 1]);
	}
	appendStringInfoChar(out, ']');
}

static void
append_array(StringInfo out, RenderValue *value, Datum datum)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);
	ArrayWalk	walk = {.element = value->element, .ndims = ARR_NDIM(array), .dims = ARR_DIMS(array)};
	int			n;

	if (ArrayGetNItems(walk.ndims, walk.dims) == 0)
	{
		appendBinaryStringInfo(out, "[]", 2);
		return;
	}
	deconstruct_array(array, ARR_ELEMTYPE(array), value->typlen, value->typbyval, value->typalign,
					  &walk.elements, &walk.nulls, &n);
	append_dimension(out, &walk, 0);
}

static void
append_value(StringInfo out, RenderValue *value, Datum datum)
{
	char	   *text;
	struct varlena *json;

	switch (value->how)
	{
		case RENDER_DROPPED:
			break;
		case RENDER_BOOL:
			appendStringInfoString(out, DatumGetBool(datum) ? "true" : "false");
			break;
		case RENDER_INT2:
			append_int(out, DatumGetInt16(datum));
			break;
		case RENDER_INT4:
			append_int(out, DatumGetInt32(datum));
			break;
		case RENDER_INT8:
			append_int(out, DatumGetInt64(datum));
			break;
		case RENDER_DATETIME:
			append_datetime(out, value->type, datum);
			break;
		case RENDER_TEXT:
			append_text(out, (struct varlena *) DatumGetPointer(datum));
			break;
		case RENDER_NUMBER:
			append_number(out, OutputFunctionCall(&value->function, datum));
			break;
		case RENDER_JSON:
			appendStringInfoString(out, OutputFunctionCall(&value->function, datum));
			break;
		case RENDER_OUTPUT:
			text = OutputFunctionCall(&value->function, datum);
			append_string(out, text, strlen(text));
			break;
		case RENDER_CAST:
			json = PG_DETOAST_DATUM_PACKED(FunctionCall1(&value->function, datum));
			appendBinaryStringInfo(out, VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json));
			break;
		case RENDER_ARRAY:
			append_array(out, value, datum);
			break;
		case RENDER_ROW:
			append_composite(out, value, datum);
			break;
	}
}

static void
append_row(StringInfo out, PlcRenderer *renderer, const Datum *values, const bool *nulls)
{
	check_stack_depth();
	appendStringInfoChar(out, '{');
	for (int i = 0; i < renderer->ncolumns; i++)
	{
		RenderColumn *column = &renderer->columns[i];

		if (column->value.how == RENDER_DROPPED)
			continue;
		appendBinaryStringInfo(out, column->label, column->label_len);
		if (nulls[i])
			appendBinaryStringInfo(out, "null", 4);
		else
			append_value(out, &column->value, values[i]);
	}
	appendStringInfoChar(out, '}');
}

/* Appends the row in the slot, which must be of the shape the renderer is for. */
void
plc_render(PlcRenderer *renderer, TupleTableSlot *slot, StringInfo out)
{
	slot_getallattrs(slot);
	Assert(slot->tts_nvalid == renderer->ncolumns);
	append_row(out, renderer, slot->tts_values, slot->tts_isnull);
}

/* The row in the slot, rendered by the server's row_to_json. */
text *
plc_render_by_server(TupleTableSlot *slot)
{
	return DatumGetTextPP(DirectFunctionCall1(row_to_json, ExecFetchSlotHeapTupleDatum(slot)));
}
