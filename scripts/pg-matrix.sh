#!/usr/bin/env bash
# Builds and tests on PostgreSQL versions that Debian 12 does not carry, each in a small Debian of its own.
#
#   scripts/pg-matrix.sh                   17 and 18: build, install, make installcheck
#   scripts/pg-matrix.sh 18                only 18; 15 is there too, as a Debian 12 where nothing was installed before
#   scripts/pg-matrix.sh --build           only compile, to see errors early (seconds, once the roots are made)
#   scripts/pg-matrix.sh 17 -- tap unit    other steps of run-tests.sh; "-- all" for all
#
# As root.  The Debians stay in PLC_MATRIX_DIR (default /var/tmp/pg_local_cache-matrix), about 2 GB each, for the
# next time.  Nothing is mounted where others see it, and no process outlives its run: each works in mount and
# process namespaces of its own.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

MATRIX_DIR=${PLC_MATRIX_DIR:-/var/tmp/pg_local_cache-matrix}
# Left empty, debootstrap takes its own default.
MIRROR=${PLC_MATRIX_MIRROR:-}
PASSED=0
FAILED=0

main() {
    local version versions=() steps=(build installcheck)

    while [ $# -gt 0 ]; do
        case $1 in
            --build) steps=(build) ;;
            -h | --help) usage && return ;;
            --) shift && steps=("$@") && break ;;
            *) suite_of "$1" >/dev/null && versions+=("$1") ;;
        esac
        shift
    done
    [ "${steps[*]}" != all ] || steps=()
    [ ${#versions[@]} -gt 0 ] || versions=(17 18)
    [ "$EUID" -eq 0 ] || die "making a Debian needs root"
    install_packages debootstrap

    for version in "${versions[@]}"; do
        test_version "$version" "${steps[@]}"
    done
    say "$PASSED passed, $FAILED failed"
    [ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ]
}

suite_of() {
    case $1 in
        15) echo bookworm ;;
        17) echo trixie ;;
        18) echo sid ;;
        *) die "no Debian suite is known for PostgreSQL \"$1\"" "Versions: 15 17 18" ;;
    esac
}

# test_version VERSION STEP...
test_version() {
    local version=$1 root log passed failed

    root=$MATRIX_DIR/$(suite_of "$version")
    log=$root.log
    shift
    say "== PostgreSQL $version in $root"
    lock "$root"
    make_root "$root"
    rm -rf "$root/src" "$root"/tmp/plc-tests.*
    copy_source "$root/src"
    enter "$root" env PGVERSION="$version" /src/run-tests.sh "$@" >"$log" 2>&1
    tail --pid="$INSIDE" --lines=+1 --follow "$log"
    read -r passed failed < <(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log") || true
    PASSED=$((PASSED + ${passed:-0}))
    FAILED=$((FAILED + ${failed:-1})) # no result is a failure
}

# One run at a time in a root.  The lock is that of the open file, and goes with this process and its children.
lock() {
    mkdir -p "$MATRIX_DIR"
    exec 9>"$1.lock"
    flock --nonblock 9 || { say "Waiting for another run that uses $1" && flock 9; }
}

# A root is whole when debootstrap has removed its own folder from it.
make_root() {
    local root=$1

    if [ ! -x "$root/usr/bin/apt-get" ] || [ -d "$root/debootstrap" ]; then
        rm -rf --one-file-system "$root"
        say "Making a Debian ${root##*/}"
        isolate debootstrap --variant=minbase "${root##*/}" "$root" ${MIRROR:+"$MIRROR"} >"$root.log" 2>&1
        wait "$INSIDE" ||
            { tail -n 20 "$root.log" && die "debootstrap failed, see $root.log"; }
    fi
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no package starts a service in there
    chmod +x "$root/usr/sbin/policy-rc.d"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    enter "$root" dpkg --configure --pending >"$root.log" 2>&1
    wait "$INSIDE" ||
        { tail -n 20 "$root.log" && die "half-installed packages in $root could not be configured"; }
}

# enter ROOT COMMAND...  Packages need /proc to be configured, servers need /dev/shm.
enter() {
    # shellcheck disable=SC2016
    isolate bash -c '
        set -e
        mount -t proc proc "$1/proc"
        mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
        exec chroot "$@"' enter "$@"
}

# Starts the command; INSIDE is the process to wait for.  When that one ends, or is killed, the kernel ends everything
# that it started and undoes its mounts.
isolate() {
    unshare --mount --mount-proc --pid --fork --kill-child "$@" </dev/null &
    INSIDE=$!
}

leave() { [ -z "${INSIDE:-}" ] || kill -KILL "$INSIDE" 2>/dev/null || true; }

trap leave EXIT
main "$@"
