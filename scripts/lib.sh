# shellcheck shell=bash
# Shared by quickstart.sh, run-tests.sh and pg-matrix.sh.  Source it: it defines functions and runs nothing
# but three lines of hygiene.
#
# The scripts may be started as root, with sudo, or by a user who may use sudo.  Root is used for two things,
# packages and `make install`; everything else runs as RUN_USER, in a temporary folder of its own.

SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VERSIONS="18 17 16 15"

umask 022
export LC_ALL=C.UTF-8
for name in ${!PG*}; do # PGHOST, PGPORT and their like must not lead to somebody's server
    case $name in PG_CONFIG | PGVERSION) ;; *) unset "$name" ;; esac
done

# Messages

# say LINE...
say() { printf '%s\n' "$@"; }

# die MESSAGE [HINT]
die() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    [ -z "${2:-}" ] || printf '  %s\n' "$2" >&2
    exit 1
}

# The comment at the head of the script is its manual.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# Users

# Asks for a password now, if sudo wants one, and not in the middle.
need_root() {
    [ "$EUID" -ne 0 ] || return 0
    command -v sudo >/dev/null || die "root is needed, to install packages and the extension" \
        "Run this script as root, or install sudo."
    sudo -n true 2>/dev/null || sudo -v || die "root is needed, to install packages and the extension" \
        "Run this script as root, or as a user who may use sudo."
}

as_root() {
    if [ "$EUID" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "root is needed for: $*" "Run this script as root, or install sudo."
    fi
}

# Sets RUN_USER.  Not postgres: that user may own clusters, and nothing that runs here shall be able to harm them.
choose_user() {
    if [ "$EUID" -ne 0 ]; then
        RUN_USER=$(id -un)
    elif [ "${SUDO_USER:-root}" != root ]; then
        RUN_USER=$SUDO_USER
    else
        RUN_USER=localcache # not pg_...: initdb refuses that; not local_cache: "$user" would be the extension's schema
    fi
}

ensure_user() {
    ! id "$RUN_USER" >/dev/null 2>&1 || return 0
    useradd --system --user-group --home-dir /nonexistent --shell /usr/sbin/nologin "$RUN_USER"
    say "Made the system user $RUN_USER, since a server cannot run as root (userdel $RUN_USER removes it)."
}

as_user() {
    if [ "$EUID" -eq 0 ]; then
        runuser -u "$RUN_USER" -- "$@"
    else
        "$@"
    fi
}

# Packages

# install_packages PACKAGE... installs those that are missing.
install_packages() {
    local package missing=()

    for package; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "missing packages: ${missing[*]}" "Install them, or run this on Debian."
    say "Installing ${missing[*]}"
    refresh_package_lists
    without_main_cluster apt_get install "${missing[@]}"
}

refresh_package_lists() {
    [ -n "${PACKAGE_LISTS_FRESH:-}" ] || apt_get update
    PACKAGE_LISTS_FRESH=1
}

# Quiet unless it fails.
apt_get() {
    local output

    output=$(as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -y -q -o DPkg::Lock::Timeout=120 --no-install-recommends "$@" 2>&1) && return
    printf '%s\n' "$output" | tail -n 20 >&2
    die "apt-get $* failed"
}

# Debian's server package makes and starts a cluster "main" when it comes onto a machine.  For the time of our
# installation a file beside its settings says no; the settings themselves, and clusters that exist, stay as they are.
without_main_cluster() {
    local folder=/etc/postgresql-common/createcluster.d status=0

    as_root mkdir -p "$folder"
    echo "create_main_cluster = false" | as_root tee "$folder/pg_local_cache.conf" >/dev/null
    ("$@") || status=$?
    as_root rm -f "$folder/pg_local_cache.conf"
    return $status
}

# The server

# Sets PG_CONFIG, PGVERSION and BINDIR.  An installed server is preferred to one that could be installed.
choose_server() {
    if [ -n "${PG_CONFIG:-}" ]; then
        command -v "$PG_CONFIG" >/dev/null || die "PG_CONFIG: there is no program \"$PG_CONFIG\""
        PGVERSION=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
    else
        : "${PGVERSION:=$(installed_version)}"
        : "${PGVERSION:=$(offered_version)}"
        PG_CONFIG=/usr/lib/postgresql/$PGVERSION/bin/pg_config
    fi
    [ -n "$PGVERSION" ] ||
        die "no PostgreSQL found, neither installed nor as a package" "Set PG_CONFIG to the pg_config of a server."
    [[ " $VERSIONS " == *" $PGVERSION "* ]] ||
        die "PostgreSQL $PGVERSION is not supported" "Set PGVERSION or PG_CONFIG to one of $VERSIONS."
    export PG_CONFIG
}

installed_version() {
    local version

    for version in $VERSIONS; do
        [ ! -x "/usr/lib/postgresql/$version/bin/postgres" ] || { echo "$version" && return; }
    done
}

offered_version() {
    local version

    refresh_package_lists
    for version in $VERSIONS; do
        ! apt-cache show "postgresql-$version" >/dev/null 2>&1 || { echo "$version" && return; }
    done
}

# install_server [PACKAGE...] installs what building and running needs, and the packages named besides.
install_server() {
    local server=()

    [[ $PG_CONFIG != /usr/lib/postgresql/* ]] || server=("postgresql-$PGVERSION" "postgresql-server-dev-$PGVERSION")
    install_packages make gcc libc6-dev "${server[@]}" "$@"
    BINDIR=$("$PG_CONFIG" --bindir)
    [ -x "$BINDIR/postgres" ] || die "there is no server in $BINDIR" "Set PG_CONFIG to the pg_config of a server."
}

# Folders and servers in them

# copy_source FOLDER: what make needs, without what make made.
copy_source() {
    mkdir -p "$1"
    tar -C "$SOURCE" --exclude-vcs --exclude='*.o' --exclude='*.bc' --exclude='*.so' \
        --exclude=./build --exclude=./tmp_check --exclude=./test/unit/bin --exclude=./test/fuzz/bin -cf - . |
        tar -C "$1" --no-same-owner -xf -
}

# Gives what root made to RUN_USER.
own() { [ "$EUID" -ne 0 ] || chown -R "$RUN_USER": "$1"; }

# server_pid DATA prints the process that serves this data directory, if one does.
server_pid() {
    local pid

    pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null) && [ "$(readlink "/proc/$pid/cwd")" = "$1" ] && echo "$pid"
}

# Stops every server whose data is below FOLDER, and waits until it is gone.
stop_servers() {
    local file pid

    while read -r -d '' file; do
        pid=$(server_pid "${file%/*}") || continue
        kill -INT "$pid" || continue # fast shutdown
        timeout 30 tail --pid="$pid" -f /dev/null || kill -QUIT "$pid" || true
    done < <(find "$1" -name postmaster.pid -print0 2>/dev/null)
}
