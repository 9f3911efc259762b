/*
 * settings.c
 *		Settings that the output of some types reads, as a hash.
 *
 * What counts is what a setting means to this process.  Time zones and locales
 * are read from files, which a package update may change under a running
 * server: then a session from before it and one from after it write different
 * texts under one name.  So the hash is of the rules of the zone and of the
 * conventions of the locale.
 */
#include "postgres.h"

#include <locale.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/bytea.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/hsearch.h"

#include "compat.h"
#include "table/settings.h"

/* Seconds since 1970 of the years 4714 BC, where timestamps begin, and 2100. */
#define ZONE_BEGIN	((pg_time_t) INT64CONST(-210895056000))
#define ZONE_END	((pg_time_t) INT64CONST(4102444800))

/* The rules of a zone that this process has loaded; they stay as they are. */
typedef struct Zone
{
	const pg_tz *zone;			/* hash key */
	uint64		hash;
} Zone;

static HTAB *zones = NULL;

static uint64
mix(uint64 hash, const void *bytes, int len)
{
	return hash_bytes_extended(bytes, len, hash);
}

static uint64
mix_string(uint64 hash, const char *string)
{
	return mix(hash, string, strlen(string) + 1);
}

/*
 * Every offset and abbreviation that a zone has had, and since when.  The rules
 * for the years to come are the same in each of them, so none after 2100 needs
 * to be looked at.
 */
static uint64
hash_zone(const pg_tz *zone)
{
	pg_time_t	since = ZONE_BEGIN;
	uint64		hash = 0;
	bool		more = true;

	while (more && since < ZONE_END)
	{
		struct pg_tm *local = pg_localtime(&since, zone);
		int64		rule[2] = {since, local->tm_gmtoff};
		long int	before_offset;
		long int	after_offset;
		int			before_isdst;
		int			after_isdst;
		pg_time_t	boundary = ZONE_END;	/* is left alone if there is none */

		hash = mix_string(mix(hash, rule, sizeof(rule)), local->tm_zone);
		more = pg_next_dst_boundary(&since, &before_offset, &before_isdst, &boundary,
									&after_offset, &after_isdst, zone) > 0;
		since = boundary;
	}
	return hash;
}

/* The hash of the session's zone; a zone takes some 40 us the first time. */
static uint64
session_zone(void)
{
	static Zone latest = {NULL, 0};
	HASHCTL		ctl = {.keysize = sizeof(pg_tz *), .entrysize = sizeof(Zone)};
	Zone	   *zone;
	bool		found;

	if (latest.zone == session_timezone)
		return latest.hash;
	if (zones == NULL)
		zones = hash_create("pg_local_cache time zones", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	zone = hash_search(zones, &session_timezone, HASH_ENTER, &found);
	if (!found)
		zone->hash = hash_zone(session_timezone);
	latest = *zone;
	return latest.hash;
}

/* What the output of money reads, and the locale's name to be on the safe side. */
static uint64
mix_monetary(uint64 hash)
{
	struct lconv *locale = PGLC_localeconv();
	char		signs[] = {locale->frac_digits,
		locale->p_cs_precedes, locale->p_sep_by_space, locale->p_sign_posn,
		locale->n_cs_precedes, locale->n_sep_by_space, locale->n_sign_posn};

	hash = mix_string(hash, GetConfigOption("lc_monetary", false, false));
	hash = mix(hash, signs, sizeof(signs));
	hash = mix_string(hash, locale->mon_decimal_point);
	hash = mix_string(hash, locale->mon_thousands_sep);
	hash = mix_string(hash, locale->mon_grouping);
	hash = mix_string(hash, locale->currency_symbol);
	hash = mix_string(hash, locale->positive_sign);
	return mix_string(hash, locale->negative_sign);
}

/* Takes the values that these settings have now into a hash. */
uint64
plc_settings_mix(int settings, uint64 hash)
{
	int			numbers[5] = {0};
	uint64		zone = settings & PLC_SETTING_TIMEZONE ? session_zone() : 0;

	if (settings & PLC_SETTING_LC_MONETARY)
		hash = mix_monetary(hash);
	if (settings & PLC_SETTING_DATESTYLE)
	{
		numbers[0] = DateStyle;
		numbers[1] = DateOrder;
	}
	if (settings & PLC_SETTING_INTERVALSTYLE)
		numbers[2] = IntervalStyle;
	if (settings & PLC_SETTING_FLOAT_DIGITS)
		numbers[3] = extra_float_digits;
	if (settings & PLC_SETTING_BYTEA_OUTPUT)
		numbers[4] = bytea_output;
	return mix(mix(hash, &zone, sizeof(zone)), numbers, sizeof(numbers));
}
