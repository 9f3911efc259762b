-- Commit, rollback, savepoints, isolation levels: what one session can show.  See lib/scenario.sql.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers

\set name 'nothing happens: every read is a hit'
\set hazard
\i :scenario

\set name 'update'
\set hazard 'UPDATE t SET v = $$new$$ WHERE id = 1;'
\i :scenario

\set name 'delete, and insert of a key that was missing'
\set hazard 'DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (3, $$three$$);'
\i :scenario

\set name 'delete and insert of the same key'
\set hazard 'DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, $$one again$$);'
\i :scenario

-- H4
\set name 'H4 rolled back, with reads in between'
\set hazard 'BEGIN; UPDATE t SET v = $$no$$; ' :look 'DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (3, $$no$$); ' :look 'ROLLBACK;'
\i :scenario

\set name 'H4 rolled back to a savepoint, rest committed'
\set hazard 'BEGIN; UPDATE t SET v = $$kept$$ WHERE id = 2; SAVEPOINT s; UPDATE t SET v = $$no$$; ' :look 'ROLLBACK TO s; ' :look 'COMMIT;'
\i :scenario

\set name 'H4 released savepoint'
\set hazard 'BEGIN; SAVEPOINT s; UPDATE t SET v = $$new$$ WHERE id = 1; ' :look 'RELEASE s; ' :look 'COMMIT;'
\i :scenario

\set name 'H4 exception block'
\set hazard 'DO $do$ BEGIN BEGIN UPDATE t SET v = $$no$$; PERFORM plc.look($$t$$, $$ARRAY[1,2,3]$$); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN PERFORM plc.look($$t$$, $$ARRAY[1,2,3]$$); END; UPDATE t SET v = $$kept$$ WHERE id = 2; END $do$;'
\i :scenario

-- H5, H6
\set name 'H5 own insert, seen by its transaction alone'
\set hazard 'BEGIN; INSERT INTO t VALUES (3, $$mine$$); ' :look :look 'ROLLBACK;'
\i :scenario

\set name 'H6 own delete, rolled back'
\set hazard 'BEGIN; DELETE FROM t; ' :look 'ROLLBACK;'
\i :scenario

-- H7
\set name 'H7 rows of COPY FREEZE, rolled back'
\set hazard 'BEGIN; TRUNCATE t; COPY t FROM PROGRAM $$printf ''1\tfrozen\n3\tfrozen\n''$$ (FREEZE); ' :look 'ROLLBACK;'
\i :scenario

\set name 'H7 rows of COPY FREEZE, committed'
\set hazard 'BEGIN; TRUNCATE t; COPY t FROM PROGRAM $$printf ''1\tfrozen\n3\tfrozen\n''$$ (FREEZE); ' :look 'COMMIT;'
\i :scenario

-- H8: if the server allows prepared transactions
\set name 'H8 prepared and committed'
\set hazard 'BEGIN; UPDATE t SET v = $$prepared$$ WHERE id = 1; ' :look 'PREPARE TRANSACTION $$plc$$; ' :look 'COMMIT PREPARED $$plc$$;'
\i :scenario

\set name 'H8 prepared and rolled back'
\set hazard 'BEGIN; UPDATE t SET v = $$prepared$$ WHERE id = 1; ' :look 'PREPARE TRANSACTION $$plc$$; ' :look 'ROLLBACK PREPARED $$plc$$;'
\i :scenario

-- H10, H11: levels; two sessions are in the isolation tests
\set name 'H10 repeatable read, own update'
\set hazard 'BEGIN ISOLATION LEVEL REPEATABLE READ; ' :look 'UPDATE t SET v = $$new$$ WHERE id = 1; ' :look 'COMMIT;'
\i :scenario

\set name 'H11 serializable, own update'
\set hazard 'BEGIN ISOLATION LEVEL SERIALIZABLE; ' :look 'UPDATE t SET v = $$new$$ WHERE id = 1; ' :look 'COMMIT;'
\i :scenario

-- H15
\set name 'H15 row changed several times in one transaction'
\set hazard 'BEGIN; UPDATE t SET v = $$a$$ WHERE id = 1; ' :look 'UPDATE t SET v = $$b$$ WHERE id = 1; ' :look 'DELETE FROM t WHERE id = 1; ' :look 'INSERT INTO t VALUES (1, $$c$$); ' :look 'COMMIT;'
\i :scenario

-- H16
\set name 'H16 locked rows stay visible'
\set hazard 'BEGIN; SELECT FROM t FOR UPDATE; ' :look 'SAVEPOINT s; SELECT FROM t FOR NO KEY UPDATE; ROLLBACK TO s; SELECT FROM t FOR SHARE; COMMIT; BEGIN; SELECT FROM t FOR KEY SHARE; SAVEPOINT s; SELECT FROM t FOR SHARE; ROLLBACK;'
\i :scenario

\set name 'H16 locker that then updates in a subtransaction and aborts it'
\set hazard 'BEGIN; SELECT FROM t FOR SHARE; SAVEPOINT s; UPDATE t SET v = $$no$$; ' :look 'ROLLBACK TO s; ' :look 'COMMIT; SET vacuum_multixact_freeze_min_age = 0; VACUUM t; RESET vacuum_multixact_freeze_min_age;'
\i :scenario

-- H17
\set name 'H17 more subtransactions than the snapshot can hold'
\set hazard 'DO $do$ BEGIN FOR n IN 1..200 LOOP BEGIN UPDATE t SET v = n WHERE id = 1; IF n % 3 = 0 THEN RAISE division_by_zero; END IF; EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; PERFORM plc.look($$t$$, $$ARRAY[1,2,3]$$); END $do$;'
\i :scenario
