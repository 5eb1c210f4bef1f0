"""The server as an operator starts it, with the second Apple (apple.py) in place of the first."""

import http.client
import json
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from apple import Account, Apple, Client
from operating import Operator
from patience import PATIENCE, eventually
from programs import Program, free_port, write_private

TEAM, KEY_ID, WEB, APP = "TEAMABCDE1", "KEYABCDEF1", "org.example.second", "org.example.second.app"


def team_key() -> tuple[bytes, bytes]:
    """A .p8 and its public half."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private, key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class AppSite(Operator):
    def __init__(self, binaries: Path, folder: Path):
        super().__init__(binaries, folder)
        self.binaries = binaries
        self.port = free_port()
        self.origin = f"http://localhost:{self.port}"
        private, public = team_key()
        write_private(folder / "AuthKey.p8", private)
        clients = [Client(WEB, TEAM, f"{self.origin}/apple/callback"), Client(APP, TEAM)]
        self.apple = Apple({client.id: client for client in clients}, {TEAM: {KEY_ID: public}})
        self.configuration = {
            "publicURL": self.origin,
            "access": {"signUp": "open"},
            "server": {"host": "127.0.0.1", "port": self.port, "threads": 1, "trustedProxies": ["127.0.0.1"]},
            "admin": {"port": free_port()},
            "apple": {
                "servicesID": WEB, "teamID": TEAM, "keyID": KEY_ID,
                "privateKeyFile": str(folder / "AuthKey.p8"), "scopes": ["name", "email"],
                "endpoint": self.apple.origin, "bundleIDs": [APP],
            },
            "storage": {"directory": str(folder / "data")},
            "log": {"level": "info", "format": "text"},
        }
        self.server: Program | None = None

    def start(self) -> "AppSite":
        write_private(self.folder / "config.json", json.dumps(self.configuration, indent=4).encode())
        self.server = Program(
            [str(self.binaries / "bramley"), "serve", "--config", str(self.folder / "config.json")],
            self.folder / "bramley.log")
        self.server.wait_for(self.port)
        return self

    def end(self) -> None:
        if self.server:
            self.server.stop()
        self.apple.close()

    # What the operator does, besides commands

    def a_day_passes(self) -> None:
        """Every credential is asked about, and the answer is in."""
        asked = len(self.asked("/auth/token"))
        due = self.database("SELECT count(*) FROM apple_credential WHERE sealed_refresh_token IS NOT NULL")[0][0]
        self.database("UPDATE apple_credential SET next_check_at = 1, checked_at = NULL")
        eventually(lambda: len(self.asked("/auth/token")) == asked + due, "the daily check", self.server.text)
        # What is in flight is answered before the process ends.
        assert self.server.stop() == 0, self.server.text()
        self.start()

    def asked(self, path: str) -> list[dict]:
        return [form for known, form in list(self.apple.requests) if known == path]

    # What people do

    def ask(self, method: str, path: str, headers: dict | None = None, body: str | None = None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {"Host": urlsplit(self.origin).netloc} | (headers or {}))
            answer = connection.getresponse()
            answer.text = answer.read().decode()
            return answer
        finally:
            connection.close()

    def goes_to_apple(self, account: Account) -> tuple[dict, dict]:
        """The browser's cookies, and the form it brings back."""
        start = self.ask("GET", "/login/apple")
        assert start.status == 303, start.text
        jar = {name: morsel.value for line in start.headers.get_all("Set-Cookie")
               for name, morsel in SimpleCookie(line).items()}
        return jar, self.apple.comes_back(account, start.headers["Location"])

    def posts(self, jar: dict, form: dict):
        return self.ask("POST", "/apple/callback", {
            "Content-Type": "application/x-www-form-urlencoded", "Origin": "https://appleid.apple.com",
            "Sec-Fetch-Site": "cross-site", "Cookie": "; ".join(f"{name}={value}" for name, value in jar.items()),
        }, urlencode(form))

    def signs_in(self, account: Account) -> str:
        """The session's cookie."""
        done = self.posts(*self.goes_to_apple(account))
        assert done.status == 303, (done.text, self.server.text())
        cookies = [SimpleCookie(line) for line in done.headers.get_all("Set-Cookie")]
        return next(cookie["__Host-bramley"].value for cookie in cookies if "__Host-bramley" in cookie)

    def challenge(self) -> str:
        answer = self.ask("POST", "/api/v1/native/challenge")
        assert answer.status == 200, answer.text
        return json.loads(answer.text)["nonce"]

    def taps(self, account: Account, nonce: str, claim: str) -> dict:
        """What an app sends once the person said yes: `claim` is what it gave Apple of the nonce."""
        code, token, first = self.apple.allows(account, self.apple.clients[APP], claim, names_redirect=False)
        content = {"identityToken": token, "authorizationCode": code, "nonce": nonce}
        return content | ({"user": {"givenName": account.given, "familyName": account.family}} if first else {})

    def sends(self, method: str, path: str, content: dict, token: str | None = None):
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        return self.ask(method, path, bearer | {"Content-Type": "application/json"}, json.dumps(content))

    def session(self, cookie: str) -> dict | None:
        answer = self.ask("GET", "/api/v1/session", {"Cookie": f"__Host-bramley={cookie}"})
        assert answer.status in (200, 401), answer.text
        return json.loads(answer.text) if answer.status == 200 else None

    def deletes_account(self, cookie: str) -> None:
        answer = self.ask("DELETE", "/api/v1/account", {
            "Cookie": f"__Host-bramley={cookie}", "Sec-Fetch-Site": "same-origin"})
        assert answer.status == 202, answer.text

    def notifies(self, content: str) -> int:
        return self.ask("POST", "/apple/notifications", {"Content-Type": "application/json"}, content).status
