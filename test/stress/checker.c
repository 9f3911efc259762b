/*
 * checker.c
 *		The consistency checker: many processes on a few rows, and no read may be
 *		stale.  README.md explains what is checked and how to read a report.
 *
 * The parent makes the tables, starts one process for each reader and writer
 * and one keeper, waits, and reports.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "change.h"
#include "roles.h"

#define MAX_PROCESSES	64

typedef struct Options
{
	double		seconds;
	int			readers;
	int			writers;
	uint64_t	seed;
	int			enough;
	const char *conninfo;
} Options;

/* The counters of the cache that the verdict needs. */
typedef struct CacheCounts
{
	uint64_t	hits;
	uint64_t	verified;
	uint64_t	verify_failures;
} CacheCounts;

/*
 * All columns but the key and the version follow from the version: of types
 * whose text depends on settings, on an enum's labels, short, long and out of
 * line, and NULL.
 */
static const char body[] =
	"version bigint NOT NULL,"
	" at timestamptz GENERATED ALWAYS AS (to_timestamp(version)) STORED,"
	" span interval GENERATED ALWAYS AS (make_interval(mins => version::int)) STORED,"
	" ratio float8 GENERATED ALWAYS AS (version / 7.0::float8) STORED,"
	" raw bytea GENERATED ALWAYS AS (decode(md5(version::text), 'hex')) STORED,"
	" during tstzrange GENERATED ALWAYS AS"
	"  (tstzrange(to_timestamp(version), to_timestamp(version + 60))) STORED,"
	" mood stress.mood GENERATED ALWAYS AS"
	"  (CASE WHEN version % 3 = 0 THEN 'loud'::stress.mood ELSE 'calm 0' END) STORED,"
	" note text GENERATED ALWAYS AS (CASE WHEN version % 5 = 0 THEN NULL"
	"  WHEN version % 97 = 1 THEN repeat(md5(version::text), 200)"
	"  ELSE repeat(md5(version::text), (version % 4)::int) END) STORED";

void
pause_after(double started, double times, double most)
{
	double		seconds = (now() - started) * times;
	struct timespec t = {0};

	t.tv_nsec = (long) ((seconds < most ? seconds : most) * 1e9);
	if (running())
		nanosleep(&t, NULL);
}

static void
make_table(Session *s, int number)
{
	const Table *table = &tables[number];
	Tx			tx;

	session_run(s, "CREATE TABLE %s (%s, %s, PRIMARY KEY (%s)) WITH (fillfactor = 70)",
				table->name, table->definition, body, table->columns);
	session_run(s, "ALTER TABLE %s ALTER note SET STORAGE EXTERNAL", table->name);
	session_run(s, "SELECT local_cache.attach_table('%s')", table->name);
	tx_begin_all(&tx, s, READ_COMMITTED, number);
	tx_put_all(&tx);
	tx_commit(&tx);
}

static void
set_up(Session *s)
{
	session_run(s, "CREATE EXTENSION IF NOT EXISTS pg_local_cache");
	session_run(s, "CREATE SCHEMA stress");
	session_run(s, "CREATE TYPE stress.mood AS ENUM ('calm 0', 'loud')");
	for (int table = 0; table < TABLES; table++)
		make_table(s, table);
	session_run(s, "CREATE TABLE stress.skew (id int PRIMARY KEY, v int NOT NULL)");
	session_run(s, "INSERT INTO stress.skew VALUES (0, 0), (1, 0)");
	session_run(s, "SELECT local_cache.attach_table('stress.skew')");
	session_run(s, "SET allow_in_place_tablespaces = on");
	session_run(s, "CREATE TABLESPACE stress_elsewhere LOCATION ''");
}

static CacheCounts
read_cache_counts(Session *s)
{
	PGresult   *result = session_query(s, "SELECT hits, verified, verify_failures"
									   " FROM local_cache.metrics()");
	CacheCounts counts;

	counts.hits = strtoull(PQgetvalue(result, 0, 0), NULL, 10);
	counts.verified = strtoull(PQgetvalue(result, 0, 1), NULL, 10);
	counts.verify_failures = strtoull(PQgetvalue(result, 0, 2), NULL, 10);
	PQclear(result);
	return counts;
}

/* Processes */

static void
start(const Options *options, const char *role, int number, int process, void (*run) (Session *))
{
	pid_t		pid = fork();
	Session		s;

	if (pid < 0)
		fail("checker", "could not start a process");
	if (pid > 0)
		return;
	session_open(&s, options->conninfo, role, number, process);
	run(&s);
	PQfinish(s.conn);
	exit(0);
}

/* Starts all processes.  Returns how many. */
static int
start_all(const Options *options)
{
	int			n = 0;

	for (int i = 1; i <= options->readers; i++)
		start(options, "reader", i, n++, reader_run);
	for (int i = 1; i <= options->writers; i++)
		start(options, "writer", i, n++, writer_run);
	start(options, "keeper", 1, n++, keeper_run);
	return n;
}

/* Waits for all.  Returns how many failed; one that fails stops the others. */
static int
wait_for_all(int n)
{
	int			failed = 0;
	int			status;

	while (n > 0 && wait(&status) > 0)
	{
		n--;
		if (status != 0)
		{
			failed++;
			shared->stop = true;
		}
	}
	return failed;
}

/* The report */

