#!/usr/bin/env bash
# Unmodified Redis clients against the endpoint, in a disposable server.
#
#   ./run.sh [--write] [--root DIR] [CLIENT ...]
#
# Prints what each client did, and fails if one of them failed or docs/clients.md says otherwise; --write writes that
# file anew.  Clients are named as in there; all by default.  One whose tools are missing or too old is skipped, which
# is said and counted.
#
# Needs the package registries of npm, Go and Python, for the versions in node/, go/ and python/.  PGVERSION or PG_CONFIG
# chooses the server, in which pg_local_cache must be installed; with --root it is a private copy of it below DIR, as
# test/stress/teeth.sh makes.  The server lives in a temporary folder and listens on loopback.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

HERE=$SOURCE/test/clients
PAGE=$SOURCE/docs/clients.md
LIMIT=120 # seconds for a client
WORKERS=2

# name | protocol | what it needs | arguments of its program | remark; those that are built longest come last
CLIENTS=(
    "node-redis 5|2|node|redis-5|its default"
    "node-redis 5|3|node|redis-5|"
    "node-redis 6|2|node20|redis-6|"
    "node-redis 6|3|node20|redis-6|its default"
    "ioredis 5|2|node|ioredis-5|"
    "ioredis 6|2|node20|ioredis-6|"
    "ioredis 6|3|node20|ioredis-6|its default"
    "iovalkey|2|node|iovalkey|after a refused login it goes on as the default role, if there is one"
    "valkey-glide|2|node|@valkey/valkey-glide|"
    "valkey-glide|3|node|@valkey/valkey-glide|its default"
    "redis-py 5|2|python|5|its default"
    "redis-py 5|3|python|5|"
    "redis-py 8|2|python|8|"
    "redis-py 8|3|python|8|its default"
    "redis-cli|2|redis|redis-cli.pl|after a refused login it goes on as the default role, if there is one"
    "redis-cli|3|redis|redis-cli.pl|with \`-3\`"
    "go-redis|2|go|go-redis|"
    "go-redis|3|go|go-redis|its default"
    "rueidis|2|go|rueidis|with \`AlwaysRESP2\` and \`DisableCache\`"
    "rueidis|3|go|rueidis|with \`DisableCache\`: its cache needs \`CLIENT TRACKING\`"
)
STEPS=(connect hit miss MGET HGETALL "HGETALL of no row" "SET, GET" pipeline reconnect login "wrong password" close)

TOOLS=("redis-cli, typed to" "redis-cli --scan" "redis-cli --scan --pattern" "redis-cli --bigkeys" "redis-cli --stat"
    "redis-cli --latency" "redis-cli --json HGETALL" "redis-benchmark" "redis-benchmark -P 16" "redis-benchmark -3"
    "redis-benchmark MGET" "redis-benchmark -t get,set")

declare -A LACKS      # what a client needs -> why it is not there
declare -A INSTALLING # language -> the process that installs its clients
PASSED=0
FAILED=0
SKIPPED=0

main() {
    local root="" write="" entry only

    while [ $# -gt 0 ]; do
        case $1 in
            -h | --help) usage && return ;;
            --write) write=1 && shift ;;
            --root) root=${2:?"--root wants a folder"} && shift 2 ;;
            -*) die "there is no option \"$1\"" "Usage: ./run.sh [--write] [--root DIR] [CLIENT ...]" ;;
            *) break ;;
        esac
    done
    only=("$@")
    prepare "$root"
    for entry in "${CLIENTS[@]}"; do
        ! wanted "${entry%%|*}" || run_client "$entry"
    done
    ! wanted redis-tools || run_tools
    check_server
    make_page >"$DIR/clients.md"
    if [ -n "$write" ]; then cp "$DIR/clients.md" "$PAGE"; else compare_page; fi
    say "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ]
}

# needed LANGUAGE: is a client wanted that is written in it?
needed() {
    local entry name need

    for entry in "${CLIENTS[@]}"; do
        IFS='|' read -r name _ need _ <<<"$entry"
        [ "${need%20}" != "$1" ] || ! wanted "$name" || return 0
    done
    return 1
}

