-- Ways to write that pass by triggers and hooks: none may leave a stale row.  See lib/scenario.sql.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers

-- H18
\set name 'H18 session_replication_role = replica'
\set hazard 'SET session_replication_role = replica; UPDATE t SET v = $$new$$ WHERE id = 1; RESET session_replication_role;'
\i :scenario

-- H19
\set name 'H19 triggers disabled'
\set hazard 'ALTER TABLE t DISABLE TRIGGER ALL; UPDATE t SET v = $$new$$ WHERE id = 1; DELETE FROM t WHERE id = 2;'
\i :scenario

-- H20
\set name 'H20 COPY brings a row that was missing'
\set hazard 'COPY t FROM PROGRAM $$printf ''3\tcopied\n''$$;'
\i :scenario

\set name 'H20 INSERT ... SELECT of many rows'
\set hazard 'INSERT INTO t SELECT n, repeat($$x$$, 100) FROM generate_series(3, 5000) n;'
\i :scenario

-- H21
\set name 'H21 TRUNCATE'
\set hazard 'TRUNCATE t;'
\i :scenario

\set name 'H21 TRUNCATE rolled back'
\set hazard 'BEGIN; TRUNCATE t;' :look 'ROLLBACK;'
\i :scenario

\set name 'H21 TRUNCATE, then the same keys'
\set hazard 'TRUNCATE t; INSERT INTO t VALUES (1, $$one again$$), (2, $$two again$$);'
\i :scenario

-- H22: the second TRUNCATE gives another row the same file, line pointer and xmin
\set name 'H22 TRUNCATE twice in one transaction'
\set hazard 'BEGIN; TRUNCATE t; INSERT INTO t VALUES (1, $$first$$);' :look 'TRUNCATE t; INSERT INTO t VALUES (1, $$second$$);' :look 'COMMIT;'
\i :scenario

\set name 'H22 the same, another key in the second round'
\set hazard 'BEGIN; TRUNCATE t; INSERT INTO t VALUES (1, $$first$$);' :look 'TRUNCATE t; INSERT INTO t VALUES (3, $$second$$);' :look 'COMMIT;'
\i :scenario

\set name 'H22 the same with COPY FREEZE'
\set hazard 'BEGIN; TRUNCATE t; COPY t FROM PROGRAM $$printf ''1\tfirst\n''$$ (FREEZE);' :look 'TRUNCATE t; COPY t FROM PROGRAM $$printf ''1\tsecond\n''$$ (FREEZE);' :look 'COMMIT;'
\i :scenario

\set name 'H22 the same by a subtransaction that is rolled back'
\set hazard 'BEGIN; TRUNCATE t; SAVEPOINT s; INSERT INTO t VALUES (1, $$first$$);' :look 'ROLLBACK TO s; INSERT INTO t VALUES (1, $$second$$);' :look 'COMMIT;'
\i :scenario

-- H23
\set name 'H23 MERGE updates, deletes and inserts'
\set hazard 'MERGE INTO t USING (VALUES (1), (2), (3)) s (id) ON t.id = s.id WHEN MATCHED AND s.id = 1 THEN UPDATE SET v = $$merged$$ WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, $$new$$);'
\i :scenario

\set name 'H23 ON CONFLICT DO UPDATE'
\set hazard 'INSERT INTO t VALUES (1, $$a$$), (3, $$b$$) ON CONFLICT (id) DO UPDATE SET v = excluded.v || $$ upserted$$;'
\i :scenario

\set name 'H23 ON CONFLICT DO NOTHING'
\set hazard 'INSERT INTO t VALUES (1, $$a$$), (3, $$b$$) ON CONFLICT DO NOTHING;'
\i :scenario

\set name 'data-modifying WITH'
\set hazard 'WITH d AS (DELETE FROM t WHERE id = 1 RETURNING v), u AS (UPDATE t SET v = $$cte$$ WHERE id = 2) INSERT INTO t SELECT 3, v FROM d;'
\i :scenario

-- H24: t is the child
\set cleanup 'DROP TABLE t, p CASCADE;'
\set setup 'CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (2), (7); CREATE TABLE t (id int PRIMARY KEY REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set name 'H24 ON DELETE CASCADE'
\set hazard 'DELETE FROM p WHERE id = 1;'
\i :scenario

\set name 'H24 ON UPDATE CASCADE moves the key'
\set hazard 'UPDATE p SET id = 3 WHERE id = 1;'
\i :scenario

\set setup 'CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (2), (7); CREATE TABLE t (id int PRIMARY KEY, p int REFERENCES p ON DELETE SET NULL, q int DEFAULT 7 REFERENCES p ON DELETE SET DEFAULT); INSERT INTO t VALUES (1, 1, 1), (2, 2, 2);'
\set name 'H24 ON DELETE SET NULL and SET DEFAULT'
\set hazard 'DELETE FROM p WHERE id = 1;'
\i :scenario

\set name 'H24 TRUNCATE ... CASCADE'
\set hazard 'TRUNCATE p CASCADE;'
\i :scenario
\set cleanup 'DROP TABLE t CASCADE;'

-- H25
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$); CREATE VIEW w AS SELECT * FROM t WHERE id < 10 WITH CHECK OPTION;'
\set name 'H25 through an updatable view'
\set hazard 'UPDATE w SET v = $$view$$ WHERE id = 1; DELETE FROM w WHERE id = 2; INSERT INTO w VALUES (3, $$view$$);'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$); CREATE VIEW w AS SELECT upper(v) AS u, id FROM t; CREATE RULE r AS ON DELETE TO w DO INSTEAD UPDATE t SET v = $$ruled$$ WHERE t.id = old.id;'
\set name 'H25 through a rule'
\set hazard 'DELETE FROM w WHERE id = 1;'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$); CREATE VIEW w AS SELECT upper(v) AS u, id FROM t; CREATE OR REPLACE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN UPDATE t SET v = $$instead$$ WHERE id = old.id; RETURN old; END $f$; CREATE TRIGGER i INSTEAD OF DELETE ON w FOR EACH ROW EXECUTE FUNCTION instead();'
\set name 'H25 through an INSTEAD OF trigger'
\set hazard 'DELETE FROM w WHERE id = 1;'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$); CREATE OR REPLACE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN PERFORM plc.look($$t$$, $$ARRAY[1, 2, 3]$$); new.v := new.v || $$ by trigger$$; RETURN new; END $f$; CREATE TRIGGER b BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION before();'
\set name 'reads from a trigger of the table itself'
\set hazard 'UPDATE t SET v = $$new$$;'
\i :scenario
DROP FUNCTION instead, before;

-- H26
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set name 'H26 key changes'
\set hazard 'UPDATE t SET id = 3 WHERE id = 1;'
\i :scenario

\set name 'H26 two keys swapped'
\set hazard 'BEGIN; UPDATE t SET id = -1 WHERE id = 1; UPDATE t SET id = 1 WHERE id = 2;' :look 'UPDATE t SET id = 2 WHERE id = -1; COMMIT;'
\i :scenario

\set name 'H26 all keys moved by one'
\set hazard 'UPDATE t SET id = id - 2; UPDATE t SET id = id + 3;'
\i :scenario

\set name 'H29 unlogged table'
\set setup 'CREATE UNLOGGED TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$one$$), (2, $$two$$);'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario
