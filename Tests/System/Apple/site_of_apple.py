"""The server as an operator starts it, with the second Apple (apple.py) in place of the first."""

import hashlib
import json
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from apple import Account, Apple, Client, Refused
from patience import eventually
from programs import Site, new_key, write_private
from web import SESSION, Answer, call, cookie_field

TEAM, KEY_ID, WEB, APP = "TEAMABCDE1", "KEYABCDEF1", "org.example.second", "org.example.second.app"
NILS = Account("nils", email="nils@example.org")
MAJA = Account("maja", given="Maja", family="Ek", email="maja@example.org", is_private=True)


def refusal(error: str, description: str | None = None) -> tuple[int, str, bytes]:
    """An OAuth error of Apple's."""
    return 400, "application/json", json.dumps(Refused(error, description).body).encode()


def team_key() -> tuple[bytes, bytes]:
    """A .p8 and its public half."""
    private = new_key()
    public = serialization.load_pem_private_key(private, None).public_key()
    return private, public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class AppSite(Site):
    """Its settings are those of another team, with one app."""

    def __init__(self, binaries: Path, folder: Path, settings: dict):
        self.team_key, self.public = team_key()
        super().__init__(binaries, folder, {
            "apple.servicesID": WEB, "apple.teamID": TEAM, "apple.keyID": KEY_ID, "apple.bundleIDs": [APP],
            "server.trustedProxies": ["127.0.0.1"], "log.level": "info"} | settings)
        write_private(folder / "AuthKey.p8", self.team_key)

    def kind_of(self, *_) -> None:
        """Its Apple is nobody else's."""

    def make_apple(self, _) -> Apple:
        clients = [Client(WEB, TEAM, f"{self.origin}/apple/callback"), Client(APP, TEAM)]
        return Apple({client.id: client for client in clients}, {TEAM: {KEY_ID: self.public}})

    def end_apple(self) -> None:
        self.apple.close()

    # What the operator does, besides commands

    def a_day_passes(self) -> None:
        """Every credential is asked about, and the answer is in."""
        asked = len(self.asked("/auth/token"))
        due = self.operator.database("SELECT count(*) FROM apple_credential WHERE sealed_refresh_token IS NOT NULL")[0][0]
        self.operator.database("UPDATE apple_credential SET next_check_at = 1, checked_at = NULL")
        eventually(lambda: len(self.asked("/auth/token")) == asked + due, "the daily check", self.server.text)
        # What is in flight is answered before the process ends.
        assert self.server.stop() == 0, self.server.text()
        self.start()

    def asked(self, path: str) -> list[dict]:
        return [form for known, form in list(self.apple.requests) if known == path]

    # What people do

    def ask(self, method: str, path: str, headers: dict | None = None, body: str | dict | None = None, **more) -> Answer:
        return call(self, method, path, headers, body, **more)

    def goes_to_apple(self, account: Account) -> tuple[dict, dict]:
        """The browser's cookies, and the form it brings back."""
        start = self.ask("GET", "/login/apple")
        assert start.status == 303, start.text
        return start.cookies(), self.apple.comes_back(account, start.location)

    def posts(self, jar: dict, form: dict) -> Answer:
        return self.ask("POST", "/apple/callback", {
            "Origin": "https://appleid.apple.com", "Sec-Fetch-Site": "cross-site"} | cookie_field(jar), form=form)

    def signs_in(self, account: Account) -> str:
        """The session's token."""
        done = self.posts(*self.goes_to_apple(account))
        assert done.status == 303, (done.text, self.server.text())
        return done.cookies()[SESSION]

    def challenge(self) -> str:
        answer = self.ask("POST", "/api/v1/native/challenge")
        assert answer.status == 200, answer.text
        return answer.json()["nonce"]

    def taps(self, account: Account) -> dict:
        """What an app sends once the person said yes: Apple was given the nonce's hash."""
        nonce = self.challenge()
        claim = hashlib.sha256(nonce.encode()).hexdigest()
        code, token, first = self.apple.allows(account, self.apple.clients[APP], claim, names_redirect=False)
        content = {"identityToken": token, "authorizationCode": code, "nonce": nonce}
        return content | ({"user": {"givenName": account.given, "familyName": account.family}} if first else {})

    def sends(self, method: str, path: str, content: dict, token: str | None = None) -> Answer:
        return self.ask(method, path, body=content, token=token)

    def session(self, cookie: str) -> dict | None:
        answer = self.ask("GET", "/api/v1/session", {"Cookie": f"{SESSION}={cookie}"})
        assert answer.status in (200, 401), answer.text
        return answer.json() if answer.status == 200 else None

    def deletes_account(self, cookie: str) -> None:
        answer = self.ask("DELETE", "/api/v1/account", {
            "Cookie": f"__Host-bramley={cookie}", "Sec-Fetch-Site": "same-origin"})
        assert answer.status == 202, answer.text

    def told(self, kind: str, event_time: int | None = None) -> str:
        """Apple's word about Nils."""
        return self.apple.notification(kind, NILS, self.apple.clients[WEB], event_time)

    def notifies(self, content: str) -> int:
        return self.ask("POST", "/apple/notifications", {"Content-Type": "application/json"}, content).status
