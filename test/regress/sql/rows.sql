-- mget_rows: typed rows of the proven versions.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset null NULL
CREATE TYPE pair AS (a int, b text);
CREATE TABLE item (id int PRIMARY KEY, v text, n numeric, p pair, a int[], big text);
ALTER TABLE item ALTER big SET STORAGE EXTERNAL;
INSERT INTO item VALUES (1, 'one', 1.50, ROW(1, 'x'), '{1,NULL}', repeat('big', 10000)), (2, NULL, NULL, NULL, NULL, NULL);
SELECT a -> 'cacheable' AS cacheable FROM local_cache.attach_table('item') a;

-- rows in the order of the keys, a null row in the gaps; twice, so that the second is served from the cache
SELECT id, v, n, p, (p).b, a, length(big), md5(big) = md5(repeat('big', 10000)) AS same
FROM local_cache.mget_rows(NULL::item, ARRAY[2, 1, NULL, 9, 1]);
SELECT id, v, n, p, (p).b, a, length(big), md5(big) = md5(repeat('big', 10000)) AS same
FROM local_cache.mget_rows(NULL::item, ARRAY[2, 1, NULL, 9, 1]);
SELECT hits, misses, publishes FROM local_cache.tables;
SELECT pg_typeof(id), pg_typeof(n), pg_typeof(p) FROM local_cache.mget_rows(NULL::item, ARRAY[1]);
SELECT n.o, r.id FROM local_cache.mget_rows(NULL::item, ARRAY[2, 9, 1]) WITH ORDINALITY AS r (id, v, n, p, a, big, o), LATERAL (SELECT r.o) n;
SELECT (local_cache.mget_rows(NULL::item, ARRAY[1])).v;
SELECT r IS NULL AS gap FROM local_cache.mget_rows(NULL::item, ARRAY[9]) r;

-- dropped columns never show, columns with a default that old rows lack do
ALTER TABLE item DROP COLUMN v, DROP COLUMN big;
SELECT * FROM local_cache.mget_rows(NULL::item, ARRAY[1, 9]);
SELECT r::text FROM local_cache.mget_rows(NULL::item, ARRAY[1, 9]) r;
ALTER TABLE item ADD COLUMN d text DEFAULT 'filled', ADD COLUMN e int;
SELECT * FROM local_cache.mget_rows(NULL::item, ARRAY[1, 2, 9]);
UPDATE item SET d = 'set', e = 5 WHERE id = 1;
SELECT * FROM local_cache.mget_rows(NULL::item, ARRAY[1, 2, 9]);
ALTER TABLE item RENAME COLUMN d TO f;
SELECT f FROM local_cache.mget_rows(NULL::item, ARRAY[1]);
ALTER TABLE item ALTER COLUMN n TYPE text;
SELECT pg_typeof(n), n FROM local_cache.mget_rows(NULL::item, ARRAY[1]);

-- a prepared statement follows the table
PREPARE p AS SELECT * FROM local_cache.mget_rows(NULL::item, ARRAY[1]);
EXECUTE p;
ALTER TABLE item ALTER COLUMN e TYPE numeric(5,1);
\set VERBOSITY sqlstate
EXECUTE p;
\set VERBOSITY default
DEALLOCATE p;

-- a cursor was planned for the columns of that time: it fails rather than show rows of another form
CREATE FUNCTION fetched(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c refcursor;
    r record;
BEGIN
    OPEN c FOR EXECUTE 'SELECT * FROM local_cache.mget_rows(NULL::item, ARRAY[1, 9])';
    EXECUTE change;
    FETCH c INTO r;
    CLOSE c;
    RETURN r::text;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT fetched('SELECT');
SELECT fetched('UPDATE item SET f = ''changed'' WHERE id = 1');
SELECT fetched('ALTER TABLE item ADD COLUMN g1 int DEFAULT 1, ADD COLUMN g2 int DEFAULT 2, ADD COLUMN g3 int, ADD COLUMN g4 int');
SELECT fetched('ALTER TABLE item ALTER COLUMN n TYPE varchar');
SELECT fetched('ALTER TABLE item DROP COLUMN f');
SELECT fetched('ALTER TABLE item RENAME COLUMN e TO h');
-- a table rewritten by ALTER TABLE looks empty to older snapshots, as it does to SELECT
SELECT fetched('ALTER TABLE item ALTER COLUMN h TYPE text');

-- not the row type of a table
SELECT plc.failure($$SELECT * FROM local_cache.mget_rows(NULL::pair, ARRAY[1])$$);
SELECT plc.failure($$SELECT * FROM local_cache.mget_rows(NULL::int, ARRAY[1])$$);
CREATE VIEW item_view AS SELECT * FROM item;
SELECT plc.failure($$SELECT * FROM local_cache.mget_rows(NULL::item_view, ARRAY[1])$$);
DROP VIEW item_view;

-- keys of several columns, no rows, many rows
CREATE TABLE wide (a int, b text, v text, PRIMARY KEY (a, b));
INSERT INTO wide SELECT n % 10, n::text, md5(n::text) FROM generate_series(1, 1000) n;
SELECT a -> 'cacheable' AS cacheable FROM local_cache.attach_table('wide') a;
SELECT count(*), count(r.a), bool_and(r.v = md5(r.b)) AS same
FROM (SELECT array_agg(ARRAY[(n % 10)::text, n::text]) AS k FROM generate_series(1, 1100) n) s, local_cache.mget_rows(NULL::wide, k) r;
SELECT count(*) FROM local_cache.mget_rows(NULL::wide, '{}'::text[]);

-- the same as a subquery, in a join, in a function of SQL
SELECT i.id, w.v FROM item i LEFT JOIN LATERAL local_cache.mget_rows(NULL::wide, ARRAY[[i.id::text, i.id::text]]) w ON true ORDER BY i.id;
CREATE FUNCTION wide_by_key(text, text) RETURNS SETOF wide LANGUAGE sql STABLE AS $$
    SELECT * FROM local_cache.mget_rows(NULL::wide, ARRAY[[$1, $2]]) $$;
SELECT b, v FROM wide_by_key('3', '13');

-- rows whose text cannot be cached are cached as rows
CREATE TABLE typed (id int PRIMARY KEY, r regclass);
INSERT INTO typed VALUES (1, 'pg_class');
SELECT a -> 'cacheable' AS cacheable FROM local_cache.attach_table('typed') a;
SELECT * FROM local_cache.mget_rows(NULL::typed, ARRAY[1]);
SELECT * FROM local_cache.mget_rows(NULL::typed, ARRAY[1]);
SELECT hits, misses, publishes, bypass_uncacheable FROM local_cache.tables WHERE relation = 'typed'::regclass;
DROP FUNCTION fetched, wide_by_key;
DROP TABLE item, wide, typed;
DROP TYPE pair;
