# What a request leaves behind, however it ends: no open MULTI, no cancel for the next one, no memory; what the log and the
# statistics are to be told.
use strict;
use warnings;

use PlcTest;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = resp_server('aftermath', conf => q(
	pg_local_cache.workers = 1
	pg_local_cache.lock_timeout = 100ms
	pg_local_cache.statement_timeout = 200ms
	fsync = on), sql => <<'SQL');
	CREATE TABLE items (id int PRIMARY KEY, v text);
	INSERT INTO items SELECT i, 'a' FROM generate_series(1, 100) i;
	ALTER TABLE items OWNER TO app;
	CREATE TABLE large (id int PRIMARY KEY, v text);
	INSERT INTO large VALUES (1, repeat('x', 500000));
	CREATE TABLE locked (id int PRIMARY KEY);

	CREATE TYPE slow AS ENUM ('slow');
	CREATE FUNCTION slow_json(slow) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN '1'; END $$;
	CREATE CAST (slow AS json) WITH FUNCTION slow_json(slow);
	CREATE TABLE sleepy (id int PRIMARY KEY, s slow);
	INSERT INTO sleepy VALUES (1, 'slow');

	CREATE TABLE failing (id int PRIMARY KEY, code text);
	CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'failed with %', NEW.code USING ERRCODE = NEW.code; END $$;
	CREATE TRIGGER fail BEFORE INSERT ON failing FOR EACH ROW EXECUTE FUNCTION fail();

	GRANT ALL ON large, locked, sleepy, failing TO app;
	SELECT local_cache.attach_table(t::regclass, namespace => t, writable => true) FROM unnest('{items,large,locked,sleepy,failing}'::text[]) t;
SQL
my $holder = PlcSession->new($server);
my ($worker) = map { $_->{pid} } resp_workers($server);

sub row { my ($id, $v) = @_; return bulk(qq({"id":$id,"v":"$v"})) }
sub queue { my ($client, @commands) = @_; return map { $client->ask(split / /) } 'MULTI', @commands }

sub configure
{
	my ($ask, %settings) = @_;

	$server->safe_psql('postgres', join "\n", map { "ALTER SYSTEM SET $_ = $settings{$_};" } keys %settings);
	$server->reload;
	poll_until($ask, 'the worker has the new settings');
}

subtest 'EXEC ends MULTI, whatever it answers' => sub {
	my $client = PlcResp->new($server);
	my $over = sub {
		my ($how) = @_;

		is($client->ask('GET', 'items:1'), row(1, 'a'), "$how: the next command is run");
		like($client->ask('CLIENT', 'INFO'), qr/ multi=-1 /, "$how: nothing is queued");
	};

	queue($client, 'GET locked:1');
	$holder->say('BEGIN; LOCK locked');
	is($client->ask('EXEC'), "-ERR canceling statement due to lock timeout\r\n", 'a table that is locked for too long');
	$holder->say('ROLLBACK');
	$over->('lock');

	queue($client, 'GET items:1');
	$holder->say('ALTER ROLE app SUPERUSER');
	like($client->ask('EXEC'), qr/^-NOAUTH [^\r\n]*superuser\r\n\z/, 'a role that cannot be used');
	$holder->say('ALTER ROLE app NOSUPERUSER');
	$over->('role');

	queue($client, 'GET items:1');
	is($client->ask('RESET'), "+RESET\r\n", 'RESET');
	$over->('RESET');
};

subtest 'commands without keys look at tables within EXEC too' => sub {
	my $client = PlcResp->new($server);

	queue($client, 'SET items:1 {"v":"a"}', 'INFO keyspace', 'INVALIDATE items:2', 'INVALIDATE items:2');
	like($client->ask('EXEC'), qr/^\*4\r\n\+OK\r\n\$\d+\r\n# Keyspace\r\ndb0:keys=\d+,[^\r\n]*\r\n\r\n:[01]\r\n:0\r\n\z/, 'INFO and INVALIDATE');
};

subtest 'statement_timeout is that of the whole EXEC' => sub {
	my $client = PlcResp->new($server);

	is($client->ask('GET', 'sleepy:1'), "-ERR canceling statement due to statement timeout\r\n", 'a slow row');
	queue($client, ('GET sleepy:1') x 3);
	is($client->ask('EXEC'), "-EXECABORT Transaction rolled back: ERR canceling statement due to statement timeout\r\n", 'three of them');
};

subtest 'the log is told of what is not the fault of the client' => sub {
	my $client = PlcResp->new($server);
	my $logged = sub {
		my ($ask) = @_;
		my $from = -s $server->logfile;
		my $reply = $ask->();

		return ($reply, slurp_file($server->logfile, $from) =~ /LOG: +failed with/ ? 'logged' : 'not logged');
	};
	my $set = sub { my ($code) = @_; return $logged->(sub { $client->ask('SET', 'failing:1', qq({"code":"$code"})) }) };

	is_deeply([ $set->('XX000') ], [ "-ERR internal error: the server log says which\r\n", 'logged' ], 'an internal error');
	is_deeply([ $set->('53100') ], [ "-ERR failed with 53100\r\n", 'logged' ], 'a full disk');
	is_deeply([ $set->('22000') ], [ "-ERR failed with 22000\r\n", 'not logged' ], 'wrong data');
	queue($client, 'SET failing:1 {"code":"XX000"}');
	is_deeply([ $logged->(sub { $client->ask('EXEC') }) ], [ "-EXECABORT Transaction rolled back: ERR internal error: the server log says which\r\n", 'logged' ], 'within EXEC');
};

# The time is over while the commit waits on purpose, and nothing looks for a cancel before the request has ended.
subtest 'a time limit that runs out during the commit cancels nobody' => sub {
	my $client = PlcResp->new($server);

	configure(sub { $client->get('CONFIG', 'GET', 'timeout')->[1] == 77 }, commit_siblings => 0, commit_delay => 100000,
		'pg_local_cache.statement_timeout' => 50, 'pg_local_cache.client_idle_timeout' => 77000);
	foreach my $v (1 .. 3)
	{
		$client->send(command('SET', 'items:2', qq({"v":"$v"})) . command('GET', 'items:2'));
		is_deeply([ $client->replies(2) ], [ "+OK\r\n", row(2, $v) ], 'a write, and the read after it');
	}
	configure(sub { $client->get('CONFIG', 'GET', 'timeout')->[1] == 0 }, commit_delay => 0,
		'pg_local_cache.statement_timeout' => 200, 'pg_local_cache.client_idle_timeout' => 0);
};

# A worker that is stopped finds both requests when it goes on: one that is parked, and one that needs memory.
subtest 'a request that is parked leaves no memory to the next one' => sub {
	my ($parked, $reader) = map { PlcResp->new($server) } 1 .. 2;
	my $used = sub {
		my $from = -s $server->logfile;

		$server->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts($worker)");
		return poll_until(sub { slurp_file($server->logfile, $from) =~ /TopMemoryContext: (\d+) total/ && $1 }, 'the worker tells');
	};
	my $before = $used->();

	$holder->say('BEGIN; LOCK locked');
	foreach (1 .. 5)
	{
		kill STOP => $worker;
		$parked->send(command('SET', 'locked:1', '{}'));
		$reader->send(command('HLEN', 'large:1'));
		kill CONT => $worker;
		is($reader->reply, ":2\r\n", 'one is served');
		like($parked->reply, qr/^-ERR .*lock timeout/, 'the other is not');
	}
	$holder->say('ROLLBACK');
	cmp_ok($used->() - $before, '<', 500000, 'and the memory is free again');
};

subtest 'an idle worker keeps no statistics to itself' => sub {
	$holder->quit;
	$server->restart;				# so nothing else is due
	resp_serves($server);
	my $client = PlcResp->new($server);
	my $written = sub { return $server->safe_psql('postgres', q(SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'items')) };
	my $before = $written->();

	$client->ask('SET', 'items:3', '{"v":"c"}') foreach 1 .. 50;
	poll_until(sub { $written->() == $before + 50 }, 'the server counts the writes');
	pass('all are counted');
};

unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC/, 'nothing leaked');
done_testing();
