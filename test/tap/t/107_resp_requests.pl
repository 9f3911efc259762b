# Requests in every form and in pieces, floods of them, and what ends a connection and what does not.
use strict;
use warnings;

use PlcTest;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

# One worker, so that one connection can tell what the worker has received from another.
my $server = resp_server('requests', conf => q(
	pg_local_cache.workers = 1
	pg_local_cache.request_limit = 1MB
	pg_local_cache.output_limit = 1MB), sql => q(
	CREATE TABLE items (id bigint PRIMARY KEY, name text);
	INSERT INTO items VALUES (1, 'apple'), (2, 'pear');
	GRANT ALL ON items TO app;
	SELECT local_cache.attach_table('items', writable => true, namespace => 'items')));
my ($one, $two) = (q({"id":1,"name":"apple"}), q({"id":2,"name":"pear"}));
my $probe = PlcResp->new($server);

# The worker has received all that was sent to it before.
sub received { return $probe->ask('PING') eq "+PONG\r\n" }

# Inline commands, and what is no command.
my @inline = (
	[ "PING\r\n", "+PONG\r\n" ],
	[ "PING\n", "+PONG\r\n" ],
	[ "  ping  \r\n", "+PONG\r\n" ],
	[ "\r\n", '' ],
	[ "\n\n   \r\n", '' ],
	[ "*0\r\n", '' ],
	[ "*-1\r\n", '' ],
	[ qq(ECHO "a b\\x41\\n\\"" \r\n), bulk("a bA\n\"") ],
	[ qq(ECHO 'a "b" \\'c\\''\r\n), bulk(q(a "b" 'c')) ],
	[ qq(ECHO ""\r\n), bulk('') ],
	[ "GET items:1\r\n", bulk($one) ],
	[ qq(GET 'CRUD:postgres.public.items:{"id":1}'\r\n), bulk($one) ],
	[ qq(GET "CRUD:postgres.public.items:{\\"id\\":1}"\n), bulk($one) ],
	[ "GET CRUD:postgres.public.items:1\r\n", bulk($one) ],
	[ 'ECHO ' . 'x' x 60000 . "\r\n", bulk('x' x 60000) ],
);

subtest 'inline commands, empty lines, *0 and *-1' => sub {
	my $client = PlcResp->new($server);

	foreach my $case (@inline)
	{
		$client->send($case->[0] . command(qw(ECHO end)));
		my ($got, $reply) = ('');
		$got .= $reply while ($reply = $client->reply) ne bulk('end');
		reply_is($got, $case->[1], $case->[0]);
	}
};

