-- mget as a part of larger queries: joins, functions, cursors, prepared statements, parallel plans.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset tuples_only on
\pset null NULL
CREATE TABLE item (id int PRIMARY KEY, v text);
INSERT INTO item SELECT n, 'v' || n FROM generate_series(1, 1000) n;
SELECT local_cache.attach_table('item') -> 'cacheable';

-- beside the table itself, in joins, laterally, aggregated, in WHERE
SELECT local_cache.mget('item', ARRAY[id]) = ARRAY[row_to_json(item)::text] FROM item WHERE id IN (1, 2);
SELECT count(*) FROM item, LATERAL (SELECT local_cache.mget('item', ARRAY[id, 1001 - id]) AS m OFFSET 0) l
WHERE m[1]::json ->> 'v' = v AND (m[2]::json ->> 'id')::int = 1001 - id;
SELECT count(*) FROM item WHERE local_cache.mget_json('item', ARRAY[id]) -> 0 ->> 'v' <> v;
SELECT local_cache.mget('item', (SELECT array_agg(id ORDER BY id DESC) FROM item WHERE id < 4));
SELECT sum((local_cache.mget_json('item', ARRAY[id]) -> 0 ->> 'id')::int) OVER (ORDER BY id) FROM item WHERE id < 4;
SELECT j ->> 'v' FROM json_array_elements(local_cache.mget_json('item', ARRAY[3, 2, 1001])) j;
SELECT CASE WHEN id > 1 THEN local_cache.mget('item', ARRAY[id]) END FROM generate_series(1, 2) id;
INSERT INTO item SELECT 2000, local_cache.mget('item', ARRAY[1])::text RETURNING v;
UPDATE item SET v = local_cache.mget('item', ARRAY[2000])::text WHERE id = 2000;
-- RETURNING calls it under the statement's snapshot, from before the change
UPDATE item SET v = 'new' WHERE id = 2000 RETURNING v, local_cache.mget('item', ARRAY[2000]) = ARRAY[row_to_json(item)::text];
DELETE FROM item WHERE id = 2000 RETURNING local_cache.mget('item', ARRAY[2000]) = ARRAY[row_to_json(item)::text];
SELECT local_cache.mget('item', ARRAY[2000]);

