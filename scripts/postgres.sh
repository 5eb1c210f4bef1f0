#!/usr/bin/env bash
# A temporary PostgreSQL for tests and the cluster example. It runs until this script's standard input ends.
#   scripts/postgres.sh [--standby] [SETTING=VALUE...]
# Prints the folder of its socket once it answers: user and database postgres, port 5432. With --standby, a synchronous
# standby listens on port 5433: what the primary confirms is on both. Exits 3 with a reason if PostgreSQL is not installed.
set -euo pipefail

programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$programs" ]; then
    echo "PostgreSQL is not installed (Debian: postgresql)" >&2
    exit 3
fi
# PostgreSQL refuses to run as root.
as=()
[ "$(id -u)" -ne 0 ] || as=(runuser -u postgres --)
has_standby=
if [ "${1:-}" = --standby ]; then
    has_standby=yes
    shift
fi

folder=$("${as[@]}" mktemp -d /tmp/bramley-postgres-XXXXXX)
cd /
stop() {
    trap '' INT TERM HUP
    # shellcheck disable=SC2046
    kill $(jobs -p) 2>/dev/null || true
    for running in "$folder"/*/postmaster.pid; do
        [ ! -f "$running" ] || "${as[@]}" "$programs/pg_ctl" -D "${running%/*}" -m immediate stop >/dev/null 2>&1 || true
    done
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP

# Runs one of PostgreSQL's programs; shows its output only if it fails.
run() { # PROGRAM ARGUMENTS
    local said
    if ! said=$("${as[@]}" "$programs/$@" 2>&1 </dev/null); then
        printf '%s\n' "$said" >&2
        exit 1
    fi
}

start() { # DATA PORT
    if ! "${as[@]}" "$programs/pg_ctl" -D "$folder/$1" -l "$folder/$1.log" -o "-p $2" -w -t 60 start >/dev/null 2>&1; then
        cat "$folder/$1.log" >&2
        exit 1
    fi
}

run initdb -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync
# Data need not survive a crash of the machine. Tests open many connections.
"${as[@]}" tee -a "$folder/data/postgresql.conf" >/dev/null <<EOF
listen_addresses = ''
unix_socket_directories = '$folder'
max_connections = 500
shared_buffers = 64MB
fsync = off
full_page_writes = off
log_min_messages = warning
$(printf '%s\n' "$@")
EOF
start data 5432
if [ -n "$has_standby" ]; then
    run pg_basebackup -h "$folder" -U postgres -D "$folder/standby" -R -c fast --no-sync
    start standby 5433
    run psql -h "$folder" -U postgres -qc "ALTER SYSTEM SET synchronous_standby_names = '*'"
    run psql -h "$folder" -U postgres -qc "SELECT pg_reload_conf()"
fi
echo "$folder"
# In the background, because bash handles no signal while it waits for a foreground program.
cat <&0 >/dev/null &
wait $!
