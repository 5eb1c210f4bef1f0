# Sourced by scripts/example.sh: the application on $inner_port, Bramley beside it on $port.
needs=(nodejs)

start_example() {
    open_this=http://localhost:$inner_port/
    make_webhook_secret "$data/webhook.secret"
    start_bramley "http://localhost:$port" "$port" --site-name "Notes" \
        --login-allowed-return-origins "http://localhost:$inner_port" \
        --webhooks-url "http://127.0.0.1:$inner_port/webhooks" --webhooks-secret-file "$data/webhook.secret"
    PORT=$inner_port NOTES_URL=http://localhost:$inner_port SIGN_IN_URL=http://localhost:$port \
        SIGN_IN_INTERNAL_URL=http://127.0.0.1:$port NOTES_FILE=$data/notes.json \
        WEBHOOK_SECRET_FILE=$data/webhook.secret \
        node "$example/server.mjs" >"$data/notes.log" 2>&1 &
    children+=($!)
    wait_for "The application" "$!" "$inner_port" / "$data/notes.log"
}
