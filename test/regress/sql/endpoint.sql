-- The endpoint's settings, and what SQL says of it where there is none: test/postgresql.conf sets no port.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset tuples_only on
-- defaults and limits
SELECT substr(name, 16) AS name, boot_val, unit, min_val, max_val FROM pg_settings
WHERE name LIKE 'pg_local_cache.%' AND name !~ '\.(enabled|max_row_size|memory|verify)$' ORDER BY name COLLATE "C";

-- values that cannot work are refused, with words that help
ALTER SYSTEM SET pg_local_cache.listen_addresses = 'localhost, localhost:6379';
ALTER SYSTEM SET pg_local_cache.listen_addresses = '127.0.0.1:6379';
ALTER SYSTEM SET pg_local_cache.listen_addresses = '[::1]';
ALTER SYSTEM SET pg_local_cache.listen_addresses = 'localhost 127.0.0.1';
ALTER SYSTEM SET pg_local_cache.listen_addresses = 'localhost,';
ALTER SYSTEM SET pg_local_cache.listen_addresses = 'localhost,""';
ALTER SYSTEM SET pg_local_cache.listen_addresses = '/run';
ALTER SYSTEM SET pg_local_cache.database = '';
ALTER SYSTEM SET pg_local_cache.database = 'a123456789b123456789c123456789d123456789e123456789f123456789g123';
ALTER SYSTEM SET pg_local_cache.role = 'a123456789b123456789c123456789d123456789e123456789f123456789g123456789';
SELECT format('ALTER SYSTEM SET pg_local_cache.unix_socket_directory = %L', '/' || repeat('d', 93)) \gexec
ALTER SYSTEM SET pg_local_cache.port = 65536;
ALTER SYSTEM SET pg_local_cache.workers = 0;
-- those that can are taken
ALTER SYSTEM SET pg_local_cache.listen_addresses = '*';
ALTER SYSTEM SET pg_local_cache.listen_addresses = 'localhost, ::1, "127.0.0.1",db-1.example.com';
ALTER SYSTEM SET pg_local_cache.listen_addresses = '';
ALTER SYSTEM SET pg_local_cache.role = '';
ALTER SYSTEM SET pg_local_cache.role = 'a123456789b123456789c123456789d123456789e123456789f123456789g12';
SELECT format('ALTER SYSTEM SET pg_local_cache.unix_socket_directory = %L', '/' || repeat('d', 92)) \gexec
ALTER SYSTEM SET pg_local_cache.output_limit = '1GB';
ALTER SYSTEM RESET ALL;
-- no session sets them for itself
SELECT substr(name, 16), plc.failure(format('SET %s = %L', name, setting)) FROM pg_settings
WHERE name LIKE 'pg_local_cache.%' AND context IN ('postmaster', 'sighup') ORDER BY name COLLATE "C";
-- where files are is not everybody's business
CREATE ROLE plc_reader;
SET ROLE plc_reader;
SELECT substr(name, 16) FROM pg_settings WHERE name LIKE 'pg_local_cache.%' AND context IN ('postmaster', 'sighup') ORDER BY name COLLATE "C";
RESET ROLE;

-- nobody is connected, nothing is counted, and that is no fault
SELECT count(*) FROM local_cache.clients;
SELECT count(*) FROM local_cache.client_list();
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'local_cache.clients'::regclass AND attnum > 0 ORDER BY attnum;
SELECT local_cache.health() -> 'endpoint';
SELECT sum(value::bigint) FROM jsonb_each_text(to_jsonb((SELECT m FROM local_cache.metrics() m))) WHERE key ~ '^(client|cache_)';
-- the view is for everybody who may use the schema
GRANT USAGE ON SCHEMA local_cache TO plc_reader;
SET ROLE plc_reader;
SELECT count(*) FROM local_cache.clients;
RESET ROLE;
DROP OWNED BY plc_reader;
DROP ROLE plc_reader;

-- the sums: without Redis clients, all of what the tables count is SQL's
CREATE TABLE item (id int PRIMARY KEY);
INSERT INTO item VALUES (1);
SELECT local_cache.attach_table('item') -> 'cacheable';
SELECT local_cache.mget('item', ARRAY[1, 2]);
SELECT local_cache.mget('item', ARRAY[1, 2]);
SET pg_local_cache.enabled = off;
SELECT local_cache.mget('item', ARRAY[1, 2]);
RESET pg_local_cache.enabled;
SELECT s -> 'sql_cache_hits' = s -> 'hits' AS hits, s -> 'sql_cache_misses' = s -> 'misses' AS misses,
       s -> 'sql_cache_fills' = s -> 'publishes' AS fills,
       (s -> 'sql_cache_bypasses')::bigint = (SELECT sum(value::bigint) FROM jsonb_each(s) WHERE key LIKE 'bypass%') AS bypasses,
       (s -> 'database_reads')::bigint = (s -> 'sql_cache_misses')::bigint + (s -> 'sql_cache_bypasses')::bigint AS database_reads,
       (s -> 'sql_cache_bypasses')::bigint >= 2 AS many
FROM local_cache.stats() s;
DROP TABLE item;
