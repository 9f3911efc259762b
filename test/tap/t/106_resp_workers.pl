# The workers: where they listen, what keeps them from it, how they end and come again, on a primary and a standby.
use strict;
use warnings;

use IO::Socket::IP;
use PlcTest;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $items = q(
	CREATE TABLE items (id int PRIMARY KEY, v text);
	INSERT INTO items VALUES (1, 'a');
	CREATE TYPE sleeper AS ENUM ('sleeps');
	CREATE FUNCTION as_json(sleeper) RETURNS json LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3600); RETURN $$""$$; END';
	CREATE CAST (sleeper AS json) WITH FUNCTION as_json(sleeper);
	CREATE TABLE slow (id int PRIMARY KEY, v sleeper);
	INSERT INTO slow VALUES (1, 'sleeps');
	GRANT ALL ON items, slow TO app;
	SELECT local_cache.attach_table('items', namespace => 'items', writable => true), local_cache.attach_table('slow', namespace => 'slow'));
my $sockets = PostgreSQL::Test::Utils::tempdir_short();
my $server = resp_server('workers', sql => $items, allows_streaming => 1, conf => qq(
	pg_local_cache.unix_socket_directory = '$sockets'
	pg_local_cache.statement_timeout = 0
	restart_after_crash = on));
my $session = PlcSession->new($server);

sub row { my ($v) = @_; return bulk(qq({"id":1,"v":"$v"})) }
sub pid_of { my ($n) = @_; return (grep { $_->{number} == $n } resp_workers($server))[0]->{pid} }
sub health { my ($on) = @_; return $on->safe_psql('postgres', q(SELECT concat_ws('|', h ->> 'status', h ->> 'reason') FROM local_cache.health() h)) }

# A worker that has ended, and comes again.
sub comes_again
{
	my ($n, $old) = @_;

	poll_until(sub { my ($new) = grep { $_->{number} == $n } resp_workers($server); $new->{status} eq 'serving' && $new->{pid} != $old }, "worker $n comes again");
	resp_serves($server);
}

subtest 'two workers' => sub {
	my @clients = map { client_on($server, $_) } 1, 2, 1, 2;
	my %ids = map { $_->get(qw(CLIENT ID)) => 1 } @clients;

	is(keys %ids, 4, 'ids are unique');
	is($_->ask('GET', 'items:1'), row('a'), 'both serve') foreach @clients;
	foreach my $client (@clients)
	{
		my $list = $client->get(qw(CLIENT LIST));
		is(scalar(grep { $list =~ /^id=$_ /m } keys %ids), 4, 'CLIENT LIST has the clients of both');
	}
	is($server->safe_psql('postgres', q(SELECT count(*), bool_and(datname = 'postgres'), count(DISTINCT pid) FROM pg_stat_activity WHERE backend_type = 'pg_local_cache worker')),
		'2|t|2', 'pg_stat_activity has both');
	is($server->safe_psql('postgres', q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_local_cache worker' AND wait_event_type = 'Extension' AND state = 'idle')), '2', 'idle, and waiting');
	is(health($server), 'ok', 'health is good');
	is($server->safe_psql('postgres', q(SELECT local_cache.health() -> 'endpoint' ->> 'unix_socket_directory')), $sockets, 'and has the folder of the socket');
};

subtest 'a Unix socket' => sub {
	my $client = PlcResp->new($server, path => "$sockets/.s.PGLC.$server->{resp_port}");

	is($client->ask('GET', 'items:1'), row('a'), 'serves');
	like($client->get(qw(CLIENT INFO)), qr/ addr=\Q$sockets\E/, 'and is the address');
};

subtest 'a worker that is terminated comes again, and the other one goes on' => sub {
	foreach my $n (1, 2, 1)
	{
		my ($victim, $bystander) = map { client_on($server, $_) } $n, 3 - $n;
		my $unix = $n == 1 ? PlcResp->new($server, path => "$sockets/.s.PGLC.$server->{resp_port}") : $victim;
		my $old = pid_of($n);

		$session->say("SELECT pg_terminate_backend($old)");
		is($_->rest, '', "worker $n: its clients are cut off") foreach $victim, $unix;
		is($bystander->ask('GET', 'items:1'), row('a'), 'those of the other one are not') for 1 .. 10;
		comes_again($n, $old);
		unlike(slurp_file($server->logfile), qr/FATAL: .*terminating background worker/, 'which is no alarm in the log');
		is(client_on($server, $n)->ask('GET', 'items:1'), row('a'), 'then it serves again');
		is($bystander->ask('GET', 'items:1'), row('a'), 'and the other one still');
	}
	is(PlcResp->new($server, path => "$sockets/.s.PGLC.$server->{resp_port}")->ask('GET', 'items:1'), row('a'), 'the Unix socket is there again');
	is($session->say('SELECT 1'), '1', 'sessions did not notice');
};

subtest 'pg_cancel_backend' => sub {
	my ($client, $other) = map { client_on($server, 1) } 1 .. 2;
	my $pid = pid_of(1);

	$session->say("SELECT pg_cancel_backend($pid)") for 1 .. 10;
	is($client->ask('GET', 'items:1'), row('a'), 'does nothing to one that is idle');
	$client->send(command('GET', 'items:1') . command('GET', 'slow:1') . command('GET', 'items:1'));
	$server->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid") or die 'the worker does not sleep';
	$session->say("SELECT pg_cancel_backend($pid)");
	is(join('', $client->replies(3)), row('a') . "-ERR canceling statement due to user request\r\n" . row('a'), 'costs one that is busy a reply');
	is($other->ask('GET', 'items:1'), row('a'), 'and no more');

	$client->send(command('GET', 'slow:1'));
	$server->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid") or die 'the worker does not sleep';
	$session->say("SELECT pg_terminate_backend($pid)");
	is($_->rest, '', 'pg_terminate_backend ends one that is busy') foreach $client, $other;
	comes_again(1, $pid);
};

subtest 'settings that a reload changes' => sub {
	my $old = PlcResp->new($server);

	$server->safe_psql('postgres', 'CREATE ROLE guest');
	$server->append_conf('postgresql.conf', q(pg_local_cache.role = 'guest'));
	$server->reload;
	poll_until(sub { PlcResp->new($server)->ask('GET', 'items:1') =~ /^-NOPERM / }, 'another role');
	$server->append_conf('postgresql.conf', q(pg_local_cache.role = 'nobody'));
	$server->reload;
	poll_until(sub { PlcResp->new($server)->ask('GET', 'items:1') =~ /^-NOAUTH role "nobody" / }, 'a role that there is not');
	poll_until(sub { health($server) =~ /^degraded\|.*role "nobody" of pg_local_cache.role cannot be used/ }, 'health says so');
	my $said = () = slurp_file($server->logfile) =~ /LOG: .*role "nobody" of pg_local_cache.role cannot be used/g;
	is($said, 1, 'and the log, once');
	$session->say('CREATE ROLE nobody; GRANT app TO nobody');
	poll_until(sub { health($server) eq 'ok' }, 'when it is made, health is good');
	is(PlcResp->new($server)->ask('GET', 'items:1'), row('a'), 'and clients are served');
	$session->say('ALTER ROLE nobody RENAME TO somebody');
	like(PlcResp->new($server)->ask('GET', 'items:1'), qr/^-NOAUTH role "nobody" /, 'renamed, the next command is refused');
	poll_until(sub { health($server) =~ /^degraded/ }, 'and health says so');
	$server->append_conf('postgresql.conf', q(pg_local_cache.role = 'app'));
	$server->reload;
	poll_until(sub { health($server) eq 'ok' }, 'health is good');
	is(PlcResp->new($server)->ask('GET', 'items:1'), row('a'), 'as before');
};

subtest 'a worker that crashes takes the server down, which comes again' => sub {
	my @clients = map { client_on($server, $_) } 1, 2;

	kill 'KILL', pid_of(1);
	is($_->rest, '', 'all clients are cut off') foreach @clients;
	$server->wait_for_log(qr/all server processes terminated; reinitializing/);
	$server->poll_query_until('postgres', 'SELECT true') or die 'server did not come back';
	resp_serves($server);
	is($_->ask('GET', 'items:1'), row('a'), 'both workers serve') foreach map { client_on($server, $_) } 1, 2;
	$session = PlcSession->new($server);
};

# The server waits for its workers; none may hold it up, whatever its clients do.
foreach my $mode ('smart', 'fast', 'immediate')
{
	subtest "shutdown, $mode" => sub {
		my ($idle, $half, $deaf, $waiting) = map { PlcResp->new($server, receive_buffer => 4096) } 1 .. 4;

		$session->quit;
		$session = PlcSession->new($server) if $mode ne 'smart';
		$idle->ask('PING');
		$half->send("*2\r\n\$3");
		$server->safe_psql('postgres', q(INSERT INTO items VALUES (2, repeat('x', 500000)) ON CONFLICT DO NOTHING));
		$deaf->send_some(command('GET', 'items:2') x 100);
		$server->poll_query_until('postgres', 'SELECT count(*) = 1 FROM local_cache.clients WHERE output > 0') or die 'no reply waits';
		if ($mode ne 'smart')
		{
			$session->say('BEGIN; LOCK TABLE items');
			$waiting->send(command('GET', 'items:1'));
			poll_until(sub { metrics($server)->{client_parked} > 0 }, 'a request waits for a lock');
		}
		$server->stop($mode);
		pass('the server stops');
		is($_->rest, '', 'and its clients are cut off') foreach $idle, $half;
		# The session that has the lock may be stopped a moment before the worker.
		like($waiting->rest, qr/^(\Q${\row('a')}\E)?\z/, 'so is one that waits for a lock, unanswered or not');
		$server->start;
		resp_serves($server);
		is(PlcResp->new($server)->ask('GET', 'items:1'), row('a'), 'started again, it serves');
		$session = PlcSession->new($server);
	};
}
$server->stop;

subtest 'a port that is taken' => sub {
	my $blocked = plain_server_with('blocked', $items);
	my $port = $blocked->{resp_port};
	my $other = IO::Socket::IP->new(Listen => 1, LocalHost => '127.0.0.1', LocalPort => $port) or die "could not listen: $@";
	my $log = qr/LOG: .*could not listen on "127\.0\.0\.1:$port": Address already in use/;

	$blocked->start;
	$blocked->wait_for_log($log);
	poll_until(sub { health($blocked) =~ /^degraded\|.*could not listen on "127\.0\.0\.1:$port": Address already in use/ }, 'health says so');
	is((resp_workers($blocked))[1]->{problem}, 'it waits for worker 1', 'and of the other worker that it waits');
	is($blocked->safe_psql('postgres', 'SELECT 1'), '1', 'the server itself works');
	close $other;
	resp_serves($blocked);
	is(PlcResp->new($blocked)->ask('GET', 'items:1'), row('a'), 'it serves when the port is free');
	is(health($blocked), 'ok', 'and health is good');
	my @said = slurp_file($blocked->logfile) =~ /$log/g;
	is(@said, 1, 'the log says it once');

	# Not shared with another server, though that would let it.
	$server->append_conf('postgresql.conf', "pg_local_cache.port = $port\n");
	$server->start;
	poll_until(sub { health($server) =~ /^degraded\|.*Address already in use/ }, 'a port that another server\'s workers share is taken, too');
	$server->stop;
	$blocked->stop;
	$server->append_conf('postgresql.conf', "pg_local_cache.port = $server->{resp_port}\n");
};

# A server that is stopped, with an endpoint in its settings.
sub plain_server_with
{
	my ($name, $sql, $conf) = @_;
	my $new = cached_server($name);

	$new->safe_psql('postgres', "CREATE ROLE app LOGIN; $sql");
	$new->append_conf('postgresql.conf', resp_settings($new) . ($conf // ''));
	$new->stop;
	return $new;
}

subtest 'a database that there is not' => sub {
	my $late = plain_server_with('late', '', q(pg_local_cache.database = 'App.1'));

	$late->start;
	$late->wait_for_log(qr/database "App\.1" does not exist/);
	poll_until(sub { health($late) =~ /^degraded\|.*"App\.1"/ }, 'health says so');
	is($late->safe_psql('postgres', 'SELECT 1'), '1', 'the server itself works');
	$late->safe_psql('postgres', 'CREATE DATABASE "App.1"');
	resp_serves($late);
	my $missing = qr/extension "pg_local_cache" has not been created in database "App\.1"/;
	$late->wait_for_log(qr/LOG: .*has no rows to serve: $missing/);
	poll_until(sub { health($late) =~ /^degraded\|.*serves in part: $missing/ }, 'health says that it has no extension');
	my $client = PlcResp->new($late);
	like($client->ask('GET', 'CRUD:"App.1".public.items:1'), qr/^(\$-1|-ERR [^\r\n]*)\r\n\z/, 'without the extension there is nothing');
	$late->safe_psql('App.1', "CREATE EXTENSION pg_local_cache; $items");
	is($client->ask('GET', $_), row('a'), $_) foreach 'CRUD:"App.1".public.items:1', 'items:1';
	poll_until(sub { health($late) eq 'ok' }, 'health is good');
	is($client->ask('GET', 'CRUD:postgres.public.items:1'), "\$-1\r\n", 'the tables of others are none');
	$late->safe_psql('App.1', 'DROP EXTENSION pg_local_cache');
	like($client->ask('GET', 'items:1'), qr/^(\$-1|-ERR [^\r\n]*)\r\n\z/, 'nor are there any when it is dropped');
	poll_until(sub { health($late) =~ /^degraded\|.*$missing/ }, 'health says so');
	$late->safe_psql('App.1', q(CREATE EXTENSION pg_local_cache; SELECT local_cache.attach_table('items', namespace => 'items')));
	is($client->ask('GET', 'items:1'), row('a'), 'and made again');

	like(($late->psql('postgres', 'DROP DATABASE "App.1"'))[2], qr/is being accessed by other users/, 'H68: the database that is served is not dropped');
	is($client->ask('GET', 'items:1'), row('a'), 'and served');
	$late->safe_psql('postgres', 'DROP DATABASE "App.1" WITH (FORCE)');
	is($client->rest, '', 'but by force, which cuts its clients off');
	poll_until(sub { health($late) =~ /^degraded\|.*"App\.1"/ }, 'health says so');
	$late->safe_psql('postgres', 'CREATE DATABASE "App.1"');
	resp_serves($late);
	like(PlcResp->new($late)->ask('GET', 'items:1'), qr/^(\$-1|-ERR [^\r\n]*)\r\n\z/, 'a new one of the name is served, and empty');
	$late->stop;
};

subtest 'IPv6, and several addresses' => sub {
	plan skip_all => 'there is no IPv6 loopback' unless IO::Socket::IP->new(Listen => 1, LocalHost => '::1', LocalPort => 0);
	$server->append_conf('postgresql.conf', q(pg_local_cache.listen_addresses = '127.0.0.1, ::1, localhost, 127.0.0.2'));
	$server->start;
	resp_serves($server);
	is(PlcResp->new($server, host => $_)->ask('GET', 'items:1'), row('a'), $_) foreach '127.0.0.1', '::1', '127.0.0.2';
	like(PlcResp->new($server, host => '::1')->get(qw(CLIENT INFO)), qr/ addr=\[::1\]:\d+ /, 'an address in brackets');
	$server->stop;
};

subtest 'a standby' => sub {
	$server->append_conf('postgresql.conf', "pg_local_cache.listen_addresses = '127.0.0.1'\n");
	$server->start;
	resp_serves($server);
	$server->backup('base');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($server, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 0\npg_local_cache.unix_socket_directory = ''\n" . resp_settings($standby));
	$standby->start;
	resp_serves($standby);
	my ($client, $other) = map { client_on($standby, $_) } 1, 2;

	is($_->ask('GET', 'items:1'), row('a'), 'it reads') foreach $client, $other;
	foreach my $i (1 .. 5)
	{
		$server->safe_psql('postgres', "UPDATE items SET v = '$i' WHERE id = 1");
		$server->wait_for_catchup('standby');
		is($_->ask('GET', 'items:1'), row($i), 'what was replayed') foreach $client, $other;
	}
	$server->safe_psql('postgres', 'ALTER TABLE items ADD n int; ALTER TABLE items DROP n; VACUUM FULL items');
	$server->wait_for_catchup('standby');
	is($_->ask('GET', 'items:1'), row(5), 'DDL, too, which does not wait for idle clients') foreach $client, $other;
	$client->send(command('GET', 'slow:1') . command('GET', 'items:1'));
	$standby->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_local_cache worker' AND wait_event = 'PgSleep')) or die 'the worker does not sleep';
	$server->safe_psql('postgres', 'ALTER TABLE slow ADD n int');
	is(join('', $client->replies(2)), "-ERR canceling statement due to conflict with recovery\r\n" . row(5), 'H71: nor for a busy one for ever, which loses a reply and not the client');
	$server->wait_for_catchup('standby');
	is($client->ask(split / /, $_), "-READONLY You can't write against a read only replica.\r\n", $_) foreach 'SET items:1 {}', 'DEL items:1', 'HSET items:1 v x', 'MSET items:1 {}', 'UNLINK items:9';
	like($client->ask('HELLO'), qr/\$4\r\nrole\r\n\$7\r\nreplica\r\n/, 'HELLO');
	like($client->get('INFO', 'replication'), qr/^role:slave\r$/m, 'INFO');
	is($client->get('ROLE')->[0], 'slave', 'ROLE');

	$server->stop;
	$standby->promote;
	is($client->ask('GET', 'items:1'), row(5), 'promoted, clients stay');
	is($client->ask('SET', 'items:1', '{"v":"new"}'), "+OK\r\n", 'and write');
	is($_->ask('GET', 'items:1'), row('new'), 'which all read') foreach $other, $client;
	like($client->ask('HELLO'), qr/\$4\r\nrole\r\n\$6\r\nmaster\r\n/, 'HELLO');
	like($client->get('INFO', 'replication'), qr/^role:master\r$/m, 'INFO');
	$standby->stop;
};

unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC/, 'nothing leaked');
done_testing();