wanted() { [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $1 "* ]]; }

# count passed|failed|skipped [LINE]
count() {
    case $1 in
        passed) PASSED=$((PASSED + 1)) ;;
        failed) FAILED=$((FAILED + 1)) ;;
        skipped) SKIPPED=$((SKIPPED + 1)) ;;
    esac
    [ -z "${2:-}" ] || say "$2"
}

# Preparation: the packages of each language come while the server starts and other clients run.

prepare() {
    choose_user
    ensure_user
    choose_server
    BINDIR=$1$("$PG_CONFIG" --bindir)
    DIR=$(mktemp -d "${TMPDIR:-/tmp}/plc-clients.XXXXXX")
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    mkdir "$DIR/bin" "$DIR/results"
    [ -w "${HOME:-/nonexistent}" ] || export HOME=$DIR # where npm, Go and pip keep what they fetch; not every user has a home
    look_for_tools
    own "$DIR"
    cd "$DIR"
    install_clients
    start_server
}

clean_up() {
    jobs -p | xargs -r kill 2>/dev/null || true
    wait
    stop_servers "$DIR"
    rm -rf "$DIR"
}

# A tool that is missing or too old: its clients are skipped.
look_for_tools() {
    local node go python needed

    LACKS=([node]="" [node20]="" [go]="" [python]="" [redis]="")
    if ! command -v npm >/dev/null || ! node=$(node --version); then
        LACKS[node]="Node.js and npm are not installed"
    elif node=${node#v} && [ "${node%%.*}" -lt 18 ]; then
        LACKS[node]="needs Node.js 18, found $node"
    elif [ "${node%%.*}" -lt 20 ]; then
        LACKS[node20]="needs Node.js 20, found $node"
    fi
    LACKS[node20]=${LACKS[node]:-${LACKS[node20]}}
    if ! go=$(go env GOVERSION 2>/dev/null); then
        LACKS[go]="Go is not installed"
    elif needed=$(sed -n 's/^go //p' "$HERE/go/go.mod") && ! at_least "$needed" "${go#go}"; then
        LACKS[go]="needs Go $needed, found ${go#go}"
    fi
    if ! python=$(python3 -c 'import ensurepip, venv, sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); then
        LACKS[python]="Python with its module venv is not installed"
    elif ! at_least 3.10 "$python"; then
        LACKS[python]="needs Python 3.10, found $python"
    fi
    command -v redis-cli redis-benchmark >/dev/null || LACKS[redis]="redis-tools is not installed"
    perl -MIPC::Run -MIO::Pty -e 1 2>/dev/null || LACKS[redis]="the Perl modules IPC::Run and IO::Pty are not installed"
}

# at_least WANTED FOUND
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

install_clients() {
    local language

    for language in node python go; do
        [ -z "${LACKS[$language]}" ] && needed "$language" || continue
        ("install_$language") >"$DIR/results/$language.log" 2>&1 &
        INSTALLING[$language]=$!
    done
}

# await_install NEED: before the first client of a language.  A package that cannot be had is a failure, and no tool that
# is missing.
await_install() {
    local language=${1%20}

    [ -n "${INSTALLING[$language]:-}" ] || return 0
    if ! wait "${INSTALLING[$language]}"; then
        count failed "FAILED   could not install the clients of $language:"
        tail -n 20 "$DIR/results/$language.log"
        LACKS[$language]="could not be installed"
        [ "$language" != node ] || LACKS[node20]=${LACKS[node]}
    fi
    INSTALLING[$language]=""
}

install_node() {
    cp -r "$HERE/node" "$DIR/node"
    cd "$DIR/node" || return
    npm ci --ignore-scripts --no-progress
}

# GOTOOLCHAIN: the Go that is there, and no other fetched for it.  -modcacherw: what it fetches can be removed.
# Without optimization, for building is most of what this costs.
install_go() {
    cd "$HERE/go" || return
    GOTOOLCHAIN=local GOFLAGS=-modcacherw go build -mod=readonly -gcflags="all=-N -l" -o "$DIR/bin/go-clients" .
}

install_python() {
    local version

    for version in 5 8; do
        python3 -m venv "$DIR/python-$version" &&
            "$DIR/python-$version/bin/pip" install --quiet --no-deps --require-hashes \
                -r "$HERE/python/requirements-$version.txt" || return
    done
}

# The server

start_server() {
    as_user "$BINDIR/initdb" -D "$DIR/data" -U postgres -A trust -E UTF8 --no-locale -N >initdb.log ||
        die "could not make a cluster" "$(cat initdb.log)"
    PORT=$(free_port)
    export PGHOST=$DIR PGUSER=postgres PGDATABASE=shop PATH=$BINDIR:$PATH
    as_user tee -a data/postgresql.conf >/dev/null <<END
listen_addresses = ''
unix_socket_directories = '$DIR'
shared_preload_libraries = 'pg_local_cache'
pg_local_cache.memory = '16MB'
pg_local_cache.verify = 0.1
fsync = off
END
    start
    psql -Xq -v ON_ERROR_STOP=1 -d postgres -c "CREATE DATABASE shop"
    psql -Xq -v ON_ERROR_STOP=1 -o /dev/null -f "$HERE/rows.sql"
    as_user "$BINDIR/pg_ctl" -D "$DIR/data" -w -s stop
    as_user tee -a data/postgresql.conf >/dev/null <<END
pg_local_cache.port = $PORT
pg_local_cache.listen_addresses = '127.0.0.1'
pg_local_cache.workers = $WORKERS
pg_local_cache.database = 'shop'
pg_local_cache.role = 'web'
END
    start
    export ENDPOINT_HOST=127.0.0.1 ENDPOINT_PORT=$PORT ENDPOINT_ROLE=reader ENDPOINT_PASSWORD='a password' \
        ENDPOINT_WORKERS=$WORKERS KILL_WORKERS=$HERE/kill-workers.sh
}

start() {
    as_user "$BINDIR/pg_ctl" -D "$DIR/data" -l "$DIR/server.log" -w -s start ||
        die "could not start the server" "$(cat server.log)"
}

free_port() {
    perl -MIO::Socket::INET -e \
        'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 0)->sockport'
}

# wait_until SECONDS COMMAND...
wait_until() {
    local end=$((SECONDS + $1))

    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

ask() { psql -XAtq -c "$1"; }

# All workers serve: the client before has had some of them ended.
workers_serve() {
    [ "$(ask "SELECT count(*) FROM jsonb_array_elements(local_cache.health() -> 'endpoint' -> 'workers') w
        WHERE w ->> 'status' = 'serving'" 2>/dev/null)" = "$WORKERS" ]
}

no_client_left() { [ "$(ask "SELECT count(*) FROM local_cache.clients")" = 0 ]; }

# Running

# run_client ENTRY
run_client() {
    local name protocol need arguments remark result status=0

    IFS='|' read -r name protocol need arguments remark <<<"$1"
    await_install "$need"
    if [ -n "${LACKS[$need]}" ]; then
        count skipped "skipped  $name, RESP$protocol: ${LACKS[$need]}"
        return
    fi
    # The client before has ended the workers; the row is one that no client before has written.
    wait_until 30 workers_serve || say "the workers do not serve: $(ask "SELECT local_cache.health() -> 'endpoint'")"
    export ENDPOINT_ROW=$((${ENDPOINT_ROW:-20000} + 1))
    result=$(result_of "$name" "$protocol")
    STARTED=$SECONDS
    (run_program "$need" "$arguments" "$protocol") >"$result" 2>"$result.errors" || status=$?
    judge "$name, RESP$protocol" "$status" "$result" "${STEPS[@]}"
}

run_tools() {
    local result status=0

    if [ -n "${LACKS[redis]}" ]; then
        count skipped "skipped  redis-tools: ${LACKS[redis]}"
        return
    fi
    wait_until 30 workers_serve || say "the workers do not serve: $(ask "SELECT local_cache.health() -> 'endpoint'")"
    result=$(result_of redis-tools "")
    STARTED=$SECONDS
    (run_program redis tools.pl "") >"$result" 2>"$result.errors" || status=$?
    judge redis-tools "$status" "$result" "${TOOLS[@]}"
}

# run_program NEED ARGUMENTS PROTOCOL
run_program() {
    case $1 in
        node*) cd "$DIR/node" && set -- node main.js "$2" "$3" ;;
        go) set -- "$DIR/bin/go-clients" "$2" "$3" ;;
        python) set -- "$DIR/python-$2/bin/python" "$HERE/python/main.py" "$3" ;;
        redis) set -- perl "-I$HERE/redis" "$HERE/redis/$2" "$3" ;;
    esac
    exec timeout --kill-after=5 "$LIMIT" "$@" </dev/null
}

