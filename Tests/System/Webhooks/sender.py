"""Bramley with webhooks, people who sign in without a browser, and its journal as it stands in the database."""

from pathlib import Path

from operating import event_id
from patience import eventually
from programs import Site, write_private
from receiver import new_secret
from web import FORM, SAME_ORIGIN, SESSION, Browser, call, new_address


class Sender(Site):
    def __init__(self, binaries: Path, folder: Path, settings: dict, urls: list[str]):
        self.secret_file = folder / "webhook.secret"
        self.secret = new_secret()
        self.write_secrets(self.secret)
        self.people = 0
        super().__init__(binaries, folder, {
            "webhooks.url": urls, "webhooks.secretFile": str(self.secret_file), "log.level": "info",
            "server.trustedProxies": ["127.0.0.1"]} | settings)

    def write_secrets(self, *secrets: str) -> None:
        """Beside, then renamed: a reader sees the old file or the new one."""
        new = self.secret_file.with_suffix(".new")
        write_private(new, ("\n".join(secrets) + "\n").encode())
        new.rename(self.secret_file)

    def endpoints(self) -> list[dict]:
        return self.operator.json("webhooks", "list")["items"]

    def wait_for_log(self, text: str, times: int = 1) -> None:
        eventually(lambda: self.server.text().count(text) >= times, f"{text!r} in the log, {times} times",
                   lambda: self.server.text()[-2000:])

    def new_person(self) -> str:
        self.people += 1
        name = f"person{self.people}"
        self.apple.add_person(name, "Given", "Family")
        return name

    def sign_in(self, person: str | None = None) -> str:
        """A whole sign-in, of somebody new if nobody is named; the session's cookie."""
        return f"{SESSION}={Browser(self, new_address()).sign_in(person or self.new_person())}"

    def sign_out(self, session: str) -> None:
        call(self, "POST", "/logout", SAME_ORIGIN | FORM | {"Cookie": session}).must(303)

    def journal(self) -> list[tuple[str, str]]:
        rows = self.operator.database("SELECT sequence, salt, user FROM event ORDER BY sequence")
        return [(event_id(sequence, salt), user) for sequence, salt, user in rows]
