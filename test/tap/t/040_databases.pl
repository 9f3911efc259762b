# Copies of databases: from a template, moved, renamed, dumped; and a library that does not match its SQL functions.
use strict;
use warnings;

use PlcTest;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = cached_server('databases', conf => "pg_local_cache.verify = 0\n");
my $row = q(SELECT local_cache.mget_json('items', ARRAY[1]));

sub row { return qq([{"id":1,"v":"$_[0]"}]) }

sub read_twice
{
	my ($database, $expected, $what) = @_;

	is($server->safe_psql($database, $row), $expected, $what) for 1 .. 2;
}

$server->safe_psql('postgres', 'CREATE DATABASE app');
$server->safe_psql('app', q(
	CREATE EXTENSION pg_local_cache;
	CREATE TABLE items (id int PRIMARY KEY, v text);
	INSERT INTO items VALUES (1, 'a');
	SELECT local_cache.attach_table('items')));
read_twice('app', row('a'), 'the row is read');

foreach my $strategy ('wal_log', 'file_copy')
{
	subtest "H67: a database made from a template by $strategy has rows of its own" => sub {
		my $identity = q(SELECT oid, relfilenode, (SELECT (ctid, xmin) FROM items) FROM pg_class WHERE relname = 'items');

		$server->safe_psql('postgres', "CREATE DATABASE $strategy TEMPLATE app STRATEGY $strategy");
		is($server->safe_psql($strategy, $identity), $server->safe_psql('app', $identity), 'the copy is the same in table, file and tuple');
		$server->safe_psql($strategy, q(UPDATE items SET v = 'copy'));
		read_twice($strategy, row('copy'), 'the copy reads its row');
		read_twice('app', row('a'), 'the template its own');
		$server->safe_psql('app', q(BEGIN; DELETE FROM items; INSERT INTO items VALUES (1, 'a'); COMMIT));
		read_twice($strategy, row('copy'), 'the copy again');
		$server->safe_psql('postgres', "DROP DATABASE $strategy");
	};
}

subtest 'H67: a database with the name of a dropped one has rows of its own' => sub {
	$server->safe_psql('postgres', 'CREATE DATABASE again TEMPLATE app');
	read_twice('again', row('a'), 'the first');
	$server->safe_psql('postgres', 'DROP DATABASE again');
	$server->safe_psql('postgres', 'CREATE DATABASE again TEMPLATE app');
	$server->safe_psql('again', 'TRUNCATE items');
	read_twice('again', '[null]', 'the second');
};

# Their keys are equal but for the database; if their hashes were equal too, they would share one place for seven.
subtest 'many databases made from one template do not push out each other' => sub {
	my @copies = map { "copy$_" } 1 .. 12;
	my $hits;

	$server->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE app") foreach @copies;
	foreach my $round (1 .. 2)
	{
		$hits = metrics($server)->{hits};
		is($server->safe_psql($_, $row), row('a'), $_) foreach @copies;
	}
	cmp_ok(metrics($server)->{hits} - $hits, '>=', @copies - 1, 'the second time each finds its row in the cache');
	$server->safe_psql('postgres', "DROP DATABASE $_") foreach @copies;
};

subtest 'H69: a database that is renamed, closed, moved to another tablespace' => sub {
	$server->safe_psql('postgres', 'ALTER DATABASE app RENAME TO shop');
	read_twice('shop', row('a'), 'renamed');
	$server->safe_psql('postgres', 'ALTER DATABASE shop ALLOW_CONNECTIONS false');
	$server->safe_psql('postgres', 'ALTER DATABASE shop ALLOW_CONNECTIONS true');
	read_twice('shop', row('a'), 'closed and opened');
	my $directory = PostgreSQL::Test::Utils::tempdir();
	$server->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION '$directory'");
	my $filenode = q(SELECT pg_relation_filenode('items'));
	my $before = $server->safe_psql('shop', $filenode);
	$server->safe_psql('postgres', 'ALTER DATABASE shop SET TABLESPACE elsewhere');
	is($server->safe_psql('shop', $filenode), $before, 'moved, its files have the same numbers');
	read_twice('shop', row('a'), 'and its rows are read');
	$server->safe_psql('shop', q(UPDATE items SET v = 'b'));
	read_twice('shop', row('b'), 'as are updates');
	$server->safe_psql('postgres', 'ALTER DATABASE shop SET TABLESPACE pg_default');
	read_twice('shop', row('b'), 'moved back');
	my $other = PlcSession->new($server, dbname => 'shop');
	is($other->say($row), row('b'), 'a session that stays');
	$server->safe_psql('shop', 'ALTER TABLE items SET TABLESPACE elsewhere');
	is($other->say($row), row('b'), 'reads the table where it was moved to') for 1 .. 2;
	$other->quit;
	$server->safe_psql('shop', 'ALTER TABLE items SET TABLESPACE pg_default');
};

