# No read is stale: what was acknowledged to anybody, over whatever protocol, is seen by every request sent after it, on
# every worker; what was not committed is never seen.  And what locks, DDL and a crash do to workers.
use strict;
use warnings;

use PlcTest;
use GdbStop;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

# Only who asks for it waits for the standby that there is not.
my $server = resp_server('consistency', allows_streaming => 1, conf => q(
	synchronous_standby_names = 'nobody'
	synchronous_commit = local
	restart_after_crash = on), sql => q(
	CREATE TYPE mood AS ENUM ('calm', 'cross');
	CREATE TABLE items (id int PRIMARY KEY, v text);
	CREATE TABLE others (id int PRIMARY KEY, v text);
	CREATE TABLE moods (id int PRIMARY KEY, mood mood);
	INSERT INTO moods VALUES (1, 'calm');
	INSERT INTO others VALUES (1, 'other'), (2, 'another');
	GRANT ALL ON items, others, moods TO app;
	SELECT local_cache.attach_table(t::regclass, namespace => t, writable => true) FROM unnest('{items,others,moods}'::text[]) t));
my $missing = GdbStop::missing();
my ($writer, $session) = map { PlcSession->new($server) } 1 .. 2;
my (@clients, @workers);

# A client on each worker, and the workers' processes.
sub connect_clients
{
	@clients = map { client_on($server, $_) } 1, 2;
	@workers = map { $_->{pid} } resp_workers($server);
}
connect_clients();

sub row
{
	my ($v, $id) = (@_, 1);

	return bulk(defined $v ? qq({"id":$id,"v":"$v"}) : undef);
}

