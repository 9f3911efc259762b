-- Keys of many types, and the spellings of one key: all lead to the same newest row.  See lib/scenario.sql.
-- Each scenario reads its key by several spellings, changes the row by yet another, and reads again.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers

-- H51, H52
\set name 'H51 numeric: 1, 1.0, 1.00, 1e0, NaN, Infinity'
\set setup 'CREATE TABLE t (id numeric PRIMARY KEY, v text); INSERT INTO t VALUES (1.0, $$one$$), ($$NaN$$, $$nan$$), ($$-Infinity$$, $$least$$);'
\set keys '$${1,1.0,1.00,1e0,NaN,-Infinity,2,2.0}$$::numeric[]'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = 1.000; DELETE FROM t WHERE id = $$nan$$; INSERT INTO t VALUES (2.000, $$two$$);'
\i :scenario

\set name 'H51 numeric keys as int[]'
\set keys '$${1,2}$$::int[]'
\i :scenario

\set name 'H52 a spelling that was missing is there as soon as another one is inserted'
\set setup 'CREATE TABLE t (id numeric PRIMARY KEY, v text);'
\set keys '$${1,1.0,1.00}$$::numeric[]'
\set hazard 'INSERT INTO t VALUES (1, $$one$$);'
\i :scenario

\set name 'H51 float8: -0 and 0, NaN, infinity'
\set setup 'CREATE TABLE t (id float8 PRIMARY KEY, v text); INSERT INTO t VALUES (0, $$zero$$), ($$NaN$$, $$nan$$), ($$Infinity$$, $$inf$$);'
\set keys '$${0,-0,NaN,Infinity,1.5}$$::float8[]'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = $$-0$$::float8; UPDATE t SET v = $$newnan$$ WHERE id = $$NaN$$; INSERT INTO t VALUES (1.5, $$x$$);'
\i :scenario

\set name 'H51 float8 key given as float4'
\set keys '$${0,1.5}$$::float4[]'
\i :scenario
\set name 'H51 float8 key given as int'
\set keys '$${0,1}$$::int[]'
\i :scenario
\set name 'H51 float8 key given as numeric'
\set keys '$${0,1.50}$$::numeric[]'
\i :scenario

\set name 'H51 float4'
\set setup 'CREATE TABLE t (id float4 PRIMARY KEY, v text); INSERT INTO t VALUES (0, $$zero$$), (1.1, $$x$$);'
\set keys '$${0,-0,1.1}$$::float4[]'
\set hazard 'UPDATE t SET v = $$new$$;'
\i :scenario

\set name 'H51 char(n): padding'
\set setup 'CREATE TABLE t (id char(5) PRIMARY KEY, v text); INSERT INTO t VALUES ($$ab$$, $$x$$), ($$b$$, $$y$$);'
\set keys 'ARRAY[$$ab$$, $$ab   $$, $$ab        $$, $$ b$$, $$b$$]::bpchar[]'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = $$ab $$; DELETE FROM t WHERE id = $$b$$;'
\i :scenario

\set name 'H51 char(n), keys as varchar[]: read like char(n)'
\set match 't.id = k[i]::bpchar'
\set keys 'ARRAY[$$ab$$, $$ab   $$, $$b $$]::varchar[]'
\i :scenario
\set match 't.id = k[i]'

\set name 'text, varchar, empty and long strings'
\set setup 'CREATE TABLE t (id varchar PRIMARY KEY, v text); INSERT INTO t VALUES ($$$$, $$empty$$), ($$äöü$$, $$x$$), (repeat($$long$$, 500), $$long$$);'
\set keys 'ARRAY[$$$$, $$ $$, $$äöü$$, repeat($$long$$, 500), repeat($$long$$, 100000)]'
\set hazard 'UPDATE t SET v = $$new$$;'
\i :scenario

\set name 'H51 citext'
CREATE EXTENSION IF NOT EXISTS citext;
\set setup 'CREATE TABLE t (id citext PRIMARY KEY, v text); INSERT INTO t VALUES ($$Key$$, $$x$$), ($$b$$, $$y$$);'
\set keys 'ARRAY[$$key$$, $$KEY$$, $$Key$$, $$B$$]::citext[]'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = $$kEY$$; UPDATE t SET id = $$KEY$$ WHERE id = $$key$$; DELETE FROM t WHERE id = $$b$$;'
\i :scenario

\set name 'H51 citext keys as text[]'
\set keys 'ARRAY[$$key$$, $$KEY$$, $$Key$$, $$B$$]'
\set match 't.id = k[i]::citext'
\i :scenario
\set match 't.id = k[i]'

