/*
 * shape.c
 *		All that the text of a row depends on besides the tuple.
 *
 * The text of a row version never changes, provided that the catalogs and the
 * settings that its types read do not.  A shape is a hash over the former and
 * a set of the latter; the fingerprint joins the hash with the values that the
 * settings have now.  Fingerprints are part of an entry's key, so sessions
 * with different settings each find their own text, and DDL that changes the
 * text without touching the table (ALTER TYPE … RENAME VALUE takes no lock on
 * it) makes the old entries unfindable.
 *
 * A reader computes the fingerprint after it has taken in the invalidations:
 * these are sent after a commit becomes visible and before it is acknowledged,
 * so whoever reads after the acknowledgement sees the new shape, and nothing
 * that a publisher checks could promise that (rule P8).
 *
 * A publisher's fingerprint and text must belong together.  Both come from the
 * descriptor, made at one time; if an invalidation has marked it since, nothing
 * is published (serve.c).
 *
 * What is walked: the columns; into domains, composite types, enums, arrays
 * and ranges.  json.c treats dates in JSON and dates inside of the text of a
 * range differently, hence "in_text".  Base types:
 *
 *	- the server's own are listed in builtin_settings(), each with the settings
 *	  that its output reads.  A type that is not listed is not understood.
 *	- others are understood if their output function, or their cast to json, is
 *	  immutable and written in C: then no other object can change what it does.
 *	  Such a function may read settings all the same, so all are included.
 *
 * What is not understood (regclass and its kin, whose text is a name that can
 * change, or depend on search_path) makes the rows uncacheable.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "table/shape.h"

static void visit_type(PlcShape *shape, Oid type, bool in_text);

static void
mix_bytes(PlcShape *shape, const void *bytes, int len)
{
	shape->hash = hash_bytes_extended(bytes, len, shape->hash);
}

static void
mix_uint32(PlcShape *shape, uint32 value)
{
	mix_bytes(shape, &value, sizeof(value));
}

static void
mix_string(PlcShape *shape, const char *string)
{
	mix_bytes(shape, string, strlen(string) + 1);
}

/* Notes a catalog entry; hash 0 stands for every entry of that cache. */
static void
depend(PlcShape *shape, int cacheid, uint32 hash)
{
	PlcDependency *dependency = palloc(sizeof(PlcDependency));

	dependency->cacheid = cacheid;
	dependency->hash = hash;
	shape->dependencies = lappend(shape->dependencies, dependency);
}

/* Did this invalidation (hash 0: of the whole cache) hit what the shape is made of? */
bool
plc_shape_depends_on(const PlcShape *shape, int cacheid, uint32 hash)
{
	ListCell   *cell;

	foreach(cell, shape->dependencies)
	{
		PlcDependency *dependency = lfirst(cell);

		if (dependency->cacheid == cacheid &&
			(hash == 0 || dependency->hash == 0 || dependency->hash == hash))
			return true;
	}
	return false;
}

static void
give_up(PlcShape *shape, const char *what, Oid type)
{
	if (shape->uncacheable == NULL)
		shape->uncacheable = psprintf("%s %s", what, format_type_be(type));
}

/*
 * The settings that the output of one of the server's own types reads, or -1
 * if its text depends on more than value and settings.
 */
