-- pg_local_cache: install script.  Copied to sql/pg_local_cache--<version>.sql by make.
\echo Use "CREATE EXTENSION pg_local_cache" to load this file. \quit

-- The attached tables.  Written by attach_table() and detach_table() only: they also tell every
-- session of the change.  A row of a dropped table is dead; it is swept by the next attach, and not dumped.
CREATE TABLE local_cache.mapping (
    relation    pg_catalog.regclass PRIMARY KEY,
    key_columns pg_catalog.name[],
    key_index   pg_catalog.name,
    writable    boolean NOT NULL,
    namespace   pg_catalog.text UNIQUE
);
COMMENT ON TABLE local_cache.mapping IS 'attached tables; key_columns and key_index are null where the primary key is the key';
SELECT pg_catalog.pg_extension_config_dump('local_cache.mapping',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = relation)');
-- It tells no more than the view below, and pg_dump by the owner of the database has to read it.
GRANT SELECT ON local_cache.mapping TO PUBLIC;

-- Attaching

CREATE FUNCTION local_cache.attach_table(relation regclass, writable boolean DEFAULT false,
    namespace text DEFAULT NULL, key_index regclass DEFAULT NULL)
RETURNS jsonb LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'plc_attach_table';
COMMENT ON FUNCTION local_cache.attach_table(regclass, boolean, text, regclass)
    IS 'lets the rows of a table be read by key through the cache; owner of the table only; changes nothing on the table';

CREATE FUNCTION local_cache.detach_table(relation regclass)
RETURNS boolean LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'plc_detach_table';
COMMENT ON FUNCTION local_cache.detach_table(regclass)
    IS 'undoes attach_table; true if the table was attached; owner of the table only';

CREATE FUNCTION local_cache.invalidate(relation regclass DEFAULT NULL)
RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'plc_invalidate';
COMMENT ON FUNCTION local_cache.invalidate(regclass)
    IS 'forgets the entries of a table, or of the whole database, and tells how many; correctness never needs it';

-- Reading

CREATE FUNCTION local_cache.mget(relation regclass, key_values anyarray)
RETURNS text[] LANGUAGE c STRICT STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'plc_mget';
COMMENT ON FUNCTION local_cache.mget(regclass, anyarray)
    IS 'rows by key, each the text that row_to_json gives, in the order of the keys; null for a missing row';

CREATE FUNCTION local_cache.mget_json(relation regclass, key_values anyarray)
RETURNS json LANGUAGE c STRICT STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'plc_mget_json';
COMMENT ON FUNCTION local_cache.mget_json(regclass, anyarray)
    IS 'rows by key as one JSON array, in the order of the keys; null for a missing row';

-- anyelement and anyarray would have to agree; anycompatiblearray is a family of its own.
CREATE FUNCTION local_cache.mget_rows(row_type anyelement, key_values anycompatiblearray)
RETURNS SETOF anyelement LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'plc_mget_rows';
COMMENT ON FUNCTION local_cache.mget_rows(anyelement, anycompatiblearray)
    IS 'rows by key as typed rows, called as mget_rows(NULL::schema.table, keys), in the order of the keys; a null row for a missing one';

-- Watching

CREATE FUNCTION local_cache.table_stats(
    OUT relation regclass, OUT hits bigint, OUT misses bigint, OUT proof_failures bigint, OUT lost_pages bigint,
    OUT publishes bigint, OUT unpublished_own bigint, OUT unpublished_size bigint,
    OUT verified bigint, OUT verify_failures bigint,
    OUT bypass_disabled bigint, OUT bypass_serializable bigint, OUT bypass_parallel bigint,
    OUT bypass_uncacheable bigint, OUT bypass_query bigint, OUT bypass_key bigint,
    OUT entries bigint, OUT bytes bigint)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'plc_table_stats';
COMMENT ON FUNCTION local_cache.table_stats()
    IS 'counters of the tables of this database since the server started';

