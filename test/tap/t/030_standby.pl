# A hot standby: its own cache, filled by its own readers, proven against what was replayed; and its promotion.
use strict;
use warnings;

use PlcTest;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = cached_server('primary', allows_streaming => 1, conf => q(
	pg_local_cache.verify = 0
	autovacuum = off));
$primary->safe_psql('postgres', q(
	CREATE TYPE mood AS ENUM ('calm', 'cross');
	CREATE TABLE items (id int PRIMARY KEY, v text, mood mood) WITH (autovacuum_enabled = off);
	INSERT INTO items SELECT i, 'a', 'calm' FROM generate_series(1, 1000) i));
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', q(
	hot_standby_feedback = off
	max_standby_streaming_delay = 0));
$standby->start;

my @readers = map { PlcSession->new($standby) } 1 .. 2;
my $row = q(SELECT local_cache.mget_json('items', ARRAY[1]));

# Has the primary do something, waits until the standby has replayed it.
sub on_primary
{
	$primary->safe_psql('postgres', $_) for @_;
	$primary->wait_for_catchup('standby');
}

# Twice by each session: a miss or a failed proof, then a hit.
sub standby_reads
{
	my ($expected, $what) = @_;

	is(join("\n", map { $_->say($row) } @readers, @readers), join("\n", ($expected) x 4), $what);
}

# Has a session read the row in one statement that does not end, and waits until it does so.
sub read_without_end
{
	my ($session) = @_;
	my $enough = standby_hits() + 100;

	$session->start(q(DO $$ BEGIN LOOP PERFORM local_cache.mget_json('items', ARRAY[1]); END LOOP; END $$));
	$standby->poll_query_until('postgres', "SELECT hits > $enough FROM local_cache.metrics()") or die 'nobody reads';
}

sub standby_hits { return metrics($standby)->{hits} }

subtest 'attach_table travels to sessions on the standby' => sub {
	like($_->error($row), qr/"items" is not attached/, 'not attached yet') for @readers;
	on_primary(q(SELECT local_cache.attach_table('items')));
	standby_reads('[{"id":1,"v":"a","mood":"calm"}]', 'attached');
	my $before = standby_hits();
	standby_reads('[{"id":1,"v":"a","mood":"calm"}]', 'read again');
	is(standby_hits() - $before, 4, 'every read was a hit');
	is($readers[0]->say(q(SELECT local_cache.health() ->> 'status')), 'ok', 'health is good');
};

subtest 'H18: what was replayed is read' => sub {
	foreach my $i (1 .. 5)
	{
		on_primary("UPDATE items SET v = 'b$i' WHERE id = 1");
		standby_reads(qq([{"id":1,"v":"b$i","mood":"calm"}]), "update $i");
	}
	on_primary('DELETE FROM items WHERE id = 1');
	standby_reads('[null]', 'deleted');
	on_primary('BEGIN; SAVEPOINT a; INSERT INTO items VALUES (1, \'x\'); ROLLBACK TO a;'
		  . 'INSERT INTO items VALUES (1, \'c\', \'calm\'); COMMIT');
	standby_reads('[{"id":1,"v":"c","mood":"calm"}]', 'inserted again');
};

subtest 'DDL that was replayed counts' => sub {
	on_primary(q(ALTER TYPE mood RENAME VALUE 'calm' TO 'serene'));
	standby_reads('[{"id":1,"v":"c","mood":"serene"}]', 'H44: a renamed enum label');
	on_primary('ALTER TABLE items ADD COLUMN n int DEFAULT 7');
	standby_reads('[{"id":1,"v":"c","mood":"serene","n":7}]', 'H41: a new column');
	on_primary('ALTER TABLE items DROP COLUMN mood');
	standby_reads('[{"id":1,"v":"c","n":7}]', 'H42: a dropped column');
	on_primary('VACUUM FULL items', q(UPDATE items SET v = 'd' WHERE id = 1));
	standby_reads('[{"id":1,"v":"d","n":7}]', 'H35: a rewritten table');
	on_primary('BEGIN; TRUNCATE items; INSERT INTO items VALUES (1, \'e\'); COMMIT');
	standby_reads('[{"id":1,"v":"e","n":7}]', 'H21: truncated and filled again');
	on_primary('REINDEX TABLE CONCURRENTLY items', q(UPDATE items SET v = 'f' WHERE id = 1));
	standby_reads('[{"id":1,"v":"f","n":7}]', 'H37: a new index');
};

