-- Two unique indexes on the same columns may take different texts for one key: the one that was named is the one.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset tuples_only on
\pset null NULL
CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE person (name text PRIMARY KEY, v int);
CREATE UNIQUE INDEX person_no_case ON person (name COLLATE no_case);
INSERT INTO person VALUES ('Bob', 1);
SELECT local_cache.attach_table('person', key_index => 'person_no_case') ->> 'key_index';
SELECT key_columns, key_index FROM local_cache.tables WHERE relation = 'person'::regclass;
SELECT local_cache.mget('person', ARRAY['BOB', 'bob', 'Bob', 'alice']);
SELECT local_cache.mget('person', ARRAY['BOB', 'bob', 'Bob', 'alice']);
-- the same through a query
CREATE ROLE plc_person_reader;
GRANT USAGE ON SCHEMA local_cache TO plc_person_reader;
GRANT SELECT ON person TO plc_person_reader;
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON person USING (true);
SET ROLE plc_person_reader;
SELECT local_cache.mget('person', ARRAY['BOB', 'alice']);
RESET ROLE;
ALTER TABLE person DISABLE ROW LEVEL SECURITY;
-- it may be built anew, but not be renamed or replaced by another of other columns
REINDEX INDEX CONCURRENTLY person_no_case;
SELECT local_cache.mget('person', ARRAY['BOB']);
ALTER INDEX person_no_case RENAME TO person_other;
SELECT plc.failure($$SELECT local_cache.mget('person', ARRAY['BOB'])$$);
CREATE UNIQUE INDEX person_no_case ON person (v);
SELECT plc.failure($$SELECT local_cache.mget('person', ARRAY['BOB'])$$);
-- the primary key is what it is at any time
SELECT local_cache.attach_table('person') ->> 'key_index';
SELECT local_cache.mget('person', ARRAY['BOB', 'Bob']);
DROP OWNED BY plc_person_reader;
DROP ROLE plc_person_reader;
DROP TABLE person;
DROP COLLATION no_case;
