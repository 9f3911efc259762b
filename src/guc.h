/*
 * guc.h
 *		Settings.  docs/configuration.md describes each.
 */
#ifndef PLC_GUC_H
#define PLC_GUC_H

extern int plc_guc_memory;			/* kilobytes */
extern bool plc_guc_enabled;
extern int plc_guc_max_row_size;	/* bytes */
extern double plc_guc_verify;		/* share of the hits, 0 to 1 */

/* The endpoint: where it is, and how large; fixed at server start */
#define PLC_MAX_WORKERS 64
extern int plc_guc_port;			/* 0: no TCP */
extern char *plc_guc_listen_addresses;
extern char *plc_guc_unix_socket_directory;	/* empty: no Unix socket */
extern int plc_guc_workers;
extern char *plc_guc_database;
extern int plc_guc_max_clients;

/* The endpoint: who clients are and what they may take; changed by reload */
extern char *plc_guc_role;			/* empty: clients must authenticate as a role */
extern char *plc_guc_token_file;	/* empty: no token */
extern bool plc_guc_allow_superuser;
extern int plc_guc_client_idle_timeout;	/* milliseconds; 0: none */
extern int plc_guc_statement_timeout;	/* milliseconds; 0: none */
extern int plc_guc_lock_timeout;		/* milliseconds; 0: none */
extern int plc_guc_request_limit;	/* bytes */
extern int plc_guc_output_limit;	/* bytes */
extern int plc_guc_pipeline_limit;	/* commands a turn */

extern void plc_guc_define(void);

#endif							/* PLC_GUC_H */
