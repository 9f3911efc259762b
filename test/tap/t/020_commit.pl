# Commits that take long, come from another session or survive a crash; and what a crash leaves of the cache.
use strict;
use warnings;

use PlcTest;
use PlcSession;
use Test::More;

# Only who asks for it waits for the standby that there is not.
my $server = cached_server('commit', allows_streaming => 1, conf => q(
	pg_local_cache.verify = 0
	synchronous_standby_names = 'nobody'
	synchronous_commit = local));
my $row = q(SELECT local_cache.mget_json('items', ARRAY[1]));

$server->safe_psql('postgres', q(
	CREATE TABLE items (id int PRIMARY KEY, v text);
	CREATE UNLOGGED TABLE fleeting (id int PRIMARY KEY, v text);
	SELECT local_cache.attach_table('items');
	SELECT local_cache.attach_table('fleeting')));

sub row { return qq([{"id":1,"v":"$_[0]"}]) }

sub set_row
{
	$server->safe_psql('postgres', qq(INSERT INTO items VALUES (1, '$_[0]') ON CONFLICT (id) DO UPDATE SET v = excluded.v));
}

subtest 'H3: a commit that waits for a standby is not visible, and is when it has stopped waiting' => sub {
	my ($writer, $reader) = map { PlcSession->new($server) } 1 .. 2;

	set_row('old');
	is($reader->say($row), row('old'), 'the row is cached') for 1 .. 2;
	$writer->say('SET synchronous_commit = on');
	$writer->start(q(UPDATE items SET v = 'new'));
	$server->poll_query_until('postgres', q(SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = ) . $writer->pid)
	  or die 'the commit does not wait';
	is($reader->say($row), row('old'), 'while it waits the old row is read') for 1 .. 2;
	$reader->say('SELECT pg_cancel_backend(' . $writer->pid . ')');
	like($writer->finish_error, qr/canceling wait for synchronous replication/, 'the wait is cancelled');
	is($reader->say($row), row('new'), 'then the new row is read');
	is($writer->say($row), row('new'), 'by its writer too');
	$_->quit for $writer, $reader;
};

subtest 'H8: a prepared transaction counts when another session commits it' => sub {
	my ($writer, $reader, $other) = map { PlcSession->new($server) } 1 .. 3;

	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		set_row('old');
		$reader->say($row);
		$writer->say(q(BEGIN; UPDATE items SET v = 'new'));
		is($writer->say($row), row('new'), 'its own session sees what it wrote');
		$writer->say(q(PREPARE TRANSACTION 'p'));
		is($_->say($row), row('old'), 'prepared, the old row is read') for $reader, $writer, $reader;
		$other->say("$end PREPARED 'p'");
		my $then = $end eq 'COMMIT' ? row('new') : row('old');
		is($_->say($row), $then, "$end PREPARED counts") for $reader, $writer, $other;
	}
	$_->quit for $writer, $reader, $other;
};

subtest 'H10: REPEATABLE READ renews entries that are older than its snapshot, and leaves newer ones' => sub {
	my ($repeatable, $reader) = map { PlcSession->new($server) } 1 .. 2;
	my $before;

	set_row('old');
	$reader->say($row);
	$repeatable->say(q(SET default_transaction_isolation = 'repeatable read'));
	set_row('new');
	$before = metrics($server);
	is($repeatable->say($row), row('new'), 'a new transaction reads the new row') for 1 .. 3;
	is(metrics($server)->{hits} - $before->{hits}, 2, 'from the cache, after the first time');

	$repeatable->say("BEGIN; $row");
	set_row('newest');
	$reader->say($row);
	$before = metrics($server);
	is($repeatable->say($row), row('new'), 'one with an old snapshot reads the old row');
	is($reader->say($row), row('newest'), 'others read the new one');
	is(metrics($server)->{hits} - $before->{hits}, 1, 'which is still in the cache');
	$repeatable->say('COMMIT');
	$_->quit for $repeatable, $reader;
};

subtest 'H9: a prepared transaction that survived a crash' => sub {
	set_row('old');
	quiet_psql($server, $row);
	$server->safe_psql('postgres', q(BEGIN; UPDATE items SET v = 'new'; PREPARE TRANSACTION 'p'));
	$server->stop('immediate');
	$server->start;
	my $reader = PlcSession->new($server);
	is($reader->say($row), row('old'), 'after the crash the old row is read') for 1 .. 2;
	$server->safe_psql('postgres', q(COMMIT PREPARED 'p'));
	is($reader->say($row), row('new'), 'COMMIT PREPARED counts');
	$reader->quit;
};

subtest 'H39: an unlogged table is empty after a crash' => sub {
	my $fleeting = q(SELECT local_cache.mget_json('fleeting', ARRAY[1]));

	$server->safe_psql('postgres', q(INSERT INTO fleeting VALUES (1, 'a')));
	my $before = metrics($server)->{hits};
	is(quiet_psql($server, $fleeting), row('a'), 'its row is read') for 1 .. 2;
	is(metrics($server)->{hits} - $before, 1, 'and cached');
	$server->stop('immediate');
	$server->start;
	is(quiet_psql($server, $fleeting), '[null]', 'after the crash it is gone') for 1 .. 2;
	$server->safe_psql('postgres', q(INSERT INTO fleeting VALUES (1, 'b')));
	is(quiet_psql($server, $fleeting), row('b'), 'a new one is read') for 1 .. 2;
};

subtest 'H70: no entry and no count survives the crash of a backend' => sub {
	set_row('old');
	quiet_psql($server, $row) for 1 .. 2;
	cmp_ok(metrics($server)->{entries}, '>', 0, 'there are entries');
	$server->append_conf('postgresql.conf', 'restart_after_crash = on');
	$server->reload;

	my $victim = PlcSession->new($server);
	kill 'KILL', $victim->pid;
	$server->wait_for_log(qr/all server processes terminated; reinitializing/);
	$server->poll_query_until('postgres', 'SELECT true') or die 'server did not come back';
	my $after = metrics($server);
	is_deeply([ grep { $_ ne 'memory' && $after->{$_} != 0 } sort keys %$after ], [], 'all counters are 0');
	is(quiet_psql($server, $row), row('old'), 'the row is read') for 1 .. 2;
	is_deeply([ @{ metrics($server) }{qw(misses hits entries)} ], [ 1, 1, 1 ], 'and cached anew');
};

subtest 'a restart keeps what is attached' => sub {
	$server->restart;
	is($server->safe_psql('postgres', 'SELECT relation FROM local_cache.tables ORDER BY 1'), "items\nfleeting", 'both tables');
	is(quiet_psql($server, $row), row('old'), 'rows are read') for 1 .. 2;
	is(metrics($server)->{hits}, 1, 'and cached');
};

unlike(PostgreSQL::Test::Utils::slurp_file($server->logfile), qr/WARNING:.*(leak|differs)/, 'nothing leaked, nothing differed');
done_testing();
