#!/usr/bin/env bash
# The documents agree with the code, both ways.
#
#   docs/configuration.md   a heading for each setting of src/guc.c, and no other
#   docs/sql.md             a heading for each function and view of the install script; every local_cache.NAME in any
#                           document exists
#   docs/monitoring.md      a table row "| `name` | ..." for each counter of src/stats.h and src/resp/endpoint.h and
#                           column of metrics(), and no other
#   docs/resp.md            a table row "| `NAME arguments` | summary | ..." for each command and subcommand of
#                           src/resp/command.c, with its arguments and summary, and no other
#   docs/consistency.md     numbered promises; each names a test file, and every test file that is named exists
#   docs/benchmarks-*.md    what its result file gives, to the byte, if there is python3 to tell
#   *.md                    relative links lead to files
set -euo pipefail
cd "$(dirname "$0")/.."

CHECKED=0
WRONG=0

main() {
    agree "setting" "src/guc.c" settings_in_code "docs/configuration.md" settings_in_docs
    agree "counter" "the headers and metrics()" counters_in_code "docs/monitoring.md" counters_in_docs
    agree "command" "src/resp/command.c" commands_in_code "docs/resp.md" commands_in_docs
    check_columns
    check_sql
    check_promises
    check_benchmarks
    check_links
    echo "$CHECKED facts checked, $WRONG faults"
    [ "$WRONG" -eq 0 ] && [ "$CHECKED" -gt 0 ]
}

wrong() {
    echo "$1" >&2
    WRONG=$((WRONG + 1))
}

# agree KIND SOURCE LIST DOCUMENT LIST: both lists, functions that print names, one a line, are equal and not empty.
agree() {
    local kind=$1 source=$2 document=$4 code docs name

    [ -e "$document" ] || { wrong "$document is missing" && return; }
    code=$($3 | sort -u)
    docs=$($5 | sort -u)
    [ -n "$code" ] || wrong "no ${kind}s found in $source"
    while read -r name; do
        wrong "$document: $kind \"$name\" of $source is missing"
    done < <(comm -23 <(echo "$code") <(echo "$docs"))
    while read -r name; do
        wrong "$document: there is no $kind \"$name\" in $source"
    done < <(comm -13 <(echo "$code") <(echo "$docs"))
    CHECKED=$((CHECKED + $(wc -l <<<"$code")))
}

# The names in quotes on the lines that define settings; headings that name one.
settings_in_code() { sed -n 's/.*DefineCustom[A-Za-z]*Variable("\([^"]*\)".*/\1/p' src/guc.c; }
settings_in_docs() { grep '^#' docs/configuration.md | grep -o 'pg_local_cache\.[a-z_]*' || true; }

counters_in_code() {
    counters_of src/stats.h src/resp/endpoint.h
    columns_of metrics
}
# counters_of HEADER... prints the names in their tables.
counters_of() { sed -n 's/^[[:space:]]*X([A-Z_]*, "\([^"]*\)").*/\1/p' "$@"; }
counters_in_docs() { sed -n 's/^| *`\([a-z_]*\)` *|.*/\1/p' docs/monitoring.md; }

# columns_of FUNCTION prints its OUT columns of type bigint.
columns_of() {
    sed -n "/^CREATE FUNCTION local_cache\.$1(/,/^RETURNS/p" sql/pg_local_cache.sql |
        grep -o 'OUT [a-z_]* bigint' | cut -d' ' -f2
}

