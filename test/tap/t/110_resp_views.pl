# What SQL says of the endpoint: who is connected and who may see it, what was counted, how the workers are.
use strict;
use warnings;

use PlcResp;
use PlcSession;
use PlcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = resp_server('main',
	conf => "pg_local_cache.max_clients = 20\n",
	sql => q(
		CREATE TABLE items (id int PRIMARY KEY, v text);
		INSERT INTO items SELECT n, 'v' || n FROM generate_series(1, 10) n;
		GRANT SELECT ON items TO app;
		SELECT local_cache.attach_table('items', namespace => 'items');
		CREATE ROLE stranger LOGIN;
		CREATE ROLE watcher LOGIN IN ROLE pg_read_all_stats;
		GRANT USAGE ON SCHEMA local_cache TO stranger, watcher));

sub sql { return $server->safe_psql('postgres', $_[0]) }
sub sql_as { my ($role, $sql) = @_; return $server->safe_psql('postgres', "SET ROLE $role; $sql") }
sub nobody_is_connected { poll_until(sub { sql('SELECT count(*) FROM local_cache.clients') == 0 }, 'all clients have left') }
sub peer { my $socket = $_[0]->socket; return $socket->sockhost . ':' . $socket->sockport }

# Who is connected

nobody_is_connected();
my $one = PlcResp->new($server);
my $two = PlcResp->new($server, protocol => 3);
is($_->get('GET', 'items:1'), '{"id":1,"v":"v1"}', 'a client reads') for $one, $two;
my %id = (one => $one->get(qw(CLIENT ID)), two => $two->get(qw(CLIENT ID)));
isnt($id{one}, $id{two}, 'clients have ids of their own');

