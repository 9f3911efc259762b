/*
 * mget.c
 *		mget, mget_json and mget_rows: three sinks for one read.
 *
 * Each builds its result in place: texts are copied once, from the store to
 * where the caller will find them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "table/read.h"

PG_FUNCTION_INFO_V1(plc_mget);
PG_FUNCTION_INFO_V1(plc_mget_json);
PG_FUNCTION_INFO_V1(plc_mget_rows);

/*
 * Room for as many rows as there are keys, if all are as long as the first.
 * Never more than what a batch of ordinary rows takes: larger results grow.
 */
static void
reserve(StringInfo result, uint32 row_len, int nkeys)
{
	Size		wanted = ((Size) row_len + row_len / 8 + 8) * nkeys;

	enlargeStringInfo(result, Min(wanted, 64 * 1024));
}

/* ---------- mget: text[] ---------- */

/*
 * The array's header is followed by its elements; a bitmap of nulls is kept
 * apart and moved in between at the end, if there are any.
 */
typedef struct ArraySink
{
	PlcSink		base;
	StringInfoData array;
	int			nkeys;
	int			nrows;
	bits8	   *bitmap;			/* a set bit: not null */
	bool		has_nulls;
} ArraySink;

#define ARRAY_HEADER	ARR_OVERHEAD_NONULLS(1)

static char *
array_room(PlcSink *base, uint32 len)
{
	ArraySink  *sink = (ArraySink *) base;

	if (sink->nrows == 0)
		reserve(&sink->array, len, sink->nkeys);
	enlargeStringInfo(&sink->array, VARHDRSZ + INTALIGN(len));
	return sink->array.data + sink->array.len + VARHDRSZ;
}

static void
array_keep(PlcSink *base, uint32 len)
{
	ArraySink  *sink = (ArraySink *) base;
	char	   *element = sink->array.data + sink->array.len;

	SET_VARSIZE(element, VARHDRSZ + len);
	memset(element + VARHDRSZ + len, 0, INTALIGN(len) - len);
	sink->array.len += VARHDRSZ + INTALIGN(len);
	sink->bitmap[sink->nrows / 8] |= 1 << (sink->nrows % 8);
	sink->nrows++;
}

static void
array_absent(PlcSink *base)
{
	ArraySink  *sink = (ArraySink *) base;

	sink->has_nulls = true;
	sink->nrows++;
}

static ArrayType *
array_finish(ArraySink *sink)
{
	ArrayType  *array;
	int			header = ARRAY_HEADER;

	if (sink->nrows == 0)
		return construct_empty_array(TEXTOID);
	if (sink->has_nulls)
	{
		header = ARR_OVERHEAD_WITHNULLS(1, sink->nrows);
		enlargeStringInfo(&sink->array, header - ARRAY_HEADER);
		memmove(sink->array.data + header, sink->array.data + ARRAY_HEADER,
				sink->array.len - ARRAY_HEADER);
		sink->array.len += header - ARRAY_HEADER;
	}
	array = (ArrayType *) sink->array.data;
	SET_VARSIZE(array, sink->array.len);
	array->ndim = 1;
	array->dataoffset = sink->has_nulls ? header : 0;
	array->elemtype = TEXTOID;
	ARR_DIMS(array)[0] = sink->nrows;
	ARR_LBOUND(array)[0] = 1;
	if (sink->has_nulls)
	{
		memset(sink->array.data + ARRAY_HEADER, 0, header - ARRAY_HEADER);
		memcpy(sink->array.data + ARRAY_HEADER, sink->bitmap, (sink->nrows + 7) / 8);
	}
	return array;
}

Datum
plc_mget(PG_FUNCTION_ARGS)
{
	ArrayType  *keys = PG_GETARG_ARRAYTYPE_P(1);
	ArraySink	sink = {.base = {.wants = PLC_ENTRY_JSON, .room = array_room,
	.keep = array_keep, .absent = array_absent}};

	initStringInfo(&sink.array);
	memset(sink.array.data, 0, ARRAY_HEADER);
	sink.array.len = ARRAY_HEADER;
	sink.nkeys = ArrayGetNItems(ARR_NDIM(keys), ARR_DIMS(keys));
	sink.bitmap = palloc0(sink.nkeys / 8 + 1);
	plc_read_array(PG_GETARG_OID(0), keys, &sink.base);
	PG_RETURN_ARRAYTYPE_P(array_finish(&sink));
}

/* ---------- mget_json: json ---------- */

/* Rows after '['; the room for a row begins behind the comma that keep() puts before it. */
typedef struct JsonSink
{
	PlcSink		base;
	StringInfoData json;
	int			nkeys;
} JsonSink;

static bool
json_is_empty(const JsonSink *sink)
{
	return sink->json.len == VARHDRSZ + 1;
}

