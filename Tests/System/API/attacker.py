"""What attackers send: requests with any fields in any number, at every route the documentation names."""

import contextlib
import html.parser
import http.client
import itertools
import os
import re
from urllib.parse import urlencode, urlsplit

from app import APP
from inhabited import SCOPES, WEBHOOKS, Inhabited
from patience import PATIENCE
from programs import ROOT
from routes import ADMIN, FORM, TABLE
from ways import LINKS, Way
from web import Answer

ROUTES = ROOT / "docs/reference/api.md"
COOKIE = "__Host-bramley"
SAME_ORIGIN = ("Sec-Fetch-Site", "same-origin")
# What a site of these tests names as its proxies, to believe `send`.
PROXIES = ["127.0.0.0/8"]
OPERATORS = {"operator.groups": ["operators"]}
# A site where everything can be tried.
SETTINGS = {
    **LINKS, **OPERATORS, **WEBHOOKS, "log.level": "info", "server.trustedProxies": PROXIES,
    "assertion.audience": "backend", "apple.bundleIDs": [APP]}
ADDRESSES = itertools.count(1)
# Probes are on a listener of their own. test_bad_input.py holds the table against the documentation.
DOCUMENTED = [place for place in TABLE if place[1] not in ADMIN]
BACKENDS = [place for place, route in TABLE.items() if route.asker in SCOPES]


def browser_pages() -> list[str]:
    """Paths a browser opens; attempts are JSON for scripts."""
    section = re.search(r"^### For browsers\n(.*?)^### ", ROUTES.read_text(), re.MULTILINE | re.DOTALL)[1]
    paths = [path for path in re.findall(r"^- `GET (/[^`]*)`:", section, re.MULTILINE)
             if not path.startswith(("/assets/", "/.well-known/")) and not path.endswith("/attempt")]
    assert len(paths) > 10
    return paths


def send(site, method: str, path: str, fields: list[tuple[str, str]] | dict = (), body: str | bytes = b"") -> Answer:
    """Fields in their order, and as often as they are named."""
    body = body.encode() if isinstance(body, str) else body
    fields = fields.items() if isinstance(fields, dict) else fields
    # Each from another address, so that no limit answers instead of what is tried.
    number = next(ADDRESSES)
    source = f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
    with contextlib.closing(http.client.HTTPConnection(
            "127.0.0.1", site.port, timeout=PATIENCE, source_address=(source, 0))) as connection:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if not any(name.lower() == "host" for name, _ in fields):
            connection.putheader("Host", urlsplit(site.origin).netloc)
        for name, value in fields:
            connection.putheader(name, value.encode() if isinstance(value, str) else value)
        if body or method in ("POST", "PATCH"):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return Answer(connection.getresponse())


class Page(html.parser.HTMLParser):
    """What a browser makes of a page: its tags with what they have, and all text."""

    def __init__(self, page: bytes):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page.decode())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    @property
    def shape(self) -> list[tuple]:
        return [(tag, sorted(attributes)) for tag, attributes in self.tags]


def cookie(token: str) -> tuple[str, str]:
    return ("Cookie", f"{COOKIE}={token}")


class Person:
    """With two sessions, of this browser and elsewhere; at a route of linking on the way, at the operator's an operator."""

    def __init__(self, inhabited: Inhabited, path: str = ""):
        self.inhabited = inhabited
        self.user = inhabited.make_people(1, ("operators",) if path.startswith("/operator") else ())[0]
        # Wherever they are named, their id is seen.
        inhabited.write("UPDATE user SET given_name = ? WHERE id = ?", [(self.user, self.user)])
        (self.session, self.token), (self.elsewhere, self.other) = inhabited.make_sessions([self.user, self.user])
        if path == "/account/applications/end":
            inhabited.write(
                "INSERT INTO openid_grant (id, client, user, session, redirect_uri, scopes, authenticated_at, code_hash,"
                " code_expires_at, expires_at) VALUES (?, 'grafana', ?, ?, 'https://grafana.example.com/', '[]', 1, ?, 1, 1)",
                [(os.urandom(16), self.user, self.session, os.urandom(32))])
        # What a page of ours posts there.
        self.fields = {
            "/account/sessions/revoke": {"session": self.elsewhere},
            "/account/sessions/revoke-all": {"applications": "true"}, "/account/applications/end": {"client": "grafana"},
            "/device": {"user_code": "none"},
            "/account/delete": {"confirm": "yes", "account": self.user},
            "/operator/change": {"action": "end-session", "target": self.elsewhere}}
        self.way = Way(inhabited, send, self.user, path)

    @property
    def cookies(self) -> list[tuple[str, str]]:
        return [cookie(self.token)] + ([("Cookie", self.way.browser)] if self.way.browser else [])

    @property
    def page(self) -> list[tuple[str, str]]:
        return [SAME_ORIGIN, FORM, *self.cookies]

    def kept(self) -> tuple:
        """Everything about them that a request could change, and the events about it."""
        read, where = self.inhabited.read, f"user = '{self.user}'"
        return (
            read(f"SELECT state, external_id, groups, given_name, email FROM user WHERE id = '{self.user}'"),
            read(f"SELECT id FROM session WHERE {where} ORDER BY id"),
            read(f"SELECT type FROM event WHERE {where} ORDER BY sequence"),
            read(f"SELECT subject FROM apple_identity WHERE {where}"), self.way.kept())

    def form(self, path: str) -> str:
        return urlencode(self.fields.get(path, self.way.content))

    def fill(self, path: str) -> str:
        return path.replace("{id}", self.way.id or self.user).replace("{session}", self.elsewhere).replace("{client}", "grafana").replace("{path...}", "style.css")
