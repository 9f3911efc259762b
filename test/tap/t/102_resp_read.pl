# What rows are read by, and how they look: every spelling of a key, keys that are no keys, every kind of column, and
# what is counted.
use strict;
use warnings;

use JSON::PP;
use MIME::Base64;
use PlcTest;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = resp_server('read', sql => <<'SQL');
	CREATE TYPE mood AS ENUM ('calm', 'cross');
	CREATE TABLE items (id bigint PRIMARY KEY, name text);
	INSERT INTO items SELECT i, 'item ' || i FROM generate_series(-1, 99) i;
	CREATE TABLE orders (tenant int, id text, note text, PRIMARY KEY (tenant, id));
	INSERT INTO orders VALUES (7, 'a', 'first'), (7, 'b,c=d', 'second'), (7, '{x}', 'third');
	CREATE TABLE words (w text PRIMARY KEY, n int);
	INSERT INTO words VALUES ('hello', 1), ('a:b', 2), ('a=b', 3), ('a,b', 4), ('', 5), ('ä', 6), (U&'\+01F600', 7), ('{"w":"x"}', 8),
		('w=y', 9), (' padded ', 10), ('null', 11), (E'line\nfeed', 12), ('"quoted"', 13), ('0042', 14), ('42', 15);
	CREATE TABLE uuids (u uuid PRIMARY KEY, n int);
	INSERT INTO uuids VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1);
	CREATE TABLE numerics (n numeric PRIMARY KEY, v int);
	INSERT INTO numerics VALUES (1.50, 1), (123456789012345678901234567890, 2), (-0.1, 3);
	CREATE TABLE times (t timestamptz PRIMARY KEY, n int);
	INSERT INTO times VALUES ('2026-01-02 03:04:05+00', 1);
	CREATE TABLE days (d date PRIMARY KEY, n int);
	INSERT INTO days VALUES ('2026-01-02', 1);
	CREATE TABLE flags (b boolean PRIMARY KEY, n int);
	INSERT INTO flags VALUES (true, 1), (false, 0);
	CREATE TABLE moods (m mood PRIMARY KEY, n int);
	INSERT INTO moods VALUES ('calm', 1);
	CREATE TABLE small (id smallint PRIMARY KEY);
	INSERT INTO small VALUES (1);
	CREATE SCHEMA "My.Schema";
	GRANT USAGE ON SCHEMA "My.Schema" TO app;
	CREATE TABLE "My.Schema"."we:ird ""Table" ("Id ""Num" int PRIMARY KEY, "{v}" text);
	INSERT INTO "My.Schema"."we:ird ""Table" VALUES (1, 'weird');
	CREATE TABLE "Items" ("Id" int PRIMARY KEY);
	INSERT INTO "Items" VALUES (1);
	CREATE TABLE "größe" (id int PRIMARY KEY);
	INSERT INTO "größe" VALUES (1);
	CREATE TABLE kinds (id int PRIMARY KEY, i int, f float8, n numeric, b boolean, t text, d date, ts timestamptz, j json, jb jsonb, a int[],
		ta text[], by bytea, u uuid, iv interval, m mood, c char(5), ip inet, r int4range);
	INSERT INTO kinds VALUES (1, -7, 1e-7, 1.50, true, E'tab\t"quote" \\ back\u00e4\U0001F600', '2026-01-02', '2026-01-02 03:04:05.6+00',
		'{"x": [1,  2]}', '{"y": {"z": null}}', '{1,2,NULL}', '{a,"b c"}', '\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1 day 02:00',
		'cross', 'ab', '10.0.0.1/8', '[1,5)');
	INSERT INTO kinds VALUES (2);
	INSERT INTO kinds VALUES (3, 0, 'NaN', 'NaN', false, '', NULL, NULL, 'null', '"s"', '{}', '{}', '');
	CREATE TABLE names (id int PRIMARY KEY, c regclass);
	INSERT INTO names VALUES (1, 'items');
	CREATE TABLE large (id int PRIMARY KEY, v text);
	INSERT INTO large VALUES (1, repeat('0123456789', 200000)), (2, (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 10000) i));
	CREATE TABLE secrets (id int PRIMARY KEY, owner text);
	INSERT INTO secrets VALUES (1, 'app'), (2, 'other');
	ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON secrets USING (owner = current_user);
	CREATE TABLE unattached (id int PRIMARY KEY);
	INSERT INTO unattached VALUES (1);
	GRANT SELECT ON ALL TABLES IN SCHEMA public, "My.Schema" TO app;
	SELECT local_cache.attach_table(t::regclass, namespace => t)
	FROM unnest('{items,orders,words,uuids,numerics,times,days,flags,moods,small,kinds,names,large,secrets}'::text[]) t;
	SELECT local_cache.attach_table('"My.Schema"."we:ird ""Table"'), local_cache.attach_table('"Items"'), local_cache.attach_table('größe');