static int
builtin_settings(Oid type, bool in_text)
{
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case REFCURSOROID:
		case UUIDOID:
		case JSONOID:
		case JSONBOID:
		case JSONPATHOID:
		case XMLOID:
		case OIDOID:
		case XIDOID:
		case XID8OID:
		case CIDOID:
		case TIDOID:
		case LSNOID:
		case BITOID:
		case VARBITOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case TSVECTOROID:
		case TSQUERYOID:
		case INT2VECTOROID:
		case OIDVECTOROID:
		case PG_SNAPSHOTOID:
			return 0;
		case FLOAT4OID:
		case FLOAT8OID:
		case POINTOID:
		case LSEGOID:
		case LINEOID:
		case PATHOID:
		case BOXOID:
		case POLYGONOID:
		case CIRCLEOID:
			return PLC_SETTING_FLOAT_DIGITS;
		case BYTEAOID:
			return PLC_SETTING_BYTEA_OUTPUT;
		case INTERVALOID:
			return PLC_SETTING_INTERVALSTYLE;
		case CASHOID:
			return PLC_SETTING_LC_MONETARY;
		case TIMEOID:
		case TIMETZOID:
			return PLC_SETTING_DATESTYLE;
		case DATEOID:
		case TIMESTAMPOID:
			return in_text ? PLC_SETTING_DATESTYLE : 0;
		case TIMESTAMPTZOID:
			return PLC_SETTING_TIMEZONE | (in_text ? PLC_SETTING_DATESTYLE : 0);
		default:
			return -1;
	}
}

/*
 * Takes in a function that makes text of a type: the function itself, since it
 * can be replaced, and whether only its own code decides what it does.
 */
static void
visit_function(PlcShape *shape, Oid function, Oid type)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc proc;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	if (proc->provolatile != PROVOLATILE_IMMUTABLE ||
		(proc->prolang != INTERNALlanguageId && proc->prolang != ClanguageId))
		give_up(shape, "only an immutable function in C can make the text of type", type);
	mix_uint32(shape, function);
	mix_uint32(shape, HeapTupleHeaderGetRawXmin(tuple->t_data));
	mix_bytes(shape, &tuple->t_self, sizeof(ItemPointerData));
	ReleaseSysCache(tuple);

	depend(shape, PROCOID,
		   GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function)));
	shape->settings |= PLC_SETTINGS_ALL;
}

/* json.c prefers a cast to json over the output function of types that are not built in. */
static bool
visit_json_cast(PlcShape *shape, Oid type, bool in_text)
{
	Oid			cast;

	if (in_text || type < FirstNormalObjectId)
		return false;
	depend(shape, CASTSOURCETARGET, 0);
	if (find_coercion_pathway(JSONOID, type, COERCION_EXPLICIT, &cast) != COERCION_PATH_FUNC)
		return false;
	visit_function(shape, cast, type);
	return true;
}

static void
visit_base_type(PlcShape *shape, Oid type, bool in_text)
{
	Oid			output;
	bool		is_varlena;

	if (type >= FirstNormalObjectId)
	{
		if (visit_json_cast(shape, type, in_text))
			return;
		getTypeOutputInfo(type, &output, &is_varlena);
		visit_function(shape, output, type);
		return;
	}
	if (builtin_settings(type, in_text) < 0)
		give_up(shape, "the text depends on more than the value for type", type);
	else
		shape->settings |= builtin_settings(type, in_text);
}

/*
 * A label is looked up when a value is rendered, which may be a moment after a
 * rename was committed and before we are told of it.  Then a new label is
 * published under the old fingerprint, which harms nobody as long as that
 * fingerprint never comes back, not even when the label is renamed back.  So
 * it is not the label that goes in but its row in pg_enum, by raw xmin and
 * place.
 */
static uint64
hash_enum_row(HeapTuple tuple)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
	uint64		hash = ((Form_pg_enum) GETSTRUCT(tuple))->oid;

	hash = hash_bytes_extended((unsigned char *) &xmin, sizeof(xmin), hash);
	return hash_bytes_extended((unsigned char *) &tuple->t_self, sizeof(ItemPointerData), hash);
}

/*
 * All labels.  A label that is added later changes no text until a row uses
 * it, but it may be renamed after that: so any change in pg_enum counts.
 */
static void
visit_enum(PlcShape *shape, Oid type, bool in_text)
{
	CatCList   *labels;
	uint64		sum = 0;

	if (visit_json_cast(shape, type, in_text))
		return;
	depend(shape, ENUMOID, 0);
	labels = SearchSysCacheList1(ENUMTYPOIDNAME, ObjectIdGetDatum(type));
	/* the list has no order that all processes share: add up */
	for (int i = 0; i < labels->n_members; i++)
		sum += hash_enum_row(&labels->members[i]->tuple);
	ReleaseSysCacheList(labels);
	mix_bytes(shape, &sum, sizeof(sum));
}

