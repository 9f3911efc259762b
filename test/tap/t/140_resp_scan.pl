# SCAN and DBSIZE: every key is given, once, as GET takes it; of every table that the client may read, and no other;
# a bit at a time.
use strict;
use warnings;

use PlcTest;
use GdbStop;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = resp_server('scan', sql => <<'SQL');
	CREATE TABLE items (id bigint PRIMARY KEY, filler text DEFAULT repeat('x', 100));
	INSERT INTO items SELECT i FROM generate_series(1, 5000) i;
	CREATE TABLE orders (tenant int, id text, PRIMARY KEY (tenant, id));
	INSERT INTO orders VALUES (7, 'a'), (7, E'quote" comma, line\n'), (-1, '');
	CREATE TABLE words (w text PRIMARY KEY);
	INSERT INTO words VALUES ('hello'), ('a:b'), ('a=b'), ('a,b'), (''), ('ä'), ('{"w":"x"}'), ('w=y'), (' padded '), (E'line\nfeed\x01'),
		('"quoted"'), ('0042'), ('*'), ('back\slash'), ('true'), ('null'), ('+5'), (repeat('long', 100));
	CREATE TABLE numbers (n numeric PRIMARY KEY);
	INSERT INTO numbers VALUES (1.50), ('NaN'), (123456789012345678901234567890), (-0.1);
	CREATE TABLE times (t timestamptz PRIMARY KEY);
	INSERT INTO times VALUES ('2026-01-02 03:04:05.6+00'), ('infinity');
	CREATE TABLE flags (b boolean, u uuid, x bytea, f float8, PRIMARY KEY (b, u, x, f));
	INSERT INTO flags VALUES (true, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\x00ff', 0.1);
	CREATE SCHEMA "My.Schema";
	GRANT USAGE ON SCHEMA "My.Schema" TO app;
	CREATE TABLE "My.Schema"."we:ird ""Table" ("Id ""Num" int PRIMARY KEY);
	INSERT INTO "My.Schema"."we:ird ""Table" VALUES (1);
	CREATE TABLE empty (id int PRIMARY KEY);
	GRANT SELECT ON ALL TABLES IN SCHEMA public, "My.Schema" TO app;

	CREATE TABLE hidden (id int PRIMARY KEY);
	CREATE TABLE part_hidden (id int PRIMARY KEY, v int);
	GRANT SELECT (id) ON part_hidden TO app;
	CREATE SCHEMA shut;
	CREATE TABLE shut.t (id int PRIMARY KEY);
	GRANT SELECT ON shut.t TO app;
	CREATE TABLE secret (id int PRIMARY KEY);
	ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
	CREATE POLICY all_of_it ON secret USING (true);
	GRANT SELECT ON secret TO app;
	CREATE TABLE broken (id int PRIMARY KEY);
	GRANT SELECT ON broken TO app;
	CREATE TABLE dropped (id int PRIMARY KEY);
	INSERT INTO hidden VALUES (1);
	INSERT INTO part_hidden VALUES (1);
	INSERT INTO shut.t VALUES (1);
	INSERT INTO secret VALUES (1);
	INSERT INTO broken VALUES (1);
	CREATE TABLE unattached (id int PRIMARY KEY);
	INSERT INTO unattached VALUES (1);
	GRANT SELECT ON unattached TO app;

	SELECT local_cache.attach_table(t::regclass, namespace => t)
	FROM unnest('{items,orders,words,numbers,times,empty,hidden,part_hidden,secret,broken,dropped}'::text[]) t;
	SELECT local_cache.attach_table('"My.Schema"."we:ird ""Table"');
	SELECT local_cache.attach_table('flags');
	SELECT local_cache.attach_table('shut.t');
	ALTER TABLE broken DROP CONSTRAINT broken_pkey;
	DROP TABLE dropped;
SQL
my $client = PlcResp->new($server);

# All keys of a scan, and the number of calls it took.
sub scan
{
	my ($with, @options) = @_;
	my ($cursor, $calls, @keys) = (0, 0);

	do
	{
		my $reply = $with->get(SCAN => $cursor, @options);

		die "SCAN $cursor @options said $reply\n" unless ref $reply;
		$cursor = $reply->[0];
		push @keys, $reply->[1]->@*;
		die "cursor $cursor" if $cursor !~ /^\d+\z/ || $cursor >= 2**53;
		die 'a scan without an end' if $calls++ > 10000;
	} while ($cursor ne '0');
	return (\@keys, $calls);
}

sub sorted { return join "\n", sort @_ }

my $others = 3 + 18 + 4 + 2 + 1 + 1;
my ($all, $calls) = scan($client);

subtest 'all keys' => sub {
	my %seen;
	$seen{$_}++ foreach @$all;

	cmp_ok(@$all, '==', 5000 + $others, 'as many keys as there are rows');
	cmp_ok(keys %seen, '==', @$all, 'each once');
	is(scalar(grep { !$seen{"items:$_"} } 1 .. 5000), 0, 'each of the largest table');
	my @rows = map { $client->get(GET => $_) } grep { !/^items:/ } @$all;
	cmp_ok(scalar(grep { defined && /^\{/ } @rows), '==', $others, 'GET finds each of the others');
	cmp_ok(scalar(keys %{ { map { $_ => 1 } @rows } }), '==', $others, 'another row for each');
	is(scalar(grep { /hidden|secret|broken|dropped|shut|unattached/ } @$all), 0, 'none of tables that it may not read, or that cannot be read');
};

subtest 'how keys are written' => sub {
	my %wanted = map { $_ => 1 } ('items:1', 'words:hello', 'words:a:b', 'words:{"w":"a=b"}', 'words:{"w":"a,b"}', 'words:{"w":""}', 'words:ä',
		'words:{"w":"{\"w\":\"x\"}"}', 'words:{"w":" padded "}', 'words:{"w":"line\nfeed\u0001"}', 'words:0042', 'words:{"w":"*"}', 'words:true',
		'words:null', 'words:+5', 'numbers:1.50', 'numbers:NaN', 'orders:{"tenant":7,"id":"a"}', 'orders:{"tenant":-1,"id":""}',
		'CRUD:postgres."My.Schema"."we:ird ""Table":{"Id \"Num":1}',
		'CRUD:postgres.public.flags:{"b":"t","u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","x":"\\\\x00ff","f":"0.1"}');

	delete @wanted{@$all};
	is(join("\n", sort keys %wanted), '', 'quote-free behind a namespace where nothing can go wrong, else as JSON');
};

subtest 'COUNT' => sub {
	my ($keys, $few) = scan($client, COUNT => 1000);

	is(sorted(@$keys), sorted(@$all), 'all keys');
	cmp_ok($few, '<', $calls / 5, 'in fewer calls');
	my $reply = $client->get(SCAN => 0, COUNT => 1_000_000_000);
	cmp_ok($reply->[0], '>', 0, 'but not in one');
	cmp_ok(scalar($reply->[1]->@*), '<', 2000, 'of any size');
	cmp_ok(scalar($client->get(SCAN => 0, COUNT => 1)->[1]->@*), '<=', 300, 'a call takes a block at least, and not many');
};

subtest 'MATCH' => sub {
	is(sorted((scan($client, MATCH => '*'))[0]->@*), sorted(@$all), 'everything');
	is(sorted((scan($client, MATCH => 'items:12??', COUNT => 1000))[0]->@*), sorted(map { "items:$_" } 1200 .. 1299), 'a part of a table');
	is(sorted((scan($client, MATCH => 'items:77'))[0]->@*), 'items:77', 'a key');
	is(sorted((scan($client, MATCH => '*:[hn]*', COUNT => 1000))[0]->@*), sorted('words:hello', 'words:null'), 'any table');
	is(sorted((scan($client, MATCH => 'words:{"w":"[*]"}', COUNT => 1000))[0]->@*), 'words:{"w":"*"}', 'characters that mean something');
	is(sorted((scan($client, MATCH => 'nothing*'))[0]->@*), '', 'nothing');
	is(sorted((scan($client, MATCH => ''))[0]->@*), '', 'not even an empty key');
	my ($keys, $few) = scan($client, MATCH => 'words:*');
	cmp_ok(@$keys, '==', 18, 'a table');
	cmp_ok($few, '<=', 3, 'without a look into the others');
	is($client->ask(SCAN => 0, match => 'nothing', TYPE => 'hash', count => 5), array(bulk('0'), array()), 'options in any order');
};

subtest 'TYPE' => sub {
	is(sorted((scan($client, TYPE => 'hash', COUNT => 1000))[0]->@*), sorted(@$all), 'rows are hashes');
	is($client->ask(SCAN => 0, TYPE => $_), array(bulk('0'), array()), "and no $_") foreach qw(string list ReJSON-RL);
};

subtest 'what cannot be' => sub {
	is($client->ask(SCAN => $_), "-ERR invalid cursor\r\n", "cursor \"$_\"") foreach 'x', '', -1, 1.5, '9007199254740992', '99999999999999999999';
	is($client->ask(SCAN => 0, @$_), "-ERR syntax error\r\n", "@$_") foreach ['MATCH'], [qw(MATCH a COUNT)], [qw(FOO 1)], [qw(COUNT 0)], [qw(COUNT -1)];
	is($client->ask(SCAN => 0, COUNT => 'x'), "-ERR value is not an integer or out of range\r\n", 'COUNT x');
	is($client->ask('KEYS', '*'), "-ERR KEYS is not supported: use SCAN, which takes a pattern too\r\n", 'KEYS');
	is($client->ask('RANDOMKEY'), "-ERR RANDOMKEY is not supported: use SCAN\r\n", 'RANDOMKEY');
	is($client->ask('SCAN'), "-ERR wrong number of arguments for 'scan' command\r\n", 'no cursor');
	is($client->ask(SCAN => '9007199254740991'), array(bulk('0'), array()), 'a cursor behind the last table');
	is($client->ask(SCAN => 4294967295), $client->ask(SCAN => 0, COUNT => 1), 'one before the first begins with it');
};

subtest 'any client goes on, also in protocol 3' => sub {
	my @clients = map { PlcResp->new($server, protocol => $_) } 2, 3, 2, 3;
	my ($cursor, @keys) = (0);

	do
	{
		my $next = shift @clients;
		my $reply = $next->get(SCAN => $cursor, COUNT => 200);
		push @clients, $next;
		$cursor = $reply->[0];
		push @keys, $reply->[1]->@*;
	} while ($cursor ne '0');
	is(sorted(@keys), sorted(@$all), 'all keys, from any worker');
};

subtest 'rows that come and go' => sub {
	my $reply = $client->get(SCAN => 0, MATCH => 'items:*');
	my ($cursor, $first) = @$reply;
	my %given = map { $_ => 1 } @$first;

	# The blocks to come change completely but for their last rows; those have to be found.
	$server->safe_psql('postgres', 'DELETE FROM items WHERE id BETWEEN 1000 AND 4900');
	while ($cursor ne '0')
	{
		($cursor, my $keys) = $client->get(SCAN => $cursor, MATCH => 'items:*')->@*;
		$given{$_}++ foreach @$keys;
	}
	is(scalar(grep { !$given{"items:$_"} } 1 .. 999, 4901 .. 5000), 0, 'each row that was there all the time');
	is(scalar(grep { $given{"items:$_"} } 1000 .. 4900), 0, 'and none that was not');
	cmp_ok((scan($client, MATCH => 'items:*'))[1], '<', 100, 'empty blocks cost no calls');
	$server->safe_psql('postgres', 'INSERT INTO items SELECT i FROM generate_series(1000, 4900) i');
};

subtest 'a table that goes away' => sub {
	my $reply = $client->get(SCAN => 0, MATCH => 'items:*');
	my $session = PlcSession->new($server);

	$session->say('BEGIN; DROP TABLE items');
	my ($keys) = scan($client, MATCH => 'words:*');
	cmp_ok(@$keys, '==', 18, 'a table that is locked is not in the way of another');
	$client->send(command(SCAN => $reply->[0], MATCH => 'items:*'));
	is(PlcResp->new($server)->ask('PING'), "+PONG\r\n", 'nor of other clients') for 1 .. 4;
	ok($client->quiet, 'who scans it waits');
	$session->say('ROLLBACK');
	cmp_ok(scalar($client->value($client->reply)->[1]->@*), '>', 0, 'and goes on');

	$session->say('BEGIN; DROP TABLE items');
	$client->send(command(SCAN => $reply->[0], MATCH => 'items:*'));
	PlcResp->new($server)->ask('PING');
	$session->say('COMMIT');
	is($client->reply, array(bulk('0'), array()), 'a scan of a table that is gone ends');
	($keys) = scan($client);
	cmp_ok(@$keys, '==', $others, 'the other tables are there');
};

subtest 'DBSIZE' => sub {
	is($client->ask('DBSIZE'), ":$others\r\n", 'exact for small tables, and of those that it may read');
	$server->safe_psql('postgres', q(CREATE TABLE many (id int PRIMARY KEY, filler text DEFAULT repeat('x', 100));
		INSERT INTO many SELECT i FROM generate_series(1, 20000) i; ANALYZE many;
		GRANT SELECT ON many TO app; SELECT local_cache.attach_table('many')));
	my $size = $client->get('DBSIZE');
	cmp_ok(abs($size - 20000 - $others), '<', 1000, 'about right for large ones');
};

subtest 'HSCAN' => sub {
	$server->safe_psql('postgres', q(CREATE TABLE wide (id int PRIMARY KEY, name text, "na""me" text, none int, list int[]);
		INSERT INTO wide VALUES (1, E'a"b', '*', NULL, '{1,2}'); GRANT SELECT ON wide TO app; SELECT local_cache.attach_table('wide', namespace => 'wide')));
	my @all = map { bulk($_) } 'id', '1', 'name', 'a"b', 'na"me', '*', 'list', '[1,2]';
	my $done = bulk('0');

	is($client->ask(HSCAN => 'wide:1', 0), array($done, array(@all)), 'all columns that are not null');
	is(PlcResp->new($server, protocol => 3)->ask(HSCAN => 'wide:1', 0), array($done, array(@all)), 'in protocol 3 too');
	is($client->ask(HSCAN => 'wide:1', 0, MATCH => 'na*', COUNT => 1), array($done, array(@all[2 .. 5])), 'that match');
	is($client->ask(HSCAN => 'wide:1', 0, MATCH => 'na"me', 'novalues'), array($done, array($all[4])), 'names alone');
	is($client->ask(HSCAN => 'wide:2', 0), array($done, array()), 'a row that is not there');
	is($client->ask(HSCAN => 'nowhere:2', 0), array($done, array()), 'a key that is not ours');
	is($client->ask(HSCAN => 'wide:1', 5), array($done, array()), 'a cursor from elsewhere');
	is($client->ask(HSCAN => 'wide:1', 'x'), "-ERR invalid cursor\r\n", 'no cursor');
	is($client->ask(HSCAN => 'wide:1', 0, @$_), "-ERR syntax error\r\n", "@$_") foreach ['MATCH'], ['FOO'], [qw(COUNT 0)], [qw(NOVALUES MATCH)];
	is($client->ask(HSCAN => 'wide:1', 0, COUNT => 'x'), "-ERR value is not an integer or out of range\r\n", 'COUNT x');
};

subtest 'in a transaction' => sub {
	$client->send(join '', map { command(@$_) } ['MULTI'], [ SCAN => 0, MATCH => 'orders:*' ], ['DBSIZE'], ['EXEC']);
	my @replies = $client->replies(4);
	my ($scan, $size) = $client->value($replies[3])->@*;
	cmp_ok(scalar($scan->[1]->@*), '==', 3, 'SCAN');
	cmp_ok($size, '>', 0, 'DBSIZE');
};

# A scan knows its tables before it locks them, one after the other.
subtest 'a table that is dropped in the middle of a scan' => sub {
	plan skip_all => GdbStop::missing() if GdbStop::missing();
	$server->safe_psql('postgres', q(CREATE TABLE here (id int PRIMARY KEY); CREATE TABLE hereafter (id int PRIMARY KEY);
		INSERT INTO here VALUES (1); INSERT INTO hereafter VALUES (1); GRANT SELECT ON here, hereafter TO app;
		SELECT local_cache.attach_table('here'), local_cache.attach_table('hereafter')));
	my $client = client_on($server, 1);
	my ($worker) = map { $_->{pid} } grep { $_->{number} == 1 } resp_workers($server);
	my $stop = GdbStop->new($worker, 'plc_scan_block');

	$client->send(command(qw(SCAN 0 MATCH CRUD:postgres.public.here* COUNT 1000)));
	$stop->wait_stopped;
	$server->safe_psql('postgres', 'DROP TABLE hereafter');
	$stop->release;
	is($client->reply, array(bulk('0'), array(bulk('CRUD:postgres.public.here:{"id":1}'))), 'the other is scanned');
};

done_testing();
