"""A hundred times the usual of everything: no answer has a piece of more than 64 KiB, for which others would wait."""

import http.client
import json
import os
import re
import secrets
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from operators import SETTINGS, make_operator, user_of
from patience import PATIENCE
from processes import memory
from programs import SERVICES_ID
from routes import ADMIN, TABLE
from secure_site import get
from web import SAME_ORIGIN, bearer, cookie_field

CALLBACK = "https://grafana.example.com/login/generic_oauth"


def number(prefix: str, n: int) -> str:
    return f"{prefix}{n:026d}"


class Wealth:
    """A site, and in it Ada, an operator with a hundred times of everything."""

    def __init__(self, make_site):
        self.site = make_site(SETTINGS | {
            "log.level": "info", "server.trustedProxies": ["127.0.0.1"], "assertion.audience": "backend",
            "apple.bundleIDs": ["com.example.app"], "webhooks.url": ["http://localhost:1/hook"],
            "webhooks.secret": "whsec_" + "A" * 44})
        self.ada = make_operator(self.site)
        self.user = user_of(self.ada)
        self.operator = self.site.operator
        self.key = self.operator.key("users:read", "events:read", "webhooks:read", "clients:read")
        self.operator.bramley(
            "clients", "add", "program-0000", "--redirect-uri", CALLBACK, "--back-channel-logout-uri", "http://localhost:1/")
        self.fill()

    def rows(self, table: str, condition: str = "") -> list[dict]:
        columns = self.operator.tables()[table]
        names = ", ".join(f'"{name}"' for name in columns)
        return [dict(zip(columns, row)) for row in self.operator.database(f"SELECT {names} FROM {table} {condition}")]

    def copy(self, table: str, count: int, change, condition: str = "") -> dict:
        """So many more of the first row, each changed by its number; that row."""
        row = self.rows(table, condition)[0]
        self.operator.insert(table, *[row | change(n) for n in range(1, count + 1)])
        return row

    def fill(self) -> None:
        insert, copy, now, first = self.operator.insert, self.copy, int(time.time() * 1000), 1 << 40
        agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 " * 2
        session = copy("session", 500, lambda n: {
            "token_hash": os.urandom(32), "id": number("ses_", n), "user_agent": agent[:256],
            "address": "2001:db8:1234:5678:9abc:def0:1234:5678", "last_seen_at": now - n, "created_at": now - n})
        copy("user", 500, lambda n: {
            "id": number("usr_", n), "email": f"{'a' * 60}.{n}@example.com", "given_name": "G" * 40, "family_name": "F" * 40,
            "groups": json.dumps([f"group-{g}-{'x' * 40}" for g in range(5)])}, f"WHERE id = '{self.user}'")
        own = f"WHERE \"user\" = '{self.user}'"
        identity = copy("apple_identity", 500, lambda n: {
            "id": first + n, "subject": f"{n:06d}.{'b' * 32}.0001", "created_at": now, "user": number("usr_", n)}, own)
        copy("apple_identity", 100, lambda n: {"id": first + 1000 + n, "subject": f"{n:06d}.{'c' * 32}.0002"}, own)
        copy("apple_credential", 100, lambda n: {"identity": first + 1000 + n, "next_check_at": now + 10**9})
        insert("notification", *[{
            "jti": f"jti-{n:05d}", "type": "email-enabled", "client_id": SERVICES_ID, "subject": identity["subject"],
            "event_time": now, "received_at": now + n, "payload": None, "outcome": "applied"} for n in range(500)])
        event = {"type": "user.updated", "time": now, "user": self.user, "fields": json.dumps(["email", "name.given"])}
        insert("event", *[event | {"salt": os.urandom(10)} for _ in range(2_000)])
        copy("audit", 2_000, lambda n: {"sequence": first + n, "time": now})
        copy("api_key", 300, lambda n: {
            "id": number("key_", n), "hash": os.urandom(32), "name": f"backend {n} {'n' * 60}"})
        copy("openid_client", 300, lambda n: {
            "id": f"program-{n:04d}", "redirect_uris": json.dumps([f"{CALLBACK}/{n}/{u}" for u in range(3)])})
        endpoint = copy("webhook_endpoint", 300, lambda n: {"id": 1_000 + n, "url": f"client:program-{n:04d}"},
                        "WHERE url LIKE 'client:%'")
        sequences = [row["sequence"] for row in self.rows("event", "ORDER BY sequence DESC LIMIT 500")]
        insert("webhook_delivery", *[{
            "endpoint": endpoint["id"], "sequence": sequence, "user": self.user, "queued_at": now, "attempts": 10,
            "failure": "TLS: certificate: certificate has expired", "dead_at": now} for sequence in sequences])
        insert("openid_grant", *[{
            "id": secrets.token_bytes(16), "client": f"program-{n % 300:04d}", "user": self.user, "session": session["id"],
            "redirect_uri": CALLBACK, "scopes": json.dumps(["openid", "email"]), "authenticated_at": now,
            "code_hash": os.urandom(32), "code_expires_at": now, "is_code_used": 1, "expires_at": now + 10**9}
            for n in range(500)])
        insert("openid_participant", *[{"session": session["id"], "client": f"program-{n:04d}"} for n in range(300)])

    def pieces(self, path: str, asker: str = "page") -> tuple[int, list[int], bytes]:
        fields = bearer(self.key) if ":" in asker else cookie_field(self.ada.cookies) | SAME_ORIGIN
        return pieces(self.site, path, fields)


