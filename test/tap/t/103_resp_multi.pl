# MULTI, EXEC and DISCARD: what is queued, what aborts, one snapshot for all reads, and writes all or none.
use strict;
use warnings;

use PlcTest;
use GdbStop;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = resp_server('multi', conf => q(
	pg_local_cache.request_limit = 1MB
	pg_local_cache.output_limit = 1MB), sql => q(
	CREATE TABLE items (id int PRIMARY KEY, v text CHECK (v <> 'forbidden'));
	INSERT INTO items SELECT i, 'a' FROM generate_series(1, 100) i;
	CREATE TABLE more AS TABLE items;
	ALTER TABLE more ADD PRIMARY KEY (id);
	CREATE TABLE large (id int PRIMARY KEY, v text);
	INSERT INTO large VALUES (1, repeat('x', 200000));
	GRANT ALL ON items, more, large TO app;
	SELECT local_cache.attach_table('items', namespace => 'items', writable => true), local_cache.attach_table('more', namespace => 'more'), local_cache.attach_table('large', namespace => 'large')));
my $writer = PlcSession->new($server);

sub row { my ($id, $v) = @_; return bulk(qq({"id":$id,"v":"$v"})) }
sub queue { my ($client, @commands) = @_; return map { $client->ask(split / /) } 'MULTI', @commands }

foreach my $protocol (2, 3)
{
	my ($null, $nulls) = $protocol == 3 ? ("_\r\n", "_\r\n") : ("\$-1\r\n", "*-1\r\n");

	subtest "version $protocol: replies within replies" => sub {
		my $client = PlcResp->new($server, protocol => $protocol);

		is_deeply([ queue($client, 'GET items:1', 'MGET items:1 foo items:2', 'HGETALL items:1', 'HGETALL items:0', 'PING', 'ECHO x', 'TTL items:1', 'TYPE items:0', 'SELECT 1') ],
			[ "+OK\r\n", ("+QUEUED\r\n") x 9 ], 'all are queued');
		is($client->ask('EXEC'), array(row(1, 'a'), array(row(1, 'a'), $null, row(2, 'a')),
			$protocol == 3 ? map_of(map { bulk($_) } qw(id 1 v a)) : array(map { bulk($_) } qw(id 1 v a)), $protocol == 3 ? "%0\r\n" : "*0\r\n",
			"+PONG\r\n", bulk('x'), ":-1\r\n", "+none\r\n", "+OK\r\n"), 'and answered');
		queue($client);
		is($client->ask('EXEC'), "*0\r\n", 'nothing is an empty array');
		is($client->ask('GET', 'items:1'), row(1, 'a'), 'then as before');
	};
}

subtest 'what rueidis sends to cache a row' => sub {
	my $client = PlcResp->new($server, protocol => 3);

	$client->send(join '', map { command(split / /) } 'MULTI', 'PTTL items:1', 'GET items:1', 'EXEC', 'MULTI', 'PTTL items:0', 'GET items:0', 'EXEC');
	is(join('', $client->replies(8)), "+OK\r\n+QUEUED\r\n+QUEUED\r\n" . array(":-1\r\n", row(1, 'a')) . "+OK\r\n+QUEUED\r\n+QUEUED\r\n" . array(":-2\r\n", "_\r\n"), 'in one segment');
};

subtest 'errors while commands are queued abort' => sub {
	my $client = PlcResp->new($server);
	my $aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";

	foreach my $wrong ('FOO', 'GET', 'CLIENT FOO', 'HGET items:1')
	{
		my @replies = queue($client, 'SET items:1 {"v":"b"}', $wrong, 'GET items:1');
		like($replies[2], qr/^-ERR /, $wrong);
		is($replies[3], "+QUEUED\r\n", 'others are queued still');
		is($client->ask('EXEC'), $aborted, 'EXEC is aborted');
		is($client->ask('GET', 'items:1'), row(1, 'a'), 'nothing was done');
	}
	is($client->ask('EXEC'), "-ERR EXEC without MULTI\r\n", 'EXEC without MULTI');
	is($client->ask('DISCARD'), "-ERR DISCARD without MULTI\r\n", 'DISCARD without MULTI');
	is((queue($client, 'MULTI'))[1], "-ERR MULTI calls can not be nested\r\n", 'MULTI in MULTI');
	is($client->ask('GET', 'items:1'), "+QUEUED\r\n", 'goes on');
	like($client->ask('EXEC'), qr/^(\Q${\array(row(1, 'a'))}\E|\Q$aborted\E)\z/, 'whatever EXEC makes of it');
	queue($client, 'SET items:1 {"v":"b"}');
	is($client->ask('DISCARD'), "+OK\r\n", 'DISCARD');
	is($client->ask('GET', 'items:1'), row(1, 'a'), 'and nothing was done');
	like($client->ask('WATCH', 'items:1'), qr/^-ERR /, 'WATCH is refused, not ignored');
};

