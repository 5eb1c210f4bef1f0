"""What becomes of each command of the documents. Each must be here, and nothing here that no document has."""

from dataclasses import dataclass, field

from documents import commands


@dataclass(frozen=True)
class Run:
    """It is run as written, except for the names of this machine."""

    # What it must print, as a regular expression.
    says: str = ""
    # None: of a program that may be told to end before it listens for that, so that the kernel ends it.
    code: int | None = 0
    # A method of Stage that makes what the command is about.
    before: str = ""
    # Other text instead of the document's.
    swaps: dict[str, str] = field(default_factory=dict)
    # What is typed at its questions.
    typed: tuple[str, ...] = ()
    # On a stage that other lines do not see; for what changes too much.
    apart: str = ""
    # With the server stopped; it is started again afterwards.
    stopped: bool = False
    # It runs until Ctrl-C, which it gets when it has printed this; `meanwhile` is a method of Stage that is called
    # again and again until then.
    until: str = ""
    meanwhile: str = ""


@dataclass(frozen=True)
class Elsewhere:
    """Another test runs it or its equivalent: `FILE::NAME`."""

    test: str


@dataclass(frozen=True)
class Reason:
    """It is not run, and why."""

    why: str


BUILD = Reason("it builds everything anew, which takes minutes; `make test` has built already")
IMAGE = Elsewhere("Tests/Packaging/Image/test_sign_in.py::test_a_person_stays_signed_in_after_a_restart")
CONTAINER = Elsewhere("Tests/Packaging/Image/test_sign_in.py::test_the_documented_container_starts_as_written")
LONG = Reason("it takes minutes to hours by design; that the target exists is checked here")
EXPOSURE = Elsewhere("Tests/System/Deployment/test_units.py::test_the_service_is_sandboxed")
INSTALL = Elsewhere("Tests/System/Deployment/test_install.py::test_install_puts_every_file_in_its_place")
IMPORTS = Elsewhere("Tests/System/Commands/test_import_formats.py::test_everyone_is_imported_once")
PACKAGE = Elsewhere("Tests/Packaging/Packages/test_debian.py::test_install_configure_serve_and_remove")
REPOSITORY = Elsewhere("Tests/Packaging/Packages/test_repository.py::test_the_documented_way_signs_somebody_in")
HAND_OVER = Elsewhere("Tests/System/Deployment/test_hand_over.py::test_under_load_no_request_fails")
MOVE = Elsewhere("Tests/System/PostgreSQL/test_move.py::test_everyone_stays_signed_in_after_moving_there_and_back")
EXAMPLES = Elsewhere(
    "Tests/System/Examples/test_examples.py::test_control_c_ends_everything_and_a_second_start_finds_its_data")
LIBRARY = Elsewhere("Tests/System/Apple/test_simulator_document.py::test_the_documented_program_signs_somebody_in")
INIT = Elsewhere("Tests/System/Commands/test_init.py::test_repeats_a_question_until_the_answer_is_valid")
SYSTEMD = Reason("it needs a running systemd; the units themselves are read by Tests/System/Deployment/test_units.py")
LITESTREAM = Elsewhere("Tests/System/Documents/test_replication.py::test_restore_refuses_while_it_is_open")
OTHERS = Reason("the name of somebody else's command in a sentence, with nothing of ours to run")
YES = ("yes",)
USER = "usr_4yfwqbg99z3nwac6hg4phmjzv7"

