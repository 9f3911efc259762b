# H76: errors and cancels in the middle of a read leave nothing behind: no lock, no pin, no memory.
use strict;
use warnings;

use PlcTest;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = cached_server('errors', conf => q(
	pg_local_cache.verify = 0
	pg_local_cache.memory = 8MB
	autovacuum = off));

$server->safe_psql('postgres', q(
	CREATE TYPE mood AS ENUM ('calm', 'cross');
	CREATE TABLE items (id int PRIMARY KEY, v text, mood mood);
	INSERT INTO items SELECT i, 'v' || i, 'calm' FROM generate_series(1, 200000) i;
	CREATE TABLE wide (id int PRIMARY KEY, v text);
	INSERT INTO wide SELECT i, repeat('x', 1000000) FROM generate_series(1, 2) i;
	CREATE TABLE million AS SELECT array_agg(1 + i % 200000) AS keys FROM generate_series(1, 1000000) i;
	SELECT local_cache.attach_table('items');
	SELECT local_cache.attach_table('wide')));

my ($session, $other) = map { PlcSession->new($server) } 1 .. 2;
my $read_million = q(SELECT count(local_cache.mget('items', keys)) FROM million);

# The process's own memory, without what it shares.
sub own_kilobytes
{
	my ($kilobytes) = slurp_file('/proc/' . $_[0]->pid . '/status') =~ /^RssAnon:\s+(\d+)/m;
	return $kilobytes;
}

sub context_bytes
{
	return $_[0]->say(q(SELECT sum(total_bytes) FROM pg_backend_memory_contexts));
}

# Does one more round of something not make the backend larger?  The first rounds may.
sub does_not_grow
{
	my ($what, $round) = @_;

	$round->() for 1 .. 2;
	my ($bytes, $own) = (context_bytes($session), own_kilobytes($session));
	$round->() for 1 .. 3;
	cmp_ok(context_bytes($session) - $bytes, '<', 64 * 1024, "$what: memory contexts do not grow");
	cmp_ok(own_kilobytes($session) - $own, '<', 1024, "$what: nor does the process");
}

subtest 'a read that is cancelled leaves no lock' => sub {
	foreach my $i (1 .. 3)
	{
		$session->say("SET statement_timeout = '${\(20 * $i)}ms'");
		like($session->error("$read_million, generate_series(1, 100)"),
			qr/canceling statement due to statement timeout/, 'statement_timeout');
		$session->say('SET statement_timeout = 0');
		is($other->say(q(SELECT cardinality(local_cache.mget('items', ARRAY(SELECT generate_series(1, 2000)))))), '2000', 'others read');
		is($session->say(q(SELECT local_cache.mget_json('items', ARRAY[7]))), '[{"id":7,"v":"v7","mood":"calm"}]', 'and so does the session');
	}

	# While rows are fetched and published: cancelled from outside, in the middle.
	$session->say(q(SELECT local_cache.invalidate()));
	my $before = metrics($server)->{inserted};
	$session->start("$read_million, generate_series(1, 100)");
	$server->poll_query_until('postgres', "SELECT inserted > $before FROM local_cache.metrics()") or die 'nothing is published';
	$other->say('SELECT pg_cancel_backend(' . $session->pid . ')');
	like($session->finish_error, qr/canceling statement due to user request/, 'pg_cancel_backend');
	is($other->say(q(SELECT count(*) FROM pg_locks WHERE relation = 'items'::regclass)), '0', 'the table is not locked');
	$other->say('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE; ROLLBACK');
	is($other->say(q(SELECT cardinality(local_cache.mget('items', ARRAY(SELECT generate_series(1, 2000)))))), '2000', 'every shard can be written');
};

subtest 'a session that is killed in the middle of a read takes nothing with it' => sub {
	my $victim = PlcSession->new($server);
	my $before = metrics($server)->{inserted};

	$victim->start("$read_million, generate_series(1, 100)");
	$server->poll_query_until('postgres', "SELECT inserted > $before FROM local_cache.metrics()") or die 'nothing is published';
	is($other->say('SELECT pg_terminate_backend(' . $victim->pid . ', 10000)'), 't', 'terminated');
	is($other->say(q(SELECT cardinality(local_cache.mget('items', ARRAY(SELECT generate_series(1, 2000)))))), '2000', 'others read on');
};

