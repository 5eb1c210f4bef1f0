# Sourced by scripts/example.sh: the application on $inner_port, Bramley beside it on $port.
needs=(python3-venv)

start_example() {
    local python=${EXAMPLE_PYTHON:-$data/venv/bin/python} here=http://localhost:$inner_port
    if [ ! -x "$python" ]; then
        python3 -m venv "$data/venv"
        "$python" -m pip install --quiet --disable-pip-version-check -r "$example/requirements.txt"
    fi
    open_this=$here/
    make_webhook_secret "$data/webhook.secret"
    start_bramley "http://localhost:$port" "$port" --site-name "Orchard" \
        --login-allowed-return-origins "$here" \
        --login-password-url "$here/sign-in" --login-ask-existing-account true \
        --webhooks-url "http://127.0.0.1:$inner_port/webhooks" --webhooks-secret-file "$data/webhook.secret"
    [ -s "$data/api.key" ] || "$bin/bramley" api-keys create accounts --scopes links,users:read,users:write \
        --config "$data/config.json" >"$data/api.key"
    ACCOUNTS_URL=$here SIGN_IN_URL=http://localhost:$port SIGN_IN_INTERNAL_URL=http://127.0.0.1:$port \
        ACCOUNTS_DATABASE=$data/accounts.db API_KEY_FILE=$data/api.key \
        WEBHOOK_SECRET_FILE=$data/webhook.secret \
        "$python" -B -m flask --app "$example/app.py" run --port "$inner_port" >"$data/accounts.log" 2>&1 &
    children+=($!)
    wait_for "The application" "$!" "$inner_port" / "$data/accounts.log"
}
