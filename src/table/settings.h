/*
 * settings.h
 *		Settings that the output of some types reads, as a hash.
 */
#ifndef PLC_TABLE_SETTINGS_H
#define PLC_TABLE_SETTINGS_H

#define PLC_SETTING_TIMEZONE		0x01
#define PLC_SETTING_DATESTYLE		0x02
#define PLC_SETTING_INTERVALSTYLE	0x04
#define PLC_SETTING_FLOAT_DIGITS	0x08
#define PLC_SETTING_BYTEA_OUTPUT	0x10
#define PLC_SETTING_LC_MONETARY		0x20
#define PLC_SETTINGS_ALL			0x3f

extern uint64 plc_settings_mix(int settings, uint64 hash);

#endif							/* PLC_TABLE_SETTINGS_H */
