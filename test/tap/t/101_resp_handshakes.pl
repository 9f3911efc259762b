# What each client says when it connects: in one segment, a byte at a time, and with a wrong password.  Each command gets
# exactly one reply, in order, whatever came before it.
use strict;
use warnings;

use PlcTest;
use PlcResp;
use PostgreSQL::Test::Utils;
use Test::More;

my $token = 'a token that has at least 32 bytes';
my $server = resp_server('handshakes', conf => "pg_local_cache.workers = 1\n", sql => q(
	ALTER ROLE app PASSWORD 'secret';
	CREATE TABLE items (id int PRIMARY KEY, name text);
	INSERT INTO items VALUES (1, 'apple');
	GRANT SELECT ON items TO app;
	SELECT local_cache.attach_table('items', namespace => 'items')));
my $token_file = $server->data_dir . '/token';
append_to_file($token_file, "$token\n");
chmod 0600, $token_file or die "could not chmod: $!";
$server->append_conf('postgresql.conf', "pg_local_cache.token_file = 'token'\n");
$server->reload;
poll_until(sub { PlcResp->new($server)->ask('PING') =~ /^-NOAUTH/ }, 'the token is wanted');

# A script is a list of commands with the kind of their reply; USER and PASSWORD stand for a role's or the token's.
my %kind = (
	ok => qr/^\+OK\r\n\z/,
	hello2 => qr/^\*14\r\n\$6\r\nserver\r\n\$5\r\nredis\r\n\$7\r\nversion\r\n\$5\r\n7\.4\.0\r\n\$5\r\nproto\r\n:2\r\n/,
	hello3 => qr/^%7\r\n\$6\r\nserver\r\n\$5\r\nredis\r\n\$7\r\nversion\r\n\$5\r\n7\.4\.0\r\n\$5\r\nproto\r\n:3\r\n/,
	error => qr/^-ERR [^\r\n]+\r\n\z/,
	cluster => qr/^-ERR [^\r\n]*cluster[^\r\n]*\r\n\z/,
	subcommand => qr/^-ERR unknown subcommand '[^\r\n]*\r\n\z/,
	integer => qr/^:\d+\r\n\z/,
	info => qr/^[\$=]\d+\r\n.*redis_version:7\.4\.0\r\n.*role:master\r\n/s,
	replication => qr/^[\$=]\d+\r\n.*role:master\r\n/s,
	info_server => qr/^[\$=]\d+\r\n.*redis_version:7\.4\.0\r\n.*redis_mode:standalone\r\n/s,
	pair => qr/^(\*2|%1)\r\n\$/,
	list => qr/^[*%\$=]\d+\r\n/,
	null => qr/^(\$-1|_)\r\n\z/,
	row => qr/^\$\d+\r\n\{"id":1,"name":"apple"\}\r\n\z/,
	echo => bulk("\0\1\r\n0123456789ab"),
	pong => "+PONG\r\n",
);
my @login3 = ([ qw(HELLO 3 AUTH USER PASSWORD) ] => 'hello3');
my @login2 = ([ qw(AUTH USER PASSWORD) ] => 'ok');
my @lib = ([ qw(CLIENT SETINFO LIB-NAME lib) ] => 'ok', [ qw(CLIENT SETINFO LIB-VER 1.2.3) ] => 'ok');
my @stackexchange = (
	[ qw(HELLO 3) ] => 'hello3', [ qw(CLIENT SETNAME me) ] => 'ok', @lib, [ qw(CLIENT ID) ] => 'integer', [ qw(CONFIG GET timeout) ] => 'pair',
	[ qw(CONFIG GET replica-read-only) ] => 'pair', [ qw(CONFIG GET databases) ] => 'pair', [ qw(SENTINEL MASTERS) ] => 'error',
	[ qw(INFO replication) ] => 'replication', [ qw(INFO server) ] => 'info_server', [ qw(CLUSTER NODES) ] => 'cluster',
	[ qw(GET __Booksleeve_TieBreak) ] => 'null', [ 'ECHO', "\0\1\r\n0123456789ab" ] => 'echo');
