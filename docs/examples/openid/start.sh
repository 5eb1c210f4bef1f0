# Sourced by scripts/example.sh: the application on $inner_port, Bramley beside it on $port.
needs=(python3-venv)

start_example() {
    local python=${EXAMPLE_PYTHON:-$data/venv/bin/python} here=http://localhost:$inner_port file
    if [ ! -x "$python" ]; then
        python3 -m venv "$data/venv"
        "$python" -m pip install --quiet --disable-pip-version-check -r "$example/requirements.txt"
    fi
    open_this=$here/
    for file in client.secret cookie.key; do
        [ -s "$data/$file" ] || head -c 32 /dev/urandom | base64 -w 0 | tr +/ -_ >"$data/$file"
    done
    start_bramley "http://localhost:$port" "$port" --site-name "Orchard"
    # The application chooses its secret, so that applying the same file again changes nothing.
    "$bin/bramley" clients apply - --config "$data/config.json" >>"$data/bramley.log" <<JSON
{"clients": [{"clientID": "reading-list", "name": "Reading list",
  "redirectURIs": ["$here/callback"], "logoutURIs": ["$here/"],
  "backChannelLogoutURI": "$here/backchannel-logout",
  "clientSecretSHA256": "$(sha256sum <"$data/client.secret" | cut -d ' ' -f 1)"}]}
JSON
    PROGRAM_URL=$here ISSUER=http://localhost:$port CLIENT_ID=reading-list CLIENT_SECRET_FILE=$data/client.secret \
        COOKIE_KEY_FILE=$data/cookie.key PROGRAM_DATABASE=$data/program.db \
        "$python" -B -m flask --app "$example/app.py" run --port "$inner_port" >"$data/program.log" 2>&1 &
    children+=($!)
    wait_for "The application" "$!" "$inner_port" / "$data/program.log"
}
