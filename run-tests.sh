#!/usr/bin/env bash
# All tests, from a fresh clone on Debian: installs what is missing, builds, tests, and counts.
#
#   ./run-tests.sh                 everything
#   ./run-tests.sh unit tap        only these steps (what they need is built and installed first)
#
# PGVERSION or PG_CONFIG chooses the server.  The clone is copied to a temporary folder and stays as it is; the
# extension is installed into the server's folders, over a version that is there; servers are temporary and run as an
# unprivileged user.  As root or with sudo.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/scripts/lib.sh"

STEPS=(build install headercheck doccheck unit unit-asan unit-tsan fuzz installcheck tap checker clients)
STEP_LIMIT=600 # seconds; a step that hangs is stopped and has failed
PASSED=0
FAILED=0
SKIPPED=0

main() {
    local step steps

    case ${1:-} in -h | --help) usage && say "" "Steps: ${STEPS[*]}" && return ;; esac
    mapfile -t steps < <(plan "$@")
    [ ${#steps[@]} -gt 0 ] || exit 1
    prepare
    for step in "${steps[@]}"; do
        run_step "$step"
        can_go_on "$step" || break
    done
    [ "$FAILED" -gt 0 ] || rm -rf "$WORK"
    [ "$FAILED" -eq 0 ] || say "Logs and everything else: $WORK"
    say "$PASSED passed, $FAILED failed$([ "$SKIPPED" -eq 0 ] || echo ", $SKIPPED skipped")"
    [ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ]
}

# Prints the steps to run, one a line: those wanted, in their order, and what they build on.
plan() {
    local step wanted=" $* "

    for step; do
        [[ " ${STEPS[*]} " == *" $step "* ]] || die "there is no step \"$step\"" "Steps: ${STEPS[*]}"
    done
    [ $# -gt 0 ] || wanted=" ${STEPS[*]} "
    case $wanted in *" installcheck "* | *" tap "* | *" checker "* | *" clients "* | *" install "*) wanted+="build install " ;; esac
    for step in "${STEPS[@]}"; do
        [[ $wanted != *" $step "* ]] || echo "$step"
    done
}

# can_go_on STEP: without a build or an installation, the rest would fail too, or test what was installed before.
can_go_on() {
    [ "$FAILED" -gt 0 ] || return 0
    case $1 in
        build) say "Stopped: the build failed." ;;
        install) say "Stopped: the installation failed.  It needs root, or a user who may use sudo." ;;
        *) return 0 ;;
    esac
    return 1
}

prepare() {
    [[ " ${steps[*]} " != *" install "* ]] || need_root
    choose_user
    ensure_user
    choose_server
    install_server perl libipc-run-perl libpq-dev libhiredis-dev gdb
    [[ " ${steps[*]} " != *" fuzz "* ]] || install_fuzzer
    [[ " ${steps[*]} " != *" clients "* ]] || install_client_tools
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/plc-tests.XXXXXX")
    trap stop_everything EXIT
    mkdir "$WORK/tmp" "$WORK/logs"
    copy_source "$WORK/source"
    own "$WORK"
    cd "$WORK/source"
    export HOME=$WORK TMPDIR=$WORK/tmp PATH=$BINDIR:$PATH
    say "Testing with $("$PG_CONFIG" --version) as user $RUN_USER in $WORK"
}

# clang, and what it links fuzzers and sanitizers with.
install_fuzzer() {
    local version

    install_packages clang
    version=$(clang -dumpversion)
    install_packages "libclang-rt-${version%%.*}-dev"
}

# What the clients run on, unless it is there in a form of its own.  What Debian offers may be too old for some of them;
# these are skipped then.
install_client_tools() {
    local packages=()

    as_user sh -c 'command -v npm' >/dev/null || packages+=(nodejs npm)
    as_user sh -c 'command -v go' >/dev/null || packages+=(golang-go)
    as_user sh -c 'command -v redis-benchmark' >/dev/null || packages+=(redis-tools)
    as_user python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
    [ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}"
}

stop_everything() {
    [ -z "${STEP_PID:-}" ] || kill "$STEP_PID" 2>/dev/null || true
    stop_servers "$WORK"
}

# Steps

run_step() {
    local step=$1 log=$WORK/logs/$1.log start=$SECONDS status=0 ok=0 bad=0

    step_command "$step"
    # In the background and waited for, so that an interrupt is acted upon at once.
    timeout --kill-after=10 "$STEP_LIMIT" "${COMMAND[@]}" >"$log" 2>&1 </dev/null &
    STEP_PID=$!
    wait "$STEP_PID" || status=$?
    STEP_PID=
    stop_servers "$WORK"
    case $step in
        unit* | tap) count_prove "$log" ;;
        installcheck) count_regress "$log" ;;
        clients) count_clients "$log" ;;
        *) ok=0 ;;
    esac
    judge
}

