"""Every list, search, count, export and end-all with 200,000 people and a million sessions, on both engines.

    python3 -B Benchmarks/crowd.py BINARY [PEOPLE [SESSIONS [ENGINE...]]]

Prints the figures of docs/contribute/performance.md. A page is what one request answers, medians of nine. While something long
runs, a backend writes every 20 ms: what it waits, the median, the 99th percentile and the longest, says for how long
others were kept from writing. The row `nothing else` says what the machine does to them.
"""

import contextlib
import hashlib
import http.client
import json
import os
import re
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TESTS = str(Path(__file__).resolve().parents[1] / "Tests/System/PostgreSQL")
# Only for this: each of the two folders has a `crowd` and a `wire`.
sys.path.insert(0, TESTS)
import crowd  # noqa: E402

sys.path.remove(TESTS)
import peers  # noqa: E402
import postgres  # noqa: E402

BINARY = sys.argv[1]
PEOPLE, SESSIONS = [int(text) for text in sys.argv[2:4]] + [200_000, 1_000_000][len(sys.argv[2:4]):]
ENGINES = sys.argv[4:] or ["SQLite", "PostgreSQL"]
OPERATOR, KEY = "brs_" + secrets.token_urlsafe(32), "brk_" + secrets.token_urlsafe(32)
ROUNDS = 9
# Seconds that a change of very many rows is watched: its pieces are alike.
WATCHED = 90
DAY = 86_400_000


def digest(text):
    return hashlib.sha256(text.encode()).digest()


