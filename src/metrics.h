/*
 * metrics.h
 *		All counters of the server, by name, as SQL and Redis clients are told them.
 */
#ifndef PLC_METRICS_H
#define PLC_METRICS_H

#include "lib/stringinfo.h"

typedef struct PlcMetric
{
	const char *name;
	uint64		value;
} PlcMetric;

/* How many there are, and all of them, in the order of the columns of metrics(). */
extern int	plc_metrics_count(void);
extern void plc_metrics_collect(PlcMetric *metrics);

/* The same and some sums as a JSON object, appended. */
extern void plc_metrics_json(StringInfo json);

#endif							/* PLC_METRICS_H */
