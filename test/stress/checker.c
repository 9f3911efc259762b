/*
 * checker.c
 *		The consistency checker: many processes on a few rows, and no read may be
 *		stale.  README.md explains what is checked and how to read a report.
 *
 * The parent makes the tables, starts one process for each reader and writer
 * and one keeper, waits, and reports.  Given the port of an endpoint, there are
 * readers and writers that use it beside those that use SQL.
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
#include "twins.h"

#define MAX_PROCESSES	64

typedef struct Options
{
	double		seconds;
	int			readers;
	int			writers;
	int			resp_readers;
	int			resp_writers;
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
	"  (CASE WHEN version % 3 = 0 THEN 'loud'::stress.mood ELSE 'calm' END) STORED,"
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
	session_run(s, "SELECT local_cache.attach_table('%s', writable => true)", table->name);
	tx_begin_all(&tx, s, READ_COMMITTED, number);
	tx_put_all(&tx);
	tx_commit(&tx);
}

static void
set_up(Session *s)
{
	session_run(s, "CREATE EXTENSION IF NOT EXISTS pg_local_cache");
	session_run(s, "CREATE SCHEMA stress");
	/* whom clients of the endpoint act as */
	session_run(s, "CREATE ROLE stress_client");
	session_run(s, "GRANT USAGE ON SCHEMA stress TO stress_client");
	session_run(s, "ALTER DEFAULT PRIVILEGES IN SCHEMA stress GRANT ALL ON TABLES TO stress_client");
	session_run(s, "CREATE TYPE stress.mood AS ENUM ('calm', 'loud')");
	for (int table = 0; table < TABLES; table++)
		make_table(s, table);
	session_run(s, "CREATE TABLE stress.skew (id int PRIMARY KEY, v int NOT NULL)");
	session_run(s, "INSERT INTO stress.skew SELECT id, 0 FROM generate_series(0, %d) id",
				2 * MAX_PROCESSES);
	session_run(s, "SELECT local_cache.attach_table('stress.skew')");
	twins_create(s);
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

/* Waits until all workers of the endpoint are there; false if they do not come. */
static bool
workers_are_back(Session *s)
{
	struct timespec pause = {0, 100000000};
	double		deadline = now() + 20;
	bool		back = shared->port == 0;

	while (!back && now() < deadline)
	{
		PGresult   *result = session_query(s, "SELECT bool_and(w ->> 'status' = 'serving') FROM"
										   " jsonb_array_elements(local_cache.health() #> '{endpoint,workers}') w");

		back = strcmp(PQgetvalue(result, 0, 0), "t") == 0;
		PQclear(result);
		if (!back)
			nanosleep(&pause, NULL);
	}
	return back;
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
	for (int i = 1; i <= options->resp_readers; i++)
		start(options, "RESP reader", i, n++, resp_reader_run);
	for (int i = 1; i <= options->resp_writers; i++)
		start(options, "RESP writer", i, n++, resp_writer_run);
	if (shared->port != 0)
		start(options, "twins", 1, n++, twins_run);
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

/* Those of the endpoint come last, and only count if there is one. */
static int
kinds(void)
{
	return shared->port != 0 ? NKINDS : FIRST_RESP_KIND;
}

static void
report_kinds(void)
{
	for (int kind = 0; kind < kinds(); kind++)
		printf("  %-22s %9lu%s", kind_names[kind], (uint64_t) shared->counts[kind],
			   kind % 2 == 1 || kind == kinds() - 1 ? "\n" : "    ");
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

	for (int kind = 0; kind < kinds(); kind++)
		if (shared->counts[kind] == 0)
		{
			printf("FAIL: \"%s\" never happened\n", kind_names[kind]);
			all = false;
		}
	return all;
}

static bool
judge(int failed, bool workers, const CacheCounts *counts)
{
	bool		passed = true;

	passed &= expect(workers, "a worker of the endpoint did not come back");
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
report(const Options *options, int failed, bool workers, const CacheCounts *before,
	   const CacheCounts *after)
{
	uint64_t	checked = shared->checked;
	double		seconds = now() - shared->started;
	CacheCounts counts = {
		after->hits - before->hits,
		after->verified - before->verified,
		after->verify_failures - before->verify_failures
	};

	printf("consistency: %.1f s, %d readers, %d writers, 1 keeper, %d readers and %d writers over RESP, seed %lu\n",
		   seconds, options->readers, options->writers, options->resp_readers, options->resp_writers,
		   shared->seed);
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
	if (!judge(failed, workers, &counts))
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
			"  --readers N   processes that read by SQL (default 2)\n"
			"  --writers N   processes that write by SQL (default 4)\n"
			"  --port N      of the endpoint, with two workers (default: none is used)\n"
			"  --resp-readers N   processes that read over RESP (default 2)\n"
			"  --resp-writers N   processes that write over RESP (default 2)\n"
			"  --only-resp   judge only what was read over RESP\n"
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
		{"port", required_argument, NULL, 'p'},
		{"resp-readers", required_argument, NULL, 'R'},
		{"resp-writers", required_argument, NULL, 'W'},
		{"only-resp", no_argument, NULL, 'o'},
		{"seed", required_argument, NULL, 'S'},
		{"enough", required_argument, NULL, 'e'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}
	};
	Options		options = {10, 2, 4, 2, 2, NULL};
	int			c;

	shared->seed = (uint64_t) time(NULL);
	shared->enough = 10;
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		switch (c)
		{
			case 's':
				options.seconds = (double) number("seconds", optarg, 1, 86400);
				break;
			case 'r':
				options.readers = (int) number("readers", optarg, 1, MAX_PROCESSES / 4);
				break;
			case 'w':
				options.writers = (int) number("writers", optarg, 1, MAX_PROCESSES / 4);
				break;
			case 'p':
				shared->port = (int) number("port", optarg, 1, 65535);
				break;
			case 'R':
				options.resp_readers = (int) number("resp-readers", optarg, 1, MAX_PROCESSES / 4);
				break;
			case 'W':
				options.resp_writers = (int) number("resp-writers", optarg, 1, MAX_PROCESSES / 4 - 1);
				break;
			case 'o':
				shared->only_resp = true;
				break;
			case 'S':
				shared->seed = (uint64_t) number("seed", optarg, 0, 1000000000000);
				break;
			case 'e':
				shared->enough = (int) number("enough", optarg, 1, 1000000);
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
	if (shared->port == 0)
		options.resp_readers = options.resp_writers = 0;
	return options;
}

int
main(int argc, char **argv)
{
	Options		options;
	Session		s;
	CacheCounts before;
	CacheCounts after;
	bool		workers;
	int			failed;

	shared_create();
	options = parse_options(argc, argv);
	/* a write to a worker that is gone is an error, not a signal */
	signal(SIGPIPE, SIG_IGN);
	session_open(&s, options.conninfo, "checker", 1, MAX_PROCESSES);
	set_up(&s);
	before = read_cache_counts(&s);

	shared->started = now();
	shared->deadline = shared->started + options.seconds;
	fflush(NULL);
	failed = wait_for_all(start_all(&options));

	workers = workers_are_back(&s);
	after = read_cache_counts(&s);
	PQfinish(s.conn);
	return report(&options, failed, workers, &before, &after) ? 0 : 1;
}
