/*
 * columns.h
 *		Rows that SQL functions return: their columns are named in the install script.
 */
#ifndef PLC_SQL_COLUMNS_H
#define PLC_SQL_COLUMNS_H

#include "access/tupdesc.h"

/* A library and SQL functions of different versions must not guess at columns. */
static inline void
plc_check_columns(TupleDesc desc, int expected, const char *function)
{
	if (desc->natts != expected)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("function \"%s\" does not match this library", function),
				 errhint("Run ALTER EXTENSION pg_local_cache UPDATE; if the library was replaced, restart the server.")));
}

#endif							/* PLC_SQL_COLUMNS_H */
