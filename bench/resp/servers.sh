# shellcheck shell=bash
# bench/resp/servers.sh: the servers that are compared, and what each has done.  Sourced, after common.sh and cluster.sh.
#
#   ours            the endpoint with one worker, and ours_2 with two: the same server, restarted
#   redis, valkey   with one thread, no persistence, filled with the rows of ours
#   floor           floor.c
#
# All listen on 127.0.0.1, each on a free port, and run as the server's user.
#
# Wants the variables SERVERS, REDIS_SERVER, VALKEY_SERVER, CLIENTS and rows to be set.
#
# shellcheck disable=SC2154  # what the other files set

readonly value_bytes=150
declare -A server_port server_pid
server_wrapper=()    # words before a server's command
declare -A server_program=([redis]=$REDIS_SERVER [valkey]=$VALKEY_SERVER)

# postgres_start: PostgreSQL with the tables, without the endpoint.
postgres_start()
{
    cluster_start <<-END
		shared_preload_libraries = 'pg_local_cache'
		pg_local_cache.memory = '128MB'
		pg_local_cache.listen_addresses = '127.0.0.1'
		pg_local_cache.role = 'reader'
		shared_buffers = '512MB'
		max_wal_size = '2GB'
		checkpoint_timeout = '1h'
		autovacuum = off
		random_page_cost = 1.1
		jit = off
	END
    trap 'servers_stop; cluster_remove' EXIT    # cluster_start set one for itself
    psql -f bench/resp/tables.sql -v rows="$rows"
}

# servers_start: the endpoint, and the others with the same rows; all that SERVERS wants and that there are.
servers_start()
{
    local server
    for server in redis valkey floor; do
        if wanted $server; then
            other_start $server
        fi
    done
    if wanted ours; then
        endpoint_start 1
    fi
    for server in $([ -z "$(present redis)" ] || present ours valkey); do
        check_answers "$server"
    done
}

# wanted server: is it one of SERVERS?
wanted()
{
    [[ " $SERVERS " == *" $1 "* ]]
}

# present server...: those of them that are running.
present()
{
    local server
    for server; do
        [ -z "${server_pid[$server]:-}" ] || echo "$server"
    done
}

other_start()
{
    if [ "$1" != floor ] && ! command -v "${server_program[$1]}" >/dev/null; then
        say "there is no program \"${server_program[$1]}\": the comparison goes without $1"
        return
    fi
    server_port[$1]=$(free_port)
    "start_$1"
    wait_for_reply "$1" GET items:0
    if [ "$1" != floor ]; then
        fill "$1" items
        fill "$1" mixed
    fi
}

start_redis() { start_like_redis redis; }
start_valkey() { start_like_redis valkey; }

start_like_redis()
{
    local program
    program=$(command -v "${server_program[$1]}")
    "${cluster_as_user[@]}" "${server_wrapper[@]}" "$program" --port "${server_port[$1]}" --bind 127.0.0.1 \
        --save '' --appendonly no --io-threads 1 >"$cluster_dir/$1.log" 2>&1 &
    server_pid[$1]=$!
}

start_floor()
{
    "${CC:-cc}" -O2 -o "$cluster_dir/floor" bench/resp/floor.c
    "${cluster_as_user[@]}" "${server_wrapper[@]}" "$cluster_dir/floor" "${server_port[floor]}" "$value_bytes" 2>"$cluster_dir/floor.log" &
    server_pid[floor]=$!
}

# What PostgreSQL does not stop.
servers_stop()
{
    local server
    [ -z "${writer_pid:-}" ] || kill "$writer_pid" 2>/dev/null || true
    for server in $(present redis valkey floor); do
        kill "${server_pid[$server]}" 2>/dev/null || true
    done
    wait
}

