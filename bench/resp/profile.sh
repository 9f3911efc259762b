#!/usr/bin/env bash
#
# bench/resp/profile.sh: where a request's time goes, in the endpoint's worker or in another server.
#
#   bench/resp/profile.sh count [server...]      instructions per request and per key, counted by callgrind
#   bench/resp/profile.sh callgrind [server...]  those of one kind of request, function by function
#   bench/resp/profile.sh perf [server...]       CPU time of one kind of request, function by function, kernel included
#
# Servers are ours (if none is named), redis, valkey and floor.  Wants the extension
# installed: make && make install; for callgrind valgrind, for perf perf.
#
# callgrind counts instructions of the process itself and none of the kernel's.
# They are nearly the same from run to run, whatever else the machine does, so it shows a
# change of a percent that no clock does.  What it does not see is waiting for
# memory.  Counts are the difference between a longer and a shorter run: connecting,
# and what is done once, is in both.
#
# Settings, from the environment:
#   BATCH, PIPELINE, KEYS   the kind of request for callgrind and perf: keys a request (1), requests at once (1),
#                           fixed or random (random)
#   CLIENTS                 connections (64)
#   ROWS                    rows of the table (10000 for callgrind, which is slow; 100000 for perf)
#   LINES                   lines of output (40)
#   PERF_OPTIONS            more options for perf record, as -g
#   PG_CONFIG, REDIS_SERVER, VALKEY_SERVER   as for bench/resp.sh
#
set -euo pipefail

cd "$(dirname "$0")/../.."

: "${PG_CONFIG:=pg_config}" "${REDIS_SERVER:=redis-server}" "${VALKEY_SERVER:=valkey-server}" "${CLIENTS:=64}"
: "${BATCH:=1}" "${PIPELINE:=1}" "${KEYS:=random}" "${LINES:=40}" "${ROWS:=}" "${PERF_OPTIONS:=}"

action=${1:-}
SERVERS=${*:2}
: "${SERVERS:=ours}"
case $action in
    perf) rows=${ROWS:-100000} ;;
    *)    rows=${ROWS:-10000} ;;
esac

. bench/lib/common.sh
. bench/lib/cluster.sh
. bench/resp/servers.sh
. bench/resp/load.sh

main()
{
    local server
    case $action in
        count | callgrind) check_programs valgrind vgdb callgrind_annotate ;;
        perf)              check_programs perf ;;
        *)                 die "there is no action \"$action\"" "Usage: bench/resp/profile.sh count | callgrind | perf [server...]" ;;
    esac
    check_words SERVERS ours redis valkey floor
    check_whole_numbers BATCH PIPELINE CLIENTS rows LINES
    check_installed
    say "making the servers and their rows"
    postgres_start
    [ "$action" = perf ] ||
        server_wrapper=(valgrind --tool=callgrind --trace-children=yes --instr-atstart=no
            --callgrind-out-file="$cluster_dir/callgrind.%p")
    servers_start
    for server in $SERVERS; do
        [ -n "$(present "$server")" ] || die "there is no server \"$server\""
        "action_$action" "$server"
    done
}

# All shapes, a line a server.
action_count()
{
    local shape counts=()
    for shape in "1 1" "1 16" "16 1" "64 1"; do
        # shellcheck disable=SC2086  # batch and pipeline
        count_instructions "$1" $shape
        counts+=("$instructions")
    done
    [ "$1" != "${SERVERS%% *}" ] ||
        printf '%-14s %10s %12s %12s %12s %14s\n' "instructions" GET "GET -P 16" "MGET 16" "MGET 64" "a key of MGET"
    printf '%-14s %10s %12s %12s %12s %14s\n' "$1" "${counts[@]}" $(((counts[3] - counts[2]) / 48))
}

action_callgrind()
{
    count_instructions "$1" "$BATCH" "$PIPELINE"
    echo "$1: $instructions instructions a request; $KEYS keys, batch of $BATCH, pipelines of $PIPELINE"
    echo "below: instructions of $longer requests, of functions with what they call"
    callgrind_annotate --inclusive=yes "$dump" | functions
    echo "and by themselves"
    callgrind_annotate "$dump" | functions
}

# The lines of functions, without the long heads, and names no longer than a line.
functions()
{
    grep -E '^ *[0-9,]+ ' | cut -c 1-150 | head -n "$LINES"
}

# count_instructions server batch pipeline: sets instructions, of one request, and dump and longer, the run that was looked at.
count_instructions()
{
    local shorter=$((CLIENTS * $3 * (4 + 60 / ($2 * $3)))) first
    longer=$((shorter * 3))
    count_run "$1" "$2" "$3" $shorter
    first=$total
    count_run "$1" "$2" "$3" $longer
    instructions=$(((total - first) / (longer - shorter)))
}

# count_run server batch pipeline requests: sets dump, a file, and total, its sum.
count_run()
{
    local pid=${server_pid[$1]}
    tell_callgrind "$pid" instrumentation on
    run_benchmark "$1" items "$KEYS" "$2" "$3" "$4"
    tell_callgrind "$pid" instrumentation off
    tell_callgrind "$pid" dump
    dump=$(find "$cluster_dir" -maxdepth 1 -name "callgrind.$pid.*" | sort -V | tail -n 1)
    total=$(sed -n 's/^\(totals\|summary\): *//p' "$dump" | tail -n 1)
}

# tell_callgrind pid command...: and wait until it has done it.
tell_callgrind()
{
    local pid=$1
    shift
    "${cluster_as_user[@]}" vgdb --pid="$pid" "$@" >"$cluster_dir/vgdb.log" 2>&1 ||
        die_with_log "could not talk to callgrind in process $pid" "$cluster_dir/vgdb.log"
}

# Records while about three seconds of requests are served.
action_perf()
{
    local whole=$((CLIENTS * PIPELINE)) rate load
    run_benchmark "$1" items "$KEYS" "$BATCH" "$PIPELINE" $((whole * 200))
    rate=$(csv_field 1)
    run_benchmark "$1" items "$KEYS" "$BATCH" "$PIPELINE" \
        "$(awk -v rate="$rate" -v whole=$whole 'BEGIN { print int(rate * 3 / whole + 1) * whole }')" &
    load=$!
    # shellcheck disable=SC2086  # several options
    perf record --quiet -e cpu-clock -F 2000 -p "${server_pid[$1]// /,}" -o "$cluster_dir/perf.data" $PERF_OPTIONS -- \
        tail --pid=$load -f /dev/null
    wait $load
    echo "$1: $rate requests per second; $KEYS keys, batch of $BATCH, pipelines of $PIPELINE"
    perf_report -g none --sort dso | head -n 6
    echo "by function"
    perf_report --sort dso,symbol | head -n "$LINES"
}

perf_report()
{
    perf report -i "$cluster_dir/perf.data" --stdio --no-children "$@" 2>/dev/null | grep -vE '^#|^$' | sed 's/[- ]*$//'
}

main
