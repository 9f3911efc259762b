/*
 * shape.h
 *		All that the text of a row depends on besides the tuple.
 */
#ifndef PLC_TABLE_SHAPE_H
#define PLC_TABLE_SHAPE_H

#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "table/settings.h"

/* A catalog entry that went into a shape. */
typedef struct PlcDependency
{
	int			cacheid;		/* syscache */
	uint32		hash;			/* of its key in that cache, 0 for any */
} PlcDependency;

typedef struct PlcShape
{
	uint64		hash;			/* equal in all processes that see the same catalogs */
	int			settings;		/* PLC_SETTING_* whose values belong to the text */
	bool		by_query;		/* only a query can make the row: virtual columns */
	const char *uncacheable;	/* why the text cannot be bound to them, or NULL */
	List	   *dependencies;	/* of PlcDependency: make it anew when one changes */
	List	   *relids;			/* relations (row types, index), likewise */
} PlcShape;

extern void plc_shape_make(Relation relation, PlcShape *shape);
extern bool plc_shape_depends_on(const PlcShape *shape, int cacheid, uint32 hash);
extern uint64 plc_shape_fingerprint(const PlcShape *shape);

#endif							/* PLC_TABLE_SHAPE_H */
