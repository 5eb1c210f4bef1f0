"""The password appears in no log, no database page, no error: searched for in all of them after a whole run."""

import base64
import json
import urllib.parse

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
    orchard = make_orchard({"log.level": "trace"})
    answers, secrets = [], set()
    person = Person(orchard.demo, "silent", PASSWORD).signs_up()

    def keep(answer):
        answers.append(answer.body if hasattr(answer, "body") else answer.text.encode())
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
    upgrade = orchard.demo.code(challenge, person.code()) | {"id": None}
    upgrade["id"] = upgrade["link"]
    content = orchard.sheet(upgrade["nonce"], somebody(orchard))
    code = orchard.authorize(upgrade, content=content).json()["code"]
    orchard.gate.once("complete", DOWN)
    assert keep(orchard.demo.complete(upgrade, code)).status == 503
    assert keep(orchard.demo.complete(upgrade, code)).status == 200
    assert not orchard.password_works("silent", PASSWORD)
    # By ticket as well.
    Person(orchard.demo, "spoken", PASSWORD).signs_up()
    link = orchard.begin(orchard.demo.account("spoken")["id"])
    other = orchard.authorize(link, somebody(orchard)).json()["code"]
    assert orchard.complete(link, other).status == 200
    secrets |= {upgrade["ticket"], upgrade["nonce"], link["ticket"], code, other, content["identityToken"],
                content["authorizationCode"], orchard.demo.webhook_secret.removeprefix("whsec_"), challenge}

    looked = hit = 0
    searched = {spelling for text in (PASSWORD, WRONG) for spelling in spellings(text)} | {CANARY.encode()}
    while_running = list(files(orchard.folder / "data", orchard.demo.folder)) + [orchard.server.log]
    for moment in ("while it runs", "after the end"):
        for file in while_running if moment == "while it runs" else files(orchard.folder):
            content_of = file.read_bytes()
            looked += 1
            for text in searched:
                assert text not in content_of, f"{file} has it {moment}"
            if file.name in ("bramley.log", "bramley.db", "bramley.db-wal"):
                hit += 1
                # Those that the way needs are not kept either: hashes, or sealed.
                for secret in secrets - {upgrade["nonce"]}:
                    assert secret.encode() not in content_of, f"{file} has a secret {moment}"
        if moment == "while it runs":
            orchard.stop()
            orchard.demo.stop()
    assert looked > 10 and hit >= (1 if postgres.IS_STORE else 3)
    for body in answers:
        for text in searched:
            assert text not in body


def test_the_canary_would_be_found(tmp_path):
    """The search itself."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "page").write_bytes(b"\0\1" + PASSWORD.encode("utf-16-le") + b"\2")
    assert any(text in file.read_bytes() for file in files(tmp_path) for text in spellings(PASSWORD))
