"""Programs that others wrote and that take long to install: of Debian, of PyPI, and for Swift."""

import base64
import grp
import imaplib
import json
import os
import pwd
import re
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from others import HERE, RECIPES, Walk, install, installed, recipe
from party import Browser, register, register_here, return_target, signed_in
from patience import PATIENCE, eventually
from programs import ROOT, Program, free_port
from test_device import decide, enter

pytestmark = pytest.mark.long


def test_go_oidc_signs_somebody_in(site, tmp_path, run):
    install("golang-go", "golang-github-coreos-go-oidc-dev", "golang-golang-x-oauth2-dev")
    binary = tmp_path / "go_program"
    subprocess.run(
        ["go", "build", "-o", binary, HERE / "go_program.go"], check=True, capture_output=True,
        env=os.environ | {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(tmp_path / "cache"),
                          "GOFLAGS": ""})
    party, port, origin = register_here(site, "go", "/callback")
    run(port, binary, port, site.origin, party.secret)
    walk = Walk(site, origin)
    told = walk.opens("/").json()
    assert told == {"subject": walk.browser.user(), "userinfo": walk.browser.user(), "email": "ada@example.com"}


PACKAGE = """// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "App",
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.0"),
    ],
    targets: [.executableTarget(name: "App", dependencies: [
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"), .product(name: "JWTKit", package: "jwt-kit"),
    ])])
"""


