# With the library preloaded rows come from the cache; without it the same functions answer from the heap, and what
# the preload line leaves behind in postgresql.conf harms nobody.
use strict;
use warnings;

use PlcTest;
use Test::More;

# Not unnest(mget(...)): to guess its number of rows the planner would read them once more.
my $rows = qq({"id":2,"v":"b"} null {"id":1,"v":"a"});
my $read = q(SELECT array_to_string(local_cache.mget('items', ARRAY[2, 9, 1]), ' ', 'null'));

my $server = cached_server('main');
$server->safe_psql('postgres', q(
	CREATE TABLE items (id int PRIMARY KEY, v text);
	INSERT INTO items VALUES (1, 'a'), (2, 'b');
	SELECT local_cache.attach_table('items')));

sub health { return quiet_psql($server, "SELECT local_cache.health() ->> '$_[0]'") }

sub every_function_answers
{
	my ($how) = @_;

	is(quiet_psql($server, $read), $rows, "mget $how");
	is(quiet_psql($server, q(SELECT local_cache.mget_json('items', ARRAY[1, 9]))), '[{"id":1,"v":"a"},null]', "mget_json $how");
	is(quiet_psql($server, q(SELECT * FROM local_cache.mget_rows(NULL::items, ARRAY[9, 2]))), "|\n2|b", "mget_rows $how");
	like(quiet_psql($server, q(SELECT local_cache.invalidate('items'))), qr/^\d+$/, "invalidate $how");
	is(quiet_psql($server, q(SELECT relation FROM local_cache.tables)), 'items', "tables $how");
	like(quiet_psql($server, q(SELECT local_cache.stats())), qr/"hits"/, "stats $how");
	is(quiet_psql($server, q(SELECT local_cache.detach_table('items'))), 't', "detach_table $how");
	like(quiet_psql($server, q(SELECT local_cache.attach_table('items'))), qr/items/, "attach_table $how");
}

# Preloaded
is(health('preloaded'), 'true', 'health knows of the preloaded library');
is(health('reason'), '', 'and has nothing to complain about');
quiet_psql($server, $read);
my $before = metrics($server);
is(quiet_psql($server, $read), $rows, 'rows are right from the cache');
is(metrics($server)->{hits} - $before->{hits}, 2, 'and were hits');
every_function_answers('with the library preloaded');

# Not preloaded any more, while a setting of ours stays in the file
$server->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$server->restart;
is(quiet_psql($server, 'SHOW pg_local_cache.memory'), '16MB', 'our setting is still in the file');
is(health('preloaded'), 'false', 'health knows that the library was not preloaded');
like(health('reason'), qr/shared_preload_libraries/, 'and says what to do');
every_function_answers('without preload');
quiet_psql($server, $read) for 1 .. 2;
is(metrics($server)->{hits}, 0, 'nothing was cached');
is(quiet_psql($server, "SET pg_local_cache.enabled = off; $read"), $rows, 'settings can be set');
is(quiet_psql($server, 'SELECT 1'), '1', 'a session that has nothing to do with us works');

# And back
$server->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'pg_local_cache'");
$server->restart;
quiet_psql($server, $read) for 1 .. 2;
is(metrics($server)->{hits}, 2, 'preloaded again, it caches again');

done_testing();