\set name 'H51 nondeterministic collation'
CREATE COLLATION plc_loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
\set setup 'CREATE TABLE t (id text COLLATE plc_loose PRIMARY KEY, v text); INSERT INTO t VALUES ($$Käse$$, $$x$$), ($$b$$, $$y$$);'
\set keys 'ARRAY[$$kase$$, $$KÄSE$$, $$Käse$$, $$B$$]'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = $$KASE$$; UPDATE t SET id = $$käse$$ WHERE id = $$kase$$;'
\i :scenario

\set name 'H51 collation of the column changed, index rebuilt: spellings that were equal are not'
\set hazard 'ALTER TABLE t ALTER id TYPE text COLLATE "C";'
\i :scenario

\set name 'H51 and the other way'
\set setup 'CREATE TABLE t (id text COLLATE "C" PRIMARY KEY, v text); INSERT INTO t VALUES ($$Käse$$, $$x$$), ($$b$$, $$y$$);'
\set hazard 'ALTER TABLE t ALTER id TYPE text COLLATE plc_loose; UPDATE t SET v = $$new$$;'
\i :scenario

\set name 'H51 index with a collation of its own'
\set setup 'CREATE TABLE t (x int PRIMARY KEY, id text NOT NULL COLLATE "C", v text); CREATE UNIQUE INDEX t_id ON t (id COLLATE plc_loose); INSERT INTO t VALUES (1, $$Käse$$, $$x$$), (2, $$b$$, $$y$$);'
\set attach 'SELECT local_cache.attach_table($$t$$, key_index => $$t_id$$);'
\set match 't.id = k[i] COLLATE plc_loose'
\set hazard 'UPDATE t SET v = $$new$$ WHERE x = 1; DELETE FROM t WHERE x = 2;'
\i :scenario
\set attach 'SELECT local_cache.attach_table($$t$$);'
\set match 't.id = k[i]'
DROP COLLATION plc_loose;

\set name 'H51 interval: 1 mon, 30 days, 720 hours'
\set setup 'CREATE TABLE t (id interval PRIMARY KEY, v text); INSERT INTO t VALUES ($$1 mon$$, $$x$$);'
\set keys 'ARRAY[$$1 mon$$, $$30 days$$, $$720:00$$, $$1 day$$]::interval[]'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = $$29 days 24:00$$; UPDATE t SET id = $$30 days$$;'
\i :scenario

\set name 'H51 jsonb: 1.0 and 1, order of fields'
\set setup 'CREATE TABLE t (id jsonb PRIMARY KEY, v text); INSERT INTO t VALUES ($$1$$, $$x$$), ($${"b": [1, null], "a": "t"}$$, $$y$$);'
\set keys 'ARRAY[$$1.0$$, $$1$$, $$1.00$$, $${"a":"t","b":[1.0,null]}$$, $$null$$]::jsonb[]'
\set hazard 'UPDATE t SET v = $$new$$;'
\i :scenario

\set name 'H51 inet, with and without mask; case of IPv6'
\set setup 'CREATE TABLE t (id inet PRIMARY KEY, v text); INSERT INTO t VALUES ($$10.0.0.1$$, $$x$$), ($$10.0.0.1/24$$, $$y$$), ($$fe80::AB$$, $$z$$);'
\set keys 'ARRAY[$$10.0.0.1/32$$, $$10.0.0.1$$, $$10.0.0.1/24$$, $$FE80:0::ab$$]::inet[]'
\set hazard 'UPDATE t SET v = $$new$$;'
\i :scenario

\set name 'H51 uuid'
\set setup 'CREATE TABLE t (id uuid PRIMARY KEY, v text); INSERT INTO t VALUES ($$a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11$$, $$x$$);'
\set keys 'ARRAY[$${A0EEBC99-9C0B4EF8-BB6D6BB9-BD380A11}$$, $$a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11$$, $$00000000-0000-0000-0000-000000000000$$]::uuid[]'
\set hazard 'UPDATE t SET v = $$new$$;'
\i :scenario
\set name 'H51 uuid given as text in another case'
\set keys 'ARRAY[$$A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11$$, $$00000000-0000-0000-0000-000000000000$$]'
\set match 't.id = k[i]::uuid'
\i :scenario
\set match 't.id = k[i]'

\set name 'name'
\set setup 'CREATE TABLE t (id name PRIMARY KEY, v text); INSERT INTO t VALUES ($$one$$, $$x$$), (repeat($$n$$, 63)::name, $$y$$);'
\set keys 'ARRAY[$$one$$, repeat($$n$$, 63), $$two$$]::name[]'
\i :scenario

