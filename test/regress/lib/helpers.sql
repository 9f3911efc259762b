-- Read by every test first.  All of it can be read again, since tests share one database.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_local_cache;
CREATE SCHEMA IF NOT EXISTS plc;
CREATE TABLE IF NOT EXISTS plc.unrelated (n int);

-- Entries that other tests left would push out some of ours: the index of the store is lossy when it is full.
DO $$ BEGIN
    PERFORM local_cache.invalidate();
END $$;

-- What a comparison found: "ok", or how the answers differ, or the SQLSTATE; and the cache hits of its mget.
DO $$ BEGIN
    IF to_regtype('plc.finding') IS NULL THEN
        CREATE TYPE plc.finding AS (verdict text, hits bigint);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION plc.hits(rel text) RETURNS bigint LANGUAGE sql VOLATILE
    AS $$ SELECT coalesce((SELECT sum(hits) FROM local_cache.table_stats() WHERE relation = to_regclass(rel)), 0) $$;

-- Rows by mget, mget_json and mget_rows beside rows by SELECT: one statement, hence one snapshot.
-- "keys" is an expression; "match" says when row t has key number i of the array k.
CREATE OR REPLACE FUNCTION plc.compare(rel text, keys text, match text DEFAULT 't.id = k[i]')
RETURNS plc.finding LANGUAGE plpgsql AS $$
DECLARE
    hits_before bigint;
    hits_after bigint;
    texts text[];
    array_text text;
    typed text[];
    wanted text[];
BEGIN
    EXECUTE format($q$
        SELECT plc.hits(%1$L), local_cache.mget(%1$L, k), plc.hits(%1$L), local_cache.mget_json(%1$L, k),
               (SELECT coalesce(array_agg(CASE WHEN _row IS NULL THEN NULL ELSE row_to_json(_row)::text END), '{}')
                FROM local_cache.mget_rows(NULL::%1$s, k) AS _row),
               (SELECT coalesce(array_agg((SELECT row_to_json(t)::text FROM ONLY %1$s AS t WHERE %3$s) ORDER BY i), '{}')
                FROM generate_subscripts(k, 1) AS i)
        FROM (SELECT %2$s AS k OFFSET 0) AS keys$q$, rel, keys, match)
    INTO hits_before, texts, hits_after, array_text, typed, wanted;
    IF texts IS DISTINCT FROM wanted THEN
        RETURN (format('DIFFERENT mget: %s instead of %s', texts, wanted), 0::bigint);
    ELSIF array_text IS DISTINCT FROM '[' || array_to_string(wanted, ',', 'null') || ']' THEN
        RETURN (format('DIFFERENT mget_json: %s instead of %s', array_text, wanted), 0::bigint);
    ELSIF typed IS DISTINCT FROM wanted THEN
        RETURN (format('DIFFERENT mget_rows: %s instead of %s', typed, wanted), 0::bigint);
    END IF;
    RETURN ('ok'::text, hits_after - hits_before);
EXCEPTION WHEN OTHERS THEN
    RETURN ('error ' || SQLSTATE, 0::bigint);
END $$;

-- For the middle of a transaction: complains if the answers differ, says nothing if they are the same.
CREATE OR REPLACE FUNCTION plc.look(rel text, keys text, match text DEFAULT 't.id = k[i]')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    verdict text := (plc.compare(rel, keys, match)).verdict;
BEGIN
    IF verdict <> 'ok' THEN
        RAISE WARNING '%', verdict;
    END IF;
END $$;

-- How a statement fails: SQLSTATE, message, detail, hint.
CREATE OR REPLACE FUNCTION plc.failure(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' / ', SQLSTATE, SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;

-- The states in which a scenario compares.
CREATE OR REPLACE FUNCTION plc.enter_state(state text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF state = 'later' THEN
        INSERT INTO plc.unrelated VALUES (1);
    ELSIF state = 'cold' THEN
        PERFORM local_cache.invalidate();
    END IF;
END $$;

\set scenario :abs_srcdir '/lib/scenario.sql'
\set in_state :abs_srcdir '/lib/in_state.sql'
\set rel t
\set keys 'ARRAY[1, 2, 3]'
\set match 't.id = k[i]'
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set attach 'SELECT local_cache.attach_table($$t$$);'
\set cleanup 'DROP TABLE t CASCADE;'
\set look 'SELECT plc.look($$t$$, $$ARRAY[1, 2, 3]$$);'
