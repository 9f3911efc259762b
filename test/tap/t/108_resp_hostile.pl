# A client that means harm, with few bytes: it may cost itself an error or its connection, and others nothing.
use strict;
use warnings;

use PlcTest;
use PlcResp;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = resp_server('hostile', conf => q(
	pg_local_cache.workers = 1
	pg_local_cache.output_limit = 64kB
	pg_local_cache.statement_timeout = 3s), sql => q(
	CREATE TABLE items (id int PRIMARY KEY, v text);
	INSERT INTO items VALUES (1, 'x'), (2, repeat('x', 1000000));
	CREATE TABLE edge (id int PRIMARY KEY, v text);
	CREATE TYPE sleeper AS ENUM ('sleeps');
	CREATE FUNCTION as_json(sleeper) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN '""'; END $$;
	CREATE CAST (sleeper AS json) WITH FUNCTION as_json(sleeper);
	CREATE TABLE slow (id int PRIMARY KEY, v sleeper);
	INSERT INTO slow VALUES (1, 'sleeps');
	GRANT SELECT ON items, edge, slow TO app;
	SELECT local_cache.attach_table('items', namespace => 'items'), local_cache.attach_table('edge', namespace => 'edge'),
		local_cache.attach_table('slow', namespace => 'slow')));
my $client = PlcResp->new($server);
my ($worker) = map { $_->{pid} } resp_workers($server);

# The most memory that the worker has had since forget_peak(), in kilobytes.
sub peak
{
	my ($kilobytes) = slurp_file("/proc/$worker/status") =~ /^VmHWM:\s+(\d+)/m;
	return $kilobytes;
}

sub forget_peak
{
	append_to_file("/proc/$worker/clear_refs", '5');
	return peak();
}

sub alive { is($client->ask('PING'), "+PONG\r\n", "$_[0]: the next reply is the next command's") }

# Replies that do not fit

$client->send(command('MULTI') . command(ECHO => 'x' x 500000) . command(GET => 'items:abc') . command('EXEC'));
$client->replies(3);
is($client->reply, error('EXECABORT Transaction rolled back: ERR the reply is larger than pg_local_cache.output_limit'),
	'an element of EXEC that does not fit is not forgotten over the error behind it');
alive('EXEC');

# GETs that are run together may write output_limit and 256 kB; these leave two bytes of it, where no null fits.
my $room = 64 * 1024 + 256 * 1024 - 2;
for my $id (1 .. 5)
{
	my $bytes = $id < 5 ? 65000 : $room;

	my $around = length(bulk('x' x 10000)) - 10000 + length(qq({"id":$id,"v":""}));
	$server->safe_psql('postgres', "INSERT INTO edge VALUES ($id, repeat('x', @{[ $bytes - $around ]}))");
	$room -= $bytes;
}
$client->send(join('', map { command(GET => "edge:$_") } 1 .. 6) . command(ECHO => 'last'));
is(length $client->reply, $_, "a GET of $_ bytes") for (65000) x 4, 64 * 1024 + 256 * 1024 - 2 - 4 * 65000;
is($client->reply, bulk(undef), 'the null that did not fit');
is($client->reply, bulk('last'), 'as many replies as commands');

# Memory

my $n = 300;
$client->ask(STRLEN => 'items:2');
my $before = forget_peak();
$client->send(command('MULTI') . command(STRLEN => 'items:2') x $n . command('EXEC'));
$client->replies($n + 1);
is($client->reply, array((":1000015\r\n") x $n), 'EXEC reads a large row often');
cmp_ok(peak() - $before, '<', 100_000, 'in the memory of a few');

$before = forget_peak();
is($client->ask(CONFIG => 'GET', ('z') x 1_000_000), array(), 'CONFIG GET of a million patterns');
cmp_ok(peak() - $before, '<', 150_000, 'in the memory of the request');

# Time

for my $search ([ SCAN => '0' ], [ HSCAN => 'items:1', '0' ])
{
	is($client->ask(@$search, MATCH => 'x' x 4097), error('ERR pattern is longer than 4096 bytes'), "$search->[0]: a long pattern");
	is($client->ask(@$search, MATCH => 'x' x 4096), "*2\r\n\$1\r\n0\r\n*0\r\n", "$search->[0]: the longest pattern");
}

my $id = $client->get(CLIENT => 'ID');
my @ids = ((map { $_ * 1000 } reverse 1 .. 1000), $id, $id, 1 .. 1);
is(() = $client->get(CLIENT => LIST => ID => @ids) =~ /^id=$id /mg, 1, 'CLIENT LIST finds an id among many, once');

# 200 requests, each of 10 ms, are fewer than pipeline_limit.
my $greedy = PlcResp->new($server);
$id = $greedy->get(CLIENT => 'ID');
$greedy->send(command(STRLEN => 'slow:1') x 200);
$greedy->reply;
like($client->get(CLIENT => LIST => ID => $id), qr/ qbuf=[1-9]/, 'slow requests are not all run in one turn');
$greedy->replies(199);
alive('slow requests');

# 600 commands of 10 ms
$client->send(command('MULTI') . command(STRLEN => 'slow:1') x 600 . command('EXEC'));
$client->replies(601);
is($client->reply, error('EXECABORT Transaction rolled back: ERR canceling statement due to statement timeout'),
	'the time limit is of EXEC, not of one command in it');
alive('EXEC');

# Strangers

my $token = $server->data_dir . '/token';
append_to_file($token, 'a' x 32);
chmod 0600, $token;
$server->append_conf('postgresql.conf', "pg_local_cache.token_file = 'token'\nauthentication_timeout = 1s\n");
$server->reload;
poll_until(sub { $greedy->ask('PING') =~ /^-NOAUTH/ || PlcResp->new($server)->ask('PING') =~ /^-NOAUTH/ }, 'a token is wanted');
is(PlcResp->new($server)->ask(COMMAND => 'HELP'), error('NOAUTH Authentication required.'), 'no HELP for strangers');
my $friend = PlcResp->new($server);
is($friend->ask(AUTH => 'a' x 32), "+OK\r\n", 'who has the token is let in');
my $stranger = PlcResp->new($server);
my $guesser = PlcResp->new($server);
$stranger->ask('PING');
$guesser->send(command(AUTH => 'wrong') x 1000);
is($stranger->rest, '', 'who does not authenticate is sent away');
unlike($guesser->rest, qr/OK/, 'and so is who guesses on and on');
is($friend->ask('PING'), "+PONG\r\n", 'who did stays');

is((resp_workers($server))[0]{pid}, $worker, 'the worker has outlived it all');
done_testing();