SQL

my @clients = map { client_on($server, $_) } 1, 2;
my $client = $clients[0];

# A row as PostgreSQL has it.
my $session = PlcSession->new($server);
sub row { my ($sql) = @_; return $session->say("SELECT row_to_json(the_row) FROM ($sql) the_row") }

# Twice by each worker: fetched, then from the cache.
sub reads
{
	my ($key, $expected, $name) = @_;
	my @wrong = grep { $_ ne bulk($expected) } map { $_->ask('GET', $key), $_->ask('GET', $key) } @clients;

	$name //= $key =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ger;
	is_deeply(\@wrong, [], $name);
}

subtest 'every spelling of a key finds the row' => sub {
	my $item = row('SELECT * FROM items WHERE id = 42');
	my @rows = ('{"id":42}', '{"id": 42}', "{ \"id\"\t:\r\n 42 }", '{"id":"42"}', '{"\u0069d":42}', '{"id":"\u0034\u0032"}', '{"id":0042}', '{"id":"0042"}',
		'{"id":000000000042}', '42', '0042', '000000000042', '00000000000000000000000000042', 'id=42', 'id=0042');

	reads("$_", $item) foreach map { ("items:$_", "CRUD:postgres.public.items:$_", qq(CRUD:"postgres"."public"."items":$_)) } @rows;
	reads("items:$_", row('SELECT * FROM items WHERE id = -1')) foreach '-1', '{"id":-1}', '{"id":"-1"}', 'id=-1', '-01';
	reads("items:$_", row('SELECT * FROM items WHERE id = 0')) foreach '0', '000', '{"id":0}', '-0', '{"id":-0}';
	is($client->ask('MGET', map { "items:$_" } @rows), array((bulk($item)) x @rows), 'all in one MGET');
	is($client->ask('EXISTS', map { "items:$_" } @rows), ':' . @rows . "\r\n", 'and in one EXISTS');
};

subtest 'keys of several columns' => sub {
	reads("orders:$_", '{"tenant":7,"id":"a","note":"first"}') foreach 'tenant=7,id=a', 'id=a,tenant=7', 'tenant=07,id=a', '{"tenant":7,"id":"a"}',
	  '{"id":"a", "tenant":"7"}';
	reads('orders:{"tenant":7,"id":"b,c=d"}', '{"tenant":7,"id":"b,c=d","note":"second"}');
	reads('orders:tenant=7,id={x}', '{"tenant":7,"id":"{x}","note":"third"}');
	like($client->ask('GET', "orders:$_"), qr/^-ERR [^\r\n]+\r\n\z/, "orders:$_ is an error")
	  foreach '7', 'tenant=7', '7,a', '{"tenant":7}', '{"tenant":7,"id":"a","note":"first"}', 'tenant=7,id=a,note=first', 'tenant=7,tenant=7', '{"tenant":null,"id":"a"}';
};

