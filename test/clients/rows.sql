-- The rows that every client reads, and the roles that it reads them as.
CREATE EXTENSION pg_local_cache;

CREATE TABLE items (id bigint PRIMARY KEY, name text NOT NULL, price numeric(10,2) NOT NULL, note text);
INSERT INTO items SELECT n, 'item ' || n, n / 4.0 FROM generate_series(1, 10000) n;
INSERT INTO items VALUES
    (10001, E'Zo\u00eb said "hi"\n\u65e5\u672c \\ \U0001F600', 0.50, ''),
    (10002, 'without a note', 0.25, NULL);
SELECT local_cache.attach_table('items', writable => true, namespace => 'items');

-- web is who a connection acts as that has not logged in.
CREATE ROLE web;
CREATE ROLE reader LOGIN PASSWORD 'a password';
GRANT SELECT, INSERT, UPDATE, DELETE ON items TO web;
GRANT SELECT ON items TO reader;
