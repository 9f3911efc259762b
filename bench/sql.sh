#!/usr/bin/env bash
#
# bench/sql.sh: reads through the cache side by side with prepared SQL.
#
# Makes a disposable server, runs pgbench (prepared statements, one thread, a
# Unix socket) on it, and writes
#   build/bench/sql-<machine>.json   all samples, medians, ratios, targets
#   standard output                  the same as Markdown tables
#   standard error                   progress
# Wants the extension installed: make && make install.  Takes about a quarter of
# an hour.  It exits with 0 also when a target is missed: a benchmark is no test.
#
# The paths of one group run one after the other, in rotated order from one
# repetition to the next; a ratio compares two samples of the same group and
# repetition.  How keys and costs are made comparable is told in
# docs/benchmarks-sql.md, which this makes from a result:
#   bench/lib/sql_report.py publish build/bench/sql-<machine>.json docs
#
# Settings, from the environment:
#   PG_CONFIG            the server to use (pg_config)
#   REPEATS              repetitions (5)
#   SECONDS_PER_SAMPLE   length of one sample, whole seconds (2)
#   SUITES               any of: warm cold updates writes wide (all)
#   CLIENTS              connections (8)
#   MACHINE              name for the result (made from the processor's)
#   QUICK=1              a smoke run of some seconds; its figures mean nothing
#
set -euo pipefail

cd "$(dirname "$0")/.."
. bench/lib/common.sh
. bench/lib/cluster.sh

: "${PG_CONFIG:=pg_config}" "${QUICK:=}" "${REPEATS:=${QUICK:+1}}" "${REPEATS:=5}" "${SECONDS_PER_SAMPLE:=2}"
: "${SUITES:=warm cold updates writes wide}" "${CLIENTS:=8}" "${MACHINE:=}"

readonly rows=100000 cold_rows=$((QUICK ? 100000 : 1000000)) wide_4k_rows=2000 wide_40k_rows=500
readonly out=build/bench

check_settings()
{
    check_whole_numbers REPEATS SECONDS_PER_SAMPLE CLIENTS
    check_words SUITES warm cold updates writes wide
    check_installed
}

start_server()
{
    say "making a server and its tables"
    cluster_start <<-END
		shared_preload_libraries = 'pg_local_cache'
		pg_local_cache.memory = '128MB'
		shared_buffers = '512MB'
		max_wal_size = '2GB'
		checkpoint_timeout = '1h'
		autovacuum = off
		random_page_cost = 1.1
		plan_cache_mode = force_generic_plan
		jit = off
	END
    psql -f bench/sql/tables.sql -v rows=$rows -v cold_rows=$cold_rows \
        -v wide_4k_rows=$wide_4k_rows -v wide_40k_rows=$wide_40k_rows
    sql "CHECKPOINT"
    cluster_settle
}

# describe: what the result was measured on, as lines of name, tab, value.
describe()
{
    describe_machine
    printf '%s\t%s\n' \
        shared_buffers "$(sql 'SHOW shared_buffers')" \
        memory "$(sql 'SHOW pg_local_cache.memory')" \
        clients "$CLIENTS" \
        seconds "$SECONDS_PER_SAMPLE" \
        repeats "$REPEATS" \
        rows $rows \
        cold_rows $cold_rows \
        wide_4k_rows $wide_4k_rows \
        wide_40k_rows $wide_40k_rows \
        quick "${QUICK:-0}" \
        ticks_per_second "$(getconf CLK_TCK)" \
        ticks_to_connect "$(ticks_to_connect)"
}

# ticks_to_connect: CPU time, in ticks, for CLIENTS sessions to begin, prepare and end.
# Each sample pays it once; it is no part of a request.
ticks_to_connect()
{
    local before after runs=20 i
    write_script items fixed 1 floor >"$cluster_dir/read.sql"
    read -r before _ < <(cluster_cpu)
    for ((i = 0; i < runs; i++)); do
        run_pgbench fixed 1 -t 1 -f "$cluster_dir/read.sql" >/dev/null
    done
    cluster_settle
    read -r after _ < <(cluster_cpu)
    awk -v ticks=$((after - before)) -v runs=$runs 'BEGIN { print ticks / runs }'
}

