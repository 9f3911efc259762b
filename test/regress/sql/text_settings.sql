-- H48: settings that change the text of a row.  Each is changed with entries warm under the old value, and back.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
\set cleanup 'DROP TABLE t; RESET ALL; SET client_min_messages = warning;'

\set setup 'SET TimeZone = $$UTC$$; CREATE TABLE t (id int PRIMARY KEY, a timestamptz, b timestamptz[], c tstzrange, d timestamp, e tsrange, f tstzmultirange); INSERT INTO t VALUES (1, $$2024-07-01 12:00+00$$, $${2024-01-01 00:00+00,infinity}$$, $$[2024-01-01 00:00+00,2024-07-01 00:00+00)$$, $$2024-07-01 12:00$$, $$[2024-01-01,2024-07-01)$$, $${[2024-01-01 00:00+00,2024-07-01 00:00+00)}$$); INSERT INTO t VALUES (2, $$0044-03-15 12:00+00 BC$$);'
\set name 'TimeZone'
\set hazard 'SET TimeZone = $$Europe/Berlin$$;'
\i :scenario
\set name 'TimeZone, there and back: the old entries serve again'
\set hazard 'SET TimeZone = $$Europe/Berlin$$;' :look 'SET TimeZone = $$UTC$$;'
\i :scenario
\set name 'TimeZone by offset, and by SET LOCAL that ends'
\set hazard 'BEGIN; SET LOCAL TimeZone = $$+05:30$$;' :look 'COMMIT; SET TIME ZONE INTERVAL $$-08:00$$ HOUR TO MINUTE;'
\i :scenario
\set name 'zones of one name in another case'
\set hazard 'SET TimeZone = $$utc$$;' :look 'SET TimeZone = $$America/New_York$$;' :look 'SET TimeZone = $$america/new_york$$;'
\i :scenario

\set name 'DateStyle: reaches the text inside ranges alone'
\set hazard 'SET DateStyle = $$German$$;' :look 'SET DateStyle = $$ISO$$;' :look 'SET DateStyle = $$SQL, DMY$$;' :look 'SET DateStyle = $$SQL, MDY$$;'
\i :scenario
\set setup 'CREATE TABLE t (id int PRIMARY KEY, a date, b daterange, c datemultirange, d date[], e time, f timetz); INSERT INTO t VALUES (1, $$2024-02-29$$, $$[2024-01-02,2024-03-04)$$, $${[2024-01-02,2024-03-04)}$$, $${2024-02-29,-infinity}$$, $$12:34:56.789$$, $$12:34:56+02$$); INSERT INTO t VALUES (2, $$infinity$$, $$empty$$);'
\set name 'DateStyle and dates'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, a interval, b interval[]); INSERT INTO t VALUES (1, $$1 year 2 mons -3 days 04:05:06.7$$, $${1 day,-1 hour}$$); INSERT INTO t VALUES (2, NULL);'
\set name 'IntervalStyle'
\set hazard 'SET IntervalStyle = $$iso_8601$$;' :look 'SET IntervalStyle = $$sql_standard$$;' :look 'SET IntervalStyle = $$postgres_verbose$$;'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, a float8, b float4, c float8[], d point, e box, f circle); INSERT INTO t VALUES (1, 0.1::float8 + 0.2, 1::float4 / 3, ARRAY[1::float8 / 3, $$NaN$$, $$-Infinity$$], $$(0.1,0.30000000000000004)$$, $$(1,2.00000000000000004,3,4)$$, $$<(0.1,0.2),0.30000000000000004>$$); INSERT INTO t VALUES (2, $$-0$$, $$1e30$$);'
\set name 'extra_float_digits'
\set hazard 'SET extra_float_digits = 0;' :look 'SET extra_float_digits = -15;' :look 'SET extra_float_digits = 3;' :look 'SET extra_float_digits = -2;'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, a bytea, b bytea[]); INSERT INTO t VALUES (1, decode($$00ff5c41$$, $$hex$$), ARRAY[decode($$00ff5c41$$, $$hex$$)]); INSERT INTO t VALUES (2, $$$$);'
\set name 'bytea_output'
\set hazard 'SET bytea_output = $$escape$$;'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, a money, b money[]); INSERT INTO t VALUES (1, 1234567.89::money, ARRAY[(-1)::money]); INSERT INTO t VALUES (2, NULL);'
\set name 'lc_monetary'
\set hazard 'SET lc_monetary = $$C.UTF-8$$;'
\i :scenario

