-- Counters are exact for each key, and settled when the statement has returned.  Settings.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
-- What the statement before it counted: all counters of the table that have changed, as name=difference.
CREATE TABLE plc.counted (rel regclass, counter text, n bigint);
CREATE FUNCTION plc.counted(rel regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    changes text;
BEGIN
    WITH now AS (SELECT key AS counter, value::bigint AS n FROM local_cache.table_stats() s, jsonb_each_text(to_jsonb(s) - 'relation' - 'bytes' - 'verified')
                 WHERE s.relation = rel)
    SELECT string_agg(now.counter || '=' || (now.n - coalesce(old.n, 0)), ' ' ORDER BY now.counter) INTO changes
    FROM now LEFT JOIN plc.counted old ON old.rel = counted.rel AND old.counter = now.counter WHERE now.n <> coalesce(old.n, 0);
    DELETE FROM plc.counted c WHERE c.rel = counted.rel;
    INSERT INTO plc.counted SELECT s.relation, key, value::bigint FROM local_cache.table_stats() s, jsonb_each_text(to_jsonb(s) - 'relation' - 'bytes' - 'verified')
    WHERE s.relation = rel;
    RETURN coalesce(changes, 'nothing');
END $$;
\set counted 'SELECT plc.counted(\'item\');'
\set ECHO all
\pset format unaligned
\pset tuples_only on
CREATE TABLE item (id int PRIMARY KEY, v text);
INSERT INTO item SELECT n, 'v' || n FROM generate_series(1, 200) n;
SELECT local_cache.attach_table('item') -> 'cacheable';
:counted

-- misses publish, hits do not; a missing row is a miss each time; a null is nothing
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2, NULL, 999]));
:counted
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2, NULL, 999]));
:counted
SELECT json_array_length(local_cache.mget_json('item', ARRAY[1, 3]));
:counted
-- a key that is repeated in one call is fetched once
SELECT cardinality(local_cache.mget('item', ARRAY[4, 4, 4, 1]));
:counted
-- more keys than a chunk
SELECT cardinality(local_cache.mget('item', (SELECT array_agg(n) FROM generate_series(1, 200) n)));
:counted
SELECT cardinality(local_cache.mget('item', (SELECT array_agg(n) FROM generate_series(1, 200) n)));
:counted
-- typed rows are entries of their own
SELECT count(*) FROM local_cache.mget_rows(NULL::item, ARRAY[1, 2, NULL, 999]);
:counted
SELECT count(*) FROM local_cache.mget_rows(NULL::item, ARRAY[1, 2, NULL, 999]);
:counted

-- a version that is not visible fails its proof, is fetched and replaced
UPDATE item SET v = 'new' WHERE id = 1;
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2]));
:counted
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2]));
:counted
DELETE FROM item WHERE id = 1;
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2]));
:counted
INSERT INTO item VALUES (1, 'back');
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2]));
:counted

-- a transaction that has written publishes nothing, but may be served from the cache
BEGIN;
UPDATE item SET v = 'mine' WHERE id = 1;
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2, 2]));
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2, 2]));
COMMIT;
:counted
-- one that only reads, above READ COMMITTED, fills gaps
SELECT local_cache.invalidate('item') > 0;
:counted
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2]));
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2]));
COMMIT;
:counted

-- a call that fails counts nothing
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY['1', '2', 'x'])$$);
:counted
-- a call that is rolled back has counted
BEGIN;
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2]));
ROLLBACK;
:counted

-- bypasses, one by one: each serves from the heap and leaves the cache alone
SET pg_local_cache.enabled = off;
SELECT local_cache.mget('item', ARRAY[1, 2, NULL, 999]);
:counted
RESET pg_local_cache.enabled;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT local_cache.mget('item', ARRAY[1, 2, NULL, 999]);
COMMIT;
:counted
ALTER TABLE item ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON item USING (id < 2);
CREATE ROLE plc_reader;
GRANT USAGE ON SCHEMA local_cache TO plc_reader;
GRANT SELECT ON item TO plc_reader;
SET ROLE plc_reader;
SELECT local_cache.mget('item', ARRAY[1, 2, NULL, 999]);
RESET ROLE;
:counted
DROP POLICY p ON item;
ALTER TABLE item DISABLE ROW LEVEL SECURITY;
DROP OWNED BY plc_reader;
DROP ROLE plc_reader;
ALTER TABLE item ADD COLUMN r regclass;
SELECT local_cache.mget('item', ARRAY[1, 2, NULL, 999]);
:counted
ALTER TABLE item DROP COLUMN r;
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2]));
:counted
CREATE TABLE long (id text PRIMARY KEY);
INSERT INTO long VALUES ('short'), (repeat('long', 1000));
SELECT local_cache.attach_table('long') -> 'cacheable';
SELECT plc.counted('long');
SELECT array_length(local_cache.mget('long', ARRAY['short', repeat('long', 1000), repeat('none', 100000)]), 1);
SELECT plc.counted('long');
SELECT local_cache.mget('long', ARRAY['short', repeat('long', 1000), repeat('none', 100000)]) = ARRAY['{"id":"short"}', '{"id":"' || repeat('long', 1000) || '"}', NULL];
SELECT plc.counted('long');
DROP TABLE long;