/* A value that old tuples lack and ALTER TABLE … ADD COLUMN … DEFAULT gave them. */
static void
mix_missing_value(PlcShape *shape, TupleDesc desc, int column)
{
	Form_pg_attribute attribute = TupleDescAttr(desc, column);
	AttrMissing *missing;
	Size		size;

	if (!attribute->atthasmissing || desc->constr == NULL || desc->constr->missing == NULL)
		return;
	missing = &desc->constr->missing[column];
	if (!missing->am_present)
		return;
	size = datumGetSize(missing->am_value, attribute->attbyval, attribute->attlen);
	if (attribute->attbyval)
		mix_bytes(shape, &missing->am_value, sizeof(Datum));
	else
		mix_bytes(shape, DatumGetPointer(missing->am_value), size);
}

static void
visit_attributes(PlcShape *shape, TupleDesc desc, bool in_text)
{
	mix_uint32(shape, desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		mix_uint32(shape, attribute->attisdropped);
		if (attribute->attisdropped)
			continue;
		mix_string(shape, NameStr(attribute->attname));
		mix_uint32(shape, attribute->atttypid);
		mix_uint32(shape, attribute->atttypmod);
		mix_uint32(shape, attribute->attcollation);
		mix_missing_value(shape, desc, i);
		visit_type(shape, attribute->atttypid, in_text);
	}
}

static void
visit_composite(PlcShape *shape, Oid type, bool in_text)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);

	shape->relids = lappend_oid(shape->relids, get_typ_typrelid(type));
	visit_attributes(shape, desc, in_text);
	ReleaseTupleDesc(desc);
}

static void
visit_range(PlcShape *shape, Oid type, char typtype)
{
	Oid			range = typtype == TYPTYPE_MULTIRANGE ? get_multirange_range(type) : type;

	visit_json_cast(shape, type, false);
	visit_type(shape, get_range_subtype(range), true);
}

static void
visit_type(PlcShape *shape, Oid type, bool in_text)
{
	Oid			element;
	char		typtype;

	check_stack_depth();
	mix_uint32(shape, type);
	depend(shape, TYPEOID, GetSysCacheHashValue1(TYPEOID, ObjectIdGetDatum(type)));
	if (getBaseType(type) != type)
	{
		visit_type(shape, getBaseType(type), in_text);
		return;
	}

	element = get_element_type(type);
	typtype = get_typtype(type);
	if (OidIsValid(element))
		visit_type(shape, element, in_text);
	else if (typtype == TYPTYPE_COMPOSITE)
		visit_composite(shape, type, in_text);
	else if (typtype == TYPTYPE_ENUM)
		visit_enum(shape, type, in_text);
	else if (typtype == TYPTYPE_RANGE || typtype == TYPTYPE_MULTIRANGE)
		visit_range(shape, type, typtype);
	else
		visit_base_type(shape, type, in_text);
}

/* Makes the shape of a relation's rows, in the current memory context. */
void
plc_shape_make(Relation relation, PlcShape *shape)
{
	TupleDesc	desc = RelationGetDescr(relation);

	memset(shape, 0, sizeof(*shape));
	for (int i = 0; i < desc->natts; i++)
		if (plc_attribute_is_virtual(TupleDescAttr(desc, i)))
			shape->by_query = true;
	if (shape->by_query)
		shape->uncacheable = "the table has virtual generated columns";
	visit_attributes(shape, desc, false);
}

/*
 * The fingerprint of the text that this process would make now.  Cheap for
 * tables whose types read no setting.
 */
uint64
plc_shape_fingerprint(const PlcShape *shape)
{
	return shape->settings == 0 ? shape->hash
		: plc_settings_mix(shape->settings, shape->hash);
}