# The file with what the program printed.
result_of() { echo "$DIR/results/$1 RESP$2"; }

# judge NAME STATUS RESULT STEP...: a step has passed if the program says so, the last one if the program then ended too.
judge() {
    local name=$1 status=$2 result=$3 step bad=0

    shift 3
    [ "$status" -eq 0 ] || sed -i "s/^ok ${!#}\$/not ok ${!#}: the program did not end well, status $status/" "$result"
    for step; do
        if passed "$result" "$step"; then
            count passed
        else
            count failed "FAILED   $name: $(grep -F "not ok $step: " "$result" || echo "$step was not reached")"
            bad=$((bad + 1))
        fi
    done
    [ "$bad" -gt 0 ] || say "ok       $name: $# steps, $((SECONDS - STARTED)) s"
    [ "$bad" -eq 0 ] || tail -n 20 "$result.errors"
}

# passed RESULT STEP
passed() { grep -qxF "ok $2" "$1"; }

check_server() {
    if wait_until 10 no_client_left; then
        count passed
    else
        count failed "FAILED   these connections are left: $(ask "SELECT string_agg(c::text, ' ') FROM local_cache.clients c")"
    fi
    if grep -E -m 20 -A 3 'PANIC|TRAP|terminated by signal|leak|differs from the stored row' "$DIR/server.log"; then
        count failed "FAILED   the server complained, see above"
    else
        count passed
    fi
}

