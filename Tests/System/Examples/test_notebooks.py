"""docs/examples/flask and docs/examples/node: one application in two languages, and so one test."""

import base64
import contextlib
import json
import os
import re
import signal
import sqlite3
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

import processes
from example import ROOT, Example
from patience import eventually
from web import call

def told(kind: str, user: str) -> bytes:
    data = {"id": "evt_1", "user": user}
    return json.dumps({"type": kind, "timestamp": "2026-11-21T10:00:00.000Z", "data": data}).encode()


BODY = told("account.deleted", "usr_somebody")


@pytest.fixture(params=["flask", "node"])
def notebook(request, start):
    return start(request.param)


def opens(visitor, address: str) -> None:
    visitor.open(address)
    visitor.reads("Notes")


def signs_in(visitor, person: str, path: str = "/"):
    address = visitor.site.address + path
    opens(visitor, address)
    visitor.press("#sign-in")
    visitor.goes_through_apple(person)
    visitor.wait(lambda driver: driver.current_url == address, address)
    visitor.find("#person")
    return visitor


def writes(visitor, text: str) -> None:
    visitor.find("input[name=text]").send_keys(text)
    visitor.press("button")


def notes(visitor) -> list[str]:
    return [note.text for note in visitor.all("#notes li")]


def test_a_visitor_signs_in_and_returns_to_the_same_page(notebook, make_visitor):
    visitor = signs_in(make_visitor(notebook), "ada", "/?draft=a%26b+%3Cb%3E%22")
    assert visitor.find("#person").text == "Ada"
    assert visitor.find("input[name=text]").get_attribute("value") == 'a&b <b>"'
    visitor.press("button")
    writes(visitor, "<script>alert(1)</script> 李雷 & co")
    assert notes(visitor) == ["<script>alert(1)</script> 李雷 & co", 'a&b <b>"']


def test_everyone_has_their_own_notes(notebook, make_visitor):
    visitor = signs_in(make_visitor(notebook), "boris")
    writes(visitor, "Boris was here")
    visitor.press("#sign-out")
    visitor.press("form[action$='/logout'] button")
    visitor.reads("Notes")
    assert visitor.driver.current_url == f"{notebook.address}/"
    assert visitor.find("#sign-in")
    signs_in(visitor, "chie")
    assert notes(visitor) == []


def session_cookie(visitor) -> str:
    return f"__Host-bramley={visitor.cookies()['__Host-bramley']['value']}"


def test_a_form_from_another_site_is_refused(notebook, make_visitor):
    visitor = signs_in(make_visitor(notebook), "erin")
    cookie = session_cookie(visitor)
    # A neighbour below the same domain, nobody in particular, a sandboxed page.
    for origin in (notebook.origin, None, "null"):
        fields = {"Cookie": cookie} | ({"Origin": origin} if origin else {})
        assert notebook.ask("/notes", fields, b"text=forged").status == 403
    assert notebook.ask("/notes", {"Cookie": cookie, "Origin": notebook.address}, b"text=mine").status == 303
    opens(visitor, f"{notebook.address}/")
    assert notes(visitor) == ["mine"]


def test_two_session_cookies_sign_nobody_in(notebook, make_visitor):
    cookie = session_cookie(signs_in(make_visitor(notebook), "ada"))
    assert 'id="person"' in notebook.ask("/", {"Cookie": cookie}).text
    assert 'id="person"' not in notebook.ask("/", {"Cookie": f"{cookie}; {cookie}"}).text


@pytest.mark.parametrize("fields", [{}, {"Cookie": "__Host-bramley=brs_forged"}, {"X-Auth-Request-User": "usr_forged"}])
def test_visitors_cannot_see_or_write_notes(notebook, fields):
    page = notebook.ask("/", fields).must(200)
    assert 'id="sign-in"' in page.text and 'id="notes"' not in page.text
    answer = notebook.ask("/notes", fields | {"Origin": notebook.address}, b"text=stray").must(303)
    assert answer.location.startswith(notebook.url("/login?return_to="))


# Webhooks, signed by another implementation of Standard Webhooks.

def signature(secret: str, identifier: str, timestamp: str, body: bytes) -> str:
    return Webhook(secret).sign(identifier, datetime.fromtimestamp(int(timestamp), UTC), body.decode())