my @scripts = (
	'node-redis 6' => [ [ qw(HELLO 3 AUTH USER PASSWORD SETNAME me) ] => 'hello3', [ qw(SELECT 1) ] => 'ok', [ qw(READONLY) ] => 'cluster', @lib,
		[ qw(CLIENT TRACKING ON) ] => 'error', [ qw(CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type external-ip) ] => 'subcommand' ],
	'node-redis 5' => [ @login2, [ qw(CLIENT SETNAME me) ] => 'ok', @lib, [ qw(SELECT 1) ] => 'ok' ],
	'ioredis 5' => [ [ qw(auth USER PASSWORD) ] => 'ok', [ qw(select 1) ] => 'ok', [ qw(client setname me) ] => 'ok', [ qw(client SETINFO LIB-NAME ioredis) ] => 'ok',
		[ qw(client SETINFO LIB-VER 5) ] => 'ok', [ 'info' ] => 'info' ],
	'ioredis 6' => [ [ qw(hello 3 AUTH USER PASSWORD) ] => 'hello3', [ qw(select 1) ] => 'ok', [ qw(client setname me) ] => 'ok',
		[ qw(client SETINFO LIB-NAME ioredis) ] => 'ok', [ qw(client SETINFO LIB-VER 6) ] => 'ok', [ 'info' ] => 'info' ],
	'iovalkey' => [ @login2, [ qw(select 1) ] => 'ok', [ 'info' ] => 'info', [ qw(client setname me) ] => 'ok', [ qw(get items:1) ] => 'row' ],
	'valkey-glide' => [ @login3, [ qw(SELECT 1) ] => 'ok', [ qw(CLIENT SETNAME me) ] => 'ok', @lib, [ qw(INFO REPLICATION) ] => 'replication' ],
	'go-redis' => [ [ qw(hello 3 auth USER PASSWORD setname me) ] => 'hello3', [ qw(select 1) ] => 'ok', [ 'readonly' ] => 'cluster', [ qw(client setname me) ] => 'ok',
		[ qw(client tracking on) ] => 'error', [ qw(client maint_notifications on moving-endpoint-type internal-ip) ] => 'subcommand',
		[ qw(client setinfo LIB-NAME), 'go-redis(,go1.26)' ] => 'ok', [ qw(client setinfo LIB-VER 9.22.0) ] => 'ok' ],
	'rueidis' => [ [ qw(HELLO 3 AUTH USER PASSWORD SETNAME me) ] => 'hello3', [ qw(INFO SERVER) ] => 'info_server', [ qw(CLIENT TRACKING ON OPTIN) ] => 'error', [ qw(SELECT 1) ] => 'ok',
		[ qw(CLIENT NO-TOUCH ON) ] => 'ok', [ qw(CLIENT NO-EVICT ON) ] => 'ok', [ qw(CLIENT CAPA redirect) ] => 'ok', @lib, [ qw(CLUSTER SLOTS) ] => 'cluster' ],
	'redis-py 7' => [ @login2, [ qw(CLIENT SETNAME me) ] => 'ok', @lib, [ qw(SELECT 1) ] => 'ok' ],
	'redis-py 8' => [ @login3, [ qw(CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip) ] => 'subcommand', [ qw(CLIENT SETNAME me) ] => 'ok', @lib,
		[ qw(SELECT 1) ] => 'ok', [ 'PING' ] => 'pong' ],
	'jedis' => [ @login3, [ qw(CLIENT SETNAME me) ] => 'ok', @lib, [ 'READONLY' ] => 'cluster', [ qw(SELECT 1) ] => 'ok', [ 'PING' ] => 'pong' ],
	'lettuce' => [ [ qw(HELLO 3 AUTH USER PASSWORD SETNAME me) ] => 'hello3', [ qw(SELECT 1) ] => 'ok', [ qw(CLIENT SETINFO lib-name Lettuce) ] => 'ok', [ qw(CLIENT SETINFO lib-ver 7.8) ] => 'ok',
		[ qw(CLIENT MAINT_NOTIFICATIONS ON) ] => 'subcommand' ],
	'lettuce, version 2' => [ @login2, [ 'PING' ] => 'pong', [ qw(SELECT 1) ] => 'ok' ],
	'StackExchange.Redis' => [ @login2, @stackexchange ],
	'redis-client' => [ @login3, [ qw(SELECT 1) ] => 'ok', @lib, [ qw(CLIENT SETNAME me) ] => 'ok' ],
	'redis-cli' => [ @login2, [ qw(SELECT 1) ] => 'ok', [ qw(HELLO 3) ] => 'hello3', [ qw(COMMAND DOCS) ] => 'list', [ 'COMMAND' ] => 'list' ],
	'redis-benchmark' => [ @login2, [ qw(CONFIG GET save) ] => 'pair', [ qw(CONFIG GET appendonly) ] => 'pair' ],
	'memtier' => [ @login2, [ qw(SELECT 1) ] => 'ok', [ qw(HELLO 2) ] => 'hello2' ],
	'redis_exporter' => [ @login2, [ 'PING' ] => 'pong', [ qw(CLIENT SETNAME redis_exporter) ] => 'ok', [ qw(INFO ALL) ] => 'info', [ qw(CONFIG GET *) ] => 'list' ],
	'RedisInsight' => [ @login2, [ 'HELLO' ] => 'hello2', [ 'INFO' ] => 'info', [ qw(SENTINEL MASTERS) ] => 'error', [ qw(CLUSTER INFO) ] => 'cluster', [ qw(COMMAND INFO get ft.search) ] => 'list',
		[ qw(CONFIG GET databases) ] => 'pair', [ qw(CLIENT LIST) ] => 'list', [ 'DBSIZE' ] => 'integer' ],
);