static void
report_kinds(void)
{
	for (int kind = 0; kind < NKINDS; kind++)
		printf("  %-22s %9lu%s", kind_names[kind], (uint64_t) shared->counts[kind],
			   kind % 2 == 1 || kind == NKINDS - 1 ? "\n" : "    ");
}

/* Prints the reason if a condition of success does not hold. */
static bool
expect(bool holds, const char *reason)
{
	if (!holds)
		printf("FAIL: %s\n", reason);
	return holds;
}

static bool
all_kinds_happened(void)
{
	bool		all = true;

	for (int kind = 0; kind < NKINDS; kind++)
		if (shared->counts[kind] == 0)
		{
			printf("FAIL: \"%s\" never happened\n", kind_names[kind]);
			all = false;
		}
	return all;
}

static bool
judge(int failed, const CacheCounts *counts)
{
	bool		passed = true;

	passed &= expect(shared->mismatches == 0, "there were mismatches");
	passed &= expect(counts->verify_failures == 0, "the cache's own verification failed");
	passed &= expect(failed == 0, "a process of the checker ended with an error");
	/* a run that was ended early need not have come to everything */
	if (!shared->stop)
	{
		passed &= expect(counts->hits * 2 >= shared->checked,
						 "fewer than half of the checked reads were cache hits");
		passed &= all_kinds_happened();
	}
	return passed;
}

static bool
report(const Options *options, int failed, const CacheCounts *before, const CacheCounts *after)
{
	uint64_t	checked = shared->checked;
	double		seconds = now() - shared->started;
	CacheCounts counts = {
		after->hits - before->hits,
		after->verified - before->verified,
		after->verify_failures - before->verify_failures
	};

	printf("consistency: %.1f s, %d readers, %d writers, 1 keeper, seed %lu\n",
		   seconds, options->readers, options->writers, options->seed);
	report_kinds();
	printf("checked reads    %lu (%.0f a second)\n", checked, (double) checked / seconds);
	printf("cache hits       %lu (%.1f %%)\n", counts.hits,
		   checked ? 100.0 * (double) counts.hits / (double) checked : 0.0);
	printf("refused, retried %lu\n", (uint64_t) shared->retries);
	printf("verified hits    %lu, %lu of them different\n", counts.verified, counts.verify_failures);
	printf("mismatches       %lu", (uint64_t) shared->mismatches);
	if (shared->mismatches > 0)
		printf(", the first after %.2f s: %s", shared->first_at, shared->first);
	printf("\n");
	if (!judge(failed, &counts))
		return false;
	printf("PASS\n");
	return true;
}

/* Options */

static void
usage(FILE *file)
{
	fprintf(file,
			"Usage: checker [options] CONNINFO\n"
			"Checks pg_local_cache in an empty database, as superuser.\n"
			"  --seconds N   how long (default 10)\n"
			"  --readers N   processes that read (default 2)\n"
			"  --writers N   processes that write (default 4)\n"
			"  --seed N      what is done follows from it (default: the time)\n"
			"  --enough N    stop after so many mismatches (default 10)\n");
}

static long
number(const char *option, const char *text, long least, long most)
{
	char	   *end;
	long		n = strtol(text, &end, 10);

	if (*end != '\0' || end == text || n < least || n > most)
	{
		fprintf(stderr, "--%s must be a number from %ld to %ld, not \"%s\"\n",
				option, least, most, text);
		exit(2);
	}
	return n;
}

static Options
parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{"seconds", required_argument, NULL, 's'},
		{"readers", required_argument, NULL, 'r'},
		{"writers", required_argument, NULL, 'w'},
		{"seed", required_argument, NULL, 'S'},
		{"enough", required_argument, NULL, 'e'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}
	};
	Options		options = {10, 2, 4, (uint64_t) time(NULL), 10, NULL};
	int			c;
	int			index;

	while ((c = getopt_long(argc, argv, "", known, &index)) != -1)
		switch (c)
		{
			case 's':
				options.seconds = (double) number("seconds", optarg, 1, 86400);
				break;
			case 'r':
				options.readers = (int) number("readers", optarg, 1, MAX_PROCESSES / 2);
				break;
			case 'w':
				options.writers = (int) number("writers", optarg, 1, MAX_PROCESSES / 2 - 1);
				break;
			case 'S':
				options.seed = (uint64_t) number("seed", optarg, 0, 1000000000000);
				break;
			case 'e':
				options.enough = (int) number("enough", optarg, 1, 1000000);
				break;
			case 'h':
				usage(stdout);
				exit(0);
			default:
				usage(stderr);
				exit(2);
		}
	if (optind != argc - 1)
	{
		usage(stderr);
		exit(2);
	}
	options.conninfo = argv[optind];
	return options;
}

int
main(int argc, char **argv)
{
	Options		options = parse_options(argc, argv);
	Session		s;
	CacheCounts before;
	CacheCounts after;
	int			failed;

	shared_create();
	shared->seed = options.seed;
	shared->enough = options.enough;
	session_open(&s, options.conninfo, "checker", 1, MAX_PROCESSES);
	set_up(&s);
	before = read_cache_counts(&s);

	shared->started = now();
	shared->deadline = shared->started + options.seconds;
	fflush(NULL);
	failed = wait_for_all(start_all(&options));

	after = read_cache_counts(&s);
	PQfinish(s.conn);
	return report(&options, failed, &before, &after) ? 0 : 1;
}
