"""All of it: Bramley, the simulated Apple, the application, and the gate through which it asks Bramley."""

import itertools
import json
import os
from pathlib import Path

from app import APP, hashed, post, request, send, sheet, taken
from demo import PASSWORD, Demo, Person
from gate import Gate
from programs import Site
from receiver import new_secret

NUMBERS = itertools.count(1)


class Orchard(Site):
    def __init__(self, binaries: Path, folder: Path, settings: dict):
        self.gate = Gate()
        self.demo = Demo(folder / "accounts", new_secret())
        self.keys: dict[tuple[str, ...], str] = {}
        super().__init__(binaries, folder, {
            "apple.bundleIDs": [APP], "server.trustedProxies": ["127.0.0.0/8"],
            "login.allowedReturnOrigins": [self.demo.origin], "login.passwordURL": f"{self.demo.origin}/sign-in",
            "webhooks.url": [f"http://127.0.0.1:{self.demo.port}/webhooks"],
            "webhooks.secretFile": str(self.demo.folder / "webhook.secret"),
        } | settings)

    def start(self) -> "Orchard":
        super().start()
        if self.demo.program is None:
            self.gate.target = self.port
            self.demo.start(self.origin, self.gate.origin, self.key("links", "users:read", "users:write"))
        return self

    def kill(self) -> None:
        super().kill()
        # As if the minute were over for which its jobs were its own.
        self.sql("UPDATE lease SET expires_at = 0")

    def end(self) -> None:
        self.gate.stop()
        super().end()
        self.demo.stop()

    def key(self, *scopes: str) -> str:
        if scopes not in self.keys:
            self.keys[scopes] = self.operator.key(*scopes)
        return self.keys[scopes]

    def sql(self, text: str, *values) -> list[tuple]:
        return self.operator.database(text, *values)

    def events(self, user: str | None = None) -> list[str]:
        """The types of the journal, in order."""
        where, values = ("WHERE user = ?", [user]) if user else ("", [])
        return [kind for kind, in self.sql(f"SELECT type FROM event {where} ORDER BY sequence", *values)]

    def owner(self, external: str) -> str | None:
        found = self.sql("SELECT id FROM user WHERE external_id = ?", external)
        return found[0][0] if found else None

    def users(self) -> int:
        return self.sql("SELECT count(*) FROM user")[0][0]

    def person(self, name: str, password: str = PASSWORD) -> Person:
        return Person(self.demo, name, password).signs_up()

    def account(self, name: str) -> str:
        self.person(name)
        return self.demo.account(name)["id"]

    def password_works(self, name: str, password: str = PASSWORD) -> bool:
        answer = Person(self.demo, name, password).post("/sign-in", {"name": name, "password": password})
        assert answer.status in (200, 303, 401), answer.text
        return answer.status != 401

    def apple_opens(self, account: str, person: str = "ada") -> bool:
        """Whether a sign-in with Apple now opens this account. Leaves no second user behind."""
        before = self.users()
        answer = post(self, request(self, person)).must(200)
        assert self.users() == before, "the sign-in made a user"
        return answer.json()["user"]["externalID"] == account

    def content(self, account: str, kind: str = "link", **more) -> dict:
        return {"externalID": account, "kind": kind, "displayName": "Their account",
                "returnTo": f"{self.demo.origin}/connected"} | more

    def begin(self, account: str, kind: str = "link", *, key: str | None = None, **more) -> dict:
        return self.post_link(self.content(account, kind, **more), key).must(201).json()

    def post_link(self, content: dict, key: str | None = None):
        return send(self, "POST", "/api/v1/links", content, token=key or self.key("links"))

    def sheet(self, nonce: str, person: str = "ada", **more) -> dict:
        return taken(sheet(self, person, hashed(nonce), **more))

    def authorize(self, link: dict, person: str = "ada", content: dict | None = None, ticket: str | None = None):
        return send(self, "POST", f"/api/v1/links/{link['id']}/authorize",
                    content or self.sheet(link["nonce"], person), token=ticket or link["ticket"])

    def complete(self, link: dict, code: str, key: str | None = None):
        return send(self, "POST", f"/api/v1/links/{link['id']}/complete", {"code": code}, token=key or self.key("links"))

    def tie(self, account: str, person: str = "ada", kind: str = "link", key: str | None = None):
        """The whole of a link by ticket; the answer to its completion."""
        link = self.begin(account, kind, key=key)
        return self.complete(link, self.proven(link, person), key)

    def begun(self, name: str, password: str = PASSWORD) -> dict:
        """What the application gives for a right password: an upgrade, which is a link as well."""
        answer = self.demo.upgrade(name, password)
        assert answer["result"] == "success", answer
        return answer | {"id": answer["link"]}

    def proven(self, link: dict, person: str = "ada", content: dict | None = None) -> str:
        return self.authorize(link, person, content).must(200).json()["code"]

    def replaces(self, name: str, person: str = "ada"):
        """The whole of it; the application's last answer."""
        upgrade = self.begun(name)
        return self.demo.complete(upgrade, self.proven(upgrade, person))


def somebody(orchard: Orchard) -> str:
    person = f"person{next(NUMBERS)}"
    orchard.apple.call("POST", "people", {"id": person, "givenName": "Pat", "familyName": person[6:]})
    return person


def files(*folders: Path):
    return (Path(root) / name for folder in folders for root, _, names in os.walk(folder) for name in names)


def problem(answer) -> tuple[int, str | None]:
    try:
        return answer.status, answer.json().get("code")
    except json.JSONDecodeError:
        return answer.status, None
