#!/bin/sh
# Ends the workers of the endpoint, as an administrator would, and waits until they are gone.
set -eu
ended=$(psql -XAtq -c "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 10000))
    FROM pg_stat_activity WHERE backend_type = 'pg_local_cache worker'")
[ "$ended" -eq "$ENDPOINT_WORKERS" ] || { echo "ended $ended workers instead of $ENDPOINT_WORKERS" >&2; exit 1; }
