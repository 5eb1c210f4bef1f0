#!/usr/bin/env bash
# `make example NAME=flask`: one of docs/examples with Bramley and a simulated Apple, until Ctrl-C. Data stays in
# .build/example-NAME.
#
# Tests set EXAMPLE_BIN (built programs), EXAMPLE_DATA (another folder), EXAMPLE_PORT (another first port) and
# EXAMPLE_PYTHON (a Python with the packages of scripts/test-requirements.txt).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/demo-parts.sh

name=${1:-}
example=docs/examples/$name
case $name in
*[!a-z-]* | "") example= ;;
esac
if [ ! -f "$example/start.sh" ]; then
    echo "usage: make example NAME=NAME, where NAME is one of:" >&2
    for file in docs/examples/*/start.sh; do echo "  $(basename "$(dirname "$file")")" >&2; done
    exit 2
fi
need_linux

# Sets `needs`, further Debian packages, and defines `start_example`, which starts it and sets `open_this`.
needs=()
# shellcheck source=/dev/null
. "$example/start.sh"

if [ -n "${EXAMPLE_BIN:-}" ]; then bin=$EXAMPLE_BIN; else build_programs "${needs[@]}"; fi

umask 077
data=${EXAMPLE_DATA:-.build/example-$name}
mkdir -p "$data"
data=$(realpath "$data")
key=$data/AuthKey_$key_id.p8

shift_by=$((${EXAMPLE_PORT:-8080} - 8080))
# The port that the browser opens, and the port behind it.
port=$(choose_port $((8080 + shift_by)))
inner_port=$(choose_port $((8090 + shift_by)))
admin_port=$(choose_port $((9090 + shift_by)))
apple_port=$(choose_port $((9700 + shift_by)))
apple=http://127.0.0.1:$apple_port

# Starts Bramley for visitors of URL on PORT, with these flags for its configuration.
start_bramley() { # URL PORT FLAGS
    configure_bramley "$@"
    serve_bramley "$2" "$data/bramley.log"
}

# Starts the simulated Apple, and writes a configuration as an operator would.
configure_bramley() { # URL PORT FLAGS
    local url=$1 port=$2
    shift 2
    start_apple "$apple_port" "$url" "$key" "$data/apple-simulator.log"
    "$bin/bramley" init --force --non-interactive --output "$data/config.json" \
        --public-url "$url" --services-id "$services_id" --bundle-ids "$bundle_id" --team-id "$team_id" --private-key-file "$key" \
        --scopes name,email --sign-up open --apple-endpoint "$apple" \
        --apple-script-url "$apple/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js" \
        --server-port "$port" --admin-port "$admin_port" --storage-directory "$data/data" --log-format text \
        "$@" >"$data/init.log"
}

serve_bramley() { # PORT LOG
    "$bin/bramley" serve --config "$data/config.json" >"$2" 2>&1 &
    children+=($!)
    wait_for Bramley "$!" "$1" /login "$2"
}

# Runs nginx with NGINX.CONF, with each @NAME@ replaced by VALUE.
start_nginx() { # NGINX.CONF NAME=VALUE...
    local template=$1 nginx edits=()
    shift
    nginx=$(command -v nginx || echo /usr/sbin/nginx)
    mkdir -p "$data/nginx"
    # As root, nginx would read the site as another user, who has no access.
    if [ "$(id -u)" -eq 0 ]; then edits+=(-e '1i user root;'); fi
    for pair in "$@"; do edits+=(-e "s|@${pair%%=*}@|${pair#*=}|g"); done
    sed "${edits[@]}" "$template" >"$data/nginx/nginx.conf"
    "$nginx" -p "$data/nginx" -c nginx.conf -e stderr -g 'daemon off;' 2>"$data/nginx/error.log" &
    children+=($!)
}

# A webhook secret in the form of Standard Webhooks, one per line; two while one replaces the other.
make_webhook_secret() { # FILE
    [ -s "$1" ] || echo "whsec_$(head -c 32 /dev/urandom | base64 -w 0)" >"$1"
}

stop_with_this_script
# Further lines to print, and how many programs may end without ending the example.
more=
outlives=0
start_example

cat <<TEXT

  The example $name is running. Open this address in a browser:

      $open_this

  and sign in at the simulated Apple. No real Apple account is needed or touched.
  What it shows, and how: $example/README.md
  Simulated Apple and its control page: $apple/
  Logs and data: $data$more
  Stop with Ctrl-C.

TEXT

# Waits until one of them ends; a signal ends the wait through its trap.
for _ in $(seq 0 "$outlives"); do
    status=0
    wait -n || status=$?
done
echo "One of the programs ended by itself (status $status). Their logs: $data" >&2
exit 1