# The script for this user: its bytes, and the kinds of the replies.
sub script
{
	my ($steps, $user, $password) = @_;
	my ($bytes, @kinds) = ('');

	for (my $i = 0; $i < @$steps; $i += 2)
	{
		$bytes .= command(map { $_ eq 'USER' ? $user : $_ eq 'PASSWORD' ? $password : $_ } @{ $steps->[$i] });
		push @kinds, $steps->[ $i + 1 ];
	}
	return ($bytes, @kinds);
}

# One reply for each kind, of this kind, and none after it.
sub replies_fit
{
	my ($client, $what, @kinds) = @_;
	my @replies = $client->replies(scalar @kinds);
	my @wrong = grep { my $kind = $kind{ $kinds[$_] }; ref $kind ? $replies[$_] !~ $kind : $replies[$_] ne $kind } 0 .. $#kinds;

	is_deeply([ map { "reply $_ is no $kinds[$_]: $replies[$_]" } @wrong ], [], $what);
	is($client->ask('ECHO', 'the end'), bulk('the end'), 'and not one reply more');
	is($client->ask(qw(GET items:1)), bulk('{"id":1,"name":"apple"}'), 'then rows can be read');
}

my %script = @scripts;
my @names = grep { !ref } @scripts;

foreach my $name (@names)
{
	subtest $name => sub {
		foreach my $user ([ 'app', 'secret' ], [ 'default', $token ])
		{
			my ($bytes, @kinds) = script($script{$name}, @$user);

			replies_fit(PlcResp->new($server)->send($bytes), "in one segment, as $user->[0]", @kinds);
			replies_fit(PlcResp->new($server)->send_slowly($bytes), "a byte at a time, as $user->[0]", @kinds);
		}
	};
}

subtest 'AUTH with the token alone' => sub {
	my ($bytes, @kinds) = script([ [ qw(AUTH PASSWORD) ] => 'ok', @stackexchange ], undef, $token);

	replies_fit(PlcResp->new($server)->send($bytes), 'StackExchange.Redis', @kinds);
};

# All at the same time: who has failed waits a while for the answer.
subtest 'a wrong password' => sub {
	my %client = map { $_ => PlcResp->new($server) } @names;

	$client{$_}->send((script($script{$_}, 'app', 'wrong'))[0]) foreach @names;
	foreach my $name (@names)
	{
		my (undef, @kinds) = script($script{$name}, 'app', 'wrong');
		my @replies = $client{$name}->replies(scalar @kinds);

		is(scalar(grep { /^-(NOAUTH|ERR) [^\r\n]+\r\n\z/ } @replies[ 1 .. $#replies ]), $#replies, "$name: one error for each command");
		is($replies[0], "-WRONGPASS invalid username-password pair or user is disabled.\r\n", 'the first says why');
		like($client{$name}->ask('PING'), qr/^-NOAUTH/, 'and not one reply more');
		is($client{$name}->ask(qw(AUTH app secret)), "+OK\r\n", 'then the right password');
		is($client{$name}->ask(qw(GET items:1)), bulk('{"id":1,"name":"apple"}'), 'and rows can be read');
	}
};

subtest 'a failed HELLO changes nothing' => sub {
	my $client = PlcResp->new($server);

	like($client->ask(qw(HELLO 3 AUTH app wrong SETNAME me)), qr/^-WRONGPASS /, 'a wrong password');
	is($client->ask(qw(AUTH app secret)), "+OK\r\n", 'then the right one');
	is($client->ask(qw(GET none)), "\$-1\r\n", 'version 2 as before');
	is($client->ask(qw(CLIENT GETNAME)), "\$-1\r\n", 'no name');
	like($client->ask(qw(HELLO 3 AUTH app wrong)), qr/^-WRONGPASS /, 'a wrong password later');
	is($client->ask(qw(GET items:1)), bulk('{"id":1,"name":"apple"}'), 'leaves a client who it was');
};

unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC/, 'nothing leaked');
done_testing();
