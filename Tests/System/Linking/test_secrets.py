"""The password appears in no log, no database page, no error: searched for in all of them after a whole run."""

import base64
import json
import urllib.parse
from pathlib import Path

import postgres
from app import send
from demo import Person
from gate import DOWN, LOST, says
from orchard import files, somebody

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
