# shellcheck shell=bash
# bench/resp/servers.sh: the servers that are compared, and what each has done.  Sourced, after common.sh and cluster.sh.
#
#   ours            the endpoint with one worker, and ours_2 with two: the same server, restarted
#   redis, valkey   with one thread, no persistence, filled with the rows of ours
#   floor           floor.c
#
# All listen on 127.0.0.1, each on a free port, and run as the server's user.
#
# shellcheck disable=SC2154  # what the other files set

declare -A server_port server_pid
declare -A server_program=([redis]=$REDIS_SERVER [valkey]=$VALKEY_SERVER)

# servers_start: those that there are; sets servers_found.
servers_start()
{
    local server
    servers_found=()
    trap 'servers_stop; cluster_remove' EXIT    # cluster_start sets one for itself
    for server in redis valkey floor; do
        [ $server = redis ] || wanted $server || continue
        if [ $server = floor ] || command -v "${server_program[$server]}" >/dev/null; then
            server_port[$server]=$(free_port)
            "start_$server"
            wait_for_reply "$server" GET items:0
            servers_found+=("$server")
        else
            say "there is no program \"${server_program[$server]}\"; the comparison goes without $server"
        fi
    done
    [ -n "${server_port[redis]:-}" ] || die "there is nothing to compare with" "Install redis-server, or set REDIS_SERVER."
}

start_redis() { start_like_redis redis; }
start_valkey() { start_like_redis valkey; }

start_like_redis()
{
    local program
    program=$(command -v "${server_program[$1]}")
    "${cluster_as_user[@]}" "$program" --port "${server_port[$1]}" --bind 127.0.0.1 --save '' --appendonly no --io-threads 1 \
        >"$cluster_dir/$1.log" 2>&1 &
    server_pid[$1]=$!
}

start_floor()
{
    "${CC:-cc}" -O2 -o "$cluster_dir/floor" bench/resp/floor.c
    "${cluster_as_user[@]}" "$cluster_dir/floor" "${server_port[floor]}" "$value_bytes" 2>"$cluster_dir/floor.log" &
    server_pid[floor]=$!
}

servers_stop()
{
    [ -z "${writer_pid:-}" ] || kill "$writer_pid" 2>/dev/null || true
    kill "${server_pid[@]}" 2>/dev/null || true
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
    cluster_run restart
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

cpu_ns()
{
    if [ -r /proc/self/schedstat ]; then
        awk '{ sum += $1 } END { printf "%.0f\n", sum }' "$@"
    else
        awk -v tick="$(getconf CLK_TCK)" '{ sub(/^.*\) /, ""); sum += $12 + $13 } END { printf "%.0f\n", sum / tick * 1e9 }' \
            "${@/%schedstat/stat}"
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

# write_count server: rows written so far by the writer.
write_count()
{
    case $1 in
        ours*) sql "SELECT sum(revision) FROM mixed" ;;
        *)     reply "$1" INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_set:calls=\([0-9]*\),.*/\1/p' ;;
    esac
}

# writer_start server rate: writes random rows, so many a second, and returns when the first is there.
writer_start()
{
    local before
    before=$(write_count "$1")
    case $1 in
        ours*) "$cluster_bin/pgbench" -n -M prepared -c "$writer_sessions" -j 1 -R "$2" -T 3600 -D rows=$rows \
                   -f bench/resp/update.sql >"$cluster_dir/writer.log" 2>&1 & ;;
        *)     python3 bench/resp/paced_set.py "${server_port[$1]}" "$2" "$rows" "$value_bytes" \
                   >"$cluster_dir/writer.log" 2>&1 & ;;
    esac
    writer_pid=$!
    until [ "$(write_count "$1")" != "$before" ]; do
        kill -0 "$writer_pid" 2>/dev/null || die_with_log "the writer has ended" "$cluster_dir/writer.log"
    done
}

writer_stop()
{
    kill "$writer_pid" 2>/dev/null || die_with_log "the writer has ended" "$cluster_dir/writer.log"
    wait "$writer_pid" 2>/dev/null || true
    writer_pid=
}
