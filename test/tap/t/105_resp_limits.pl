# One client harms no other: who does not read, asks for too much, sends half of something, sends without end, or is one
# of ten thousand.
use strict;
use warnings;

# Ten thousand connections take as many descriptors; a process may raise its limit only before it begins.
BEGIN
{
	if (!$ENV{PLC_DESCRIPTORS}++)
	{
		my @self = ($^X, (map { "-I$_" } @INC), $0);
		exec 'sh', '-c', 'ulimit -n "$(ulimit -Hn)" 2>/dev/null; exec "$@"', 'sh', @self;
	}
}

use PlcTest;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Socket;
use Test::More;

my $server = resp_server('limits', conf => q(
	pg_local_cache.workers = 1
	pg_local_cache.max_clients = 40
	pg_local_cache.request_limit = 64kB
	pg_local_cache.output_limit = 1MB
	pg_local_cache.pipeline_limit = 10), sql => q(
	CREATE TABLE items (id int PRIMARY KEY, v text);
	INSERT INTO items SELECT i, repeat('x', CASE WHEN i > 100 THEN 100000 ELSE 1 END) FROM generate_series(1, 120) i;
	CREATE TYPE sleeper AS ENUM ('sleeps', 'wakes');
	CREATE FUNCTION as_json(sleeper) RETURNS json LANGUAGE plpgsql AS $$ BEGIN IF $1 = 'sleeps' THEN PERFORM pg_sleep(3600); END IF; RETURN '""'; END $$;
	CREATE CAST (sleeper AS json) WITH FUNCTION as_json(sleeper);
	CREATE TABLE slow (id int PRIMARY KEY, v sleeper);
	INSERT INTO slow VALUES (1, 'sleeps'), (2, 'wakes');
	GRANT SELECT ON items, slow TO app;
	SELECT local_cache.attach_table('items', namespace => 'items'), local_cache.attach_table('slow', namespace => 'slow')));
my $probe = PlcResp->new($server);
my $session = PlcSession->new($server);
my ($worker) = map { $_->{pid} } resp_workers($server);
my $large = large(101);
my $small = bulk('{"id":1,"v":"x"}');