subtest 'errors are caught, and the transaction goes on' => sub {
	$session->say(q(
		CREATE FUNCTION try(sql text) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			EXECUTE sql;
			RETURN 'no error';
		EXCEPTION WHEN OTHERS THEN
			RETURN sqlerrm;
		END $$));
	is($session->say(q(SELECT DISTINCT try($$SELECT local_cache.mget('pg_class', ARRAY[1])$$) FROM generate_series(1, 1000))),
		'relation "pg_class" is not attached to the cache', 'a table that is not attached');
	like($session->say(q(SELECT DISTINCT try($$SELECT local_cache.mget('items', ARRAY['x'])$$) FROM generate_series(1, 1000))),
		qr/./, 'keys that are none');
	is($session->say(q(BEGIN; SELECT try($$SELECT 1/0 FROM (SELECT local_cache.mget('items', ARRAY[1, 2, 3])) m$$);
		SELECT local_cache.mget_json('items', ARRAY[2]); COMMIT)),
		qq(division by zero\n[{"id":2,"v":"v2","mood":"calm"}]), 'an error after a read');
};

subtest 'a long life does not make a session larger' => sub {
	does_not_grow('10,000 reads', sub {
		$session->say(q(DO $$ BEGIN
			FOR i IN 1 .. 2000 LOOP
				PERFORM local_cache.mget('items', ARRAY[i, i + 1, i + 2]);
				PERFORM local_cache.mget_json('items', ARRAY[i * 7]);
				PERFORM local_cache.mget_rows(NULL::items, ARRAY[i]);
			END LOOP;
		END $$));
	});
	does_not_grow('reads in one query', sub {
		$session->say(q(SELECT sum(cardinality(local_cache.mget('items', ARRAY[i, i + 1]))) FROM generate_series(1, 20000) i));
	});
	does_not_grow('DDL between reads', sub {
		foreach (1 .. 20)
		{
			$other->say(q(ALTER TYPE mood RENAME VALUE 'calm' TO 'serene'; ALTER TYPE mood RENAME VALUE 'serene' TO 'calm'));
			$session->say(q(SELECT local_cache.mget_json('items', ARRAY[2])));
			$other->say(q(ALTER TABLE items ALTER v SET STATISTICS -1));
			$session->say(q(SELECT local_cache.mget_json('items', ARRAY[2])));
		}
	});
	does_not_grow('DDL and reads in one transaction', sub {
		$session->say(q(DO $$ BEGIN
			FOR i IN 1 .. 50 LOOP
				ALTER TABLE items ALTER v SET STATISTICS -1;
				PERFORM local_cache.mget('items', ARRAY[i]);
			END LOOP;
		END $$));
	});
	does_not_grow('tables that are made, read and dropped', sub {
		$session->say(q(DO $$ BEGIN
			FOR i IN 1 .. 50 LOOP
				CREATE TABLE passing (id int PRIMARY KEY, v text);
				PERFORM local_cache.attach_table('passing');
				PERFORM local_cache.mget('passing', ARRAY[i]);
				DROP TABLE passing;
				COMMIT;
			END LOOP;
		END $$));
	});
	does_not_grow('errors', sub {
		$session->say(q(SELECT count(try($$SELECT local_cache.mget('pg_class', ARRAY[1])$$)) FROM generate_series(1, 500)));
		$session->say(q(SELECT count(try($$SELECT local_cache.mget('items', ARRAY[ARRAY[1]])$$)) FROM generate_series(1, 500)));
		$session->error(q(SELECT local_cache.mget('items', ARRAY[ARRAY[1]]))) for 1 .. 20;
	});
};

subtest 'a result beyond a gigabyte is an error, and the session lives' => sub {
	my $keys = q(ARRAY(SELECT 1 + i % 2 FROM generate_series(1, 1200) i));

	foreach my $function ('mget', 'mget_json')
	{
		like($session->error("SELECT octet_length(local_cache.$function('wide', $keys)::text)"),
			qr/ERROR: .*(out of memory|invalid memory alloc|exceed)/, $function);
		is($session->say(q(SELECT local_cache.mget_json('items', ARRAY[2]))), '[{"id":2,"v":"v2","mood":"calm"}]', 'the session goes on');
	}
};

subtest 'one query, many tables' => sub {
	$session->say(q(DO $$ BEGIN
		FOR i IN 1 .. 200 LOOP
			EXECUTE format('CREATE TABLE many_%s (id int PRIMARY KEY, n int)', i);
			EXECUTE format('INSERT INTO many_%s VALUES (1, %s)', i, i);
			PERFORM local_cache.attach_table(format('many_%s', i)::regclass);
			COMMIT;
		END LOOP;
	END $$));
	is($session->say(q(SELECT sum((local_cache.mget_json(format('many_%s', i)::regclass, ARRAY[1]) -> 0 ->> 'n')::int) FROM generate_series(1, 200) i)),
		200 * 201 / 2, 'each is read') for 1 .. 2;
};

is(metrics($server)->{verify_failures}, 0, 'no hit was wrong');
unlike(slurp_file($server->logfile), qr/WARNING:|PANIC:|terminated by signal/, 'the server has nothing to warn of: nothing leaked');
done_testing();