static char *
json_room(PlcSink *base, uint32 len)
{
	JsonSink   *sink = (JsonSink *) base;

	if (json_is_empty(sink))
		reserve(&sink->json, len, sink->nkeys);
	enlargeStringInfo(&sink->json, len + 2);
	return sink->json.data + sink->json.len + !json_is_empty(sink);
}

static void
json_keep(PlcSink *base, uint32 len)
{
	JsonSink   *sink = (JsonSink *) base;

	if (!json_is_empty(sink))
		sink->json.data[sink->json.len++] = ',';
	sink->json.len += len;
}

static void
json_absent(PlcSink *base)
{
	JsonSink   *sink = (JsonSink *) base;

	if (!json_is_empty(sink))
		appendStringInfoChar(&sink->json, ',');
	appendBinaryStringInfo(&sink->json, "null", 4);
}

Datum
plc_mget_json(PG_FUNCTION_ARGS)
{
	ArrayType  *keys = PG_GETARG_ARRAYTYPE_P(1);
	JsonSink	sink = {.base = {.wants = PLC_ENTRY_JSON, .room = json_room,
	.keep = json_keep, .absent = json_absent}};

	initStringInfo(&sink.json);
	sink.json.len = VARHDRSZ;
	appendStringInfoChar(&sink.json, '[');
	sink.nkeys = ArrayGetNItems(ARR_NDIM(keys), ARR_DIMS(keys));
	plc_read_array(PG_GETARG_OID(0), keys, &sink.base);
	appendStringInfoChar(&sink.json, ']');
	SET_VARSIZE(sink.json.data, sink.json.len);
	PG_RETURN_TEXT_P((text *) sink.json.data);
}

/* ---------- mget_rows: setof the table's row type ---------- */

typedef struct RowSink
{
	PlcSink		base;
	Tuplestorestate *store;
	TupleDesc	desc;			/* of the result */
	bool		desc_checked;	/* against the table's */
	Datum	   *values;
	bool	   *nulls;
} RowSink;

/*
 * The result has the form that the table had when the query was started, which
 * is before we lock the table: an ALTER TABLE may have come between.
 */
static void
check_row_type(const RowSink *sink, TupleDesc desc)
{
	bool		same = sink->desc->natts == desc->natts;

	for (int i = 0; i < desc->natts && same; i++)
	{
		Form_pg_attribute ours = TupleDescAttr(sink->desc, i);
		Form_pg_attribute theirs = TupleDescAttr(desc, i);

		same = ours->attisdropped == theirs->attisdropped &&
			(ours->attisdropped || ours->atttypid == theirs->atttypid);
	}
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("columns of the table have changed since the query was started"),
				 errhint("Run the query again.")));
}

/*
 * The tuple may have fewer columns than the table, and values in columns that
 * were dropped since: take it apart by the table's descriptor.
 */
static void
row_tuple(PlcSink *base, HeapTuple tuple, TupleDesc desc)
{
	RowSink    *sink = (RowSink *) base;

	if (!sink->desc_checked)
		check_row_type(sink, desc);
	sink->desc_checked = true;
	heap_deform_tuple(tuple, desc, sink->values, sink->nulls);
	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attisdropped)
			sink->nulls[i] = true;
	tuplestore_putvalues(sink->store, sink->desc, sink->values, sink->nulls);
}

static void
row_absent(PlcSink *base)
{
	RowSink    *sink = (RowSink *) base;

	memset(sink->nulls, true, sink->desc->natts);
	tuplestore_putvalues(sink->store, sink->desc, sink->values, sink->nulls);
}

/* The table whose row type the first argument has. */
static Oid
relation_of_argument(FunctionCallInfo fcinfo)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	Oid			relid = OidIsValid(type) ? get_typ_typrelid(type) : InvalidOid;

	if (!OidIsValid(relid) || get_rel_relkind(relid) == RELKIND_COMPOSITE_TYPE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("type %s is not the row type of a table", format_type_be(type)),
				 errhint("Call mget_rows(NULL::schema.table, keys).")));
	return relid;
}

Datum
plc_mget_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	RowSink		sink = {.base = {.wants = PLC_ENTRY_VERSION, .tuple = row_tuple,
	.absent = row_absent}};
	Oid			relid = relation_of_argument(fcinfo);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (PG_ARGISNULL(1))
		return (Datum) 0;
	sink.store = rsinfo->setResult;
	sink.desc = rsinfo->setDesc;
	sink.values = palloc0(sink.desc->natts * sizeof(Datum));
	sink.nulls = palloc0(sink.desc->natts * sizeof(bool));
	plc_read_array(relid, PG_GETARG_ARRAYTYPE_P(1), &sink.base);
	return (Datum) 0;
}