class Site:
    """A server on one engine, filled."""

    def __init__(self, folder, engine):
        self.folder, self.engine, self.process = folder, engine, None
        os.makedirs(folder, mode=0o700)
        self.port, self.admin = peers.free_port(), peers.free_port()
        subprocess.run(
            f"openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out {folder}/key.p8",
            shell=True, check=True)
        self.write("sealing.key", secrets.token_hex(32))
        os.chmod(f"{folder}/key.p8", 0o600)
        self.settings = {
            "publicURL": f"http://localhost:{self.port}", "access": {"signUp": "open"},
            "server": {"host": "127.0.0.1", "port": self.port, "limits": {"operatorPerMinute": 100_000}},
            "admin": {"port": self.admin}, "operator": {"groups": ["admins"]},
            "apple": {"servicesID": "com.example.web", "teamID": "TEAM123456", "keyID": "KEY1234567",
                      "privateKeyFile": f"{folder}/key.p8", "scopes": ["name", "email"], "endpoint": "http://127.0.0.1:9"},
            "storage": {"directory": f"{folder}/data"}, "secrets": {"sealingKeyFile": f"{folder}/sealing.key"},
            "log": {"level": "error"},
        }
        self.database = None
        if engine == "PostgreSQL":
            self.database = postgres.Postgres(fsync="on", shared_buffers="256MB")
            self.name = self.database.make_schema()
            self.settings["storage"]["postgres"] = {
                "url": f"host={self.database.folder} port=5432 user=postgres dbname={self.name}"}
        self.start()
        self.stop()
        began = time.monotonic()
        self.fill()
        self.start()
        unindexed = "SELECT count(*) FROM user WHERE indexed_name = ' ' AND given_name IS NOT NULL"
        while int(self.sql(unindexed)) > 0:
            time.sleep(1)
        if self.database:
            self.sql("VACUUM ANALYZE")
        print(f"{engine}: filled and indexed in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    def write(self, name, text):
        with open(os.open(f"{self.folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)

    def start(self, **retention):
        self.write("config.json", json.dumps(self.settings | ({"retention": retention} if retention else {})))
        self.process = subprocess.Popen(
            [BINARY, "serve", "--config", f"{self.folder}/config.json"], stdout=subprocess.DEVNULL)
        peers.wait_for_port(self.port, self.process)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def end(self):
        self.stop()
        if self.database:
            self.database.stop()

    def bramley(self, *arguments):
        return subprocess.run(
            [BINARY, *arguments, "--config", f"{self.folder}/config.json"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, check=True)

    # The database.

    def sql(self, text):
        if not self.database:
            with contextlib.closing(sqlite3.connect(f"{self.folder}/data/bramley.db", timeout=60)) as database:
                with database:
                    row = database.execute(text).fetchone()
                    return row[0] if row else None
        text = re.sub(r"(?<![\w.'\"])user(?![\w'\"])", '"user"', text)
        program = sorted(os.listdir("/usr/lib/postgresql"), key=int)[-1]
        return subprocess.run(
            [f"/usr/lib/postgresql/{program}/bin/psql", "-h", self.database.folder, "-U", "postgres", "-d",
             f"dbname={self.name} options='-c search_path=bramley,public'", "-qAtc", text],
            check=True, capture_output=True, text=True).stdout.strip()

    def fill(self):
        now = round(time.time() * 1000)
        if self.database:
            for statement in crowd.people(PEOPLE) + crowd.sessions(SESSIONS, PEOPLE, now):
                self.sql(statement)
        else:
            self.fill_sqlite(now)
        blob = (lambda text: f"'\\x{digest(text).hex()}'") if self.database else (lambda text: f"x'{digest(text).hex()}'")
        for statement in (
            f"""INSERT INTO user (id, state, groups, given_name, created_at, updated_at)
                VALUES ('{crowd.user_id(0)}', 'active', '["admins"]', 'Ada', 0, 0)""",
            f"""INSERT INTO apple_identity (id, user, team, subject, credential_state, last_sign_in_issued_at, created_at)
                VALUES ({PEOPLE + 1}, '{crowd.user_id(0)}', 'TEAM123456', 'ada', 'authorized', 0, 0)""",
            f"""INSERT INTO session (token_hash, id, kind, user, identity, client_id, user_agent, address, issued_at,
                created_at, last_seen_at, expires_at, examine_at) VALUES ({blob(OPERATOR)}, 'ses_{'z' * 26}', 'browser',
                '{crowd.user_id(0)}', {PEOPLE + 1}, 'com.example.web', 'Mozilla/5.0', '203.0.113.7', {now}, {now + 1},
                {now + DAY}, {now + 30 * DAY}, {now + DAY})""",
            f"""INSERT INTO api_key (id, hash, name, scopes, created_at) VALUES ('key_{'0' * 26}', {blob(KEY)}, 'crowd',
                '["users:read","users:write","events:read"]', {now})""",
        ):
            self.sql(statement)

    def fill_sqlite(self, now):
        database = sqlite3.connect(f"{self.folder}/data/bramley.db")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -400000")
        people, sessions = range(1, PEOPLE + 1), range(1, SESSIONS + 1)

        def user(number):
            return crowd.user_id(1 + number % PEOPLE)

        def born(number):
            return now - (SESSIONS - number) * 1500 % 2_000_000_000

        with database:
            database.executemany(
                "INSERT INTO user (id, state, external_id, groups, given_name, family_name, email, email_verified, "
                "created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, 0)",
                ((crowd.user_id(n), {7: "disabled", 8: "pending"}.get(n % 200, "active"), f"crm-{n}",
                  '["staff"]' if n % 100 == 0 else "[]", crowd.GIVEN[n * 7919 % 10],
                  f"{crowd.FAMILY[n * 104729 % 8]} {n}", f"user{n}@example.com", crowd.BEGAN + n) for n in people))
            database.executemany(
                "INSERT INTO apple_identity (id, user, team, subject, credential_state, last_sign_in_issued_at, created_at)"
                " VALUES (?, ?, 'TEAM123456', ?, 'authorized', 0, ?)",
                ((n, crowd.user_id(n), f"subject-{n}", crowd.BEGAN + n) for n in people))
            rows = sorted((digest(crowd.token(n)), n) for n in sessions)
            database.executemany(
                "INSERT INTO session (token_hash, id, kind, user, identity, client_id, user_agent, address, issued_at, "
                "created_at, last_seen_at, expires_at, examine_at) VALUES (?, ?, 'browser', ?, ?, 'com.example.web', "
                "'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.4 Safari/605.1.15', ?, "
                "?, ?, ?, ?, ?)",
                ((token, f"ses_{n:026d}", user(n), 1 + n % PEOPLE, f"203.0.113.{n % 250}", born(n), born(n), now,
                  now + 2_000_000_000, now + 80_000_000) for token, n in rows))
            database.executemany(
                "INSERT INTO event (salt, type, time, user, session) VALUES (?, 'session.created', ?, ?, ?)",
                ((digest(str(n))[:10], born(n), user(n), f"ses_{n:026d}") for n in sessions))
            database.executemany(
                "INSERT INTO audit (time, type, actor, subject, network) VALUES (?, 'sign_in', 'visitor', ?, '10.0.0.0/24')",
                ((born(n), digest(str(1 + n % PEOPLE))[:16]) for n in sessions))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()

    # What people ask.

    def sign_out(self, number):
        """The session of this number; returns how long it took, in milliseconds."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=900)
        try:
            began = time.monotonic()
            connection.request("POST", "/logout", "", {
                "Host": f"localhost:{self.port}", "Origin": f"http://localhost:{self.port}",
                "Cookie": f"__Host-bramley={crowd.token(number)}"})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 303:
                raise SystemExit(f"POST /logout: {answer.status}")
            return (time.monotonic() - began) * 1000
        finally:
            connection.close()

    def ask(self, method, path, body=None, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=900)
        try:
            headers = {"Host": f"localhost:{self.port}"}
            if path.startswith("/operator"):
                headers |= {"Cookie": f"__Host-bramley={OPERATOR}", "Sec-Fetch-Site": "same-origin",
                            "Sec-Fetch-Mode": "navigate"}
            else:
                headers["Authorization"] = f"Bearer {KEY}"
            connection.request(method, path, body, headers | ({"Content-Type": "application/json"} if body else {}))
            answer = connection.getresponse()
            content = answer.read()
            if answer.status not in (200, 204):
                raise SystemExit(f"{method} {path}: {answer.status} {content[:300]}")
            return content
        finally:
            connection.close()

    def writing(self, work):
        """How long `work` took, and how long writes waited meanwhile, in order; all in seconds."""
        over, waits = threading.Event(), []

        def write():
            turn = 0
            while not over.is_set():
                began = time.monotonic()
                self.ask("PATCH", f"/api/v1/users/{crowd.user_id(5)}", json.dumps({"groups": [f"g{turn}"]}))
                waits.append(time.monotonic() - began)
                turn += 1
                time.sleep(0.02)

        thread = threading.Thread(target=write)
        thread.start()
        time.sleep(1)
        waits.clear()
        began = time.monotonic()
        try:
            work()
            return time.monotonic() - began, sorted(waits) or [0]
        finally:
            over.set()
            thread.join()


PAGES = {
    "API, a page of 50 people": "/api/v1/users?limit=50",
    "… of 200": "/api/v1/users?limit=200",
    "… behind half of them": "half",
    "… by state": "/api/v1/users?limit=50&state=pending",
    "… by group": "/api/v1/users?limit=50&group=staff",
    "… by state and group, which nobody has": "/api/v1/users?limit=50&state=pending&group=staff",
    "… by address": "/api/v1/users?email=user77777@example.com",
    "API, a page of events": "/api/v1/events?limit=50",
    "… of a type that none has": "/api/v1/events?limit=50&type=account.deleted",
    "… of one person": f"/api/v1/events?limit=50&user={crowd.user_id(777)}",
    "operator: today": "/operator",
    "operator: people": "/operator/users",
    "… by a word that many have": "/operator/users?q=jurgen",
    "… by one letter": "/operator/users?q=a",
    "… by two words": "/operator/users?q=chloe+7777",
    "… by two words that nobody has both of": "/operator/users?q=ann+zzz",
    "… by a word that nobody has": "/operator/users?q=nobodyhasthis",
    "… who are disabled": "/operator/users?state=disabled",
    "operator: a person": f"/operator/users/{crowd.user_id(777)}",
    "operator: sessions": "/operator/sessions",
    "operator: audit log": "/operator/audit",
    "… of a person": f"/operator/audit?q={crowd.user_id(777)}",
    "… of a type that is rare": "/operator/audit?type=user.deleted",
}


def half(site):
    """A page of people whose cursor is in the middle."""
    import base64
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    number = 0
    for letter in f"{PEOPLE // 2:026d}":
        number = number << 5 | alphabet.index(letter)
    packed = (number << 6).to_bytes(17, "big")
    cursor = bytes([1]) + (crowd.BEGAN + PEOPLE // 2).to_bytes(6, "big") + packed
    return "/api/v1/users?limit=50&after=" + base64.urlsafe_b64encode(cursor).decode().rstrip("=")


def measure(site):
    rows = {}
    for name, path in PAGES.items():
        path = half(site) if path == "half" else path
        took = []
        for _ in range(ROUNDS + 1):
            began = time.monotonic()
            site.ask("GET", path)
            took.append((time.monotonic() - began) * 1000)
        rows[name] = f"{statistics.median(took[1:]):.1f} ms"
        print(f"{site.engine}: {name}: {rows[name]}, at first {took[0]:.0f} ms", file=sys.stderr, flush=True)
    for path in ("/readyz", "/metrics"):
        took = []
        for _ in range(ROUNDS):
            began = time.monotonic()
            site.ask("GET", path, port=site.admin)
            took.append((time.monotonic() - began) * 1000)
        rows[f"`{path}`"] = f"{statistics.median(took):.1f} ms, at first {took[0]:.0f} ms"

    def ends(name, first):
        rows[name] = f"{statistics.median(site.sign_out(number) for number in range(first, first + ROUNDS)):.1f} ms"
        print(f"{site.engine}: {name}: {rows[name]}", file=sys.stderr, flush=True)

    ends("a sign-out", 1)
    site.bramley("clients", "add", "told", "--redirect-uri", "https://app.example.com/callback",
                 "--back-channel-logout-uri", "http://127.0.0.1:9/logout")
    ends("… when a program wants to be told", 101)

    def long(name, work):
        took, waits = site.writing(work)
        usual, most = (waits[len(waits) * part // 100] * 1000 for part in (50, 99))
        rows[name] = f"{took:.0f} s; {usual:.0f}, {most:.0f}, {waits[-1] * 1000:.0f} ms"
        print(f"{site.engine}: {name}: {rows[name]}", file=sys.stderr, flush=True)

    long("nothing else", lambda: time.sleep(30))
    long("CSV of people", lambda: site.ask("GET", "/operator/users?format=csv"))
    long("`users list --all --json`", lambda: site.bramley("users", "list", "--all", "--json"))
    long("`sessions list --all --json`", lambda: site.bramley("sessions", "list", "--all", "--json"))
    long("`audit list --since 2020-01-01 --type user.deleted`, which is none",
         lambda: site.bramley("audit", "list", "--since", "2020-01-01", "--type", "user.deleted"))
    long("`events tail --type account.deleted`, which is none",
         lambda: site.bramley("events", "tail", "--type", "account.deleted"))

    def gone(name, table, work):
        """How many rows a second go, and how long writes wait meanwhile."""
        number = f"SELECT count(*) FROM {table}"

        def watched():
            before, began = int(site.sql(number)), time.monotonic()
            work()
            count, took = before - int(site.sql(number)), time.monotonic() - began
            rates.append(f"{count:,} in {took:.0f} s")

        rates = []
        long(name, watched)
        rows[name] = f"{rates[0]}; {rows[name].partition('; ')[2]}"
        print(f"{site.engine}: {name}: {rows[name]}", file=sys.stderr, flush=True)

    def revoke():
        command = subprocess.Popen(
            [BINARY, "sessions", "revoke", "--all", "--yes", "--config", f"{site.folder}/config.json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.wait(WATCHED)
        command.terminate()
        command.wait()

    site.stop()
    site.start(events=86_400)
    # The first round begins after a minute.
    time.sleep(65)
    gone("retention: events", "event", lambda: time.sleep(WATCHED))
    site.stop()
    site.start()
    gone("`sessions revoke --all`", "session", revoke)
    return rows


def main():
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for engine in ENGINES:
            site = Site(f"{folder}/{engine}", engine)
            try:
                results[engine] = measure(site)
            finally:
                site.end()
    print(f"| {PEOPLE:,} people, {SESSIONS:,} sessions | {' | '.join(ENGINES)} |")
    print("|---" * (len(ENGINES) + 1) + "|")
    for name in results[ENGINES[0]]:
        print(f"| {name} | {' | '.join(results[engine][name] for engine in ENGINES)} |")


main()