@pytest.fixture(scope="module")
def wealth(make_shared_site):
    return Wealth(make_shared_site)


def request(site, path: str, fields: dict[str, str]) -> bytes:
    fields = {"Host": f"localhost:{site.port}"} | fields | {"Connection": "close"}
    return "\r\n".join([f"GET {path} HTTP/1.1", *(f"{name}: {fields[name]}" for name in fields), "", ""]).encode()


def pieces(site, path: str, fields: dict[str, str]) -> tuple[int, list[int], bytes]:
    """The status of an answer, how long each part is that came as one, and the whole."""
    with socket.create_connection(("127.0.0.1", site.port), PATIENCE) as connection:
        connection.sendall(request(site, path, fields))
        answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    head, content = answer.split(b"\r\n\r\n", 1)
    status = int(head.split()[1])
    if b"\r\ntransfer-encoding: chunked" not in head.lower():
        return status, [len(content)], content
    sizes, parts = [], []
    while content:
        size, content = content.split(b"\r\n", 1)
        sizes.append(int(size, 16))
        parts.append(content[:sizes[-1]])
        content = content[sizes[-1] + 2:]
    assert sizes[-1] == 0, "cut off"
    return status, sizes, b"".join(parts)


def paths() -> list[tuple[str, str, str]]:
    """Every route that answers a GET, with the parameters that make it long; and who asks."""
    more = {"/api/v1/users": ["?limit=200"], "/api/v1/events": ["?limit=200"], "/api/v1/users/{id}/sessions": ["?limit=200"],
            "/api/v1/webhooks/dead-letters": ["?limit=200"], "/operator/change": ["?action=endSessions&target={id}"],
            "/oidc/authorize": ["?client_id=program-0000"]}
    for name in ("users", "sessions", "clients", "webhooks", "notifications", "api-keys", "audit"):
        more[f"/operator/{name}"] = ["", "?format=csv"]
    # The files of pages are made when the server starts.
    return [(path, query, route.asker) for (method, path), route in TABLE.items()
            if method == "GET" and path not in ADMIN and not path.startswith("/assets/")
            for query in more.get(path, [""])]


@pytest.mark.parametrize("path, query, asker", paths(), ids=lambda value: value)
def test_large_answers_are_streamed(wealth, path, query, asker):
    target = (path + query).replace("{id}", "program-0000" if "clients" in path else wealth.user)
    status, sizes, _ = wealth.pieces(target, asker)
    # A link is nobody's here.
    assert status < 500 and (status < 400 or path.startswith(("/link", "/auth", "/oidc", "/operator/change")) or
                             path in ("/.well-known/change-password", "/oauth2/userinfo")), status
    assert max(sizes) <= 65_536, sizes