# write_script table keys batch path: the pgbench script of one path.
#   fixed     the keys are one array parameter, the same at each request
#   uniform   other keys at each request.  pgbench cannot make an array
#             parameter of many random keys, so a batch is read from a table of
#             arrays; one key is a parameter
#   unasked   as uniform, and no key comes twice in a sample
write_script()
{
    local table=$1 keys=$2 batch=$3 path=$4 expression
    case $keys-$batch in
        fixed-*)   expression=':keys::bigint[]' ;;
        uniform-1) echo '\set key random(1, :rows)' ;;
        unasked-1) echo '\set key 1 + permute(:client_id + :clients * :turn, :rows)' ;;
        uniform-*) echo '\set batch random(0, :batches - 1)' ;;
        unasked-*) echo '\set batch permute(:client_id + :clients * :turn, :batches)' ;;
    esac
    case $keys-$batch in
        fixed-*)   ;;
        *-1)       expression='ARRAY[:key]::bigint[]' ;;
        *)         expression="(SELECT keys FROM ${table}_batches WHERE n = :batch)::bigint[]" ;;
    esac
    if [ "$keys" = unasked ]; then
        echo '\set turn :turn + 1'
    fi
    sed "s/@table@/$table/g; s/@keys@/$expression/g" "bench/sql/$path.sql"
}

# run_pgbench keys batch arguments...
run_pgbench()
{
    local keys=$1 batch=$2 fixed
    shift 2
    fixed=$(seq -s , 1 $((rows / batch)) $rows | cut -d , -f "1-$batch")
    "$cluster_bin/pgbench" -n -M prepared -c "$CLIENTS" -j 1 -D clients="$CLIENTS" -D rows="$table_rows" \
        -D batches=$((table_rows / batch)) -D turn=0 -D keys="{$fixed}" "$@"
}

# sample suite table keys batch path: one sample, as one line of samples.tsv.
sample()
{
    local suite=$1 table=$2 keys=$3 batch=$4 path=$5 before after hits_before=0 misses_before=0 hits=0 misses=0
    local length=(-T "$SECONDS_PER_SAMPLE") scripts=(-f "$cluster_dir/read.sql")
    [ -z "$QUICK" ] || length=(-t 100)
    table_rows=$(rows_of "$table")
    write_script "$table" "$keys" "$batch" "$path" >"$cluster_dir/read.sql"
    if [ "$suite" = updates ]; then
        write_script "$table" none 1 update_1 >"$cluster_dir/update.sql"
        scripts=(-f "$cluster_dir/read.sql@19" -f "$cluster_dir/update.sql@1")
    fi

    read -r hits_before misses_before < <(cache_counts)
    cluster_settle
    read -r before _ < <(cluster_cpu)
    TIMEFORMAT='%U %S'
    { time run_pgbench "$keys" "$batch" "${length[@]}" "${scripts[@]}" \
        >"$cluster_dir/pgbench.out" 2>"$cluster_dir/pgbench.err"; } 2>"$cluster_dir/pgbench.time" ||
        die_with_log "pgbench failed: $suite, $keys keys, batch of $batch, $path" "$cluster_dir/pgbench.err"
    cluster_settle
    read -r after _ < <(cluster_cpu)
    read -r hits misses < <(cache_counts)

    printf '%s\t' "$suite" "$table" "$keys" "$batch" "$path" "$repeat" $((after - before)) \
        "$(awk '{ print $1 + $2 }' "$cluster_dir/pgbench.time")" \
        "$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$cluster_dir/pgbench.out")" \
        "$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$cluster_dir/pgbench.out")" \
        $((hits - hits_before)) >>"$cluster_dir/samples.tsv"
    printf '%s\n' $((misses - misses_before)) >>"$cluster_dir/samples.tsv"
}

