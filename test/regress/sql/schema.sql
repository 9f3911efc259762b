-- DDL that changes the text of a row and leaves its version alone.  See lib/scenario.sql.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers

-- H41
\set name 'H41 ADD COLUMN'
\set hazard 'ALTER TABLE t ADD COLUMN c int;'
\i :scenario

\set name 'H41 ADD COLUMN with a default, no rewrite'
\set hazard 'ALTER TABLE t ADD COLUMN c text DEFAULT $$filled$$;'
\i :scenario

\set name 'H41 ADD COLUMN with a large default'
\set hazard 'ALTER TABLE t ADD COLUMN c text DEFAULT repeat($$large $$, 3000);'
\i :scenario

\set name 'H41 the default changes after that: old rows keep theirs'
\set hazard 'ALTER TABLE t ADD COLUMN c int DEFAULT 5; ALTER TABLE t ALTER c SET DEFAULT 6; INSERT INTO t (id, v) VALUES (3, $$three$$);'
\i :scenario

\set name 'H41 ADD COLUMN with a volatile default, a rewrite'
\set hazard 'CREATE SEQUENCE s; ALTER TABLE t ADD COLUMN c int DEFAULT nextval($$s$$); ALTER SEQUENCE s OWNED BY t.c;'
\i :scenario

\set name 'H41 ADD COLUMN and DROP COLUMN of the same name, another default'
\set hazard 'ALTER TABLE t ADD c int DEFAULT 1;' :look 'ALTER TABLE t DROP c; ALTER TABLE t ADD c int DEFAULT 2;'
\i :scenario

\set name 'H41 ADD COLUMN rolled back'
\set hazard 'BEGIN; ALTER TABLE t ADD COLUMN c int DEFAULT 5;' :look 'ROLLBACK;'
\i :scenario

-- H42
\set name 'H42 DROP COLUMN'
\set hazard 'ALTER TABLE t DROP COLUMN v;'
\i :scenario

\set name 'H42 RENAME COLUMN'
\set hazard 'ALTER TABLE t RENAME COLUMN v TO w;'
\i :scenario

\set name 'H42 RENAME COLUMN, needs escapes'
\set hazard 'ALTER TABLE t RENAME COLUMN v TO "a ""quoted"" \ name, äöü";'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text, w text); INSERT INTO t VALUES (1, $$one$$, $$eins$$), (2, $$two$$, $$zwei$$);'
\set name 'H42 two names swapped'
\set hazard 'BEGIN; ALTER TABLE t RENAME v TO x; ALTER TABLE t RENAME w TO v;' :look 'ALTER TABLE t RENAME x TO w; COMMIT;'
\i :scenario

\set name 'H42 key column renamed'
\set match 't.key = k[i]'
\set setup 'CREATE TABLE t (key int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set hazard 'ALTER TABLE t RENAME key TO other; ALTER TABLE t RENAME v TO key; ALTER TABLE t RENAME key TO v; ALTER TABLE t RENAME other TO key;'
\i :scenario
\set match 't.id = k[i]'

-- H43
\set setup 'SET TimeZone = $$UTC$$; CREATE TABLE t (id int PRIMARY KEY, v timestamptz); INSERT INTO t VALUES (1, $$2024-01-02 03:04:05$$), (2, $$infinity$$);'
\set name 'H43 timestamptz to timestamp under UTC, no rewrite'
\set hazard 'ALTER TABLE t ALTER v TYPE timestamp;'
\i :scenario

\set name 'H43 and back'
\set hazard 'ALTER TABLE t ALTER v TYPE timestamp;' :look 'ALTER TABLE t ALTER v TYPE timestamptz;'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, v varchar(20)); INSERT INTO t VALUES (1, $${"a": 1}$$), (2, $$two$$);'
\set name 'H43 varchar to text, no rewrite'
\set hazard 'ALTER TABLE t ALTER v TYPE text;'
\i :scenario

\set name 'H43 varchar made longer, COLLATE changed'
\set hazard 'ALTER TABLE t ALTER v TYPE varchar(40) COLLATE "C";'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$ {"a":  1} $$), (2, $$2$$);'
\set name 'H43 text to json'
\set hazard 'ALTER TABLE t ALTER v TYPE json USING v::json;'
\i :scenario

