"""The table of docs/apps/openid.md, "What ends what": read from the document, and done to a running server."""

import json
import re
import secrets
from dataclasses import dataclass

from operating import Operator
from party import Browser, Party, basic, call, signed_in
from programs import ROOT
from web import SAME_ORIGIN, bearer

PAGE = ROOT / "docs/apps/openid.md"
COLUMNS = ["Cause", "Session", "Code", "Access token", "Service's token", "Refresh token", "Consent"]
# What a cell may say. `unless offline`: ends, except for an application with offline access.
CELLS = {"ends", "stays", "loses scopes", "unless offline"}
SERVICE = "http://localhost:4711/mcp"
CALLBACK = "https://notes.example.com/callback"
SCOPES = "openid email notes.read notes.write"
OF_SERVICE = {"notes.read", "notes.write"}
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


def table() -> dict[str, dict[str, str]]:
    """By cause, without markup: what happens, by column."""
    text = PAGE.read_text().partition("\n## What ends what\n")[2].partition("\n## ")[0]
    lines = [line.strip("| \n") for line in text.splitlines() if line.startswith("|")]
    rows = [[re.sub(r"[`*]", "", cell).strip() for cell in line.split("|")] for line in lines]
    assert rows and rows[0] == COLUMNS, rows[:1]
    found = {cause.strip().capitalize(): dict(zip(COLUMNS[1:], row[1:], strict=True))
             for row in rows[2:] for cause in row[0].split(";")}
    assert all(CELLS.issuperset(row.values()) for row in found.values()), found
    return found


class Place:
    """A server where things are done, and those where they must be known within a second."""

    def __init__(self, site, others: list = (), documents=None):
        # - documents: the server of documents, if there is one.
        self.site, self.places, self.documents = site, [site, *others], documents
        self.apple, self.operator = site.apple, site.operator
        self.key = self.operator.key("introspect", "users:read", "users:write", "users:delete")
        self.service_secret = self.register_service()
        self.names = (f"row{number}" for number in range(10_000))

    def register_service(self) -> str:
        made = self.operator.json(
            "services", "add", SERVICE, "--id", "notes", "--name", "Notes", "--scope", "notes.read=Read your notes",
            "--scope", "notes.write=Change your notes")
        return made["serviceSecret"]

    def client(self, *options: str) -> Party:
        name = next(self.names)
        made = self.operator.json(
            "clients", "add", name, "--redirect-uri", CALLBACK, "--consent", "--offline", "--device",
            "--scope", SCOPES.replace(" ", ","), *options)
        return Party(self.site, name, made["clientSecret"], CALLBACK)

    def api(self, method: str, path: str, body: dict | None = None):
        return call(self.site, method, "/api/v1" + path, {"Content-Type": "application/json"}, body, token=self.key)

    def introspect(self, place, token: str, by_service: bool) -> dict:
        headers = basic("notes", self.service_secret) if by_service else bearer(self.key)
        answer = call(place, "POST", "/api/v1/introspect", headers, form={"token": token})
        # A service that is gone is told nothing.
        return {"active": False} if by_service and answer.status == 401 else answer.must(200).json()


@dataclass
class Held:
    """Everything that a person and an application can hold."""

    place: Place
    party: Party
    browser: Browser
    user: str
    access: dict[bool, dict]
    service: dict[bool, dict]
    code: str
    device: str | None

    @classmethod
    def make(cls, place: Place, person: str, party: Party) -> "Held":
        """`access`, `service`: tokens, of a grant with offline access (True) or without."""
        browser = signed_in(place.site, person)
        user = browser.session()["user"]["id"]

        def tokens(service: bool, offline: bool) -> dict:
            scope = SCOPES if service else "openid email"
            return party.tokens(
                browser, person, scope=scope + (" offline_access" if offline else ""), resource=SERVICE if service else None)

        access, service = ({offline: tokens(kind, offline) for offline in (True, False)} for kind in (False, True))
        code = party.code(browser, person, scope=SCOPES + " offline_access", resource=SERVICE)
        return cls(place, party, browser, user, access, service, code, cls.device_code(place, party, browser))

    @staticmethod
    def device_code(place: Place, party: Party, browser: Browser) -> str | None:
        """Of a device that the person has allowed. Applications known by a document have none."""
        if party.secret is None:
            return None
        asked = {"scope": SCOPES + " offline_access", "resource": SERVICE}
        begun = party.post("/oidc/device_authorization", asked).must(200).json()
        page = browser.send("POST", "/device", {"user_code": begun["user_code"]}, {"Origin": place.site.origin}).must(200)
        browser.decide(page, path="/device").must(200)
        return begun["device_code"]

    def states(self, place) -> dict[str, str]:
        """What holds at this server, in the words of the table."""
        at = Party(place, self.party.client_id, self.party.secret, CALLBACK)
        at.verifier = self.party.verifier
        return {
            "Session": "stays" if place_browser(place, self.browser).is_signed_in() else "ends",
            "Access token": self.both(self.access, lambda token: self.userinfo(at, token)),
            "Service's token": self.both(
                self.service, lambda token: scopes(self.place.introspect(place, token, True))),
            "Consent": self.consent(),
        }

    def last_states(self, place) -> dict[str, str]:
        """The same for what can be used once."""
        at = Party(place, self.party.client_id, self.party.secret, CALLBACK)
        at.verifier = self.party.verifier
        found = {
            "Refresh token": granted(at.refresh(self.service[True]["refresh_token"])), "Code": granted(at.redeem(self.code))}
        if self.device:
            device = {"grant_type": DEVICE_GRANT, "device_code": self.device}
            found["Device code"] = granted(at.post("/oidc/token", device))
        return found

    def userinfo(self, at: Party, token: str) -> str:
        answer = at.userinfo(token)
        introspected = self.place.introspect(at.site, token, False)
        assert answer.status == (200 if introspected["active"] else 401), (answer.status, introspected)
        return "ends" if answer.status == 401 else "stays" if "email" in answer.json() else "loses scopes"

    @staticmethod
    def both(tokens: dict[bool, dict], state) -> str:
        offline, other = (state(tokens[is_offline]["access_token"]) for is_offline in (True, False))
        return offline if offline == other else "unless offline" if (offline, other) == ("stays", "ends") else "?"

    def consent(self) -> str:
        # Each person here has to do with one application.
        rows = self.place.operator.database('SELECT scopes FROM openid_consent WHERE "user" = ?', self.user)
        kept = {word for words, in rows for word in json.loads(words)}
        return "stays" if set(SCOPES.split()) <= kept else "loses scopes" if kept else "ends"