def message(notebook, identifier: str, body: bytes = BODY, age: float = 0) -> dict:
    secret = (notebook.data / "webhook.secret").read_text().strip()
    timestamp = str(int(time.time() - age))
    return {"Content-Type": "application/json", "webhook-id": identifier, "webhook-timestamp": timestamp,
            "webhook-signature": signature(secret, identifier, timestamp, body)}


def delivered(notebook, identifier: str, body: bytes = BODY, age: float = 0) -> int:
    return notebook.ask("/webhooks", message(notebook, identifier, body, age), body).status


def user_id(visitor) -> str:
    return call(visitor.site, "GET", "/api/v1/session", {"Cookie": session_cookie(visitor)}).json()["user"]["id"]


def test_a_deletion_removes_only_that_persons_notes(notebook, make_visitor):
    visitor = signs_in(make_visitor(notebook), "ada")
    writes(visitor, "to be forgotten")
    body = told("session.ended", user_id(visitor))
    assert delivered(notebook, "msg_other", body) == delivered(notebook, "msg_stranger") == 204
    opens(visitor, f"{notebook.address}/")
    assert "to be forgotten" in notes(visitor)
    body = told("account.deleted", user_id(visitor))
    assert delivered(notebook, "msg_deleted", body) == 204
    opens(visitor, f"{notebook.address}/")
    assert notes(visitor) == []
    # The same again, as after an answer that was lost: nothing happens twice.
    writes(visitor, "written since")
    assert delivered(notebook, "msg_deleted", body) == 204
    opens(visitor, f"{notebook.address}/")
    assert notes(visitor) == ["written since"]


def test_a_deletion_at_apple_removes_the_notes(notebook, make_visitor):
    visitor = signs_in(make_visitor(notebook), "erin")
    writes(visitor, "Erin’s last words")
    person = user_id(visitor)
    assert "Erin’s last words" in kept(notebook)
    notebook.apple.notify("account-delete", "erin")
    # Bramley tells in its own time.
    eventually(lambda: "Erin’s last words" not in kept(notebook), "her notes to go", notebook.logs)
    # In order: whoever was created first is deleted later, and nothing was refused on the way.
    told = (notebook.data / "notes.log").read_text()
    assert re.search(r"webhook \S+ user\.created(.|\n)*webhook \S+ session\.created(.|\n)*webhook \S+ account\.deleted", told)
    assert person not in told
    opens(visitor, f"{notebook.address}/")
    assert visitor.find("#sign-in")


def kept(notebook) -> str:
    if (notes := notebook.data / "notes.json").exists():
        return json.dumps(json.loads(notes.read_text())["notes"], ensure_ascii=False)
    with contextlib.closing(sqlite3.connect(notebook.data / "notes.db")) as database:
        return "\n".join(text for text, in database.execute("SELECT text FROM note"))


def tampered(fields: dict, **changes) -> dict:
    changed = fields | {name.replace("_", "-"): value for name, value in changes.items()}
    return {name: value for name, value in changed.items() if value is not None}


@pytest.mark.parametrize("change", [
    {"webhook_id": None}, {"webhook_timestamp": None}, {"webhook_signature": None}, {"webhook_signature": ""},
    {"webhook_id": "msg_another"}, {"webhook_timestamp": "0"}, {"webhook_timestamp": "-1"}, {"webhook_timestamp": "soon"},
    {"webhook_timestamp": "1e9"}, {"webhook_timestamp": "٣"}, {"webhook_signature": "v1,AAAA"},
    {"webhook_signature": "v1,é"}, {"webhook_signature": "v1a," + "A" * 44},
], ids=str)
def test_a_webhook_with_other_fields_is_refused(notebook, change):
    fields = tampered(message(notebook, "msg_refused"), **change)
    fields = {name: value.encode() if not value.isascii() else value for name, value in fields.items()}
    assert notebook.ask("/webhooks", fields, BODY).status == 400


