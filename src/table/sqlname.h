/*
 * sqlname.h
 *		Names in generated statements, with their schemas, so that no search path counts.
 */
#ifndef PLC_TABLE_SQLNAME_H
#define PLC_TABLE_SQLNAME_H

#include "lib/stringinfo.h"

/* Appends schema.name, each quoted if need be. */
extern void plc_sql_append_name(StringInfo sql, Oid schema, const char *name);

/* Appends OPERATOR(schema.name), blanks around it. */
extern void plc_sql_append_operator(StringInfo sql, Oid operator);

/* Appends COLLATE schema.name; nothing for InvalidOid. */
extern void plc_sql_append_collate(StringInfo sql, Oid collation);

#endif							/* PLC_TABLE_SQLNAME_H */