subtest 'an unlogged table has no rows on a standby, and says so' => sub {
	on_primary('CREATE UNLOGGED TABLE fleeting (id int PRIMARY KEY)', q(SELECT local_cache.attach_table('fleeting')));
	like($_->error(q(SELECT local_cache.mget('fleeting', ARRAY[1]))),
		qr/cannot read unlogged table "fleeting" during recovery/, 'as a SELECT would') for @readers;
};

subtest 'hits on the standby stand up to verification' => sub {
	$_->say('SET pg_local_cache.verify = 1') for @readers;
	my $before = metrics($standby)->{verified};
	standby_reads('[{"id":1,"v":"f","n":7}]', 'read with verification') for 1 .. 2;
	cmp_ok(metrics($standby)->{verified} - $before, '>=', 4, 'which took place');
	$_->say('RESET pg_local_cache.verify') for @readers;
};

subtest 'H71: replay cancels a reader whose snapshot is in its way, and the next read is right' => sub {
	foreach my $case ([ 'a snapshot', q(UPDATE items SET v = 'g' WHERE id = 1), 'VACUUM items' ],
		[ 'a lock', 'ALTER TABLE items ADD COLUMN m int' ])
	{
		my ($what, @on_primary) = @$case;

		$readers[0]->say('BEGIN ISOLATION LEVEL REPEATABLE READ');
		read_without_end($readers[0]);
		on_primary(@on_primary);
		like($readers[0]->finish_error, qr/canceling statement due to conflict with recovery/, "$what in the way");
		$readers[0]->say('ROLLBACK');
		standby_reads($what eq 'a lock' ? '[{"id":1,"v":"g","n":7,"m":null}]' : '[{"id":1,"v":"g","n":7}]',
			'the sessions go on and read what is new');
	}
	on_primary('ALTER TABLE items DROP COLUMN m, DROP COLUMN n');

	# Readers that come and go do not stop the replay: wait_for_catchup would time out.
	my $id = '(1 + 999 * random())::int';
	on_primary(q(INSERT INTO items SELECT i, 'g' FROM generate_series(2, 1000) i));
	$readers[0]->start(join ';', ("SELECT count(local_cache.mget('items', ARRAY(SELECT $id FROM generate_series(1, 64))))") x 500);
	on_primary('UPDATE items SET v = v WHERE id > 1', 'VACUUM items') for 1 .. 5;
	unlike($readers[0]->finish_error, qr/ERROR(?!:  canceling statement due to conflict with recovery)/, 'reads beside VACUUM: no error but the server\'s own');
	standby_reads('[{"id":1,"v":"g"}]', 'the row is there');
};

subtest 'H72, H9: sessions and a prepared transaction outlive promotion' => sub {
	on_primary(q(BEGIN; UPDATE items SET v = 'prepared' WHERE id = 1; PREPARE TRANSACTION 'p'));
	standby_reads('[{"id":1,"v":"g"}]', 'prepared, not committed');
	# A transaction under way on the primary when it dies.
	my $lost = PlcSession->new($primary);
	$lost->say(q(BEGIN; UPDATE items SET v = 'lost' WHERE id = 2; SELECT pg_switch_wal()));
	$primary->wait_for_catchup('standby');
	$readers[1]->say(q(SELECT local_cache.mget_json('items', ARRAY[2])));
	$primary->stop('immediate');
	$standby->promote;

	standby_reads('[{"id":1,"v":"g"}]', 'promoted, the sessions go on');
	is($readers[1]->say(q(SELECT local_cache.mget_json('items', ARRAY[2]))), '[{"id":2,"v":"g"}]', 'what the dead primary had not committed is not there');
	my $before = standby_hits();
	standby_reads('[{"id":1,"v":"g"}]', 'read again');
	is(standby_hits() - $before, 4, 'from the cache');
	is($readers[0]->say(q(UPDATE items SET v = 'h' WHERE id = 2; SELECT local_cache.mget_json('items', ARRAY[2]))),
		'[{"id":2,"v":"h"}]', 'a session that was read only writes and reads its row');
	is($readers[1]->say(q(SELECT local_cache.mget_json('items', ARRAY[2]))), '[{"id":2,"v":"h"}]', 'which others read too');
	$readers[1]->say(q(COMMIT PREPARED 'p'));
	standby_reads('[{"id":1,"v":"prepared"}]', 'COMMIT PREPARED counts');
	like($readers[0]->say(q(SELECT local_cache.detach_table('items'))), qr/t/, 'tables can be detached now');
	like($readers[1]->error($row), qr/not attached/, 'which others learn');
};

is(metrics($standby)->{verify_failures}, 0, 'no hit was wrong');
unlike(slurp_file($standby->logfile), qr/WARNING:.*(leak|differs)/, 'nothing leaked, nothing differed');
done_testing();
