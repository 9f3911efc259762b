-- H56: the text of every type of the server is byte for byte that of row_to_json: first read, hit, and by mget_json,
-- under several settings.  Only differences are printed.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/lib/helpers.sql'
\set ECHO none
\i :helpers
SET TimeZone = 'UTC';

-- Texts to try as input of each type; those that it does not take are passed over.
CREATE TABLE plc.texts (v text);
INSERT INTO plc.texts VALUES (''), (' '), ('0'), ('1'), ('-1'), ('42'), ('-0'), ('1.5'), ('1e300'), ('-1.5e-10'), ('123456789012345678901234567890.123'),
    ('32767'), ('2147483647'), ('9223372036854775807'), ('4294967295'), ('18446744073709551615'), ('0.1'), ('0.30000000000000004'), ('NaN'), ('Infinity'), ('-Infinity'),
    ('true'), ('f'), ('text'), ('it''s "quoted"'), (E'back\\slash'), (E'tab\tnew\nline\rform\fbell\x07del\x7f'), (E'\x01\x02\x1f'), ('äöü ß € 漢字 😀'), (E'\u2028\u00a0'), ('</script>'), ('null'),
    ('2024-02-29'), ('2024-02-29 12:34:56.789012'), ('2024-02-29 12:34:56+05:30'), ('0044-03-15 BC'), ('0001-01-01 00:00:00 BC'), ('infinity'), ('-infinity'), ('294276-12-31 23:59:59.999999'),
    ('5874897-12-31'), ('12:34:56'), ('24:00:00'), ('12:34:56.789+02'), ('00:00:00'), ('1 year 2 mons -3 days 04:05:06.7'), ('-1 day'), ('P1Y2M'), ('100 years ago'),
    ('{}'), ('{1,2,NULL}'), ('{"a","b,c","NULL",NULL}'), ('{{1,2},{3,4}}'), ('[2:3]={1,2}'), ('[1,2]'), ('(,)'), ('[1,)'), ('empty'), ('[2024-01-01,2024-12-31)'), ('["2024-01-01 00:00","2024-12-31 12:00")'),
    ('{[1,2),[5,)}'), ('{[2024-01-01,2024-02-01)}'), ('[0.5,1.5]'), ('{}'), ('{"a": 1, "b": [true, null, "x\u00e9"], "c": {"d": 1.50}}'), ('  {"spaced" :  1}  '), ('"string"'), ('[1, 2.50, 1e5]'), ('$.a[*] ? (@ > 1)'),
    ('<a b="c">d &amp; e</a>'), ('101'), ('B101'), ('10.0.0.1'), ('10.0.0.0/8'), ('fe80::ab/64'), ('08:00:2b:01:02:03'), ('08:00:2b:01:02:03:04:05'), ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'),
    ('(1,2)'), ('(1.5,-2.25)'), ('[(0,0),(1,1)]'), ('((0,0),(1,1),(2,0))'), ('<(1,2),3>'), ('{1,2,3}'), ('(0.1,0.2),(0.3,0.4)'), ('16/B374D848'), ('10:20:10,14,15'), ('(0,1)'),
    ('fat & (rat | !cat)'), ('a:1 fat:2,4A cat:3'), ('\x00ff5c'), ('1 2 3'), ('pg_class'), ('integer'), ('now'), ('abs(integer)'), ('+(integer,integer)'), ('"C"'), ('simple'), ('public'), ('pg_read_all_data'), ('pg_read_all_data=r/pg_read_all_data'),
    ('$1,234.56'), ('a'), (repeat('long ', 1000)), (repeat('x', 63));