CREATE VIEW local_cache.tables AS
SELECT m.relation, m.key_columns, m.key_index, m.writable, m.namespace,
       coalesce(s.hits, 0) AS hits, coalesce(s.misses, 0) AS misses,
       coalesce(s.proof_failures, 0) AS proof_failures, coalesce(s.lost_pages, 0) AS lost_pages,
       coalesce(s.publishes, 0) AS publishes,
       coalesce(s.unpublished_own, 0) AS unpublished_own, coalesce(s.unpublished_size, 0) AS unpublished_size,
       coalesce(s.verified, 0) AS verified, coalesce(s.verify_failures, 0) AS verify_failures,
       coalesce(s.bypass_disabled, 0) AS bypass_disabled, coalesce(s.bypass_serializable, 0) AS bypass_serializable,
       coalesce(s.bypass_parallel, 0) AS bypass_parallel, coalesce(s.bypass_uncacheable, 0) AS bypass_uncacheable,
       coalesce(s.bypass_query, 0) AS bypass_query, coalesce(s.bypass_key, 0) AS bypass_key,
       coalesce(s.entries, 0) AS entries, coalesce(s.bytes, 0) AS bytes
FROM local_cache.mapping m
JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) m.relation
LEFT JOIN local_cache.table_stats() s ON s.relation::pg_catalog.oid OPERATOR(pg_catalog.=) m.relation::pg_catalog.oid;
COMMENT ON VIEW local_cache.tables IS 'the attached tables with their counters since the server started';
GRANT SELECT ON local_cache.tables TO PUBLIC;

CREATE FUNCTION local_cache.stats()
RETURNS jsonb LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'plc_stats_json';
COMMENT ON FUNCTION local_cache.stats() IS 'all counters of the server since it started, as one JSON object';

CREATE FUNCTION local_cache.metrics(
    OUT hits bigint, OUT misses bigint, OUT proof_failures bigint, OUT lost_pages bigint,
    OUT publishes bigint, OUT unpublished_own bigint, OUT unpublished_size bigint,
    OUT verified bigint, OUT verify_failures bigint,
    OUT bypass_disabled bigint, OUT bypass_serializable bigint, OUT bypass_parallel bigint,
    OUT bypass_uncacheable bigint, OUT bypass_query bigint, OUT bypass_key bigint,
    OUT entries bigint, OUT bytes bigint, OUT inserted bigint, OUT evicted bigint, OUT displaced bigint,
    OUT promoted bigint, OUT returned bigint, OUT memory bigint,
    OUT clients bigint, OUT client_connections bigint, OUT client_limit_rejections bigint,
    OUT client_commands bigint, OUT client_request_errors bigint, OUT client_protocol_errors bigint,
    OUT client_auth_failures bigint, OUT client_timeouts bigint, OUT client_keys bigint,
    OUT client_mget_keys bigint, OUT cache_hit bigint, OUT cache_miss bigint, OUT cache_bypass bigint,
    OUT cache_fill bigint, OUT client_foreign_keys bigint, OUT client_writes bigint,
    OUT client_parked bigint, OUT client_turns bigint, OUT client_bytes_received bigint,
    OUT client_bytes_sent bigint)
RETURNS record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'plc_metrics';
COMMENT ON FUNCTION local_cache.metrics() IS 'all counters of the server since it started, as one row';

CREATE FUNCTION local_cache.health()
RETURNS jsonb LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'plc_health';
COMMENT ON FUNCTION local_cache.health()
    IS 'whether the cache and the endpoint work, and if not why; for each attached table of this database whether its rows can be cached';

CREATE FUNCTION local_cache.client_list(
    OUT id bigint, OUT worker integer, OUT role text,
    OUT address text, OUT protocol integer, OUT name text, OUT library text, OUT library_version text,
    OUT connected_at timestamptz, OUT last_command_at timestamptz, OUT last_command text, OUT commands bigint,
    OUT queued integer, OUT input bigint, OUT output bigint)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'plc_client_list';
COMMENT ON FUNCTION local_cache.client_list() IS 'the Redis clients that are connected now';

CREATE VIEW local_cache.clients AS SELECT * FROM local_cache.client_list();
COMMENT ON VIEW local_cache.clients
    IS 'the Redis clients that are connected now; of those of other roles the first columns only, but for members of pg_read_all_stats';
GRANT SELECT ON local_cache.clients TO PUBLIC;
