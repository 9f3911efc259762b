-- Who may read: exactly who may SELECT *.  Entries are warmed by the owner first, so that they would be there to leak.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset tuples_only on
\pset null NULL
CREATE ROLE plc_owner;
CREATE ROLE plc_reader;
CREATE ROLE plc_group;
CREATE ROLE plc_bypass BYPASSRLS;
GRANT USAGE ON SCHEMA local_cache, plc TO plc_owner, plc_reader, plc_bypass;
CREATE SCHEMA shop AUTHORIZATION plc_owner;
SET ROLE plc_owner;
CREATE TABLE shop.item (id int PRIMARY KEY, secret text, who name DEFAULT current_user);
INSERT INTO shop.item VALUES (1, 'one', 'plc_reader'), (2, 'two', 'plc_owner'), (3, 'three', 'plc_bypass');
SELECT local_cache.attach_table('shop.item') -> 'cacheable';
SELECT local_cache.mget('shop.item', ARRAY[1, 2, 9]);
SELECT local_cache.mget('shop.item', ARRAY[1, 2, 9]);
RESET ROLE;
SELECT 'shop.item'::regclass::oid AS item \gset
-- The three functions as a role, each beside what SELECT * says.
CREATE FUNCTION plc.as_role(role name, keys int[] DEFAULT '{1,2,3,9}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    verdict text;
    wanted text;
BEGIN
    EXECUTE format('SET ROLE %I', role);
    BEGIN
        SELECT coalesce(string_agg(row_to_json(t)::text, ' ' ORDER BY id), 'no rows') INTO wanted FROM shop.item t WHERE id = ANY (keys);
    EXCEPTION WHEN OTHERS THEN
        wanted := SQLSTATE || ' ' || SQLERRM;
    END;
    RETURN NEXT 'SELECT *: ' || wanted;
    FOR n IN 1..2 LOOP
        BEGIN
            verdict := coalesce(nullif(array_to_string(local_cache.mget((SELECT 'shop.item'::regclass), keys), ' '), ''), 'no rows');
        EXCEPTION WHEN OTHERS THEN
            verdict := SQLSTATE || ' ' || SQLERRM;
        END;
        IF verdict <> wanted THEN RETURN NEXT 'mget: ' || verdict; END IF;
        BEGIN
            SELECT coalesce(string_agg(j::text, ' '), 'no rows') INTO verdict FROM json_array_elements(local_cache.mget_json('shop.item', keys)) j WHERE j::text <> 'null';
        EXCEPTION WHEN OTHERS THEN
            verdict := SQLSTATE || ' ' || SQLERRM;
        END;
        IF verdict <> wanted THEN RETURN NEXT 'mget_json: ' || verdict; END IF;
        BEGIN
            SELECT coalesce(string_agg(row_to_json(r)::text, ' '), 'no rows') INTO verdict FROM local_cache.mget_rows(NULL::shop.item, keys) r WHERE r.id IS NOT NULL;
        EXCEPTION WHEN OTHERS THEN
            verdict := SQLSTATE || ' ' || SQLERRM;
        END;
        IF verdict <> wanted THEN RETURN NEXT 'mget_rows: ' || verdict; END IF;
    END LOOP;
    RESET ROLE;
END $$;

-- H63: no privilege, then on the schema alone, then on some columns, on all columns, on the table; and back
SELECT plc.as_role('plc_reader');
GRANT USAGE ON SCHEMA shop TO plc_reader;
SELECT plc.as_role('plc_reader');
GRANT SELECT (id, secret) ON shop.item TO plc_reader;
SELECT plc.as_role('plc_reader');
GRANT SELECT (who) ON shop.item TO plc_reader;
SELECT plc.as_role('plc_reader');
ALTER TABLE shop.item ADD COLUMN extra int;
SELECT plc.as_role('plc_reader');
ALTER TABLE shop.item DROP COLUMN extra;
SELECT plc.as_role('plc_reader');
REVOKE SELECT (secret) ON shop.item FROM plc_reader;
SELECT plc.as_role('plc_reader');
GRANT SELECT ON shop.item TO plc_reader;
SELECT plc.as_role('plc_reader');
REVOKE USAGE ON SCHEMA shop FROM plc_reader;
SET ROLE plc_reader;
SELECT plc.failure($$SELECT local_cache.mget($$ || :item || $$, ARRAY[1])$$), plc.failure($$SELECT local_cache.mget_json($$ || :item || $$, ARRAY[1])$$);
RESET ROLE;
GRANT USAGE ON SCHEMA shop TO plc_reader;
SELECT plc.as_role('plc_reader');
REVOKE ALL ON shop.item FROM plc_reader;
-- H65: a key that is there and one that is not are denied alike, and so is unreadable text
SET ROLE plc_reader;
SELECT plc.failure($$SELECT local_cache.mget('shop.item', ARRAY[1])$$);
SELECT plc.failure($$SELECT local_cache.mget('shop.item', ARRAY[99])$$);
SELECT plc.failure($$SELECT local_cache.mget('shop.item', ARRAY['x'])$$);
SELECT plc.failure($$SELECT local_cache.mget('shop.item', '{}'::int[])$$);
RESET ROLE;

-- H64: membership, PUBLIC, SET ROLE, ownership
GRANT plc_group TO plc_reader;
GRANT SELECT ON shop.item TO plc_group;
SELECT plc.as_role('plc_reader');
REVOKE plc_group FROM plc_reader;
SELECT plc.as_role('plc_reader');
GRANT SELECT ON shop.item TO PUBLIC;
SELECT plc.as_role('plc_reader');
REVOKE SELECT ON shop.item FROM PUBLIC;
SELECT plc.as_role('plc_reader');
ALTER TABLE shop.item OWNER TO plc_reader;
SELECT plc.as_role('plc_reader');
ALTER TABLE shop.item OWNER TO plc_owner;
SELECT plc.as_role('plc_reader');
-- the owner may take his own privilege away
REVOKE SELECT ON shop.item FROM plc_owner;
SELECT plc.as_role('plc_owner');
GRANT SELECT ON shop.item TO plc_owner;
-- in one transaction, by turns
GRANT SELECT ON shop.item TO plc_group;
BEGIN;
SET LOCAL ROLE plc_group;
\set VERBOSITY terse
SELECT local_cache.mget('shop.item', ARRAY[1]);
ROLLBACK;
GRANT USAGE ON SCHEMA local_cache, shop TO plc_group;
BEGIN;
SET LOCAL ROLE plc_group;
SELECT local_cache.mget('shop.item', ARRAY[1]);
SET LOCAL ROLE plc_reader;
SELECT local_cache.mget('shop.item', ARRAY[1]);
ROLLBACK;
-- revoked and given back within a transaction
BEGIN;
REVOKE SELECT ON shop.item FROM plc_group;
SET LOCAL ROLE plc_group;
SAVEPOINT s;
SELECT local_cache.mget('shop.item', ARRAY[1]);
ROLLBACK TO s;
RESET ROLE;
ROLLBACK;
SET ROLE plc_group;
SELECT local_cache.mget('shop.item', ARRAY[1]);
RESET ROLE;
-- functions that run as their owner, and views
CREATE FUNCTION shop.as_owner(int) RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER AS $$ SELECT local_cache.mget('shop.item', ARRAY[$1]) $$;
ALTER FUNCTION shop.as_owner OWNER TO plc_owner;
CREATE FUNCTION shop.as_caller(int) RETURNS text[] LANGUAGE sql STABLE AS $$ SELECT local_cache.mget('shop.item', ARRAY[$1]) $$;
CREATE VIEW shop.through AS SELECT local_cache.mget('shop.item', ARRAY[1]) AS m;
ALTER VIEW shop.through OWNER TO plc_owner;
GRANT SELECT ON shop.through TO plc_reader;
SET ROLE plc_reader;
SELECT shop.as_owner(1);
SELECT shop.as_caller(1);
SELECT m FROM shop.through;
SELECT shop.as_owner(1), local_cache.mget('shop.item', ARRAY[1]);
RESET ROLE;
DROP FUNCTION shop.as_owner, shop.as_caller;
DROP VIEW shop.through;

-- H62: row security
GRANT SELECT ON shop.item TO plc_reader, plc_bypass;
GRANT USAGE ON SCHEMA shop TO plc_bypass;
ALTER TABLE shop.item ENABLE ROW LEVEL SECURITY;
SELECT plc.as_role('plc_reader');
SELECT plc.as_role('plc_owner');
SELECT plc.as_role('plc_bypass');
CREATE POLICY own ON shop.item FOR SELECT USING (who = current_user);
SELECT plc.as_role('plc_reader');
SELECT plc.as_role('plc_bypass');
ALTER TABLE shop.item FORCE ROW LEVEL SECURITY;
SELECT plc.as_role('plc_owner');
ALTER POLICY own ON shop.item USING (who = current_user OR id = 3);
SELECT plc.as_role('plc_reader');
ALTER POLICY own ON shop.item USING (secret = current_setting('shop.secret', true));
SET shop.secret = 'two';
SELECT plc.as_role('plc_reader');
SET shop.secret = 'three';
SELECT plc.as_role('plc_reader');
CREATE TABLE shop.allowed (id int);
INSERT INTO shop.allowed VALUES (1);
GRANT SELECT ON shop.allowed TO plc_reader;
ALTER POLICY own ON shop.item USING (id IN (SELECT a.id FROM shop.allowed a));
SELECT plc.as_role('plc_reader');
UPDATE shop.allowed SET id = 2;
SELECT plc.as_role('plc_reader');
SET row_security = off;
SELECT plc.as_role('plc_reader');
SELECT plc.as_role('plc_bypass');
RESET row_security;
ALTER ROLE plc_bypass NOBYPASSRLS;
SELECT plc.as_role('plc_bypass');
ALTER ROLE plc_bypass BYPASSRLS;
-- a policy that asks the cache about the table itself: an error, not a crash
ALTER POLICY own ON shop.item USING (local_cache.mget('shop.item', ARRAY[id]) IS NOT NULL);
SET ROLE plc_reader;
SELECT plc.failure($$SELECT local_cache.mget('shop.item', ARRAY[1])$$) LIKE '54001%';
RESET ROLE;
-- a policy that asks the cache about another table
CREATE TABLE shop.levels (id int PRIMARY KEY, level int);
INSERT INTO shop.levels VALUES (1, 5), (2, 1);
SELECT local_cache.attach_table('shop.levels') -> 'cacheable';
GRANT SELECT ON shop.levels TO plc_reader;
ALTER POLICY own ON shop.item USING ((local_cache.mget_json('shop.levels', ARRAY[id]) -> 0 ->> 'level')::int > 3);
SELECT plc.as_role('plc_reader');
UPDATE shop.levels SET level = 6 - level;
SELECT plc.as_role('plc_reader');
-- rows whose index has a collation of its own: the policy's query must find what the index finds
CREATE COLLATION shop.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE shop.named (x int PRIMARY KEY, name text NOT NULL COLLATE "C");
CREATE UNIQUE INDEX named_name ON shop.named (name COLLATE shop.loose);
INSERT INTO shop.named VALUES (1, 'Name');
SELECT local_cache.attach_table('shop.named', key_index => 'shop.named_name') -> 'cacheable';
ALTER TABLE shop.named OWNER TO plc_owner;
ALTER TABLE shop.named ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON shop.named USING (true);
GRANT SELECT ON shop.named TO plc_reader;
SET ROLE plc_owner;
SELECT local_cache.mget('shop.named', ARRAY['NAME', 'Name']);
SET ROLE plc_reader;
SELECT local_cache.mget('shop.named', ARRAY['NAME', 'Name']);
RESET ROLE;
ALTER TABLE shop.item DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
SELECT plc.as_role('plc_reader');

-- A cast function between the keys' type and the column's is called as in a query: by those who may, with a typmod if it
-- takes one.
CREATE TYPE shop.code AS ENUM ('one', 'two');
CREATE FUNCTION shop.number(shop.code, int) RETURNS int LANGUAGE sql IMMUTABLE AS $$SELECT CASE WHEN $1::text = 'one' AND $2 = -1 THEN 1 ELSE 2 END$$;
CREATE CAST (shop.code AS int) WITH FUNCTION shop.number(shop.code, int) AS IMPLICIT;
SET ROLE plc_reader;
SELECT local_cache.mget('shop.item', ARRAY['two', 'one']::shop.code[]);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION shop.number FROM PUBLIC;
SET ROLE plc_reader;
SELECT plc.failure($$SELECT * FROM shop.item WHERE id = 'one'::shop.code$$);
SELECT plc.failure($$SELECT local_cache.mget('shop.item', ARRAY['one']::shop.code[])$$);
RESET ROLE;

-- attach, detach and invalidate are the owner's; invalidate of everything is the database owner's
SET ROLE plc_reader;
SELECT plc.failure($$SELECT local_cache.attach_table('shop.item')$$);
SELECT plc.failure($$SELECT local_cache.detach_table('shop.item')$$);
SELECT plc.failure($$SELECT local_cache.invalidate('shop.item')$$);
SELECT plc.failure($$SELECT local_cache.invalidate()$$);
SELECT plc.failure($$INSERT INTO local_cache.mapping VALUES ('shop.item', NULL, true, NULL)$$);
SELECT plc.failure($$DELETE FROM local_cache.mapping$$);
SELECT plc.failure($$SET pg_local_cache.max_row_size = 1$$);
-- watching is for everybody, and so is what pg_dump has to read
SELECT count(*) > 0 FROM local_cache.tables;
SELECT count(*) > 0 FROM local_cache.mapping;
SELECT (SELECT hits FROM local_cache.metrics()) > 0, (local_cache.stats() ->> 'hits')::bigint > 0, local_cache.health() ->> 'status';
SET ROLE plc_owner;
SELECT local_cache.invalidate('shop.item') > 0;
SELECT local_cache.attach_table('shop.item', true, 'shop') ->> 'namespace';
SELECT local_cache.detach_table('shop.item');
RESET ROLE;

DROP FUNCTION plc.as_role;
DROP SCHEMA shop CASCADE;
DROP OWNED BY plc_owner, plc_reader, plc_group, plc_bypass;
DROP ROLE plc_owner, plc_reader, plc_group, plc_bypass;
