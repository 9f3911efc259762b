# shellcheck shell=bash
# bench/resp/load.sh: redis-benchmark for the reads, and a writer beside it.  Sourced, after servers.sh.
#
# shellcheck disable=SC2154  # what the other files set

readonly writer_sessions=2

# keys_of table keys batch: a request's keys.
#   fixed     the same at each request, spread evenly over the table
#   random    redis-benchmark puts random numbers below the number of rows
keys_of()
{
    local i
    for ((i = 0; i < $3; i++)); do
        case $2 in
            fixed)  printf '%s:%012d ' "$1" $((i * (rows / $3) + 42)) ;;
            random) printf '%s:__rand_int__ ' "$1" ;;
        esac
    done
    echo
}

# run_benchmark server table keys batch pipeline requests: writes its lines to benchmark.csv, the client's CPU time to client.time.
run_benchmark()
{
    local server=$1 command=(GET) names options=()
    read -ra names < <(keys_of "$2" "$3" "$4")
    [ "$4" = 1 ] || command=(MGET)
    [ "$3" = fixed ] || options=(-r "$rows")
    TIMEFORMAT='%U %S'
    { time redis-benchmark -h 127.0.0.1 -p "${server_port[$server]}" -c "$CLIENTS" -P "$5" -n "$6" "${options[@]}" --csv \
        "${command[@]}" "${names[@]}" >"$cluster_dir/benchmark.csv" 2>"$cluster_dir/benchmark.err"; } 2>"$cluster_dir/client.time" ||
        die_with_log "redis-benchmark failed: $server, $3 keys, batch of $4, pipelines of $5" "$cluster_dir/benchmark.err"
}

# csv_field number: of the line of results that run_benchmark left.
csv_field()
{
    tail -n 1 "$cluster_dir/benchmark.csv" | sed 's/^".*__",\|^"[A-Z]* [^"]*",//; s/"//g' | cut -d , -f "$1"
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
        ours*) "$cluster_bin/pgbench" -n -M prepared -c "$writer_sessions" -j 1 -R "$2" -T 3600 -D rows="$rows" \
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