# A line "NAME arguments: summary" for each command that has a handler: `{"get", 2, READ, plc_cmd_get, ...`.  In the code
# the table of a command's subcommands, `client_commands[]`, stands before that of all commands.
commands_in_code() {
    perl -ne '
        $container = $1 eq "plc" ? "" : "$1 " if /^(?:static )?const PlcCommand (\w+)_commands\[\]/;
        next unless /^\t\{"([^"]+)", (-?\d+), [^,]+, (\w+),.*?"[^"]*", "([^"]*)", "([^"]*)"/ && $3 ne "NULL";
        print uc("$container$1"), $4 eq "" ? "" : " $4", ": $5\n";' src/resp/command.c
}
commands_in_docs() {
    perl -ne '
        next unless /^## Commands/ .. /^## Order/ and /^\| `((?:[^`\\]|\\.)*)` \| (.*?) \| /;
        print "$1: $2\n" =~ s/\\\|/|/gr;' docs/resp.md
}

# A counter is in the SQL surface wherever counters are.
check_columns() {
    columns_have metrics src/stats.h src/resp/endpoint.h
    columns_have table_stats src/stats.h
}

# columns_have FUNCTION HEADER...
columns_have() {
    local function=$1 name

    shift
    for name in $(comm -23 <(counters_of "$@" | sort) <(columns_of "$function" | sort)); do
        wrong "sql/pg_local_cache.sql: counter \"$name\" is not a column of $function()"
    done
}

check_sql() {
    local name

    [ -e docs/sql.md ] || { wrong "docs/sql.md is missing" && return; }
    for name in $(names_in_sql FUNCTION VIEW); do
        grep '^#' docs/sql.md | grep -qw "$name" || wrong "docs/sql.md: no heading for \"$name\""
        CHECKED=$((CHECKED + 1))
    done
    for name in $(comm -13 <(names_in_sql FUNCTION VIEW TABLE | sort) <(documents | xargs grep -ohP '(?<![\w.])local_cache\.\K[a-z_]+' | sort -u)); do
        wrong "$(documents | xargs grep -lw "local_cache\.$name" | head -n 1): there is no local_cache.$name"
    done
}

# names_in_sql KIND...
names_in_sql() {
    local kind

    for kind; do
        sed -n "s/^CREATE $kind local_cache\.\([a-z_]*\).*/\1/p" sql/pg_local_cache.sql
    done | sort -u
}

# A promise begins with its number, as a list item, in bold or in a heading, and ends where the next begins.
check_promises() {
    local number tests file

    [ -e docs/consistency.md ] || { wrong "docs/consistency.md is missing" && return; }
    while read -r number tests; do
        CHECKED=$((CHECKED + 1))
        [ -n "$tests" ] || wrong "docs/consistency.md: promise $number names no test"
        for file in $tests; do
            [ -f "$file" ] || wrong "docs/consistency.md: promise $number names $file, which does not exist"
        done
    done < <(promises)
    [ -n "$(promises)" ] || wrong "docs/consistency.md: no numbered promise found"
}

# Prints a line for each promise: its number and the test files named in it.
promises() {
    awk '
        match($0, /^(#+ +)?(\*\*)?[0-9]+\. /) { flush(); number = $0; gsub(/^[#* ]+|\..*/, "", number); text = "" }
        /^#/ && $0 !~ /^#+ +(\*\*)?[0-9]+\. / { flush() }
        number != "" {
            line = $0
            while (match(line, /test\/[A-Za-z0-9_.\/-]*[A-Za-z0-9_]/)) {
                text = text " " substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
            }
        }
        END { flush() }
        function flush() { if (number != "") print number text; number = "" }' docs/consistency.md
}

check_benchmarks() {
    local page name reason

    command -v python3 >/dev/null || { echo "no python3: docs/benchmarks-*.md not checked" >&2 && return; }
    for page in docs/benchmarks-*.md; do
        name=${page#docs/benchmarks-}
        CHECKED=$((CHECKED + 1))
        reason=$("bench/lib/${name%.md}_report.py" check docs 2>&1) || wrong "$reason"
    done
}

check_links() {
    local file target

    while IFS=$'\t' read -r file target; do
        CHECKED=$((CHECKED + 1))
        [ -e "$(dirname "$file")/$target" ] || wrong "$file: link to $target leads nowhere"
    done < <(documents | xargs perl -ne '
        while (/\]\(([^)#\s]+)[^)]*\)/g) { print "$ARGV\t$1\n" unless $1 =~ /^(https?|mailto):/ }')
}

documents() { find . -name '*.md' -not -path './.git/*' -not -path './tmp_check/*' | sort; }

main "$@"