subtest 'keys of other types' => sub {
	my %key = (
		words => [ [ hello => 'hello', 'w=hello', '{"w":"hello"}', '{"w":"\u0068ello"}' ], [ 'a:b' => 'a:b', 'w=a:b', '{"w":"a:b"}' ], [ 'a=b' => 'a=b', '{"w":"a=b"}', 'w=a=b' ],
			[ 'a,b' => 'a,b', '{"w":"a,b"}' ], [ '' => '{"w":""}' ], [ "\xc3\xa4" => "\xc3\xa4", '{"w":"\u00e4"}', "{\"w\":\"\xc3\xa4\"}" ],
			[ "\xf0\x9f\x98\x80" => "\xf0\x9f\x98\x80", '{"w":"\ud83d\ude00"}' ], [ '{"w":"x"}' => '{"w":"{\"w\":\"x\"}"}' ], [ 'w=y' => 'w=w=y', '{"w":"w=y"}' ],
			[ ' padded ' => ' padded ', '{"w":" padded "}' ], [ 'null' => 'null', '{"w":"null"}' ], [ "line\nfeed" => "line\nfeed", '{"w":"line\nfeed"}' ],
			[ '"quoted"' => '"quoted"', '{"w":"\"quoted\""}' ], [ '0042' => '0042', '{"w":"0042"}' ], [ '42' => '42', '{"w":"42"}', '{"w":42}' ] ],
		uuids => [ [ 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' => 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
			'{"u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}', '{"u":"{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}"}', 'a0eebc999c0b4ef8bb6d6bb9bd380a11' ] ],
		numerics => [ [ '1.50' => '1.5', '1.50', '1.500', '01.5', '15e-1', '{"n":1.5}', '{"n":"1.50"}', '{"n":1.5e0}', 'n=1.5' ],
			[ '123456789012345678901234567890' => '123456789012345678901234567890', '{"n":123456789012345678901234567890}' ], [ '-0.1' => '-0.1', '-0.10', '{"n":-0.1}' ] ],
		times => [ [ '2026-01-02 03:04:05+00' => '2026-01-02T03:04:05Z', '2026-01-02 03:04:05+00', '2026-01-02 04:04:05+01', '{"t":"2026-01-02T03:04:05+00:00"}', 't=2026-01-02T03:04:05Z' ] ],
		days => [ [ '2026-01-02' => '2026-01-02', '{"d":"2026-01-02"}', 'd=2026-01-02' ] ],
		flags => [ [ 'true' => 'true', 't', '{"b":true}', '{"b":"true"}', 'b=true' ], [ 'false' => 'false', 'f', '{"b":false}' ] ],
		moods => [ [ calm => 'calm', '{"m":"calm"}', 'm=calm' ] ],
	);

	foreach my $table (sort keys %key)
	{
		foreach my $case (@{ $key{$table} })
		{
			my ($value, @spellings) = @$case;
			my ($column) = $session->say("SELECT attname FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum = 1");
			my $row = row("SELECT * FROM $table WHERE $column = " . quote($value));

			ok($row ne '', "$table has a row " . quote($value)) or next;
			reads($_, $row) foreach map { ("$table:$_", "CRUD:postgres.public.$table:$_") } @spellings;
		}
	}
};

