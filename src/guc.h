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

extern void plc_guc_define(void);

#endif							/* PLC_GUC_H */
