#!/usr/bin/env bash
# Shows that the checker has teeth: with any one rule of the proof cut out of
# the extension (src/rules.h) it must fail, and with none cut out it must pass.
#
#   ./teeth.sh [--seconds N] [--seed N] [RULE ...]
#
# --seconds is the longest that one build is tried (default 20).  Each build is
# installed into a private copy of the server, in a temporary folder; the
# server's own installation is not touched.
set -euo pipefail
cd "$(dirname "$0")"

PG_CONFIG=${PG_CONFIG:-pg_config}
seconds=20
seed=$RANDOM
rules=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --seconds) seconds=${2:?"--seconds wants a number"}; shift 2 ;;
        --seed) seed=${2:?"--seed wants a number"}; shift 2 ;;
        -*) echo "usage: ./teeth.sh [--seconds N] [--seed N] [RULE ...]" >&2; exit 2 ;;
        *) rules+=("$1"); shift ;;
    esac
done
[[ ${#rules[@]} -gt 0 ]] || rules=(none PROOF P2 P3 P6 P7 P8)

dir=$(mktemp -d "${TMPDIR:-/tmp}/plc-teeth.XXXXXX")
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"

# The sources, copied, so that the working tree keeps its own build.
copy_sources() {
    mkdir "$dir/tree"
    cp -r ../../src ../../sql ../../Makefile ../../pg_local_cache.control "$dir/tree"
}

# Builds with these flags and installs below a root.  Programs find their
# libraries and scripts from where they themselves are, so they are copied, and
# the rest of the installation is linked to.
install_below() {
    local root=$1 flags=$2 bin share lib
    bin=$("$PG_CONFIG" --bindir) share=$("$PG_CONFIG" --sharedir) lib=$("$PG_CONFIG" --pkglibdir)
    make -s -C "$dir/tree" PG_CONFIG="$PG_CONFIG" with_llvm=no clean
    make -s -C "$dir/tree" PG_CONFIG="$PG_CONFIG" with_llvm=no PLC_RULES="$flags" DESTDIR="$root" all install
    mkdir -p "$root$bin"
    cp "$bin/postgres" "$bin/initdb" "$bin/pg_ctl" "$root$bin"
    cp --archive --symbolic-link --no-clobber "$share/." "$root$share"
    cp --archive --symbolic-link --no-clobber "$lib/." "$root$lib"
}

# One line of the table.  Succeeds if the checker said what it should.
try() {
    local rule=$1 root=$dir/$1 report=$dir/$1.report flags='' verdict=PASS wanted=FAIL first seen
    if [[ $rule == none ]]; then
        wanted=PASS
    else
        flags=-DPLC_WITHOUT_$rule
    fi
    if ! install_below "$root" "$flags" >"$report" 2>&1; then
        cat "$report" >&2
        return 1
    fi
    ./run.sh --root "$root" --seconds "$seconds" --seed "$seed" --enough 1 >"$report" 2>&1 || verdict=FAIL
    rm -rf "$root"

    seen=$(sed -n 's/^mismatches *\([0-9]*\).*/\1/p' "$report")
    first=$(sed -n 's/^mismatches.* the first after \([0-9.]*\) s: \(.*\)/\1  \2/p' "$report")
    printf '%-6s  %-4s  %10s  %s\n' "$rule" "$verdict" "${seen:-?}" "${first:--}"
    # a rule counts as found by a mismatch, not by a crash or a lack of hits
    if [[ $verdict != "$wanted" || ($wanted == FAIL && ${seen:-0} == 0) ]]; then
        cat "$report"
        return 1
    fi
}

copy_sources
make -s PG_CONFIG="$PG_CONFIG" checker
echo "seed $seed, at most $seconds s each"
printf '%-6s  %-4s  %10s  %s\n' "cut" "run" "mismatches" "s     first"
status=0
for rule in "${rules[@]}"; do
    try "$rule" || status=1
done
if [[ $status != 0 ]]; then
    echo "FAIL: the checker missed a rule, or the honest build failed"
fi
exit "$status"
