#!/usr/bin/env bash
# Runs the consistency checker against a disposable server.
#
#   ./run.sh [--root DIR] [options of the checker: see ./checker --help]
#
# The server is the one of PG_CONFIG (default: pg_config) with pg_local_cache
# installed, or a private copy of it under DIR, as teeth.sh makes.  Everything
# lives in a temporary folder; the server listens on a socket in there only.
set -euo pipefail
cd "$(dirname "$0")"

PG_CONFIG=${PG_CONFIG:-pg_config}
root=
if [[ ${1:-} == --root ]]; then
    root=${2:?"--root wants a folder"}
    shift 2
fi
bin=$root$("$PG_CONFIG" --bindir)
dir=$(mktemp -d "${TMPDIR:-/tmp}/plc-stress.XXXXXX")
log=$dir/server.log

# A server does not run as root; then it runs as the first of these that exists.
server_user() {
    local user
    if [[ $(id -u) != 0 ]]; then
        id -un
        return
    fi
    for user in postgres nobody; do
        if id -u "$user" >/dev/null 2>&1; then
            echo "$user"
            return
        fi
    done
    echo "run.sh: no user to run the server as; start it as any user but root" >&2
    return 1
}

as_server() {
    if [[ $(id -u) == 0 ]]; then
        (cd "$dir" && runuser -u "$user" -- "$@")
    else
        "$@"
    fi
}

settings() {
    cat <<END
listen_addresses = ''
unix_socket_directories = '$dir'
shared_preload_libraries = 'pg_local_cache'
pg_local_cache.memory = '16MB'
pg_local_cache.verify = 0.05
max_prepared_transactions = 32
max_connections = 100
deadlock_timeout = '100ms'
autovacuum_naptime = '1s'
fsync = off
END
}

start_server() {
    as_server "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-locale -N >"$dir/initdb.log" ||
        { cat "$dir/initdb.log" >&2; return 1; }
    settings | as_server tee -a "$dir/data/postgresql.conf" >/dev/null
    as_server "$bin/pg_ctl" -D "$dir/data" -l "$log" -w -s start || { cat "$log" >&2; return 1; }
}

stop_server() {
    if [[ -f $dir/data/postmaster.pid ]]; then
        as_server "$bin/pg_ctl" -D "$dir/data" -m immediate -s stop || true
    fi
    rm -rf "$dir"
}

# What no run may leave in the server's log, whatever the answers were.
server_complaints() {
    grep -E 'PANIC|TRAP|terminated by signal|leak|pg_local_cache' "$log" || true
}

user=$(server_user)
if [[ $(id -u) == 0 ]]; then
    chown "$user" "$dir"
fi
trap stop_server EXIT
make -s PG_CONFIG="$PG_CONFIG" checker
start_server

status=0
./checker "$@" "host=$dir user=postgres dbname=postgres" || status=$?
complaints=$(server_complaints)
if [[ -n $complaints ]]; then
    printf 'FAIL: the server complained:\n%s\n' "$(head -n 20 <<<"$complaints")"
    status=1
fi
exit "$status"
