/*
 * table.h
 *		What a process knows of an attached table: its descriptor.
 *
 * A descriptor is local to the process, made from the catalogs when a table is
 * first read and again after an invalidation.  descriptor.c tells how long one
 * may be used.
 */
#ifndef PLC_TABLE_TABLE_H
#define PLC_TABLE_TABLE_H

#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "table/eligible.h"
#include "table/shape.h"

/* A column of the key, in the order of the index. */
typedef struct PlcKeyColumn
{
	AttrNumber	attnum;
	char	   *name;
	uint32		name_len;
	Oid			type;			/* base type of the column */
	int16		typlen;
	bool		typbyval;
	Oid			opcintype;
	Oid			collation;		/* of the index */
	Oid			equality_operator;
	FmgrInfo	equality;
	FmgrInfo	input;			/* of the type: values from text */
	Oid			input_param;
} PlcKeyColumn;

typedef struct PlcTable
{
	/* identity, and whether the rest still holds */
	Oid			relid;
	bool		valid;
	MemoryContext context;		/* holds all that is pointed to below */

	/* the mapping row */
	bool		writable;
	char	   *namespace_name; /* or NULL */

	/* the key */
	Oid			index;
	bool		index_checkxmin;	/* old snapshots must not use the index */
	TransactionId index_xmin;	/* older ones may see several rows with a key */
	uint64		key_hash;		/* of the definition of the index */
	int			ncolumns;
	PlcKeyColumn *columns;

	/* the text of a row, and what it depends on */
	PlcShape	shape;
	struct PlcRenderer *renderer;	/* render.h; NULL: the server renders (shape.uncacheable) */
	const char *unprovable;		/* why versions cannot be proven, or NULL */

	/* how it is written */
	struct PlcPlans *plans;		/* statement.c; NULL until the first write */

	/* who may read: role found to be permitted, at that state of the roles */
	Oid			permitted_role;
	uint64		permitted_at;

	int			stats_slot;
} PlcTable;

/* Descriptors; the relation is open and locked */
extern PlcTable *plc_table_get(Relation relation);
extern bool plc_table_is_known(Oid relid);
extern const char *plc_table_uncacheable(const PlcTable *table);

/* May the current role read all of this table?  If not, raises an error. */
extern void plc_table_check_privileges(PlcTable *table, Relation relation);

/* Can its rows be read now?  If not, raises an error. */
extern void plc_table_check_has_rows(Relation relation);

/* Brackets a use of descriptors: none is freed in between */
extern void plc_table_enter(void);
extern void plc_table_leave(void);

#endif							/* PLC_TABLE_TABLE_H */
