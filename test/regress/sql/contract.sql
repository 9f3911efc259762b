-- What mget, mget_json and mget_rows promise of their results.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset tuples_only on
\pset null NULL
CREATE TABLE item (id bigint PRIMARY KEY, name text, price numeric);
INSERT INTO item VALUES (1, 'one', 1.50), (2, E'tw"o\\\t\n', NULL), (3, 'dreißig', 'NaN');
SELECT local_cache.attach_table('item');

-- order, duplicates and null positions are those of the input; a missing row is null
SELECT local_cache.mget('item', ARRAY[3, 1, 1, NULL, 99, 2]);
SELECT local_cache.mget('item', ARRAY[3, 1, 1, NULL, 99, 2]);
SELECT local_cache.mget_json('item', ARRAY[3, 1, 1, NULL, 99, 2]);
SELECT * FROM local_cache.mget_rows(NULL::item, ARRAY[3, 1, 1, NULL, 99, 2]);

-- the result counts from one, whatever the input counts from
SELECT array_bounds, array_dims(local_cache.mget('item', array_bounds::int[]))
FROM (VALUES ('{1,2,3}'), ('[5:7]={1,2,3}'), ('[0:1]={1,99}'), ('{NULL}')) v (array_bounds);

-- nothing in, nothing out; nulls in, nulls out
SELECT local_cache.mget('item', '{}'::bigint[]), local_cache.mget_json('item', '{}'::bigint[]),
       (SELECT count(*) FROM local_cache.mget_rows(NULL::item, '{}'::bigint[]));
SELECT local_cache.mget('item', '{NULL,NULL}'::int[]), local_cache.mget_json('item', '{NULL,NULL}'::int[]),
       (SELECT count(*) FROM local_cache.mget_rows(NULL::item, '{NULL,NULL}'::int[]));
SELECT local_cache.mget('item', '{98,99}'::int[]), local_cache.mget_json('item', '{98,99}'::int[]);
SELECT local_cache.mget('item', NULL::int[]), local_cache.mget(NULL, ARRAY[1]),
       local_cache.mget_json('item', NULL::int[]), (SELECT count(*) FROM local_cache.mget_rows(NULL::item, NULL::int[]));
-- nulls around the boundaries of the bitmap and of the chunks
SELECT bool_and(local_cache.mget('item', k) = w AND local_cache.mget_json('item', k)::text = '[' || array_to_string(w, ',', 'null') || ']')
FROM (SELECT n, array_agg(CASE WHEN i % m = 0 THEN 1 END ORDER BY i) AS k,
             array_agg(CASE WHEN i % m = 0 THEN '{"id":1,"name":"one","price":1.50}' END ORDER BY i) AS w
      FROM generate_series(1, 70) n, generate_series(1, 3) m, LATERAL generate_series(1, n) i GROUP BY n, m) s;

-- byte for byte what row_to_json gives
SELECT local_cache.mget('item', array_agg(id ORDER BY id)) = array_agg(row_to_json(item)::text ORDER BY id) FROM item;

-- types that coerce to the key's type; text is read by its input function
SELECT local_cache.mget('item', ARRAY[1, 2]::smallint[]) = local_cache.mget('item', ARRAY[1, 2]::bigint[]),
       local_cache.mget('item', ARRAY['1', '  2 ']) = local_cache.mget('item', ARRAY[1, 2]),
       local_cache.mget('item', ARRAY['1', '2']::varchar[]) = local_cache.mget('item', ARRAY[1, 2]);
CREATE DOMAIN id AS bigint CHECK (value > 0);
SELECT local_cache.mget('item', ARRAY[1, 2]::id[]) = local_cache.mget('item', ARRAY[1, 2]);
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY[1.0, 2])$$);
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY[true])$$);
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY['one'])$$);
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY['9223372036854775808'])$$);
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY[[1, 2], [3, 4]])$$);
SELECT plc.failure($$SELECT local_cache.mget_json('item', ARRAY[[1]])$$);
SELECT plc.failure($$SELECT local_cache.mget_rows(NULL::item, ARRAY[[[1]]])$$);

