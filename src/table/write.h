/*
 * write.h
 *		Rows written by key: for tables attached as writable.
 *
 * Each function runs statements in the caller's transaction, through SPI, as the
 * current role, whose privileges, the table's constraints, triggers and policies
 * count as for any statement.  Raises an error for what cannot be written; the
 * caller's transaction is then to be aborted.  The relation is open and locked in
 * ROW EXCLUSIVE mode.  May wait for rows locked by others, as long as lock_timeout
 * lets it.
 */
#ifndef PLC_TABLE_WRITE_H
#define PLC_TABLE_WRITE_H

#include "table/table.h"

typedef enum PlcWriteMode
{
	PLC_WRITE_ANY,
	PLC_WRITE_NEW,				/* NX: only if there is no such row */
	PLC_WRITE_EXISTING			/* XX: only if there is one */
} PlcWriteMode;

/* A column and its new value, as text. */
typedef struct PlcWriteField
{
	const char *name;
	size_t		name_len;
	const char *value;
	size_t		value_len;
} PlcWriteField;

/* Raises an error unless the table was attached as writable and can be written by key. */
extern void plc_write_check(const PlcTable *table, Relation relation);

/*
 * The whole row from a JSON object: a column that is left out takes its default;
 * columns of the key may be left out, and must agree with the key if present.
 * False if the mode forbade it.
 */
extern bool plc_write_row(PlcTable *table, Relation relation, const Datum *key,
						  const char *json, size_t len, PlcWriteMode mode);

/* These columns alone; makes the row if there is none.  How many of them had been null or are of a new row. */
extern int	plc_write_fields(PlcTable *table, Relation relation, const Datum *key,
							 const PlcWriteField *fields, int nfields);

/* Sets columns to null.  How many of them had not been. */
extern int	plc_write_clear(PlcTable *table, Relation relation, const Datum *key,
							const PlcWriteField *fields, int nfields);

/* Deletes the row; was there one? */
extern bool plc_write_delete(PlcTable *table, Relation relation, const Datum *key);

#endif							/* PLC_TABLE_WRITE_H */
