"""docs/examples/accounts, and what asks it: Bramley's signed events, the extension, a person with a client."""

import contextlib
import html
import json
import re
import sqlite3
import sys
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pyotp
from standardwebhooks.webhooks import Webhook

from patience import PATIENCE
from programs import ROOT, Program, free_port, write_private
from web import Answer, call

EXAMPLE = ROOT / "docs/examples/accounts"
PASSWORD = "correct horse battery"


class Demo:
    """The application, on a port of its own. Bramley may come later, or never."""

    def __init__(self, folder: Path, webhook_secret: str, port: int | None = None, hash_memory: int | None = 1024):
        """`hash_memory` in KiB; None is what the application takes where passwords are real."""
        self.more = {} if hash_memory is None else {"ACCOUNTS_HASH_MEMORY": str(hash_memory)}
        self.folder, self.webhook_secret = folder, webhook_secret
        self.port = port or free_port()
        self.origin = f"http://localhost:{self.port}"
        self.database = folder / "accounts.db"
        self.program: Program | None = None
        folder.mkdir(exist_ok=True)
        write_private(folder / "webhook.secret", f"{webhook_secret}\n".encode())

    def start(self, bramley: str, internal: str, key: str) -> "Demo":
        write_private(self.folder / "api.key", f"{key}\n".encode())
        self.addresses = (bramley, internal)
        return self.starts()

    def starts(self) -> "Demo":
        bramley, internal = self.addresses
        self.program = Program(
            [sys.executable, "-B", "-m", "flask", "--app", str(EXAMPLE / "app.py"), "run", "--port", str(self.port)],
            self.folder / "accounts.log", {
                "ACCOUNTS_URL": self.origin, "SIGN_IN_URL": bramley, "SIGN_IN_INTERNAL_URL": internal,
                "ACCOUNTS_DATABASE": str(self.database), "API_KEY_FILE": str(self.folder / "api.key"),
                "WEBHOOK_SECRET_FILE": str(self.folder / "webhook.secret"), **self.more,
            })
        self.program.wait_for(self.port)
        return self

    def stop(self) -> None:
        if self.program:
            self.program.stop()

    def sql(self, text: str, *values) -> list[tuple]:
        with contextlib.closing(sqlite3.connect(self.database, timeout=PATIENCE)) as database, database:
            return database.execute(text, values).fetchall()

    def account(self, name: str) -> dict:
        columns = ("id", "password", "totp", "apple")
        (row,) = self.sql(f"SELECT {', '.join(columns)} FROM account WHERE name = ?", name)
        return dict(zip(columns, row))

    def tell(self, event: dict | bytes, at: float | None = None, secret: str | None = None, **fields) -> Answer:
        """An event, signed by another implementation of Standard Webhooks than the one that checks it."""
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        message, at = f"msg_{uuid.uuid4().hex}", int(at or time.time())
        signed = Webhook(secret or self.webhook_secret).sign(message, datetime.fromtimestamp(at, UTC), body.decode())
        headers = {"Content-Type": "application/json", "webhook-id": message, "webhook-timestamp": str(at),
                   "webhook-signature": signed} | {name.replace("_", "-"): value for name, value in fields.items()}
        return call(self.port, "POST", "/webhooks", given(headers), body)

    def tell_linked(self, link: str, **more) -> Answer:
        return self.tell({"type": "account.upgraded", "timestamp": "2026-11-21T10:00:00.000Z",
                          "data": {"id": "evt_1", "user": "usr_ada", "link": link}}, **more)

    def post(self, path: str, content: dict | bytes) -> Answer:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return call(self.port, "POST", path, {"Content-Type": "application/json"}, body)

    def result(self, path: str, **content: str) -> dict:
        return self.post(path, content).must(200).json()

    def upgrade(self, name: str, password: str = PASSWORD) -> dict:
        return self.result("/upgrade", name=name, password=password)

    def code(self, challenge: str, code: str) -> dict:
        return self.result("/upgrade/code", challenge=challenge, code=code)

    def complete(self, upgrade: dict, code: str) -> Answer:
        return self.post("/upgrade/complete", {"link": upgrade["link"], "token": upgrade["token"], "code": code})


class Person:
    """Somebody at the application's own pages, with their cookie and without a browser."""

    def __init__(self, demo: Demo, name: str, password: str = PASSWORD):
        self.demo, self.name, self.password = demo, name, password
        self.cookie: str | None = None
        self.secret: str | None = None

    def get(self, path: str, **headers) -> Answer:
        return self.ask("GET", path, headers)

    def post(self, path: str, form: dict | None = None, **headers) -> Answer:
        return self.ask("POST", path, {"Origin": self.demo.origin} | headers, form or {})

    def ask(self, method: str, path: str, headers: dict, form: dict | None = None) -> Answer:
        cookies = "; ".join(filter(None, [self.cookie, headers.pop("Cookie", None)])) or None
        answer = call(self.demo.port, method, path, given(headers | {"Cookie": cookies}), form=form)
        for value in answer.headers.get_all("Set-Cookie") or []:
            pair = value.split(";")[0]
            self.cookie = pair if pair.split("=", 1)[1].strip('"') else None
        return answer

    def signs_up(self) -> "Person":
        assert self.post("/sign-up", {"name": self.name, "password": self.password}).must(303).location == "/account"
        return self

    def signs_in(self, **more) -> Answer:
        """By password, and by code if there is a second factor."""
        answer = self.post("/sign-in", {"name": self.name, "password": self.password, **more})
        if self.secret and answer.status == 200:
            answer = self.post("/sign-in/code", hidden(answer) | {"code": self.code()})
        return answer

    def begins_second_factor(self) -> str:
        return re.search(r'id="secret">([A-Z2-7]+)<', self.post("/account/second-factor").text)[1]

    def sets_up_second_factor(self) -> "Person":
        self.secret = self.begins_second_factor()
        answer = self.post("/account/second-factor/confirm", {"code": self.code()})
        assert answer.location == "/account?done=second-factor", answer.text
        return self

    def code(self, away: int = 0) -> str:
        """A code of now, or so many seconds `away`. The application forgets which was used, so that nobody waits."""
        self.demo.sql("UPDATE account SET totp_step = 0 WHERE name = ?", self.name)
        return pyotp.TOTP(self.secret).at(int(time.time()) + away)

    def is_in(self) -> bool:
        return f'id="person">{html.escape(self.name)}<' in self.get("/account").text


def given(fields: dict) -> dict:
    return {name: value for name, value in fields.items() if value is not None}


def hidden(answer: Answer) -> dict:
    return {name: html.unescape(value)
            for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', answer.text)}
