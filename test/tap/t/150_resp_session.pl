# One session serves many clients: what user code of one leaves behind must not reach another, and a write that is
# committed is never told as an error, nor run again.
use strict;
use warnings;

use PlcTest;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = resp_server('session', allows_streaming => 1, conf => q(
	pg_local_cache.workers = 1
	pg_local_cache.lock_timeout = 200ms
	pg_local_cache.statement_timeout = 500ms), sql => q(
	CREATE ROLE eve LOGIN PASSWORD 'eve'; CREATE ROLE bob LOGIN PASSWORD 'bob';
	CREATE TABLE items (id int PRIMARY KEY, v text);
	INSERT INTO items SELECT i, 'a' FROM generate_series(1, 100) i;
	GRANT ALL ON items TO app, eve, bob;
	GRANT USAGE ON SCHEMA local_cache TO eve, bob;
	SELECT local_cache.attach_table('items', namespace => 'items', writable => true);
	CREATE TABLE log (id serial, who text, session text, path text); GRANT ALL ON log TO PUBLIC; GRANT ALL ON SEQUENCE log_id_seq TO PUBLIC;
	CREATE TABLE held (id int PRIMARY KEY, v text); GRANT ALL ON held TO PUBLIC;
	CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE 'DECLARE held CURSOR WITH HOLD FOR SELECT set_config(''search_path'', ''evil'', false)'; RETURN NEW; END $$;
	CREATE TRIGGER hold BEFORE INSERT ON held FOR EACH ROW EXECUTE FUNCTION hold();
	SELECT local_cache.attach_table('held', namespace => 'held', writable => true);
	CREATE TABLE paths (id int PRIMARY KEY, v text); GRANT ALL ON paths TO PUBLIC;
	CREATE FUNCTION path() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v = current_setting('search_path'); RETURN NEW; END $$;
	CREATE TRIGGER path BEFORE INSERT ON paths FOR EACH ROW EXECUTE FUNCTION path();
	SELECT local_cache.attach_table('paths', namespace => 'paths', writable => true)));
my $writer = PlcSession->new($server);

sub as { my ($role) = @_; my $client = PlcResp->new($server); is($client->ask('AUTH', $role, $role), "+OK\r\n", "as $role"); return $client }

subtest 'a cursor that outlives its transaction' => sub {
	my ($eve, $bob) = map { as($_) } qw(eve bob);

	is($eve->ask('SET', 'held:1', '{"v":"x"}'), "+OK\r\n", 'is held');
	is($bob->ask('SET', 'paths:1', '{}'), "+OK\r\n", 'another writes');
	unlike($bob->ask('GET', 'paths:1'), qr/evil/, 'under its own search path');
};

subtest 'an EXEC that waits too long is over' => sub {
	my $client = PlcResp->new($server);

	$client->ask('MULTI'); $client->ask('GET', 'items:1');
	$writer->say('BEGIN; LOCK TABLE items');
	is($client->ask('EXEC'), "-ERR canceling statement due to lock timeout\r\n", 'table');
	$writer->say('ROLLBACK');
	is($client->ask('PING'), "+PONG\r\n", 'no more MULTI');
	$client = PlcResp->new($server);
	$client->ask('MULTI'); $client->ask('SET', 'items:1', '{"v":"b"}');
	$writer->say('BEGIN'); $writer->say('SELECT FROM items WHERE id = 1 FOR UPDATE');
	like($client->ask('EXEC'), qr/^-(EXECABORT Transaction rolled back: )?ERR canceling statement due to lock timeout\r\n/, 'row');
	$writer->say('ROLLBACK');
	is($client->ask('PING'), "+PONG\r\n", 'no more MULTI');
};

subtest 'EXEC and an index that is locked' => sub {
	my $client = PlcResp->new($server);

	$writer->say(q(SET lock_timeout = '10s'));
	$client->ask('MULTI'); $client->ask('GET', 'items:77');
	$writer->say('BEGIN; REINDEX INDEX items_pkey');
	$client->send(command('EXEC'));
	is(PlcResp->new($server)->ask('PING'), "+PONG\r\n");
	select undef, undef, undef, 0.05;
	$writer->say('COMMIT');
	is($client->reply, array(bulk('{"id":77,"v":"a"}')), 'waits');
};