# What ends a connection: the bytes, the reply before the end.  Alone: without more bytes after it.
sub protocol_error { return error("ERR Protocol error: $_[0]") }
my @fatal = (
	[ "*1\r\n\$-1\r\n", protocol_error('invalid bulk length') ],
	[ "*1\r\n\$536870913\r\n", protocol_error('invalid bulk length') ],
	[ "*1\r\n\$x\r\n", protocol_error('invalid bulk length') ],
	[ "*1\r\n\$99999999999999999999\r\n", protocol_error('invalid bulk length') ],
	[ "*abc\r\n", protocol_error('invalid multibulk length') ],
	[ "*01\r\n", protocol_error('invalid multibulk length') ],
	[ "*+1\r\n", protocol_error('invalid multibulk length') ],
	[ "*99999999999999999999\r\n", protocol_error('invalid multibulk length') ],
	[ "*2147483648\r\n", protocol_error('invalid multibulk length') ],
	[ "*1\r\n:4\r\n", protocol_error("expected '\$', got ':'") ],
	[ "*1\r\n\r\n\r\n", protocol_error(q(expected '$', got '\x0d')) ],
	[ "*1\r\n\$4\r\nPINGxx", qr/^-ERR Protocol error: [^\r\n]+\r\n\z/ ],
	[ '*' . '1' x 70000, protocol_error('too big mbulk count string'), 'alone' ],
	[ "*1\r\n\$" . '1' x 70000, protocol_error('too big bulk count string'), 'alone' ],
	[ 'x' x 70000, protocol_error('too big inline request'), 'alone' ],
	[ qq(GET CRUD:postgres.public.items:{"id":1}\r\n), protocol_error('unbalanced quotes in request') ],
	[ qq(ECHO "a\r\n), protocol_error('unbalanced quotes in request') ],
	[ qq(ECHO "a"b\r\n), protocol_error('unbalanced quotes in request') ],
);

subtest 'protocol errors are answered once, after what came before, and end the connection' => sub {
	my $before = metrics($server);

	foreach my $case (@fatal)
	{
		my ($bytes, $expected, $alone) = @$case;
		my $client = PlcResp->new($server);

		$client->send(command(qw(ECHO before)) . $bytes . ($alone ? '' : command('PING')));
		is($client->reply, bulk('before'), 'the command before it is answered');
		reply_is($client->rest, $expected, $bytes);
		ok(received(), 'others go on');
	}
	is(metrics($server)->{client_protocol_errors} - $before->{client_protocol_errors}, scalar @fatal, 'they are counted');
};

subtest 'HTTP is cut off without a word' => sub {
	foreach my $request ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET / HTTP/1.1\r\nAccept: */*\r\nHost: localhost\r\n\r\n")
	{
		my $client = PlcResp->new($server);

		# A body may follow, and what it says must not be run.
		$client->send($request . command(qw(SET items:9 {})));
		is($client->rest =~ s/^-ERR wrong number of arguments for 'get' command\r\n//r, '', (split /\r/, $request)[0]);
	}
	is($probe->ask(qw(EXISTS items:9)), ":0\r\n", 'nothing was run');
};

subtest 'errors of commands end nothing' => sub {
	my $client = PlcResp->new($server);

	$client->ask('FOO'), $client->ask('GET'), $client->ask('HGET', 'x') for 1 .. 1000;
	is($client->ask('PING'), "+PONG\r\n", 'after three thousand errors');
};

subtest 'QUIT is answered, what follows is not' => sub {
	my $client = PlcResp->new($server);

	$client->send(command('PING') . command('QUIT') . command('PING') . "*garbage\r\n");
	is($client->rest, "+PONG\r\n+OK\r\n", 'then the server closes');
	$client = PlcResp->new($server);
	$client->send(command('PING') x 1000 . command(qw(GET items:1)));
	$client->shut;
	is($client->rest, "+PONG\r\n" x 1000 . bulk($one), 'whoever closes gets the replies to whole commands');
};

subtest 'whoever ends, and however, gets all replies to what came before, large as they are' => sub {
	my $text = 'x' x 100000;
	my $replies = bulk($text) x 100;

	foreach my $case ([ 'a half closed connection', '', '' ], [ 'QUIT', command('QUIT'), "+OK\r\n" ], [ 'a protocol error', "*x\r\n", protocol_error('invalid multibulk length') ])
	{
		my ($what, $end, $last) = @$case;
		my $client = PlcResp->new($server, receive_buffer => 4096);

		$client->send(command('ECHO', $text) x 100 . $end);
		$client->shut if $end eq '';
		ok($client->rest eq $replies . $last, $what);
	}

	my ($client, $session) = (PlcResp->new($server), PlcSession->new($server));
	$session->say('BEGIN; LOCK TABLE items');
	$client->send(command(qw(GET items:1)) . command('PING'));
	$client->shut;
	poll_until(sub { metrics($server)->{client_parked} > 0 }, 'the request waits');
	$session->say('COMMIT');
	is($client->rest, bulk($one) . "+PONG\r\n", 'and so does who has to wait for them');
};

# Some of each kind.
my @mixed = (
	[ command('PING'), "+PONG\r\n" ],
	[ command('GET', 'CRUD:postgres.public.items:{"id": 1}'), bulk($one) ],
	[ "\r\nPING\n", "+PONG\r\n" ],
	[ "*0\r\n", '' ],
	[ command('ECHO', "\r\n\$0*\0"), bulk("\r\n\$0*\0") ],
	[ qq(ECHO "a \\x41"\r\n), bulk('a A') ],
	[ command('FOO'), error("ERR unknown command 'FOO', with args beginning with: ") ],
	[ command('ECHO', ''), bulk('') ],
);
my ($mixed_requests, $mixed_replies) = map { my $i = $_; join '', map { $_->[$i] } @mixed } 0, 1;

subtest 'requests in two pieces, cut anywhere' => sub {
	my $client = PlcResp->new($server);
	my @wrong;

	foreach my $cut (1 .. length($mixed_requests) - 1)
	{
		$client->send(substr $mixed_requests, 0, $cut);
		received();
		$client->send(substr $mixed_requests, $cut);
		push @wrong, $cut if join('', $client->replies(7)) ne $mixed_replies;
	}
	is_deeply(\@wrong, [], 'the same replies');
	ok($client->quiet, 'and no more');
};

subtest 'requests byte by byte' => sub {
	my $client = PlcResp->new($server);

	$client->send($_), received() for split //, $mixed_requests;
	is(join('', $client->replies(7)), $mixed_replies, 'the same replies');
};

subtest 'requests that end anywhere' => sub {
	my @wrong;

	foreach my $end (0 .. length $mixed_requests)
	{
		my $client = PlcResp->new($server);

		$client->send(substr $mixed_requests, 0, $end);
		$client->shut;
		my ($got, $before) = ($client->rest, '');
		my ($requests, $expected) = ('', '');
		foreach my $case (@mixed)
		{
			last if length($requests .= $case->[0]) > $end;
			$expected .= $case->[1];
		}
		push @wrong, $end if $got ne $expected && !($expected eq '' || index($got, $expected) == 0);
		push @wrong, "$end: $got" if $got ne $expected && substr($mixed_requests, $end - 1, 1) ne "\n";
	}
	is_deeply(\@wrong, [], 'whole commands are answered, the rest is not');
};

# Kilobytes of the worker's own memory, without what it shares.
my ($worker) = resp_workers($server);
sub own_kilobytes
{
	my ($kilobytes) = slurp_file("/proc/$worker->{pid}/status") =~ /^RssAnon:\s+(\d+)/m;
	return $kilobytes;
}

subtest 'a million commands in one stream take little memory' => sub {
	foreach my $case ([ command('PING'), "+PONG\r\n" ], [ "PING\n", "+PONG\r\n" ], [ command(qw(GET items:1)), bulk($one) ])
	{
		my ($request, $reply) = @$case;
		my $client = PlcResp->new($server);
		my ($replies, $most, $wrong, $read) = (0, 0, 0, 0);
		my $expected = $reply x 1000;
		my $count = sub {
			my ($in) = @_;

			while (length $$in >= length $expected)
			{
				$wrong++ if substr($$in, 0, length $expected, '') ne $expected;
				$replies += 1000;
			}
			return if $read++ % 100;
			my $now = own_kilobytes();
			$most = $now if $now > $most;
		};
		my $before = own_kilobytes();

		$client->send($request x 10000, $count) for 1 .. 100;
		$client->send(command(qw(ECHO end)), $count);
		my $rest = '';
		while ((my $next = $client->reply) ne bulk('end')) { $rest .= $next }
		$replies += length($rest) / length($reply);
		is($rest, $reply x (length($rest) / length($reply)), 'the last replies are right');
		is($replies, 1000000, 'as many replies as commands');
		is($wrong, 0, 'all as they should be');
		cmp_ok($most - $before, '<', 8 * 1024, 'kilobytes that the worker took on');
	}
};

subtest 'arguments by the thousand' => sub {
	my $client = PlcResp->new($server);
	my @keys = map { "items:$_" } 1 .. 50000;

	is($client->ask('EXISTS', @keys), ":2\r\n", '50,000 keys');
	is($client->ask('MGET', @keys), array(bulk($one), bulk($two), (bulk(undef)) x 49998), 'and in MGET');
	is($client->ask('PING'), "+PONG\r\n", 'then as before');
};

subtest 'before it has authenticated itself, a client may do little' => sub {
	my $unauthenticated = error('NOAUTH Authentication required.');
	my $client;

	$server->append_conf('postgresql.conf', q(pg_local_cache.role = ''));
	$server->reload;
	poll_until(sub { $client = PlcResp->new($server); $client->ask('PING') eq $unauthenticated }, 'the role is taken away');

	is($client->ask('GET', 'items:1'), $unauthenticated, 'GET');
	is($client->ask('CLIENT', 'ID'), $unauthenticated, 'CLIENT ID');
	is($client->ask('INFO'), $unauthenticated, 'INFO');
	is($client->ask('FOO'), error("ERR unknown command 'FOO', with args beginning with: "), 'an unknown command is one');
	is($client->ask('GET'), arity('get'), 'and a wrong number of arguments');
	like($client->ask('HELLO', '3'), qr/^-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used/, 'HELLO without AUTH');
	is($client->ask('PING'), $unauthenticated, 'changes nothing');
	is($client->ask('MULTI'), $unauthenticated, 'MULTI');
	is($client->ask('RESET'), "+RESET\r\n", 'RESET is allowed');
	is($client->ask('GET', ('x') x 9), arity('get'), 'ten words are allowed');
	is($client->ask('ECHO', 'x' x 16384), $unauthenticated, 'so are 16,384 bytes');
	$client->send("*11\r\n");
	is($client->rest, protocol_error('unauthenticated multibulk length'), 'eleven words are not');
	$client = PlcResp->new($server);
	$client->send("*2\r\n\$4\r\nECHO\r\n\$16385\r\n");
	is($client->rest, protocol_error('unauthenticated bulk length'), 'nor 16,385 bytes');
	$client = PlcResp->new($server);
	is($client->ask('QUIT'), "+OK\r\n", 'QUIT is allowed');
	is($client->rest, '', 'and closes');
	$client = PlcResp->new($server);
	$client->send(command('PING') x 100000);
	is($_, $unauthenticated, 'a pipeline of a hundred thousand is answered') for grep { $_ ne $unauthenticated || !$client->{once}++ } $client->replies(100000);
};

unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC|FATAL:(?!.*shut)/, 'nothing leaked');
done_testing();