def place_browser(place, browser: Browser) -> Browser:
    return Browser(place, cookies=browser.cookies)


def scopes(introspected: dict) -> str:
    if not introspected["active"]:
        return "ends"
    assert introspected["aud"] == SERVICE, introspected
    return "stays" if OF_SERVICE <= set(introspected["scope"].split()) else "loses scopes"


def granted(answer) -> str:
    if answer.status == 200:
        return "stays" if OF_SERVICE <= set(answer.json()["scope"].split()) else "loses scopes"
    assert answer.status in (400, 401), (answer.status, answer.text)
    return "ends"


# The causes: each makes what it needs, and returns what is held and a function that withdraws.

def by_apple(kind: str):
    return lambda place, person: (Held.make(place, person, place.client()), lambda: place.apple.notify(kind, person))


def by_api(method: str, body: dict | None = None):
    return lambda place, person: (
        held := Held.make(place, person, place.client()), lambda: check(place.api(method, f"/users/{held.user}", body)))


def check(answer) -> None:
    assert 200 <= answer.status < 400, (answer.status, answer.text)


def by_command(*arguments: str):
    """`{}` is the client."""
    def cause(place: Place, person: str):
        held = Held.make(place, person, place.client())
        words = [word.replace("{}", held.party.client_id) for word in arguments]
        return held, lambda: place.operator.bramley(*words)
    return cause


def by_group(place: Place, person: str):
    party = place.client("--group", "staff")
    user = signed_in(place.site, person).session()["user"]["id"]
    place.operator.bramley("users", "groups", user, "--add", "staff")
    held = Held.make(place, person, party)
    return held, lambda: check(place.api("PATCH", f"/users/{user}", {"groups": []}))


def by_service(*arguments: str):
    """A service that changes is registered anew afterwards."""
    return lambda place, person: (
        Held.make(place, person, place.client()), lambda: place.operator.bramley("services", *arguments))


def by_page(path: str, form: dict, elsewhere: bool = False):
    """A form of the account page; `elsewhere`: in another browser of the same person."""
    def cause(place: Place, person: str):
        held = Held.make(place, person, place.client())
        browser = signed_in(place.site, person) if elsewhere else place_browser(place.site, held.browser)
        fields = {name: value.replace("{}", held.party.client_id) for name, value in form.items()}
        origin = SAME_ORIGIN | {"Origin": place.site.origin}
        return held, lambda: check(browser.send("POST", path, fields, origin))
    return cause


def by_host(place: Place, person: str):
    """The application is known by its document, whose host is allowed no longer."""
    held = Held.make(place, person, Party(place.site, place.documents.client_id, None, CALLBACK))
    return held, place.documents.disallow


def by_time(place: Place, person: str):
    held = Held.make(place, person, place.client())

    def expire() -> None:
        place.operator.database('UPDATE session SET expires_at = 1 WHERE "user" = ?', held.user)
        # With the next event, servers forget the session as they knew it.
        check(place.api("PATCH", f"/users/{held.user}", {"externalID": person}))

    return held, expire


CAUSES = {
    "Consent withdrawn at apple": by_apple("consent-revoked"),
    "Account deleted at apple": by_apple("account-deleted"),
    "Account deleted": by_api("DELETE"),
    "Account disabled": by_api("PATCH", {"state": "disabled"}),
    "Account pending again": by_api("PATCH", {"state": "pending"}),
    "Left the application's groups": by_group,
    "End access": by_page("/account/applications/end", {"client": "{}"}),
    "Application deleted": by_command("clients", "delete", "{}", "--yes"),
    "Application loses a scope": by_command("clients", "update", "{}", "--scope", "openid,notes.read", "--offline"),
    "--no-offline": by_command("clients", "update", "{}", "--no-offline"),
    "Host not in openid.clientdocuments": by_host,
    "Service deleted": by_service("delete", "notes", "--yes"),
    "Service loses a scope": by_service("update", "notes", "--scope", "notes.read=Read your notes"),
    "Sign-out": by_page("/logout", {}),
    "Sign out everywhere": by_page("/account/sessions/revoke-all", {}, elsewhere=True),
    "Sign out everywhere with applications": by_page("/account/sessions/revoke-all", {"applications": "true"}, elsewhere=True),
    "Session expired": by_time,
}


def fresh_person(place: Place) -> str:
    person = "p" + secrets.token_hex(6)
    place.apple.add_person(person)
    return person


def node_operator(house, node) -> Operator:
    return Operator(house.site.binaries, node.folder)