subtest 'errors while reads are run have their place among the replies' => sub {
	my $client = PlcResp->new($server);

	queue($client, 'GET items:1', 'GET items:abc', 'GET items:2', 'SELECT 99', 'GET items:1');
	like($client->ask('EXEC'), qr/^\*5\r\n\Q${\row(1, 'a')}\E-ERR [^\r\n]*\r\n\Q${\row(2, 'a')}\E-ERR DB index is out of range\r\n\Q${\row(1, 'a')}\E\z/, 'each its own');
};

subtest 'writes are done together or not at all' => sub {
	my ($client, $other) = map { client_on($server, $_) } 1, 2;

	queue($client, 'SET items:1 {"v":"b"}', 'GET items:1', 'DEL items:2', 'GET items:2', 'HSET items:3 v c', 'HGET items:3 v');
	is($other->ask('MGET', map { "items:$_" } 1 .. 3), array(map { row($_, 'a') } 1 .. 3), 'queued, nothing is done');
	is($client->ask('EXEC'), array("+OK\r\n", row(1, 'b'), ":1\r\n", "\$-1\r\n", ":0\r\n", bulk('c')), 'commands see what those before them did');
	is($other->ask('MGET', map { "items:$_" } 1 .. 3), array(row(1, 'b'), "\$-1\r\n", row(3, 'c')), 'others see all of it');

	queue($client, 'SET items:1 {"v":"x"}', 'DEL items:3', 'SET items:4 {"v":"forbidden"}', 'GET items:1');
	like($client->ask('EXEC'), qr/^-EXECABORT Transaction rolled back: [^\r\n]*check constraint[^\r\n]*\r\n\z/, 'an error undoes all');
	is($_->ask('MGET', map { "items:$_" } 1, 3, 4), array(row(1, 'b'), row(3, 'c'), row(4, 'a')), 'nothing was done') foreach $client, $other;

	queue($client, 'SET items:1 {"v":"x"}', 'GET items:abc');
	like($client->ask('EXEC'), qr/^-EXECABORT Transaction rolled back: [^\r\n]*\r\n\z/, 'an error of a read, too');
	is($other->ask('GET', 'items:1'), row(1, 'b'), 'nothing was done');

	queue($client, 'SET items:1 {"v":"lost"}');
	$client->close;
	poll_until(sub { $server->safe_psql('postgres', 'SELECT count(*) FROM local_cache.clients') eq '1' }, 'the server notices');
	is($other->ask('GET', 'items:1'), row(1, 'b'), 'whoever leaves has done nothing');
	$other->ask('SET', "items:$_", '{"v":"a"}') foreach 1 .. 3;
};

subtest 'a queue has an end' => sub {
	my $client = PlcResp->new($server);
	my $request = command('ECHO', 'x' x 100000);

	$client->send(command('MULTI'));
	$client->reply;
	$client->send($request x 30);
	my @replies = $client->replies(30);
	like($replies[-1], qr/^-ERR [^\r\n]*\r\n\z/, 'three megabytes are too much');
	is($replies[0], "+QUEUED\r\n", 'though one is not');
	like($client->ask('EXEC'), qr/^-EXECABORT /, 'EXEC is aborted');
	is($client->ask('PING'), "+PONG\r\n", 'the connection lives');

	queue($client, ('GET large:1') x 20);
	like($client->ask('EXEC'), qr/^(-[A-Z]+ [^\r\n]*|\*20\r\n.*)\r\n\z/s, 'a reply beyond output_limit is an error');
	is($client->ask('GET', 'items:1'), row(1, 'a'), 'the connection lives');
};

# A worker is stopped where it fetches the first row of several; meanwhile one transaction changes them all.  The rows are
# of two tables, of which the turn has none yet.
subtest 'all reads of an EXEC, and of an MGET, have one snapshot' => sub {
	plan skip_all => GdbStop::missing() if GdbStop::missing();
	my ($client, $other) = map { client_on($server, $_) } 1, 2;
	my %worker = map { $_->{number} => $_->{pid} } resp_workers($server);
	my @keys = qw(items:1 more:1 items:2 more:2);
	my $all = sub { my ($v) = @_; return array(map { row($_, $v) } 1, 1, 2, 2) };

	foreach my $what ('EXEC', 'MGET')
	{
		$writer->say("UPDATE $_ SET v = 'old' WHERE id <= 2") foreach qw(items more);
		$writer->say("SELECT local_cache.invalidate('$_')") foreach qw(items more);
		queue($client, map { "GET $_" } @keys) if $what eq 'EXEC';
		my $stop = GdbStop->new($worker{1}, 'plc_fetch_row');

		$client->send($what eq 'EXEC' ? command('EXEC') : command('MGET', @keys));
		$stop->wait_stopped;
		$writer->say(q(BEGIN; UPDATE items SET v = 'new' WHERE id <= 2; UPDATE more SET v = 'new' WHERE id <= 2; COMMIT));
		is($other->ask('MGET', @keys), $all->('new'), 'others see the new rows');
		$stop->release;
		is($client->reply, $all->('old'), "$what answers with the old ones, all of them");
		is($client->ask('MGET', @keys), $all->('new'), 'then with the new ones');
	}
};

unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC/, 'nothing leaked');
done_testing();