sub large { my ($id) = @_; return bulk(qq({"id":$id,"v":") . 'x' x 100000 . '"}') }

# Kilobytes of a process's own memory, without what it shares.
sub own_kilobytes
{
	my ($kilobytes) = slurp_file("/proc/$_[0]/status") =~ /^RssAnon:\s+(\d+)/m;
	return $kilobytes;
}

sub connected { return $session->say('SELECT count(*) FROM local_cache.clients') }

sub set
{
	my ($name, $value) = @_;

	$server->append_conf('postgresql.conf', "pg_local_cache.$name = $value\n");
	$server->reload;
}

# What the worker has done for this client and the server says of it.
sub client_has
{
	my ($client, $condition, $what) = @_;
	my $id = $client->{id} //= $client->get(qw(CLIENT ID));

	poll_until(sub { $session->say("SELECT $condition FROM local_cache.clients WHERE id = $id") eq 't' }, $what);
}

subtest 'who does not read is not read from, and holds up nobody' => sub {
	my @slow = map { PlcResp->new($server, receive_buffer => 4096) } 1 .. 10;
	my $before = own_kilobytes($worker);

	$_->{id} = $_->get(qw(CLIENT ID)) foreach @slow;
	foreach my $client (@slow)
	{
		my $requests = command('GET', 'items:101') x 300;
		$requests = substr $requests, $client->send_some($requests);
		is($requests, '', 'a pipeline of thirty megabytes of replies');
		client_has($client, 'output > 0', 'replies wait');
		is($probe->ask('GET', 'items:1'), $small, 'others are served');
	}
	cmp_ok(own_kilobytes($worker) - $before, '<', 10 * 1024, 'kilobytes that the worker took on for ten of them');
	is($probe->ask('GET', 'items:1'), $small, 'others are served') for 1 .. 100;
	$_->abort foreach @slow[ 5 .. 9 ];
	foreach my $client (@slow[ 0 .. 4 ])
	{
		my @wrong = grep { $_ ne $large } $client->replies(300);
		is(@wrong, 0, 'who reads in the end has all replies');
		is($client->ask('PING'), "+PONG\r\n", 'and goes on');
		$client->close;
	}
	poll_until(sub { connected() eq '1' }, 'the server notices who has gone');
	cmp_ok(own_kilobytes($worker) - $before, '<', 3 * 1024, 'kilobytes that are left of it');
};

subtest 'a reply beyond output_limit is an error in its place' => sub {
	my $client = PlcResp->new($server);
	my @many = map { "items:$_" } 101 .. 120;
	my $error = "-ERR the reply is larger than pg_local_cache.output_limit\r\n";

	is($client->ask('MGET', @many), $error, 'MGET of two megabytes');
	ok($client->ask('MGET', @many[ 0 .. 4 ]) eq array(map { large($_) } 101 .. 105), 'MGET of half a megabyte');
	$client->send(command('PING') . command('MGET', @many) . command('GET', 'items:1'));
	is(join('', $client->replies(3)), "+PONG\r\n$error$small", 'among others');
	$client->send(command('MULTI') . command('MGET', @many) . command('PING') . command('EXEC') . command('PING'));
	like(join('', $client->replies(5)), qr/^\+OK\r\n\+QUEUED\r\n\+QUEUED\r\n(\*2\r\n)?-[A-Z]+ [^\r\n]*\r\n(\+PONG\r\n){1,2}\z/, 'in EXEC');
	is($client->ask('GET', 'items:101'), $large, 'then as before');
};

subtest 'a request beyond request_limit ends the connection' => sub {
	my $fits = 'x' x 60000;

	is(PlcResp->new($server)->ask('ECHO', $fits), bulk($fits), 'one that fits');
	foreach my $case ([ 'one large argument', command('ECHO', 'x' x 70000) ], [ 'the promise of one', "*2\r\n\$4\r\nECHO\r\n\$70000\r\n" ], [ 'many small ones', command('MGET', ('items:1234567') x 4000) ],
		[ 'the promise of many', "*10000\r\n" ], [ 'no end of a line', 'x' x 140000 ])
	{
		my $client = PlcResp->new($server);

		$client->send(command('PING') . $case->[1]);
		like($client->rest, qr/^\+PONG\r\n-ERR Protocol error: [^\r\n]+\r\n\z/, $case->[0]);
		is($probe->ask('PING'), "+PONG\r\n", 'others go on');
	}
};

subtest 'who dies in the middle leaves nothing' => sub {
	my $before = own_kilobytes($worker);
	my $row = command('GET', 'items:101');

	foreach my $i (1 .. 300)
	{
		my $client = PlcResp->new($server);

		$client->send((substr($row, 0, $i % length $row), $row x 20, "*3\r\n\$60000\r\n" . 'x' x 50000, command('MULTI') . $row)[ $i % 4 ]);
		$i % 3 ? $client->abort : $client->close;
		poll_until(sub { connected() < 20 }, 'the server notices') if $i % 20 == 0;
	}
	poll_until(sub { connected() eq '1' }, 'the server notices all');
	is($probe->ask('GET', 'items:1'), $small, 'others go on');
	cmp_ok(own_kilobytes($worker) - $before, '<', 4 * 1024, 'kilobytes that are left of them');
};

subtest 'max_clients' => sub {
	my @clients = map { PlcResp->new($server) } 1 .. 39;
	my $before = metrics($server)->{client_limit_rejections};

	is($_->ask('PING'), "+PONG\r\n") foreach @clients[ 0, -1 ];
	foreach (1 .. 3)
	{
		my $client = PlcResp->new($server);
		$client->send(command('PING')) if $_ > 1;
		like($client->rest, qr/^-ERR max number of clients reached\r\n\z/, 'one too many');
	}
	is(metrics($server)->{client_limit_rejections} - $before, 3, 'they are counted');
	is($_->ask('PING'), "+PONG\r\n", 'others go on') foreach $probe, @clients[ 0, -1 ];
	(shift @clients)->close;
	poll_until(sub { connected() eq '39' }, 'the server notices');
	is(PlcResp->new($server)->ask('PING'), "+PONG\r\n", 'when one leaves there is room again');
};

subtest 'pipeline_limit: a long pipeline does not hold up a single request' => sub {
	my ($greedy, $modest) = map { PlcResp->new($server) } 1 .. 2;
	my $before;

	$_->ask('PING') foreach $greedy, $modest;
	$before = metrics($server)->{client_commands};
	# The worker finds both when it wakes up.
	kill 'STOP', $worker;
	$greedy->send(command('GET', 'items:1') x 1000);
	$modest->send(command('STAT'));
	kill 'CONT', $worker;
	my ($commands) = $modest->reply =~ /"client_commands": ?(\d+)/;
	cmp_ok($commands - $before, '<', 100, 'commands of the other one that came first');
	is(scalar(grep { $_ ne $small } $greedy->replies(1000)), 0, 'which are answered, too');
};

subtest 'statement_timeout' => sub {
	my $client = PlcResp->new($server);

	set('statement_timeout', '100ms');
	poll_until(sub { $session->say('SHOW pg_local_cache.statement_timeout') eq '100ms' }, 'reload');
	$client->send(command('GET', 'items:1') . command('GET', 'slow:1') . command('GET', 'items:1'));
	is(join('', $client->replies(3)), "$small-ERR canceling statement due to statement timeout\r\n$small", 'costs one command its reply');
	is($client->ask('GET', 'slow:2'), bulk('{"id":2,"v":""}'), 'not one that is quick');
	$session->say('SELECT pg_sleep(0.2)');
	like($client->ask('GET', 'slow:1'), qr/canceling statement due to statement timeout/, 'each has its own time, from its own beginning');
	$client->send(command('MULTI') . command('GET', 'slow:1') . command('EXEC') . command('GET', 'items:1'));
	like(join('', $client->replies(4)), qr/^\+OK\r\n\+QUEUED\r\n(\*1\r\n)?-[A-Z]+ [^\r\n]*canceling statement due to statement timeout\r\n\Q$small\E\z/, 'in EXEC');
	set('statement_timeout', 0);
};

subtest 'client_idle_timeout' => sub {
	my ($waiting, @idle) = map { PlcResp->new($server) } 1 .. 4;
	my $before = metrics($server)->{client_timeouts};

	$session->say('BEGIN; LOCK TABLE items');
	$waiting->send(command('GET', 'items:1'));
	$idle[1]->ask('PING');
	$idle[2]->send("*2\r\n\$3\r\nG");
	set('client_idle_timeout', '100ms');
	is($_->rest, '', 'who says nothing is cut off') foreach @idle;
	cmp_ok(metrics($server)->{client_timeouts} - $before, '>=', 3, 'they are counted');
	$session->say('COMMIT');
	is($waiting->reply, $small, 'who waits for a reply is not idle');
	set('client_idle_timeout', 0);
	$probe = poll_until(sub { my $new = PlcResp->new($server); $new->ask('PING') && $session->say('SHOW pg_local_cache.client_idle_timeout') eq '0' && $new }, 'reload');
	is($probe->ask('PING'), "+PONG\r\n", 'without it, nobody is');
};

$session->quit;
$server->stop;

subtest 'ten thousand idle clients' => sub {
	my $n = 10000;
	my ($limit) = slurp_file("/proc/$$/limits") =~ /^Max open files +(\d+)/m;

	plan skip_all => "$limit open files are too few; this needs " . ($n + 200) if $limit < $n + 200;
	my $crowded = resp_server('crowd', conf => q(
		pg_local_cache.max_clients = 10100), sql => q(
		CREATE TABLE items (id int PRIMARY KEY, v text);
		INSERT INTO items VALUES (1, 'x');
		GRANT SELECT ON items TO app;
		SELECT local_cache.attach_table('items', namespace => 'items')));
	my $address = pack_sockaddr_in($crowded->{resp_port}, inet_aton('127.0.0.1'));
	my $request = command('PING') . command('MGET', ('items:1') x 200);
	my $expected = "+PONG\r\n" . array(($small) x 200);
	my @pids = map { $_->{pid} } resp_workers($crowded);
	my $before = 0;
	my @sockets;
	my $wrong = 0;

	PlcResp->new($crowded)->ask('GET', 'items:1') for 1 .. 20;
	$before += own_kilobytes($_) foreach @pids;
	for my $i (1 .. $n)
	{
		my $socket;
		socket($socket, AF_INET, SOCK_STREAM, 0) && connect($socket, $address) or die "could not connect client $i: $!";
		syswrite $socket, $request;
		push @sockets, $socket;
	}
	foreach my $socket (@sockets)
	{
		my $got = '';
		while (length $got < length $expected) { sysread $socket, $got, 10000, length $got or last }
		$wrong++ if $got ne $expected;
	}
	is($wrong, 0, 'each has been served');
	is($crowded->safe_psql('postgres', 'SELECT count(*) FROM local_cache.clients'), $n, 'all are connected');
	my $after = 0;
	$after += own_kilobytes($_) foreach @pids;
	note 'bytes a client: ' . ($after - $before) * 1024 / $n;
	cmp_ok(($after - $before) * 1024 / $n, '<', 2048, 'bytes of the workers that each takes');
	is(PlcResp->new($crowded)->ask('GET', 'items:1'), $small, 'another one is served');
	close $_ foreach @sockets;
	poll_until(sub { $crowded->safe_psql('postgres', 'SELECT count(*) FROM local_cache.clients') eq '0' }, 'all are gone');
	is(PlcResp->new($crowded)->ask('GET', 'items:1'), $small, 'and one is served');
	$crowded->stop;
};

unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC/, 'nothing leaked');
done_testing();
