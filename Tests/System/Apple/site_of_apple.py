"""The server as an operator starts it, with the second Apple (apple.py) instead of the first."""

import json
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from app import challenge, hashed
from apple import Account, Apple, Client, Refused
from patience import eventually
from programs import Site, new_key, write_private
from web import SAME_ORIGIN, SESSION, Answer, Browser, call, cookie_field

TEAM, KEY_ID, WEB, APP = "TEAMABCDE1", "KEYABCDEF1", "org.example.second", "org.example.second.app"
NILS = Account("nils", email="nils@example.org")
MAJA = Account("maja", given="Maja", family="Ek", email="maja@example.org", is_private=True)


def refusal(error: str, description: str | None = None) -> tuple[int, str, bytes]:
    return 400, "application/json", json.dumps(Refused(error, description).body).encode()


def credentials(site) -> list[tuple]:
    return site.operator.database(
        "SELECT i.credential_state, i.credential_cause, c.sealed_refresh_token IS NOT NULL"
        " FROM apple_identity i JOIN apple_credential c ON c.identity = i.id ORDER BY i.id")


def team_key() -> tuple[bytes, bytes]:
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

    def goes_to_apple(self, account: Account) -> tuple[dict, dict]:
        """The browser's cookies, and the form it brings back."""
        start = call(self, "GET", "/login/apple").must(303)
        return start.cookies(), self.apple.comes_back(account, start.location)

    def posts(self, jar: dict, form: dict) -> Answer:
        fields = {"Origin": "https://appleid.apple.com", "Sec-Fetch-Site": "cross-site"} | cookie_field(jar)
        return call(self, "POST", "/apple/callback", fields, form=form)

    def signs_in(self, account: Account) -> str:
        return self.posts(*self.goes_to_apple(account)).must(303).cookies()[SESSION]

    def taps(self, account: Account) -> dict:
        """What an app sends once the person said yes: Apple was given the nonce's hash."""
        nonce = challenge(self)
        code, token, first = self.apple.allows(account, self.apple.clients[APP], hashed(nonce), names_redirect=False)
        content = {"identityToken": token, "authorizationCode": code, "nonce": nonce}
        return content | ({"user": {"givenName": account.given, "familyName": account.family}} if first else {})

    def session(self, cookie: str) -> dict | None:
        return Browser(self, cookies={SESSION: cookie}).session()

    def deletes_account(self, cookie: str) -> None:
        call(self, "DELETE", "/api/v1/account", cookie_field({SESSION: cookie}) | SAME_ORIGIN).must(202)

    def told(self, kind: str, event_time: int | None = None) -> str:
        return self.apple.notification(kind, NILS, self.apple.clients[WEB], event_time)

    def notifies(self, content: str) -> int:
        return call(self, "POST", "/apple/notifications", {"Content-Type": "application/json"}, content).status