\set name 'H43 int key to bigint'
\set hazard 'ALTER TABLE t ALTER id TYPE bigint; INSERT INTO t VALUES (3, $$three$$);'
\i :scenario

\set setup 'CREATE DOMAIN d AS text; CREATE TABLE t (id int PRIMARY KEY, v d); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set cleanup 'DROP TABLE t; DROP DOMAIN d;'
\set name 'H43 domain with a new constraint, renamed, dissolved'
\set hazard 'ALTER DOMAIN d ADD CHECK (length(value) < 10); ALTER DOMAIN d RENAME TO e;' :look 'ALTER DOMAIN e RENAME TO d; ALTER TABLE t ALTER v TYPE text;'
\i :scenario

\set setup 'CREATE TABLE t (id oid PRIMARY KEY, v oid); INSERT INTO t VALUES (1, 1), (2, 4000000000);'
\set cleanup 'DROP TABLE t;'
\set keys 'ARRAY[1, 2, 3]::oid[]'
\set name 'H43 oid to int, no rewrite'
\set hazard 'ALTER TABLE t ALTER v TYPE int;'
\i :scenario
\set keys 'ARRAY[1, 2, 3]'

-- H44
\set setup 'CREATE TYPE mood AS ENUM ($$ok$$, $$sad$$); CREATE TABLE t (id int PRIMARY KEY, v mood); INSERT INTO t VALUES (1, $$ok$$), (2, $$sad$$);'
\set cleanup 'DROP TABLE t; DROP TYPE mood;'
\set name 'H44 enum label renamed'
\set hazard 'ALTER TYPE mood RENAME VALUE $$ok$$ TO $$fine$$;'
\i :scenario

\set name 'H44 enum label added, used, renamed'
\set hazard 'ALTER TYPE mood ADD VALUE $$glad$$ BEFORE $$sad$$; INSERT INTO t VALUES (3, $$glad$$);' :look 'ALTER TYPE mood RENAME VALUE $$glad$$ TO $$happy$$;'
\i :scenario

\set name 'H44 two labels swapped'
\set hazard 'BEGIN; ALTER TYPE mood RENAME VALUE $$ok$$ TO $$x$$; ALTER TYPE mood RENAME VALUE $$sad$$ TO $$ok$$;' :look 'ALTER TYPE mood RENAME VALUE $$x$$ TO $$sad$$; COMMIT;'
\i :scenario

\set name 'H44 enum label renamed and rolled back'
\set hazard 'BEGIN; ALTER TYPE mood RENAME VALUE $$ok$$ TO $$fine$$;' :look 'ROLLBACK;'
\i :scenario

\set name 'H44 array of enum, domain over enum, composite of enum, range of enum'
\set setup 'CREATE TYPE mood AS ENUM ($$ok$$, $$sad$$); CREATE DOMAIN dm AS mood; CREATE TYPE cm AS (m mood); CREATE TYPE rm AS RANGE (subtype = mood); CREATE TABLE t (id int PRIMARY KEY, a mood[], d dm, c cm, r rm, ca cm[]); INSERT INTO t VALUES (1, $${ok,sad}$$, $$ok$$, ROW($$ok$$), $$[ok,sad]$$, ARRAY[ROW($$ok$$)::cm]), (2, NULL, $$sad$$, NULL, NULL, NULL);'
\set cleanup 'DROP TABLE t; DROP TYPE rm, cm, dm, mood;'
\set hazard 'ALTER TYPE mood RENAME VALUE $$ok$$ TO $$fine$$;'
\i :scenario

-- H45
\set setup 'CREATE TYPE pair AS (a int, b text); CREATE TABLE t (id int PRIMARY KEY, v pair); INSERT INTO t VALUES (1, ROW(1, $$x$$)), (2, NULL);'
\set cleanup 'DROP TABLE t; DROP TYPE pair;'
\set name 'H45 attribute of a composite type renamed'
\set hazard 'ALTER TYPE pair RENAME ATTRIBUTE b TO c;'
\i :scenario

\set name 'H45 attribute added, attribute dropped'
\set hazard 'ALTER TYPE pair ADD ATTRIBUTE c date;' :look 'ALTER TYPE pair DROP ATTRIBUTE a;'
\i :scenario

