#!/usr/bin/env bash
# The cache at work, in a disposable server of its own.
#
#   ./quickstart.sh         builds, installs, starts the server, shows the cache in SQL and to redis-cli, leaves it running
#   ./quickstart.sh stop    stops the server and removes it
#
# As root or with sudo, on Debian.  PGVERSION or PG_CONFIG chooses the server version.  Existing clusters are not
# touched: the server has a folder, sockets in it, and a user without privileges, and for SQL it listens on no TCP port.
# Redis clients find it on a free port of 127.0.0.1, where everybody on this machine may read and write the table that
# is shown.  What stays are packages, the extension in that server version's folders, and the user; README.md says how
# to remove them.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/scripts/lib.sh"

main() {
    case ${1:-} in -h | --help) usage && return ;; esac
    choose_user
    DIR=/tmp/pg_local_cache-$RUN_USER
    case ${1:-start} in
        start) start ;;
        stop) stop ;;
        *) die "unrecognized argument \"$1\"" "Usage: ./quickstart.sh [stop | --help]" ;;
    esac
}

start() {
    choose_server
    if server_pid "$DIR/data" >/dev/null; then
        say "The server of an earlier quickstart is running."
        how_to_go_on
        return
    fi
    need_root
    install_server redis-tools
    ensure_user
    make_folder
    trap report_failure EXIT
    build
    start_server
    show
    show_redis
    trap - EXIT
    say ""
    say "The server keeps running, for you to try more."
    how_to_go_on
}

stop() {
    if [ ! -d "$DIR" ]; then
        say "There is no quickstart server of user $RUN_USER."
        return
    fi
    remove_folder
    say "Stopped and removed.  The extension's files stay in the server's folders; \"make uninstall\" removes them."
}

how_to_go_on() {
    say "  connect:  $("$PG_CONFIG" --bindir)/psql 'host=$DIR/socket port=5432 user=postgres dbname=demo'"
    say "  redis:    redis-cli -p $(redis_port)"
    say "  log:      $DIR/server.log"
    say "  stop:     ./quickstart.sh stop"
}

# Steps.  Each has a title and a log, of which the end is shown if the step fails.

# step TITLE COMMAND...: in a subshell, so that if the command ends the script, the report goes to the terminal.
step() {
    STEP=$1
    say "$STEP"
    shift
    ("$@") >"$DIR/step.log" 2>&1
}

report_failure() {
    local status=$? log

    [ "$status" -ne 0 ] || status=1
    say "" "Failed: $STEP" >&2
    for log in "$DIR/step.log" "$DIR/server.log"; do
        [ ! -s "$log" ] || { say "-- end of $log" && tail -n 20 "$log"; } >&2
    done
    stop_servers "$DIR"
    exit "$status"
}

make_folder() {
    [ ! -e "$DIR" ] || remove_folder
    mkdir -m 700 "$DIR"
    mkdir -m 700 "$DIR/socket"
    copy_source "$DIR/source"
    own "$DIR"
    cd "$DIR"
}

# /tmp is everybody's: what lies there under our name may be somebody else's.
remove_folder() {
    if [ -L "$DIR" ] || [ "$(stat -c %U "$DIR")" != "$RUN_USER" ]; then
        die "$DIR does not belong to $RUN_USER" "Look what it is, and remove it."
    fi
    stop_servers "$DIR"
    rm -rf "$DIR"
}

build() {
    step "Building for $("$PG_CONFIG" --version)" \
        as_user make --silent -C "$DIR/source" -j"$(nproc)" PG_CONFIG="$PG_CONFIG"
    step "Installing into $("$PG_CONFIG" --pkglibdir)" \
        as_root make --silent -C "$DIR/source" PG_CONFIG="$PG_CONFIG" install
}

start_server() {
    step "Making a cluster in $DIR, as user $RUN_USER" \
        as_user "$BINDIR/initdb" --pgdata="$DIR/data" --username=postgres --auth=trust --encoding=UTF8 --no-locale
    step "Creating the database demo" create_database
    configure
    step "Starting the server" \
        as_user "$BINDIR/pg_ctl" start --wait --silent --pgdata="$DIR/data" --log="$DIR/server.log"
}

# Before the server starts, so that the workers of the endpoint find the database at once.
create_database() {
    as_user "$BINDIR/postgres" --single -D "$DIR/data" postgres <<<"CREATE DATABASE demo"
    [ -n "$(as_user "$BINDIR/postgres" --single -D "$DIR/data" demo <<<"SELECT 1")" ]
}

configure() {
    as_user tee -a "$DIR/data/postgresql.conf" >/dev/null <<EOC
listen_addresses = ''
port = 5432 # only names the socket
unix_socket_directories = '$DIR/socket'
shared_preload_libraries = 'pg_local_cache'
pg_local_cache.port = $(free_port)
pg_local_cache.listen_addresses = '127.0.0.1'
pg_local_cache.database = 'demo'
pg_local_cache.role = 'web' # whom Redis clients act as
EOC
}