cache_counts()
{
    sql "SELECT hits || ' ' || misses FROM local_cache.metrics()"
}

rows_of()
{
    case $1 in
        items_cold) echo $cold_rows ;;
        *_4k)       echo $wide_4k_rows ;;
        *_40k)      echo $wide_40k_rows ;;
        *)          echo $rows ;;
    esac
}

# group suite table keys batch paths...: one sample of each path, in an order
# that turns with the repetition.
group()
{
    local suite=$1 table=$2 keys=$3 batch=$4 i
    shift 4
    say "  $repeat/$REPEATS  $suite: $table, $keys keys, batch of $batch"
    for ((i = 0; i < $#; i++)); do
        local path=${*:1 + (i + repeat - 1) % $#:1}
        "before_$suite" "$table"
        sample "$suite" "$table" "$keys" "$batch" "$path"
    done
}

# Each suite has its state to make before a sample.
before_warm() { :; }
before_wide() { :; }
before_cold() { sql "SELECT local_cache.invalidate('$1')" >/dev/null; }

# A write finds the table vacuumed and a checkpoint just done, on each path.
before_updates()
{
    sql "VACUUM $1"
    warm "$1"
    sql "CHECKPOINT"
}

# warm table: asks for all keys until hardly one is missing.  The cache's index
# forgets a few keys in a hundred thousand for want of a place, whatever its size.
warm()
{
    local before after
    for _ in 1 2 3; do
        read -r _ before < <(cache_counts)
        sql "SELECT count(local_cache.mget('$1', keys)) FROM ${1}_batches" >/dev/null
        read -r _ after < <(cache_counts)
        [ $(((after - before) * 100)) -gt "$(rows_of "$1")" ] || return 0
    done
    say "  $1: $((after - before)) keys were missing still at the third time of asking"
}

suite_warm()
{
    local batch
    warm items
    for batch in 1 16; do
        group warm items fixed $batch columns row_to_json mget mget_json mget_rows floor
    done
    group warm items fixed 64 columns row_to_json json_agg mget mget_json mget_rows floor
    group warm items uniform 1 columns row_to_json mget mget_json floor
    group warm items uniform 64 columns row_to_json json_agg mget mget_json floor
}

suite_cold()
{
    local batch
    for batch in 1 64; do
        group cold items_cold unasked $batch columns row_to_json mget mget_json
    done
}

suite_updates()
{
    local batch
    for batch in 1 64; do
        group updates items_mixed uniform $batch columns mget mget_json
    done
}

# Here the table is what changes, not the path.
suite_writes()
{
    local count tables i
    for count in 1 96; do
        say "  $repeat/$REPEATS  writes: UPDATE of $count rows"
        tables=(items_plain items_attached)
        for i in 0 1; do
            local table=${tables[(i + repeat) % 2]}
            sql "VACUUM $table"
            [ "$table" = items_plain ] || warm "$table"
            sql "CHECKPOINT"
            sample writes "$table" none 1 "update_$count"
        done
    done
}

suite_wide()
{
    local table
    for table in noise_4k prose_4k noise_40k prose_40k; do
        warm "$table"
        group wide "$table" uniform 16 columns row_to_json json_agg mget mget_json mget_rows
    done
}

main()
{
    local suite repeat
    check_settings
    start_server
    table_rows=$rows
    describe >"$cluster_dir/machine.tsv"
    for ((repeat = 1; repeat <= REPEATS; repeat++)); do
        for suite in $SUITES; do
            "suite_$suite"
        done
    done
    mkdir -p "$out"
    local result
    result=$out/sql-$(sed -n 's/^machine\t//p' "$cluster_dir/machine.tsv").json
    python3 bench/lib/sql_report.py result "$cluster_dir/machine.tsv" "$cluster_dir/samples.tsv" >"$result"
    python3 bench/lib/sql_report.py tables "$result"
    say "written to $result"
}

main
