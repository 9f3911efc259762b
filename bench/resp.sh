#!/usr/bin/env bash
#
# bench/resp.sh: the RESP endpoint side by side with Redis and Valkey.
#
#   bench/resp.sh [--quick]
#
# Makes a disposable PostgreSQL with the endpoint, a redis-server, a
# valkey-server if there is one, and a server that only answers a constant
# (bench/resp/floor.c); runs redis-benchmark on each, and writes
#   build/bench/resp-<machine>.json  all samples, medians, ratios, targets
#   standard output                  the same as Markdown tables
#   standard error                   progress
# Wants the extension installed: make && make install.  Takes about seven
# minutes; with --quick less than one, and then the figures mean nothing.  It
# exits with 0 also when a target is missed: a benchmark is no test.  It does
# fail if a server answers otherwise than Redis, or counted other keys than it
# was asked for: then it would be measured at something else.
#
# The servers of one group run one after the other, in rotated order from one
# repetition to the next; a ratio compares two samples of the same group and
# repetition.  What is compared is told in docs/benchmarks-resp.md, which this
# makes from a result:
#   bench/lib/resp_report.py publish build/bench/resp-<machine>.json docs
#
# Settings, from the environment:
#   PG_CONFIG            the server to use (pg_config)
#   REDIS_SERVER         redis-server
#   VALKEY_SERVER        valkey-server
#   REPEATS              repetitions (5)
#   SECONDS_PER_SAMPLE   about the length of one sample, whole seconds (2)
#   SUITES               any of: reads updates workers (all)
#   SERVERS              any of: ours redis valkey floor (all; redis is always there)
#   CLIENTS              connections (64)
#   MACHINE              name for the result (made from the processor's)
#
set -euo pipefail

cd "$(dirname "$0")/.."

: "${PG_CONFIG:=pg_config}" "${REDIS_SERVER:=redis-server}" "${VALKEY_SERVER:=valkey-server}" "${MACHINE:=}"
: "${SUITES:=reads updates workers}" "${SERVERS:=ours redis valkey floor}" "${CLIENTS:=64}" "${SECONDS_PER_SAMPLE:=2}"

. bench/lib/common.sh
. bench/lib/cluster.sh
. bench/resp/servers.sh
. bench/resp/load.sh

readonly rows=100000 reads_per_write=100
readonly out=build/bench

parse_options()
{
    QUICK=
    case ${1:-} in
        '')      ;;
        --quick) QUICK=1 ;;
        *)       die "there is no option \"$1\"" "Usage: bench/resp.sh [--quick]; settings are in the head of the script." ;;
    esac
    : "${REPEATS:=${QUICK:+1}}" "${REPEATS:=5}"
}

check_settings()
{
    check_whole_numbers REPEATS SECONDS_PER_SAMPLE CLIENTS
    check_words SUITES reads updates workers
    check_words SERVERS ours redis valkey floor
    SERVERS="redis $SERVERS"
    check_programs redis-benchmark redis-cli python3 "${CC:-cc}"
    check_installed
}

# describe: what the result was measured on, as lines of name, tab, value.
describe()
{
    describe_machine
    printf '%s\t%s\n' \
        shared_buffers "$(sql 'SHOW shared_buffers')" \
        memory "$(sql 'SHOW pg_local_cache.memory')" \
        redis "$(version_of redis)" \
        valkey "$(version_of valkey)" \
        client "$(redis-benchmark --version | cut -d ' ' -f 2)" \
        clients "$CLIENTS" \
        seconds "$SECONDS_PER_SAMPLE" \
        repeats "$REPEATS" \
        rows $rows \
        value_bytes $value_bytes \
        reads_per_write $reads_per_write \
        cpu_time "$([ -r /proc/self/schedstat ] && echo nanoseconds || echo ticks)" \
        quick "${QUICK:-0}"
}

version_of()
{
    [ -n "${server_pid[$1]:-}" ] || return 0
    "${server_program[$1]}" --version | sed 's/.*v=\([0-9.]*\).*malloc=\([^ ]*\).*/\1 (\2)/'
}

# requests_of batch pipeline: how many last about SECONDS_PER_SAMPLE on Redis.  The same for all servers and repetitions.
declare -A requests_counted
count_requests()
{
    local whole=$((CLIENTS * $2)) seconds=$SECONDS_PER_SAMPLE
    [ -z "${requests_counted[$1-$2]:-}" ] || return 0
    [ -z "$QUICK" ] || seconds=0.2
    run_benchmark redis items random "$1" "$2" $((whole * 100))
    requests_counted[$1-$2]=$(awk -v rate="$(csv_field 1)" -v seconds="$seconds" -v whole=$whole \
        'BEGIN { print int(rate * seconds / whole + 1) * whole }')
}