# Redis's own port, or the first after it where nobody listens.
free_port() {
    local port=6379

    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        port=$((port + 1))
    done
    echo "$port"
}

redis_port() { as_user sed -n 's/^pg_local_cache\.port = //p' "$DIR/data/postgresql.conf"; }

# The show

show() {
    sql "The functions come with the extension." \
        "CREATE EXTENSION pg_local_cache;"
    sql "A table with 5000 rows." \
        "CREATE TABLE articles (id bigint PRIMARY KEY, name text NOT NULL, price numeric(10,2), tags text[]);" \
        "INSERT INTO articles SELECT n, 'article ' || n, n * 0.25, ARRAY['new', 'sale'] FROM generate_series(1, 5000) n;"
    sql "Attach it.  This adds no trigger and changes nothing on the table." \
        "SELECT r ->> 'cacheable' AS cacheable, r ->> 'reason' AS reason, r -> 'key_columns' AS key_columns" \
        "FROM local_cache.attach_table('articles') r;"
    sql "Rows by key, as text: the order is kept, a missing row is null.  This read fills the cache." \
        "SELECT local_cache.mget('articles', ARRAY[2, 99999, 1]);"
    sql "The same as one JSON array.  This one is answered from the cache." \
        "SELECT local_cache.mget_json('articles', ARRAY[2, 99999, 1]);"
    sql "The same as typed rows.  These are kept beside the texts, so this is their first read." \
        "SELECT * FROM local_cache.mget_rows(NULL::articles, ARRAY[2, 99999, 1]);"
    sql "Another session changes a row.  It does not know that a cache exists." \
        "UPDATE articles SET price = 19.99 WHERE id = 1;"
    sql "The next read sees the change: the cached version is no longer visible, so it is not served." \
        "SELECT local_cache.mget_json('articles', ARRAY[2, 1]);"
    sql "What the cache has done for this table, counted by key.  A key without a row is a miss each time." \
        "SELECT hits, misses, proof_failures, publishes, entries, bytes FROM local_cache.tables;"
}

show_redis() {
    sql "The same rows for Redis clients, as a role with rights on this table and no others." \
        "CREATE ROLE web;" \
        "GRANT SELECT, INSERT, UPDATE, DELETE ON articles TO web;" \
        "SELECT r ->> 'writable' AS writable, r ->> 'namespace' AS namespace" \
        "FROM local_cache.attach_table('articles', writable => true, namespace => 'articles') r;"
    wait_for_endpoint
    redis "A row by key, as JSON.  The cache has it already, from SQL." \
        "GET articles:2"
    redis "Several rows, of one moment.  The long spelling of a key names database, schema and table." \
        "MGET articles:1 articles:99999 'CRUD:demo.public.articles:{\"id\":2}'"
    redis "A row as a hash of its columns." \
        "HGETALL articles:1" \
        "HGET articles:1 price"
    sql "Somebody changes it in SQL." \
        "UPDATE articles SET price = 7.77 WHERE id = 1;"
    redis "The next read sees it." \
        "GET articles:1"
    redis "Rows can be written too, whole or by column." \
        "SET articles:5001 '{\"name\":\"from redis-cli\",\"tags\":[\"new\"]}'" \
        "HSET articles:5001 price 1.25"
    sql "They are rows like any others." \
        "SELECT * FROM articles WHERE id = 5001;"
    sql "Whether all is well." \
        "SELECT jsonb_pretty(local_cache.health());"
}

# Until a worker serves; if none does within half a minute, says why.
wait_for_endpoint() {
    local serving="SELECT local_cache.health() -> 'endpoint' -> 'workers' @> '[{\"status\": \"serving\"}]'"

    STEP="Waiting for the endpoint"
    for _ in {1..300}; do
        [ "$(query "$serving")" != t ] || return 0
        sleep 0.1
    done
    query "SELECT local_cache.health() ->> 'reason'" >&2
    return 1
}

# sql TITLE STATEMENT...: each call is a session of its own.
sql() {
    local statement

    STEP=$1
    say "" "-- $1"
    shift
    for statement; do
        printf '%s\n' "$statement"
    done | run_psql --echo-queries --pset=null=null
}

# query STATEMENT prints the value that it gives.
query() { run_psql --tuples-only --no-align --command="$1"; }

run_psql() {
    as_user "$BINDIR/psql" --no-psqlrc --quiet --pset=pager=off --set=ON_ERROR_STOP=1 "$@" \
        "host=$DIR/socket port=5432 user=postgres dbname=demo"
}

# redis TITLE COMMAND...: each call is a connection of its own.
redis() {
    local command

    STEP=$1
    say "" "-- $1"
    shift
    for command; do
        say "redis> $command"
        eval "redis-cli -e --no-raw -p $(redis_port) $command" # the shell reads these quotes as redis-cli would
    done
}

main "$@"
