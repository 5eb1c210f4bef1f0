#!/usr/bin/env bash
# `make run`: Bramley and a simulated Apple on this machine, until Ctrl-C. What people did is kept in .build/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "$(uname -s)" != Linux ]; then
    echo "Bramley's sockets are built on Linux's epoll, which $(uname -s) does not have. Use the container instead:"
    echo "  docker compose up --build"
    echo "and open http://localhost:8080/"
    exit 1
fi

scripts/packages.sh build
echo "Building Bramley and the simulated Apple; the first time takes some minutes."
swift build --product bramley
swift build --product apple-simulator
bin=$(swift build --show-bin-path)

demo=.build/demo
services_id=com.example.web
team_id=TEAM123456
key_id=DEMOKEY001
key=$demo/AuthKey_$key_id.p8
umask 077
mkdir -p "$demo"

# A P-256 key as Apple would let you download it: PKCS#8 around 32 random bytes (RFC 5915 lets the public half be left
# out). Written without the openssl command, which a machine with its library need not have.
if [ ! -s "$key" ]; then
    {
        echo "-----BEGIN PRIVATE KEY-----"
        {
            printf '\x30\x41\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07'
            printf '\x04\x27\x30\x25\x02\x01\x01\x04\x20'
            head -c 32 /dev/urandom
        } | base64 -w 64
        echo "-----END PRIVATE KEY-----"
    } >"$key.new"
    mv "$key.new" "$key"
fi

# Whether something already answers on this port of this machine.
is_taken() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || (exec 3<>"/dev/tcp/::1/$1") 2>/dev/null
}

# The usual port, or the next that is free. (Cookies know no ports, so people stay signed in either way.)
choose_port() { # USUAL
    local port=$1
    while is_taken "$port"; do port=$((port + 1)); done
    echo "$port"
}
port=$(choose_port 8080)
admin_port=$(choose_port 9090)
apple_port=$(choose_port 9700)
url=http://localhost:$port
apple=http://127.0.0.1:$apple_port

cat >"$demo/config.json" <<JSON
{
    "publicURL": "$url",
    "access": { "signUp": "open" },
    "server": { "host": "127.0.0.1", "port": $port },
    "admin": { "host": "127.0.0.1", "port": $admin_port },
    "apple": {
        "servicesID": "$services_id",
        "teamID": "$team_id",
        "keyID": "$key_id",
        "privateKeyFile": "$key",
        "scopes": ["name", "email"],
        "endpoint": "$apple",
        "scriptURL": "$apple/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js"
    },
    "site": { "name": "Bramley Demo" },
    "storage": { "directory": "$demo/data" },
    "log": { "format": "text" }
}
JSON

children=()
stop() {
    trap '' INT TERM
    trap - EXIT
    [ ${#children[@]} -eq 0 ] || kill -TERM "${children[@]}" 2>/dev/null || true
    wait || true
    exit "$1"
}
trap 'echo; echo "Stopping."; stop 0' INT TERM
trap 'stop $?' EXIT

# The first line of the answer to GET PATH, or nothing.
answer() { # PORT PATH
    {
        exec 3<>"/dev/tcp/127.0.0.1/$1" &&
            printf 'GET %s HTTP/1.1\r\nHost: localhost:%s\r\nConnection: close\r\n\r\n' "$2" "$1" >&3 &&
            timeout 2 head -n 1 <&3
        exec 3>&-
    } 2>/dev/null || true
}

wait_for() { # NAME PID PORT PATH LOG
    for _ in $(seq 150); do
        case $(answer "$3" "$4") in
        "HTTP/1.1 2"* | "HTTP/1.1 3"*) return 0 ;;
        esac
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    echo "$1 did not start.${5:+ Its log, $5, ends so:}" >&2
    [ -z "$5" ] || tail -n 20 "$5" >&2
    return 1
}

log=$demo/apple-simulator.log
"$bin/apple-simulator" --host 127.0.0.1 --port "$apple_port" --server-url "$url" --services-id "$services_id" \
    --team-id "$team_id" --key-id "$key_id" --key "$key" >"$log" 2>&1 &
children+=($!)
wait_for "The simulated Apple" "${children[0]}" "$apple_port" /auth/keys "$log"

"$bin/bramley" serve --config "$demo/config.json" &
children+=($!)
wait_for Bramley "${children[1]}" "$port" /login ""

cat <<TEXT

  Bramley is running. Open this address in a browser:

      $url/

  and sign in at the simulated Apple. No real Apple account is needed or touched.
  Simulated Apple and its control page: $apple/
  Stop with Ctrl-C. Start again with \`make run\`: whoever was signed in still is.
TEXT
[ "$port" = 8080 ] || echo "  (Port 8080 was taken, so it is $port.)"
echo

# Until one of them ends by itself; a signal ends the wait through its trap.
status=0
wait -n "${children[@]}" || status=$?
echo "One of the two programs ended by itself (status $status). The simulated Apple's log: $log" >&2
exit 1
