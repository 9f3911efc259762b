-- Tables of the benchmark.  psql variable: rows.
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE EXTENSION pg_local_cache;
CREATE EXTENSION pg_prewarm;

-- A row is 150 bytes as JSON, whatever the length of its id.  Ids begin with 0, as redis-benchmark's do.
CREATE PROCEDURE make_table(name text, rows integer) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (id bigint PRIMARY KEY, revision integer NOT NULL, value text NOT NULL)', name);
    EXECUTE format('INSERT INTO %I SELECT id, 0, left(md5(id::text) || md5((-id)::text) || md5((id + 0.5)::text)
            || md5((id + 0.1)::text), 119 - length(id::text)) FROM generate_series(0, $1 - 1) id', name) USING rows;
    PERFORM local_cache.attach_table(name::regclass, namespace => name);
END $$;
CALL make_table('items', :rows);
CALL make_table('mixed', :rows);    -- the one that is updated

CREATE ROLE reader LOGIN;
GRANT SELECT ON items, mixed TO reader;
VACUUM (FREEZE, ANALYZE);
