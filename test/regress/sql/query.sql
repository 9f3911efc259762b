-- Rows that only a query can make: what row security does to a table must not depend on the names of its columns.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset tuples_only on
\pset null NULL
CREATE ROLE plc_row_reader;
GRANT USAGE ON SCHEMA local_cache, plc TO plc_row_reader;
CREATE SCHEMA q;
GRANT USAGE ON SCHEMA q TO plc_row_reader;
-- columns that are called what a query might call its row
CREATE TABLE q."select ""t" (t int PRIMARY KEY, t_ text, t__ int, "order" text DEFAULT 'x');
INSERT INTO q."select ""t" VALUES (1, 'one', 11), (2, 'two', 12), (3, NULL, NULL);
ALTER TABLE q."select ""t" ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON q."select ""t" USING (t < 3);
GRANT SELECT ON q."select ""t" TO plc_row_reader;
SELECT local_cache.attach_table('q."select ""t"') -> 'reason';
SET ROLE plc_row_reader;
SELECT local_cache.mget('q."select ""t"', ARRAY[2, 3]);
SELECT * FROM local_cache.mget_rows(NULL::q."select ""t", ARRAY[2, 3]);
RESET ROLE;
-- a policy that itself reads through the cache
CREATE TABLE q.permit (id int PRIMARY KEY, may bool);
INSERT INTO q.permit VALUES (1, true), (2, false);
GRANT SELECT ON q.permit TO plc_row_reader;
SELECT local_cache.attach_table('q.permit') -> 'cacheable';
CREATE TABLE q.guarded (id int PRIMARY KEY, v text);
INSERT INTO q.guarded VALUES (1, 'open'), (2, 'shut');
ALTER TABLE q.guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_permit ON q.guarded USING ((local_cache.mget_json('q.permit', ARRAY[id]) -> 0 ->> 'may')::bool);
GRANT SELECT ON q.guarded TO plc_row_reader;
SELECT local_cache.attach_table('q.guarded') -> 'cacheable';
SET ROLE plc_row_reader;
SELECT local_cache.mget('q.guarded', ARRAY[1, 2]);
RESET ROLE;
UPDATE q.permit SET may = NOT may;
SET ROLE plc_row_reader;
SELECT local_cache.mget('q.guarded', ARRAY[1, 2]);
RESET ROLE;
-- a label that is renamed and renamed back: entries of the time between must not come back with it
CREATE TYPE q.mood AS ENUM ('sad', 'glad');
CREATE TABLE q.face (id int PRIMARY KEY, m q.mood, ms q.mood[]);
INSERT INTO q.face VALUES (1, 'sad', '{sad,glad}');
SELECT local_cache.attach_table('q.face') -> 'cacheable';
SELECT local_cache.mget('q.face', ARRAY[1]);
ALTER TYPE q.mood RENAME VALUE 'sad' TO 'blue';
SELECT local_cache.mget('q.face', ARRAY[1]);
ALTER TYPE q.mood RENAME VALUE 'blue' TO 'sad';
SELECT local_cache.mget('q.face', ARRAY[1]);
SELECT hits, misses FROM local_cache.tables WHERE relation = 'q.face'::regclass;
-- counters survive a detach that is rolled back
BEGIN;
SELECT local_cache.detach_table('q.face');
ROLLBACK;
SELECT hits, misses FROM local_cache.tables WHERE relation = 'q.face'::regclass;
SET client_min_messages = warning;
DROP SCHEMA q CASCADE;
DROP OWNED BY plc_row_reader;
DROP ROLE plc_row_reader;
