-- Attaching and detaching: what is accepted, what is refused and with which words.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset tuples_only on
\pset null NULL
CREATE TABLE item (id bigint PRIMARY KEY, code text NOT NULL, n int, CONSTRAINT item_code UNIQUE (code));
INSERT INTO item VALUES (1, 'a', 1);

-- it says how rows are found, and changes nothing on the table
SELECT jsonb_pretty(local_cache.attach_table('item'));
SELECT relhastriggers, relacl IS NULL, relrowsecurity FROM pg_class WHERE oid = 'item'::regclass;
SELECT relation, key_columns, writable, namespace FROM local_cache.mapping;

-- attaching again changes how it is attached, and leaves one row
SELECT a ->> 'writable', a ->> 'namespace' FROM local_cache.attach_table('item', true, 'shop') a;
SELECT a -> 'key_columns', a ->> 'key_index' FROM local_cache.attach_table('item', key_index => 'item_code') a;
SELECT relation, key_columns, writable, namespace FROM local_cache.mapping;
SELECT local_cache.mget('item', ARRAY['a', 'b']);
SELECT local_cache.attach_table('item') = local_cache.attach_table('item');
SELECT local_cache.mget('item', ARRAY[1, 2]);
SELECT relation, key_columns, writable, namespace, hits, misses FROM local_cache.tables;

-- detaching
SELECT local_cache.detach_table('item'), local_cache.detach_table('item');
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY[1])$$);
SELECT plc.failure($$SELECT local_cache.mget_json('item', ARRAY[1])$$);
SELECT plc.failure($$SELECT * FROM local_cache.mget_rows(NULL::item, ARRAY[1])$$);
SELECT count(*) FROM local_cache.tables;

-- a transaction that is rolled back has attached and detached nothing
BEGIN;
SELECT local_cache.attach_table('item') -> 'cacheable';
SELECT local_cache.mget('item', ARRAY[1]);
ROLLBACK;
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY[1])$$);
SELECT local_cache.attach_table('item') -> 'cacheable';
BEGIN;
SELECT local_cache.detach_table('item');
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY[1])$$);
ROLLBACK;
SELECT local_cache.mget('item', ARRAY[1]);
BEGIN;
SAVEPOINT s;
SELECT local_cache.attach_table('item', namespace => 'gone') ->> 'namespace';
ROLLBACK TO s;
SELECT namespace FROM local_cache.tables;
COMMIT;

-- namespaces: unique, and of a form that ends at a colon
SELECT local_cache.attach_table('item', namespace => 'shop') ->> 'namespace';
CREATE TABLE other (id int PRIMARY KEY);
SELECT plc.failure($$SELECT local_cache.attach_table('other', namespace => 'shop')$$);
SELECT n, plc.failure(format('SELECT local_cache.attach_table(%L, namespace => %L)', 'other', n))
FROM unnest(ARRAY['', 'a:b', 'a b', '{a}', E'a\n', 'CRUD', repeat('n', 64)]) n;
SELECT local_cache.attach_table('other', namespace => 'Ä-1.x/y') ->> 'namespace';
SELECT plc.failure($$SELECT local_cache.attach_table(NULL)$$);
SELECT plc.failure($$SELECT local_cache.attach_table('other', NULL)$$);
SELECT local_cache.detach_table(NULL);
-- a dropped table leaves its namespace, and is swept by the next attach
DROP TABLE item;
SELECT count(*) FROM local_cache.tables WHERE namespace = 'shop';
SELECT local_cache.attach_table('other', namespace => 'shop') ->> 'namespace';
SELECT relation, namespace FROM local_cache.mapping;
DROP TABLE other;

-- H29: what is no table of rows of its own
CREATE TEMP TABLE temporary (id int PRIMARY KEY);
SELECT plc.failure($$SELECT local_cache.attach_table('temporary')$$);
CREATE TABLE plain (id int PRIMARY KEY, v text);
CREATE VIEW a_view AS SELECT * FROM plain;
SELECT plc.failure($$SELECT local_cache.attach_table('a_view')$$);
CREATE MATERIALIZED VIEW a_matview AS SELECT * FROM plain;
CREATE UNIQUE INDEX ON a_matview (id);
SELECT plc.failure($$SELECT local_cache.attach_table('a_matview')$$);
CREATE SEQUENCE a_sequence;
SELECT plc.failure($$SELECT local_cache.attach_table('a_sequence')$$);
SELECT plc.failure($$SELECT local_cache.attach_table('plain_pkey')$$);
CREATE TYPE a_type AS (id int);
SELECT plc.failure($$SELECT local_cache.attach_table('a_type')$$);
CREATE FOREIGN DATA WRAPPER a_wrapper;
CREATE SERVER a_server FOREIGN DATA WRAPPER a_wrapper;
CREATE FOREIGN TABLE a_foreign_table (id int) SERVER a_server;
SELECT plc.failure($$SELECT local_cache.attach_table('a_foreign_table')$$);
SELECT plc.failure($$SELECT local_cache.attach_table('pg_class')$$);
SELECT plc.failure($$SELECT local_cache.attach_table('pg_database')$$);
CREATE TABLE a_partitioned_table (id int PRIMARY KEY) PARTITION BY RANGE (id);
SELECT plc.failure($$SELECT local_cache.attach_table('a_partitioned_table')$$);
-- H28
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE a_table_elsewhere (id int PRIMARY KEY) USING heap2;
SELECT plc.failure($$SELECT local_cache.attach_table('a_table_elsewhere')$$);
SELECT plc.failure($$SELECT local_cache.attach_table(0)$$);
-- whatever is not attached is not read either
SELECT plc.failure($$SELECT local_cache.mget('a_view', ARRAY[1])$$);
SELECT plc.failure($$SELECT local_cache.mget('pg_class', ARRAY[1::oid])$$);

