#!/usr/bin/env bash
# Shows that the checker has teeth: with any one rule of the proof or of a turn cut out of the extension (src/rules.h) it
# must find a mismatch, and with none cut out it must pass.
#
#   ./teeth.sh [--seconds N] [--seed N] [--only-resp] [RULE ...]
#
# --seconds is the longest that one build is tried (default 20).  --only-resp wants the mismatch to be seen by a reader of
# the endpoint.  Each build is installed into a private copy of the server, in a temporary folder; the server's own
# installation is not touched, nor is the build in the source folder.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

SECONDS_EACH=20
SEED=$RANDOM
ONLY_RESP=()
SQL_RULES=(P7) # a rule of transactions that clients of the endpoint do not have; T4 is its like
RULES=()

main() {
    local rule status=0

    parse_options "$@"
    choose_server
    DIR=$(mktemp -d "${TMPDIR:-/tmp}/plc-teeth.XXXXXX")
    trap 'rm -rf "$DIR"' EXIT
    chmod 755 "$DIR" # the server's user must get in
    copy_source "$DIR/source"

    say "seed $SEED, at most $SECONDS_EACH s each"
    print_line cut run mismatches "first after"
    for rule in "${RULES[@]}"; do
        try "$rule" || status=1
    done
    [ "$status" = 0 ] || say "FAIL: a cut went unnoticed, or the complete build failed"
    return "$status"
}

parse_options() {
    while [ $# -gt 0 ]; do
        case $1 in
            --seconds) SECONDS_EACH=${2:?"--seconds wants a number"}; shift 2 ;;
            --seed) SEED=${2:?"--seed wants a number"}; shift 2 ;;
            --only-resp) ONLY_RESP=("$1") SQL_RULES=(); shift ;;
            -*) die "there is no option \"$1\"" "Usage: ./teeth.sh [--seconds N] [--seed N] [--only-resp] [RULE ...]" ;;
            *) RULES+=("$1"); shift ;;
        esac
    done
    [ ${#RULES[@]} -gt 0 ] || RULES=(none PROOF P2 P3 P6 "${SQL_RULES[@]}" P8 T1 T2 T3 T4)
}

print_line() { printf '%-6s %-5s %-11s %s\n' "$@"; }

# try RULE: builds without it, runs the checker, prints a line; succeeds if the checker said what it should.
try() {
    local rule=$1 root=$DIR/$1 report=$DIR/$1.report flags="" wanted=PASS verdict=PASS found

    if [ "$rule" != none ]; then
        grep -q "PLC_WITHOUT_$rule\$" "$SOURCE/src/rules.h" || die "there is no rule \"$rule\" in src/rules.h"
        flags=-DPLC_WITHOUT_$rule
        wanted=FAIL
    fi
    install_below "$root" "$flags" >"$report" 2>&1 || die "could not build" "$(tail -n 20 "$report")"
    "$SOURCE/test/stress/run.sh" --root "$root" --seconds "$SECONDS_EACH" --seed "$SEED" --enough 1 "${ONLY_RESP[@]}" \
        >"$report" 2>&1 || verdict=FAIL
    rm -rf "$root"

    # A cut is noticed by a mismatch, not by a crash or a lack of hits.
    found=$(sed -n 's/^mismatches *\([0-9]*\).*/\1/p' "$report")
    print_line "$rule" "$verdict" "${found:-?}" "$(sed -n 's/^mismatches.* the first after //p' "$report")"
    [ "$verdict" = "$wanted" ] && { [ "$wanted" = PASS ] || [ "${found:-0}" -gt 0 ]; } ||
        { cat "$report"; return 1; }
}

# install_below ROOT FLAGS: programs find their libraries and scripts from where they are themselves, so they are
# copied, and what else the server has is linked to.
install_below() {
    local root=$1 make=(make --silent -C "$DIR/source" PG_CONFIG="$PG_CONFIG" with_llvm=no) bin share lib

    bin=$("$PG_CONFIG" --bindir)
    share=$("$PG_CONFIG" --sharedir)
    lib=$("$PG_CONFIG" --pkglibdir)
    "${make[@]}" clean
    "${make[@]}" PLC_RULES="$2" DESTDIR="$root" all install
    mkdir -p "$root$bin"
    cp "$bin/postgres" "$bin/initdb" "$bin/pg_ctl" "$root$bin"
    cp --archive --symbolic-link --no-clobber "$share/." "$root$share"
    cp --archive --symbolic-link --no-clobber "$lib/." "$root$lib"
}

main "$@"
