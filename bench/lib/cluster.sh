# shellcheck shell=bash
# bench/lib/cluster.sh: a server of our own for one benchmark, and its CPU time.  Sourced.
#
# The server listens on a socket in its own folder and on no port, so it can
# meet no other server.  All of it goes when the script ends.

# cluster_start: makes and starts the server.  Settings come on stdin.
# Sets cluster_dir, cluster_as_user (words before a command), and PGHOST, PGUSER and PGDATABASE for the clients.
cluster_start()
{
    cluster_bin=$("$PG_CONFIG" --bindir)
    [ -x "$cluster_bin/initdb" ] ||
        die "no PostgreSQL server in $cluster_bin" "Install the server, or name another one's pg_config with PG_CONFIG=."
    cluster_user=$(cluster_choose_user)
    cluster_as_user=()
    [ "$(id -un)" = "$cluster_user" ] ||
        cluster_as_user=(setpriv --reuid="$cluster_user" --regid="$(id -g "$cluster_user")" --clear-groups)
    cluster_dir=$(mktemp -d "$(cluster_choose_place)/pg_local_cache_bench.XXXXXX")
    chown "$cluster_user" "$cluster_dir"
    trap cluster_remove EXIT
    trap 'exit 130' INT TERM

    as_server initdb -D "$cluster_dir/data" -U postgres -A trust -E UTF8 --locale=C >"$cluster_dir/initdb.log" 2>&1 ||
        die_with_log "could not make a cluster" "$cluster_dir/initdb.log"
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$cluster_dir'"
        cat
    } >>"$cluster_dir/data/postgresql.conf"
    export PGHOST=$cluster_dir PGUSER=postgres PGDATABASE=postgres
    cluster_run start
}

# cluster_run start | restart [words before the server's command...].  Sets cluster_pid.
cluster_run()
{
    local action=$1
    shift
    printf '#!/bin/sh\nexec %s "$@"\n' "${*@Q} '$cluster_bin/postgres'" >"$cluster_dir/postgres"
    chmod 755 "$cluster_dir/postgres"
    as_server pg_ctl -D "$cluster_dir/data" -l "$cluster_dir/server.log" -p "$cluster_dir/postgres" -m fast -w "$action" >/dev/null ||
        die_with_log "could not $action the server" "$cluster_dir/server.log"
    cluster_pid=$(head -n 1 "$cluster_dir/data/postmaster.pid")
    unset idle_children
}

cluster_remove()
{
    local pid
    if pid=$(head -n 1 "$cluster_dir/data/postmaster.pid" 2>/dev/null); then
        as_server pg_ctl -D "$cluster_dir/data" -m immediate -w stop >/dev/null || true
        timeout 30 tail --pid="$pid" -f /dev/null || true    # under valgrind it writes a file at its very end
    fi
    rm -rf "$cluster_dir"
}

# A server refuses to run as root.  Not postgres: that user may own other clusters.
cluster_choose_user()
{
    if [ "$(id -u)" -ne 0 ]; then
        id -un
    elif id local_cache >/dev/null 2>&1; then
        echo local_cache    # made by quickstart.sh
    else
        echo nobody
    fi
}

# Memory rather than a disk, where there is room: the disk is not what is measured.
cluster_choose_place()
{
    local free_kb
    free_kb=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $1 == "tmpfs" { print $4 }')
    if [ "${free_kb:-0}" -gt $((4 * 1024 * 1024)) ]; then
        echo /dev/shm
    else
        echo "${TMPDIR:-/tmp}"
    fi
}

# as_server program arguments...: runs a program of the server as the server's user.
as_server()
(
    program=$cluster_bin/$1
    shift
    cd "$cluster_dir" || exit
    exec "${cluster_as_user[@]}" "$program" "$@"
)

# CPU time that the whole server has used, in clock ticks: the postmaster, its
# children, and those that have ended; then how many children there are.
cluster_cpu()
{
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v postmaster="$cluster_pid" '
        {
            pid = $1
            sub(/^.*\) /, "")    # a command name may contain blanks
            if (pid == postmaster)
                ticks += $12 + $13 + $14 + $15
            else if ($2 == postmaster) {
                ticks += $12 + $13
                children++
            }
        }
        END { print ticks, children }'
}

# cluster_settle [sessions]: waits until the sessions that have ended are gone
# from the process table, so that their time is accounted for, but for so many
# that go on.  Sets idle_children at the first call.
# shellcheck disable=SC2120
cluster_settle()
{
    local children
    read -r _ children < <(cluster_cpu)
    : "${idle_children:=$children}"
    while [ "$children" -gt $((idle_children + ${1:-0})) ]; do
        sleep 0.01
        read -r _ children < <(cluster_cpu)
    done
}