-- keys
CREATE TABLE keyless (id int, e int NOT NULL, p int NOT NULL, u int UNIQUE, d int NOT NULL, h int NOT NULL, i int NOT NULL, j int NOT NULL);
SELECT plc.failure($$SELECT local_cache.attach_table('keyless')$$);
CREATE INDEX not_unique ON keyless (e);
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'not_unique')$$);
CREATE UNIQUE INDEX on_expression ON keyless ((e + 1));
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'on_expression')$$);
CREATE UNIQUE INDEX partial ON keyless (p) WHERE p > 0;
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'partial')$$);
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'keyless_u_key')$$);
CREATE UNIQUE INDEX nulls_not_distinct ON keyless (u) NULLS NOT DISTINCT;
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'nulls_not_distinct')$$);
-- H54
ALTER TABLE keyless ADD CONSTRAINT deferrable_key UNIQUE (d) DEFERRABLE;
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'deferrable_key')$$);
CREATE INDEX a_hash ON keyless USING hash (h);
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'a_hash')$$);
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'plain_pkey')$$);
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'plain')$$);
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 0)$$);
CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
SELECT plc.failure($$SELECT local_cache.attach_table('deferred')$$);
-- H37: an index that could not be built is never the key
INSERT INTO keyless VALUES (1, 1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2, 1, 2);
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY invalid ON keyless (i);
\set VERBOSITY default
SELECT indisvalid FROM pg_index WHERE indexrelid = 'invalid'::regclass;
SELECT plc.failure($$SELECT local_cache.attach_table('keyless', key_index => 'invalid')$$);
CREATE UNIQUE INDEX valid ON keyless (j) INCLUDE (id);
SELECT a -> 'key_columns', a ->> 'key_index' FROM local_cache.attach_table('keyless', key_index => 'valid') a;
SELECT local_cache.mget('keyless', ARRAY[2, 3]);
-- the index by its name: another of the same columns might take other keys for equal, and a partial one has not all
DROP INDEX valid;
CREATE UNIQUE INDEX after ON keyless (j);
SELECT plc.failure($$SELECT local_cache.mget('keyless', ARRAY[1])$$);
CREATE UNIQUE INDEX valid ON keyless (j) WHERE j > 1;
SELECT plc.failure($$SELECT local_cache.mget('keyless', ARRAY[1])$$);
DROP INDEX valid;
ALTER INDEX after RENAME TO valid;
SELECT local_cache.mget('keyless', ARRAY[1, 2]);
ALTER TABLE keyless DROP COLUMN j;
SELECT plc.failure($$SELECT local_cache.mget('keyless', ARRAY[1])$$);

-- names that need quotes
CREATE SCHEMA "odd "" schema";
CREATE TABLE "odd "" schema"."Odd Table" ("The \ ""Id""" int PRIMARY KEY);
SELECT local_cache.attach_table('"odd "" schema"."Odd Table"') - 'key';
INSERT INTO "odd "" schema"."Odd Table" VALUES (1);
SELECT local_cache.mget('"odd "" schema"."Odd Table"', ARRAY[1]);

-- rows that can be served and not cached: attach_table and health() say why
CREATE TABLE uncacheable (id int PRIMARY KEY, r regclass);
SELECT a -> 'cacheable', a ->> 'reason' FROM local_cache.attach_table('uncacheable') a;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
SELECT a -> 'cacheable', a ->> 'reason' FROM local_cache.attach_table('plain') a;
SELECT h ->> 'status', h ->> 'reason', h -> 'preloaded', h -> 'enabled', jsonb_path_query_array(h, '$.tables[*] ? (@.cacheable == false)')
FROM local_cache.health() h;
SET pg_local_cache.enabled = off;
SELECT h ->> 'status', h ->> 'reason' FROM local_cache.health() h;
RESET pg_local_cache.enabled;

-- all functions are explained; the mapping is dumped
SELECT proname FROM pg_proc WHERE pronamespace = 'local_cache'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL;
SELECT relname FROM pg_class WHERE relnamespace = 'local_cache'::regnamespace AND relkind IN ('r', 'v')
AND obj_description(oid, 'pg_class') IS NULL;
SELECT extconfig::regclass[], extcondition FROM pg_extension WHERE extname = 'pg_local_cache';
SELECT provolatile, proparallel, prosecdef, proisstrict FROM pg_proc WHERE oid = 'local_cache.mget'::regproc;

-- dropping the extension, and making it again, starts from nothing
DROP EXTENSION pg_local_cache;
CREATE EXTENSION pg_local_cache;
SELECT count(*) FROM local_cache.mapping;
SELECT plc.failure($$SELECT local_cache.mget('uncacheable', ARRAY[1])$$);

DROP TABLE uncacheable, keyless, deferred, a_table_elsewhere, a_partitioned_table, plain CASCADE;
DROP FOREIGN DATA WRAPPER a_wrapper CASCADE;
DROP TYPE a_type;
DROP SEQUENCE a_sequence;
DROP ACCESS METHOD heap2;
DROP SCHEMA "odd "" schema" CASCADE;
