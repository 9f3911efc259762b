-- Row versions move, vanish, are frozen and their places used again.  See lib/scenario.sql.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers

-- H30
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text) WITH (fillfactor = 50); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set name 'H30 HOT updates, then VACUUM'
\set hazard 'UPDATE t SET v = $$a$$ WHERE id = 1; UPDATE t SET v = $$b$$ WHERE id = 1; UPDATE t SET v = $$c$$ WHERE id = 1; VACUUM t;'
\i :scenario

\set name 'H30 HOT updates, read, then VACUUM: the version stays, its chain is cut'
\set hazard 'UPDATE t SET v = $$a$$ WHERE id = 1; UPDATE t SET v = $$b$$ WHERE id = 1;' :look 'VACUUM t;'
\i :scenario

\set name 'H30 updates and pruning by turns'
\set hazard 'DO $do$ BEGIN FOR n IN 1..300 LOOP UPDATE t SET v = n; COMMIT; IF n % 7 = 0 THEN PERFORM plc.look($$t$$, $$ARRAY[1, 2, 3]$$); COMMIT; END IF; END LOOP; END $do$;'
\i :scenario

-- H31: key 3 gets the line pointer that key 1 had
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set name 'H31 line pointer used again by another row'
\set hazard 'DELETE FROM t WHERE id = 1; VACUUM t; INSERT INTO t VALUES (3, $$three$$);'
\i :scenario

\set name 'H31 line pointer used again by the same key'
\set hazard 'DELETE FROM t WHERE id = 1; VACUUM t; INSERT INTO t VALUES (1, $$one again$$);'
\i :scenario

CREATE TABLE t (id int PRIMARY KEY, v text);
INSERT INTO t VALUES (1, 'one'), (2, 'two');
SELECT ctid AS place FROM t WHERE id = 1 \gset
DELETE FROM t WHERE id = 1;
VACUUM t;
INSERT INTO t VALUES (3, 'three');
SELECT CASE WHEN ctid = :'place' THEN 'H31 the place was indeed used again' END AS seen FROM t WHERE id = 3 \gset
\echo :seen
DROP TABLE t;

-- H32: all reads after it are hits
\set name 'H32 VACUUM FREEZE'
\set hazard 'VACUUM FREEZE t;'
\i :scenario

\set name 'H32 frozen, then updated'
\set hazard 'VACUUM FREEZE t; UPDATE t SET v = $$new$$ WHERE id = 1; VACUUM FREEZE t;'
\i :scenario

\set name 'plain VACUUM, ANALYZE'
\set hazard 'VACUUM t; ANALYZE t;'
\i :scenario

-- H34: rows in the tail, which VACUUM cuts off
\set keys 'ARRAY[1, 5000, 4999]'
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT n, repeat($$x$$, 100) FROM generate_series(1, 5000) n;'
\set name 'H34 tail of the table truncated'
\set hazard 'DELETE FROM t WHERE id > 100; VACUUM t;'
\i :scenario

\set name 'H34 tail truncated and grown again'
\set hazard 'DELETE FROM t WHERE id > 100; VACUUM t; INSERT INTO t SELECT n, repeat($$y$$, 100) FROM generate_series(101, 5000) n;'
\i :scenario

-- H27: out of contract, since nobody else would notice; but the proof does
CREATE EXTENSION pg_surgery;
\set keys 'ARRAY[1, 2, 3]'
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set name 'H27 a row killed by pg_surgery'
\set hazard 'SELECT heap_force_kill($$t$$, ARRAY[$$(0,1)$$::tid]);'
\i :scenario
DROP EXTENSION pg_surgery;

-- P4: the page leaves shared buffers, and comes back to another one.  The first read after that is no hit, but no
-- rendering either; the second is a hit.  Twelve tables are read, each too small for a scan to spare the others' pages,
-- until the page is gone.
CREATE EXTENSION pg_buffercache;
CREATE PROCEDURE plc.push_out(rel regclass) LANGUAGE plpgsql AS $$
DECLARE
    node oid := pg_relation_filenode(rel);
BEGIN
    FOR n IN 1..12 LOOP
        EXECUTE format('CREATE TABLE plc.other%s AS SELECT n, repeat(''x'', 1000) AS v FROM generate_series(1, 2000) n', n);
    END LOOP;
    FOR round IN 1..100 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_buffercache WHERE relfilenode = node);
        FOR n IN 1..12 LOOP
            EXECUTE format('SELECT count(*) FROM plc.other%s', n);
        END LOOP;
    END LOOP;
    FOR n IN 1..12 LOOP
        EXECUTE format('DROP TABLE plc.other%s', n);
    END LOOP;
END $$;
\set name 'P4 page pushed out of shared buffers'
\set hazard 'CALL plc.push_out($$t$$);'
\i :scenario

\set name 'P4 page pushed out after an update'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = 1; CALL plc.push_out($$t$$);'
\i :scenario
CREATE TABLE t (id int PRIMARY KEY, v text);
INSERT INTO t VALUES (1, 'one'), (2, 'two');
\o /dev/null
SELECT local_cache.attach_table('t');
SELECT local_cache.mget('t', ARRAY[1, 2]);
CALL plc.push_out('t');
SELECT local_cache.mget('t', ARRAY[1, 2]);
\o
-- one miss for each key published it, one found its page lost and brought it back; nothing was published again
SELECT hits, misses, lost_pages, publishes FROM local_cache.tables WHERE relation = 't'::regclass;
DROP TABLE t;
DROP PROCEDURE plc.push_out;
DROP EXTENSION pg_buffercache;

