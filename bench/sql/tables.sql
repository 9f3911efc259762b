-- Tables of the benchmark.  psql variables: rows, cold_rows, wide_4k_rows, wide_40k_rows.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET synchronize_seqscans = off;

CREATE EXTENSION pg_local_cache;
CREATE EXTENSION pg_prewarm;

-- Text that does not compress (base64 of hashes), of a given length.
CREATE FUNCTION noise(seed bigint, length integer) RETURNS text LANGUAGE sql AS $$
    SELECT left(string_agg(encode(sha256(convert_to(seed || '.' || i, 'UTF8')), 'base64'), ''), length)
    FROM generate_series(0, length / 44) i
$$;

-- Text that compresses well.
CREATE FUNCTION prose(seed bigint, length integer) RETURNS text LANGUAGE sql AS $$
    SELECT left(repeat('Row ' || seed || ' says the same thing once more. ', length / 30), length)
$$;

-- A table of rows, and its keys in batches: a permutation of all keys, cut into arrays.
CREATE PROCEDURE make_table(name text, rows integer, batch integer, value text, attached boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (id bigint PRIMARY KEY, revision integer NOT NULL, value text NOT NULL)', name);
    EXECUTE format('INSERT INTO %I SELECT id, 0, %s FROM generate_series(1::bigint, $1) id', name, value) USING rows;
    EXECUTE format('CREATE TABLE %I AS SELECT n::integer, array_agg(id) AS keys FROM (
            SELECT id, (row_number() OVER (ORDER BY hashint8(id)) - 1) / $1 AS n FROM %I) s
        GROUP BY n HAVING count(*) = $1', name || '_batches', name) USING batch;
    EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (n)', name || '_batches');
    IF attached THEN
        PERFORM local_cache.attach_table(name::regclass);
    END IF;
END $$;

-- 150 bytes a row as JSON.
\set small 'left(md5(id::text) || md5((-id)::text) || md5((id + 0.5)::text) || md5((id + 0.1)::text), 112)'
CALL make_table('items',           :rows,          64, :'small', true);
CALL make_table('items_cold',      :cold_rows,     64, :'small', true);
CALL make_table('items_mixed',     :rows,          64, :'small', true);
CALL make_table('items_attached',  :rows,          64, :'small', true);
CALL make_table('items_plain',     :rows,          64, :'small', false);
CALL make_table('noise_4k',        :wide_4k_rows,  16, 'noise(id, 4000)', true);
CALL make_table('prose_4k',        :wide_4k_rows,  16, 'prose(id, 4000)', true);
CALL make_table('noise_40k',       :wide_40k_rows, 16, 'noise(id, 40000)', true);
CALL make_table('prose_40k',       :wide_40k_rows, 16, 'prose(id, 40000)', true);

VACUUM (FREEZE, ANALYZE);

-- Everything in shared buffers: what is compared is the work of the processor.
DO $$
BEGIN
    PERFORM pg_prewarm(oid::regclass) FROM pg_class
    WHERE relkind IN ('r', 'i', 't') AND (relnamespace = 'public'::regnamespace OR relnamespace = 'pg_toast'::regnamespace);
END $$;

-- The paths must agree before they are compared.
CREATE FUNCTION check_answers(tab regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    same boolean;
BEGIN
    EXECUTE format('WITH b AS MATERIALIZED (SELECT keys FROM %1$s WHERE n = 0),
        plain AS (SELECT array_agg(row_to_json(r)::text ORDER BY k.n) AS texts, json_agg(r ORDER BY k.n)::jsonb AS json
                  FROM b, unnest(b.keys) WITH ORDINALITY k (id, n) JOIN %2$s r USING (id))
        SELECT local_cache.mget(%3$L, b.keys) = plain.texts AND local_cache.mget_json(%3$L, b.keys)::jsonb = plain.json
        FROM b, plain', quote_ident(tab || '_batches'), tab, tab) INTO same;
    IF NOT coalesce(same, false) THEN
        RAISE 'mget and row_to_json disagree on table "%"', tab;
    END IF;
END $$;
SELECT check_answers(relation), check_answers(relation) FROM local_cache.mapping \g /dev/null
