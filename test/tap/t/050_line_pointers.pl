# Other tuples at the line pointer of a cached row: with another transaction id (H31), with the same one after the
# transaction ids have come round (H33), in another file of the table (H35).
use strict;
use warnings;

use PlcTest;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = cached_server('lp', conf => q(
	pg_local_cache.verify = 0
	shared_buffers = 1MB
	autovacuum = off));

sub mget { return quiet_psql($server, "SELECT local_cache.mget_json('$_[0]', ARRAY[1, 2])") }

sub place { return $server->safe_psql('postgres', "SELECT ctid, xmin FROM $_[0] WHERE id = $_[1]") }

$server->safe_psql('postgres', q(
	CREATE EXTENSION pg_buffercache;
	CREATE TABLE items (id int PRIMARY KEY, v text);
	SELECT local_cache.attach_table('items')));

subtest 'H31: another row at the same line pointer' => sub {
	$server->safe_psql('postgres', q(INSERT INTO items VALUES (1, 'one')));
	is(mget('items'), '[{"id":1,"v":"one"},null]', 'the first row') for 1 .. 2;
	my ($ctid, $xmin) = split /\|/, place('items', 1);
	$server->safe_psql('postgres', q(DELETE FROM items));
	$server->safe_psql('postgres', q(VACUUM (TRUNCATE off) items));
	$server->safe_psql('postgres', q(INSERT INTO items VALUES (2, 'two')));
	like(place('items', 2), qr/^\Q$ctid\E/, 'stands where the first stood');
	is(mget('items'), '[null,{"id":2,"v":"two"}]', 'and is not taken for it');
};

subtest 'H35: another row at the same place of another file, in the same buffer' => sub {
	my $session = PlcSession->new($server);
	my $buffer = q(SELECT bufferid FROM pg_buffercache WHERE relforknumber = 0 AND relblocknumber = 0
		AND relfilenode = pg_relation_filenode('items'));

	# Both rows are of one transaction, so the second will look like the first where it takes its place.
	$session->say(q(TRUNCATE items));
	$session->say(q(INSERT INTO items VALUES (1, 'one'), (2, 'two')));
	$session->say(q(DO $$ BEGIN
		FOR i IN 1 .. 300 LOOP
			EXECUTE format('CREATE TABLE spare_%s AS SELECT 1', i);
		END LOOP;
	END $$));
	is($session->say(q(SELECT local_cache.mget_json('items', ARRAY[1, 2]))), '[{"id":1,"v":"one"},{"id":2,"v":"two"}]', 'both rows are cached') for 1 .. 2;
	my $place = $session->say('SELECT ctid, xmin FROM items WHERE id = 1');
	my $before = $session->say($buffer);
	$session->say($_) for 'DELETE FROM items WHERE id = 1', 'VACUUM FULL items', 'EXPLAIN SELECT FROM items';

	# The buffer that a dropped table leaves is the next to be used.  So read tables until the new file is not in
	# memory and one of them has the buffer of the old file; drop that one.
	foreach my $i ((1 .. 300) x 3)
	{
		$session->say("SELECT FROM spare_$i");
		next if $session->say("SELECT pg_relation_filenode('spare_$i') = relfilenode FROM pg_buffercache WHERE bufferid = $before") ne 't'
		  || $session->say($buffer) ne '';
		$session->say("DROP TABLE spare_$i");
		last;
	}
	$session->say('SELECT FROM items');
	is($session->say($buffer), $before, 'the new file is where the old one was');
	is($session->say('SELECT ctid, xmin FROM items WHERE id = 2'), $place, 'so is the second row');
	is($session->say(q(SELECT local_cache.mget_json('items', ARRAY[1, 2]))), '[null,{"id":2,"v":"two"}]', 'and is not taken for the first');
	$session->quit;
};

subtest 'H33: another row at the same line pointer with the same transaction id, one round later' => sub {
	my $future = 4_000_000;    # the transaction id that both rows get; less than 2^32 and far ahead
	my $place = one_round_later($future, 1);

	is(mget('items'), '[{"id":1,"v":"one"},null]', 'one round later the first row is read') for 1 .. 2;
	is(metrics($server)->{hits}, 1, 'and cached');
	$server->safe_psql('postgres', q(DELETE FROM items));
	$server->safe_psql('postgres', q(VACUUM (TRUNCATE off) items));
	burn_until($future);
	$server->safe_psql('postgres', q(INSERT INTO items VALUES (2, 'two')));
	is(place('items', 2), $place, 'the second row has the place and the transaction id of the first');
	is(mget('items'), '[null,{"id":2,"v":"two"}]', 'and is not taken for it');
};

subtest 'H33: that transaction is already running when the first row is read' => sub {
	my $future = 4_100_000;
	my $place = one_round_later($future, 2);
	my ($deleter, $inserter) = map { PlcSession->new($server) } 1 .. 2;

	# The row is deleted before that transaction begins, so it can be vacuumed while that transaction runs.
	burn_until($future - 1);
	$deleter->say($_) for 'BEGIN', 'DELETE FROM items';
	$inserter->say('BEGIN');
	is($inserter->say('SELECT pg_current_xact_id()::xid'), $future, 'the transaction runs');
	is(mget('items'), '[{"id":1,"v":"one"},null]', 'the first row is read') for 1 .. 2;
	$deleter->say('COMMIT');
	$server->safe_psql('postgres', q(VACUUM (TRUNCATE off) items));
	$inserter->say($_) for q(INSERT INTO items VALUES (2, 'two')), 'COMMIT';
	is(place('items', 2), $place, 'the second row has the place and the transaction id of the first');
	is(mget('items'), '[null,{"id":2,"v":"two"}]', 'and is not taken for it');
	$_->quit for $deleter, $inserter;
};

# Has row 1 written by the transaction with this id and frozen, so that the id may come again, and the server start in
# the next round with the counter just short of it.  Returns the row's place.
sub one_round_later
{
	my ($xid, $epoch) = @_;

	$server->safe_psql('postgres', 'TRUNCATE items');
	$server->stop;
	resetwal('--next-transaction-id=' . ($xid - 50));
	$server->start;
	burn_until($xid);
	$server->safe_psql('postgres', q(INSERT INTO items VALUES (1, 'one')));
	my $place = place('items', 1);
	like($place, qr/\|$xid$/, 'the first row is of that transaction');
	$server->safe_psql('postgres', 'VACUUM (FREEZE) items');
	freeze_everything();
	$server->stop;
	resetwal("--epoch=$epoch", '--next-transaction-id=' . ($xid - 200));
	$server->start;
	return $place;
}

sub resetwal
{
	system_or_bail('pg_resetwal', '-D', $server->data_dir, @_);
	# The page of the commit log must be there.
	my $segment = sprintf '%s/pg_xact/%04X', $server->data_dir, 4_000_000 / 4 / 8192 / 32;
	return if -e $segment;
	open my $file, '>', $segment or die "$segment: $!";
	print $file "\0" x (32 * 8192);
	close $file;
}

# Uses transaction ids up to the one before.
sub burn_until
{
	$server->safe_psql('postgres', qq(
		DO \$\$ BEGIN
			WHILE pg_current_xact_id()::xid::text::bigint < $_[0] - 1 LOOP COMMIT; END LOOP;
		END \$\$));
}

sub freeze_everything
{
	$server->safe_psql('template1', 'VACUUM (FREEZE)');
	$server->safe_psql('postgres', 'VACUUM (FREEZE)');
	$server->safe_psql('postgres', 'CHECKPOINT');
}

done_testing();
