/*
 * mapping.h
 *		The table local_cache.mapping: which tables are attached, and how.
 */
#ifndef PLC_TABLE_MAPPING_H
#define PLC_TABLE_MAPPING_H

#include "nodes/pg_list.h"

typedef struct PlcMapping
{
	List	   *key_columns;	/* of char *; NIL: the primary key */
	char	   *key_index;		/* name of the index on them; NULL: the primary key */
	bool		writable;
	char	   *namespace_name; /* or NULL */
} PlcMapping;

extern Oid	plc_mapping_relid(void);
extern bool plc_mapping_read(Oid relid, PlcMapping *mapping);
extern void plc_mapping_write(Oid relid, const PlcMapping *mapping);
extern bool plc_mapping_delete(Oid relid);
typedef void (*PlcMappingVisitor) (Oid relid, const PlcMapping *mapping, void *arg);
extern void plc_mapping_scan(PlcMappingVisitor visit, void *arg);
extern List *plc_mapping_relations(void);
extern Oid	plc_mapping_namespace_holder(const char *namespace_name);

#endif							/* PLC_TABLE_MAPPING_H */