\set name '"char"'
\set setup 'CREATE TABLE t (id "char" PRIMARY KEY, v text); INSERT INTO t VALUES ($$a$$, $$x$$), ($$$$, $$y$$);'
\set keys 'ARRAY[$$a$$, $$$$, $$b$$]::"char"[]'
\i :scenario
\set name 'boolean'
\set setup 'CREATE TABLE t (id boolean PRIMARY KEY, v text); INSERT INTO t VALUES (true, $$x$$);'
\set keys 'ARRAY[true, false]'
\i :scenario
\set name 'smallint'
\set setup 'CREATE TABLE t (id smallint PRIMARY KEY, v text); INSERT INTO t VALUES (-1, $$x$$), (32767, $$y$$);'
\set keys 'ARRAY[-1, 32767, 0]'
\i :scenario
\set name 'bigint'
\set setup 'CREATE TABLE t (id bigint PRIMARY KEY, v text); INSERT INTO t VALUES (-1, $$x$$), (9223372036854775807, $$y$$);'
\set keys 'ARRAY[-1, 9223372036854775807, 0]'
\i :scenario
\set name 'oid'
\set setup 'CREATE TABLE t (id oid PRIMARY KEY, v text); INSERT INTO t VALUES (4294967295, $$x$$), (0, $$y$$);'
\set keys 'ARRAY[4294967295, 0, 7]::oid[]'
\i :scenario

\set name 'enum; label renamed between reads'
CREATE TYPE mood AS ENUM ('ok', 'sad');
\set setup 'CREATE TABLE t (id mood PRIMARY KEY, v text); INSERT INTO t VALUES ($$ok$$, $$x$$), ($$sad$$, $$y$$);'
\set keys 'ARRAY[$$ok$$, $$sad$$]'
\set match 't.id::text = k[i]'
\set hazard 'UPDATE t SET v = $$new$$; ALTER TYPE mood RENAME VALUE $$ok$$ TO $$x$$; ALTER TYPE mood RENAME VALUE $$sad$$ TO $$ok$$; ALTER TYPE mood RENAME VALUE $$x$$ TO $$sad$$;'
\i :scenario
DROP TYPE mood;
\set match 't.id = k[i]'

\set name 'date'
\set setup 'CREATE TABLE t (id date PRIMARY KEY, v text); INSERT INTO t VALUES ($$2024-02-29$$, $$x$$), ($$infinity$$, $$y$$), ($$0044-03-15 BC$$, $$z$$);'
\set keys 'ARRAY[$$2024-02-29$$, $$Feb 29 2024$$, $$infinity$$, $$0044-03-15 BC$$, $$2024-03-01$$]::date[]'
\set hazard 'UPDATE t SET v = $$new$$;'
\i :scenario
\set name 'timestamptz in several zones'
\set setup 'CREATE TABLE t (id timestamptz PRIMARY KEY, v text); INSERT INTO t VALUES ($$2024-02-29 12:00+00$$, $$x$$), ($$-infinity$$, $$y$$);'
\set keys 'ARRAY[$$2024-02-29 12:00+00$$, $$2024-02-29 13:00+01$$, $$2024-02-29 04:00 America/Los_Angeles$$, $$-infinity$$]::timestamptz[]'
\i :scenario
\set name 'timetz'
\set setup 'CREATE TABLE t (id timetz PRIMARY KEY, v text); INSERT INTO t VALUES ($$12:00+00$$, $$x$$);'
\set keys 'ARRAY[$$12:00+00$$, $$13:00+01$$, $$12:00Z$$]::timetz[]'
\i :scenario
\set name 'time'
\set setup 'CREATE TABLE t (id time PRIMARY KEY, v text); INSERT INTO t VALUES ($$12:00$$, $$x$$);'
\set keys 'ARRAY[$$12:00$$, $$12:00 PM$$, $$13:00$$]::time[]'
\i :scenario

\set name 'bytea'
\set setup 'CREATE TABLE t (id bytea PRIMARY KEY, v text); INSERT INTO t VALUES ($$\\x00ff$$, $$x$$), ($$$$, $$y$$);'
\set keys 'ARRAY[$$\\x00ff$$, $$\\000\\377$$, $$$$, $$\\x00$$]::bytea[]'
\i :scenario
\set name 'varbit'
\set setup 'CREATE TABLE t (id varbit PRIMARY KEY, v text); INSERT INTO t VALUES ($$101$$, $$x$$), ($$1010$$, $$y$$);'
\set keys 'ARRAY[$$101$$, $$1010$$, $$10$$]::varbit[]'
\i :scenario
\set name 'macaddr'
\set setup 'CREATE TABLE t (id macaddr PRIMARY KEY, v text); INSERT INTO t VALUES ($$08:00:2b:01:02:03$$, $$x$$);'
\set keys 'ARRAY[$$08:00:2b:01:02:03$$, $$08002B-010203$$, $$08:00:2b:01:02:04$$]::macaddr[]'
\i :scenario
\set name 'money'
\set setup 'CREATE TABLE t (id money PRIMARY KEY, v text); INSERT INTO t VALUES (1.5, $$x$$);'
\set keys 'ARRAY[1.50, 2]::money[]'
\i :scenario
\set name 'int4range'
\set setup 'CREATE TABLE t (id int4range PRIMARY KEY, v text); INSERT INTO t VALUES ($$[1,3)$$, $$x$$), ($$empty$$, $$y$$);'
\set keys 'ARRAY[$$[1,2]$$, $$[1,3)$$, $$(5,5)$$, $$[1,4)$$]::int4range[]'
\i :scenario