-- one statement, one moment: a function that writes is not seen by the query that calls it
CREATE FUNCTION renamed(int) RETURNS text LANGUAGE sql VOLATILE AS $$ UPDATE item SET v = v || '!' WHERE id = $1 RETURNING v $$;
SELECT local_cache.mget('item', ARRAY[1]), renamed(1), local_cache.mget('item', ARRAY[1]), (SELECT v FROM item WHERE id = 1);
SELECT local_cache.mget('item', ARRAY[1]);
-- but is by a volatile function's own statements, and is not by a stable function
CREATE FUNCTION writes_then_reads(int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    r text[];
BEGIN
    UPDATE item SET v = v || '?' WHERE id = $1;
    r := local_cache.mget('item', ARRAY[$1]);
    RETURN r[1] = (SELECT row_to_json(item)::text FROM item WHERE id = $1);
END $$;
SELECT writes_then_reads(1), writes_then_reads(1);
CREATE FUNCTION reads(int) RETURNS text[] LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN local_cache.mget('item', ARRAY[$1]); END $$;
SELECT renamed(2), reads(2), (SELECT v FROM item WHERE id = 2);
SELECT reads(2);

-- exception blocks: an error in a call leaves nothing behind
DO $$
BEGIN
    FOR n IN 1..100 LOOP
        BEGIN
            PERFORM local_cache.mget('item', ARRAY['1', '2', 'x']);
        EXCEPTION WHEN invalid_text_representation THEN
            IF local_cache.mget('item', ARRAY[n]) <> ARRAY[(SELECT row_to_json(item)::text FROM item WHERE id = n)] THEN
                RAISE WARNING 'wrong answer after an error';
            END IF;
        END;
        BEGIN
            PERFORM local_cache.mget('plc.unrelated', ARRAY[1]);
        EXCEPTION WHEN object_not_in_prerequisite_state THEN
            NULL;
        END;
    END LOOP;
END $$;

-- procedures that commit between calls
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1..5 LOOP
        UPDATE item SET v = 'round ' || n WHERE id = 3;
        IF n = 4 THEN ROLLBACK; ELSE COMMIT; END IF;
        RAISE NOTICE '%', local_cache.mget('item', ARRAY[3]);
    END LOOP;
END $$;
SET client_min_messages = notice;
CALL commits();
SET client_min_messages = warning;

-- H14: cursors see what was there when they were opened
BEGIN;
DECLARE c CURSOR FOR SELECT local_cache.mget('item', ARRAY[id]), row_to_json(item)::text FROM item WHERE id IN (4, 5) ORDER BY id;
DECLARE h CURSOR WITH HOLD FOR SELECT local_cache.mget('item', ARRAY[id]), row_to_json(item)::text FROM item WHERE id IN (4, 5) ORDER BY id;
FETCH c;
UPDATE item SET v = 'changed' WHERE id IN (4, 5);
SELECT local_cache.mget('item', ARRAY[4, 5]);
FETCH c;
COMMIT;
FETCH ALL h;
CLOSE h;
SELECT local_cache.mget('item', ARRAY[4, 5]);
-- a scrolled cursor goes back to what it showed
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT local_cache.mget('item', ARRAY[id]) FROM generate_series(6, 7) id;
FETCH ALL c;
UPDATE item SET v = 'changed' WHERE id = 6;
FETCH FIRST c;
ROLLBACK;

-- prepared statements, generic and custom plans
PREPARE p (int[]) AS SELECT local_cache.mget('item', $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE p ('{8,9}');
UPDATE item SET v = 'changed' WHERE id = 8;
EXECUTE p ('{8,9}');
ALTER TABLE item ADD COLUMN w int DEFAULT 0;
EXECUTE p ('{8,9}');
SET plan_cache_mode = force_custom_plan;
EXECUTE p ('{8,9}');
ALTER TABLE item DROP COLUMN w;
EXECUTE p ('{8,9}');
DEALLOCATE p;
RESET plan_cache_mode;

-- H12: parallel plans; the functions are parallel restricted, so the leader runs them
SELECT current_setting('server_version_num')::int >= 160000 AS new_name \gset
\if :new_name
SET debug_parallel_query = on;
\else
SET force_parallel_mode = on;
\endif
SELECT local_cache.mget('item', ARRAY[10, 11]);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*), bool_and(local_cache.mget('item', ARRAY[id]) = ARRAY[row_to_json(item)::text]) FROM item;
CREATE FUNCTION plc.labelled_safe(int) RETURNS text[] LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$ BEGIN RETURN local_cache.mget('item', ARRAY[$1]); END $$;
-- a function that is labelled parallel safe against better knowledge still gets right answers
SELECT count(*), bool_and(plc.labelled_safe(id) = ARRAY[row_to_json(item)::text]) FROM item;
RESET ALL;
DROP FUNCTION plc.labelled_safe;

-- exported snapshots
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_export_snapshot() AS snapshot \gset
SELECT local_cache.mget('item', ARRAY[12]);
COMMIT;

-- views, rules and policies may call it; recursion through a function is no trouble
CREATE FUNCTION deeper(int) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF $1 = 0 THEN RETURN ''; END IF;
    RETURN (local_cache.mget_json('item', ARRAY[$1]) -> 0 ->> 'id') || deeper($1 - 1);
END $$;
SELECT deeper(20);
CREATE VIEW item_json AS SELECT id, local_cache.mget('item', ARRAY[id]) AS j FROM item;
SELECT j FROM item_json WHERE id = 13;
DROP VIEW item_json;
DROP FUNCTION deeper, renamed, reads, writes_then_reads;
DROP PROCEDURE commits;
DROP TABLE item;
