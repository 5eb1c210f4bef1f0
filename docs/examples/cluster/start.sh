# Sourced by scripts/example.sh: HAProxy on $port, three Bramleys behind it, PostgreSQL with a synchronous standby.
needs=(haproxy postgresql)

start_example() {
    open_this=http://localhost:$port/
    start_postgres
    # All servers share configuration and sealing key. What differs is in the environment.
    [ -s "$data/sealing.key" ] || head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >"$data/sealing.key"
    configure_bramley "http://localhost:$port" "$inner_port" --site-name "Apples, several" \
        --trusted-proxies 127.0.0.1
    export BRAMLEY_STORAGE_POSTGRES_URL="host=$postgres,$postgres port=5432,5433 user=postgres dbname=postgres"
    export BRAMLEY_SECRETS_SEALING_KEY_FILE="$data/sealing.key"
    local haproxy edits=(-e "s|@PORT@|$port|")
    for number in 1 2 3; do
        local server admin
        server=$(choose_port $((inner_port + 20 * number)))
        admin=$(choose_port $((admin_port + 20 * number)))
        BRAMLEY_SERVER_PORT=$server BRAMLEY_ADMIN_PORT=$admin BRAMLEY_STORAGE_DIRECTORY=$data/node$number \
            serve_bramley "$server" "$data/node$number.log"
        echo "$!" >"$data/node$number.pid"
        edits+=(-e "s|@NODE$number@|127.0.0.1:$server|" -e "s|@ADMIN$number@|$admin|")
    done
    # Killing one of them does not end the example.
    outlives=3
    sed "${edits[@]}" "$example/haproxy.cfg" >"$data/haproxy.cfg"
    haproxy=$(command -v haproxy || echo /usr/sbin/haproxy)
    "$haproxy" -W -db -f "$data/haproxy.cfg" >"$data/haproxy.log" 2>&1 &
    children+=($!)
    wait_for HAProxy "$!" "$port" /login "$data/haproxy.log"
    more="
  Kill a server:                   kill -9 \$(cat $data/node1.pid)
  Kill the primary of PostgreSQL:  $example/failover.sh $postgres"
}

# Sets `postgres` to the folder of its socket. It belongs to another user when root starts this, and goes with the example.
start_postgres() {
    rm -f "$data/alive" "$data/said"
    mkfifo "$data/alive" "$data/said"
    # Open until this script ends, since it holds the other end.
    exec 9<>"$data/alive"
    scripts/postgres.sh --standby <&9 >"$data/said" 2>"$data/postgres.log" &
    children+=($!)
    if ! read -r postgres <"$data/said"; then
        echo "PostgreSQL did not start:" >&2
        cat "$data/postgres.log" >&2
        exit 1
    fi
}