# sample suite table keys batch pipeline server [writes a second]: one sample, as one line of samples.tsv.
sample()
{
    local suite=$1 table=$2 keys=$3 batch=$4 pipeline=$5 server=$6 rate=${7:-0}
    local hits_before misses_before hits misses written_before=0 written=0 cpu cpu_before all all_before
    local requests=${requests_counted[$batch-$pipeline]}

    read -r hits_before misses_before < <(key_counts "$server")
    if [ "$rate" != 0 ]; then
        writer_start "$server" "$rate"
        written_before=$(write_count "$server")
    fi
    cluster_settle "$(sessions_of_writer "$server")"
    all_before=$(postgres_ns)
    cpu_before=$(server_ns "$server")
    run_benchmark "$server" "$table" "$keys" "$batch" "$pipeline" "$requests"
    cpu=$(server_ns "$server")
    all=$(postgres_ns)
    if [ "$rate" != 0 ]; then
        written=$(write_count "$server")
        writer_stop
        cluster_settle
    fi
    read -r hits misses < <(key_counts "$server")
    hits=$((hits - hits_before)) misses=$((misses - misses_before))
    check_keys "$server" $hits $misses $((requests * batch))

    printf '%s\t' "$suite" "$keys" "$batch" "$pipeline" "$server" "$([ "$rate" = 0 ] && echo 0 || echo 1)" "$repeat" \
        $((cpu - cpu_before)) $((all - all_before)) "$(awk '{ print $1 + $2 }' "$cluster_dir/client.time")" \
        "$requests" "$(csv_field 1)" "$(csv_field 4)" "$(csv_field 6)" $hits $misses >>"$cluster_dir/samples.tsv"
    printf '%s\n' $((written - written_before)) >>"$cluster_dir/samples.tsv"
    last_rate=$(csv_field 1)
}

sessions_of_writer()
{
    if [ -n "${writer_pid:-}" ] && [[ $1 == ours* ]]; then
        echo $writer_sessions
    else
        echo 0
    fi
}

# check_keys server hits misses asked: a key that is not taken for a row's is answered too soon.
check_keys()
{
    case $1 in
        ours*)          [ $(($2 + $3)) = "$4" ] || die "$1 looked for $(($2 + $3)) rows, but was asked for $4 keys" ;;
        redis | valkey) [ "$2 $3" = "$4 0" ] || die "$1 found $2 keys and missed $3, but was asked for $4" ;;
    esac
}

# group suite table keys batch pipeline servers...: what the suite does with each
# server, in an order that turns with the repetition.
group()
{
    local suite=$1 table=$2 keys=$3 batch=$4 pipeline=$5 i
    shift 5
    say "  $repeat/$REPEATS  $suite: $keys keys, batch of $batch, pipelines of $pipeline"
    count_requests "$batch" "$pipeline"
    for ((i = 0; i < $#; i++)); do
        "samples_$suite" "$suite" "$table" "$keys" "$batch" "$pipeline" "${*:1 + (i + repeat - 1) % $#:1}"
    done
}

samples_reads() { sample "$@"; }
samples_workers() { sample "$@"; }

# Without writes, then with one for a hundred of the requests that there were without.
samples_updates()
{
    if [[ $6 == ours* ]]; then
        sql "VACUUM mixed"
        warm "$6" mixed
        sql "CHECKPOINT"
    fi
    sample "$@"
    sample "$@" "$(awk -v rate="$last_rate" -v share=$reads_per_write 'BEGIN { printf "%.0f", rate / share }')"
}

suite_reads()
{
    local keys shape servers
    mapfile -t servers < <(present floor redis valkey ours)
    for keys in fixed random; do
        for shape in "1 1" "16 1" "64 1" "1 16"; do
            # shellcheck disable=SC2086  # batch and pipeline
            group reads items $keys $shape "${servers[@]}"
        done
    done
}

suite_updates()
{
    local batch servers
    mapfile -t servers < <(present redis valkey ours)
    for batch in 1 64; do
        group updates mixed random $batch 1 "${servers[@]}"
    done
}

suite_workers()
{
    local shape
    for shape in "1 1" "64 1" "1 16"; do
        # shellcheck disable=SC2086
        group workers items random $shape redis ours_2
    done
}

main()
{
    local suite repeat
    parse_options "$@"
    check_settings
    say "making the servers and their rows"
    postgres_start
    servers_start
    [ -n "$(present redis)" ] || die "there is nothing to compare with" "Install redis-server, or set REDIS_SERVER."
    describe >"$cluster_dir/machine.tsv"
    for ((repeat = 1; repeat <= REPEATS; repeat++)); do
        for suite in $SUITES; do
            [ "$suite" = workers ] || "suite_$suite"
        done
    done
    if [[ $SUITES == *workers* ]] && wanted ours; then
        endpoint_start 2
        for ((repeat = 1; repeat <= REPEATS; repeat++)); do
            suite_workers
        done
    fi
    mkdir -p "$out"
    local result
    result=$out/resp-$(sed -n 's/^machine\t//p' "$cluster_dir/machine.tsv").json
    python3 bench/lib/resp_report.py result "$cluster_dir/machine.tsv" "$cluster_dir/samples.tsv" >"$result"
    python3 bench/lib/resp_report.py tables "$result"
    say "written to $result"
}

main "$@"
