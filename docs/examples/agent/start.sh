# Sourced by scripts/example.sh: Bramley on $port, the service on $inner_port, the agent's document on $document_port.
needs=(python3-venv openssl)

start_example() {
    local python=${EXAMPLE_PYTHON:-$data/venv/bin/python} here=http://localhost:$inner_port document_port document
    if [ ! -x "$python" ]; then
        python3 -m venv "$data/venv"
        "$python" -m pip install --quiet --disable-pip-version-check -r "$example/requirements.txt"
    fi
    document_port=$(choose_port $((inner_port + 1)))
    document=https://localhost:$document_port/client.json
    make_certificate
    open_this=http://localhost:$port/
    # Bramley reads the document over https, and trusts this example's authority.
    SSL_CERT_FILE=$data/authority.pem start_bramley "http://localhost:$port" "$port" --site-name "Orchard" \
        --openid-client-documents localhost
    # The service chooses its secret, so that applying the same file again changes nothing.
    [ -s "$data/service.secret" ] || head -c 32 /dev/urandom | base64 -w 0 | tr +/ -_ >"$data/service.secret"
    "$bin/bramley" services apply - --prune --config "$data/config.json" >>"$data/bramley.log" <<JSON
{"services": [{"serviceID": "notes", "uri": "$here/mcp", "name": "Notes",
  "scopes": {"notes.read": "Read your notes", "notes.write": "Change your notes"},
  "serviceSecretSHA256": "$(sha256sum <"$data/service.secret" | cut -d ' ' -f 1)"}]}
JSON
    CLIENT_DOCUMENT=$document DOCUMENT_PORT=$document_port DOCUMENT_CERTIFICATE=$data/document.pem \
        DOCUMENT_KEY=$data/document.key "$python" -B "$example/document.py" >"$data/document.log" 2>&1 &
    children+=($!)
    NOTES_URL=$here NOTES_PORT=$inner_port ISSUER=http://localhost:$port NOTES_DATABASE=$data/notes.db \
        SERVICE_SECRET_FILE=$data/service.secret "$python" -B "$example/notes.py" >"$data/notes.log" 2>&1 &
    children+=($!)
    wait_for "The service" "$!" "$inner_port" /.well-known/oauth-protected-resource/mcp "$data/notes.log"
    cat >"$data/agent" <<SCRIPT
#!/bin/sh
export NOTES_URL='$here' CLIENT_DOCUMENT='$document' AGENT_TOKENS='$data/tokens.json'
exec '$python' -B '$PWD/$example/agent.py' "\$@"
SCRIPT
    chmod +x "$data/agent"
    more="
  The agent, in another terminal:
      $data/agent                  reads your notes
      $data/agent Buy pears        adds one"
}

# An authority, and its certificate for the server of the agent's document.
make_certificate() {
    [ ! -s "$data/document.pem" ] || return 0
    local new=(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365)
    "${new[@]}" -subj "/CN=Example authority" -keyout "$data/authority.key" -out "$data/authority.pem" 2>/dev/null
    "${new[@]}" -subj "/CN=localhost" -addext "subjectAltName=DNS:localhost" \
        -addext "basicConstraints=critical,CA:FALSE" -CA "$data/authority.pem" -CAkey "$data/authority.key" \
        -keyout "$data/document.key" -out "$data/document.pem" 2>/dev/null
}
