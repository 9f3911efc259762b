/*
 * key.c
 *		Keys: from the arrays of SQL to datums, and to the bytes of the store.
 *
 * A key of one column comes as an array of the column's type, or of a type
 * that coerces to it without loss (implicitly, or between integer types with a
 * range check), or as text[].  A key of several columns comes as a
 * two-dimensional array, a row a key, usually text[][]; each component is
 * converted on its own, text by the input function of the column's type.
 *
 * The index compares keys, we never do.  So two spellings of one value (1.0
 * and 1 of a numeric) are two keys of the store for one row, both proven.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "rules.h"
#include "table/key.h"

/* How the elements of an array become values of a key column. */
typedef struct Conversion
{
	enum
	{
		CONVERT_NONE,			/* same type, or binary compatible */
		CONVERT_FUNCTION,		/* cast function */
		CONVERT_INPUT			/* text through the column's input function */
	}			how;
	FmgrInfo	function;
	Oid			ioparam;
} Conversion;

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
}

static void
convert_by_input(const PlcKeyColumn *column, Conversion *conversion)
{
	Oid			function;

	getTypeInputInfo(column->type, &function, &conversion->ioparam);
	fmgr_info(function, &conversion->function);
	conversion->how = CONVERT_INPUT;
}

/* By a cast function, which the role must be allowed to call, as in a query. */
static void
convert_by_function(Oid function, Conversion *conversion)
{
	if (plc_function_execute(function, GetUserId()) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
	fmgr_info(function, &conversion->function);
	conversion->how = CONVERT_FUNCTION;
}

/* Finds the way from elements to a column, or raises an error. */
static void
find_conversion(const PlcTable *table, const PlcKeyColumn *column, Oid element,
				Conversion *conversion)
{
	Oid			function = InvalidOid;
	Oid			array;
	CoercionPathType path;

	conversion->how = CONVERT_NONE;
	if (element == column->type)
		return;
	path = find_coercion_pathway(column->type, element,
								 is_integer(element) && is_integer(column->type)
								 ? COERCION_ASSIGNMENT : COERCION_IMPLICIT,
								 &function);
	if (path == COERCION_PATH_RELABELTYPE)
		return;
	if (path == COERCION_PATH_FUNC)
	{
		convert_by_function(function, conversion);
		return;
	}
	if (is_text(element))
	{
		convert_by_input(column, conversion);
		return;
	}
	array = table->ncolumns == 1 ? get_array_type(column->type) : InvalidOid;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("keys of type %s do not match key column \"%s\" of type %s",
					format_type_be(element), column->name, format_type_be(column->type)),
			 errhint("Give the keys of table \"%s\" as %s.", get_rel_name(table->relid),
					 OidIsValid(array) ? format_type_be(array)
					 : table->ncolumns == 1 ? "text[]" : "text[][]")));
}

/* Calls a cast function, which may want a typmod, and whether the cast is explicit. */
static Datum
call_cast(FmgrInfo *function, Datum value)
{
	switch (function->fn_nargs)
	{
		case 1:
			return FunctionCall1(function, value);
		case 2:
			return FunctionCall2(function, value, Int32GetDatum(-1));
		default:
			return FunctionCall3(function, value, Int32GetDatum(-1), BoolGetDatum(false));
	}
}

static Datum
convert(Conversion *conversion, Datum value)
{
	CHECK_FOR_INTERRUPTS();
	switch (conversion->how)
	{
		case CONVERT_NONE:
			return value;
		case CONVERT_INPUT:
			return InputFunctionCall(&conversion->function, TextDatumGetCString(value),
									 conversion->ioparam, -1);
		default:
			return call_cast(&conversion->function, value);
	}
}

static void
read_elements(ArrayType *array, Datum **values, bool **nulls, int *n)
{
	int16		typlen;
	bool		typbyval;
	char		typalign;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, values, nulls, n);
}

/* The common case, without a look into any catalog. */
static void
read_int8_elements(ArrayType *array, PlcKeys *keys)
{
	const char *element = ARR_DATA_PTR(array);

	keys->values = palloc(keys->nkeys * sizeof(Datum));
	keys->nulls = palloc0(keys->nkeys * sizeof(bool));
	for (int i = 0; i < keys->nkeys; i++, element += sizeof(int64))
		keys->values[i] = Int64GetDatum(*(const int64 *) element);
}

