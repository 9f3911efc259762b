#!/usr/bin/env bash
# Runs the consistency checker against a disposable server.
#
#   ./run.sh [--root DIR] [options of the checker: see ./checker --help]
#
# PGVERSION or PG_CONFIG chooses the server, in which pg_local_cache must be installed.  With --root it is the private
# copy of that server below DIR, as teeth.sh makes.  The server lives in a temporary folder and does not run as root.
# It listens on a socket in there; its endpoint, on a free port of 127.0.0.1.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

main() {
    local root="" status=0

    if [ "${1:-}" = --root ]; then
        root=${2:?"--root wants a folder"}
        shift 2
    fi
    choose_user
    ensure_user
    choose_server
    make --silent -C "$SOURCE/test/stress" PG_CONFIG="$PG_CONFIG" checker

    PORT=$(free_port)
    DIR=$(mktemp -d "${TMPDIR:-/tmp}/plc-stress.XXXXXX")
    trap 'stop_servers "$DIR"; rm -rf "$DIR"' EXIT
    own "$DIR"
    start_server "$root$("$PG_CONFIG" --bindir)"
    "$SOURCE/test/stress/checker" --port "$PORT" "$@" "host=$DIR user=postgres dbname=postgres" || status=$?
    check_log || status=1
    [ "$status" = 0 ] || { say "---- the server's log ends:" && tail -n 20 server.log; }
    return "$status"
}

# Free now; two workers are going to share it.
free_port() {
    perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 1)->sockport'
}

# start_server BINDIR
start_server() {
    cd "$DIR"
    as_user "$1/initdb" -D "$DIR/data" -U postgres -A trust -E UTF8 --no-locale -N >initdb.log ||
        die "could not make a cluster" "$(cat initdb.log)"
    settings | as_user tee -a data/postgresql.conf >/dev/null
    as_user "$1/pg_ctl" -D "$DIR/data" -l "$DIR/server.log" -w -s start ||
        die "could not start the server" "$(cat server.log)"
}

settings() {
    cat <<END
listen_addresses = ''
unix_socket_directories = '$DIR'
shared_preload_libraries = 'pg_local_cache'
pg_local_cache.memory = '16MB'
pg_local_cache.verify = 0.05
pg_local_cache.port = $PORT
pg_local_cache.listen_addresses = '127.0.0.1'
pg_local_cache.workers = 2
pg_local_cache.role = 'stress_client'
max_prepared_transactions = 32
deadlock_timeout = '100ms'
autovacuum_naptime = '1s'
fsync = off
END
}

# No run may leave these in the server's log, whatever the answers were.
check_log() {
    ! grep -E -m 20 -A 3 'PANIC|TRAP|terminated by signal|leak|differs from the stored row' "$DIR/server.log" ||
        { say "FAIL: the server complained, see above"; return 1; }
}

main "$@"
