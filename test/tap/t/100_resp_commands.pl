# Each command of the endpoint in both versions of the protocol, byte for byte.
use strict;
use warnings;

use PlcTest;
use PlcResp;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = resp_server('commands', sql => q(
	CREATE TABLE items (id bigint PRIMARY KEY, name text, price numeric(10,2), note text);
	INSERT INTO items VALUES (1, 'apple', 0.50, NULL), (2, E'p\"e\tär', NULL, '');
	GRANT ALL ON items TO app;
	SELECT local_cache.attach_table('items', writable => true, namespace => 'items')));

my ($one, $two) = (q({"id":1,"name":"apple","price":0.50,"note":null}), qq({"id":2,"name":"p\\"e\\t\xc3\xa4r","price":null,"note":""}));
my $other = PlcResp->new($server);

sub hello
{
	my ($protocol) = @_;
	my @pairs = (bulk('server'), bulk('redis'), bulk('version'), bulk('7.4.0'), bulk('proto'), ":$protocol\r\n",
		bulk('id'), ':ID' . "\r\n", bulk('mode'), bulk('standalone'), bulk('role'), bulk('master'), bulk('modules'), "*0\r\n");
	my $bytes = quotemeta($protocol == 3 ? map_of(@pairs) : array(@pairs));

	$bytes =~ s/ID/\\d+/;
	return qr/^$bytes\z/;
}

# A command, its reply in version 2, its reply in version 3 if that is another.  What a reply is the same for however
# often it is asked.
my $no_cluster = error('ERR This instance has cluster support disabled');
my $nil3 = "_\r\n";
my @replies = (
	'connection',
	[ 'PING', "+PONG\r\n" ],
	[ 'PING hi', bulk('hi') ],
	[ 'PING a b', arity('ping') ],
	[ 'ECHO hi', bulk('hi') ],
	[ [ 'ECHO', "\0\r\n\xff" ], bulk("\0\r\n\xff") ],
	[ [ 'ECHO', '' ], bulk('') ],
	[ 'ECHO', arity('echo') ],
	[ 'SELECT 0', "+OK\r\n" ],
	[ 'SELECT 15', "+OK\r\n" ],
	[ 'SELECT 16', error('ERR DB index is out of range') ],
	[ 'SELECT -1', error('ERR DB index is out of range') ],
	[ 'SELECT x', error('ERR value is not an integer or out of range') ],
	[ 'HELLO', hello(2), hello(3) ],
	[ 'HELLO 1', error('NOPROTO unsupported protocol version') ],
	[ 'HELLO 4', error('NOPROTO unsupported protocol version') ],
	[ 'HELLO x', error('ERR Protocol version is not an integer or out of range') ],
	[ 'HELLO 3 FOO', error("ERR Syntax error in HELLO option 'FOO'") ],
	[ 'HELLO 2 AUTH a', error("ERR Syntax error in HELLO option 'AUTH'") ],
	[ 'HELLO 2 SETNAME', error("ERR Syntax error in HELLO option 'SETNAME'") ],
	[ 'AUTH', arity('auth') ],
	[ 'AUTH a b c', error('ERR syntax error') ],
	[ 'AUTH x', error('ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?') ],
	[ 'AUTH default x', "+OK\r\n" ],
	[ 'RESET x', arity('reset') ],
	[ 'QUIT x', "+OK\r\n", 'closes' ],
	[ 'FOO', error("ERR unknown command 'FOO', with args beginning with: ") ],
	[ 'FOO a b', error("ERR unknown command 'FOO', with args beginning with: 'a' 'b' ") ],
	[ [ "F\r\nO", "a\nb" ], error("ERR unknown command 'F  O', with args beginning with: 'a b' ") ],
	[ [ 'F' x 200, 'a' x 200, 'b' ], error("ERR unknown command '" . 'F' x 128 . "', with args beginning with: '" . 'a' x 128 . "' ") ],
	[ [ '' ], error("ERR unknown command '', with args beginning with: ") ],
	'client',
	[ 'CLIENT', arity('client') ],
	[ 'CLIENT FOO', error("ERR unknown subcommand 'FOO'. Try CLIENT HELP.") ],
	[ 'CLIENT MAINT_NOTIFICATIONS ON', error("ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.") ],
	[ 'CLIENT ID', qr/^:\d+\r\n\z/ ],
	[ 'CLIENT ID x', arity('client|id') ],
	[ 'CLIENT HELP', qr/^\*\d+\r\n\+CLIENT CAPA capability \[\.\.\.\]: [^\r]+\r\n\+CLIENT GETNAME: [^\r]+\r\n/ ],
	[ 'CLIENT SETNAME me', "+OK\r\n" ],
	[ 'CLIENT GETNAME', bulk('me') ],
	[ [ qw(CLIENT SETNAME), '' ], "+OK\r\n" ],
	[ 'CLIENT GETNAME', bulk(undef), $nil3 ],
	[ [ qw(CLIENT SETNAME), 'a b' ], error('ERR Client names cannot contain spaces, newlines or special characters.') ],
	[ 'CLIENT SETINFO LIB-NAME test', "+OK\r\n" ],
	[ 'CLIENT SETINFO LIB-VER 1.0', "+OK\r\n" ],
	[ [ qw(CLIENT SETINFO LIB-NAME), 'a b' ], error('ERR lib-name cannot contain spaces, newlines or special characters.') ],
	[ 'CLIENT SETINFO FOO x', error("ERR Unrecognized option 'FOO'") ],
	[ 'CLIENT INFO', qr/^\$\d+\r\nid=\d+ addr=127\.0\.0\.1:\d+ [^\r]*\bname= [^\r]*\bresp=2\b[^\r]*\n\r\n\z/,
		qr/^=\d+\r\ntxt:id=\d+ addr=127\.0\.0\.1:\d+ [^\r]*\bname= [^\r]*\bresp=3\b[^\r]*\n\r\n\z/ ],
	[ 'CLIENT LIST', qr/^\$\d+\r\n(id=\d+ [^\r\n]*\n){2,}\r\n\z/, qr/^=\d+\r\ntxt:(id=\d+ [^\r\n]*\n){2,}\r\n\z/ ],
	[ 'CLIENT NO-EVICT ON', "+OK\r\n" ],
	[ 'CLIENT NO-TOUCH OFF', "+OK\r\n" ],
	[ 'CLIENT CAPA redirect', "+OK\r\n" ],
	[ 'CLIENT REPLY ON', "+OK\r\n" ],
	[ 'CLIENT REPLY FOO', error('ERR syntax error') ],
	[ 'CLIENT TRACKING ON', qr/^-ERR [^\r\n]+\r\n\z/ ],
	[ 'CLIENT TRACKING ON OPTIN', qr/^-ERR [^\r\n]+\r\n\z/ ],
	'server',
	[ 'COMMAND COUNT', qr/^:\d+\r\n\z/ ],
	[ 'COMMAND INFO nope', "*1\r\n\$-1\r\n", "*1\r\n_\r\n" ],
	[ 'COMMAND INFO get', qr/^\*1\r\n\*10\r\n\$3\r\nget\r\n:2\r\n\*\d+\r\n(\+\w+\r\n)+:1\r\n:1\r\n:1\r\n\*/,
		qr/^\*1\r\n\*10\r\n\$3\r\nget\r\n:2\r\n~\d+\r\n(\+\w+\r\n)+:1\r\n:1\r\n:1\r\n~/ ],
	[ 'COMMAND DOCS get', qr/^\*2\r\n\$3\r\nget\r\n\*\d+\r\n\$7\r\nsummary\r\n\$/, qr/^%1\r\n\$3\r\nget\r\n%\d+\r\n\$7\r\nsummary\r\n\$/ ],
	[ 'COMMAND DOCS nope', "*0\r\n", "%0\r\n" ],
	[ 'COMMAND FOO', error("ERR unknown subcommand 'FOO'. Try COMMAND HELP.") ],
	[ 'CONFIG GET databases', array(bulk('databases'), bulk('16')), map_of(bulk('databases'), bulk('16')) ],
	[ 'CONFIG GET save', array(bulk('save'), bulk('')), map_of(bulk('save'), bulk('')) ],
	[ 'CONFIG GET appendonly', array(bulk('appendonly'), bulk('no')), map_of(bulk('appendonly'), bulk('no')) ],
	[ 'CONFIG GET timeout', array(bulk('timeout'), bulk('0')), map_of(bulk('timeout'), bulk('0')) ],
	[ 'CONFIG GET replica-read-only', array(bulk('replica-read-only'), bulk('yes')), map_of(bulk('replica-read-only'), bulk('yes')) ],
	[ 'CONFIG GET nope', "*0\r\n", "%0\r\n" ],
	[ 'CONFIG GET', arity('config|get') ],
	[ 'EXPIRE items:1 10', error('ERR rows do not expire: EXPIRE is not supported') ],
	[ 'SUBSCRIBE x', error('ERR SUBSCRIBE is not supported: this server sends no messages') ],
	[ 'CONFIG FOO', error("ERR unknown subcommand 'FOO'. Try CONFIG HELP.") ],
	[ 'INFO', qr/^\$\d+\r\n# Server\r\n.*redis_version:7\.4\.0\r\n.*\r\n\z/s, qr/^=\d+\r\ntxt:# Server\r\n.*redis_version:7\.4\.0\r\n.*\r\n\z/s ],
	[ 'INFO replication', qr/^\$\d+\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n.*\r\n\z/s,
		qr/^=\d+\r\ntxt:# Replication\r\nrole:master\r\nconnected_slaves:0\r\n.*\r\n\z/s ],
	[ 'INFO PERSISTENCE', qr/^\$\d+\r\n# Persistence\r\nloading:0\r\n/, qr/^=\d+\r\ntxt:# Persistence\r\nloading:0\r\n/ ],
	[ 'INFO server cluster', qr/# Server.*redis_mode:standalone.*# Cluster\r\ncluster_enabled:0/s ],
	[ 'INFO nope', bulk(''), "=4\r\ntxt:\r\n" ],
	[ 'TIME', qr/^\*2\r\n\$10\r\n\d+\r\n\$\d\r\n\d+\r\n\z/ ],
	[ 'ROLE', array(bulk('master'), ":0\r\n", "*0\r\n") ],
	[ 'READONLY', $no_cluster ],
	[ 'CLUSTER INFO', $no_cluster ],
	[ 'CLUSTER SLOTS', $no_cluster ],
	[ 'CLUSTER', arity('cluster') ],
	[ 'SENTINEL MASTERS', error("ERR unknown command 'SENTINEL': this instance is no Sentinel") ],
	'reading',
	[ 'GET items:1', bulk($one) ],
	[ 'GET items:2', bulk($two) ],
	[ 'GET items:3', bulk(undef), $nil3 ],
	[ 'GET foo', bulk(undef), $nil3 ],
	[ 'GET', arity('get') ],
	[ 'GET a b', arity('get') ],
	[ 'MGET items:1 items:3 foo items:1', array(bulk($one), bulk(undef), bulk(undef), bulk($one)), array(bulk($one), $nil3, $nil3, bulk($one)) ],
	[ 'MGET', arity('mget') ],
	[ 'EXISTS items:1 items:3 foo items:1', ":2\r\n" ],
	[ 'EXISTS', arity('exists') ],
	[ 'STRLEN items:1', ':' . length($one) . "\r\n" ],
	[ 'STRLEN items:3', ":0\r\n" ],
	[ 'TYPE items:1', "+hash\r\n" ],
	[ 'TYPE items:3', "+none\r\n" ],
	[ 'TTL items:1', ":-1\r\n" ],
	[ 'TTL items:3', ":-2\r\n" ],
	[ 'PTTL items:1', ":-1\r\n" ],
	[ 'PTTL foo', ":-2\r\n" ],
	[ 'HGET items:1 price', bulk('0.50') ],
	[ 'HGET items:2 name', bulk("p\"e\t\xc3\xa4r") ],
	[ 'HGET items:2 note', bulk('') ],
	[ 'HGET items:1 note', bulk(undef), $nil3 ],
	[ 'HGET items:1 nope', bulk(undef), $nil3 ],
	[ 'HGET items:3 name', bulk(undef), $nil3 ],
	[ 'HGET foo name', bulk(undef), $nil3 ],
	[ 'HGET items:1', arity('hget') ],
	[ 'HMGET items:1 price nope id note price', array(map { bulk($_) } '0.50', undef, 1, undef, '0.50'),
		array(bulk('0.50'), $nil3, bulk(1), $nil3, bulk('0.50')) ],
	[ 'HMGET items:3 id name', array(bulk(undef), bulk(undef)), array($nil3, $nil3) ],
	[ 'HMGET items:3', arity('hmget') ],
	[ 'HGETALL items:1', array(map { bulk($_) } qw(id 1 name apple price 0.50)), map_of(map { bulk($_) } qw(id 1 name apple price 0.50)) ],
	[ 'HGETALL items:3', "*0\r\n", "%0\r\n" ],
	[ 'HGETALL foo', "*0\r\n", "%0\r\n" ],
	[ 'HEXISTS items:1 name', ":1\r\n" ],
	[ 'HEXISTS items:1 note', ":0\r\n" ],
	[ 'HEXISTS items:1 nope', ":0\r\n" ],
	[ 'HEXISTS items:3 name', ":0\r\n" ],
	[ 'HLEN items:1', ":3\r\n" ],
	[ 'HLEN items:3', ":0\r\n" ],
	[ 'HKEYS items:1', array(map { bulk($_) } qw(id name price)) ],
	[ 'HKEYS items:3', "*0\r\n" ],
	[ 'HVALS items:1', array(map { bulk($_) } qw(1 apple 0.50)) ],
	[ 'HVALS items:3', "*0\r\n" ],
	'transactions',
	[ 'MULTI', "+OK\r\n" ],
	[ 'GET items:1', "+QUEUED\r\n" ],
	[ 'HGETALL items:1', "+QUEUED\r\n" ],
	[ 'GET items:3', "+QUEUED\r\n" ],
	[ 'EXEC', array(bulk($one), array(map { bulk($_) } qw(id 1 name apple price 0.50)), bulk(undef)),
		array(bulk($one), map_of(map { bulk($_) } qw(id 1 name apple price 0.50)), $nil3) ],
	[ 'MULTI', "+OK\r\n" ],
	[ 'MULTI', error('ERR MULTI calls can not be nested') ],
	[ 'DISCARD', "+OK\r\n" ],
	[ 'MULTI', "+OK\r\n" ],
	[ 'FOO', error("ERR unknown command 'FOO', with args beginning with: ") ],
	[ 'PING', "+QUEUED\r\n" ],
	[ 'EXEC', error('EXECABORT Transaction discarded because of previous errors.') ],
	[ 'EXEC', error('ERR EXEC without MULTI') ],
	[ 'DISCARD', error('ERR DISCARD without MULTI') ],
	'writing',
	[ [ 'SET', 'items:5', '{"name":"fig"}' ], "+OK\r\n" ],
	[ 'GET items:5', bulk('{"id":5,"name":"fig","price":null,"note":null}') ],
	[ [ 'SET', 'items:5', '{"name":"fug"}', 'NX' ], bulk(undef), $nil3 ],
	[ [ 'SET', 'items:6', '{"name":"fug"}', 'XX' ], bulk(undef), $nil3 ],
	[ 'SET items:5', arity('set') ],
	[ 'HSET items:5 price 1.00 note x', ":2\r\n" ],
	[ 'HSET items:5 price 2.00', ":0\r\n" ],
	[ 'HDEL items:5 price name nope', qr/^(:2|-ERR .*)\r\n\z/ ],
	[ 'HSET items:5 price', arity('hset') ],
	[ [ 'MSET', 'items:6', '{"name":"g"}', 'items:7', '{"name":"h"}' ], "+OK\r\n" ],
	[ 'MSET items:5', arity('mset') ],
	[ 'DEL items:5 items:5 items:99', ":1\r\n" ],
	[ 'UNLINK items:6 items:7', ":2\r\n" ],
	[ 'DEL', arity('del') ],
	'administration',
	[ 'DBSIZE', qr/^:\d+\r\n\z/ ],
	[ 'SCAN 0', array(bulk('0'), array(bulk('items:1'), bulk('items:2'))) ],
	[ 'STAT', qr/^\$\d+\r\n\{.*\}\r\n\z/s ],
	[ 'STAT x', arity('stat') ],
	[ 'INVALIDATE', arity('invalidate') ],
);

# Several words as one text, or a list.
sub words { my ($words) = @_; return ref $words ? @$words : split / /, $words }

foreach my $protocol (2, 3)
{
	subtest "version $protocol: each command and its reply" => sub {
		my $client = PlcResp->new($server, protocol => $protocol);

		foreach my $case (@replies)
		{
			note $case unless ref $case;
			next unless ref $case;
			my ($words, @expected) = @$case;
			my $closes = ($expected[1] // '') eq 'closes' && pop @expected;

			reply_is($client->ask(words($words)), $expected[ $protocol - 2 ] // $expected[0], join ' ', words($words));
			next unless $closes;
			is($client->rest, '', 'and closes');
			$client = PlcResp->new($server, protocol => $protocol);
		}
	};
}

subtest 'names of commands are the same in every case' => sub {
	my $client = PlcResp->new($server);

	foreach my $how (sub { lc $_[0] }, sub { ucfirst lc $_[0] }, sub { uc $_[0] })
	{
		foreach my $case (grep { ref && words($_->[0]) && !($_->[2] && $_->[2] eq 'closes') } @replies)
		{
			my ($name, @arguments) = words($case->[0]);

			$arguments[0] = $how->($arguments[0]) if $name =~ /^(CLIENT|COMMAND|CONFIG)$/ && @arguments;
			my $expected = $case->[1];
			$expected =~ s/(unknown (?:sub)?command ')((?!SENTINEL)[^']*)/$1 . $how->($2)/e unless ref $expected;
			reply_is($client->ask($how->($name), @arguments), $expected, join ' ', $how->($name), @arguments);
		}
	}
};

subtest 'all at once: as many replies as commands, in their order' => sub {
	foreach my $protocol (2, 3)
	{
		my $client = PlcResp->new($server, protocol => $protocol);
		my @cases = grep { ref && !($_->[2] && $_->[2] eq 'closes') } @replies;
		my @wrong;

		$client->send(join '', map { command(words($_->[0])) } @cases);
		foreach my $case (@cases)
		{
			my ($reply, $expected) = ($client->reply, $case->[ $protocol - 1 ] // $case->[1]);
			push @wrong, $case->[0] unless ref $expected ? $reply =~ $expected : $reply eq $expected;
		}
		is_deeply(\@wrong, [], "version $protocol");
	}
};

subtest 'version 3 comes and goes' => sub {
	my $client = PlcResp->new($server);

	is($client->ask('GET', 'items:3'), "\$-1\r\n", 'version 2 to begin with');
	like($client->ask('HELLO', '3', 'SETNAME', 'me'), hello(3), 'HELLO 3 answers in version 3');
	is($client->ask('CLIENT', 'GETNAME'), bulk('me'), 'with SETNAME');
	is($client->ask('GET', 'items:3'), "_\r\n", 'version 3');
	is($client->ask('HELLO', '2', 'FOO'), error("ERR Syntax error in HELLO option 'FOO'"), 'a HELLO with an error');
	is($client->ask('GET', 'items:3'), "_\r\n", 'changes nothing');
	is($client->ask('HELLO', '2', 'SETNAME', 'a b'), error('ERR Client names cannot contain spaces, newlines or special characters.'), 'nor with a wrong name');
	is($client->ask('GET', 'items:3'), "_\r\n", 'version 3 still');
	like($client->ask('HELLO', '2'), hello(2), 'HELLO 2');
	is($client->ask('GET', 'items:3'), "\$-1\r\n", 'version 2');
	is($client->ask('CLIENT', 'GETNAME'), bulk('me'), 'the name stays');
	$client->ask('HELLO', '3');
	is($client->ask('RESET'), "+RESET\r\n", 'RESET');
	is($client->ask('GET', 'items:3'), "\$-1\r\n", 'leads back to version 2');
	is($client->ask('CLIENT', 'GETNAME'), "\$-1\r\n", 'without a name');
	$client->ask('MULTI');
	is($client->ask('RESET'), "+RESET\r\n", 'RESET in MULTI');
	is($client->ask('EXEC'), error('ERR EXEC without MULTI'), 'ends it');
};

subtest 'CLIENT REPLY' => sub {
	my $client = PlcResp->new($server);

	$client->send(command(qw(CLIENT REPLY SKIP)) . command('PING') . command(qw(ECHO a)));
	is($client->reply, bulk('a'), 'SKIP: one command without a reply');
	$client->send(command(qw(CLIENT REPLY OFF)) . command('PING') . command('FOO') . command(qw(GET items:1)) . command(qw(CLIENT REPLY ON)));
	is($client->reply, "+OK\r\n", 'OFF: none until ON, which is answered');
	is($client->ask('ECHO', 'b'), bulk('b'), 'then as before');
};

unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC/, 'nothing leaked');
done_testing();
