/*
 * write_internal.h
 *		What the three files that write rows share: write.c (a call), given.c (what the
 *		client gives) and statement.c (SQL).
 */
#ifndef PLC_TABLE_WRITE_INTERNAL_H
#define PLC_TABLE_WRITE_INTERNAL_H

#include "nodes/bitmapset.h"

#include "table/write.h"

/* A row being written. */
typedef struct PlcWrite
{
	PlcTable   *table;
	Relation	relation;
	const Datum *key;

	/* what the client gives */
	Bitmapset  *columns;		/* their numbers, without those of the key */
	Datum		json;			/* their values: a json object that has them all; or none */
} PlcWrite;

/*
 * given.c: read what is given and check it against the table.  Each column must exist,
 * be one that can be written, and be given once; one of the key must have the key's
 * value.  Raise an error if not.
 */
extern void plc_given_row(PlcWrite *write, const char *json, size_t len);
extern void plc_given_fields(PlcWrite *write, const PlcWriteField *fields, int nfields);

/* The same without values, for columns to be cleared; one of the key is an error. */
extern void plc_given_names(PlcWrite *write, const PlcWriteField *fields, int nfields);

/* statement.c: of the columns, "others" are those that can be written and are not given. */
typedef enum PlcStatementKind
{
	PLC_STATEMENT_PUT,			/* inserts a row, or updates the columns and resets the others */
	PLC_STATEMENT_INSERT,		/* inserts a row, or does nothing */
	PLC_STATEMENT_REPLACE,		/* updates the columns and resets the others */
	PLC_STATEMENT_UPDATE,		/* updates the columns */
	PLC_STATEMENT_CLEAR,		/* sets the columns to null */
	PLC_STATEMENT_LOCK,			/* locks the row, and looks which columns are null */
	PLC_STATEMENT_DELETE
} PlcStatementKind;

/*
 * Runs a statement; was there a row that it did it to?  Raises an error if the row
 * came out with another key.  SPI is connected.
 */
extern bool plc_statement_run(const PlcWrite *write, PlcStatementKind kind);

/* Locks the row; is there one, and how many of the columns are null? */
extern bool plc_statement_lock(const PlcWrite *write, int *nulls);

/* Is there anything in a row that could be updated, but for its key? */
extern bool plc_statement_has_columns(const PlcWrite *write);

#endif							/* PLC_TABLE_WRITE_INTERNAL_H */