subtest 'an error that is a reply, in an EXEC that writes' => sub {
	my $client = PlcResp->new($server);

	$client->ask('MULTI'); $client->ask('SET', 'items:5', '{"v":"b"}'); $client->ask('EXPIRE', 'items:5', 10);
	like($client->ask('EXEC'), qr/^-EXECABORT Transaction rolled back: /, 'rolls back');
	is($client->ask('GET', 'items:5'), bulk('{"id":5,"v":"a"}'), 'nothing');
};

# Two clients' requests in one turn.
sub in_one_turn
{
	my ($first, $second, @commands) = @_;
	my ($pid) = map { $_->{pid} } resp_workers($server);

	kill 'STOP', $pid;
	$first->send($commands[0]);
	$second->send($commands[1]);
	kill 'CONT', $pid;
	return ($first->reply, $second->reply);
}

subtest 'code that a read runs, and another role in the same turn' => sub {
	$server->safe_psql('postgres', q(
		GRANT CREATE ON SCHEMA public TO eve, bob;
		SET ROLE eve;
		CREATE TABLE queued (id int); GRANT ALL ON queued TO PUBLIC;
		CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO log (who, session, path) VALUES (current_user, session_user, current_setting('search_path')); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER fire AFTER INSERT ON queued DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fire();
		CREATE TYPE evil AS ENUM ('a');
		CREATE FUNCTION evil(evil) RETURNS json LANGUAGE plpgsql AS $$ BEGIN
			PERFORM set_config('search_path', 'public, evil', false); INSERT INTO queued VALUES (1); RETURN '1'; END $$;
		CREATE CAST (evil AS json) WITH FUNCTION evil(evil);
		CREATE TABLE evils (id int PRIMARY KEY, v evil); INSERT INTO evils VALUES (1, 'a');
		RESET ROLE; SET ROLE bob;
		CREATE TYPE good AS ENUM ('a');
		CREATE FUNCTION good(good) RETURNS json LANGUAGE sql AS $$ SELECT to_json(current_setting('search_path')) $$;
		CREATE CAST (good AS json) WITH FUNCTION good(good);
		CREATE TABLE goods (id int PRIMARY KEY, v good); INSERT INTO goods VALUES (1, 'a');
		RESET ROLE;
		SELECT local_cache.attach_table('evils', namespace => 'evils'), local_cache.attach_table('goods', namespace => 'goods')));
	my ($eve, $bob) = map { as($_) } qw(eve bob);
	$_->ask('PING') for $eve, $bob;
	my ($evil, $good) = in_one_turn($eve, $bob, command('GET', 'evils:1'), command('GET', 'goods:1'));

	is($evil, bulk('{"id":1,"v":1}'), 'the first runs its code');
	unlike($good, qr/evil/, 'the other is not under its settings');
	is($server->safe_psql('postgres', 'SELECT DISTINCT who, session FROM log'), 'eve|eve', 'what it left to the commit runs as who left it');
	unlike($bob->ask('GET', 'goods:1'), qr/evil/, 'later neither');
};

subtest 'the time of an EXEC is one' => sub {
	$server->safe_psql('postgres', q(
		CREATE TYPE slow AS ENUM ('a');
		CREATE FUNCTION slow(slow) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN '1'; END $$;
		CREATE CAST (slow AS json) WITH FUNCTION slow(slow);
		CREATE TABLE slows (id int PRIMARY KEY, v slow); INSERT INTO slows VALUES (1, 'a'); GRANT ALL ON slows TO PUBLIC;
		SELECT local_cache.attach_table('slows', namespace => 'slow')));
	my $client = PlcResp->new($server);
	like($client->ask('GET', 'slow:1'), qr/statement timeout/, 'one is too slow');
	$client->ask('MULTI'); $client->ask('GET', 'slow:1') for 1 .. 8;
	is($client->ask('EXEC'), "-EXECABORT Transaction rolled back: ERR canceling statement due to statement timeout\r\n", 'nor do many in an EXEC each have the time of one');
	is($client->ask('PING'), "+PONG\r\n");
};

