/*
 * cmd_scan.h
 *		What DBSIZE and INFO both tell.
 */
#ifndef PLC_RESP_CMD_SCAN_H
#define PLC_RESP_CMD_SCAN_H

/*
 * About how many rows the tables have that the current role may read.  False if one is
 * locked by others.
 */
extern bool plc_scan_estimate_all(int64 *total);

#endif							/* PLC_RESP_CMD_SCAN_H */