# The page: clients.md.in with the two tables.  What was skipped is taken from the page as it is.

make_page() {
    local line

    while IFS= read -r line; do
        case $line in
            @CLIENTS@) clients_table ;;
            @TOOLS@) tools_table ;;
            *) say "$line" ;;
        esac
    done <"$HERE/clients.md.in"
}

clients_table() {
    local entry name protocol need arguments remark result

    row client protocol version "${STEPS[@]}" remark
    row --- --- --- "${STEPS[@]//*/:-:}" ---
    for entry in "${CLIENTS[@]}"; do
        IFS='|' read -r name protocol need arguments remark <<<"$entry"
        result=$(result_of "$name" "$protocol")
        if [ ! -e "$result" ]; then
            old_row "$name" "RESP$protocol"
        else
            marks "$result" "${STEPS[@]}"
            row "$name" "RESP$protocol" "$(version "$name" "$result")" "${MARKS[@]}" "$remark"
        fi
    done
}

tools_table() {
    local tool result

    result=$(result_of redis-tools "")
    row command result
    row --- :-:
    for tool in "${TOOLS[@]}"; do
        if [ -e "$result" ]; then
            marks "$result" "$tool"
            row "\`$tool\`" "${MARKS[@]}"
        else
            old_row "\`$tool\`"
        fi
    done
}

row() {
    local cell

    for cell; do printf '| %s ' "$cell"; done
    say "|"
}

old_row() { grep -sF "$(row "$@" | sed 's/|$//')" "$PAGE" || row "$@" "not run"; }

# marks RESULT STEP... sets MARKS.
marks() {
    local result=$1 step

    shift
    MARKS=()
    for step; do
        if passed "$result" "$step"; then MARKS+=("✓"); else MARKS+=("✗"); fi
    done
}

# The distribution chooses the version of redis-cli; any other than the page's is as good.
version() {
    local old

    old=$(sed -n "s/^| $1 | RESP[23] | \([^ ]*\) |.*/\1/p" "$PAGE" 2>/dev/null | head -n 1)
    if [ "$1" = redis-cli ] && [ -z "$write" ] && [ -n "$old" ]; then
        echo "$old"
    else
        sed -n 's/^version //p' "$2"
    fi
}

compare_page() {
    if diff "$PAGE" "$DIR/clients.md"; then
        count passed
    else
        count failed "FAILED   docs/clients.md differs, see above; test/clients/run.sh --write writes it anew"
    fi
}

main "$@"
