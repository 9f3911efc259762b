/*
 * tap.h
 *		Test results in TAP, for prove.
 *
 * A test program calls tap_ok for each thing that it claims, and ends with
 * "return tap_done();".
 */
#ifndef PLC_TEST_TAP_H
#define PLC_TEST_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int	tap_run = 0;
static int	tap_failed = 0;

/*
 * One claim, named by a printf format; returns whether it holds.  Control
 * characters in the name become blanks, for it is a line.
 */
static inline bool __attribute__((format(printf, 2, 3)))
tap_ok(bool holds, const char *format,...)
{
	char		name[300];
	va_list		args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	for (char *at = name; *at != '\0'; at++)
		*at = (unsigned char) *at < ' ' ? ' ' : *at;
	tap_run++;
	if (!holds)
		tap_failed++;
	printf("%sok %d - %s\n", holds ? "" : "not ", tap_run, name);
	fflush(stdout);
	return holds;
}

/* A number that must be what it should be; tells both if not. */
static inline bool
tap_is(long long is, long long should_be, const char *name)
{
	tap_ok(is == should_be, "%s", name);
	if (is != should_be)
		printf("# is %lld, should be %lld\n", is, should_be);
	return is == should_be;
}

static inline void __attribute__((format(printf, 1, 2)))
tap_note(const char *format,...)
{
	va_list		args;

	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

/* Ends the test; returns the program's exit status. */
static inline int
tap_done(void)
{
	printf("1..%d\n", tap_run);
	return tap_failed == 0 ? 0 : 1;
}

#endif							/* PLC_TEST_TAP_H */