# Sets COMMAND.  Root only for install.
step_command() {
    local make=(make PG_CONFIG="$PG_CONFIG" WERROR=1) user=() fixed=()

    [ "$EUID" -ne 0 ] || user=(runuser -u "$RUN_USER" --)
    # Some kernels scatter a program's memory wider than the thread sanitizer can follow.
    ! setarch -R true 2>/dev/null || fixed=(setarch -R)
    case $1 in
        build) COMMAND=("${user[@]}" "${make[@]}" --silent --keep-going -j"$(nproc)" all) ;;
        install) if [ "$EUID" -eq 0 ]; then COMMAND=("${make[@]}" install); else COMMAND=(sudo -n "${make[@]}" install); fi ;;
        clients) COMMAND=("${user[@]}" test/clients/run.sh) ;;
        checker) COMMAND=("${user[@]}" test/stress/run.sh --seconds 10) ;;
        unit-tsan) COMMAND=("${user[@]}" "${fixed[@]}" "${make[@]}" "$1") ;;
        *) COMMAND=("${user[@]}" "${make[@]}" "$1") ;;
    esac
}

# Counting: the first three set ok and bad of run_step.

# prove's own sums: "Files=2, Tests=31, ..." and "t/a.pl (Wstat: 256 Tests: 3 Failed: 1)"
count_prove() {
    read -r ok bad < <(awk '
        match($0, /^Files=[0-9]+, Tests=[0-9]+/) { sub(/.*Tests=/, "", $2); total += $2 + 0 }
        /\(Wstat: / && match($0, /Failed: [0-9]+/) { bad += substr($0, RSTART + 8, RLENGTH - 8) }
        END { print total - bad, bad + 0 }' "$1")
}

# pg_regress: "test basic   ... ok   12 ms" up to 15, "ok 1   - basic   12 ms" since 16
count_regress() {
    read -r ok bad < <(awk '
        / \.\.\. ok( |$)/ || /^ok [0-9]+ / { ok++ }
        / \.\.\. FAILED/ || /^not ok [0-9]+ / { bad++ }
        END { print ok + 0, bad + 0 }' "$1")
}

# The last line: "31 passed, 0 failed, 12 skipped".  Who was skipped, and why, is worth a line each.
count_clients() {
    read -r ok _ bad _ SKIPPED _ < <(tail -n 1 "$1" | grep -x '[0-9]* passed, [0-9]* failed, [0-9]* skipped' || echo 0 - 0 - 0)
    grep '^skipped ' "$1" || true
}

# The seed too, to run it again.
count_checker() {
    sed -n 's/.*\(seed [0-9]*\)$/\1/p; s/^checked reads *\([0-9]*\).*/\1 checked reads/p
        s/^cache hits *\([0-9]*\).*/\1 cache hits/p; s/^mismatches *\([0-9]*\).*/\1 mismatches/p' "$1" |
        paste -sd, | sed 's/,/, /g'
}

# The inputs that all fuzzers together have tried.
count_fuzz() {
    awk '/^fuzz_.*: [0-9]+ inputs$/ { total += $2 } END { print total + 0 }' "$1"
}

# A step passes if its command does; a step of tests that ran none has failed.
judge() {
    local counted="" verdict=ok

    case $step in
        unit* | tap | installcheck)
            counted="$ok passed, $bad failed"
            [ $((ok + bad)) -gt 0 ] || status=1 ;;
        clients)
            counted="$ok passed, $bad failed, $SKIPPED clients skipped"
            [ $((ok + bad)) -gt 0 ] || status=1 ;;
        checker) counted=$(count_checker "$log") ;;
        fuzz)
            counted=$(count_fuzz "$log")
            [ "$counted" -gt 0 ] || status=1
            counted+=" inputs" ;;
    esac
    if [ "$status" -eq 0 ] && [ "$bad" -eq 0 ]; then
        ok=$((ok + 1))
    else
        verdict=FAILED
        bad=$((bad + 1))
    fi
    PASSED=$((PASSED + ok))
    FAILED=$((FAILED + bad))
    printf '%-13s %-7s %4d s   %s\n' "$step" "$verdict" $((SECONDS - start)) "$counted"
    [ "$verdict" = ok ] || show_failure
}

show_failure() {
    local file

    [ "$status" -ne 124 ] || say "Stopped after $STEP_LIMIT seconds."
    show_tail "$log" 80
    [ "$step" != installcheck ] || while read -r file; do
        show_tail "$file" 100
    done < <(find test/regress/output test/isolation/output -name regression.diffs -size +0)
    [ "$step" != installcheck ] || while read -r file; do
        show_tail "$file" 20
    done < <(find test/regress/output test/isolation/output -path '*/log/*.log' -size +0)
    [ "$step" != tap ] || while read -r file; do
        show_tail "$file" 30
    done < <(logs_of_failed_scripts)
}

logs_of_failed_scripts() {
    local script

    sed -n 's,^t/\(.*\)\.pl *(Wstat: .*,\1,p' "$log" | while read -r script; do
        find tmp_check -path '*/log/*' -name "*$script*"
    done
}

show_tail() {
    printf -- '---- %s, last %d lines\n' "$1" "$2"
    tail -n "$2" "$1"
    printf -- '----\n'
}

main "$@"
