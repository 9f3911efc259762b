/*
 * rows.h
 *		Rows for commands: keys to texts, by way of the turn.
 */
#ifndef PLC_RESP_ROWS_H
#define PLC_RESP_ROWS_H

#include "resp/command.h"
#include "table/read.h"

/* A row's text, or none: in the request's memory, gone with it. */
typedef struct PlcRowText
{
	bool		found;
	char	   *text;
	size_t		len;
} PlcRowText;

/*
 * Gives the rows of the request's keys argv[1] to the last to the sink, in order; a key
 * that names no attached table is absent.  False: park the request; the sink has then
 * not been called.
 */
extern bool plc_rows_read(PlcRequest *request, PlcSink *sink);

/* The same for one key, argv[key]. */
extern bool plc_rows_read_one(PlcRequest *request, int key, PlcSink *sink);

/* The text of the row with the key argv[key].  False: park the request. */
extern bool plc_rows_text(PlcRequest *request, int key, PlcRowText *row);

#endif							/* PLC_RESP_ROWS_H */
