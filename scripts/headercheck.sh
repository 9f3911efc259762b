#!/usr/bin/env bash
# Headers stand alone, and includes point one way.
#
#   scripts/headercheck.sh [PG_CONFIG]
#
# A header compiles with nothing but postgres.h before it, one of pure C with nothing at all, and may be included
# twice.  cache/ uses only itself; table/ uses cache/ and the headers on top; resp/ uses table/ too; sql/ uses all of
# them; nobody uses sql/.
set -euo pipefail
cd "$(dirname "$0")/../src"

PG_CONFIG=${1:-${PG_CONFIG:-pg_config}}
FLAGS=(-std=gnu99 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -Werror
    -fsyntax-only -x c -I.)
SERVER=(-isystem "$("$PG_CONFIG" --includedir-server)")
CHECKED=0
WRONG=0

main() {
    local file

    while read -r file; do
        stands_alone "$file" || wrong "$file does not compile alone"
        CHECKED=$((CHECKED + 1))
    done < <(find . -name '*.h' -printf '%P\n' | sort)
    check_includes
    echo "$CHECKED headers checked, $WRONG faults"
    [ "$WRONG" -eq 0 ] && [ "$CHECKED" -gt 0 ]
}

wrong() {
    echo "$1" >&2
    WRONG=$((WRONG + 1))
}

stands_alone() {
    local twice="#include \"$1\"\n#include \"$1\"\n"

    case $1 in
        cache/* | resp/buffer.h | resp/codec.h | resp/rowjson.h | resp/wirekey.h) printf '%b' "$twice" | "${CC:-gcc}" "${FLAGS[@]}" - ;;
        *) printf '%b' "#include \"postgres.h\"\n$twice" | "${CC:-gcc}" "${FLAGS[@]}" "${SERVER[@]}" - ;;
    esac
}

check_includes() {
    local file included

    while IFS=: read -r file included; do
        allowed "$file" "$included" || wrong "$file must not include \"$included\""
    done < <(grep -ro --include='*.[ch]' '^#[[:space:]]*include[[:space:]]*"[^"]*"' . |
        sed 's,^\./,,; s,:.*"\(.*\)",:\1,' | sort)
}

# allowed FILE INCLUDED
allowed() {
    if [[ $1 == cache/* ]]; then
        [[ $2 == cache/* ]]
        return
    fi
    [ -e "$2" ] || return 0 # a header of the server
    case $1 in
        sql/*) ;;
        resp/*) [[ $2 != sql/* ]] ;;
        table/*) [[ $2 == cache/* || $2 == table/* || $2 != */* ]] ;;
        *.h) [[ $2 == cache/* || $2 != */* ]] ;;
        *) [[ $2 != sql/* ]] ;;
    esac
}

main "$@"