def test_a_webhook_with_another_body_age_or_signature_is_refused(notebook):
    fields = message(notebook, "msg_refused")
    assert notebook.ask("/webhooks", fields, BODY + b" ").status == 400
    assert delivered(notebook, "msg_refused", age=301) == delivered(notebook, "msg_refused", age=-310) == 400
    own, timestamp = fields["webhook-signature"], fields["webhook-timestamp"]
    foreign = signature("whsec_" + base64.b64encode(b"k" * 32).decode(), "msg_refused", timestamp, BODY)
    # One of several is enough, as while a secret changes.
    for text, status in ((foreign, 400), (own[:-2], 400), (f"{foreign} {own}", 204)):
        assert notebook.ask("/webhooks", fields | {"webhook-signature": text}, BODY).status == status


def test_a_signed_webhook_that_is_not_json_or_too_long_is_refused(notebook):
    assert delivered(notebook, "msg_text", b"text") == 400
    assert delivered(notebook, "msg_long", b" " * 65537) == 413


# The example of the Standard Webhooks specification, so that this test and the receivers do not err together.
VECTOR = {
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "timestamp": "1614265330",
    "body": '{"test": 2432232314}', "signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
IN_PYTHON = """
import json, sys, webhooks
vector = json.load(sys.stdin)
fields = {f"webhook-{name}": vector[name] for name in ("id", "timestamp", "signature")}
print(json.dumps(webhooks.verify(
    vector["body"].encode(), fields, webhooks.read_secrets(vector["secret"] + "\\n"), 1614265330)[1]))
"""
IN_NODE = """
import { readFileSync } from "node:fs";
import { readSecrets, verify } from "./webhooks.mjs";
const vector = JSON.parse(readFileSync(0));
const fields = Object.fromEntries(["id", "timestamp", "signature"].map((name) => [`webhook-${name}`, vector[name]]));
const { event } = verify(Buffer.from(vector.body), fields, readSecrets(vector.secret + "\\n"), 1614265330);
console.log(JSON.stringify(event));
"""


@pytest.mark.parametrize("command,folder", [
    ([sys.executable, "-B", "-c", IN_PYTHON], "flask"), (["node", "--input-type=module", "-e", IN_NODE], "node")],
    ids=["flask", "node"])
def test_the_published_webhook_vector_verifies(command, folder):
    assert signature(
        VECTOR["secret"], VECTOR["id"], VECTOR["timestamp"], VECTOR["body"].encode()) == VECTOR["signature"]
    run = processes.finished(*command, cwd=ROOT / "docs/examples" / folder, input=json.dumps(VECTOR))
    assert json.loads(run.stdout or "null") == {"test": 2432232314}, run.stderr


def test_the_packages_of_the_tests_are_those_of_the_examples():
    pins = (ROOT / "scripts/test-requirements.txt").read_text().splitlines()
    for file in (ROOT / "docs/examples").glob("*/requirements.txt"):
        assert set(file.read_text().split()) <= set(pins), file


@pytest.mark.parametrize("name", ["flask", "node"])
def test_without_bramley_nobody_is_admitted(binaries, tmp_path, make_visitor, name):
    example = Example(name, binaries, tmp_path)
    try:
        visitor = signs_in(make_visitor(example), "ada")
        writes(visitor, "private")
        cookie = session_cookie(visitor)
        assert "private" in example.ask("/", {"Cookie": cookie}).text
        # Stopped, not ended: it takes the question and never answers.
        (server,) = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()
                     and is_serving(entry, example.data)]
        os.kill(server, signal.SIGSTOP)
        try:
            # One thread takes the signal and stops the others, when it is its turn to run; until then they answer.
            threads = [int(thread.name) for thread in Path(f"/proc/{server}/task").iterdir()]
            eventually(lambda: all(processes.fields(thread)[0] == "T" for thread in threads), "the server to stop")
            answer = example.ask("/", {"Cookie": cookie}).must(503)
            assert "private" not in answer.text
            # Whoever brings no cookie is nobody, whatever Bramley says.
            assert example.ask("/").status == 200
        finally:
            os.kill(server, signal.SIGCONT)
        assert "private" in example.ask("/", {"Cookie": cookie}).text
    finally:
        assert example.stop() == 0, example.logs()


def is_serving(process: Path, data: Path) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"/bramley") and f"{data}/config.json".encode() in words
