# What other sessions read while one stands still in the middle of a commit, of a fill, of DDL.
use strict;
use warnings;

use PlcTest;
use PlcSession;
use GdbStop;
use Test::More;

plan skip_all => GdbStop::missing() if GdbStop::missing();

my $server = cached_server('race', conf => q(
	pg_local_cache.verify = 0
	pg_local_cache.memory = 2MB
	restart_after_crash = on));
$server->safe_psql('postgres', q(
	CREATE TYPE mood AS ENUM ('calm', 'cross');
	CREATE TABLE items (id int PRIMARY KEY, v text);
	CREATE TABLE moods (id int PRIMARY KEY, mood mood);
	CREATE TABLE many (id int PRIMARY KEY, v text);
	INSERT INTO many SELECT i, repeat('m', 1000) FROM generate_series(1, 10000) i;
	CREATE ROLE guest LOGIN;
	GRANT SELECT ON items TO guest;
	GRANT USAGE ON SCHEMA local_cache TO guest;
	SELECT local_cache.attach_table('items');
	SELECT local_cache.attach_table('moods');
	SELECT local_cache.attach_table('many')));

my $reader = PlcSession->new($server);
my $filler = PlcSession->new($server);
my $writer = PlcSession->new($server);
my $guest = PlcSession->new($server, user => 'guest');
my ($row, $mood) = map { "SELECT local_cache.mget_json('$_', ARRAY[1])" } qw(items moods);

