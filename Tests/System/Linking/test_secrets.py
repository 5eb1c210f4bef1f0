"""Passwords, secrets and ids that work like one are in no log, list, database page or answer, after whole runs."""

import base64
import json
import re
import urllib.parse
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import postgres
from app import challenge, post, request, send
from demo import ROOT, Person
from gate import DOWN, LOST, says
from orchard import Orchard, files, somebody
from patience import eventually
from web import SAME_ORIGIN, Browser, new_address

# In the spellings in which it could lie about.
PASSWORD = "Canary-7Q pass\"word-ü"
WRONG = "Canary-wrong-9Z"
CANARY = "Canary-"


def spellings(text: str) -> set[bytes]:
    raw = text.encode()
    return {raw, raw.hex().encode(), base64.b64encode(raw)[:-4], urllib.parse.quote(text).encode(),
            urllib.parse.quote_plus(text).encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le")}


def test_the_password_is_in_no_log_database_or_answer(make_orchard):
    orchard, answers = make_orchard({"log.level": "trace"}), []
    person = Person(orchard.demo, "silent", PASSWORD).signs_up()

    def keep(answer):
        answers.append(answer.body)
        return answer

    def ask(name: str, password: str):
        return keep(orchard.demo.post("/upgrade", {"name": name, "password": password}))

    # Every way in which it can be said, and fail. By mistake to Bramley too.
    for fault in (None, DOWN, LOST, says(500, {}), says(200, {})):
        if fault:
            orchard.gate.once("begin", fault)
        ask("silent", PASSWORD)
    ask("silent", WRONG)
    ask(CANARY + "name", WRONG)
    for body in (b'{"name":"silent","password":"Canary-broken', b'{"name":"silent","password":"Canary-a","password":"b"}',
                 b'{"name":1,"password":"Canary-number"}', b'{"password":"Canary-alone"}',
                 b'{"name":"silent","password":"Canary-more","x":1}',
                 b'{"name":"Canary-\\ud800","password":"Canary-\\ud800"}',
                 b'{"name":"x","password":"Canary-long' + b"x" * 70000 + b'"}'):
        keep(orchard.demo.post("/upgrade", body))
        for path in ("/upgrade", "/api/v1/upgrades", "/api/v1/links", "/api/v1/native/sessions"):
            keep(send(orchard, "POST", path, body))
            keep(send(orchard, "POST", path, body, kind="text/plain"))
    person.sets_up_second_factor()
    orchard.demo.sql("DELETE FROM failure")
    person.signs_in(ticket="brt_" + CANARY.ljust(43, "t"))
    person.get("/connected?link=lnk_Canary-link&code=Canary-code")
    assert "/connected 403" in orchard.demo.program.text()
    orchard.demo.post("/upgrade/complete", {"link": "lnk_Canary-link", "token": "Canary-token", "code": "Canary-code"})
    challenge = ask("silent", PASSWORD).json()["challenge"]
    keep(orchard.demo.post("/upgrade/code", {"challenge": challenge, "code": "Canary-code"}))
    upgrade = orchard.demo.code(challenge, person.code())
    upgrade["id"] = upgrade["link"]
    content = orchard.sheet(upgrade["nonce"], somebody(orchard))
    code = orchard.proven(upgrade, content=content)
    orchard.gate.once("complete", DOWN)
    assert keep(orchard.demo.complete(upgrade, code)).status == 503
    assert keep(orchard.demo.complete(upgrade, code)).status == 200
    assert not orchard.password_works("silent", PASSWORD)
    Person(orchard.demo, "spoken", PASSWORD).signs_up()
    link = orchard.begin(orchard.demo.account("spoken")["id"])
    other = orchard.proven(link, somebody(orchard))
    assert orchard.complete(link, other).status == 200
    # Those that the way needs are not kept either: hashes, or sealed.
    secrets = {upgrade["ticket"], link["ticket"], code, other, content["identityToken"], content["authorizationCode"],
               orchard.demo.webhook_secret.removeprefix("whsec_"), challenge}
    searched = {spelling for text in (PASSWORD, WRONG) for spelling in spellings(text)} | {CANARY.encode()}
    looked: list[str] = []

    def look(*found: Path) -> None:
        for file in found:
            content_of = file.read_bytes()
            looked.append(file.name)
            is_ours = file.name in ("bramley.log", "bramley.db", "bramley.db-wal")
            for text in searched | ({secret.encode() for secret in secrets} if is_ours else set()):
                assert text not in content_of, f"{file} has {text}"

    look(*files(orchard.folder / "data", orchard.demo.folder), orchard.server.log)
    orchard.stop()
    orchard.demo.stop()
    look(*files(orchard.folder))
    hits = sum(name in ("bramley.log", "bramley.db", "bramley.db-wal") for name in looked)
    assert len(looked) > 10 and hits >= (1 if postgres.IS_STORE else 3)
    assert not [body for body in answers for text in searched if text in body]


def test_the_canary_would_be_found(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "page").write_bytes(b"\0\1" + PASSWORD.encode("utf-16-le") + b"\2")
    assert any(text in file.read_bytes() for file in files(tmp_path) for text in spellings(PASSWORD))


@pytest.fixture(scope="module")
def talkative(make_shared_site):
    return make_shared_site({"log.level": "trace", "login.askExistingAccount": True, "log.clients": "address"}, Orchard)


class Collecting(Browser):
    """What it is handed is collected: cookies, states, nonces, addresses with a query."""

    def __init__(self, orchard, secrets: set[str]):
        super().__init__(orchard, SAME_ORIGIN)
        self.secrets = secrets

    def ask(self, method: str, path: str, headers: dict, body: str | None):
        answer = super().ask(method, path, new_address() | headers, body)
        self.secrets |= {value for value in answer.cookies().values() if value}
        self.secrets |= {value.decode() for value in re.findall(rb'appleid-signin-(?:state|nonce)" content="([^"]+)"', answer.body)}
        self.secrets |= {value for value in answer.parameters().values() if len(value) >= 40 and "/" not in value}
        return answer

    def comes_back(self, form: str):
        self.secrets |= {value for values in parse_qs(form).values() for value in values if len(value) >= 40}
        return super().comes_back(form)


def address(link: dict) -> str:
    parts = urlsplit(link["url"])
    return f"{parts.path}?{parts.query}"


def everything_told(orchard) -> str:
    texts = [orchard.admin("/metrics").text, orchard.server.text()]
    for command in ("links list", "events tail", "audit list", "users list", "sessions list", "notifications list",
                    "api-keys list", "webhooks list"):
        texts.append(orchard.operator.bramley(*command.split(), "--json"))
    return "\n".join([*texts, send(orchard, "GET", "/api/v1/events", token=orchard.key("events:read")).text])


def test_no_secret_is_logged_listed_or_exported_and_no_id_opens_anything(talkative):
    orchard, secrets = talkative, set(talkative.keys.values())
    # Signing in, by a browser and by an app, and out.
    ada, browser = somebody(orchard), Collecting(orchard, secrets)
    browser.sign_in(ada)
    native = request(orchard, ada)
    signed_in = post(orchard, native).must(200)
    secrets |= {native["identityToken"], native["authorizationCode"], native["nonce"], signed_in.json()["token"], challenge(orchard)}
    # Connecting, by an app, by a browser, and with somebody who waits.
    app, web, late = (orchard.begin(orchard.account(name)) for name in ("by-app", "by-web", "late"))
    for link in (app, web, late):
        secrets |= {link["ticket"], link["url"].partition("token=")[2]}
    content = orchard.sheet(app["nonce"], somebody(orchard))
    code = orchard.proven(app, content=content)
    assert orchard.complete(app, code).status == 200
    assert orchard.complete(web, "brl_" + "A" * 43).status == 400
    secrets |= {content["identityToken"], content["authorizationCode"], code}
    visitor = Collecting(orchard, secrets)
    assert visitor.send("GET", address(web)).status == 200
    back = visitor.comes_back(visitor.goes_to_apple(somebody(orchard), f"/link/{web['id']}/apple"))
    assert back.status == 303 and "code=brl_" in back.location
    assert orchard.complete(web, back.parameters()["code"]).status == 200
    newcomer = Collecting(orchard, secrets)
    waiting = newcomer.comes_back(newcomer.goes_to_apple(somebody(orchard))).waiting
    sent = newcomer.send("POST", "/login/existing", {"waiting": waiting, "choice": "connect"})
    ticket = sent.parameters()["ticket"]
    secrets.add(ticket)
    joined = orchard.begin(orchard.account("joined"), ticket=ticket)
    secrets |= {joined["ticket"], joined["url"].partition("token=")[2]}
    assert newcomer.send("GET", address(joined)).status == 200
    orchard.person("careful")
    upgrade = orchard.begun("careful")
    content = orchard.sheet(upgrade["nonce"], somebody(orchard))
    code = orchard.proven(upgrade, content=content)
    assert orchard.demo.complete(upgrade, code).status == 200
    secrets |= {upgrade["ticket"], content["identityToken"], content["authorizationCode"], code}
    assert browser.send("POST", "/logout", {}).status == 303
    told = everything_told(orchard)
    assert len(secrets) > 30 and all(len(secret) >= 24 for secret in secrets), "too little was collected"
    for secret in secrets:
        assert secret not in told, f"{secret[:8]}… is told"
    # By its form too, whoever was given it.
    assert not re.findall(r"\b(?:brs|brk|brt|brl|bra)_[A-Za-z0-9_-]{43}\b", told)
    # The ids are there; none of them opens what it names.
    ids = set(re.findall(r"\b(?:lnk|wai|ses|usr|evt|key)_[0-9a-z]{26}\b", told))
    assert {late["id"], app["id"], upgrade["id"], waiting, signed_in.json()["session"]["id"]} <= ids
    stranger = Collecting(orchard, set())
    stranger.send("GET", "/login")
    for name in sorted(ids):
        for path in (f"/link/{name}", f"/link/{name}/apple", f"/link/{name}/attempt"):
            answer = stranger.send("GET", path)
            assert answer.status in (400, 404, 409, 410) and b"Their account" not in answer.body, (path, answer.status)
        for choice in ("new", "connect"):
            assert stranger.send("POST", "/login/existing", {"waiting": name, "choice": choice}).status in (400, 404, 410)
        assert "code=" not in stranger.send("POST", f"/link/{name}", {}).location
        assert send(orchard, "GET", "/api/v1/session", token=name).status == 401
        assert send(orchard, "GET", "/api/v1/session", headers={"Cookie": f"__Host-bramley={name}"}).status == 401
        assert send(orchard, "POST", f"/api/v1/links/{name}/authorize", {"code": "x"}, token=name).status in (400, 401, 404)
    # And the browser that has the address is not kept out by all that.
    assert orchard.sql("SELECT state FROM account_link WHERE id = ?", late["id"]) == [("open",)]
    assert Collecting(orchard, set()).send("GET", address(late)).status == 200


def commands_after_a_leak() -> list[str]:
    """Of the runbook, when database and sealing key have leaked, in their order."""
    row, = (line for line in (ROOT / "docs/trust/security.md").read_text().splitlines()
            if line.startswith("- **the database and the sealing key"))
    return re.findall(r"`bramley ([^`]+)`", row)


def test_after_a_leak_of_database_and_key_the_runbook_ends_every_session(make_orchard):
    orchard = make_orchard({"assertion.audience": "https://backend.example"})
    ada = somebody(orchard)
    browser = Collecting(orchard, set())
    browser.sign_in(ada)
    native = post(orchard, request(orchard, ada)).json()["token"]

    def live() -> list[int]:
        return [browser.get("/api/v1/session").status, send(orchard, "GET", "/api/v1/session", token=native).status]

    assert live() == [200, 200]
    commands = commands_after_a_leak()
    assert commands == ["keys rotate-sealing --new", "assertion rotate --revoke", "sessions revoke --all"]
    for command in commands:
        orchard.operator.bramley(*command.split(), *([] if command.startswith("keys") else ["--yes"]))
    eventually(lambda: live() == [401, 401], "the end of every session")
    assert orchard.sql("SELECT count(*) FROM session") == [(0,)]
    assert post(orchard, request(orchard, ada)).status == 200