is(sql("SELECT role, address, protocol, name IS NULL, library IS NULL, last_command, commands, queued IS NULL
		FROM local_cache.clients WHERE id = $id{one}"),
	join('|', 'app', peer($one), 2, 't', 't', 'client|id', 2, 't'), 'a client that has said nothing of itself');
is($two->ask(qw(CLIENT SETNAME two)), "+OK\r\n", 'a client names itself');
is($two->ask(qw(CLIENT SETINFO LIB-NAME lib)), "+OK\r\n", 'and its library');
is($two->ask(qw(CLIENT SETINFO LIB-VER 1.2)), "+OK\r\n", 'and its version');
is($two->ask('MULTI'), "+OK\r\n", 'opens a transaction');
is($two->ask('GET', 'items:1'), "+QUEUED\r\n", 'queues a command');
is(sql("SELECT role, address, protocol, name, library, library_version, queued, commands
		FROM local_cache.clients WHERE id = $id{two}"),
	join('|', 'app', peer($two), 3, 'two', 'lib', '1.2', 1, 8), 'all of it is in the view');
is(sql('SELECT bool_and(connected_at <= last_command_at AND last_command_at <= clock_timestamp()
			AND last_command_at > clock_timestamp() - interval \'1 hour\') FROM local_cache.clients'), 't', 'times are true');
is($two->ask('DISCARD'), "+OK\r\n", 'the transaction is given up');
is(sql("SELECT queued IS NULL FROM local_cache.clients WHERE id = $id{two}"), 't', 'and nothing is queued any more');
$one->send("*2\r\n\$3\r\nGET\r\n\$7\r\nit");
poll_until(sub { sql("SELECT input FROM local_cache.clients WHERE id = $id{one}") == 19 }, 'the bytes of half a request are seen');
$one->send("ems:1\r\n");
is($one->reply, bulk('{"id":1,"v":"v1"}'), 'the other half completes it');

my @lines = split /\n/, $two->get(qw(CLIENT LIST));
is(scalar(@lines), 2, 'CLIENT LIST has a line for each');
like((grep { /^id=$id{two} / } @lines)[0],
	qr/^id=\d+ addr=\Q${\peer($two)}\E name=two age=\d+ idle=\d+ flags=N db=0 .* multi=-1 .* cmd=client\|list user=app .* resp=3 lib-name=lib lib-ver=1\.2$/,
	'and says the same');

# Who may see it

my $columns = q(count(*), count(role), count(address), count(name), count(commands), count(connected_at));
is(sql("SELECT $columns FROM local_cache.clients"), '2|2|2|1|2|2', 'a superuser sees all');
is(sql_as('app', "SELECT $columns FROM local_cache.clients"), '2|2|2|1|2|2', 'a role sees all of its own clients');
is(sql_as('watcher', "SELECT $columns FROM local_cache.clients"), '2|2|2|1|2|2', 'a member of pg_read_all_stats sees all');
is(sql_as('stranger', "SELECT $columns FROM local_cache.clients"), '2|2|0|0|0|0', 'others see that there are clients');
sql('GRANT app TO stranger');
is(sql_as('stranger', "SELECT $columns FROM local_cache.clients"), '2|2|2|1|2|2', 'a member of the role sees all');
sql('REVOKE app FROM stranger');

sql('ALTER SYSTEM SET pg_local_cache.role = \'\'');
sql('SELECT pg_reload_conf()');
poll_until(sub { PlcResp->new($server)->ask('GET', 'items:1') =~ /^-NOAUTH / }, 'clients have to authenticate');
my $nobody = PlcResp->new($server);
like($nobody->ask('GET', 'items:1'), qr/^-NOAUTH /, 'a client is nobody');
is(sql("SELECT role IS NULL, address FROM local_cache.clients WHERE address = '${\peer($nobody)}'"), 't|' . peer($nobody), 'the view says so');
is(sql_as('app', "SELECT count(*) FROM local_cache.clients WHERE role IS NULL AND address IS NOT NULL"), '0', 'and is nobody\'s own');
sql('ALTER SYSTEM RESET pg_local_cache.role');
sql('SELECT pg_reload_conf()');
poll_until(sub { PlcResp->new($server)->ask('GET', 'items:1') =~ /^\$/ }, 'clients need not authenticate');
$_->close for $one, $two, $nobody;
nobody_is_connected();

# What was counted: exact, and settled when the reply has been read

my $client = PlcResp->new($server);
my %before;
sub stats { return { map { split /\|/ } split /\n/, sql('SELECT key, value FROM jsonb_each_text(local_cache.stats())') } }
sub begin { %before = %{ stats() } }
sub counted
{
	my ($what, %expected) = @_;
	my $now = stats();
	my %changes = map { $_ => $now->{$_} - $before{$_} } grep { $now->{$_} != $before{$_} } keys %$now;

	delete @changes{qw(bytes client_bytes_received client_bytes_sent client_turns verified)};
	is_deeply(\%changes, \%expected, "counted: $what") or diag explain \%changes;
	%before = %$now;
}

sql("SELECT local_cache.invalidate('items')");
$client->ask('PING');
begin();
$client->ask('PING');
counted('PING', client_commands => 1);
$client->ask('GET', 'items:1');
counted('a row that is not in the cache', client_commands => 1, client_keys => 1, client_mget_keys => 1, cache_miss => 1, cache_fill => 1,
	misses => 1, publishes => 1, entries => 1, inserted => 1, database_reads => 1);
$client->ask('GET', 'items:1');
counted('a row that is', client_commands => 1, client_keys => 1, client_mget_keys => 1, cache_hit => 1, hits => 1);
$client->ask('MGET', 'items:1', 'items:1', 'items:99', 'elsewhere:1');
counted('several', client_commands => 1, client_keys => 3, client_mget_keys => 4, cache_hit => 2, cache_miss => 1, client_foreign_keys => 1,
	hits => 2, misses => 1, database_reads => 1);
$client->ask('HGET', 'items:1', 'v');
counted('a column', client_commands => 1, client_keys => 1, cache_hit => 1, hits => 1);
$client->ask('GET', 'items:x');
counted('an error', client_commands => 1, client_request_errors => 1);
$client->ask('NO', 'SUCH');
counted('no such command', client_commands => 1, client_request_errors => 1);
sql("SELECT local_cache.mget('items', ARRAY[1, 2, 99])");
counted('SQL', hits => 1, misses => 2, publishes => 1, entries => 1, inserted => 1,
	sql_cache_hits => 1, sql_cache_misses => 2, sql_cache_fills => 1, database_reads => 2);
sql("SET pg_local_cache.enabled = off; SELECT local_cache.mget('items', ARRAY[1, 2])");
counted('SQL past the cache', bypass_disabled => 2, sql_cache_bypasses => 2, database_reads => 2);
sql('ALTER TABLE items ADD COLUMN r regclass');
$client->ask('GET', 'items:1');
counted('a row that cannot be cached', client_commands => 1, client_keys => 1, client_mget_keys => 1, cache_miss => 1, cache_bypass => 1,
	bypass_uncacheable => 1, database_reads => 1);
my $rude = PlcResp->new($server);
like($rude->send("*x\r\n")->rest, qr/^-ERR Protocol error/, 'what is no request is refused');
nobody_else();
counted('a protocol error', client_connections => 1, client_protocol_errors => 1);
is($client->get('STAT') =~ s/[^0-9a-z_:,]//gr =~ s/.*\bhits:(\d+).*/$1/r, stats()->{hits}, 'STAT tells the same');
like(sql('SELECT client_bytes_received > 100 AND client_bytes_sent > 100 AND client_turns > 10 FROM local_cache.metrics()'), qr/t/,
	'bytes and turns are counted');

sub nobody_else { poll_until(sub { sql('SELECT count(*) FROM local_cache.clients') == 1 }, 'one client is left') }

# No more clients than max_clients, over all workers

my @many = map { PlcResp->new($server) } 1 .. 19;
my @ids = map { $_->get(qw(CLIENT ID)) } @many;
is(sql('SELECT count(*), count(DISTINCT id), count(DISTINCT worker) FROM local_cache.clients'), '20|20|2', 'all slots are taken, on both workers');
is(sql("SELECT sum((w ->> 'clients')::int) = (h -> 'clients')::int AND (h -> 'clients')::int = 20 AND (h -> 'max_clients')::int = 20
		FROM (SELECT local_cache.health() -> 'endpoint' AS h) s, jsonb_array_elements(h -> 'workers') w GROUP BY h"), 't', 'health counts them too');
begin();
is(PlcResp->new($server)->rest, "-ERR max number of clients reached\r\n", 'one more is refused');
counted('the refusal', client_limit_rejections => 1);
(pop @many)->close;
push @many, poll_until(sub {
	my $next = PlcResp->new($server);
	return eval { $next->get('PING') eq 'PONG' } && $next;
}, 'the slot is given to the next');
cmp_ok($many[-1]->get(qw(CLIENT ID)), '>', (sort { $b <=> $a } @ids)[0], 'who has an id that nobody had');
$_->close for @many;
nobody_else();

# A reader never sees half of a change: a name is all of one letter, or all of the other, and changes all the time

sql(q(CREATE FUNCTION torn(rounds int) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		torn bigint := 0;
	BEGIN
		FOR i IN 1 .. rounds LOOP
			torn := torn + (SELECT count(*) FROM local_cache.client_list() WHERE name <> repeat(left(name, 1), 60));
		END LOOP;
		RETURN torn;
	END $$));
my $reader = PlcSession->new($server);
my $renames = join '', map { command(qw(CLIENT SETNAME), $_ x 60) } ('a', 'b') x 1000;
my $commands = q(SELECT commands FROM local_cache.clients);
$client->send($renames);
my $done = sql($commands);
$reader->start('SELECT torn(50000)');
$client->send($renames, sub { ${ $_[0] } = '' }) while sql('SELECT state FROM pg_stat_activity WHERE pid = ' . $reader->pid) eq 'active';
is($reader->finish, '0', 'no name was torn');
cmp_ok(sql($commands) - $done, '>', 10000, 'while many were given');
$client->close;
$reader->quit;
nobody_is_connected();

# A worker that ends takes its clients with it, and comes again; what it had counted stays

my ($first, $second) = map { client_on($server, $_) } 1, 2;
my ($first_id, $second_id) = map { $_->get(qw(CLIENT ID)) } $first, $second;
my $commands_before = metrics($server)->{client_commands};
my ($pid) = map { $_->{pid} } grep { $_->{number} == 1 } resp_workers($server);
sql("SELECT pg_terminate_backend($pid)");
is($first->rest, '', 'the worker closes its connections');
poll_until(sub { sql("SELECT count(*) FROM local_cache.clients WHERE id = $first_id") == 0 }, 'they leave the view');
is($second->get('PING'), 'PONG', 'clients of the other worker notice nothing');
is(sql("SELECT worker FROM local_cache.clients WHERE id = $second_id"), '2', 'and are still there');
resp_serves($server);
is(sql(q(SELECT local_cache.health() ->> 'status')), 'ok', 'the worker is back');
isnt((map { $_->{pid} } grep { $_->{number} == 1 } resp_workers($server))[0], $pid, 'as another process');
cmp_ok(metrics($server)->{client_commands}, '>', $commands_before, 'no counter has gone back');
$second->close;

# Without an endpoint there is nothing to see, and nothing wrong

$server->append_conf('postgresql.conf', 'pg_local_cache.port = 0');
$server->restart;
is(sql(q(SELECT local_cache.health() -> 'endpoint' ->> 'enabled', local_cache.health() ->> 'status')), 'false|ok', 'health without an endpoint');
is(sql('SELECT count(*) FROM local_cache.clients'), '0', 'the view without an endpoint');
is(sql('SELECT count(*) FROM pg_shmem_allocations WHERE name LIKE \'pg_local_cache endpoint%\''), '0', 'no memory is taken for it');

done_testing();
