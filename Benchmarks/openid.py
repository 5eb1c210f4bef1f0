"""The OpenID provider beside Debian's glewlwyd, a provider in C on SQLite: codes, tokens and userinfo.

Both are asked the same by the same load: authorization requests of somebody who is signed in, each code exchanged once,
and userinfo with one access token. CPU time of the server's process decides; a token answer costs one RS256 signature,
so it is compared with `openssl speed rsa2048`. Bramley writes each code and token durably; glewlwyd's database runs with
SQLite's defaults, as its package has it.
"""

import base64
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import urllib.parse
import urllib.request

import peers
import signins
import wire

COUNT = int(os.environ.get("BENCH_CODES", "1000"))
PEER_COUNT = int(os.environ.get("BENCH_PEER_CODES", "300"))
PARALLEL = 64
CALLBACK = "https://program.example.com/callback"
SCHEMA = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"


class Provider:
    """What the load needs of either: a server, and its client's secret, paths and signed-in person."""

    server = secret = cookie = None
    base = "/oidc"
    authorize = "/authorize"

    def request(self, method, path, fields, body=""):
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return (f"{method} {path} HTTP/1.1\r\nHost: localhost:{self.server.port}\r\n{lines}"
                + (f"Content-Length: {len(body)}\r\n" if body else "") + f"\r\n{body}").encode()

    def ask(self, requests, status):
        """The answers, and the CPU time of the server for each in microseconds."""
        before = peers.cpu_seconds(self.server.pid)
        answers = wire.post_all(self.server.port, requests, PARALLEL)
        used = (peers.cpu_seconds(self.server.pid) - before) / len(requests) * 1e6
        wrong = [answer for answer in answers if not answer.startswith(b"HTTP/1.1 %d" % status)]
        if wrong:
            raise SystemExit(f"answered otherwise than {status}: {wrong[0].decode()}")
        return answers, used

    def codes(self, count):
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": "bench", "redirect_uri": CALLBACK, "scope": "openid", "state": "s",
            "nonce": "n"}) + ("&g_continue" if self.base != "/oidc" else "")
        path = f"{self.base}{self.authorize}?{query}"
        answers, used = self.ask([self.request("GET", path, {"Cookie": self.cookie})] * count, self.redirect)
        found = [urllib.parse.parse_qs(urllib.parse.urlsplit(line.split(": ", 1)[1]).query)["code"][0]
                 for answer in answers for line in answer.decode().split("\r\n") if line.lower().startswith("location:")]
        if len(set(found)) != count:
            raise SystemExit(f"{len(set(found))} codes of {count}")
        return found, used

    def tokens(self, codes):
        basic = base64.b64encode(f"bench:{self.secret}".encode()).decode()
        fields = {"Authorization": f"Basic {basic}", "Content-Type": "application/x-www-form-urlencoded"}
        answers, used = self.ask([
            self.request("POST", f"{self.base}/token", fields, urllib.parse.urlencode(
                {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK})) for code in codes], 200)
        return json.loads(answers[0].split(b"\r\n\r\n", 1)[1])["access_token"], used

    def userinfo(self, token, count):
        request = self.request("GET", f"{self.base}/userinfo", {"Authorization": f"Bearer {token}"})
        return self.ask([request] * count, 200)[1]


class Bramley(Provider):
    redirect = 303

    def __init__(self, binary, folder, core, load_core):
        apple = signins.StandIn.start(load_core)
        try:
            self.server = peers.Bramley(
                binary, folder, core, apple=apple.url, limits={"signInsPerMinute": 100_000})
            self.cookie = signins.sign_in_once(self.server, apple)
        finally:
            apple.stop()
        made = subprocess.run(
            [binary, "clients", "add", "bench", "--redirect-uri", CALLBACK, "--json", "--config",
             os.path.join(folder, "config.json")], capture_output=True, text=True, check=True)
        self.secret = json.loads(made.stdout)["clientSecret"]

    def session(self, count):
        """The slow path of `/auth/verify`: an answer about the session that the fast path does not give."""
        return self.ask([self.request("GET", "/api/v1/session", {"Cookie": self.cookie})] * count, 200)[1]

    def stop(self):
        self.server.stop()