-- H35, H36: same rows, same xmin, another file
\set keys 'ARRAY[1, 2, 3]'
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set name 'H35 VACUUM FULL'
\set hazard 'VACUUM FULL t;'
\i :scenario

\set name 'H35 VACUUM FULL, then update'
\set hazard 'VACUUM FULL t; UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario

\set name 'H35 CLUSTER turns the rows round'
\set hazard 'ALTER TABLE t ADD COLUMN o int; UPDATE t SET o = -id; CREATE INDEX i ON t (o); CLUSTER t USING i; DELETE FROM t WHERE id = 2;'
\i :scenario

-- Both rows have one xmin, and exchange their places; a buffer of the old file is the first to be given to the newest.
\set name 'H35, P2 rewritten twice and turned round, again and again'
\set setup 'CREATE TABLE t (id int PRIMARY KEY, o int); CREATE INDEX t_o ON t (o); INSERT INTO t VALUES (1, -1), (2, -2);'
\set hazard 'DO $do$ BEGIN FOR n IN 1..20 LOOP CLUSTER t USING t_pkey; COMMIT; PERFORM plc.look($$t$$, $$ARRAY[1, 2, 3]$$); COMMIT; IF n % 2 = 0 THEN CLUSTER t USING t_pkey; COMMIT; END IF; CLUSTER t USING t_o; COMMIT; PERFORM plc.look($$t$$, $$ARRAY[1, 2, 3]$$); COMMIT; END LOOP; END $do$;'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set name 'H36 SET UNLOGGED, SET LOGGED'
\set hazard 'ALTER TABLE t SET UNLOGGED; UPDATE t SET v = $$new$$ WHERE id = 1; ALTER TABLE t SET LOGGED;'
\i :scenario

SET allow_in_place_tablespaces = on;
CREATE TABLESPACE plc_place LOCATION '';
\set name 'H36 moved to another tablespace'
\set hazard 'ALTER TABLE t SET TABLESPACE plc_place; UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario

\set name 'H36 moved there and back'
\set hazard 'ALTER TABLE t SET TABLESPACE plc_place; UPDATE t SET v = $$new$$ WHERE id = 1; ALTER TABLE t SET TABLESPACE pg_default; DELETE FROM t WHERE id = 2;'
\i :scenario
DROP TABLESPACE plc_place;

\set name 'rewritten by ALTER TABLE'
\set hazard 'ALTER TABLE t ALTER COLUMN v TYPE text USING v || $$ rewritten$$;'
\i :scenario

\set name 'rewritten and rolled back'
\set hazard 'BEGIN; ALTER TABLE t ALTER COLUMN v TYPE text USING v || $$ rewritten$$;' :look 'ROLLBACK;'
\i :scenario

-- H28, H36: served, not cached, while its access method is not heap
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
\set name 'H36 another access method'
\set hazard 'ALTER TABLE t SET ACCESS METHOD heap2; UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario

\set name 'H36 another access method and back'
\set hazard 'ALTER TABLE t SET ACCESS METHOD heap2; UPDATE t SET v = $$new$$ WHERE id = 1;' :look 'ALTER TABLE t SET ACCESS METHOD heap;'
\i :scenario
DROP ACCESS METHOD heap2;

-- H37
\set name 'H37 REINDEX CONCURRENTLY'
\set hazard 'REINDEX TABLE CONCURRENTLY t; UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario

\set name 'H37 REINDEX'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = 1; REINDEX TABLE t;'
\i :scenario

\set name 'H37 primary key index replaced, with an INCLUDE column'
\set hazard 'CREATE UNIQUE INDEX i ON t (id) INCLUDE (v); ALTER TABLE t DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX i; UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario

-- H38
\set setup 'CREATE TABLE t (id int PRIMARY KEY, n int, v text); ALTER TABLE t ALTER v SET STORAGE EXTERNAL; INSERT INTO t SELECT n, 0, repeat(md5(n::text), 3000) FROM generate_series(1, 2) n;'
\set name 'H38 TOAST values, other column updated, VACUUM'
\set hazard 'UPDATE t SET n = 1 WHERE id = 1; VACUUM t;'
\i :scenario

\set name 'H38 TOAST value replaced, VACUUM'
\set hazard 'UPDATE t SET v = repeat(md5($$x$$), 3000) WHERE id = 1; DELETE FROM t WHERE id = 2; VACUUM t; INSERT INTO t VALUES (3, 0, repeat(md5($$y$$), 3000));'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, n int, v text); INSERT INTO t SELECT n, 0, (SELECT string_agg(md5(x::text), $$$$) FROM generate_series(1, 4000) x) FROM generate_series(1, 2) n;'
\set name 'H38 compressed TOAST values, VACUUM FULL'
\set hazard 'UPDATE t SET n = 1 WHERE id = 1; VACUUM FULL t;'
\i :scenario
