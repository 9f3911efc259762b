-- Partitions and children: the leaf that is attached answers for itself alone.  See lib/scenario.sql.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers

\set setup 'CREATE TABLE p (id int, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id); CREATE TABLE t PARTITION OF p FOR VALUES FROM (0) TO (100); CREATE TABLE u PARTITION OF p FOR VALUES FROM (100) TO (200); INSERT INTO p VALUES (1, $$one$$), (2, $$two$$), (101, $$more$$);'
\set keys 'ARRAY[1, 2, 3, 101]'
\set cleanup 'DROP TABLE IF EXISTS p, t, u, v;'

-- H57
\set name 'H57 leaf detached and written to'
\set hazard 'ALTER TABLE p DETACH PARTITION t; UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario

\set name 'H57 leaf detached concurrently'
\set hazard 'ALTER TABLE p DETACH PARTITION t CONCURRENTLY; INSERT INTO t VALUES (3, $$three$$);'
\i :scenario

\set name 'H57 leaf detached, its rows deleted, attached again'
\set hazard 'ALTER TABLE p DETACH PARTITION t; DELETE FROM t WHERE id = 1; ALTER TABLE p ATTACH PARTITION t FOR VALUES FROM (0) TO (50);'
\i :scenario

\set name 'H57 another table takes the place of the leaf'
\set hazard 'ALTER TABLE p DETACH PARTITION t; CREATE TABLE v (LIKE p INCLUDING ALL); INSERT INTO v VALUES (1, $$another$$); ALTER TABLE p ATTACH PARTITION v FOR VALUES FROM (0) TO (100);'
\i :scenario

-- H59
\set name 'H59 a row moves to another leaf'
\set hazard 'UPDATE p SET id = 150 WHERE id = 1; UPDATE p SET id = 3 WHERE id = 101;'
\i :scenario

\set name 'H59 a row moves away and back'
\set hazard 'UPDATE p SET id = 150 WHERE id = 1; UPDATE p SET id = 1, v = $$back$$ WHERE id = 150;'
\i :scenario

-- H60
\set name 'H60 parent truncated'
\set hazard 'TRUNCATE p;'
\i :scenario

\set name 'H60 written through the parent'
\set hazard 'UPDATE p SET v = $$new$$ WHERE id = 1; DELETE FROM p WHERE id = 2; INSERT INTO p VALUES (3, $$three$$);'
\i :scenario

\set name 'parent altered: the column comes down to the leaf'
\set hazard 'ALTER TABLE p ADD COLUMN c int DEFAULT 7; ALTER TABLE p RENAME v TO w;'
\i :scenario

\set name 'leaf dropped and made again, attached'
\set hazard 'DROP TABLE t; CREATE TABLE t PARTITION OF p FOR VALUES FROM (0) TO (100); INSERT INTO p VALUES (1, $$again$$); SELECT local_cache.attach_table($$t$$);'
\i :scenario

\set name 'columns of the leaf in another order than the parent'
\set setup 'CREATE TABLE p (id int, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id); CREATE TABLE t (x int, v text NOT NULL, id int NOT NULL, PRIMARY KEY (id)); ALTER TABLE t DROP x; ALTER TABLE p ATTACH PARTITION t FOR VALUES FROM (0) TO (100); INSERT INTO p VALUES (1, $$one$$), (2, $$two$$);'
\set hazard 'UPDATE p SET v = $$new$$ WHERE id = 1;'
\i :scenario

-- H61
\set name 'H61 a child with the same key: only the parent itself answers'
\set setup 'CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE u () INHERITS (t); INSERT INTO t VALUES (1, $$parent$$); INSERT INTO u VALUES (1, $$child$$), (2, $$child$$);'
\set hazard 'DELETE FROM ONLY t WHERE id = 1; UPDATE u SET v = $$new$$;'
\set cleanup 'DROP TABLE t CASCADE;'
\i :scenario