subtest 'a synchronous standby that does not answer' => sub {
	my $client = PlcResp->new($server);
	my $unconfirmed = qr/^-ERR the write is committed here, but no synchronous standby has confirmed it: /;

	$server->append_conf('postgresql.conf', q(synchronous_standby_names = 'nobody'));
	$server->reload;
	poll_until(sub { $client->ask('SET', 'items:9', '{"v":"b"}') =~ $unconfirmed }, 'a write says that it is committed here alone');
	is($client->ask('GET', 'items:9'), bulk('{"id":9,"v":"b"}'), 'it is');
	$client->ask('MULTI'); $client->ask('SET', 'items:9', '{"v":"c"}');
	like($client->ask('EXEC'), $unconfirmed, 'EXEC too');
	is($client->ask('GET', 'items:9'), bulk('{"id":9,"v":"c"}'), 'it is');
	is($client->ask('DEL', 'items:0'), ":0\r\n", 'nothing was written');
	$server->safe_psql('postgres', q(SET synchronous_commit = local;
		CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, v text); GRANT ALL ON unlogged TO PUBLIC;
		SELECT local_cache.attach_table('unlogged', namespace => 'unlogged', writable => true);
		CREATE TABLE early (id int PRIMARY KEY, v text); GRANT ALL ON early TO PUBLIC;
		CREATE FUNCTION early() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET LOCAL synchronous_commit = local; RETURN NEW; END $$;
		CREATE TRIGGER early BEFORE INSERT ON early FOR EACH ROW EXECUTE FUNCTION early();
		SELECT local_cache.attach_table('early', namespace => 'early', writable => true)));
	is($client->ask('SET', 'unlogged:1', '{"v":"c"}'), "+OK\r\n", 'nothing to be confirmed');
	is($client->ask('SET', 'early:1', '{"v":"c"}'), "+OK\r\n", 'a trigger does not want it to be confirmed');
	$server->append_conf('postgresql.conf', q(synchronous_standby_names = ''));
	$server->reload;
	poll_until(sub { $client->ask('SET', 'items:9', '{"v":"b"}') eq "+OK\r\n" }, 'as usual');
};

SKIP: {
	require GdbStop;
	skip GdbStop::missing(), 1 if GdbStop::missing();
	subtest 'a session that cannot be cleaned after a commit' => sub {
		$server->safe_psql('postgres', q(
			CREATE TABLE temps (id int PRIMARY KEY, v text); GRANT ALL ON temps TO PUBLIC;
			CREATE FUNCTION temp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN CREATE TEMP TABLE IF NOT EXISTS mine (a int PRIMARY KEY); RETURN NEW; END $$;
			CREATE TRIGGER temp BEFORE INSERT ON temps FOR EACH ROW EXECUTE FUNCTION temp();
			SELECT local_cache.attach_table('temps', namespace => 'temps', writable => true)));
		my ($pid) = map { $_->{pid} } resp_workers($server);
		my $client = PlcResp->new($server);
		is($client->ask('SET', 'temps:1', '{}'), "+OK\r\n", 'a temporary table is made');
		is($client->ask('SET', 'temps:2', '{}'), "+OK\r\n", 'and thrown away');
		my $stop = GdbStop->new($pid, 'DropAllPreparedStatements');
		$client->send(command('SETNX', 'temps:3', '{}'));
		$stop->wait_stopped;
		is($server->safe_psql('postgres', 'SELECT count(*) FROM temps'), 3, 'it is committed');
		my $table = $server->safe_psql('postgres', q(SELECT oid::regclass FROM pg_class WHERE relname = 'mine'));
		$writer->say("BEGIN; LOCK TABLE $table");
		$stop->release;
		$server->wait_for_log(qr/FATAL: .*canceling statement due to lock timeout/);
		$writer->say('ROLLBACK');	# the process waits for it at its end
		is($client->rest, '', 'a lock on what is to be thrown away: no reply, and no second run');
		resp_serves($server);
		is(PlcResp->new($server)->ask('SETNX', 'temps:4', '{}'), ":1\r\n", 'the worker is there again');
	};
}
done_testing();