\set name 'array as a key, given as text'
\set setup 'CREATE TABLE t (id int[] PRIMARY KEY, v text); INSERT INTO t VALUES ($${1,2}$$, $$x$$), ($${}$$, $$y$$);'
\set keys 'ARRAY[$${1,2}$$, $${ 1, 2 }$$, $${}$$, $${1}$$]'
\set match 't.id = k[i]::int[]'
\i :scenario
CREATE TYPE pair AS (a int, b text);
\set name 'composite type as a key'
\set setup 'CREATE TABLE t (id pair PRIMARY KEY, v text); INSERT INTO t VALUES (ROW(1, $$a$$), $$x$$);'
\set keys 'ARRAY[$$(1,a)$$, $$(1,"a")$$, $$(2,)$$]::pair[]'
\set match 't.id = k[i]'
\i :scenario
DROP TYPE pair;

\set name 'domain over a domain'
CREATE DOMAIN d1 AS numeric(10, 2);
CREATE DOMAIN d2 AS d1 CHECK (value > 0);
\set setup 'CREATE TABLE t (id d2 PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$x$$);'
\set keys 'ARRAY[1, 1.0, 1.001]::numeric[]'
\i :scenario
\set name 'domain over a domain, keys of the domain'
\set keys 'ARRAY[1, 1.0]::d2[]'
\i :scenario
DROP DOMAIN d2, d1;

-- H53
\set name 'H53 two columns, spelled in several ways'
\set setup 'CREATE TABLE t (a numeric, v text, b text, PRIMARY KEY (b, a)); INSERT INTO t VALUES (1, $$x$$, $$k$$), (2, $$y$$, $$k$$), (1, $$z$$, $$$$);'
\set keys 'ARRAY[[$$k$$, $$1$$], [$$k$$, $$1.0$$], [$$$$, $$1$$], [$$k$$, $$3$$], [$$k$$, $$2$$]]'
\set match 't.b = k[i][1] AND t.a = k[i][2]::numeric'
\set hazard 'UPDATE t SET v = $$new$$ WHERE a = 1.00 AND b = $$k$$; DELETE FROM t WHERE a = 2; INSERT INTO t VALUES (3, $$n$$, $$k$$);'
\i :scenario

\set name 'H53 the columns of the key swap their values'
\set setup 'CREATE TABLE t (a int, b int, v text, PRIMARY KEY (a, b)); INSERT INTO t VALUES (1, 2, $$x$$), (2, 1, $$y$$);'
\set keys 'ARRAY[[1, 2], [2, 1]]'
\set match 't.a = k[i][1] AND t.b = k[i][2]'
\set hazard 'ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (b, a); ALTER TABLE t RENAME a TO c; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME c TO b;'
\i :scenario

\set name 'H53 boundaries between columns of text'
\set setup 'CREATE TABLE t (a text, b text, v text, PRIMARY KEY (a, b)); INSERT INTO t VALUES ($$ab$$, $$c$$, $$x$$), ($$a$$, $$bc$$, $$y$$);'
\set keys 'ARRAY[[$$ab$$, $$c$$], [$$a$$, $$bc$$], [$$abc$$, $$$$]]'
\set hazard 'UPDATE t SET v = $$new$$ WHERE a = $$a$$;'
\i :scenario

\set name 'H53 seven columns'
\set setup 'CREATE TABLE t (a int, b text, c date, d uuid, e boolean, f numeric, g "char", v text, PRIMARY KEY (a, b, c, d, e, f, g)); INSERT INTO t VALUES (1, $$b$$, $$2024-01-01$$, $$a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11$$, true, 1.5, $$g$$, $$x$$);'
\set keys 'ARRAY[[$$1$$, $$b$$, $$20240101$$, $$A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11$$, $$yes$$, $$1.50$$, $$g$$]]'
\set match 't.a = k[i][1]::int AND t.b = k[i][2]'
\set hazard 'UPDATE t SET v = $$new$$ WHERE a = 1;'
\i :scenario
