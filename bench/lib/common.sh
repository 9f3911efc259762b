# shellcheck shell=bash
# bench/lib/common.sh: what all benchmarks share.  Sourced, before cluster.sh.
#
# shellcheck disable=SC2154  # what cluster.sh sets

die()
{
    printf '%s: %s\n' "$0" "$1" >&2
    [ -z "${2:-}" ] || printf '%s\n' "$2" >&2
    exit 1
}

die_with_log()
{
    tail -n 20 "$2" >&2
    die "$1"
}

say()
{
    printf '%s\n' "$*" >&2
}

# check_whole_numbers name...: settings from the environment.
check_whole_numbers()
{
    local name
    for name; do
        [[ ${!name} =~ ^[1-9][0-9]*$ ]] || die "$name is \"${!name}\"" "It must be a whole number, 1 or more."
    done
}

# check_words name word...: a setting that is made of any of these words.
check_words()
{
    local name=$1 word
    shift
    for word in ${!name}; do
        [[ " $* " == *" $word "* ]] || die "$name: unrecognized word \"$word\"" "It takes any of: $*."
    done
}

check_programs()
{
    local program
    for program; do
        command -v "$program" >/dev/null || die "there is no program \"$program\""
    done
}

check_installed()
{
    local installed
    command -v "$PG_CONFIG" >/dev/null || die "could not find \"$PG_CONFIG\"" "Name a server's pg_config with PG_CONFIG=."
    installed=$("$PG_CONFIG" --pkglibdir)/pg_local_cache.so
    [ -f "$installed" ] || die "the extension is not installed in $installed" "Run: make && make install"
    [ ! -f pg_local_cache.so ] || cmp -s pg_local_cache.so "$installed" ||
        say "warning: $installed is not the library that was built here; run make install to measure that one"
}

psql()
{
    "$cluster_bin/psql" -XqAt -v ON_ERROR_STOP=1 "$@"
}

sql()
{
    psql -c "$1"
}

# describe_machine: what a result was measured on, as lines of name, tab, value.
# Sets MACHINE if it is empty.
describe_machine()
{
    local cpu
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    [ -n "$MACHINE" ] || MACHINE=$(printf '%s %s cores' "${cpu:-$(uname -m)}" "$(nproc)" |
        tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9' '-')
    printf '%s\t%s\n' \
        machine "$MACHINE" \
        cpu "${cpu:-$(uname -m)}" \
        cores "$(nproc)" \
        memory_mb "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)" \
        kernel "$(uname -sr)" \
        date "$(date -u +%Y-%m-%d)" \
        load_before "$(cut -d ' ' -f 1 /proc/loadavg)" \
        data_on "$(df -P "$cluster_dir" | awk 'NR == 2 { print $1 }')" \
        postgresql "$(sql 'SHOW server_version')" \
        extension "$(sql "SELECT extversion FROM pg_extension WHERE extname = 'pg_local_cache'")"
}