def test_paged_lists_hold_everything_exactly_once(wealth):
    status, sizes, content = wealth.pieces("/account/export")
    export = json.loads(content)
    assert status == 200 and len(sizes) > 5 and export["complete"]
    counts = {name: len(export[name]) for name in ("sessions", "programs", "programSessions", "notifications")}
    assert counts == {"sessions": 501, "programs": 500, "programSessions": 300, "notifications": 500}
    assert len({event["id"] for event in export["events"]}) == len(export["events"]) >= 2_000
    times = [event["time"] for event in export["events"]]
    assert times == sorted(times)
    found, target = [], f"/api/v1/users/{wealth.user}/sessions?limit=200"
    while target:
        page = json.loads(wealth.pieces(target, "users:read")[2])
        found += [session["id"] for session in page["items"]]
        target = page["next"] and f"/api/v1/users/{wealth.user}/sessions?limit=200&after={page['next']}"
    assert len(found) == len(set(found)) == 501 and set(found) == {session["id"] for session in export["sessions"]}
    shown, target = set(), "/account"
    while target:
        text = wealth.pieces(target)[2].decode()
        ids = re.findall(r'name="session" value="(ses_[0-9a-z]+)"', text)
        assert len(ids) <= 25 and not shown & set(ids)
        shown |= set(ids)
        target = (re.findall(r'href="(/account\?after=[\w-]+)#sessions"', text) or [None])[0]
    assert len(shown) == 500, "all but this browser's"
    text = wealth.pieces(f"/operator/users/{wealth.user}")[2].decode()
    assert f"/operator/sessions?q={wealth.user}" in text and text.count("action=end-session&") == 20
    assert wealth.pieces(f"/operator/sessions?q={wealth.user}")[2].count(b"action=end-session&") == 50


def verify_until(over: threading.Event, site, most: float = float("inf")) -> list[float]:
    """Asks about nobody, as a proxy does, at most so often; how long each answer took, the longest last."""
    times = []
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=PATIENCE)
    while not over.is_set() and len(times) < most:
        begun = time.monotonic()
        get(connection, "/auth/verify", Host=f"localhost:{site.port}")
        times.append(time.monotonic() - begun)
        time.sleep(0.005)
    connection.close()
    return sorted(times)


def download(site, ada, rate: float | None = None) -> int:
    """Reads the file of people, at most `rate` bytes a second; how many are in it."""
    with socket.socket() as connection:
        connection.settimeout(PATIENCE)
        if rate:
            # As from far away: little waits in the kernel.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.connect(("127.0.0.1", site.port))
        connection.sendall(request(site, "/operator/users?format=csv", cookie_field(ada.cookies) | SAME_ORIGIN))
        content, count = b"", 0
        while piece := connection.recv(65_536):
            count += piece.count(b"@example.com")
            content = (content + piece)[-16:]
            if rate:
                time.sleep(len(piece) / rate)
        assert content.endswith(b"\r\n0\r\n\r\n"), "cut off"
        return count


@pytest.mark.long
def test_files_of_a_hundred_thousand_people(make_site, tmp_path):
    site = make_site(SETTINGS | {"log.level": "info"})
    ada = make_operator(site)
    people = tmp_path / "people.jsonl"
    with people.open("w") as output:
        for n in range(99_000):
            output.write(json.dumps({
                "appleSubject": f"{n:06d}.{n * 7919:032x}.{n % 9999:04d}", "email": f"p{n}@example.com",
                "emailVerified": True, "name": {"given": f"Given{n}", "family": "Family"}}) + "\n")
    site.operator.bramley("users", "import", str(people))
    process, over = site.server.process.pid, threading.Event()
    alone = verify_until(over, site, 200)
    before = most = memory(process)
    with ThreadPoolExecutor(13) as pool:
        try:
            verifying = pool.submit(verify_until, over, site)
            count = download(site, ada)
            # Slower than the server could make it, and for longer than one answer may wait: it is not reset.
            readers = [pool.submit(download, site, ada, 2_000_000 if n else None) for n in range(12)]
            while not all(reader.done() for reader in readers):
                most = max(most, memory(process))
                time.sleep(0.05)
        finally:
            over.set()
    times = verifying.result()
    assert count >= 99_000 and {reader.result() for reader in readers} == {count}
    assert most - before < 48 << 20, (before, most)
    # Files are written in pieces: half of the answers do not wait, however slow the machine is.
    assert times[len(times) // 2] < 0.02 + 10 * alone[len(alone) // 2], (times[-20:], alone[-20:])