subtest 'H74: a dump keeps what is attached, and trips over no dropped table' => sub {
	my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';

	$server->safe_psql('shop', q(
		CREATE TABLE pairs (a int, b text, v text, UNIQUE (b, a));
		ALTER TABLE pairs ALTER a SET NOT NULL, ALTER b SET NOT NULL;
		CREATE TABLE dropped (id int PRIMARY KEY);
		SELECT local_cache.attach_table('pairs', writable => true, namespace => 'p', key_index => 'pairs_b_a_key');
		SELECT local_cache.attach_table('dropped');
		DROP TABLE dropped));
	my $attached = 'SELECT relation, key_columns, writable, namespace FROM local_cache.tables ORDER BY relation::text';
	my $before = $server->safe_psql('shop', $attached);
	$server->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $server->connstr('shop') ], 'pg_dump');
	$server->safe_psql('postgres', 'CREATE DATABASE restored');
	$server->command_ok([ 'pg_restore', '--exit-on-error', '-d', $server->connstr('restored'), $dump ], 'pg_restore');
	$server->safe_psql('shop', q(
		CREATE ROLE keeper LOGIN;
		GRANT USAGE ON SCHEMA local_cache TO keeper;
		GRANT SELECT ON items, pairs TO keeper));
	$server->command_ok([ 'pg_dump', '-f', "$dump.sql", '-d', $server->connstr('shop'), '-U', 'keeper' ], 'pg_dump without superuser rights');
	is($server->safe_psql('restored', $attached), $before, 'the same tables are attached in the same way');
	like($before, qr/^items\|\|f\|\npairs\|\{b,a\}\|t\|p$/, 'all but the dropped one');
	read_twice('restored', row('b'), 'rows are read');
	$server->safe_psql('restored', q(INSERT INTO pairs VALUES (1, 'x', 'v')));
	is($server->safe_psql('restored', q(SELECT local_cache.mget_json('pairs', ARRAY[ARRAY['x', '1']]))), '[{"a":1,"b":"x","v":"v"}]', 'by the other key too');
};

subtest 'H74: functions that do not match the library say so' => sub {
	$server->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE template0');
	$server->safe_psql('other', q(
		CREATE EXTENSION pg_local_cache;
		CREATE TABLE items (id int PRIMARY KEY, v text);
		INSERT INTO items VALUES (1, 'a');
		SELECT local_cache.attach_table('items');
		ALTER EXTENSION pg_local_cache DROP FUNCTION local_cache.metrics();
		DROP FUNCTION local_cache.metrics();
		ALTER EXTENSION pg_local_cache DROP VIEW local_cache.tables;
		ALTER EXTENSION pg_local_cache DROP FUNCTION local_cache.table_stats();
		DROP VIEW local_cache.tables;
		DROP FUNCTION local_cache.table_stats();
		CREATE FUNCTION local_cache.metrics(OUT hits bigint, OUT misses bigint) RETURNS record
			LANGUAGE c AS 'pg_local_cache', 'plc_metrics';
		CREATE FUNCTION local_cache.table_stats(OUT relation regclass, OUT hits bigint) RETURNS SETOF record
			LANGUAGE c AS 'pg_local_cache', 'plc_table_stats'));
	foreach my $function ('metrics', 'table_stats')
	{
		my ($status, $stdout, $stderr) = $server->psql('other', "SELECT * FROM local_cache.$function()");
		like($stderr, qr/ERROR:.*does not match this library/, "$function, with other columns");
	}
	my ($status, $stdout, $stderr) = $server->psql('other',
		q(CREATE FUNCTION local_cache.new() RETURNS int LANGUAGE c AS 'pg_local_cache', 'plc_not_there'));
	like($stderr, qr/could not find function "plc_not_there"/, 'a function that the library does not have');
	read_twice('other', row('a'), 'reading goes on');
	$server->safe_psql('other', 'ALTER EXTENSION pg_local_cache DROP TABLE local_cache.mapping; DROP TABLE local_cache.mapping');
	($status, $stdout, $stderr) = $server->psql('other', $row);
	like($stderr, qr/ERROR:.*"items" is not attached/, 'without the mapping nothing is attached');
};

subtest 'DROP EXTENSION and CREATE EXTENSION under a session' => sub {
	my $session = PlcSession->new($server, dbname => 'shop');
	is($session->say($row), row('b'), 'it reads');
	$server->safe_psql('shop', 'DROP EXTENSION pg_local_cache');
	like($session->error($row), qr/schema "local_cache" does not exist|function .* does not exist/, 'dropped');
	$server->safe_psql('shop', 'CREATE EXTENSION pg_local_cache');
	like($session->error($row), qr/"items" is not attached/, 'created again, nothing is attached');
	$server->safe_psql('shop', q(SELECT local_cache.attach_table('items')));
	is($session->say($row), row('b'), 'attached again, read again') for 1 .. 2;
	$session->quit;
};

is($server->safe_psql('postgres', 'SELECT verify_failures FROM local_cache.metrics()'), '0', 'no hit was wrong');
done_testing();
