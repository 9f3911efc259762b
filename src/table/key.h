/*
 * key.h
 *		Keys: from the arrays of SQL to datums, and to the bytes of the store.
 */
#ifndef PLC_TABLE_KEY_H
#define PLC_TABLE_KEY_H

#include "utils/array.h"

#include "cache/store.h"
#include "table/table.h"

/* What an entry is made of, besides its version and its text. */
typedef enum PlcEntryKind
{
	PLC_ENTRY_JSON,				/* version and rendered row */
	PLC_ENTRY_VERSION			/* version alone */
} PlcEntryKind;

/*
 * The first bytes of every key in the store.  Entries of another database, of
 * another file of the table (rule P2) or with another text (rule P8) are thus
 * other entries.
 */
typedef struct PlcKeyPrefix
{
	Oid			database;
	Oid			relid;
	Oid			tablespace;
	uint32		relfilenumber;
	uint64		fingerprint;
} PlcKeyPrefix;

/* Keys as read from an array: nkeys times ncolumns values, row by row. */
typedef struct PlcKeys
{
	int			nkeys;
	int			ncolumns;
	Datum	   *values;
	bool	   *nulls;			/* one a key */
} PlcKeys;

/* The bytes of one key, prefix included, and their hash. */
typedef struct PlcKeyBytes
{
	uint64		hash;
	uint32		len;			/* 0: too long for the store */
	char	   *bytes;
} PlcKeyBytes;

/* Bytes that most keys do with, prefix included. */
#define PLC_KEY_ROOM	64

extern void plc_keys_from_array(const PlcTable *table, ArrayType *array, PlcKeys *keys);
extern uint64 plc_key_prefix(const PlcTable *table, Relation relation, PlcEntryKind kind,
						   PlcKeyPrefix *prefix);
extern void plc_key_encode(const PlcTable *table, const PlcKeyPrefix *prefix, uint64 seed,
						   const Datum *values, char *room, PlcKeyBytes *key);
extern char *plc_key_describe(const PlcTable *table, const Datum *values);

#endif							/* PLC_TABLE_KEY_H */