\set name 'H45 composite in an array in a composite'
\set setup 'CREATE TYPE inn AS (a int, b text); CREATE TYPE outt AS (i inn[]); CREATE TABLE t (id int PRIMARY KEY, v outt); INSERT INTO t VALUES (1, ROW(ARRAY[ROW(1, $$x$$)::inn])), (2, NULL);'
\set cleanup 'DROP TABLE t; DROP TYPE outt, inn;'
\set hazard 'ALTER TYPE inn RENAME ATTRIBUTE b TO c; ALTER TYPE inn ADD ATTRIBUTE d int;'
\i :scenario

\set name 'H45 row type of another table as a column'
\set setup 'CREATE TABLE o (a int, b text); CREATE TABLE t (id int PRIMARY KEY, v o, w o[]); INSERT INTO t VALUES (1, ROW(1, $$x$$), ARRAY[ROW(2, $$y$$)::o]), (2, NULL, NULL);'
\set cleanup 'DROP TABLE t, o;'
\set hazard 'ALTER TABLE o RENAME b TO c; ALTER TABLE o ADD d int; ALTER TABLE o DROP a;'
\i :scenario

-- H46: a cast to json in SQL can change with what it calls, so rows of such a type are not cached
\set setup 'CREATE TYPE mood AS ENUM ($$ok$$, $$sad$$); CREATE OR REPLACE FUNCTION mood_json(m mood) RETURNS json IMMUTABLE LANGUAGE sql AS $f$ SELECT to_json($$first$$::text) $f$; CREATE TABLE t (id int PRIMARY KEY, v mood); INSERT INTO t VALUES (1, $$ok$$), (2, $$sad$$);'
\set cleanup 'DROP TABLE t; DROP TYPE mood CASCADE;'
\set name 'H46 cast to json created'
\set hazard 'CREATE CAST (mood AS json) WITH FUNCTION mood_json (mood);'
\i :scenario

\set setup :setup 'CREATE CAST (mood AS json) WITH FUNCTION mood_json (mood);'
\set name 'H46 function of a cast to json replaced'
\set hazard 'CREATE OR REPLACE FUNCTION mood_json(m mood) RETURNS json IMMUTABLE LANGUAGE sql AS $f$ SELECT to_json($$second$$::text) $f$;'
\i :scenario

\set name 'H46 cast to json dropped'
\set hazard 'DROP CAST (mood AS json);'
\i :scenario

\set setup 'CREATE TYPE span AS RANGE (subtype = int); CREATE OR REPLACE FUNCTION span_json(span) RETURNS json IMMUTABLE LANGUAGE sql AS $f$ SELECT to_json($$span$$::text) $f$; CREATE TABLE t (id int PRIMARY KEY, v span); INSERT INTO t VALUES (1, $$[1,2]$$), (2, $$empty$$);'
\set cleanup 'DROP TABLE t; DROP TYPE span CASCADE;'
\set name 'H46 cast from a range to json created'
\set hazard 'CREATE CAST (span AS json) WITH FUNCTION span_json (span);'
\i :scenario

\set setup 'CREATE EXTENSION IF NOT EXISTS hstore; CREATE TABLE t (id int PRIMARY KEY, v hstore); INSERT INTO t VALUES (1, $$a=>1$$), (2, $$b=>"x y"$$);'
\set cleanup 'DROP TABLE t; DROP EXTENSION hstore;'
\set name 'H46 function of a cast to json in C replaced'
\set hazard 'CREATE OR REPLACE FUNCTION hstore_to_json(hstore) RETURNS json IMMUTABLE STRICT LANGUAGE c AS $f$$libdir/hstore$f$, $f$hstore_to_json_loose$f$;'
\i :scenario

-- H47
\set cleanup 'DROP TABLE t;'
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text, g text GENERATED ALWAYS AS (upper(v)) STORED); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set name 'H47 stored generated column'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario

\set name 'H47 generated no more'
\set hazard 'ALTER TABLE t ALTER g DROP EXPRESSION; UPDATE t SET g = $$free$$ WHERE id = 2;'
\i :scenario