# Every session has its descriptors, and the row is cached.
sub start_anew
{
	$writer->say(q(TRUNCATE items, moods));
	$writer->say(q(INSERT INTO items SELECT i, 'old' FROM generate_series(1, 3) i));
	$writer->say(q(INSERT INTO moods VALUES (1, 'calm')));
	$_->say($row), $_->say($mood) for $reader, $filler, $writer;
	$guest->say($row);
	my $before = metrics($server)->{hits};
	$reader->say($row);
	is(metrics($server)->{hits} - $before, 1, 'the row is cached');
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

subtest 'H1: a row that is published after it was updated is not served' => sub {
	foreach my $function ('plc_fetch_row', 'plc_version_of_tuple', 'plc_store_put_locked')
	{
		start_anew();
		$writer->say(q(SELECT local_cache.invalidate('items')));
		my $stop = GdbStop->new($filler->pid, $function);

		$filler->start($row);
		$stop->wait_stopped;
		$writer->say(q(UPDATE items SET v = 'new' WHERE id = 1));
		$stop->release;
		is($filler->finish, '[{"id":1,"v":"old"}]', "the filler, stopped at $function, answers with its snapshot");
		is($reader->say($row), '[{"id":1,"v":"new"}]', 'the next reader gets the new row');
		is($filler->say($row), '[{"id":1,"v":"new"}]', 'so does the filler');
	}
};

subtest 'H1: a row that is published after it was deleted is not served' => sub {
	start_anew();
	$writer->say(q(SELECT local_cache.invalidate('items')));
	my $stop = GdbStop->new($filler->pid, 'plc_version_of_tuple');

	$filler->start($row);
	$stop->wait_stopped;
	$writer->say('DELETE FROM items WHERE id = 1');
	$stop->release;
	is($filler->finish, '[{"id":1,"v":"old"}]', 'the filler answers with its snapshot');
	is($reader->say($row), '[null]', 'the next reader finds nothing');
};

subtest 'H1: a reader stopped before the proof answers with its snapshot' => sub {
	start_anew();
	my $stop = GdbStop->new($filler->pid, 'plc_prove_begin');

	$filler->start($row);
	$stop->wait_stopped;
	$writer->say(q(UPDATE items SET v = 'new' WHERE id = 1));
	is($reader->say($row), '[{"id":1,"v":"new"}]', 'others have the new row');
	$stop->release;
	is($filler->finish, '[{"id":1,"v":"old"}]', 'its snapshot is from before the update');
	is($filler->say($row), '[{"id":1,"v":"new"}]', 'its next one is not');
};

subtest 'H2: a commit is seen by readers before it is acknowledged, and after' => sub {
	start_anew();
	stop_writer_at('AtEOXact_Inval', q(UPDATE items SET v = 'new' WHERE id = 1), sub {
		is($reader->say($row), '[{"id":1,"v":"new"}]', 'visible, so it is read');
	});
	is($reader->say($row), '[{"id":1,"v":"new"}]', 'and stays so');

	start_anew();
	stop_writer_at('ProcArrayEndTransaction', q(UPDATE items SET v = 'new' WHERE id = 1), sub {
		is($reader->say($row), '[{"id":1,"v":"old"}]', 'committed in the log but not visible yet: the old row');
	});
	is($reader->say($row), '[{"id":1,"v":"new"}]', 'then the new one');
};

subtest 'H44, E5: a renamed enum label is read once the DDL is acknowledged' => sub {
	start_anew();
	$filler->say('SELECT mood FROM moods');
	stop_writer_at('AtEOXact_Inval', q(ALTER TYPE mood RENAME VALUE 'calm' TO 'serene'), sub {
		# This session has not heard of the change; what it renders and publishes now has the old label.
		$filler->say(q(SELECT local_cache.invalidate('moods')));
		is($filler->say($mood), '[{"id":1,"mood":"calm"}]', 'in the gap the old label is read, and published');
	});
	is($filler->say($mood), '[{"id":1,"mood":"serene"}]', 'the session that published in the gap reads the new label');
	is($reader->say($mood), '[{"id":1,"mood":"serene"}]', 'so does another');
	$writer->say(q(ALTER TYPE mood RENAME VALUE 'serene' TO 'calm'));
};

subtest 'H63, E7: a revoked privilege is gone once the REVOKE is acknowledged' => sub {
	start_anew();
	stop_writer_at('AtEOXact_Inval', 'REVOKE SELECT ON items FROM guest', sub {
		$guest->say('SELECT 1');
		is($guest->say($row), '[{"id":1,"v":"old"}]', 'in the gap the guest may still read');
	});
	like($guest->error($row), qr/permission denied for table items/, 'after it not');
	$writer->say('GRANT SELECT ON items TO guest');
	is($guest->say($row), '[{"id":1,"v":"old"}]', 'granted again, read again');
};

subtest 'H44, H63: what was acknowledged counts in a transaction under way, too' => sub {
	start_anew();
	# Prepared statements whose tables are locked already do not look into the catalogs any more.
	$_->say("PREPARE row AS $row") for $guest, $filler;
	$filler->say("PREPARE mood AS $mood");
	$guest->say('BEGIN; EXECUTE row');
	$filler->say('BEGIN; EXECUTE row; EXECUTE mood');
	$writer->say(q(ALTER TYPE mood RENAME VALUE 'calm' TO 'serene'));
	$writer->say('REVOKE SELECT ON items FROM guest');
	is($filler->say('EXECUTE mood'), '[{"id":1,"mood":"serene"}]', 'the new label');
	like($guest->error('EXECUTE row'), qr/permission denied for table items/, 'the revoked privilege');
	$_->say('ROLLBACK; DEALLOCATE ALL') for $guest, $filler;
	$writer->say(q(ALTER TYPE mood RENAME VALUE 'serene' TO 'calm'));
	$writer->say('GRANT SELECT ON items TO guest');
};

subtest 'H21, E3: nothing is left of a truncated table, though its old pages still are in memory' => sub {
	start_anew();
	stop_writer_at('smgrdounlinkall', 'TRUNCATE items', sub {
		is($reader->say('SELECT count(*) FROM items'), '0', 'the locks are released');
		is($reader->say($row), '[null]', 'and the row is gone');
	});
	is($reader->say($row), '[null]', 'for good');
};

subtest 'H35, E4: a rewritten table is read in its new file' => sub {
	foreach my $rewrite ('CLUSTER items USING items_pkey', 'ALTER TABLE items SET UNLOGGED', 'ALTER TABLE items SET LOGGED')
	{
		start_anew();
		my $stop = GdbStop->new($writer->pid, 'smgrdounlinkall');

		$writer->start($rewrite);
		$stop->wait_stopped;
		is($reader->say($row), '[{"id":1,"v":"old"}]', "$rewrite: the row is there");
		$filler->say(q(UPDATE items SET v = 'new' WHERE id = 1));
		is($reader->say($row), '[{"id":1,"v":"new"}]', 'and updates of it are seen');
		$stop->release;
		$writer->finish;
		is($reader->say($row), '[{"id":1,"v":"new"}]', 'then as before');
	}
	# Keeps its lock for longer, so there is nothing to see in between.
	$writer->say('VACUUM FULL items');
	is($reader->say($row), '[{"id":1,"v":"new"}]', 'VACUUM FULL: the row is there');
	$filler->say(q(UPDATE items SET v = 'newer' WHERE id = 1));
	is($reader->say($row), '[{"id":1,"v":"newer"}]', 'and updates of it are seen');
};

subtest 'H57: a detached partition answers for itself' => sub {
	$writer->say(q(
		CREATE TABLE parts (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
		CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (10);
		CREATE TABLE high PARTITION OF parts FOR VALUES FROM (10) TO (20);
		INSERT INTO parts VALUES (1, 'low'), (11, 'high');
		SELECT local_cache.attach_table('low'), local_cache.attach_table('high')));
	my %read = (low => q(SELECT local_cache.mget_json('low', ARRAY[1])), high => q(SELECT local_cache.mget_json('high', ARRAY[11])));

	$reader->say($read{$_}) for qw(low high);
	stop_writer_at('smgrDoPendingDeletes', 'ALTER TABLE parts DETACH PARTITION low', sub {
		is($reader->say($read{low}), '[{"id":1,"v":"low"}]', 'detached, its row is there');
		is($reader->say('SELECT count(*) FROM parts'), '1', 'though not in the parent');
	});
	$writer->say('ALTER TABLE parts DETACH PARTITION high CONCURRENTLY');
	$filler->say(q(UPDATE low SET v = 'lower'; UPDATE high SET v = 'higher'));
	is($reader->say($read{low}), '[{"id":1,"v":"lower"}]', 'updates are seen');
	is($reader->say($read{high}), '[{"id":11,"v":"higher"}]', 'after DETACH CONCURRENTLY too');
	$writer->say(q(ALTER TABLE parts ATTACH PARTITION low FOR VALUES FROM (0) TO (10)));
	$filler->say(q(UPDATE parts SET v = 'lowest' WHERE id = 1));
	is($reader->say($read{low}), '[{"id":1,"v":"lowest"}]', 'and after it is attached again');
};

subtest 'an entry that is overwritten while it is read is not served' => sub {
	my $fill = q(SELECT count(local_cache.mget('many', ARRAY[i])) FROM generate_series(1, 10000) i);

	foreach my $function ('plc_prove_begin', 'plc_prove_end', 'plc_store_touch')
	{
		start_anew();
		my $stop = GdbStop->new($filler->pid, $function);

		$filler->start($row);
		$stop->wait_stopped;
		$writer->say($fill);
		cmp_ok(metrics($server)->{evicted}, '>', 5000, 'all that was cached was given up');
		$stop->release;
		is($filler->finish, '[{"id":1,"v":"old"}]', "a reader that stood at $function has the row");
		is($filler->say($row), '[{"id":1,"v":"old"}]', 'and has it again');
	}
};

subtest 'H70: a backend that dies while it writes to the cache' => sub {
	start_anew();
	$writer->say(q(SELECT local_cache.invalidate('items')));
	my $stop = GdbStop->new($filler->pid, 'plc_store_put_locked');

	$filler->start($row);
	$stop->wait_stopped;
	kill 'KILL', $filler->pid;
	$stop->release;
	$server->wait_for_log(qr/all server processes terminated; reinitializing/);
	$server->poll_query_until('postgres', 'SELECT true') or die 'server did not come back';
	is($server->safe_psql('postgres', $row), '[{"id":1,"v":"old"}]', 'the row is read') for 1 .. 2;
	is_deeply([ @{ metrics($server) }{qw(hits misses)} ], [ 1, 1 ], 'and cached anew');
};

is(metrics($server)->{verify_failures}, 0, 'no hit was wrong');
done_testing();