-- Makes the table t of one value column of a type, filled with what it can read; the number of rows.
CREATE FUNCTION plc.fill(type text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    value text;
    n int := 1;
BEGIN
    EXECUTE format('CREATE TABLE t (id int PRIMARY KEY, v %s, "w \ ""quoted""" %1$s)', type);
    INSERT INTO t VALUES (1);
    FOR value IN SELECT DISTINCT v COLLATE "C" FROM plc.texts ORDER BY 1 LOOP
        BEGIN
            EXECUTE format('INSERT INTO t VALUES (%s, %L::%s, %L::%3$s)', n + 1, value, type, CASE WHEN n % 2 = 0 THEN value END);
            n := n + 1;
        EXCEPTION WHEN OTHERS THEN
            NULL;               -- not a value of this type
        END;
    END LOOP;
    RETURN n;
END $$;

-- Compares all rows of t as they are read now; says what differs.
CREATE FUNCTION plc.differences(what text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    keys int[] := array_agg(id ORDER BY id) FROM t;
    wanted text[] := array_agg(row_to_json(t)::text ORDER BY id) FROM t;
BEGIN
    FOR round IN 1..2 LOOP
        RETURN QUERY SELECT format('%s, read %s: %s instead of %s', what, round, m, w)
            FROM unnest(local_cache.mget('t', keys), wanted) u (m, w) WHERE m IS DISTINCT FROM w;
        IF local_cache.mget_json('t', keys)::text <> '[' || array_to_string(wanted, ',') || ']' THEN
            RETURN NEXT format('%s, read %s: mget_json differs', what, round);
        END IF;
    END LOOP;
END $$;

CREATE TABLE plc.rendered (type text, cacheable boolean, n int);
CREATE TABLE plc.combinations (n int, setting text, value text);
INSERT INTO plc.combinations VALUES (2, 'TimeZone', 'America/St_Johns'), (2, 'DateStyle', 'German'), (2, 'IntervalStyle', 'iso_8601'), (2, 'extra_float_digits', '-3'), (2, 'bytea_output', 'escape'),
    (2, 'lc_monetary', 'C'), (3, 'TimeZone', 'Asia/Kathmandu'), (3, 'DateStyle', 'SQL, DMY'), (3, 'IntervalStyle', 'sql_standard'), (3, 'extra_float_digits', '0'),
    (4, 'DateStyle', 'Postgres, MDY'), (4, 'search_path', 'pg_catalog'), (4, 'IntervalStyle', 'postgres');

-- One type: under the settings of the session, then under each combination, then under the first again.
CREATE PROCEDURE plc.render(type text) LANGUAGE plpgsql AS $$
DECLARE
    found text;
    cacheable boolean;
    n int := plc.fill(type);
    combination int;
    s record;
BEGIN
    cacheable := local_cache.attach_table('t') -> 'cacheable';
    COMMIT;
    FOREACH combination IN ARRAY CASE WHEN type LIKE '%[]' THEN ARRAY[1, 2] ELSE ARRAY[1, 2, 3, 4, 1] END LOOP
        FOR s IN SELECT setting, value FROM plc.combinations c WHERE c.n = combination LOOP
            PERFORM set_config(s.setting, CASE s.setting WHEN 'search_path' THEN s.value || ', public' ELSE s.value END, true);
        END LOOP;
        FOR found IN SELECT * FROM plc.differences(format('%s, settings %s', type, combination)) LOOP
            RAISE WARNING '%', found;
        END LOOP;
        COMMIT;
    END LOOP;
    INSERT INTO plc.rendered VALUES (type, cacheable, n);
    DROP TABLE t;
    COMMIT;
END $$;

-- All types that a column can have, and arrays of them.
CREATE PROCEDURE plc.render_all() LANGUAGE plpgsql AS $$
DECLARE
    type text;
BEGIN
    FOR type IN SELECT format_type(oid, NULL) FROM pg_type t
        WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm') AND typisdefined
        AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typtype NOT IN ('b', 'r', 'm')) ORDER BY typname COLLATE "C"
    LOOP
        CALL plc.render(type);
    END LOOP;
END $$;

-- Built out of these
CREATE TYPE plc_mood AS ENUM ('', 'it''s "so\so"', 'äöü', '1', 'true', E'new\nline');
CREATE DOMAIN plc_number AS numeric CHECK (value IS NULL OR value <> 7);
CREATE DOMAIN plc_numbers AS plc_number[];
CREATE DOMAIN plc_moment AS timestamptz;
CREATE TYPE plc_range AS RANGE (subtype = float8);
CREATE TYPE plc_inner AS (a int, "b ""q""" text, t timestamptz, f float8[]);
CREATE DOMAIN plc_domain AS plc_inner;
CREATE TYPE plc_outer AS (i plc_inner, m plc_mood[], d plc_moment, r tstzrange, n plc_numbers, j json);
CREATE TYPE plc_text_range AS RANGE (subtype = text, collation = "C");
INSERT INTO plc.texts VALUES ('it''s "so\so"'), ('(1,x,"2024-02-29 12:00+00","{1.5,NaN}")'), ('(,,,)'), ('(,"a ""q"" \\ b",infinity,{})'),
    ('("(1,x,,)","{1,NULL}","2024-02-29 12:00+00","[""2024-01-01 00:00+00"",)","{1.50,NULL}","{""a"":  1}")'), ('(,,,,,)'), ('{"(1,x,,)",NULL,"(,,,)"}'), ('[a,b)'), ('["a b","c""d"]'), ('[0.1,0.30000000000000004)');
CREATE PROCEDURE plc.render_built() LANGUAGE plpgsql AS $$
DECLARE
    type text;
BEGIN
    FOREACH type IN ARRAY ARRAY['plc_mood', 'plc_mood[]', 'plc_number', 'plc_number[]', 'plc_numbers', 'plc_moment', 'plc_moment[]', 'plc_range', 'plc_range[]', 'plc_multirange',
        'plc_inner', 'plc_inner[]', 'plc_domain', 'plc_domain[]', 'plc_outer', 'plc_text_range', 'varchar(100)', 'char(10)', 'numeric(10,3)', 'bit(3)', 'varbit(5)', 'timestamptz(0)', 'interval day to minute', 'time(3)', 'float4[]', 'json[]', 'jsonb[]', 'xml[]'] LOOP
        CALL plc.render(type);
    END LOOP;
END $$;
\set VERBOSITY terse
CALL plc.render_all();
CALL plc.render_built();
\set VERBOSITY default

SELECT count(*) > 100 AS many_types, sum(n) > 1500 AS many_values FROM plc.rendered;
SELECT string_agg(type, ', ' ORDER BY type COLLATE "C") AS types_with_no_value FROM plc.rendered WHERE n = 1 AND type NOT LIKE '%[]' AND type NOT LIKE 'pg\_%' AND type <> 'gtsvector';
-- What is not cached: names of other objects, and types that only the server itself uses.
SELECT string_agg(type, ', ' ORDER BY type COLLATE "C") AS not_cached FROM plc.rendered
WHERE NOT cacheable AND type NOT LIKE '%[]' AND type NOT LIKE 'pg\_%' AND type NOT IN ('gtsvector', 'txid_snapshot');

-- Rows of many columns: wide, with drops and defaults, and wider than the renderer's quick ways
SELECT 'CREATE TABLE t (id int PRIMARY KEY, ' || string_agg(format('c%s %s DEFAULT %L', n, CASE n % 5 WHEN 0 THEN 'int' WHEN 1 THEN 'text' WHEN 2 THEN 'numeric' WHEN 3 THEN 'timestamptz' ELSE 'bool' END,
    CASE n % 5 WHEN 0 THEN '1' WHEN 1 THEN 't"' WHEN 2 THEN '1.50' WHEN 3 THEN '2024-01-01 00:00+00' ELSE 't' END), ', ') || ')' FROM generate_series(1, 1000) n
\gexec
INSERT INTO t (id) VALUES (1), (2);
UPDATE t SET c1 = NULL, c999 = NULL, c1000 = NULL WHERE id = 2;
SELECT count(*) AS attached FROM local_cache.attach_table('t');
SELECT plc.differences('wide');
ALTER TABLE t DROP c1, DROP c500, DROP c1000, ADD late text DEFAULT 'late';
SELECT plc.differences('wide, altered');
DROP TABLE t;

DROP PROCEDURE plc.render, plc.render_all, plc.render_built;
DROP FUNCTION plc.fill, plc.differences;
DROP TABLE plc.texts, plc.rendered, plc.combinations;
DROP TYPE plc_text_range, plc_outer, plc_domain, plc_inner, plc_range, plc_moment, plc_numbers, plc_number, plc_mood;