TREATMENTS: dict[str, Run | Elsewhere | Reason] = {
    # README.md, getting-started.md
    "sudo bramley init --rehearse":
        Elsewhere("Tests/System/Commands/test_rehearsal.py::test_what_init_prints_is_all_that_is_needed"),
    "bramley init --simulator https://apple.example.com":
        Elsewhere("Tests/System/Commands/test_rehearsal.py::test_the_address_of_the_simulator"),
    "sudo bramley init --leave-rehearsal":
        Elsewhere("Tests/System/Commands/test_rehearsal.py::test_leaving_deletes_what_it_names_and_init_goes_on"),
    **dict.fromkeys((
        "sudo systemctl enable --now apple-simulator bramley", "sudo systemctl disable --now apple-simulator bramley"),
        SYSTEMD),
    "make run": Elsewhere("Tests/System/Documents/test_commands.py::test_make_run_serves_and_stops"),
    "make test": Reason("this is a part of it, and would begin it anew"),
    "make build": BUILD,
    "make image": LONG,
    "docker build --build-arg FURTHER_PACKAGES=libpq5 -t bramley .": IMAGE,
    "sudo install -d -o 10001 /srv/bramley": CONTAINER,
    "sudo install -o 10001 -m 600 config.json AuthKey_F6G7H8I9J0.p8 /srv/bramley": CONTAINER,
    "docker run -d --name bramley -p 127.0.0.1:8080:8080 --read-only --tmpfs /tmp --cap-drop ALL --security-opt"
    " no-new-privileges -v /srv/bramley:/etc/bramley:ro"
    " -v bramley-data:/var/lib/bramley/data --stop-timeout 30 bramley": CONTAINER,
    "docker compose -f compose.yaml -f docs/examples/spa/compose.yaml up --build":
        Elsewhere("Tests/Packaging/Image/test_examples.py::test_the_single_page_example_signs_somebody_in"),
    "bramley doctor --alive": Elsewhere("Tests/System/Commands/test_alive.py::test_alive_reports_whether_the_server_answers"),
    "apple-simulator --alive":
        Elsewhere("Tests/System/Commands/test_alive.py::test_the_simulator_creates_a_key_and_reports_whether_it_answers"),
    "docker exec bramley bramley doctor": Elsewhere("Tests/Packaging/Image/test_sign_in.py::test_operator_commands_work_inside_the_container"),
    "chown 10001 data": Reason("it gives a folder to a user whom this machine has not; Tests/Packaging/Image has the image's"),
    **dict.fromkeys((
        "docker compose up", "docker compose up --build", "docker load --input bramley-1.2.3.oci.tar",
        "docker load --input apple-simulator-1.2.3.oci.tar"), IMAGE),
    **dict.fromkeys((
        "sed -i '/^ apple:/,/^$/d; /# rehearsal$/d; s/# real: //' compose.yaml",
        "docker compose down --volumes", "sudo chmod 600 AuthKey_F6G7H8I9J0.p8",
        "sudo chown 10001 AuthKey_F6G7H8I9J0.p8", "docker compose run --rm server check", "docker compose up --detach"),
        Elsewhere("Tests/Packaging/Image/test_sign_in.py::test_one_command_changes_to_the_real_apple")),
    "chmod 600 AuthKey_F6G7H8I9J0.p8": Run(),
    ".build/release/bramley init": INIT,
    ".build/release/bramley serve": Elsewhere("Tests/System/EndToEndTests/StartAndStopTests.swift::StartAndStopTests"),
    **{f"make example NAME={name}": EXAMPLES for name in (
        "agent", "flask", "cluster", "accounts", "nginx-static", "node", "openid", "spa")},
    "bramley init": INIT,
    "bramley check": Run(says="The configuration is valid"),
    "bramley serve": Elsewhere("Tests/System/EndToEndTests/StartAndStopTests.swift::StartAndStopTests"),
    "bramley doctor": Run(says="apple_key", apart="direct"),
    "bramley doctor --json": Run(says='"isHealthy"', apart="direct"),
    "bramley --version": Run(says=r"^bramley \d"),

    # apple-simulator.md, native.md, private-relay.md
    "apple-simulator --port 8081 --server-url http://localhost:8080 --services-id com.example.web --team-id TEAM123456"
    " --key-id KEY1234567 --key AuthKey.p8":
        Run(swaps={"8081": "0", "AuthKey.p8": "Another.p8"}, until="The simulated Apple is at http://127", code=None),
    "pip install Authlib flask requests": Reason("scripts/test-requirements.txt has them, for the website of that page"),
    "APPLE=http://127.0.0.1:8081 python3 app.py": LIBRARY,
    """curl -X PUT 127.0.0.1:8081/simulator/api/tokens -d '{"wrong":["nonce"],"remaining":1}'""": LIBRARY,
    """curl -X PUT 127.0.0.1:8081/simulator/api/faults/token -d '{"status":503,"remaining":1}'""": LIBRARY,
    """curl -X POST 127.0.0.1:8081/simulator/api/keys/rotate -d '{"dropOld":true}'""": LIBRARY,
    """curl -X POST 127.0.0.1:8081/simulator/api/notifications -d '{"type":"consent-revoked","person":"ada"}'""": LIBRARY,
    """curl -s 127.0.0.1:8081/simulator/api/authorize -d '{"person":"ada","authorize_url":"'"$LOCATION"'"}' |"""
    " jq -r .form | curl -s -b cookies -c cookies http://localhost:8080/apple/callback"
    " -H 'Origin: http://127.0.0.1:8081' -d @-":
        Run(before="with_a_login_begun", says=r"^$"),
    "apple-simulator --bundle-id com.example.app --key-id F6G7H8I9J0 --key AuthKey_F6G7H8I9J0.p8 --port 8081":
        Run(swaps={"8081": "0"}, until="The simulated Apple is at http://127", code=None),
    """curl -s 127.0.0.1:8081/simulator/api/native -d '{"person":"ada","client_id":"com.example.app","nonce":"…"}'""":
        Run(says='"identityToken"'),
    """curl -s 127.0.0.1:9700/simulator/api/notifications -d '{"type":"email-disabled","person":"boris"}'""":
        Run(says='"deliveries"'),

    # assertion.md
    "pip install segno": Reason("scripts/test-requirements.txt has it, for the next line"),
    "python3 docs/examples/device/terminal.py https://id.example.com terminal":
        Elsewhere("Tests/System/OpenID/test_device.py::test_the_terminal_of_the_examples"),
    "pip install joserfc": Reason("scripts/test-requirements.txt has it, for the next line"),
    "python3 docs/examples/verify-assertion.py https://id.example.com https://api.example.com < assertion":
        Run(before="with_an_assertion", says='"sub"'),
    "bramley assertion rotate": Run(says="."),
    "bramley assertion rotate --revoke": Run(typed=YES),

    # backup.md
    **dict.fromkeys((
        "sudo systemctl enable --now bramley-backup.timer", "sudo systemctl start bramley-backup",
        "systemctl edit bramley-backup"),
        Elsewhere("Tests/Packaging/Packages/test_machine.py::test_the_service_starts_on_a_booted_machine")),
    "bramley backup /var/backups/bramley/today.db": Run(says="today.db"),
    "bramley restore --end-sessions /var/backups/bramley/today.db":
        Run(before="with_a_backup", typed=YES, stopped=True),
    "bramley restore /var/backups/bramley/today.db": Run(before="with_a_backup", typed=YES, stopped=True),
    "bramley move --to 'postgresql://bramley@db1.internal/bramley?sslmode=verify-full&sslrootcert=/etc/bramley/db-ca.pem"
    "&passfile=/etc/bramley/pgpass'": MOVE,
    "bramley move --to /var/lib/bramley/data-2": MOVE,
    "bramley restore copy.db": Run(before="with_a_backup", typed=YES, stopped=True),
    "litestream restore -o copy.db …": LITESTREAM,

    # testing.md, performance.md
    "make chaos": Elsewhere("Tests/Load/Chaos/test_chaos_run.py::test_"),
    **dict.fromkeys((
        "make chaos SECONDS=600", "make chaos-cluster ROUNDS=1000",
        "python3 Tests/Load/Chaos/chaos.py .build/debug 600 60 4711",
        "python3 Tests/Load/Chaos/cluster.py .build/debug 30 200000 7 hang_the_primary", "make fuzz SECONDS=3600",
        'make fuzz TARGETS="request json"', "make fuzz-check", "make test-asan", "make test-tsan",
        "make soak-operations SECONDS=1800", "make bench", "python3 Benchmarks/credential_checks.py BIN 100000 1000",
        "python3 -B Benchmarks/crowd.py BINARY", "openssl speed rsa2048"), LONG),
    "swift test --filter ReplayTests": BUILD,
    "scripts/sanitize.sh thread --filter SocketsTests": BUILD,
    "swift run http-echo --port 8080": Run(swaps={"swift run ": "", "8080": "0"}, until="http://127.0.0.1", code=None),
    "curl -d 'a=b' 'http://127.0.0.1:8080/path?query'": Elsewhere("Tests/System/Echo/test_clients.py::test_curl"),
    "http-echo --help": Run(says="--max-body"),

    # network.md
    "# /etc/letsencrypt/renewal-hooks/deploy/bramley": Elsewhere(
        "Tests/System/TLS/test_acme.py::test_a_certificate_and_its_renewal"),

    # configuration.md
    "bramley check --reference": Run(says="publicURL"),
    "bramley check --schema": Run(says=r'"\$schema"'),
    "bramley check --schema > config.schema.json": Run(),
    "bramley pages export pages": Run(),
    "(umask 077; openssl rand -hex 32 > sealing.key)": Run(apart="a sealing key"),
    "openssl rand -hex 32": Run(says="^[0-9a-f]{64}$"),
    "chmod 600": OTHERS,

    '(umask 077; echo "whsec_$(openssl rand -base64 32)" > webhook.secret)': Run(
        swaps={"> webhook.secret)": "> new.secret) && stat -c %a new.secret && cat new.secret"},
        says=r"^600\nwhsec_[\w+/]{43}=$"),

    # deploying.md
    "sudo make install": INSTALL,
    "sudo cp .build/release/apple-simulator /usr/local/bin/":
        Elsewhere("Tests/System/Deployment/test_install.py::test_a_simulator_that_is_there_gets_its_unit"),
    "make install": INSTALL,
    "make build && sudo make install": INSTALL,
    "make deb": PACKAGE,
    **dict.fromkeys((
        "sudo mkdir -p /etc/apt/keyrings",
        "curl -fsS https://apt.example.org/bramley.asc | sudo tee /etc/apt/keyrings/bramley.asc",
        'echo "deb [signed-by=/etc/apt/keyrings/bramley.asc] https://apt.example.org stable main" | sudo tee'
        " /etc/apt/sources.list.d/bramley.list",
        "sudo apt-get update", "sudo apt-get install bramley", "sudo bramley init"), REPOSITORY),
    "make dist": Elsewhere("Tests/System/Deployment/test_install.py::test_the_archive_is_complete_and_owned_by_root"),
    "make uninstall": Elsewhere(
        "Tests/System/Deployment/test_install.py::test_uninstall_removes_exactly_the_installed_files"),
    "sudo systemd-sysusers && sudo systemd-tmpfiles --create && sudo systemctl daemon-reload":
        Elsewhere("Tests/System/Deployment/test_units.py::test_users_and_files"),
    "sudo install -m 600 AuthKey_F6G7H8I9J0.p8 /etc/bramley/": Run(swaps={"/etc/bramley/": "keys-of-a-server"}),
    "sudo bramley init --config /etc/bramley/config.json": INIT,
    "systemd-analyze security bramley": EXPOSURE,
    "setcap cap_net_bind_service=+ep /usr/local/bin/bramley": Reason("it gives a program of this machine a capability"),
    "sysctl net.ipv4.ip_unprivileged_port_start=80": Reason("it changes the kernel of this machine"),
    "ls -l /proc/PID/fd": Run(swaps={"PID": "self"}, says="->"),
    "df -i": Run(says="IUse%"),
    "flask run": Elsewhere("Tests/System/Examples/test_notebooks.py::test_"),
    "sudo chown root:bramley /etc/bramley/config.json /etc/bramley/AuthKey_F6G7H8I9J0.p8":
        Reason("it needs the group that systemd-sysusers makes"),
    "sudo chmod 640 /etc/bramley/config.json /etc/bramley/AuthKey_F6G7H8I9J0.p8":
        Run(swaps={"/etc/bramley/config.json": "copy-of-config.json", "/etc/bramley/AuthKey": "copy-of-AuthKey"},
            before="with_copies"),
    "sudo -u bramley bramley check": Run(says="The configuration is valid"),
    "sudo -u bramley bramley doctor":
        Run(says="apple_key", apart="direct"),
    **dict.fromkeys((
        "sudo systemctl enable --now bramley", "systemctl status bramley", "sudo systemctl restart bramley",
        "journalctl -u bramley -n 20", "journalctl -u bramley --since today | grep 7F3A9-1C2D0",
        "systemctl cat bramley", "systemctl edit bramley", "systemctl start", "systemctl status",
        "systemctl stop bramley", "systemctl reload bramley", "systemctl daemon-reload", "systemctl list-timers"), SYSTEMD),
    "sudo systemctl reload bramley": Elsewhere(
        "Tests/System/Deployment/test_service_manager.py::test_start_reload_and_stop_are_reported"),
    "sudo systemctl kill --signal=SIGUSR2 --kill-whom=main bramley": HAND_OVER,
    "systemctl enable --now bramley.socket": Elsewhere(
        "Tests/System/Deployment/test_service_manager.py::test_clients_wait_while_the_manager_restarts_the_server"),
    "sudo cp -p /usr/local/bin/bramley /usr/local/bin/bramley.old":
        Elsewhere("Tests/System/Deployment/test_install.py::test_a_running_program_is_replaced"),
    "sudo mv /usr/local/bin/bramley.old /usr/local/bin/bramley":
        Elsewhere("Tests/System/Deployment/test_install.py::test_a_running_program_is_replaced"),
    "kill -HUP": Elsewhere("Tests/System/EndToEndTests/KeyChangeTests.swift::KeyChangeTests"),
    "kill -9": Elsewhere("Tests/System/EndToEndTests/KillTests.swift::KillTests"),

    # import.md
    "bramley users import users.json --from auth0": IMPORTS,
    "jq -c '.users[]' users.json | bramley users import - --from firebase": IMPORTS,
    "jq -c '.users[]' realm.json | bramley users import - --from keycloak": IMPORTS,
    'psql -Atc "$(cat identities.sql)" | bramley users import - --from supabase': IMPORTS,
    'psql -Atc "$(cat accounts.sql)" | bramley users import - --from next-auth': IMPORTS,
    "bramley users import people.jsonl --dry-run": Run(says="1 lines?: "),
    "bramley users import people.jsonl": Run(says="1 lines?: "),
    "psql -Atc 'select row_to_json(p) from people p' | bramley users import - --json": Run(says='"imported":1'),
    "bramley transfer export --to TEAM654321": Run(apart="transfer", before="before_the_change", says="."),
    "bramley transfer export --to TEAM654321 --again people.jsonl":
        Run(apart="transfer", before="before_the_change", swaps={"people.jsonl": "transferred.jsonl"}),
    "bramley transfer export --to TEAM654321 people.jsonl":
        Run(apart="transfer", before="before_the_change", swaps={"people.jsonl": "transferred.jsonl"}),
    "bramley transfer export --config old.json --to TEAM654321": Run(apart="transfer", before="before_the_change"),
    "bramley transfer import": Run(apart="transfer", before="with_people_on_their_way"),
    "bramley transfer import people.jsonl --rate 20 --join-accounts":
        Run(apart="transfer", before="with_a_file_of_people_on_their_way", swaps={"people.jsonl": "transferred.jsonl"}),
    "bramley transfer import people.jsonl --skip-refused":
        Run(apart="transfer", before="with_a_file_of_people_on_their_way", swaps={"people.jsonl": "transferred.jsonl"}),
    "bramley transfer status --to TEAM654321": Run(apart="transfer", says="."),
    "bramley transfer status --unmoved": Run(apart="transfer", ),

    # api.md
    'curl -s https://id.example.com/api/v1/session -H "Cookie: __Host-bramley=$SESSION"':
        Run(before="with_a_session", says='"credentialState":"authorized"'),
    'curl -s https://id.example.com/api/v1/introspect -H "Authorization: Bearer $KEY" -d "token=$SESSION"':
        Run(before="with_a_session", says='"active":true'),
    f'curl -s -X PATCH https://id.example.com/api/v1/users/{USER} -H "Authorization: Bearer $KEY"'
    """ -H 'Content-Type: application/json' -d '{"externalID":"42"}'""":
        Run(swaps={'"42"': '"api-42"'}, says='"externalID":"api-42"'),
    'curl -s "https://id.example.com/api/v1/events?after=evt_00000000000000000000000000"'
    ' -H "Authorization: Bearer $KEY"': Run(says='"items":'),
    'curl -s -X DELETE https://id.example.com/api/v1/session -H "Cookie: __Host-bramley=$SESSION"'
    " -H 'Origin: https://id.example.com'": Run(before="with_a_session", says="^$"),

    # linking.md, metrics.md, proxies, tls.md, incidents.md
    "curl -s https://id.example.com/api/v1/links -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json'"
    """ -d '{"externalID":"42","kind":"link","displayName":"ada","returnTo":"https://www.example.com/connected"}'""":
        Run(says='"ticket"'),
    "curl -s https://appleid.apple.com/auth/keys > keys.json": Run(),
    "curl -s http://127.0.0.1:9090/metrics": Run(says="^bramley_"),
    "curl http://127.0.0.1:9090/healthz": Run(says="ok"),
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj \"/CN=example.com\""
    ' -addext "subjectAltName=DNS:*.example.com" -keyout example.com.key -out example.com.pem': Run(),
    "openssl s_client -connect id.example.com:443 -servername id.example.com -alpn h2 </dev/null":
        Elsewhere("Tests/System/TLS/test_listeners.py::test_"),
    "curl -sI http://id.example.com/login":
        Elsewhere("Tests/System/TLS/test_listeners.py::test_every_request_is_redirected_to_the_same_address_with_tls"),

    # operating.md, commands.md, jobs.md, keys.md, audit-log.md
    "bramley init --public-url https://id.example.com --services-id com.example.web --bundle-ids com.example.app"
    " --team-id A1B2C3D4E5 --private-key-file AuthKey_F6G7H8I9J0.p8 --scopes name,email --sign-up open --trusted-proxies 127.0.0.1"
    " --non-interactive":
        Elsewhere("Tests/System/Documents/test_snippets.py::test_what_init_prints"),
    "bramley credentials reseal": Run(),
    "bramley keys rotate-sealing": Run(says="resealed with"),
    "bramley keys rotate-sealing --new": Run(says="resealed with"),
    "bramley keys rotate-sealing --copied":
        Elsewhere("Tests/System/PostgreSQL/test_several_servers.py::test_a_rotation_of_the_sealing_key"),
    "bramley users list --state pending": Run(),
    "bramley users list --group staff --json": Run(says="items"),
    "bramley users list --email ann@example.com": Run(before="with_people_imported", says="ann@example.com"),
    "bramley users list": Run(before="with_someone_waiting", says="usr_"),
    f"bramley users show {USER}": Run(says="usr_"),
    "bramley users list --name ann --state active": Run(before="with_people_imported"),
    "bramley users show ann@example.com": Run(before="with_people_imported", says="usr_"),
    "bramley users show --external-id crm-7": Run(before="with_people_imported", says="usr_"),
    "bramley users show --apple-subject 001234.0123456789abcdef0123456789abcdef.0001 --json":
        Run(before="with_people_imported", says='"crm-7"'),
    f"bramley users approve {USER}": Run(),
    "bramley users approve usr_…": Run(),
    "bramley users enable usr_…": Run(),
    f"bramley users disable {USER}": Run(),
    f"bramley users enable {USER}": Run(),
    f"bramley users end-access {USER} grafana": Run(code=1, says="access of 0 applications ended"),
    f"bramley users end-access {USER} --all": Run(says="access of 0 applications ended"),
    "bramley users end-access usr_… --all": Run(says="access of 0 applications ended"),
    f"bramley users groups {USER}": Run(),
    f"bramley users groups {USER} --add staff,ops --remove guests": Run(says="staff"),
    f'bramley users groups {USER} --set ""': Run(),
    "bramley users groups ada@example.com --add admins": Run(swaps={"ada@example.com": USER}, says="admins"),
    f"bramley users export {USER} --output ann.json": Run(),
    f"bramley users delete {USER}": Run(typed=YES),
    "bramley sessions list": Run(before="with_someone_waiting", says="ses_"),
    f"bramley sessions list --user {USER} --json": Run(says="ses_"),
    "bramley sessions revoke ses_00000000000000000000000000": Run(),
    f"bramley sessions revoke --user {USER}": Run(),
    "bramley sessions revoke --user usr_…": Run(),
    "bramley sessions revoke --all": Run(typed=YES),
    "bramley notifications list --outcome unknownSubject": Run(),
    "bramley notifications list": Run(),
    "bramley notifications show 8f5e7d3a": Run(before="with_a_notification", says="8f5e7d3a"),
    "bramley notifications replay 8f5e7d3a": Run(before="with_a_notification", says="applied"),
    "bramley notifications replay --unknown-subjects": Run(),
    "bramley credentials status": Run(says="running"),
    "bramley credentials status --json": Run(says='"running"'),
    "bramley credentials resume": Run(),
    "bramley credentials resume --accept": Run(code=1, says="No wave of revocations was stopped"),
    "bramley credentials revocations": Run(),
    "bramley credentials revocations --json --limit 1000": Run(says="items"),
    "bramley credentials revocations --retry": Run(),
    "bramley links list": Run(),
    "bramley links list --state done --json": Run(says="items"),
    "bramley events tail": Run(before="with_someone_waiting", says="session.created"),
    "bramley events tail --follow --type session.ended --type account.deleted":
        Run(until="session.ended", meanwhile="ends_a_session"),
    f"bramley events tail --json --after evt_00000000000000000000000000 --user {USER}": Run(says="session.created"),
    'bramley api-keys create "the shop" --scopes users:read,events:read --expires 90d': Run(says="brk_"),
    "bramley api-keys create accounts --scopes links,users:read,users:write": Run(says="brk_"),
    "bramley api-keys list": Run(says="key_"),
    "bramley api-keys list --active --scope users:read": Run(),
    "bramley api-keys revoke key_00000000000000000000000000": Run(typed=YES),
    "bramley clients add grafana --name Grafana --redirect-uri https://grafana.example.com/login/generic_oauth":
        Run(says="client secret: bcs_", apart="clients"),
    "bramley clients add backup --name Backup --public --offline --device":
        Run(apart="clients", says="client ID"),
    "bramley clients add terminal --public --device": Run(apart="clients", says="client ID"),
    "bramley clients list": Run(apart="clients", says="grafana"),
    "bramley clients show grafana": Run(apart="clients", says="Grafana"),
    "bramley clients update grafana --group staff": Run(apart="clients"),
    "bramley clients update nextcloud --back-channel-logout-uri"
    " https://cloud.example.com/apps/user_oidc/backchannel-logout/apple":
        Run(apart="clients", swaps={"update nextcloud": "update grafana"}),
    "bramley clients rotate-secret grafana": Run(apart="clients", says="client secret: bcs_"),
    "bramley clients delete grafana --yes": Run(apart="clients", says="deleted"),
    "bramley clients apply clients.json --dry-run": Run(before="with_a_file_of_clients", says="grafana added"),
    "bramley clients apply clients.json": Run(before="with_a_file_of_clients", says="grafana"),
    'bramley services add https://notes.example.com/mcp --id notes --name Notes --scope notes.read="Read your notes"'
    ' --scope notes.write="Change your notes"': Run(says="service secret: bss_", apart="agents"),
    **dict.fromkeys((
        "bramley clients add cursor --name Cursor --public --consent --offline --scope notes.read,notes.write"
        " --redirect-uri http://localhost:8787/callback",
        'bramley clients add gemini --name "Gemini CLI" --public --consent --offline --scope notes.read,notes.write'
        " --redirect-uri http://localhost:7777/oauth/callback"), Run(says="client ID", apart="agents")),
    "curl -s https://id.example.com/api/v1/introspect -u notes:$SECRET -d token=$TOKEN":
        Elsewhere("Tests/System/OpenID/test_withdrawal.py::test_on_sqlite"),
    'bramley services add https://api.example.com/mcp --id notes --name Notes --scope notes.read="Read your notes"':
        Run(says="service secret: bss_", apart="services"),
    "bramley services list": Run(apart="services", says="notes"),
    "bramley services show notes": Run(apart="services", says="https://api.example.com/mcp"),
    'bramley services update notes --name "Your notes"': Run(apart="services", says="notes"),
    "bramley services rotate-secret notes": Run(apart="services", says="bss_"),
    "bramley services apply services.json": Run(apart="services", before="with_a_file_of_services", says="notes"),
    "bramley services delete notes --yes": Run(apart="services", says="deleted"),
    "bramley audit list --all | grep operator": Run(says="operator"),
    "bramley audit list": Run(says="sign_in"),
    "bramley audit list --user usr_…": Run(says="sign_in"),
    f"bramley audit list --user {USER} --since yesterday": Run(says="sign_in"),
    "bramley audit list --type sign_in.refused --type user.disabled --since 2026-01-01 --until 2026-02-01T12:00:00Z"
    " --json": Run(says="items"),
    "bramley webhooks list": Run(says="127.0.0.1:9"),
    "bramley webhooks list --dead": Run(),
    "bramley webhooks retry evt_…": Run(),
    "bramley webhooks retry --all-dead": Run(),
    "bramley webhooks test URL": Run(swaps={"URL": "http://127.0.0.1:9/events"}, code=1),
    "bramley webhooks retry --endpoint client:nextcloud": Run(swaps={"client:nextcloud": "http://127.0.0.1:9/events"}),
    "bramley webhooks retry --endpoint URL": Run(swaps={"URL": "http://127.0.0.1:9/events"}),
    "bramley explain stale_state": Run(says=r"log level +info"),
    "bramley explain": Run(says=r"stale_state\s+400"),
    "bramley explain code_refused": Run(says="what happened  Apple refused the code"),
    'bramley explain "link refused"': Run(says=r"log level +notice"),
    "bramley explain --reference failures": Run(says="# Reason codes"),
    "bramley explain --reference doctor": Run(says="# bramley doctor"),
    "bramley explain --reference log-lines": Run(says="# Log lines"),
    "bramley explain --reference metrics": Run(says="# Metrics"),
    "bramley jws verify --jwk keys.json --algorithm RS256 < identity-token":
        Run(before="with_an_identity_token", says="^OK"),
}

# The recipes register one program each, all on one stage; what others' programs are told, nothing here runs.
TREATMENTS |= {
    command.text: Run(says="client ID", apart="recipes") if command.text.startswith("bramley clients add ")
    else Reason("a command of the program that the page is about")
    for command in commands() if command.page.startswith("docs/clients/") and command.stands_alone
}
