#!/usr/bin/env bash
# `make run`: Bramley and a simulated Apple on this machine, until Ctrl-C. Data stays in .build/demo.
#
# Tests set DEMO_BIN (built programs), DEMO_DATA (another folder) and DEMO_PORT (another first port).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/demo-parts.sh

need_linux
if [ -n "${DEMO_BIN:-}" ]; then bin=$DEMO_BIN; else build_programs; fi

demo=${DEMO_DATA:-.build/demo}
key=$demo/AuthKey_$key_id.p8
umask 077
mkdir -p "$demo"

usual=${DEMO_PORT:-8080}
port=$(choose_port "$usual")
admin_port=$(choose_port $((usual + 1010)))
apple_port=$(choose_port $((usual + 1620)))
url=http://localhost:$port
apple=http://127.0.0.1:$apple_port
operators=operators

cat >"$demo/config.json" <<JSON
{
    "publicURL": "$url",
    "access": { "signUp": "open" },
    "server": { "host": "127.0.0.1", "port": $port },
    "admin": { "host": "127.0.0.1", "port": $admin_port },
    "operator": { "groups": ["$operators"] },
    "apple": {
        "servicesID": "$services_id",
        "bundleIDs": ["$bundle_id"],
        "teamID": "$team_id",
        "keyID": "$key_id",
        "privateKeyFile": "${key##*/}",
        "scopes": ["name", "email"],
        "endpoint": "$apple",
        "scriptURL": "$apple/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js"
    },
    "site": { "name": "Bramley Demo" },
    "storage": { "directory": "data" },
    "log": { "format": "text" }
}
JSON

# Somebody of the simulated Apple, imported unless they have signed in before.
make_operator() { # PERSON GIVEN FAMILY
    local subject options=(--config "$demo/config.json")
    subject=$(answer "$apple_port" /simulator/api/people cat | sed -n 's/.*"id":"'"$1"'"[^]]*"sub":"\([^"]*\)".*/\1/p')
    printf '{"appleSubject":"%s","email":"%s@example.com","emailVerified":true,"name":{"given":"%s","family":"%s"}}\n' \
        "$subject" "$@" | "$bin/bramley" users import - "${options[@]}" &&
        "$bin/bramley" users groups "$subject" --add "$operators" "${options[@]}"
}

stop_with_this_script
log=$demo/apple-simulator.log
start_apple "$apple_port" "$url" "$key" "$log"
"$bin/bramley" serve --config "$demo/config.json" &
children+=($!)
wait_for Bramley "$!" "$port" /login ""
# Whoever has deleted Ada's account goes on without.
make_operator ada Ada Byron >"$demo/import.log" 2>&1 || echo "Ada is not an operator: see $demo/import.log" >&2

cat <<TEXT

  Bramley is running. Open this address in a browser:

      $url/

  and sign in at the simulated Apple. No real Apple account is needed or touched.
  Ada is an operator: $url/operator
  Simulated Apple and its control page: $apple/
  Stop with Ctrl-C. Start again with \`make run\`: everybody stays signed in.
TEXT
[ "$port" = "$usual" ] || echo "  (Port $usual was taken, so it is $port.)"
echo

# Waits until one of them ends; a signal ends the wait through its trap.
status=0
wait -n "${children[@]}" || status=$?
echo "One of the two programs ended by itself (status $status). The simulated Apple's log: $log" >&2
exit 1
