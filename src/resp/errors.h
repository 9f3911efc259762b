/*
 * errors.h
 *		Errors of the server as replies.
 */
#ifndef PLC_RESP_ERRORS_H
#define PLC_RESP_ERRORS_H

#include "resp/buffer.h"

/*
 * The reply to a command that raised this error.  One that is the server's own fault
 * goes to the log, and the client is told no more than that.
 */
extern void plc_error_reply(PlcBuffer *out, ErrorData *error);

/* The same, as words of a reply: class and message; palloc'd. */
extern char *plc_error_text(ErrorData *error);

/* Notes it in the log if it is the server's own fault. */
extern void plc_error_log_internal(ErrorData *error);

/* Notes an error in the log that no request is to be told of. */
extern void plc_error_log(ErrorData *error);

/* May the same request succeed if it is tried again in a moment? */
extern bool plc_error_is_temporary(const ErrorData *error);

#endif							/* PLC_RESP_ERRORS_H */