-- Virtual ones since 18: their expression changes without a rewrite.  Complains if wrong, else says nothing.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 180000 THEN
        CREATE TABLE t (id int PRIMARY KEY, v text);
        EXECUTE 'ALTER TABLE t ADD g text GENERATED ALWAYS AS (upper(v)) VIRTUAL';
        INSERT INTO t VALUES (1, 'One');
        PERFORM local_cache.attach_table('t');
        PERFORM plc.look('t', 'ARRAY[1, 2]');
        COMMIT;
        PERFORM plc.look('t', 'ARRAY[1, 2]');
        EXECUTE 'ALTER TABLE t ALTER g SET EXPRESSION AS (lower(v))';
        COMMIT;
        PERFORM plc.look('t', 'ARRAY[1, 2]');
        DROP TABLE t;
    END IF;
END $$;

-- H55
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v int UNIQUE NOT NULL); INSERT INTO t VALUES (1, 2), (2, 3);'
\set name 'H55 primary key dropped: an error'
\set hazard 'ALTER TABLE t DROP CONSTRAINT t_pkey;'
\i :scenario

\set name 'H55 primary key dropped and made again'
\set hazard 'ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD PRIMARY KEY (id);'
\i :scenario

\set name 'H55 primary key made deferrable: an error'
\set hazard 'ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD PRIMARY KEY (id) DEFERRABLE;'
\i :scenario

\set name 'H55 primary key on another column'
\set hazard 'ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD PRIMARY KEY (v); ALTER TABLE t RENAME id TO x; ALTER TABLE t RENAME v TO id;'
\i :scenario

\set name 'H55 table renamed, another one in its place'
\set hazard 'ALTER TABLE t RENAME TO old; CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$another$$); SELECT local_cache.attach_table($$t$$);'
\set cleanup 'DROP TABLE t, old;'
\i :scenario

\set cleanup 'DROP TABLE t;'
\set name 'H55 dropped and made again, not attached: an error'
\set hazard 'DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 7);'
\i :scenario

\set name 'H55 dropped and made again, attached'
\set hazard 'DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 7); SELECT local_cache.attach_table($$t$$);'
\i :scenario

\set name 'H55 drop rolled back'
\set hazard 'BEGIN; DROP TABLE t; ROLLBACK;'
\i :scenario

CREATE SCHEMA a;
CREATE SCHEMA b;
\set name 'H55 search_path leads to another table'
\set setup 'CREATE TABLE a.t (id int PRIMARY KEY, v text); CREATE TABLE b.t (LIKE a.t INCLUDING ALL); INSERT INTO a.t VALUES (1, $$a$$); INSERT INTO b.t VALUES (1, $$b$$); SET search_path = a; SELECT local_cache.attach_table($$b.t$$);'
\set hazard 'SET search_path = b;'
\set cleanup 'RESET search_path; DROP TABLE a.t, b.t;'
\i :scenario

\set name 'H55 moved to another schema'
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$);'
\set hazard 'ALTER TABLE t SET SCHEMA a; SET search_path = a;'
\set cleanup 'RESET search_path; DROP TABLE a.t;'
\i :scenario
DROP SCHEMA a, b;

-- Another key than the primary key, and what happens to its index
\set cleanup 'DROP TABLE t;'
\set setup 'CREATE TABLE t (x int PRIMARY KEY, id int NOT NULL, v text); CREATE UNIQUE INDEX t_id ON t (id); INSERT INTO t VALUES (5, 1, $$one$$), (6, 2, $$two$$);'
\set attach 'SELECT local_cache.attach_table($$t$$, key_index => $$t_id$$);'
\set name 'other key: update, delete, primary key changed'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = 1; UPDATE t SET x = 9 WHERE id = 2;'
\i :scenario

\set name 'other key: its index dropped: an error'
\set hazard 'DROP INDEX t_id;'
\i :scenario

\set name 'other key: its index dropped, another one on the same column'
\set hazard 'DROP INDEX t_id; CREATE UNIQUE INDEX other ON t (id);'
\i :scenario

\set name 'other key: its column may be null now: an error'
\set hazard 'ALTER TABLE t ALTER id DROP NOT NULL;'
\i :scenario

\set name 'other key: its column renamed, another column of that name: an error until attached again'
\set hazard 'ALTER TABLE t RENAME id TO z; ALTER TABLE t ADD id int;'
\i :scenario