def test_hummingbird_signs_somebody_in(site, run):
    """The two files of the recipe, built and run; what others compiled stays for the next time."""
    (party, port, origin), folder = register_here(site, "swift", "/callback"), ROOT / ".build/hummingbird-program"
    (folder / "Sources/App").mkdir(parents=True, exist_ok=True)
    (folder / "Package.swift").write_text(PACKAGE)
    for file in (RECIPES / "swift/Bramley.swift", RECIPES / "swift/hummingbird/main.swift"):
        # requests, unlike a browser, sends no secure cookie to http://127.0.0.1.
        text = file.read_text().replace("https://id.example.com", site.origin).replace("https://app.example.com", origin)
        (folder / "Sources/App" / file.name).write_text(text.replace("3000", str(port)).replace("secure: true", "secure: false"))
    done = subprocess.run(["swift", "build"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    run(port, folder / ".build/debug/App", CLIENT_SECRET=party.secret)
    walk = Walk(site, origin)
    assert walk.opens("/").text.startswith("Hello, Ada")
    assert walk.get("/").status_code == 200
    # Another's code and attempt: nobody is signed in, and no session is made.
    stranger = Walk(site, origin)
    stranger.get("/login")
    refused = stranger.get("/callback?code=stolen&state=guessed")
    assert refused.status_code >= 400 and "session" not in refused.cookies
    assert Walk(site, origin).get("/callback?error=access_denied&state=x").status_code == 401


def test_jupyterhub_admits_by_groups(site, tmp_path, run):
    programs = installed("jupyterhub", "jupyterhub", "jupyterhub==6.1.1", "oauthenticator==17.4.0")
    party, hub, origin = register_here(site, "jupyterhub", "/hub/oauth_callback")
    settings = recipe("jupyterhub.md", "python", {
        "https://id.example.com": site.origin, "https://hub.example.com": origin, "bcs_…": party.secret})
    file = tmp_path / "jupyterhub_config.py"
    file.write_text((HERE / "jupyterhub_config.py").read_text() + settings + f"""
c.JupyterHub.bind_url = "http://127.0.0.1:{free_port()}/"
c.JupyterHub.hub_bind_url = "{origin}/"
c.JupyterHub.cookie_secret_file = "{tmp_path}/cookie-secret"
""")
    run(hub, programs / "jupyterhub", "--config", file, JUPYTERHUB_CRYPT_KEY=secrets.token_hex(32), PYTHONPATH="")
    walk = Walk(site, origin)
    eventually(lambda: walk.get("/hub/health").status_code == 200, "the hub")
    refused = walk.opens("/hub/oauth_login?next=%2Fhub%2Fhome", "boris")
    assert refused.status_code == 403, refused.text
    site.operator.bramley("users", "groups", walk.browser.user(), "--add", "researchers")
    page = Walk(site, origin).opens("/hub/oauth_login?next=%2Fhub%2Fhome", "boris")
    assert page.status_code == 200 and walk.browser.user() in page.text
    assert re.search(r"[Ll]ogout", page.text)


@pytest.fixture
def imap(site, tmp_path):
    install("dovecot-imapd")
    key, port, me = site.operator.key("introspect"), free_port(), pwd.getpwuid(os.getuid())
    # As root, Dovecot insists on its own users, which must reach its sockets.
    internal, login, group, owner = me.pw_name, me.pw_name, grp.getgrgid(os.getgid()).gr_name, me
    if os.getuid() == 0:
        internal, login, group, owner = "dovecot", "dovenull", "dovecot", pwd.getpwnam("nobody")
    run = Path(tempfile.mkdtemp())
    run.chmod(0o755)
    (run / "mail").mkdir()
    os.chown(run / "mail", owner.pw_uid, owner.pw_gid)
    (tmp_path / "oauth2.conf.ext").write_text(f"""
introspection_mode = post
introspection_url = http://mail:{key}@localhost:{site.port}/api/v1/introspect
username_attribute = sub
active_attribute = active
active_value = true
""")
    file = tmp_path / "dovecot.conf"
    file.write_text(f"""
protocols = imap
listen = 127.0.0.1
base_dir = {run}
state_dir = {run}
log_path = {tmp_path}/dovecot.log
auth_debug = yes
ssl = no
disable_plaintext_auth = no
auth_mechanisms = xoauth2 oauthbearer
default_internal_user = {internal}
default_login_user = {login}
default_internal_group = {group}
first_valid_uid = 0
mail_location = maildir:{run}/mail/%u
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {tmp_path}/oauth2.conf.ext
}}
userdb {{
  driver = static
  args = uid={owner.pw_uid} gid={owner.pw_gid} home={run}/mail/%u
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
""")
    program = Program(["dovecot", "-F", "-c", str(file)], tmp_path / "out.log")
    program.wait_for(port)
    yield port
    program.stop()
    shutil.rmtree(run)


def opens(port: int, user: str, token: str) -> bool:
    connection = imaplib.IMAP4("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.authenticate("XOAUTH2", lambda _: f"user={user}\x01auth=Bearer {token}\x01\x01".encode())
        return connection.select("INBOX")[0] == "OK"
    except imaplib.IMAP4.error:
        return False
    finally:
        connection.shutdown()


def test_an_access_token_opens_a_mailbox_as_long_as_the_session_lives(site, imap):
    browser = Browser(site)
    party = register(site, "mail", "--offline")
    tokens = party.tokens(browser, scope="openid offline_access")
    user = browser.user()
    assert opens(imap, user, tokens["access_token"])
    assert not opens(imap, user, tokens["access_token"][:-1] + "x")
    assert not opens(imap, "usr_" + "0" * 26, tokens["access_token"]), "somebody else's mailbox"
    renewed = party.refresh(tokens["refresh_token"]).json()
    assert opens(imap, user, renewed["access_token"])
    # It lives ten seconds more, for calls in flight.
    eventually(lambda: not opens(imap, user, tokens["access_token"]), "the end of the token before")
    site.apple.notify("consent-revoked", "ada")
    eventually(lambda: not opens(imap, user, renewed["access_token"]), "the mailbox to close")


@pytest.fixture
def roundcube(site, imap, tmp_path, run):
    install("roundcube-core", "roundcube-sqlite3", "php-cli", "php-sqlite3", "php-curl")
    party, port, origin = register_here(site, "roundcube", "/index.php/login/oauth", "--offline")
    folder = tmp_path / "roundcube"
    for name in ("logs", "temp"):
        (folder / name).mkdir(parents=True)
    for name in ("defaults.inc.php", "mimetypes.php"):
        (folder / name).symlink_to(f"/etc/roundcube/{name}")
    with sqlite3.connect(folder / "roundcube.db") as database:
        database.executescript(Path("/usr/share/roundcube/SQL/sqlite.initial.sql").read_text())
    (folder / "config.inc.php").write_text(f"""<?php
$config = [
    'db_dsnw' => 'sqlite:///{folder}/roundcube.db?mode=0640',
    'log_dir' => '{folder}/logs', 'temp_dir' => '{folder}/temp', 'des_key' => '{"k" * 24}',
    'imap_host' => ['127.0.0.1:{imap}'], 'smtp_host' => '127.0.0.1:1', 'plugins' => [], 'skin' => 'elastic',
    'oauth_provider' => 'generic', 'oauth_provider_name' => 'Apple',
    'oauth_client_id' => 'roundcube', 'oauth_client_secret' => '{party.secret}',
    'oauth_auth_uri' => '{site.origin}/oidc/authorize', 'oauth_token_uri' => '{site.origin}/oidc/token',
    'oauth_identity_uri' => '{site.origin}/oidc/userinfo', 'oauth_scope' => 'openid profile offline_access',
    'oauth_identity_fields' => ['sub'],
];
""")
    run(port, "php", "-d", "error_log=/dev/null", "-S", f"127.0.0.1:{port}", "-t", "/var/lib/roundcube",
        ROUNDCUBE_CONFIG_DIR=str(folder))
    return origin, folder


def test_roundcube_reads_mail_and_refreshes(site, roundcube):
    origin, folder = roundcube
    walk = Walk(site, origin)
    page = walk.opens("/?_task=login&_action=oauth", "chie")
    assert page.status_code == 200 and "rcmail" in page.text and walk.browser.user() in page.text, page.text[:2000]
    assert "messagelist" in walk.get("/?_task=mail").text

    def used() -> list:
        return site.operator.database("SELECT refreshed_at FROM openid_grant WHERE client = 'roundcube'")

    assert used() == [(None,)]
    # As if the access token's hour were over.
    with sqlite3.connect(folder / "roundcube.db") as database:
        key = walk.program.cookies["roundcube_sessid"]
        (values,), = database.execute("SELECT vars FROM session WHERE sess_id = ?", (key,)).fetchall()
        text = base64.b64decode(values)
        late = re.sub(rb's:7:"expires";i:\d+', b's:7:"expires";i:1', text)
        assert late != text
        database.execute("UPDATE session SET vars = ? WHERE sess_id = ?", (base64.b64encode(late).decode(), key))
    assert "messagelist" in walk.get("/?_task=mail").text
    assert used()[0][0], "it has refreshed"


@pytest.fixture
def agent(tmp_path):
    install("oidc-agent-cli")
    (tmp_path / ".oidc-agent").mkdir(mode=0o700)
    environment = os.environ | {"HOME": str(tmp_path), "OIDC_CONFIG_DIR": str(tmp_path / ".oidc-agent"), "PASSWORD": "pw"}
    said = subprocess.run(
        ["oidc-agent", f"--socket-path={tmp_path}/socket"], env=environment, capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"(OIDC_SOCK|OIDCD_PID)=([^;]+);", said))
    yield environment | found
    os.kill(int(found["OIDCD_PID"]), 15)


def test_a_person_signs_in_on_the_command_line(site, agent, tmp_path):
    # The port is another one than registered (RFC 8252 §7.3).
    register(site, "agent", "--public", "--offline", redirect_uri="http://localhost/")
    port = free_port()
    program = Program(
        ["oidc-gen", "--manual", f"--issuer={site.origin}/", "--client-id=agent", "--client-secret=", "--flow=code",
         f"--redirect-uri=http://localhost:{port}/", "--scope=openid profile offline_access", "--no-url-call",
         "--prompt=none", "--confirm-default", "--pw-env=PASSWORD", "bramley"], tmp_path / "gen.log", agent)
    try:
        eventually(lambda: "/oidc/authorize" in program.text(), "the address to open", program.text)
        address = re.search(r"http://localhost:\d+/oidc/authorize\S+", program.text())[0]
        browser = Browser(site)
        answer = browser.decide(browser.return_to(return_target(browser.get(browser.own(address)))))
        assert answer.location.startswith(f"http://localhost:{port}/")
        requests.get(answer.location, timeout=PATIENCE)
        assert program.process.wait(PATIENCE) == 0, program.text()
    finally:
        program.stop()
    refreshes(agent)


def refreshes(agent) -> None:
    tokens = set()
    for _ in range(2):
        # Longer than any lives: it refreshes.
        done = subprocess.run(["oidc-token", "bramley", "--time=7200"], env=agent, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("boa_"), done.stderr
        tokens.add(done.stdout.strip())
    assert len(tokens) == 2


def test_a_person_signs_in_with_a_code(site, agent, tmp_path):
    """RFC 8628: over SSH there is no browser."""
    site.operator.bramley("clients", "add", "agent-ssh", "--public", "--offline", "--device")
    program = Program(
        ["oidc-gen", "--manual", f"--issuer={site.origin}/", "--client-id=agent-ssh", "--client-secret=", "--flow=device",
         "--redirect-uri=", "--scope=openid profile offline_access", "--no-url-call", "--prompt=none", "--confirm-default",
         "--pw-env=PASSWORD", "bramley"], tmp_path / "gen.log", agent)
    try:
        eventually(lambda: "enter the code" in program.text(), "the code to enter", program.text)
        browser = signed_in(site)
        page = enter(browser, re.search(r"enter the code: (\S+)", program.text())[1])
        assert "agent-ssh on a device" in page.must(200).text
        decide(browser, page).must(200)
        assert program.process.wait(PATIENCE) == 0, program.text()
    finally:
        program.stop()
    refreshes(agent)


@pytest.fixture(scope="module")
def synapse(site, tmp_path_factory):
    python = installed("synapse", "synapse_homeserver", "matrix-synapse==1.163.2", "authlib") / "python"
    folder = tmp_path_factory.mktemp("synapse")
    party, port, origin = register_here(
        site, "synapse", "/_synapse/client/oidc/callback", "--back-channel-logout-uri",
        "{}/_synapse/client/oidc/backchannel_logout")
    file = folder / "homeserver.yaml"
    settings = recipe("synapse.md", "yaml", {
        "https://id.example.com": site.origin, "bcs_…": party.secret,
        # People here choose no names; and a test is on http.
        "subject_claim: sub": 'subject_claim: sub\n        localpart_template: "{{ user.sub }}"',
        "    issuer:": "    skip_verification: true\n    issuer:"})
    file.write_text(f"""
server_name: matrix.example.com
public_baseurl: {origin}/
pid_file: {folder}/pid
signing_key_path: {folder}/signing.key
media_store_path: {folder}/media
macaroon_secret_key: of a test
report_stats: false
trusted_key_servers: []
listeners: [{{port: {port}, bind_addresses: [127.0.0.1], type: http, resources: [{{names: [client]}}]}}]
database: {{name: sqlite3, args: {{database: {folder}/homeserver.db}}}}
{settings}
""")
    subprocess.run([python, "-m", "synapse.app.homeserver", "-c", file, "--generate-keys"], check=True)
    program = Program([str(python), "-m", "synapse.app.homeserver", "-c", str(file)], folder / "synapse.log")
    program.wait_for(port)
    yield origin
    program.stop()


class Visit(requests.Session):
    """Synapse's cookies are for https; a browser treats 127.0.0.1 alike."""

    def send(self, request, **options):
        answer = super().send(request, **options)
        for cookie in self.cookies:
            cookie.secure = False
        return answer


def sign_in(walk: Walk, person: str) -> str:
    walk.program = Visit()
    page = walk.opens(
        "/_matrix/client/v3/login/sso/redirect/oidc-apple?redirectUrl=https%3A%2F%2Fclient.example.com%2F", person)
    assert page.status_code == 200, page.text
    link = re.search(r'https://client\.example\.com/\?loginToken=[^"&<]+', page.text)
    assert link, page.text
    done = requests.post(f"{walk.origin}/_matrix/client/v3/login", timeout=PATIENCE, data=json.dumps(
        {"type": "m.login.token", "token": parse_qs(urlsplit(link[0]).query)["loginToken"][0]}))
    assert done.status_code == 200, done.text
    return done.json()["access_token"]


def who(walk: Walk, token: str) -> requests.Response:
    return requests.get(f"{walk.origin}/_matrix/client/v3/account/whoami", timeout=PATIENCE,
                        headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("way, person, others", [("sign-out", "ada", "ada"), ("consent-revoked", "chie", "boris")])
def test_a_matrix_session_ends_with_bramley_s(site, synapse, way, person, others):
    walk, other = Walk(site, synapse), Walk(site, synapse)
    token, elsewhere = sign_in(walk, person), sign_in(other, others)
    assert who(walk, token).json()["user_id"] == f"@{walk.browser.user()}:matrix.example.com"
    if way == "sign-out":
        walk.browser.sign_out()
    else:
        site.apple.notify("consent-revoked", person)
    eventually(lambda: who(walk, token).status_code == 401, "the Matrix session to end")
    assert who(other, elsewhere).status_code == 200, "of another session, or another person, it goes on"
