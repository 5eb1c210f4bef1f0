"""A server with people in it: some who really signed in, and many who were written into its database."""

import base64
import hashlib
import json
import random
import time

from operating import event_id
from patience import eventually
from web import call

PEOPLE = ("ada", "boris", "chie", "dana", "erin")
SCOPES = ("introspect", "users:read", "users:write", "users:delete", "events:read", "webhooks:read", "webhooks:write", "clients:read", "clients:write", "links", "links:replace")
# Nobody answers there; what is sent is little.
ENDPOINT = "http://127.0.0.1:9/events"
WEBHOOKS = {
    "webhooks.url": [ENDPOINT], "webhooks.secret": ["whsec_" + base64.b64encode(b"webhooks of a server in a test..").decode()],
    "webhooks.events": ["email.enabled"]}
# The same in every run: what was found once is found again.
NUMBERS = random.Random(20261121)


def make_id(prefix: str) -> str:
    return prefix + "".join(NUMBERS.choice("0123456789abcdefghjkmnpqrstvwxyz") for _ in range(26))


def make_token(prefix: str) -> tuple[str, bytes]:
    """A token and what the database knows of it."""
    token = prefix + base64.urlsafe_b64encode(NUMBERS.randbytes(32)).rstrip(b"=").decode()
    return token, hashlib.sha256(token.encode()).digest()


class Inhabited:
    """Makes keys by command, and people by writing into the database as another process may."""

    def __init__(self, site):
        self.site = site
        self.operator = site.operator
        self.keys: dict[tuple[str, ...], str] = {}
        self.has_program = False

    def write(self, sql: str, rows: list[tuple]) -> None:
        self.operator.write(sql, rows)

    def read(self, sql: str) -> list[tuple]:
        return self.operator.database(sql)

    def key(self, *scopes: str) -> str:
        if scopes not in self.keys:
            self.keys[scopes] = self.operator.key(*scopes)
        return self.keys[scopes]

    def use_openid(self) -> None:
        """Registers a program, once, and waits for the key that this makes necessary."""
        if not self.has_program:
            self.operator.bramley("clients", "add", "first", "--redirect-uri", "https://program.example.com/callback")
            self.has_program = True

        def has_key() -> bool:
            keys = call(self.site, "GET", "/.well-known/jwks.json")
            return keys.status == 200 and any(key["kty"] == "RSA" for key in keys.json()["keys"])

        eventually(has_key, "the key for ID tokens")

    def make_people(self, count: int, groups: tuple[str, ...] = ()) -> list[str]:
        """Users nobody has signed in as, all of one millisecond; their ids."""
        ids = [make_id("usr_") for _ in range(count)]
        made = 1_790_000_000_000
        self.write("INSERT INTO user (id, state, groups, created_at, updated_at) VALUES (?, 'active', ?, ?, ?)",
                   [(user, json.dumps(groups), made, made) for user in ids])
        self.write("INSERT INTO apple_identity (user, team, subject, credential_state, last_sign_in_issued_at, created_at)"
                   " VALUES (?, 'TEAM123456', ?, 'authorized', ?, ?)",
                   [(user, "001." + user, made, made) for user in ids])
        return ids

    def make_sessions(self, users: list[str], kind: str = "browser") -> list[tuple[str, str]]:
        """A session for each; ids and tokens."""
        made, sessions, rows = now(), [], []
        for user in users:
            token, digest = make_token("brs_")
            sessions.append((make_id("ses_"), token))
            rows.append((digest, sessions[-1][0], kind, user, "com.example.web", "Test/1", "192.0.2.1", made, made, made,
                         made + 3_600_000, user))
        self.write("INSERT INTO session (token_hash, id, kind, user, client_id, user_agent, address, issued_at, created_at,"
                   " last_seen_at, expires_at, identity) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                   " (SELECT id FROM apple_identity WHERE user = ?))", rows)
        return sessions

    def events(self) -> list[str]:
        return [event_id(*row) for row in self.read("SELECT sequence, salt FROM event ORDER BY sequence")]


def now() -> int:
    return time.time_ns() // 1_000_000
