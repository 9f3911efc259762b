/*
 * names.c
 *		Which attached table a key names.
 *
 * A map from the table's part of a key to an oid: for each attached table the long
 * form in its usual spelling, and its namespace if it has one.  Made at once from
 * the mapping table, and made anew when an invalidation may have changed a name: of
 * an attached table, a schema, the database, or of the mapping table itself.  Keys
 * that name nothing leave nothing behind.
 *
 * A name that is quoted without need is not in the map; it is taken apart, spelled
 * as usual, and looked up again.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "resp/names.h"
#include "resp/wirekey.h"
#include "table/mapping.h"

/* The table's part of a key. */
typedef struct Prefix
{
	const char *text;
	size_t		len;
} Prefix;

typedef struct NameEntry
{
	Prefix		prefix;
	Oid			relid;
	uint32		hash;
	char		status;
} NameEntry;

#define SH_PREFIX names
#define SH_ELEMENT_TYPE NameEntry
#define SH_KEY_TYPE Prefix
#define SH_KEY prefix
#define SH_HASH_KEY(table, key) hash_bytes((const unsigned char *) (key).text, (key).len)
#define SH_EQUAL(table, a, b) ((a).len == (b).len && memcmp((a).text, (b).text, (a).len) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Longest spelling of a table: CRUD: and three quoted names with what is between them. */
#define PREFIX_ROOM		(5 + 3 * (2 * NAMEDATALEN + 2) + 3)

static MemoryContext names_context = NULL;
static names_hash *names = NULL;
static NameEntry *latest = NULL;	/* the one that was found last; part of the map */
static Oid *tables = NULL;			/* sorted */
static int	ntables = 0;
static Oid	mapping_relid = InvalidOid;
static bool stale = true;

static int
compare_oids(const void *a, const void *b)
{
	Oid			x = *(const Oid *) a;
	Oid			y = *(const Oid *) b;

	return x < y ? -1 : x > y;
}

static void
on_relcache_change(Datum arg, Oid relid)
{
	if (!OidIsValid(relid) || !OidIsValid(mapping_relid) || relid == mapping_relid ||
		bsearch(&relid, tables, ntables, sizeof(Oid), compare_oids) != NULL)
		stale = true;
}

static void
on_syscache_change(Datum arg, int cacheid, uint32 hash)
{
	stale = true;
}

static void
register_callbacks(void)
{
	CacheRegisterRelcacheCallback(on_relcache_change, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, on_syscache_change, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, on_syscache_change, (Datum) 0);
}

static void
append_quoted(StringInfo key, const char *name)
{
	enlargeStringInfo(key, 2 * NAMEDATALEN + 2);
	key->len += plc_wirekey_quote(name, key->data + key->len);
	key->data[key->len] = '\0';
}

static void
append_long_form(StringInfo key, const char *database, const char *schema, const char *table)
{
	appendStringInfoString(key, "CRUD:");
	append_quoted(key, database);
	appendStringInfoChar(key, '.');
	append_quoted(key, schema);
	appendStringInfoChar(key, '.');
	append_quoted(key, table);
	appendStringInfoChar(key, ':');
}

static void
add_name(StringInfo text, Oid relid)
{
	Prefix		prefix = {text->data, text->len};
	bool		found;

	names_insert(names, prefix, &found)->relid = relid;
}

/* Adds the names of one table; one that was dropped has none. */
static void
add_table(Oid relid, const PlcMapping *mapping, void *arg)
{
	MemoryContext caller;
	char	   *table = get_rel_name(relid);
	char	   *schema = table ? get_namespace_name(get_rel_namespace(relid)) : NULL;
	StringInfoData key;

	if (schema == NULL)
		return;
	caller = MemoryContextSwitchTo(names_context);
	initStringInfo(&key);
	append_long_form(&key, (const char *) arg, schema, table);
	add_name(&key, relid);
	if (mapping->namespace_name != NULL)
	{
		initStringInfo(&key);
		appendStringInfo(&key, "%s:", mapping->namespace_name);
		add_name(&key, relid);
	}
	tables = tables ? repalloc(tables, (ntables + 1) * sizeof(Oid)) : palloc(sizeof(Oid));
	tables[ntables++] = relid;
	MemoryContextSwitchTo(caller);
}

/*
 * Makes the map.  Whatever arrives meanwhile marks it as stale again.  If an error
 * interrupts this, it is stale too, and made from the beginning the next time.
 */
static void
make_names(void)
{
	if (names_context == NULL)
	{
		names_context = AllocSetContextCreate(CacheMemoryContext, "pg_local_cache names",
											  ALLOCSET_DEFAULT_SIZES);
		register_callbacks();
	}
	MemoryContextReset(names_context);
	latest = NULL;
	tables = NULL;
	ntables = 0;
	names = names_create(names_context, 64, NULL);
	mapping_relid = plc_mapping_relid();

	stale = false;
	PG_TRY();
	{
		plc_mapping_scan(add_table, get_database_name(MyDatabaseId));
		if (ntables > 0)
			qsort(tables, ntables, sizeof(Oid), compare_oids);
	}
	PG_CATCH();
	{
		stale = true;
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* A long form with needless quotes, in the usual spelling. */
static NameEntry *
find_respelled(const char *prefix, size_t len)
{
	PlcWireNames parts;
	StringInfoData key;
	Prefix		usual;

	if (memchr(prefix, '"', len) == NULL || len > 2 * PREFIX_ROOM ||
		!plc_wirekey_names(prefix, len, &parts) || parts.namespace_name[0] != '\0')
		return NULL;
	initStringInfo(&key);
	append_long_form(&key, parts.database, parts.schema, parts.table);
	usual = (Prefix) {key.data, key.len};
	return names_lookup(names, usual);
}

Oid
plc_names_find(const char *key, size_t len, size_t *prefix_len)
{
	Prefix		prefix;
	NameEntry  *entry;

	plc_names_refresh();
	if (latest != NULL && latest->prefix.len <= len &&
		memcmp(latest->prefix.text, key, latest->prefix.len) == 0)
	{
		*prefix_len = latest->prefix.len;
		return latest->relid;
	}
	prefix.text = key;
	prefix.len = *prefix_len = plc_wirekey_prefix(key, len);
	if (prefix.len == 0)
		return InvalidOid;
	entry = names_lookup(names, prefix);
	if (entry == NULL)
		entry = find_respelled(key, prefix.len);
	else
		latest = entry;
	return entry == NULL ? InvalidOid : entry->relid;
}

bool
plc_names_stale(void)
{
	return stale;
}

/* Makes the answers good again; what was found before may be another table's name now. */
void
plc_names_refresh(void)
{
	if (stale)
		make_names();
}

Oid *
plc_names_tables(int *n)
{
	Oid		   *copy;

	plc_names_refresh();
	*n = ntables;
	copy = palloc(Max(ntables, 1) * sizeof(Oid));
	if (ntables > 0)
		memcpy(copy, tables, ntables * sizeof(Oid));
	return copy;
}

bool
plc_names_append_prefix(StringInfo key, Oid relid)
{
	char	   *table = get_rel_name(relid);
	char	   *schema = table ? get_namespace_name(get_rel_namespace(relid)) : NULL;
	PlcMapping	mapping;

	if (schema == NULL)
		return false;
	if (plc_mapping_read(relid, &mapping) && mapping.namespace_name != NULL)
		appendStringInfo(key, "%s:", mapping.namespace_name);
	else
		append_long_form(key, get_database_name(MyDatabaseId), schema, table);
	return true;
}
