/*
 * shape.h
 *		All that the text of a row depends on besides the tuple.
 */
#ifndef PLC_TABLE_SHAPE_H
#define PLC_TABLE_SHAPE_H

#include "nodes/pg_list.h"
#include "utils/relcache.h"

/* Settings that the output of some types reads. */
#define PLC_SETTING_TIMEZONE		0x01
#define PLC_SETTING_DATESTYLE		0x02
#define PLC_SETTING_INTERVALSTYLE	0x04
#define PLC_SETTING_FLOAT_DIGITS	0x08
#define PLC_SETTING_BYTEA_OUTPUT	0x10
#define PLC_SETTING_LC_MONETARY		0x20
#define PLC_SETTINGS_ALL			0x3f

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
extern void plc_shape_depend(PlcShape *shape, int cacheid, uint32 hash);
extern bool plc_shape_depends_on(const PlcShape *shape, int cacheid, uint32 hash);
extern uint64 plc_shape_fingerprint(const PlcShape *shape);

#endif							/* PLC_TABLE_SHAPE_H */