free_port()
{
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# reply [-e] server command...: what redis-cli prints; with -e an error is a failure.
reply()
{
    local options=() server
    [ "$1" != -e ] || { options=(-e) && shift; }
    server=$1
    shift
    redis-cli "${options[@]}" -h 127.0.0.1 -p "${server_port[$server]}" "$@"
}

# wait_for_reply server command...: until the server answers it with something but an error.
wait_for_reply()
{
    local answer tries
    for ((tries = 0; tries < 600; tries++)); do
        if answer=$(reply -e "$@" 2>&1); then
            return
        fi
        sleep 0.05
    done
    die "$1 did not serve within 30 s: $answer"
}

# endpoint_start workers: (re)starts PostgreSQL with so many, with all pages and all rows in memory.
endpoint_start()
{
    local server=ours
    [ "$1" = 1 ] || server=ours_$1
    server_port[$server]=${server_port[ours]:-$(free_port)}
    cat >>"$cluster_dir/data/postgresql.conf" <<-END
		pg_local_cache.port = ${server_port[$server]}
		pg_local_cache.workers = $1
	END
    unset 'server_pid[ours]'
    cluster_run restart "${server_wrapper[@]}"
    wait_for_reply "$server" GET items:0
    sql "SELECT sum(pg_prewarm(oid::regclass)) FROM pg_class
        WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace" >/dev/null
    warm "$server" items
    warm "$server" mixed
    server_pid[$server]=$(worker_pids)
    [ "$(wc -w <<<"${server_pid[$server]}")" = "$1" ] ||
        die "PostgreSQL has not $1 workers of the endpoint but these: ${server_pid[$server]:-none}"
    cluster_settle
}

worker_pids()
{
    sql "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type LIKE 'pg_local_cache%'"
}

# warm server table: asks for all rows until hardly one is missing from the cache,
# whose index forgets a few keys in a hundred thousand for want of a place.
warm()
{
    local before after
    for _ in 1 2 3; do
        read -r _ before < <(key_counts "$1")
        seq -f "GET $2:%.0f" 0 $((rows - 1)) | reply "$1" --pipe >/dev/null
        read -r _ after < <(key_counts "$1")
        [ $(((after - before) * 100)) -gt "$rows" ] || return 0
    done
    say "  $2: $((after - before)) keys were missing still at the third time of asking"
}

# fill server table: a Redis server gets the rows as they are, as JSON texts under the same keys.
fill()
{
    psql -F ' ' -c "SELECT id, row_to_json(t) FROM $2 t" | awk -v table="$2" '
        {
            key = sprintf("%s:%012d", table, $1)
            value = substr($0, length($1) + 2)
            printf "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", length(key), key, length(value), value
        }' | reply "$1" --pipe >"$cluster_dir/fill.log" || die_with_log "could not fill $1" "$cluster_dir/fill.log"
}

# What is compared must be the same work: a server says what Redis says, for the first key,
# the last, and one without a row.
check_answers()
{
    local names
    read -ra names < <(keys_of items fixed 64)
    names+=(items:000000000000 items:000000099999 items:000000100000)
    reply "$1" MGET "${names[@]}" >"$cluster_dir/answer"
    reply redis MGET "${names[@]}" | cmp -s - "$cluster_dir/answer" ||
        die_with_log "$1 and redis do not give the same answer to MGET" "$cluster_dir/answer"
    [ "$(reply "$1" GET "${names[0]}" | wc -c)" = $((value_bytes + 1)) ] || die "a value is not $value_bytes bytes long"
}

# server_ns server: CPU time used so far, in nanoseconds, of the server's threads;
# for ours the workers.  The scheduler's own account, where there is one, is exact.
server_ns()
{
    local pid stats=()
    for pid in ${server_pid[$1]}; do
        stats+=("/proc/$pid/task/"*/schedstat)
    done
    cpu_ns "${stats[@]}"
}

# postgres_ns: the same for all processes of PostgreSQL that there are now.
postgres_ns()
{
    local stats=()
    mapfile -t stats < <(pgrep -P "$cluster_pid" | sed 's:.*:/proc/&/schedstat:')
    cpu_ns "/proc/$cluster_pid/schedstat" "${stats[@]}"
}

# cpu_ns file...: the sum of such accounts; a process may have ended meanwhile.
cpu_ns()
{
    if [ -r /proc/self/schedstat ]; then
        { cat "$@" 2>/dev/null || true; } | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
    else
        { cat "${@/%schedstat/stat}" 2>/dev/null || true; } | awk -v tick="$(getconf CLK_TCK)" '
            { sub(/^.*\) /, ""); sum += $12 + $13 }
            END { printf "%.0f\n", sum / tick * 1e9 }'
    fi
}

# key_counts server: keys found in the cache so far, and not found.
key_counts()
{
    case $1 in
        ours*) sql "SELECT hits || ' ' || misses FROM local_cache.metrics()" ;;
        floor) echo 0 0 ;;
        *)     reply "$1" INFO stats | tr -d '\r' | awk -F : '
                   /^keyspace_hits/ { hits = $2 }
                   /^keyspace_misses/ { print hits, $2 }' ;;
    esac
}
