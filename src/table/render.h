/*
 * render.h
 *		Rows to JSON, byte for byte as row_to_json does it.
 */
#ifndef PLC_TABLE_RENDER_H
#define PLC_TABLE_RENDER_H

#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"

typedef struct PlcRenderer PlcRenderer;

extern PlcRenderer *plc_renderer_make(TupleDesc desc);
extern void plc_render(PlcRenderer *renderer, TupleTableSlot *slot, StringInfo out);
extern text *plc_render_by_server(TupleTableSlot *slot);

#endif							/* PLC_TABLE_RENDER_H */