CREATE TABLE small (id smallint PRIMARY KEY);
INSERT INTO small VALUES (1), (-32768);
SELECT local_cache.attach_table('small') ->> 'key';
SELECT local_cache.mget('small', ARRAY[1, -32768]), local_cache.mget('small', ARRAY[1, 2]::bigint[]);
SELECT plc.failure($$SELECT local_cache.mget('small', ARRAY[1, 32768])$$);
SELECT plc.failure($$SELECT local_cache.mget('small', ARRAY[9223372036854775807])$$);

-- keys of several columns: one row a key, in the order of the key's columns
CREATE TABLE pair (v text, b int, a date, PRIMARY KEY (a, b));
INSERT INTO pair VALUES ('first', 1, '2024-02-29'), ('second', 2, '2024-02-29');
SELECT local_cache.attach_table('pair');
SELECT local_cache.mget('pair', ARRAY[['2024-02-29', '1'], ['20240229', ' 2'], ['2024-02-28', '1'], ['2024-02-29', '1']]);
SELECT local_cache.mget('pair', ARRAY[['2024-02-29', '1'], ['20240229', ' 2'], ['2024-02-28', '1'], ['2024-02-29', '1']]);
SELECT local_cache.mget_json('pair', ARRAY[['2024-02-29', '2']]), local_cache.mget('pair', '{}'::text[]);
SELECT * FROM local_cache.mget_rows(NULL::pair, ARRAY[['2024-02-29', '2'], ['2024-02-28', '2']]);
SELECT plc.failure($$SELECT local_cache.mget('pair', ARRAY['2024-02-29', '1'])$$);
SELECT plc.failure($$SELECT local_cache.mget('pair', ARRAY[['2024-02-29']])$$);
SELECT plc.failure($$SELECT local_cache.mget('pair', ARRAY[['2024-02-29', '1', '1']])$$);
SELECT plc.failure($$SELECT local_cache.mget('pair', ARRAY[[['2024-02-29', '1']]])$$);
SELECT plc.failure($$SELECT local_cache.mget('pair', ARRAY[['2024-02-29', NULL]])$$);
SELECT plc.failure($$SELECT local_cache.mget('pair', ARRAY[['2024-02-30', '1']])$$);
SELECT plc.failure($$SELECT local_cache.mget('pair', ARRAY[['2024-02-29', 'x']])$$);
SELECT plc.failure($$SELECT local_cache.mget('pair', ARRAY[[1, 2]])$$);
CREATE TABLE ints (a bigint, b smallint, v text, PRIMARY KEY (a, b));
INSERT INTO ints VALUES (1, 2, 'x');
SELECT local_cache.attach_table('ints') ->> 'key';
SELECT local_cache.mget('ints', ARRAY[[1, 2], [2, 1]]), local_cache.mget('ints', ARRAY[['1', '2']]);

-- a call fails as a whole, also where it fails late
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY['1', 'x'])$$);

-- no limit on the number of keys
CREATE TABLE many (id int PRIMARY KEY, v text);
INSERT INTO many SELECT n, md5(n::text) FROM generate_series(1, 50000) n;
SELECT local_cache.attach_table('many') -> 'cacheable';
SELECT local_cache.mget('many', k) = w, local_cache.mget_json('many', k)::text = '[' || array_to_string(w, ',', 'null') || ']',
       (SELECT array_agg(r.v) FROM local_cache.mget_rows(NULL::many, k) r) = v, cardinality(k)
FROM (SELECT array_agg(n ORDER BY o) AS k, array_agg(row_to_json(m)::text ORDER BY o) AS w, array_agg(m.v ORDER BY o) AS v
      FROM (SELECT n * 7 % 60000 AS n, n AS o FROM generate_series(1, 100000) n) s LEFT JOIN many m ON m.id = s.n) s;
DROP TABLE item, small, pair, ints, many;
DROP DOMAIN id;
