/*
 * names.h
 *		Which attached table a key names.
 */
#ifndef PLC_RESP_NAMES_H
#define PLC_RESP_NAMES_H

#include "lib/stringinfo.h"

/*
 * The table that this key names, and the bytes of the key that name it; InvalidOid
 * if none.  As of the catalogs that this transaction has taken in.  Needs a
 * transaction.
 */
extern Oid	plc_names_find(const char *key, size_t len, size_t *prefix_len);

/* May the answers given so far have changed since? */
extern bool plc_names_stale(void);
extern void plc_names_refresh(void);

/* All tables that are attached and exist, in the order of their oids; palloc'd in the current context. */
extern Oid *plc_names_tables(int *n);

/*
 * Appends what the keys of a table begin with: its namespace if it has one, else the
 * long form.  False if the table is gone, which one that is not locked may be.
 */
extern bool plc_names_append_prefix(StringInfo key, Oid relid);

#endif							/* PLC_RESP_NAMES_H */
