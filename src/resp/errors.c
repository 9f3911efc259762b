/*
 * errors.c
 *		Errors of the server as replies.
 *
 * The first word of a reply says of what kind an error is; clients look at it.  What
 * a client has done wrong is told to it and not to the log, or anybody could fill that.
 * What the server has done wrong goes to the log and not to the client.
 */
#include "postgres.h"

#include "resp/codec.h"
#include "resp/errors.h"

static bool
is_internal(int code)
{
	int			category = ERRCODE_TO_CATEGORY(code);

	return category == ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR) ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR) ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_CONFIG_FILE_ERROR);
}

static const char *
error_class(int code)
{
	switch (code)
	{
		case ERRCODE_INSUFFICIENT_PRIVILEGE:
			return "NOPERM";
		case ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION:
			return "NOAUTH";
		case ERRCODE_READ_ONLY_SQL_TRANSACTION:
			return "READONLY";
		case ERRCODE_OUT_OF_MEMORY:
			return "OOM";
		default:
			return "ERR";
	}
}

char *
plc_error_text(ErrorData *error)
{
	if (is_internal(error->sqlerrcode))
		return pstrdup("ERR internal error: the server log says which");
	return psprintf("%s %s", error_class(error->sqlerrcode),
					error->message ? error->message : "unknown error");
}

void
plc_error_log(ErrorData *error)
{
	error->elevel = LOG;
	ThrowErrorData(error);
}

/* Nor is it the client's fault that memory or a disk is full. */
void
plc_error_log_internal(ErrorData *error)
{
	if (is_internal(error->sqlerrcode) ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES))
		plc_error_log(error);
}

void
plc_error_reply(PlcBuffer *out, ErrorData *error)
{
	char	   *text = plc_error_text(error);

	plc_error_log_internal(error);
	plc_reply_error(out, text);
}

bool
plc_error_is_temporary(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		error->sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED;
}
