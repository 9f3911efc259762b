# The smallest cache there is: rows come and go, large ones stay out, and every answer is right.
use strict;
use warnings;

use PlcTest;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = cached_server('small', conf => q(
	pg_local_cache.memory = 2MB
	pg_local_cache.verify = 1
	shared_buffers = 16MB
	autovacuum = off));

$server->safe_psql('postgres', q(
	CREATE TABLE items (id int PRIMARY KEY, v int, pad text);
	INSERT INTO items SELECT i, 0, repeat(chr(65 + i % 26), 50 + i % 300) FROM generate_series(1, 50000) i;
	CREATE TABLE large (id int PRIMARY KEY, pad text);
	INSERT INTO large SELECT i, repeat('y', 4096) FROM generate_series(1, 1000) i;
	INSERT INTO large SELECT i, repeat('y', 40960) FROM generate_series(2001, 2100) i;
	INSERT INTO large SELECT i, repeat('y', 2097152) FROM generate_series(3001, 3004) i;
	VACUUM ANALYZE;
	SELECT local_cache.attach_table('items');
	SELECT local_cache.attach_table('large')));

# How many rows of a range does mget give otherwise than row_to_json?
sub differences
{
	my ($table, $from, $to) = @_;

	return quiet_psql($server, qq(
		WITH keys AS (SELECT array_agg(i ORDER BY i) AS keys FROM generate_series($from, $to) i),
			got AS (SELECT id, text FROM keys, unnest(keys, local_cache.mget('$table', keys)) AS u (id, text))
		SELECT count(*) FROM got FULL JOIN (SELECT id, row_to_json(t)::text AS text FROM $table t WHERE id BETWEEN $from AND $to) t USING (id)
		WHERE got.text IS DISTINCT FROM t.text));
}

sub counted
{
	my ($before) = @_;
	my $after = metrics($server);
	return { map { $_ => $after->{$_} - $before->{$_} } keys %$after };
}

is(metrics($server)->{memory}, 2 * 1024 * 1024, 'the smallest cache');

subtest 'more rows than fit are served' => sub {
	my $before = metrics($server);

	is(differences('items', 1, 50000), 0, 'every row is right') for 1 .. 2;
	my $done = counted($before);
	is($done->{hits} + $done->{misses}, 100000, 'every key counts once');
	cmp_ok($done->{evicted}, '>', 40000, 'rows were given up');
	my $now = metrics($server);
	cmp_ok($now->{bytes}, '<=', $now->{memory}, 'and memory was kept to');
	cmp_ok($now->{entries}, '>', 1000, 'though some rows are there');
};

subtest 'few rows that are read often stay, while others pass through' => sub {
	quiet_psql($server, q(SELECT sum(cardinality(local_cache.mget('items', ARRAY(SELECT generate_series(1, 500))))) FROM generate_series(1, 5)));
	foreach my $i (1 .. 20)
	{
		quiet_psql($server, "SELECT cardinality(local_cache.mget('items', ARRAY(SELECT generate_series(${\(1000 * $i)}, ${\(1000 * $i + 999)}))))");
		quiet_psql($server, q(SELECT cardinality(local_cache.mget('items', ARRAY(SELECT generate_series(1, 500))))));
	}
	my $before = metrics($server);
	is(differences('items', 1, 500), 0, 'they are right');
	cmp_ok(counted($before)->{hits}, '>=', 400, 'and in the cache');
};

subtest 'large rows' => sub {
	my $before = metrics($server);

	is(differences('large', 1, 1000), 0, '4 kB') for 1 .. 2;
	my $done = counted($before);
	is($done->{publishes} + $done->{hits}, 2000, 'are cached');
	is($done->{unpublished_size}, 0, 'none is too large');

	$before = metrics($server);
	is(differences('large', 2001, 2100), 0, '40 kB') for 1 .. 2;
	$done = counted($before);
	is($done->{publishes} + $done->{hits} + $done->{unpublished_size}, 200, 'are cached or counted as too large');

	# The one limit is the setting, the other what a shard takes.
	foreach my $limit ('1MB', '64MB')
	{
		$server->safe_psql('postgres', "ALTER DATABASE postgres SET pg_local_cache.max_row_size = '$limit'");
		$before = metrics($server);
		is(differences('large', 3001, 3004), 0, "2 MB, with max_row_size $limit") for 1 .. 2;
		$done = counted($before);
		is($done->{unpublished_size}, 8, 'are too large, and counted so');
		is($done->{publishes}, 0, 'and not cached');
	}
	quiet_psql($server, q(SELECT local_cache.invalidate('large')));
	$server->safe_psql('postgres', q(ALTER DATABASE postgres SET pg_local_cache.max_row_size = 1000));
	$before = metrics($server);
	is(differences('large', 1, 100), 0, '4 kB, with max_row_size 1000') for 1 .. 2;
	is(counted($before)->{unpublished_size}, 200, 'are too large then');
	$server->safe_psql('postgres', q(ALTER DATABASE postgres RESET pg_local_cache.max_row_size));
};

subtest 'four sessions read and write more than fits' => sub {
	# Compares under one snapshot; an answer that differs is an error, so are warnings of verification.
	my $script = PostgreSQL::Test::Utils::tempdir() . '/mixed.sql';
	append_to_file($script, q(
		\set from random(1, 49900)
		\set key random(1, 50000)
		\set hot random(1, 100)
		UPDATE items SET v = v + 1 WHERE id = :key;
		UPDATE items SET v = v + 1 WHERE id = :hot;
		SELECT 1 / (count(*) FILTER (WHERE u.text IS DISTINCT FROM t.text) = 0)::int
		FROM (SELECT array_agg(i) AS keys FROM generate_series(:from, :from + 50) i) k,
			unnest(k.keys || (:hot)::int, local_cache.mget('items', k.keys || (:hot)::int)) AS u (id, text),
			LATERAL (SELECT row_to_json(i)::text AS text FROM items i WHERE i.id = u.id) t;
	));
	my $before = metrics($server);
	my @pgbench = ('pgbench', '--no-vacuum', '--client=4', '--jobs=2', '--transactions=1000', '--protocol=prepared',
		'--file=' . $script, '--max-tries=1', '-d', 'postgres', '-h', $server->host, '-p', $server->port);
	my ($stdout, $stderr) = ('', '');
	ok(IPC::Run::run(\@pgbench, '>', \$stdout, '2>', \$stderr), 'no answer was wrong') or diag($stderr);
	like($stdout, qr{number of transactions actually processed: 4000/4000}, 'all transactions were run');
	unlike($stderr, qr/WARNING|ERROR/, 'without a warning');
	my $done = counted($before);
	is($done->{hits} + $done->{misses}, 4000 * 52, 'every key was counted');
	is($done->{verified}, $done->{hits}, 'every hit was verified');
	cmp_ok($done->{hits}, '>', 4000, 'and hits there were');
	cmp_ok($done->{evicted}, '>', 10000, 'while rows were given up');
};

is(metrics($server)->{verify_failures}, 0, 'no hit was wrong');
unlike(slurp_file($server->logfile), qr/WARNING:|PANIC:/, 'the server has nothing to warn of');
done_testing();
