/*
 * query.h
 *		Rows by key through an ordinary query.
 */
#ifndef PLC_TABLE_QUERY_H
#define PLC_TABLE_QUERY_H

#include "table/read.h"

extern void plc_query_rows(PlcTable *table, Relation relation, const PlcKeys *keys, PlcSink *sink);

#endif							/* PLC_TABLE_QUERY_H */