static void
keys_of_one_column(const PlcTable *table, ArrayType *array, PlcKeys *keys)
{
	const PlcKeyColumn *column = &table->columns[0];
	Conversion	conversion;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("keys of table \"%s\" must be a one-dimensional array",
						get_rel_name(table->relid)),
				 errdetail("The array has %d dimensions; the key is the column \"%s\" alone.",
						   ARR_NDIM(array), column->name)));

	keys->nkeys = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (ARR_ELEMTYPE(array) == INT8OID && column->type == INT8OID && !ARR_HASNULL(array) &&
		FLOAT8PASSBYVAL)
	{
		read_int8_elements(array, keys);
		return;
	}
	find_conversion(table, column, ARR_ELEMTYPE(array), &conversion);
	read_elements(array, &keys->values, &keys->nulls, &keys->nkeys);
	if (conversion.how != CONVERT_NONE)
		for (int i = 0; i < keys->nkeys; i++)
			if (!keys->nulls[i])
				keys->values[i] = convert(&conversion, keys->values[i]);
}

/* An array of composite keys has a row a key and a column a column. */
static void
check_composite_dimensions(const PlcTable *table, ArrayType *array)
{
	if (ARR_NDIM(array) == 0 ||
		(ARR_NDIM(array) == 2 && ARR_DIMS(array)[1] == table->ncolumns))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			 errmsg("keys of table \"%s\" must be a two-dimensional array with %d columns",
					get_rel_name(table->relid), table->ncolumns),
			 ARR_NDIM(array) == 2
			 ? errdetail_plural("The array has %d column.", "The array has %d columns.",
								ARR_DIMS(array)[1], ARR_DIMS(array)[1])
			 : errdetail_plural("The array has %d dimension.", "The array has %d dimensions.",
								ARR_NDIM(array), ARR_NDIM(array)),
			 errhint("Write one row a key, for example ARRAY[['7','42'],['7','43']].")));
}

static void
keys_of_several_columns(const PlcTable *table, ArrayType *array, PlcKeys *keys)
{
	Conversion *conversions = palloc(table->ncolumns * sizeof(Conversion));
	bool	   *nulls;
	int			n;

	check_composite_dimensions(table, array);
	for (int c = 0; c < table->ncolumns; c++)
		find_conversion(table, &table->columns[c], ARR_ELEMTYPE(array), &conversions[c]);
	read_elements(array, &keys->values, &nulls, &n);
	keys->nkeys = n / table->ncolumns;
	keys->nulls = palloc0(Max(keys->nkeys, 1) * sizeof(bool));
	for (int i = 0; i < n; i++)
	{
		int			c = i % table->ncolumns;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("key %d of table \"%s\" has a null for column \"%s\"",
							i / table->ncolumns + 1, get_rel_name(table->relid),
							table->columns[c].name)));
		keys->values[i] = convert(&conversions[c], keys->values[i]);
	}
}

/*
 * Reads the keys from an array.  Values may point into the array.  Raises an
 * error for a wrong shape, type or text.
 */
void
plc_keys_from_array(const PlcTable *table, ArrayType *array, PlcKeys *keys)
{
	keys->ncolumns = table->ncolumns;
	if (table->ncolumns == 1)
		keys_of_one_column(table, array, keys);
	else
		keys_of_several_columns(table, array, keys);
}

