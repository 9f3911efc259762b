/*
 * cmd_client.h
 *		What CLIENT and HELLO both do.
 */
#ifndef PLC_RESP_CMD_CLIENT_H
#define PLC_RESP_CMD_CLIENT_H

#include "resp/command.h"

/* Can a connection have this name?  If not, false and a reply. */
extern bool plc_client_name_valid(PlcRequest *request, const PlcArg *name);

/* Names it; an empty name is none. */
extern void plc_client_set_name(PlcConn *conn, const PlcArg *name);

#endif							/* PLC_RESP_CMD_CLIENT_H */
