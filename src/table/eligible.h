/*
 * eligible.h
 *		Which tables and which keys can be attached, and the words of refusal.
 */
#ifndef PLC_TABLE_ELIGIBLE_H
#define PLC_TABLE_ELIGIBLE_H

#include "nodes/pg_list.h"
#include "utils/relcache.h"

/* A reason why a relation cannot be read by key. */
typedef enum PlcRefusal
{
	PLC_ELIGIBLE,
	PLC_REFUSED_PARTITIONED,	/* its partitions can be attached */
	PLC_REFUSED_KIND,			/* view, foreign table, sequence, … */
	PLC_REFUSED_TEMPORARY,
	PLC_REFUSED_CATALOG,
	PLC_REFUSED_ACCESS_METHOD,
	PLC_REFUSED_NO_PRIMARY_KEY,
	PLC_REFUSED_NO_SUCH_KEY,	/* the attached key columns have no index any more */
	PLC_REFUSED_NOT_AN_INDEX,
	PLC_REFUSED_NOT_UNIQUE,
	PLC_REFUSED_DEFERRABLE,
	PLC_REFUSED_PARTIAL,
	PLC_REFUSED_EXPRESSION,
	PLC_REFUSED_INVALID,
	PLC_REFUSED_NOT_BTREE,
	PLC_REFUSED_NULLABLE
} PlcRefusal;

extern PlcRefusal plc_eligible_relation(Relation relation);
extern PlcRefusal plc_eligible_index(Relation relation, Oid index);
extern PlcRefusal plc_eligible_find_index(Relation relation, List *key_columns,
										  const char *name, Oid *index);
extern const char *plc_eligible_unprovable(Relation relation);
extern void plc_eligible_missing(Oid relid);
extern void plc_eligible_refuse(PlcRefusal refusal, Relation relation, Oid index);

#endif							/* PLC_TABLE_ELIGIBLE_H */