\set setup 'CREATE TABLE t (id int PRIMARY KEY, a json, b jsonb, c xml, d text, e numeric); INSERT INTO t VALUES (1, $${"t": "2024-01-01"}$$, $${"b": 1.50}$$, $$<a/>$$, $$x$$, 1.50); INSERT INTO t VALUES (2, NULL);'
\set name 'settings that change nothing here: every read is a hit'
\set hazard 'SET xmloption = document; SET xmlbinary = hex; SET TimeZone = $$Asia/Tokyo$$; SET DateStyle = $$German$$; SET IntervalStyle = $$iso_8601$$; SET bytea_output = escape; SET extra_float_digits = 0; SET search_path = pg_catalog, public; SET quote_all_identifiers = on; SET backslash_quote = off;'
\i :scenario

-- The domain, the composite type and the element carry the setting up
\set setup 'CREATE DOMAIN dz AS timestamptz; CREATE TYPE cz AS (z dz, r tstzrange); SET TimeZone = $$UTC$$; CREATE TABLE t (id int PRIMARY KEY, a dz, b cz, c cz[], d dz[]); INSERT INTO t VALUES (1, $$2024-07-01 12:00+00$$, ROW($$2024-07-01 12:00+00$$, $$[2024-07-01 12:00+00,)$$), ARRAY[ROW($$2024-07-01 12:00+00$$, NULL)::cz], $${2024-07-01 12:00+00}$$); INSERT INTO t VALUES (2);'
\set cleanup 'DROP TABLE t; DROP TYPE cz; DROP DOMAIN dz; RESET ALL; SET client_min_messages = warning;'
\set name 'TimeZone through domains, composite types and arrays'
\set hazard 'SET TimeZone = $$Europe/Berlin$$;' :look 'SET DateStyle = German;'
\i :scenario

-- Types whose text depends on more than value and settings: never cached, always right
\set cleanup 'RESET search_path; DROP TABLE t; DROP TABLE IF EXISTS r, s; DROP SCHEMA IF EXISTS x CASCADE; DROP ROLE IF EXISTS plc_a, plc_b; RESET ALL; SET client_min_messages = warning;'
\set setup 'CREATE TABLE r (); CREATE TABLE t (id int PRIMARY KEY, a regclass); INSERT INTO t VALUES (1, $$r$$), (2, 0);'
\set name 'H48 regclass and a rename'
\set hazard 'ALTER TABLE r RENAME TO s;'
\i :scenario
\set name 'H48 regclass and search_path'
\set hazard 'CREATE SCHEMA x; SET search_path = x, public; CREATE TABLE x.r ();'
\i :scenario
\set setup 'CREATE ROLE plc_a; CREATE TABLE t (id int PRIMARY KEY, a regrole, b regrole[]); INSERT INTO t VALUES (1, $$plc_a$$, $${plc_a}$$), (2, 0, NULL);'
\set name 'H49 regrole and a rename'
\set hazard 'ALTER ROLE plc_a RENAME TO plc_b;'
\i :scenario
\set setup 'CREATE ROLE plc_a; CREATE TABLE t (id int PRIMARY KEY, a aclitem); INSERT INTO t SELECT 1, makeaclitem($$plc_a$$::regrole, $$plc_a$$::regrole, $$SELECT$$, false);'
\set name 'H49 aclitem and a rename'
\i :scenario
\set setup 'CREATE TABLE t (id int PRIMARY KEY, a regtype, b regproc, c regoper, d regnamespace, e regconfig, f regprocedure, g regoperator, h regdictionary, j regcollation); INSERT INTO t VALUES (1, $$int$$, $$now$$, NULL, $$public$$, $$simple$$, $$abs(int)$$, $$+(int,int)$$, $$simple$$, $$"C"$$);'
\set name 'H48 the other reg* types'
\set hazard 'SET search_path = information_schema;'
\set rel public.t
\set cleanup 'RESET ALL; SET client_min_messages = warning; DROP TABLE t;'
\i :scenario
