# Shared by `make run` and `make example`. Sourced in the root of the package, with `set -euo pipefail`.

services_id=com.example.web
bundle_id=com.example.app
team_id=TEAM123456
key_id=DEMOKEY001
# The processes started, in order. All end with the script.
children=()

need_linux() {
    [ "$(uname -s)" != Linux ] || return 0
    echo "Bramley's sockets are built on Linux's epoll, which $(uname -s) does not have. Use the container instead:"
    echo "  docker compose up --build"
    echo "and open http://localhost:8080/"
    exit 1
}

# Sets `bin` to the folder of both programs.
build_programs() { # FURTHER PACKAGES
    scripts/packages.sh build "$@"
    echo "Building Bramley and the simulated Apple; the first time takes some minutes."
    swift build --product bramley
    swift build --product apple-simulator
    bin=$(swift build --show-bin-path)
}

# Whether something already answers on this port of this machine.
is_taken() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || (exec 3<>"/dev/tcp/::1/$1") 2>/dev/null
}

# The given port, or the next free one. (Cookies ignore ports, so people stay signed in.)
choose_port() { # USUAL
    local port=$1
    while is_taken "$port"; do port=$((port + 1)); done
    echo "$port"
}

stop() { # STATUS
    trap '' INT TERM
    trap - EXIT
    [ ${#children[@]} -eq 0 ] || kill -TERM "${children[@]}" 2>/dev/null || true
    wait || true
    exit "$1"
}

# Ctrl-C, or the end of this script, ends everything it started.
stop_with_this_script() {
    trap 'echo; echo "Stopping."; stop 0' INT TERM
    trap 'stop $?' EXIT
}

# The first line of the answer to GET PATH, or what READER prints of it, or nothing.
answer() { # PORT PATH READER
    {
        exec 3<>"/dev/tcp/127.0.0.1/$1" &&
            printf 'GET %s HTTP/1.1\r\nHost: localhost:%s\r\nConnection: close\r\n\r\n' "$2" "$1" >&3 &&
            timeout 2 ${3:-head -n 1} <&3
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

start_apple() { # PORT URL KEY LOG
    "$bin/apple-simulator" --host 127.0.0.1 --port "$1" --server-url "$2" --services-id "$services_id" \
        --bundle-id "$bundle_id" --team-id "$team_id" --key-id "$key_id" --key "$3" >"$4" 2>&1 &
    children+=($!)
    wait_for "The simulated Apple" "$!" "$1" /auth/keys "$4"
}