/* Bijective and well mixed: the finalizer of MurmurHash3 (Austin Appleby, public domain). */
static inline uint64
mix64(uint64 h)
{
	h ^= h >> 33;
	h *= UINT64CONST(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64CONST(0xc4ceb9fe1a85ec53);
	h ^= h >> 33;
	return h;
}

/*
 * Of which file the keys are.  The database counts: databases made from one
 * template have tables with equal numbers, whose rows would else all want the
 * same few buckets.
 */
static inline uint64
mix_place(const PlcKeyPrefix *prefix)
{
	return ((uint64) prefix->relid << 32 | prefix->relfilenumber) +
		prefix->database * UINT64CONST(0x9E3779B97F4A7C15);
}

/*
 * The prefix of all keys of one call; returns what their hashes begin with.  The
 * relation is open and locked.
 */
uint64
plc_key_prefix(const PlcTable *table, Relation relation, PlcEntryKind kind, PlcKeyPrefix *prefix)
{
	prefix->database = MyDatabaseId;
	prefix->relid = table->relid;
	prefix->tablespace = PLC_RULE_P2 ? plc_rel_spc(relation) : InvalidOid;
	prefix->relfilenumber = PLC_RULE_P2 ? plc_rel_number(relation) : 0;
	prefix->fingerprint = table->key_hash;
	if (kind == PLC_ENTRY_JSON)
		prefix->fingerprint = hash_combine64(~prefix->fingerprint,
											 PLC_RULE_P8 ? plc_shape_fingerprint(&table->shape) : 0);
	return mix64(prefix->fingerprint ^ mix_place(prefix));
}

/* The bytes that a value takes in a key. */
static Size
encoded_size(const PlcKeyColumn *column, Datum value)
{
	if (column->typbyval)
		return sizeof(Datum);
	if (column->typlen > 0)
		return column->typlen;
	return sizeof(uint32) + VARSIZE_ANY_EXHDR(PG_DETOAST_DATUM_PACKED(value));
}

/* Writes a value, in the bytes that encoded_size says; the end of them. */
static char *
encode_value(const PlcKeyColumn *column, Datum value, char *bytes)
{
	if (column->typbyval)
	{
		memcpy(bytes, &value, sizeof(Datum));
		return bytes + sizeof(Datum);
	}
	if (column->typlen > 0)
	{
		memcpy(bytes, DatumGetPointer(value), column->typlen);
		return bytes + column->typlen;
	}
	else
	{
		struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
		uint32		size = VARSIZE_ANY_EXHDR(packed);

		memcpy(bytes, &size, sizeof(size));
		memcpy(bytes + sizeof(size), VARDATA_ANY(packed), size);
		return bytes + sizeof(size) + size;
	}
}

/*
 * The bytes and the hash of one key: in "room", of PLC_KEY_ROOM bytes, if they
 * fit, else palloc'd.  key->len is 0 for a key that is too long for the store.
 * Prefix and seed are those of plc_key_prefix.
 */
void
plc_key_encode(const PlcTable *table, const PlcKeyPrefix *prefix, uint64 seed,
			   const Datum *values, char *room, PlcKeyBytes *key)
{
	Size		size = sizeof(*prefix);
	char	   *end;

	if (table->ncolumns == 1 && table->columns[0].typbyval)
	{
		/* by far the most: not a loop nor a look at the length */
		memcpy(room, prefix, sizeof(*prefix));
		memcpy(room + sizeof(*prefix), values, sizeof(Datum));
		key->bytes = room;
		key->len = sizeof(*prefix) + sizeof(Datum);
		key->hash = mix64(seed ^ values[0]);
		return;
	}
	for (int c = 0; c < table->ncolumns; c++)
		size += encoded_size(&table->columns[c], values[c]);
	key->len = size <= PLC_STORE_MAX_KEY ? size : 0;
	if (key->len == 0)
		return;

	key->bytes = size <= PLC_KEY_ROOM ? room : palloc(size);
	memcpy(key->bytes, prefix, sizeof(*prefix));
	end = key->bytes + sizeof(*prefix);
	for (int c = 0; c < table->ncolumns; c++)
		end = encode_value(&table->columns[c], values[c], end);

	key->hash = mix64(hash_bytes_extended((unsigned char *) key->bytes + sizeof(*prefix),
										  key->len - sizeof(*prefix), seed));
}

/* The key in words, for messages: (id)=(42). */
char *
plc_key_describe(const PlcTable *table, const Datum *values)
{
	StringInfoData names;
	StringInfoData texts;

	initStringInfo(&names);
	initStringInfo(&texts);
	for (int c = 0; c < table->ncolumns; c++)
	{
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(table->columns[c].type, &output, &is_varlena);
		appendStringInfo(&names, "%s%s", c > 0 ? ", " : "", table->columns[c].name);
		appendStringInfo(&texts, "%s%s", c > 0 ? ", " : "", OidOutputFunctionCall(output, values[c]));
	}
	return psprintf("(%s)=(%s)", names.data, texts.data);
}
