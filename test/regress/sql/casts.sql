-- Functions of others, called in the middle of a read: casts to json that make text, casts that make keys.  They may
-- raise errors, and read the same table again.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set ECHO all
\pset format unaligned
\pset tuples_only on
\pset null NULL

-- text of a row from the text of another row of the table, one that cannot be made, and one that can
CREATE TYPE mood AS ENUM ('asks', 'fails', 'plain');
CREATE TABLE person (id int PRIMARY KEY, mood mood);
INSERT INTO person VALUES (1, 'asks'), (2, 'plain'), (3, 'fails');
CREATE FUNCTION mood_json(mood) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT CASE $1 WHEN 'asks' THEN local_cache.mget_json('person', ARRAY[2])
                   WHEN 'fails' THEN to_json(1 / (length($1::text) - 5))
                   ELSE to_json(1) END $$;
CREATE CAST (mood AS json) WITH FUNCTION mood_json(mood);
SELECT local_cache.attach_table('person') ->> 'reason';

-- a read in the middle of a read
SELECT * FROM plc.compare('person', 'ARRAY[1, 2, 1]');
SELECT * FROM plc.compare('person', 'ARRAY[2, 1]');

-- an error inside of the function, caught; then the function is called again, in the same transaction and by the next
BEGIN;
SELECT local_cache.mget('person', ARRAY[2]);
SELECT plc.failure($$SELECT local_cache.mget('person', ARRAY[3])$$);
SELECT local_cache.mget('person', ARRAY[2]);
SELECT plc.failure($$SELECT local_cache.mget('person', ARRAY[1, 3])$$);
SELECT local_cache.mget('person', ARRAY[1, 2]);
COMMIT;
SELECT local_cache.mget('person', ARRAY[1, 2]);
DROP TABLE person;

-- a key from a function that reads and writes the table, attaches it anew and renames a column
CREATE TABLE item (id int PRIMARY KEY, v text);
INSERT INTO item VALUES (1, 'one'), (2, 'two');
SELECT local_cache.attach_table('item') -> 'cacheable';
CREATE FUNCTION mood_key(mood) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    PERFORM local_cache.mget('item', ARRAY[1]);
    PERFORM local_cache.detach_table('item'), local_cache.attach_table('item');
    PERFORM local_cache.mget('item', ARRAY[1, 2]);
    IF $1::text = 'fails' THEN
        ALTER TABLE item RENAME v TO w;
        UPDATE item SET w = w || '!';
    END IF;
    RETURN CASE $1::text WHEN 'asks' THEN 1 ELSE 2 END;
END $$;
CREATE CAST (mood AS int) WITH FUNCTION mood_key(mood) AS IMPLICIT;
SELECT local_cache.mget('item', ARRAY['asks', 'plain']::mood[]);
SELECT cardinality(local_cache.mget('item', ARRAY['asks', 'fails', 'plain']::mood[]));
SELECT * FROM plc.compare('item', 'ARRAY[1, 2]');
SELECT * FROM plc.compare('item', 'ARRAY[1, 2]');
DROP TABLE item;
DROP TYPE mood CASCADE;

-- a function of two arguments, the second of which is a type modifier
CREATE TYPE letter AS ENUM ('a', 'b');
CREATE FUNCTION int_letter(int, int) RETURNS letter LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE $1 WHEN 1 THEN 'a'::letter WHEN 2 THEN 'b' END WHERE $2 = -1 $$;
CREATE CAST (int AS letter) WITH FUNCTION int_letter(int, int) AS IMPLICIT;
CREATE TABLE item (id letter PRIMARY KEY, v text);
INSERT INTO item VALUES ('a', 'one');
SELECT local_cache.attach_table('item') -> 'cacheable';
SELECT local_cache.mget('item', ARRAY[1, 2]);
SELECT local_cache.mget('item', ARRAY[1, 2]);
DROP TABLE item;
DROP TYPE letter CASCADE;

-- keys that are arrays come as text, since there are no arrays of arrays
CREATE TABLE item (id int[] PRIMARY KEY, v text);
INSERT INTO item VALUES ('{1,2}', 'one'), ('[0:1]={1,2}', 'two');
SELECT local_cache.attach_table('item') -> 'cacheable';
SELECT local_cache.mget('item', ARRAY['{1,2}', '[0:1]={1,2}', '{}']);
SELECT plc.failure($$SELECT local_cache.mget('item', ARRAY[1, 2])$$);
DROP TABLE item;

-- a table that this session has read and then dropped
CREATE TABLE item (id int PRIMARY KEY);
INSERT INTO item VALUES (1);
SELECT local_cache.attach_table('item') -> 'cacheable';
SELECT 'item'::regclass::oid AS item \gset
SELECT local_cache.mget(:item, ARRAY[1]);
DROP TABLE item;
SELECT replace(plc.failure(format('SELECT local_cache.mget(%s, ARRAY[1])', :item)), :'item', 'n');
