# H18: rows that logical replication writes.  Its workers run no ordinary triggers; the cache needs none.
use strict;
use warnings;

use PlcTest;
use PlcSession;
use Test::More;

my $publisher = cached_server('publisher', allows_streaming => 'logical');
my $subscriber = cached_server('subscriber', conf => "wal_level = logical\npg_local_cache.verify = 0\n");
my $connection = $publisher->connstr . ' dbname=postgres';

$_->safe_psql('postgres', 'CREATE TABLE items (id int PRIMARY KEY, v text)') for $publisher, $subscriber;
$publisher->safe_psql('postgres', q(
	INSERT INTO items VALUES (1, 'a'), (2, 'a');
	CREATE PUBLICATION p FOR TABLE items));
$subscriber->safe_psql('postgres', q(SELECT local_cache.attach_table('items')));
my $reader = PlcSession->new($subscriber);
my $row = q(SELECT local_cache.mget_json('items', ARRAY[1, 2, 3]));

sub publish
{
	$publisher->safe_psql('postgres', $_[0]);
	$publisher->wait_for_catchup('s');
}

is($reader->say($row), '[null,null,null]', 'nothing there before the subscription');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p");
$subscriber->wait_for_subscription_sync($publisher, 's');

foreach my $case (
	[ 'the first copy', '', '[{"id":1,"v":"a"},{"id":2,"v":"a"},null]' ],
	[ 'an update', q(UPDATE items SET v = 'b' WHERE id = 1), '[{"id":1,"v":"b"},{"id":2,"v":"a"},null]' ],
	[ 'another', q(UPDATE items SET v = 'c' WHERE id = 1), '[{"id":1,"v":"c"},{"id":2,"v":"a"},null]' ],
	[ 'a delete and an insert', q(DELETE FROM items WHERE id = 2; INSERT INTO items VALUES (3, 'd')), '[{"id":1,"v":"c"},null,{"id":3,"v":"d"}]' ],
	[ 'a changed key', q(UPDATE items SET id = 2 WHERE id = 3), '[{"id":1,"v":"c"},{"id":2,"v":"d"},null]' ],
	[ 'a rollback', q(BEGIN; UPDATE items SET v = 'x'; ROLLBACK; INSERT INTO items VALUES (4, 'e')), '[{"id":1,"v":"c"},{"id":2,"v":"d"},null]' ],
	[ 'TRUNCATE', 'TRUNCATE items', '[null,null,null]' ])
{
	my ($what, $sql, $expected) = @$case;

	publish($sql) if $sql ne '';
	is($reader->say($row), $expected, "$what is read once it was applied");
	is($reader->say($row), $expected, 'and from the cache');
}
cmp_ok(metrics($subscriber)->{hits}, '>=', 10, 'which was used');

$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
done_testing();