-- max_row_size: in bytes of JSON; larger rows are served and not cached
INSERT INTO item VALUES (301, repeat('x', 1000)), (302, repeat('x', 100));
SET pg_local_cache.max_row_size = 500;
SELECT array_length(local_cache.mget('item', ARRAY[301, 302]), 1);
:counted
SELECT array_length(local_cache.mget('item', ARRAY[301, 302]), 1);
:counted
SET pg_local_cache.max_row_size = '1kB';
SELECT length((local_cache.mget('item', ARRAY[301]))[1]);
:counted
SET pg_local_cache.max_row_size = 1019;
SELECT length((local_cache.mget('item', ARRAY[301]))[1]);
:counted
SET pg_local_cache.max_row_size = 0;
SELECT local_cache.mget('item', ARRAY[5]) = ARRAY['{"id":5,"v":"v5"}'];
:counted
RESET pg_local_cache.max_row_size;
-- a row larger than the store would take at all
INSERT INTO item VALUES (303, repeat('x', 30000000));
SET pg_local_cache.max_row_size = '64MB';
SELECT length((local_cache.mget('item', ARRAY[303]))[1]);
:counted
RESET pg_local_cache.max_row_size;

-- verify: every hit is fetched again; nothing differs
SET pg_local_cache.verify = 1;
SELECT verified AS verified, hits AS hits FROM local_cache.tables WHERE relation = 'item'::regclass \gset
SELECT cardinality(local_cache.mget('item', (SELECT array_agg(n) FROM generate_series(1, 200) n))),
       (SELECT count(*) FROM local_cache.mget_rows(NULL::item, (SELECT array_agg(n) FROM generate_series(1, 200) n)));
SELECT cardinality(local_cache.mget('item', (SELECT array_agg(n) FROM generate_series(1, 200) n))),
       (SELECT count(*) FROM local_cache.mget_rows(NULL::item, (SELECT array_agg(n) FROM generate_series(1, 200) n)));
SELECT verified - :verified = hits - :hits, verified - :verified >= 400, verify_failures FROM local_cache.tables WHERE relation = 'item'::regclass;
RESET pg_local_cache.verify;

-- invalidate forgets this table's entries, and tells how many
SELECT cardinality(local_cache.mget('item', ARRAY[1, 2, 3]));
CREATE TABLE other (id int PRIMARY KEY);
INSERT INTO other VALUES (1), (2);
SELECT local_cache.attach_table('other') -> 'cacheable';
SELECT local_cache.mget('other', ARRAY[1, 2]);
SELECT local_cache.invalidate('item') > 0, local_cache.invalidate('item');
SELECT relation, entries, bytes > 0 AS bytes FROM local_cache.tables ORDER BY 1;
SELECT local_cache.invalidate() >= 2, local_cache.invalidate();
SELECT relation, entries, bytes FROM local_cache.tables ORDER BY 1;
-- detach forgets its entries and its counters; the totals keep what they have counted
SELECT cardinality(local_cache.mget('other', ARRAY[1, 2]));
SELECT hits AS hits, misses AS misses FROM local_cache.metrics() \gset
SELECT local_cache.detach_table('other'), local_cache.invalidate();
SELECT hits - :hits, misses - :misses FROM local_cache.metrics();
SELECT local_cache.attach_table('other') -> 'cacheable';
SELECT relation, hits, misses, entries FROM local_cache.tables WHERE relation = 'other'::regclass;
-- a detach that is rolled back
SELECT cardinality(local_cache.mget('other', ARRAY[1, 2]));
BEGIN;
SELECT local_cache.detach_table('other');
ROLLBACK;
SELECT cardinality(local_cache.mget('other', ARRAY[1, 2])), cardinality(local_cache.mget('other', ARRAY[1]));
SELECT relation, hits, misses, entries FROM local_cache.tables WHERE relation = 'other'::regclass;

-- the same numbers everywhere
SELECT count(*) FILTER (WHERE m.value <> s.value) AS different, count(*) > 20 AS many
FROM jsonb_each((SELECT to_jsonb(m) FROM local_cache.metrics() m)) m JOIN jsonb_each(local_cache.stats()) s USING (key);
SELECT sum(t.hits) <= m.hits, sum(t.misses) <= m.misses, sum(t.entries) <= m.entries FROM local_cache.table_stats() t, local_cache.metrics() m GROUP BY m.hits, m.misses, m.entries;

-- limits of the settings
\set VERBOSITY sqlstate
SET pg_local_cache.verify = 1.1;
SET pg_local_cache.max_row_size = -1;
SET pg_local_cache.memory = '1GB';
SET pg_local_cache.no_such = 1;
\set VERBOSITY default
SELECT name, context, unit FROM pg_settings WHERE name LIKE 'pg_local_cache.%' ORDER BY name COLLATE "C";

-- in the whole run so far no verified hit has differed from the stored row
SELECT verify_failures FROM local_cache.metrics();
DROP FUNCTION plc.counted;
DROP TABLE plc.counted, item, other;