class Glewlwyd(Provider):
    """As its package has it, with the plugin for OpenID Connect set up through its API."""

    base, authorize, redirect, secret = "/api/oidc", "/auth", 302, "secret"

    def __init__(self, core):
        self.folder = tempfile.mkdtemp()
        self.server = peers.Server()
        self.server.port = peers.free_port()
        database, file = os.path.join(self.folder, "glewlwyd.db"), os.path.join(self.folder, "glewlwyd.conf")
        with open(SCHEMA) as schema:
            subprocess.run(["sqlite3", database], stdin=schema, check=True, capture_output=True)
        with open(file, "w") as settings:
            settings.write(f"""port={self.server.port}
bind_address="127.0.0.1"
external_url="http://localhost:{self.server.port}"
api_prefix="api"
login_url="login.html"
log_mode="console"
log_level="ERROR"
cookie_secure=0
cookie_same_site="empty"
session_expiration=2419200
session_key="GLEWLWYD2_SESSION_ID"
admin_session_authentication="cookie"
profile_session_authentication="cookie"
admin_scope="g_admin"
profile_scope="g_profile"
login_api_enabled=true
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
use_secure_connection=false
secure_connection_key_file="-"
secure_connection_pem_file="-"
secure_connection_ca_file="-"
hash_algorithm = "SHA512"
database = {{ type = "sqlite3"; path = "{database}" }}
""")
        self.process = subprocess.Popen(
            ["taskset", "-c", core, "glewlwyd", f"--config-file={file}"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.server.pid = self.process.pid
        peers.wait_for_port(self.server.port, self.process)
        self.set_up()

    def call(self, method, path, content):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.server.port}/api{path}", json.dumps(content).encode(),
            {"Content-Type": "application/json"} | ({"Cookie": self.cookie} if self.cookie else {}), method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.headers.get("Set-Cookie")

    def set_up(self):
        login = {"username": "admin", "password": "password"}
        self.cookie = self.call("POST", "/auth/", login).split(";")[0]
        key = os.path.join(self.folder, "key.pem")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        public = subprocess.run(
            ["openssl", "rsa", "-in", key, "-pubout"], check=True, capture_output=True, text=True).stdout
        with open(key) as file:
            private = file.read()
        self.call("POST", "/mod/plugin/", {
            "module": "oidc", "name": "oidc", "display_name": "oidc", "order_rank": 0, "parameters": {
                "iss": f"http://localhost:{self.server.port}/api/oidc", "jwt-type": "rsa", "jwt-key-size": "256",
                "key": private, "cert": public, "access-token-duration": 3600, "refresh-token-duration": 1209600,
                "code-duration": 600, "refresh-token-rolling": True, "refresh-token-one-use": "never",
                "allow-non-oidc": True, "auth-type-code-enabled": True, "auth-type-token-enabled": False,
                "auth-type-id-token-enabled": True, "auth-type-password-enabled": False,
                "auth-type-client-enabled": False, "auth-type-device-enabled": False,
                "auth-type-refresh-enabled": True, "subject-type": "public", "scope": [], "additional-parameters": [],
                "claims": [], "request-parameter-allow": False, "pkce-allowed": True,
                "introspection-revocation-allowed": False, "jwks-show": True, "name-claim": "mandatory",
                "email-claim": "mandatory", "address-claim": {"type": "no"}, "scope-claim": "no",
                "register-client-allowed": False, "session-management-allowed": False, "allowed-scope": ["openid"]}})
        self.call("POST", "/client/", {
            "client_id": "bench", "name": "bench", "confidential": True, "enabled": True,
            "client_secret": self.secret, "redirect_uri": [CALLBACK], "authorization_type": ["code", "refresh_token"],
            "scope": ["openid"], "token_endpoint_auth_method": ["client_secret_basic"]})
        self.call("PUT", "/user/admin", {
            "name": "Ada", "email": "ada@example.com", "enabled": True, "scope": ["g_admin", "g_profile", "openid"]})
        self.call("POST", "/auth/", {"username": "admin", "password": "password"})
        self.call("PUT", "/auth/grant/bench/", {"scope": "openid"})

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.folder)


def signatures(core):
    """RSA-2048 signatures a second by `openssl speed`, one core, one second."""
    output = subprocess.run(
        ["taskset", "-c", core, "openssl", "speed", "-seconds", "1", "rsa2048"],
        capture_output=True, text=True, check=True).stdout
    return float(output.strip().splitlines()[-1].split()[-2])


def rows(binary, folder, server_core, load_core, rounds, spread):
    os.sched_setaffinity(0, {int(load_core)})
    ours, peer = Bramley(binary, folder, server_core, load_core), None
    kinds = ("code", "token", "userinfo")
    found = {name: {kind: [] for kind in kinds} for name in ("ours", "peer")}
    sessions, references = [], []

    def measure(name, provider, count):
        codes, cost = provider.codes(count)
        token, exchange = provider.tokens(codes)
        for kind, value in zip(kinds, (cost, exchange, provider.userinfo(token, count))):
            found[name][kind].append(value)

    try:
        peer = Glewlwyd(server_core) if shutil.which("glewlwyd") else None
        ours.tokens(ours.codes(100)[0])
        for _ in range(rounds):
            before = signatures(server_core)
            measure("ours", ours, COUNT)
            references.append(statistics.mean([before, signatures(server_core)]))
            sessions.append(ours.session(COUNT))
            if peer:
                measure("peer", peer, PEER_COUNT)
    finally:
        os.sched_setaffinity(0, range(os.cpu_count()))
        ours.stop()
        if peer:
            peer.stop()
    mean = {name: {kind: statistics.median(values) for kind, values in of.items()}
            for name, of in found.items() if all(of.values())}
    ratios = [1e6 / cost / reference for cost, reference in zip(found["ours"]["token"], references)]
    table = [("token responses per core-second ÷ `openssl speed rsa2048` signatures", spread(ratios, 3), "≥ 0.6",
              f"{1e6 / mean['ours']['token']:,.0f} against {statistics.median(references):,.0f}")]
    for kind, label in (("code", "authorize with a live session"), ("userinfo", "userinfo")):
        ratios = [cost / session for cost, session in zip(found["ours"][kind], sessions)]
        table.append((f"{label}: CPU ÷ `GET /api/v1/session`", spread(ratios, 2), "≤ 3",
                      f"{mean['ours'][kind]:.0f} µs against {statistics.median(sessions):.0f} µs"))
    if not peer:
        return table + [("OpenID Connect beside glewlwyd", "glewlwyd is not installed", "", "")]
    for kind, label in (("code", "authorize"), ("token", "code exchange"), ("userinfo", "userinfo")):
        ratios = [theirs / own for theirs, own in zip(found["peer"][kind], found["ours"][kind])]
        table.append((f"{label}: glewlwyd's CPU ÷ Bramley's", spread(ratios, 2), "",
                      f"{mean['peer'][kind]:,.0f} µs against {mean['ours'][kind]:,.0f} µs"))
    return table
