"""Bramley with webhooks, people who sign in without a browser, and its journal as it stands in the database."""

import subprocess
from pathlib import Path

from operating import event_id
from patience import eventually
from programs import Site, write_private
from receiver import new_secret
from web import FORM, SAME_ORIGIN, SESSION, Browser, call, new_address


class Sender(Site):
    """A site whose events go to `urls`."""

    def __init__(self, binaries: Path, folder: Path, urls: list[str], settings: dict | None = None):
        self.secret_file = folder / "webhook.secret"
        self.secret = new_secret()
        self.write_secrets(self.secret)
        self.people = 0
        super().__init__(binaries, folder, {
            "webhooks.url": urls, "webhooks.secretFile": str(self.secret_file), "log.level": "info",
            "server.trustedProxies": ["127.0.0.1"], **(settings or {}),
        })

    def write_secrets(self, *secrets: str) -> None:
        """Beside, then renamed: a reader sees the old file or the new one."""
        new = self.secret_file.with_suffix(".new")
        write_private(new, ("\n".join(secrets) + "\n").encode())
        new.rename(self.secret_file)

    # What the operator does

    def command(self, *arguments: str) -> subprocess.CompletedProcess:
        return self.operator.run("webhooks", *arguments)

    def endpoints(self) -> list[dict]:
        return self.operator.json("webhooks", "list")["items"]

    def wait_for_log(self, text: str, times: int = 1) -> None:
        eventually(
            lambda: self.server.text().count(text) >= times, f"{text!r} in the log, {times} times",
            lambda: self.server.text()[-2000:])

    # What visitors do

    def new_person(self) -> str:
        self.people += 1
        name = f"person{self.people}"
        self.apple.call("POST", "people", {
            "id": name, "givenName": "Given", "familyName": "Family", "email": f"{name}@example.com"})
        return name

    def sign_in(self, person: str) -> str:
        """A whole sign-in; the session's cookie."""
        return f"{SESSION}={Browser(self, new_address()).sign_in(person)}"

    def sign_out(self, session: str) -> None:
        answer = call(self, "POST", "/logout", SAME_ORIGIN | FORM | {"Cookie": session})
        assert answer.status == 303, answer.status

    # What is in the database

    def query(self, sql: str) -> list[tuple]:
        return self.operator.database(sql)

    def journal(self) -> list[tuple[str, str]]:
        """Id and user of every event, in order."""
        return [(event_id(sequence, salt), user) for sequence, salt, user in self.query(
            "SELECT sequence, salt, user FROM event ORDER BY sequence")]
