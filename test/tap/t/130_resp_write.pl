# Rows written by key over RESP: what each command does and answers, what is refused and in which words, and that a
# write is to the database what any other client's is.
use strict;
use warnings;

use JSON::PP;
use PlcTest;
use PlcResp;
use PlcSession;
use PostgreSQL::Test::Utils;
use Test::More;

# One worker, so that all clients share what it remembers.
my $server = resp_server('write', conf => "pg_local_cache.workers = 1\n", sql => <<'SQL');
	CREATE TYPE pair AS (a int, b text);
	CREATE DOMAIN positive AS int NOT NULL CHECK (value > 0);
	CREATE TABLE items (id bigint PRIMARY KEY, name text, price numeric(10,2) DEFAULT 1.50, n int NOT NULL DEFAULT 5);
	CREATE TABLE kinds (id int PRIMARY KEY, big bigint, f float8, n numeric, ok boolean, t text, v varchar(5), d date, ts timestamptz,
		j json, jb jsonb, a int[], ta text[], p pair, pos positive DEFAULT 7, by bytea, u uuid, "We""ird Col" int, gone int,
		twice int GENERATED ALWAYS AS (id * 2) STORED, serial int GENERATED ALWAYS AS IDENTITY);
	ALTER TABLE kinds DROP COLUMN gone;
	CREATE TABLE orders (tenant int, id text, note text, PRIMARY KEY (tenant, id));
	CREATE TABLE bare (id int PRIMARY KEY);
	CREATE TABLE ids (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int);
	CREATE TABLE cents (c numeric(5,2) PRIMARY KEY, v int);
	CREATE TABLE words (w text NOT NULL, v int);
	CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	CREATE UNIQUE INDEX words_exact ON words (w COLLATE "C");
	CREATE UNIQUE INDEX words_nocase ON words (w COLLATE nocase);
	CREATE TABLE cased (w text NOT NULL, v int);
	CREATE UNIQUE INDEX cased_key ON cased (w COLLATE nocase);
	CREATE TABLE guarded (id int PRIMARY KEY, v int);
	CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF tg_op = 'DELETE' THEN RETURN CASE WHEN old.v = 13 THEN NULL ELSE old END; END IF;
		IF new.v = 1 THEN RETURN NULL; END IF;
		IF new.v = 2 THEN new.id := new.id + 100; END IF;
		RETURN new;
	END $$;
	CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON guarded FOR EACH ROW EXECUTE FUNCTION guard();
	CREATE TABLE parent (id int PRIMARY KEY, v int);
	CREATE TABLE child () INHERITS (parent);
	INSERT INTO child VALUES (1, 1);
	CREATE TABLE part_all (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
	CREATE TABLE part PARTITION OF part_all FOR VALUES FROM (0) TO (10);
	CREATE TABLE refs (id int PRIMARY KEY, item bigint REFERENCES items DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE readonly (id int PRIMARY KEY);
	INSERT INTO readonly VALUES (1);
	CREATE TABLE ruled (id int PRIMARY KEY);
	CREATE RULE nothing AS ON DELETE TO ruled DO INSTEAD NOTHING;
	CREATE TABLE secret (id int PRIMARY KEY);
	ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
	CREATE POLICY all_of_it ON secret USING (true);
	CREATE TABLE partly (id int PRIMARY KEY, v int, w int);
	INSERT INTO partly VALUES (1, 1, 1);
	GRANT ALL ON ALL TABLES IN SCHEMA public TO app;
	REVOKE INSERT, UPDATE, DELETE ON partly FROM app;
	GRANT UPDATE (v) ON partly TO app;
	SELECT local_cache.attach_table(t::regclass, t <> 'readonly', t)
	FROM unnest('{items,kinds,orders,bare,ids,cents,guarded,parent,part,refs,readonly,ruled,secret,partly}'::text[]) t;
	SELECT local_cache.attach_table('words', true, 'words', key_index => 'words_exact');
	SELECT local_cache.attach_table('cased', true, 'cased', key_index => 'cased_key');
SQL
my $client = PlcResp->new($server);
my $other = PlcResp->new($server, protocol => 3);

sub sql { return $server->safe_psql('postgres', $_[0]) }
sub row { my ($table, $where) = @_; return sql("SELECT row_to_json(t) FROM ONLY $table t WHERE $where") }

# What a command answers, and what the database says then.
sub does
{
	my ($command, $reply, $after, $name) = @_;

	is($client->ask(@$command), $reply, "$name: the reply");
	is(sql($after->[0]), $after->[1], "$name: the row") if $after;
}

sub refuses
{
	my ($command, $message, $name) = @_;

	is($client->ask(@$command), "-$message\r\n", $name);
}

subtest 'SET' => sub {
	my $all = 'SELECT row_to_json(t) FROM items t WHERE id < 100 ORDER BY id';

	does([ SET => 'items:1', '{"name":"one","price":2}' ], "+OK\r\n",
		[ $all, '{"id":1,"name":"one","price":2.00,"n":5}' ], 'a new row');
	does([ SET => 'items:1', ' { "id" : "01", "n" : 6 } ' ], "+OK\r\n",
		[ $all, '{"id":1,"name":null,"price":1.50,"n":6}' ], 'what is left out takes its default, in an old row too');
	does([ SET => 'items:1', '{"price":null}' ], "+OK\r\n",
		[ $all, '{"id":1,"name":null,"price":null,"n":5}' ], 'null is null, and no default');
	does([ SET => 'items:1', '{}', 'nx' ], "\$-1\r\n", undef, 'NX with a row');
	does([ SET => 'items:2', '{}', 'XX' ], "\$-1\r\n", undef, 'XX without one');
	is($other->ask(SET => 'items:2', '{}', 'XX'), "_\r\n", 'XX without one, in protocol 3');
	does([ SET => 'items:1', '{"name":"xx"}', 'XX' ], "+OK\r\n",
		[ $all, '{"id":1,"name":"xx","price":1.50,"n":5}' ], 'XX with a row: the whole row all the same');
	does([ SET => 'items:2', '{"name":"nx"}', 'NX' ], "+OK\r\n",
		[ 'SELECT name FROM items WHERE id = 2', 'nx' ], 'NX without a row');
	does([ SETNX => 'items:2', '{}' ], ":0\r\n", undef, 'SETNX with a row');
	does([ SETNX => 'CRUD:postgres.public.items:{"id":3}', '{}' ], ":1\r\n",
		[ 'SELECT n FROM items WHERE id = 3', '5' ], 'SETNX without one, by the long key');
	is($client->ask(GET => 'items:2'), bulk('{"id":2,"name":"nx","price":1.50,"n":5}'), 'read again');
};

subtest 'options of SET that are refused' => sub {
	refuses([ SET => 'items:1', '{}', 'EX', '10' ], 'ERR rows do not expire: option EX is not supported', 'EX');
	refuses([ SET => 'items:1', '{}', 'px', '10' ], 'ERR rows do not expire: option PX is not supported', 'px');
	refuses([ SET => 'items:1', '{}', 'NX', $_, '10' ], "ERR rows do not expire: option $_ is not supported", $_)
	  foreach qw(EXAT PXAT KEEPTTL);
	refuses([ SET => 'items:1', '{}', $_->@* ], 'ERR syntax error', "@$_") foreach [qw(NX XX)], [qw(NX NX)], ['soon'];
	like($client->ask(SET => 'items:1', '{}', 'GET'), qr/^-ERR option GET is not supported/, 'GET');
};

subtest 'values keep their meaning' => sub {
	my $json = '{"big":9223372036854775807,"f":1e-7,"n":12345678901234567890.123456789,"ok":true,"t":"a\"\\\\b\u00e4\ud83d\ude00",'
	  . '"v":"12345","d":"2026-01-02","ts":"2026-01-02T03:04:05.6+00:00","j":{"x": 1.10,  "x":2},"jb":{"n":12345678901234567890.10},'
	  . '"a":[1,null,3],"ta":["a b","c,d","{}"],"p":{"a":1,"b":"q"},"by":"\\\\x00ff","u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","We\"ird Col":8}';
	does([ SET => 'kinds:1', $json ], "+OK\r\n", [ 'SELECT big, f, n, ok, t, v, d, ts, j, jb, a, ta, p, pos, by, u, "We""ird Col", twice FROM kinds',
		join('|', '9223372036854775807', '1e-07', '12345678901234567890.123456789', 't', qq{a"\\b\x{e4}\x{1F600}}, '12345', '2026-01-02',
			'2026-01-02 03:04:05.6+00', '{"x": 1.10,  "x":2}', '{"n": 12345678901234567890.10}', '{1,NULL,3}', '{"a b","c,d","{}"}', '(1,q)', '7',
			'\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '8', '2') =~ s/([^\x00-\x7f])/my $c = $1; utf8::encode($c); $c/ger ], 'of every type');

	# What GET answers can be written again, without the columns that the server makes.
	my $text = $client->get(GET => 'kinds:1') =~ s/,"twice":\d+,"serial":\d+//r;
	my $columns = 'big, f, n, ok, t, v, d, ts, j::text, jb, a, ta, p, pos, by, u, "We""ird Col"';
	is($client->ask(SET => 'kinds:2', $text =~ s/"id":1/"id":2/r), "+OK\r\n", 'what GET answers is written to another row');
	is(sql("SELECT count(*) FROM (SELECT $columns FROM kinds WHERE id = 1 INTERSECT SELECT $columns FROM kinds WHERE id = 2) AS same"), 1,
		'and is the same there');

	# So can what HGETALL answers.
	my %fields = $client->get(HGETALL => 'kinds:1')->@*;
	delete @fields{qw(id twice serial)};
	is($client->ask(HSET => 'kinds:3', %fields), ':' . keys(%fields) . "\r\n", 'what HGETALL answers is written to a third row');
	is(sql("SELECT count(*) FROM (SELECT $columns FROM kinds WHERE id = 1 INTERSECT SELECT $columns FROM kinds WHERE id = 3) AS same"), 1,
		'and is the same there too');
	does([ HSET => 'kinds:3', a => '{4,5}', p => '(2,r)', ta => '[0:1]={x,y}', 't', '{"a":1}', 'j', ' [1, 2]' ], ":0\r\n",
		[ 'SELECT a, p, ta, t, j FROM kinds WHERE id = 3', '{4,5}|(2,r)|[0:1]={x,y}|{"a":1}|[1, 2]' ], 'arrays and composites as PostgreSQL spells them');
	does([ HSET => 'kinds:3', p => '(,)' ], ":0\r\n", [ 'SELECT p FROM kinds WHERE id = 3', '(,)' ], 'a composite of nulls');
	does([ HSET => 'kinds:3', p => '(1,)' ], ":0\r\n", [ 'SELECT p FROM kinds WHERE id = 3', '(1,)' ], 'is no null');
};

subtest 'rows that are refused' => sub {
	my $before = sql('SELECT kinds FROM kinds');
	my @cases = (
		[ '{"nope":1}', 'ERR column "nope" of table "kinds" does not exist' ],
		[ '{"gone":1}', 'ERR column "gone" of table "kinds" does not exist' ],
		[ '{"T":1}', 'ERR column "T" of table "kinds" does not exist' ],
		[ '{"ctid":"(0,1)"}', 'ERR column "ctid" of table "kinds" does not exist' ],
		[ '{"twice":2}', 'ERR column "twice" of table "kinds" is generated and cannot be written' ],
		[ '{"serial":2}', 'ERR identity column "serial" of table "kinds" is always generated and cannot be written' ],
		[ '{"t":"a","t":"a"}', 'ERR column "t" of table "kinds" is given twice' ],
		[ '{"t":"a","\u0074":"b"}', 'ERR column "t" of table "kinds" is given twice' ],
		[ '{"id":1,"id":1}', 'ERR column "id" of table "kinds" is given twice' ],
		[ '{"id":2}', 'ERR column "id" is not what the key (id)=(1) says' ],
		[ '{"id":null}', 'ERR column "id" is not what the key (id)=(1) says' ],
		[ '{"id":[1]}', 'ERR column "id" is not what the key (id)=(1) says' ],
		[ '{"id":{"id":1}}', 'ERR column "id" is not what the key (id)=(1) says' ],
		[ '{"id":"one"}', 'ERR invalid input syntax for type integer: "one"' ],
		[ '[{"t":"a"}]', 'ERR a row must be a JSON object' ],
		[ '"t"', 'ERR a row must be a JSON object' ],
		[ 'word', 'ERR invalid input syntax for type json' ],
		[ '', 'ERR invalid input syntax for type json' ],
		[ '{"t":"a"', 'ERR invalid input syntax for type json' ],
		[ '{"t":"a"}}', 'ERR invalid input syntax for type json' ],
		[ '{"t":"\u0000"}', 'ERR unsupported Unicode escape sequence' ],
		[ "{\"t\":\"\0\"}", 'ERR invalid byte sequence for encoding "UTF8": 0x00' ],
		[ "{\"t\":\"\xff\"}", 'ERR invalid byte sequence for encoding "UTF8": 0xff' ],
		[ '{"big":1.5}', 'ERR invalid input syntax for type bigint: "1.5"' ],
		[ '{"big":9223372036854775808}', 'ERR value "9223372036854775808" is out of range for type bigint' ],
		[ '{"v":"123456"}', 'ERR value too long for type character varying(5)' ],
		[ '{"pos":-1}', 'ERR value for domain positive violates check constraint "positive_check"' ],
		[ '{"pos":null}', 'ERR domain positive does not allow null values' ],
		[ '{"a":1}', 'ERR expected JSON array' ],
		[ '[' x 100000, undef ]);

	foreach my $case (@cases)
	{
		my ($json, $message) = @$case;
		my $name = substr $json, 0, 40;
		my $reply = $client->ask(SET => 'kinds:1', $json);

		if (defined $message) { is($reply, "-$message\r\n", $name) }
		else { like($reply, qr/^-ERR .*\r\n\z/, $name) }
	}
	refuses([ HSET => 'kinds:1', jb => '1,"t":"injected"' ], 'ERR invalid input syntax for type json', 'no way out of a field of JSON');
	refuses([ HSET => 'kinds:1', a => '[1],"t":"injected"' ], 'ERR malformed array literal: "[1],"t":"injected""', 'nor of an array');
	refuses([ HSET => 'kinds:1', p => '{"a":1},"t":"injected"' ], 'ERR malformed record literal: "{"a":1},"t":"injected""', 'nor of a composite');
	refuses([ HSET => 'kinds:1', t => "\xff" ], 'ERR invalid byte sequence for encoding "UTF8": 0xff', 'no half characters');
	refuses([ HSET => 'kinds:1', "t\0" => "x" ], 'ERR invalid byte sequence for encoding "UTF8": 0x00', 'no zero bytes');
	refuses([ HSET => 'kinds:1', t => 'a', t => 'b' ], 'ERR column "t" of table "kinds" is given twice', 'HSET with a column twice');
	refuses([ HSET => 'kinds:1', id => '2' ], 'ERR column "id" is not what the key (id)=(1) says', 'HSET with another key');
	refuses([ HSET => 'kinds:1', twice => '2' ], 'ERR column "twice" of table "kinds" is generated and cannot be written', 'HSET of a generated column');
	refuses([ HDEL => 'kinds:1', 'twice' ], 'ERR column "twice" of table "kinds" is generated and cannot be written', 'HDEL of a generated column');
	refuses([ HDEL => 'kinds:1', 'id' ], 'ERR column "id" of table "kinds" belongs to the key and cannot be cleared', 'HDEL of the key');
	refuses([ HDEL => 'kinds:1', 'nope' ], 'ERR column "nope" of table "kinds" does not exist', 'HDEL of no column');
	refuses([ HDEL => 'items:1', 'n' ], 'ERR null value in column "n" of relation "items" violates not-null constraint', 'HDEL of a NOT NULL column');
	is(sql('SELECT kinds FROM kinds'), $before, 'nothing has been written');
};

subtest 'HSET, HMSET, HDEL' => sub {
	my $row = 'SELECT row_to_json(t) FROM items t WHERE id = 10';

	does([ HSET => 'items:10', name => 'ten', id => '10' ], ":2\r\n",
		[ $row, '{"id":10,"name":"ten","price":1.50,"n":5}' ], 'a row that was not there');
	does([ HSET => 'items:10', price => '7', name => 'TEN' ], ":0\r\n",
		[ $row, '{"id":10,"name":"TEN","price":7.00,"n":5}' ], 'these columns and no others');
	does([ HDEL => 'items:10', 'name', 'price' ], ":2\r\n",
		[ $row, '{"id":10,"name":null,"price":null,"n":5}' ], 'columns become null, not their defaults');
	does([ HDEL => 'items:10', 'name' ], ":0\r\n", undef, 'a column that is null already');
	does([ HDEL => 'items:11', 'name' ], ":0\r\n", [ 'SELECT count(*) FROM items WHERE id = 11', 0 ], 'HDEL without a row');
	does([ HSET => 'items:10', name => '', n => '1' ], ":1\r\n", [ $row, '{"id":10,"name":"","price":null,"n":1}' ], 'an empty string is no null');
	does([ HMSET => 'items:10', name => 'hm' ], "+OK\r\n", [ 'SELECT name FROM items WHERE id = 10', 'hm' ], 'HMSET');
	does([ HSET => 'items:10', id => '10' ], ":0\r\n", undef, 'nothing but the key');
	refuses([ HSET => 'items:10', 'name' ], "ERR wrong number of arguments for 'hset' command", 'a name without a value');
	refuses([ HSET => 'items:10', 'name', 'a', 'n' ], "ERR wrong number of arguments for 'hset' command", 'a second name without a value');
	refuses([ HMSET => 'items:10', 'name', 'a', 'n' ], "ERR wrong number of arguments for 'hmset' command", 'HMSET likewise');
};

subtest 'DEL, UNLINK, MSET' => sub {
	does([ MSET => 'items:20', '{}', 'orders:tenant=7,id=a', '{"note":"n"}', 'items:21', '{"name":"x"}', 'items:20', '{"name":"again"}' ], "+OK\r\n",
		[ q(SELECT string_agg(concat(id, name), ',' ORDER BY id) FROM items WHERE id BETWEEN 20 AND 29), '20again,21x' ], 'MSET of two tables');
	refuses([ MSET => 'items:22', '{}', 'items:23', '{"nope":1}' ], 'ERR column "nope" of table "items" does not exist', 'MSET with an error');
	refuses([ MSET => 'items:22', '{}', 'nowhere:23', '{}' ], 'ERR key "nowhere:23" names no table that is attached to the cache', 'MSET with a foreign key');
	refuses([ MSET => 'items:22', '{}', 'items:23' ], "ERR wrong number of arguments for 'mset' command", 'MSET with a key alone');
	is(sql('SELECT count(*) FROM items WHERE id IN (22, 23)'), 0, 'none of an MSET that failed');
	does([ DEL => 'items:20', 'items:20', 'items:99', 'orders:{"id":"a","tenant":7}' ], ":2\r\n",
		[ 'SELECT (SELECT count(*) FROM orders) + count(*) FROM items WHERE id = 20', 0 ], 'DEL counts rows that were there');
	does([ UNLINK => 'items:21' ], ":1\r\n", [ 'SELECT count(*) FROM items WHERE id = 21', 0 ], 'UNLINK');
	refuses([ DEL => 'items:1', 'nowhere:1' ], 'ERR key "nowhere:1" names no table that is attached to the cache', 'DEL with a foreign key');
	refuses([ DEL => 'items:1', "nowhere:\xff" ], 'ERR key "?" names no table that is attached to the cache', 'a key that is no text');
	refuses([ DEL => 'items:1', "\xf0" ], 'ERR key "?" names no table that is attached to the cache', 'a key that is half a character');
	refuses([ DEL => 'items:1', "items:x" ], 'ERR invalid input syntax for type bigint: "x"', 'DEL with a key that is none');
	is(sql('SELECT count(*) FROM items WHERE id = 1'), 1, 'none of a DEL that failed');
};

subtest 'tables of all sorts' => sub {
	does([ SET => 'bare:1', '{}' ], "+OK\r\n", [ 'SELECT count(*) FROM bare', 1 ], 'nothing but a key');
	does([ SET => 'bare:1', '{"id":1}' ], "+OK\r\n", [ 'SELECT count(*) FROM bare', 1 ], 'nothing but a key, again');
	does([ SET => 'bare:1', '{}', 'XX' ], "+OK\r\n", undef, 'nothing but a key, XX');
	does([ SET => 'bare:2', '{}', 'XX' ], "\$-1\r\n", undef, 'nothing but a key, XX, no row');
	does([ SET => 'ids:5', '{"id":5,"v":1}' ], "+OK\r\n", [ 'TABLE ids', '5|1' ], 'the key is an identity column');
	does([ HSET => 'ids:5', v => 2 ], ":0\r\n", [ 'TABLE ids', '5|2' ], 'the key is an identity column, HSET');
	does([ SET => 'cents:1.2300', '{"v":1}' ], "+OK\r\n", [ 'TABLE cents', '1.23|1' ], 'a key that is spelled otherwise');
	does([ SET => 'cents:1.230', '{"c":1.23,"v":2}' ], "+OK\r\n", [ 'TABLE cents', '1.23|2' ], 'and equal to what the row says');
	refuses([ SET => 'cents:2.345', '{"v":1}' ], 'ERR table "cents" would store the row (c)=(2.345) under another key', 'a key that would be rounded');
	refuses([ SET => 'cents:1.234', '{"v":1}' ], 'ERR table "cents" would store the row (c)=(1.234) under another key', 'a key that would be rounded to a row');
	does([ SET => 'words:a', '{"v":1}' ], "+OK\r\n", undef, 'a key of two unique indexes');
	refuses([ SET => 'words:A', '{"v":2}' ], 'ERR duplicate key value violates unique constraint "words_nocase"', 'is not taken for equal by the other index');
	does([ DEL => 'words:A' ], ":0\r\n", [ 'TABLE words', 'a|1' ], 'nor is it deleted by it');
	does([ SET => 'cased:a', '{"v":1}' ], "+OK\r\n", undef, 'a key without case');
	does([ SET => 'cased:A', '{"w":"A","v":2}' ], "+OK\r\n", [ 'TABLE cased', 'a|2' ], 'is found in any, and stays as it is');
	does([ SET => 'cased:A', '{"v":3}', 'XX' ], "+OK\r\n", [ 'TABLE cased', 'a|3' ], 'with XX');
	does([ HSET => 'cased:A', v => 4 ], ":0\r\n", [ 'TABLE cased', 'a|4' ], 'with HSET');
	does([ DEL => 'cased:A' ], ":1\r\n", [ 'TABLE cased', '' ], 'with DEL');
	does([ DEL => 'parent:1' ], ":0\r\n", [ 'SELECT count(*) FROM parent', 1 ], 'rows of a child are others');
	does([ HSET => 'parent:1', v => 2 ], ":1\r\n", [ 'SELECT count(*), min(v) FROM parent', '2|1' ], 'and stay as they are');
	does([ HSET => 'parent:1', v => 3 ], ":0\r\n", [ 'SELECT min(v), max(v) FROM parent', '1|3' ], 'when a row of the parent is updated too');
	does([ SET => 'parent:1', '{"v":4}', 'XX' ], "+OK\r\n", [ 'SELECT min(v), max(v) FROM parent', '1|4' ], 'in either way');
	does([ HDEL => 'parent:1', 'v' ], ":1\r\n", [ 'SELECT min(v), count(*) FROM parent', '1|2' ], 'or cleared');
	does([ SET => 'part:1', '{"v":1}' ], "+OK\r\n", [ 'TABLE part_all', '1|1' ], 'a partition');
	refuses([ SET => 'part:11', '{"v":1}' ], 'ERR new row for relation "part" violates partition constraint', "a row that is another partition's");
	refuses([ DEL => 'readonly:1' ], 'ERR table "readonly" is attached for reading only', 'a table that is not writable');
	refuses([ DEL => 'ruled:1' ], 'ERR table "ruled" has rules, so its rows cannot be written by key', 'a table with rules');
	refuses([ DEL => 'secret:1' ], 'NOPERM row security of table "secret" applies to role "app", so it is not served here', 'a table with row security');
};

subtest 'triggers and constraints' => sub {
	my $prevented = 'was not written: a trigger prevented it, or the column\'s type rounds the key to that of another row';

	refuses([ SET => 'guarded:1', '{"v":1}' ], "ERR row (id)=(1) of table \"guarded\" $prevented", 'a trigger that drops the row');
	refuses([ HSET => 'guarded:1', v => 1 ], "ERR row (id)=(1) of table \"guarded\" $prevented", 'a trigger that drops the row of HSET');
	does([ SET => 'guarded:1', '{"v":1}', 'NX' ], "\$-1\r\n", undef, 'a trigger that drops the row, with NX');
	refuses([ SET => 'guarded:1', '{"v":2}' ], 'ERR table "guarded" would store the row (id)=(1) under another key', 'a trigger that changes the key');
	is(sql('SELECT count(*) FROM guarded'), 0, 'nothing has been written');
	does([ SET => 'guarded:1', '{"v":3}' ], "+OK\r\n", undef, 'a row that it lets pass');
	refuses([ SET => 'guarded:1', '{"v":2}' ], 'ERR table "guarded" would store the row (id)=(1) under another key', 'a trigger that changes the key of a row');
	refuses([ HSET => 'guarded:1', v => 2 ], 'ERR table "guarded" would store the row (id)=(1) under another key', 'the same with HSET');
	refuses([ HSET => 'guarded:1', v => 1 ], "ERR row (id)=(1) of table \"guarded\" $prevented", 'a trigger that drops an update');
	does([ SET => 'guarded:1', '{"v":13}' ], "+OK\r\n", undef, 'a row that cannot be deleted');
	does([ DEL => 'guarded:1' ], ":0\r\n", [ 'TABLE guarded', '1|13' ], 'is not counted');

	refuses([ SET => 'refs:1', '{"item":12345}' ],
		'ERR insert or update on table "refs" violates foreign key constraint "refs_item_fkey"', 'a constraint that is checked at the end');
	is(sql('SELECT count(*) FROM refs'), 0, 'nothing has been written');
	does([ SET => 'refs:1', '{"item":1}' ], "+OK\r\n", [ 'TABLE refs', '1|1' ], 'the constraint is met');
	refuses([ DEL => 'items:1' ], 'ERR update or delete on table "items" violates foreign key constraint "refs_item_fkey" on table "refs"',
		'a row that is referred to');
};

subtest 'privileges' => sub {
	refuses([ SET => 'partly:1', '{"v":2}' ], 'NOPERM permission denied for table partly', 'SET needs all of them');
	refuses([ SET => 'partly:2', '{"v":2}' ], 'NOPERM permission denied for table partly', 'with a row or without');
	refuses([ DEL => 'partly:1' ], 'NOPERM permission denied for table partly', 'DEL');
	refuses([ DEL => 'partly:2' ], 'NOPERM permission denied for table partly', 'DEL without a row');
	does([ HSET => 'partly:1', v => 2 ], ":0\r\n", [ 'TABLE partly', '1|2|1' ], 'HSET needs that of the column');
	refuses([ HSET => 'partly:1', w => 2 ], 'NOPERM permission denied for table partly', 'and does without it');
	refuses([ HSET => 'partly:2', v => 2 ], 'NOPERM permission denied for table partly', 'a new row is an INSERT');
	is($client->ask(GET => 'partly:1'), bulk('{"id":1,"v":2,"w":1}'), 'the connection goes on');
};

subtest 'a write is seen at once, and undone as a whole' => sub {
	$client->send(join '', map { command(@$_) } [ SET => 'items:30', '{"name":"a"}' ], [ GET => 'items:30' ], [ HSET => 'items:30', name => 'b' ],
		[ HGET => 'items:30', 'name' ], [ DEL => 'items:30' ], [ GET => 'items:30' ]);
	is_deeply([ $client->replies(6) ], [ "+OK\r\n", bulk('{"id":30,"name":"a","price":1.50,"n":5}'), ":0\r\n", bulk('b'), ":1\r\n", bulk(undef) ],
		'in one pipeline');
	is($client->ask(SET => 'items:31', '{"name":"a"}'), "+OK\r\n", 'written by one client');
	is($other->ask(HGET => 'items:31', 'name'), bulk('a'), 'read by another');

	my $writes = sub { return decode_json($client->get('STAT'))->{client_writes} };
	my $before = $writes->();
	$client->ask(@$_) foreach [ MSET => 'items:32', '{}', 'items:33', '{}' ], [ DEL => 'items:32', 'items:33', 'items:34' ], [ HSET => 'items:31', n => 1 ],
	  [ HDEL => 'items:31', 'name' ], [ HDEL => 'items:31', 'name' ], [ SET => 'items:31', '{}', 'NX' ];
	cmp_ok($writes->() - $before, '==', 6, 'rows written are counted');
};

subtest 'EXEC is all or nothing' => sub {
	my $exec = sub {
		$client->send(join '', map { command(@$_) } ['MULTI'], @_, ['EXEC']);
		return ($client->replies(2 + @_))[-1];
	};
	my $set = [ SET => 'items:35', '{}' ];

	foreach my $case (
		[ [ SET => 'items:36', '{}', 'EX', 5 ], 'ERR rows do not expire: option EX is not supported' ],
		[ [ SET => 'items:36', '{}', 'soon' ], 'ERR syntax error' ],
		[ [ HSET => 'items:36', 'name', 'a', 'n' ], "ERR wrong number of arguments for 'hset' command" ],
		[ [ MSET => 'items:36', '{}', 'items:37' ], "ERR wrong number of arguments for 'mset' command" ],
		[ [ DEL => 'nowhere:1' ], 'ERR key "nowhere:1" names no table that is attached to the cache' ],
		[ [ SCAN => 'x' ], 'ERR invalid cursor' ], [ [ HSCAN => 'items:1', 0, 'x' ], 'ERR syntax error' ],
		[ [ HDEL => 'items:1', 'nope' ], 'ERR column "nope" of table "items" does not exist' ],
		[ [ SET => 'refs:9', '{"item":12345}' ], 'ERR insert or update on table "refs" violates foreign key constraint "refs_item_fkey"' ])
	{
		is($exec->($set, $case->[0]), "-EXECABORT Transaction rolled back: $case->[1]\r\n", "$case->[0][0]: $case->[1]");
	}
	is(sql('SELECT count(*) FROM items WHERE id = 35'), 0, 'nothing has been written');
	is($exec->($set, [ GET => 'items:35' ], [ SET => 'items:35', '{}', 'NX' ], [ DEL => 'items:35' ], [ GET => 'items:35' ]),
		array("+OK\r\n", bulk('{"id":35,"name":null,"price":1.50,"n":5}'), bulk(undef), ":1\r\n", bulk(undef)), 'own writes are seen');
};

subtest 'a row that is locked holds up nobody else' => sub {
	my $session = PlcSession->new($server);

	$client->ask(SET => 'items:40', '{"name":"a"}');
	$session->say('BEGIN; UPDATE items SET n = 41 WHERE id = 40');
	$client->send(command(HSET => 'items:40', name => 'b') . command(HGET => 'items:40', 'n'));
	is($other->ask(HGET => 'items:40', 'n'), bulk('5'), 'others read') for 1 .. 3;
	is($other->ask(SET => 'items:41', '{}'), "+OK\r\n", 'and write');
	ok($client->quiet, 'the writer waits');
	$session->say('COMMIT');
	is_deeply([ $client->replies(2) ], [ ":0\r\n", bulk('41') ], 'and goes on from what was committed');
	is(sql('SELECT name, n FROM items WHERE id = 40'), 'b|41', 'neither write is lost');

	$session->say('BEGIN; LOCK TABLE items IN SHARE MODE');
	$client->send(command(MSET => 'bare:7', '{}', 'items:42', '{}'));
	is($other->ask(HGET => 'items:40', 'n'), bulk('41'), 'a locked table is read');
	ok($client->quiet, 'and its writer waits');
	$session->say('COMMIT');
	is($client->reply, "+OK\r\n", 'then writes');

	$session->say('BEGIN; DELETE FROM items WHERE id = 40');
	$client->send(command(HSET => 'items:40', name => 'c'));
	$other->ask('PING');
	$session->say('COMMIT');
	is($client->reply, ":1\r\n", 'HSET makes the row anew that another has just deleted');
};

subtest 'writers in opposite directions' => sub {
	my @writers = map { PlcResp->new($server) } 1 .. 2;
	my @keys = map { "items:6$_" } 0 .. 9;
	my ($rounds, $bad) = (50, 0);

	foreach my $round (1 .. $rounds)
	{
		$writers[0]->send(command('MSET', map { ($_, qq({"n":$round})) } @keys));
		$writers[1]->send(command('MSET', map { ($_, qq({"n":-$round})) } reverse @keys));
		$bad++ if grep { $_->reply ne "+OK\r\n" } @writers;
	}
	is($bad, 0, 'all succeed');
	is(sql('SELECT count(DISTINCT n) FROM items WHERE id BETWEEN 60 AND 69'), 1, 'one of them was the last');
};

subtest 'names that change' => sub {
	sql(q{CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (id int PRIMARY KEY, v int); CREATE TABLE b.t (id int PRIMARY KEY, v int);
		GRANT ALL ON SCHEMA a, b TO app; GRANT ALL ON a.t, b.t TO app; SELECT local_cache.attach_table('a.t', true, 'moving')});
	is($client->ask(SET => "moving:$_", '{"v":1}'), "+OK\r\n", "row $_") for 1 .. 2;
	sql('ALTER SCHEMA a RENAME TO c; ALTER SCHEMA b RENAME TO a');
	is($client->ask(SET => 'moving:3', '{"v":1}'), "+OK\r\n", 'its schema has another name, and another has its name');
	is($client->ask(HSET => 'moving:3', v => '2'), ":0\r\n", 'HSET likewise');
	is(sql('SELECT (SELECT count(*) FROM a.t), count(*) FROM c.t'), '0|3', 'the rows are where they should be');
	sql('ALTER TABLE c.t RENAME v TO w; ALTER TABLE c.t ADD x int DEFAULT 4');
	is($client->ask(SET => 'moving:3', '{"w":5}'), "+OK\r\n", 'columns have other names');
	refuses([ SET => 'moving:3', '{"v":5}' ], 'ERR column "v" of table "t" does not exist', 'and no longer those they had');
	is(sql('SELECT * FROM c.t WHERE id = 3'), '3|5|4', 'and more come');
	sql('ALTER TABLE c.t ALTER w TYPE text');
	is($client->ask(SET => 'moving:3', '{"w":"text"}'), "+OK\r\n", 'and other types');
};

subtest 'the search path does not matter' => sub {
	sql(q{CREATE SCHEMA evil; CREATE FUNCTION evil.yes(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
		CREATE OPERATOR evil.= (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.yes);
		CREATE FUNCTION evil.json_to_record(json) RETURNS record LANGUAGE sql AS 'SELECT NULL::record';
		CREATE TABLE evil.bare (id int PRIMARY KEY); GRANT ALL ON SCHEMA evil TO app; GRANT ALL ON evil.bare TO app;
		ALTER DATABASE postgres SET search_path = evil, public, pg_catalog});
	$server->restart;
	resp_serves($server);
	$client = PlcResp->new($server);
	is($client->ask(SET => 'bare:50', '{}'), "+OK\r\n", 'SET');
	is($client->ask(HSET => 'partly:1', v => 9), ":0\r\n", 'HSET');
	is($client->ask(DEL => 'bare:51'), ":0\r\n", 'DEL of no row');
	is(sql('SELECT count(*) FROM public.bare WHERE id OPERATOR(pg_catalog.=) 50'), 1, 'the row is in the right table');
};

done_testing();