sub quote { return "'" . ($_[0] =~ s/'/''/gr) . "'" }

subtest 'names of every kind' => sub {
	my $weird = qq({"Id \\"Num":1,"{v}":"weird"});

	reads(qq(CRUD:postgres."My.Schema"."we:ird ""Table":$_), $weird) foreach '1', '{"Id \"Num":1}', '{"Id \u0022Num":"1"}';
	reads("CRUD:postgres.public.Items:$_", '{"Id":1}') foreach '1', '{"Id":1}', 'Id=1';
	reads('CRUD:postgres.public."Items":1', '{"Id":1}');
	reads("CRUD:postgres.public.gr\xc3\xb6\xc3\x9fe:1", '{"id":1}');
	is($client->ask('HGET', 'CRUD:postgres."My.Schema"."we:ird ""Table":1', '{v}'), bulk('weird'), 'a column with an odd name');
	is($client->ask('HKEYS', 'CRUD:postgres."My.Schema"."we:ird ""Table":1'), array(bulk('Id "Num'), bulk('{v}')), 'and its name');

	# The spelling that attach_table answers is one that works.
	my $rows = $server->safe_psql('postgres', q(SELECT local_cache.attach_table(r::regclass, namespace => n) ->> 'key' FROM (VALUES
		('"My.Schema"."we:ird ""Table"', NULL), ('"Items"', NULL), ('größe', NULL), ('items', 'items')) t(r, n)));
	like($client->ask('GET', s/<[^>]*>/1/r), qr/^\$\d+\r\n\{.*1/, $_) foreach split /\n/, $rows;
};

# With the reply of GET for it.
my @foreign = ('foo', '', 'items', ':1', ':', 'nope:1', 'nope:{"id":1}', 'Items:1', 'CRUD', 'CRUD:', 'CRUD::1', 'crud:postgres.public.items:1', 'CRUD:other.public.items:1',
	'CRUD:postgres.other.items:1', 'CRUD:postgres.public.unattached:1', 'CRUD:postgres.public.nope:{"id":1}', 'CRUD:postgres.public.items', 'CRUD:postgres.items:1', 'CRUD:public.items:1',
	'CRUD:items:1', 'CRUD:postgres.pg_catalog.pg_class:1', 'CRUD:postgres.local_cache.mapping:1', 'CRUD:postgres.Public.items:1', 'CRUD:a.b.c.d:1', '__Booksleeve_TieBreak', 'key:__rand_int__',
	"it\0ems:1", "\xff\xfe:1", "CRUD:postgres.public.\xff:1", 'x' x 100000, 'CRUD:' . 'x' x 1000 . '.public.items:1', 'CRUD:postgres.public.items"":1', 'CRUD:"postgres.public.items:1', "my:items:1", ' items:1');

subtest 'keys of others are not there' => sub {
	my $n = @foreign;

	foreach my $key (@foreign)
	{
		my @got = map { $client->ask($_, $key) } qw(GET EXISTS TYPE STRLEN TTL PTTL HLEN HGETALL);
		is_deeply(\@got, [ "\$-1\r\n", ":0\r\n", "+none\r\n", ":0\r\n", ":-2\r\n", ":-2\r\n", ":0\r\n", "*0\r\n" ], substr($key, 0, 60) =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ger);
	}
	is($client->ask('MGET', @foreign), array(("\$-1\r\n") x $n), 'all in one MGET');
	is($client->ask('MGET', 'items:1', @foreign, 'items:1'), array(bulk('{"id":1,"name":"item 1"}'), ("\$-1\r\n") x $n, bulk('{"id":1,"name":"item 1"}')), 'among others');
};

subtest 'what is no key of the table is an error, which ends nothing' => sub {
	my @malformed = ('items:', 'items:abc', 'items:{', 'items:{"id":1', 'items:{"id":1}}', 'items:{"id":1} x', 'items:{}', 'items:{"x":1}', 'items:{"id":1,"x":2}', 'items:{"id":1,"id":1}', 'items:{"id":null}',
		'items:{"id":[1]}', 'items:{"id":{"a":1}}', 'items:{"id":true}', 'items:{id:1}', "items:{'id':1}", 'items:{"id":1,}', 'items:{"id"}', 'items:{"id":}', 'items:{"id":"\x"}', 'items:[1]', 'items:1,2', 'items:x=1',
		'items:id=', 'items:99999999999999999999', 'items:{"id":99999999999999999999}', 'items:-99999999999999999999', 'items:1.5', 'items:{"id":1.5}', 'items:1 x', "items:1\0", "items:1\0002", 'items:--1',
		'small:40000', 'CRUD:postgres.public.items:', 'CRUD:postgres.public.items:abc', 'uuids:1', 'uuids:{"u":1}', 'numerics:x', 'times:x', 'days:2026-02-30', 'flags:maybe', 'moods:happy', '{"w":"\u0000"}' =~ s/^/words:/r,
		'words:{"w":"\ud800"}', "words:\xff", "words:{\"w\":\"\xff\"}", "words:a\0b", 'items:{"id":1' . '0' x 1000 . '}', 'items:' . '9' x 100000);

	foreach my $key (@malformed)
	{
		my $name = substr($key, 0, 60) =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ger;
		my @wrong = grep { $_ !~ /^-ERR [^\r\n]{1,510}\r\n\z/ } map { $client->ask(@$_) } [ 'GET', $key ], [ 'EXISTS', $key ], [ 'HGET', $key, 'name' ], [ 'MGET', 'items:1', $key ];
		is_deeply(\@wrong, [], $name);
	}
	reads('items:1', '{"id":1,"name":"item 1"}', 'then a row');
};

subtest 'columns of every type, whole and one by one' => sub {
	foreach my $id (1 .. 3)
	{
		my $expected = row("SELECT * FROM kinds WHERE id = $id");

		reads("kinds:$id", $expected, "row $id is as row_to_json has it");
		is($client->get('STRLEN', "kinds:$id"), length $expected, 'its length');

		# What jsonb_each_text would have, but numbers, arrays and objects as they stand.
		my @pairs = map { decode_base64($_) } map { split /\|/, $_, 2 } split /\n/, $session->say(qq(
			SELECT translate(encode(convert_to(f.key, 'UTF8'), 'base64'), E'\\n', ''),
				translate(encode(convert_to(CASE json_typeof(f.value) WHEN 'string' THEN f.value #>> '{}' ELSE f.value::text END, 'UTF8'), 'base64'), E'\\n', '')
			FROM kinds, json_each(row_to_json(kinds)) WITH ORDINALITY f(key, value, n)
			WHERE kinds.id = $id AND json_typeof(f.value) <> 'null' ORDER BY f.n));
		is($client->ask('HGETALL', "kinds:$id"), array(map { bulk($_) } @pairs), "HGETALL of row $id");
		is($client->ask('HLEN', "kinds:$id"), ':' . @pairs / 2 . "\r\n", 'HLEN');
		is($client->ask('HKEYS', "kinds:$id"), array(map { bulk($pairs[ 2 * $_ ]) } 0 .. $#pairs / 2), 'HKEYS');
		is($client->ask('HVALS', "kinds:$id"), array(map { bulk($pairs[ 2 * $_ + 1 ]) } 0 .. $#pairs / 2), 'HVALS');
		my %value = @pairs;
		my @columns = split /,/, 'id,i,f,n,b,t,d,ts,j,jb,a,ta,by,u,iv,m,c,ip,r';
		is($client->ask('HMGET', "kinds:$id", @columns), array(map { bulk($value{$_}) } @columns), 'HMGET');
		is_deeply([ map { $client->ask('HGET', "kinds:$id", $_) } @columns ], [ map { bulk($value{$_}) } @columns ], 'HGET');
		is_deeply([ map { $client->get('HEXISTS', "kinds:$id", $_) } @columns ], [ map { defined $value{$_} ? 1 : 0 } @columns ], 'HEXISTS');
	}
	is($client->ask('HGET', 'kinds:1', $_), "\$-1\r\n", "there is no column \"$_\"") foreach 'T', 'I', '', 'id ', "i\0", 'x', 'ctid';
};

subtest 'rows that are not cached' => sub {
	reads('names:1', '{"id":1,"c":"items"}', 'a type whose text can change');
	is($client->ask('HGET', 'names:1', 'c'), bulk('items'), 'a column of it');
	is($client->ask(@$_), error('NOPERM row security of table "secrets" applies to role "app", so it is not served here'), "row security: @$_ is refused, whether there is a row or not")
	  foreach [ 'GET', 'secrets:1' ], [ 'GET', 'secrets:2' ], [ 'GET', 'secrets:3' ], [ 'MGET', 'items:1', 'secrets:1' ], [ 'EXISTS', 'secrets:2' ];
};

subtest 'large rows' => sub {
	reads("large:$_", row("SELECT * FROM large WHERE id = $_"), "row $_") foreach 1, 2;
	is(length $client->get('HGET', 'large:1', 'v'), 2000000, 'a column');
	is($client->get('STRLEN', 'large:1'), 2000015, 'the length');
};

# Counters before and after something; what changed, as asked for by the other worker's client and by SQL.
sub counts
{
	my ($what, %expected) = @_;
	my %before = %{ metrics($server) };

	$what->();
	my $stat = decode_json($clients[1]->get('STAT'));
	my $after = metrics($server);
	my %got = map { $_ => $stat->{$_} - $before{$_} } keys %expected;
	is_deeply(\%got, \%expected, 'STAT: ' . join ', ', map { "$_ $expected{$_}" } sort keys %expected);
	$expected{client_commands}++ if $expected{client_commands}; # STAT itself
	is_deeply({ map { $_ => $after->{$_} - $before{$_} } keys %expected }, \%expected, 'metrics()');
}

subtest 'every key is counted, by the time its reply is there' => sub {
	quiet_psql($server, q(SELECT local_cache.invalidate('items')));
	my @none = (client_foreign_keys => 0, client_writes => 0);

	counts(sub { $client->ask(qw(GET items:10)) }, client_keys => 1, client_mget_keys => 1, cache_miss => 1, cache_hit => 0, @none);
	counts(sub { $clients[$_ % 2]->ask(qw(GET items:10)) for 1 .. 10 }, client_keys => 10, client_mget_keys => 10, cache_miss => 0, cache_hit => 10, @none);
	counts(sub { $client->ask('MGET', map { "items:$_" } 10, 11, 10, 12) }, client_keys => 4, client_mget_keys => 4, cache_miss => 2, cache_hit => 2, @none);
	counts(sub { $client->ask('MGET', map { "items:$_" } 1000 .. 1099) }, client_keys => 100, client_mget_keys => 100, cache_miss => 100, cache_hit => 0, @none);
	counts(sub { $client->ask(qw(GET foo)); $client->ask(qw(MGET foo items:10 bar)) }, client_keys => 1, client_mget_keys => 4, cache_miss => 0, cache_hit => 1, client_foreign_keys => 3, client_writes => 0);
	counts(sub { $client->ask(qw(HGETALL items:10)); $client->ask(qw(EXISTS items:10 items:11)); $client->ask(qw(TYPE items:10)) }, client_keys => 4, client_mget_keys => 0, cache_miss => 0, cache_hit => 4, @none);
	counts(sub { $client->ask(qw(GET items:abc)) }, client_request_errors => 1, cache_hit => 0);
	counts(sub { $client->send(command(qw(GET items:10)) x 10000); $client->replies(10000) }, client_keys => 10000, cache_hit => 10000, client_commands => 10000);
	counts(sub { quiet_psql($server, q(SELECT local_cache.mget('items', ARRAY[10]))) }, client_keys => 0, cache_hit => 0, hits => 1);
};

# An old transaction may see other versions than the one that the index has of a chain, so no snapshot that is
# as old may use it; the endpoint's are, as long as that transaction runs.
subtest 'an index that is too new is not used' => sub {
	my $old = PlcSession->new($server);

	quiet_psql($server, $_) for ('CREATE TABLE chains (id int NOT NULL, v text)', 'INSERT INTO chains VALUES (1, $$one$$), (2, $$two$$)',
		'GRANT SELECT ON chains TO app');
	$old->say('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()');
	quiet_psql($server, $_) for ('UPDATE chains SET id = id + 10', 'CREATE UNIQUE INDEX chains_id ON chains (id)',
		q(SELECT local_cache.attach_table('chains', namespace => 'chains', key_index => 'chains_id')));
	is($server->safe_psql('postgres', q(SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'chains_id'::regclass)), 't',
		'there is such an index');
	counts(sub {
			is($client->ask(qw(MGET chains:11 chains:1 chains:12)), array(bulk('{"id":11,"v":"one"}'), bulk(undef), bulk('{"id":12,"v":"two"}')), 'MGET');
			is($client->ask(qw(HGET chains:12 v)), bulk('two'), 'HGET');
		}, client_keys => 4, cache_bypass => 4, bypass_query => 4);
	$old->say('COMMIT');
	$old->quit;
};

is(metrics($server)->{verify_failures}, 0, 'no hit was wrong');
unlike(slurp_file($server->logfile), qr/WARNING:.*(leak|differs)|PANIC/, 'nothing leaked');
done_testing();