# What each client reads, twice: fetched or not, then from the cache if it can be.
sub all_read
{
	my ($expected, $what, $key) = @_;
	my @wrong = grep { $_ ne $expected } map { my $client = $_; map { $client->ask('GET', $key // 'items:1') } 1, 2 } @clients;

	is_deeply(\@wrong, [], $what);
}

sub start_anew
{
	$writer->say(q(TRUNCATE items));
	$writer->say(q(INSERT INTO items SELECT i, 'old' FROM generate_series(1, 10) i));
	all_read(row('old'), 'the row is cached');
}

# Has the writer run a statement up to a function; runs what to look at; lets the writer finish.
sub stop_writer_at
{
	my ($function, $sql, $look) = @_;
	my $stop = GdbStop->new($writer->pid, $function);

	$writer->start($sql);
	$stop->wait_stopped;
	$look->();
	$stop->release;
	$writer->finish;
}

subtest 'a commit that was acknowledged is seen by the next request' => sub {
	my @wrong;

	start_anew();
	foreach my $i (1 .. 300)
	{
		$writer->say("UPDATE items SET v = '$i' WHERE id IN (1, 2)");
		foreach my $client (@clients)
		{
			push @wrong, $i if $client->ask('GET', 'items:1') ne row($i);
			push @wrong, $i if $client->ask('MGET', 'items:1', 'items:2') ne array(row($i), row($i, 2));
		}
	}
	is_deeply(\@wrong, [], 'by SQL');
	foreach my $i (1 .. 300)
	{
		my ($one, $other) = @clients[ $i % 2, 1 - $i % 2 ];
		$one->ask('SET', 'items:1', qq({"v":"$i"})) eq "+OK\r\n" or push @wrong, $i;
		push @wrong, $i if $other->ask('GET', 'items:1') ne row($i) || $one->ask('GET', 'items:1') ne row($i);
	}
	is_deeply(\@wrong, [], 'by SET');
	foreach my $i (1 .. 100)
	{
		$clients[0]->send(command('SET', 'items:1', qq({"v":"$i"})) . command('GET', 'items:1') . command('HSET', 'items:1', 'v', "h$i") . command('GET', 'items:1') . command('DEL', 'items:1') . command('GET', 'items:1'));
		push @wrong, $i if join('', $clients[0]->replies(6)) ne "+OK\r\n" . row($i) . ":0\r\n" . row("h$i") . ":1\r\n" . row(undef);
	}
	is_deeply(\@wrong, [], 'by SET, HSET and DEL in the same pipeline');
};

subtest 'nothing uncommitted is seen' => sub {
	start_anew();
	$writer->say(q(BEGIN; UPDATE items SET v = 'new'; INSERT INTO items VALUES (11, 'new'); DELETE FROM items WHERE id = 2));
	all_read(row('old'), 'an update');
	all_read(row(undef), 'an insert', 'items:11');
	all_read(row('old', 2), 'a delete', 'items:2');
	$writer->say('ROLLBACK');
	all_read(row('old'), 'nor after ROLLBACK');
	$writer->say(q(BEGIN; SAVEPOINT s; UPDATE items SET v = 'lost'; ROLLBACK TO s; UPDATE items SET v = 'new' WHERE id = 2; COMMIT));
	all_read(row('old'), 'what a savepoint undid');
	all_read(row('new', 2), 'what came after it is seen', 'items:2');
};

subtest 'H3: a commit that waits for a standby is not visible, and is when it has stopped waiting' => sub {
	start_anew();
	$writer->say('SET synchronous_commit = on');
	$writer->start(q(UPDATE items SET v = 'new'));
	$server->poll_query_until('postgres', q(SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = ) . $writer->pid) or die 'the commit does not wait';
	all_read(row('old'), 'while it waits the old row is read');
	$session->say('SELECT pg_cancel_backend(' . $writer->pid . ')');
	like($writer->finish_error, qr/canceling wait for synchronous replication/, 'the wait is cancelled');
	all_read(row('new'), 'then the new row is read');
	$writer->say('RESET synchronous_commit');
};

subtest 'H8: a prepared transaction counts when it is committed' => sub {
	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		start_anew();
		$writer->say(q(BEGIN; UPDATE items SET v = 'new'; PREPARE TRANSACTION 'p'));
		all_read(row('old'), 'prepared, the old row is read');
		$session->say("$end PREPARED 'p'");
		all_read(row($end eq 'COMMIT' ? 'new' : 'old'), "$end PREPARED counts");
	}
};

subtest 'H21, H35: a table that was emptied or rewritten' => sub {
	foreach my $case ([ 'TRUNCATE items', undef ], [ 'CLUSTER items USING items_pkey', 'old' ], [ 'VACUUM FULL items', 'old' ], [ 'ALTER TABLE items ALTER v TYPE varchar(100)', 'old' ],
		[ 'ALTER TABLE items ALTER v TYPE text USING v || \'er\'', 'older' ], [ q(BEGIN; TRUNCATE items; INSERT INTO items VALUES (1, 'new'); COMMIT), 'new' ], [ 'REINDEX TABLE CONCURRENTLY items', 'old' ])
	{
		start_anew();
		$writer->say($case->[0]);
		all_read(row($case->[1]), $case->[0]);
		$writer->say(q(INSERT INTO items VALUES (1, 'after') ON CONFLICT (id) DO UPDATE SET v = 'after'));
		all_read(row('after'), 'and what is written then');
	}
};

subtest 'DDL' => sub {
	my $read = sub { my ($expected, $what, $key) = @_; all_read($expected, $what, $key) };

	start_anew();
	$writer->say('ALTER TABLE items ADD n int DEFAULT 7');
	$read->(bulk('{"id":1,"v":"old","n":7}'), 'H41: a new column');
	$writer->say('ALTER TABLE items RENAME n TO m');
	$read->(bulk('{"id":1,"v":"old","m":7}'), 'another name');
	$writer->say('ALTER TABLE items DROP m');
	$read->(row('old'), 'H42: a dropped column');
	$writer->say('ALTER TABLE items RENAME id TO number');
	$read->(bulk('{"number":1,"v":"old"}'), 'another name of the key');
	$read->(bulk('{"number":1,"v":"old"}'), 'in the key', 'items:{"number":1}');
	like($_->ask('GET', 'items:{"id":1}'), qr/^-ERR /, 'the old name is none') foreach @clients;
	$writer->say('ALTER TABLE items RENAME number TO id');
	$writer->say('ALTER TABLE items RENAME TO things');
	$read->(row('old'), 'another name of the table: the namespace stays');
	$read->(row('old'), 'the new name', 'CRUD:postgres.public.things:1');
	$read->(row(undef), 'the old one is none', 'CRUD:postgres.public.items:1');
	$writer->say('ALTER TABLE others RENAME TO items');
	$read->(bulk('{"id":1,"v":"other"}'), 'H47: another table of the old name', 'CRUD:postgres.public.items:1');
	$writer->say('ALTER TABLE items RENAME TO others; ALTER TABLE things RENAME TO items');
	$writer->say('CREATE SCHEMA s; GRANT USAGE ON SCHEMA s TO app; ALTER TABLE items SET SCHEMA s');
	$read->(row('old'), 'another schema', 'CRUD:postgres.s.items:1');
	$writer->say('ALTER SCHEMA s RENAME TO t');
	$read->(row('old'), 'another name of the schema', 'CRUD:postgres.t.items:1');
	$read->(row(undef), 'the old one is none', 'CRUD:postgres.s.items:1');
	$writer->say('ALTER TABLE t.items SET SCHEMA public');
	$writer->say(q(SELECT local_cache.attach_table('items', namespace => 'products', writable => true)));
	$read->(row('old'), 'another namespace', 'products:1');
	$read->(row(undef), 'the old one is none');
	$writer->say(q(SELECT local_cache.attach_table('items', namespace => 'items', writable => true)));
	$read->(row('old'), 'and back');
	$writer->say(q(SELECT local_cache.detach_table('items')));
	$read->(row(undef), 'detached');
	$writer->say(q(SELECT local_cache.attach_table('items', namespace => 'items', writable => true)));
	$read->(row('old'), 'attached');
	$writer->say('DROP TABLE items');
	$read->(row(undef), 'dropped', $_) foreach 'items:1', 'CRUD:postgres.public.items:1';
	$writer->say(q(CREATE TABLE items (id int PRIMARY KEY, v text); GRANT ALL ON items TO app));
	$read->(row(undef), 'made again', $_) foreach 'items:1', 'CRUD:postgres.public.items:1';
	$writer->say(q(SELECT local_cache.attach_table('items', namespace => 'items', writable => true)));
	start_anew();
};

subtest 'H63: privileges' => sub {
	my @denied;

	start_anew();
	$writer->say('REVOKE SELECT ON items FROM app');
	@denied = map { my $key = $_; map { $_->ask('GET', $key) } @clients, @clients } 'items:1', 'items:999';
	is_deeply([ grep { $_ ne "-NOPERM permission denied for table items\r\n" } @denied ], [], 'revoked: an error, whether there is a row or not');
	all_read(row('other'), 'other tables are read', 'others:1');
	$writer->say('GRANT SELECT ON items TO app');
	all_read(row('old'), 'granted again');
	$writer->say('REVOKE USAGE ON SCHEMA public FROM public');
	like($clients[0]->ask('GET', 'items:1'), qr/^(-NOPERM |\$)/, 'the schema');
	$writer->say('GRANT USAGE ON SCHEMA public TO public');
};

subtest 'in the middle of a commit' => sub {
	plan skip_all => $missing if $missing;

	start_anew();
	stop_writer_at('AtEOXact_Inval', q(UPDATE items SET v = 'new' WHERE id = 1), sub { all_read(row('new'), 'H2: visible, so it is read') });
	all_read(row('new'), 'and stays so');
	start_anew();
	stop_writer_at('ProcArrayEndTransaction', q(UPDATE items SET v = 'new' WHERE id = 1), sub { all_read(row('old'), 'committed in the log but not visible yet: the old row') });
	all_read(row('new'), 'then the new one');

	start_anew();
	stop_writer_at('smgrdounlinkall', 'TRUNCATE items', sub { all_read(row(undef), 'H21: nothing is left of a truncated table') });
	all_read(row(undef), 'for good');
	start_anew();
	stop_writer_at('smgrdounlinkall', 'CLUSTER items USING items_pkey', sub {
		all_read(row('old'), 'H35: CLUSTER: the row is there');
		$session->say(q(UPDATE items SET v = 'new' WHERE id = 1));
		all_read(row('new'), 'and updates of it are seen');
	});
	all_read(row('new'), 'then as before');
	my $mood = sub { bulk(qq({"id":1,"mood":"$_[0]"})) };
	all_read($mood->('calm'), 'a label', 'moods:1');
	stop_writer_at('AtEOXact_Inval', q(ALTER TYPE mood RENAME VALUE 'calm' TO 'serene'), sub {
		$session->say(q(SELECT local_cache.invalidate('moods')));
		$_->ask('GET', 'moods:1') foreach @clients;
	});
	all_read($mood->('serene'), 'H44: a renamed label is read once that is acknowledged, though it was read in the gap', 'moods:1');
	$writer->say(q(ALTER TYPE mood RENAME VALUE 'serene' TO 'calm'));
	all_read($mood->('calm'), 'and back', 'moods:1');
	start_anew();
	stop_writer_at('AtEOXact_Inval', 'REVOKE SELECT ON items FROM app', sub { $_->ask('GET', 'items:1') foreach @clients });
	like($_->ask('GET', 'items:1'), qr/^-NOPERM /, 'H63: a privilege that was revoked') foreach @clients;
	$writer->say('GRANT SELECT ON items TO app');
};

subtest 'in the middle of a turn' => sub {
	plan skip_all => $missing if $missing;

	foreach my $function ('plc_fetch_row', 'plc_store_put_locked')
	{
		start_anew();
		my $same = client_on($server, 1);
		$session->say(q(SELECT local_cache.invalidate('items')));
		my $stop = GdbStop->new($workers[0], $function);

		$clients[0]->send(command('GET', 'items:1'));
		$stop->wait_stopped;
		$writer->say(q(UPDATE items SET v = 'new'));
		# Not where the worker holds the lock that the other one needs to remember the row.
		is($clients[1]->ask('GET', 'items:1'), row('new'), "a worker stands at $function: the other one reads the new row") if $function ne 'plc_store_put_locked';
		# Sent after the commit: these wait for the worker, and must not get the snapshot of its turn.
		$clients[0]->send(command('GET', 'items:1') . command('GET', 'items:2'));
		$same->send(command('GET', 'items:1') . command('GET', 'items:2'));
		$stop->release;
		is($clients[0]->reply, row('old'), 'who asked before the update gets the old row');
		is(join('', $_->replies(2)), row('new') . row('new', 2), 'who asked after it the new one') foreach $clients[0], $same;
		all_read(row('new'), 'as all do then');
	}

	# The turn has a snapshot; then a table is rewritten, whose rows no older snapshot sees; then the turn comes to it.
	start_anew();
	all_read(row('other'), 'a row of another table', 'others:1');
	$session->say(q(SELECT local_cache.invalidate('items')));
	my $stop = GdbStop->new($workers[0], 'plc_fetch_row');
	$clients[0]->send(command('GET', 'items:1') . command('HGET', 'others:1', 'v') . command('MGET', 'items:1', 'others:1'));
	$stop->wait_stopped;
	$writer->say(q(ALTER TABLE others ALTER v TYPE varchar(100) USING v || 's'));
	$stop->release;
	is(join('', $clients[0]->replies(3)), row('old') . bulk('others') . array(row('old'), row('others')), 'H35: a table that was rewritten while a turn was under way');
	$writer->say(q(ALTER TABLE others ALTER v TYPE text USING 'other'));
};

# The kernel shows to a worker what was sent before what came later, so a reply of the second shows the first was seen.
subtest 'H77: a locked table holds up only who needs it' => sub {
	my ($client, $second, $bystander) = map { client_on($server, 1) } 1 .. 3;

	start_anew();
	$writer->say('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE');
	$client->send(command('PING') . command('GET', 'items:1') . command('GET', 'others:1') . command('PING'));
	$second->send(command('MGET', 'others:1', 'items:1'));
	is($client->reply, "+PONG\r\n", 'what comes before is answered');
	is($bystander->ask('GET', 'others:1'), row('other'), 'others are served by the same worker') for 1 .. 200;
	is($clients[1]->ask('GET', 'others:1'), row('other'), 'and by the other one');
	ok($client->quiet && $second->quiet, 'who needs the table waits, and what comes after that, too');
	$writer->say(q(UPDATE items SET v = 'new'; COMMIT));
	is(join('', $client->replies(3)), row('new') . row('other') . "+PONG\r\n", 'then all is answered, in order');
	is($second->reply, array(row('other'), row('new')), 'and for the other one');

	$writer->say('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE');
	$client->send(command('GET', 'items:1'));
	$client->abort;
	$second->send(command('MULTI') . command('GET', 'items:1') . command('EXEC'));
	is(join('', $second->replies(2)), "+OK\r\n+QUEUED\r\n", 'EXEC waits, too');
	is($bystander->ask('GET', 'others:1'), row('other'), 'others are served') for 1 .. 50;
	ok($second->quiet, 'it still waits');
	$writer->say('COMMIT');
	is($second->reply, array(row('new')), 'until it is answered');

	$server->append_conf('postgresql.conf', 'pg_local_cache.lock_timeout = 100ms');
	$server->reload;
	$writer->say('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE');
	foreach my $request (command('GET', 'items:1'), command('MGET', 'others:1', 'items:1'), command('HGETALL', 'items:1'), command('SET', 'items:1', '{}'), command('DEL', 'items:1'))
	{
		$_->send($request . command('PING')) foreach $second, $clients[1];
		is(join('', $_->replies(2)), "-ERR canceling statement due to lock timeout\r\n+PONG\r\n", (split /\r\n/, $request)[2]) foreach $second, $clients[1];
	}
	$writer->say('COMMIT');
	all_read(row('new'), 'then as before');
	$server->append_conf('postgresql.conf', 'pg_local_cache.lock_timeout = 0');
	$server->reload;
};

subtest 'H77: an idle worker holds no lock' => sub {
	start_anew();
	is($session->say('SELECT count(*) FROM pg_locks WHERE pid IN (' . join(',', @workers) . ')'), '0', 'once the replies are there');
	$writer->say(q(SET lock_timeout = '10s'));
	foreach my $i (1 .. 20)
	{
		$clients[0]->send(command('GET', 'items:1') x 100);
		$clients[0]->replies(100);
		$writer->say('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE NOWAIT; COMMIT');
	}
	pass('DDL between pipelines need not wait');
	is($session->say('SELECT count(*) FROM pg_stat_activity WHERE (xact_start IS NOT NULL OR backend_xmin IS NOT NULL) AND pid IN (' . join(',', @workers) . ')'), '0', 'nor is there a snapshot that VACUUM would wait for');
};

subtest 'H68: databases come and go while the endpoint idles' => sub {
	$session->say(q(SET statement_timeout = '5s'));
	foreach my $i (1 .. 3)
	{
		$session->say('CREATE DATABASE scrap');
		$session->say('DROP DATABASE scrap');
	}
	pass('DROP DATABASE of another database takes less than 5 s');
	like($session->error('DROP DATABASE postgres'), qr/cannot drop the currently open database/, 'its own cannot be dropped');
	$session->say('RESET statement_timeout');
	all_read(row('old'), 'the endpoint serves');
};

subtest 'H70: a worker that dies while it writes to the cache' => sub {
	plan skip_all => $missing if $missing;
	my $stop;

	start_anew();
	$session->say(q(SELECT local_cache.invalidate('items')));
	$stop = GdbStop->new($workers[0], 'plc_store_put_locked');
	$clients[0]->send(command('GET', 'items:1'));
	$stop->wait_stopped;
	kill 'KILL', $workers[0];
	$stop->release;
	$server->wait_for_log(qr/all server processes terminated; reinitializing/);
	is($_->rest, '', 'clients are cut off') foreach @clients;
	$server->poll_query_until('postgres', 'SELECT true') or die 'server did not come back';
	resp_serves($server);
	connect_clients();
	all_read(row('old'), 'the row is read');
	is_deeply([ @{ metrics($server) }{qw(cache_hit cache_miss client_keys)} ], [ 3, 1, 4 ], 'and cached anew');
};

is(metrics($server)->{verify_failures}, 0, 'no hit was wrong');
unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC/, 'nothing leaked');
done_testing();
