"""The password appears in no log, no database page, no error: searched for in all of them after a whole run."""

import base64
import concurrent.futures
import json
import urllib.parse

import postgres
from app import send
from demo import Person
from gate import DOWN, HANG, LOST, says, status
from orchard import files, problem
from patience import eventually
from people import somebody

# In the spellings in which it could lie about.
PASSWORD = "Canary-7Q pass\"word-ü"
WRONG = "Canary-wrong-9Z"
CANARY = "Canary-"


def spellings(text: str) -> set[bytes]:
    raw = text.encode()
    return {raw, raw.hex().encode(), base64.b64encode(raw)[:-4], urllib.parse.quote(text).encode(),
            urllib.parse.quote_plus(text).encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le")}


def test_the_password_is_nowhere(make_orchard):
    orchard = make_orchard({"log.level": "trace"})
    answers, secrets = [], set()
    person = Person(orchard.demo, "silent", PASSWORD).signs_up()

    def keep(answer):
        answers.append(answer.body)
        return answer

    # Every way in which it can be said, and fail. What hangs is given up while the rest is tried.
    orchard.gate.once("verify", HANG)
    pool = concurrent.futures.ThreadPoolExecutor(1)
    hanging = pool.submit(orchard.upgrade, "silent", PASSWORD)
    eventually(lambda: orchard.gate.questions("verify"), "the question that hangs")
    for fault in (None, DOWN, LOST, status(500), says({}), ("raw", b"nonsense"), ("answer", 200, b"x" * 20000, {})):
        if fault:
            orchard.gate.once("verify", fault)
        keep(orchard.upgrade("silent", PASSWORD))
    keep(orchard.upgrade("silent", WRONG))
    keep(orchard.upgrade(CANARY + "name", WRONG))
    for body in (b'{"username":"silent","password":"Canary-broken', b'{"username":"silent","password":"Canary-a","password":"b"}',
                 b'{"username":1,"password":"Canary-number"}', b'{"password":"Canary-alone"}',
                 b'{"username":"x","password":"Canary-long' + b"x" * 70000 + b'"}'):
        keep(send(orchard, "POST", "/api/v1/upgrades", body))
        keep(send(orchard, "POST", "/api/v1/upgrades", body, kind="text/plain"))
        keep(send(orchard, "POST", "/upgrade", b"username=silent&password=Canary-form%ff&x=" + body[:100],
                  kind="application/x-www-form-urlencoded", headers={"Sec-Fetch-Site": "same-origin"}))
    person.sets_up_second_factor()
    orchard.demo.sql("DELETE FROM failure")
    upgrade = keep(orchard.upgrade("silent", PASSWORD)).json()
    keep(orchard.second_factor(upgrade, "Canary-code"))
    passed = orchard.second_factor(upgrade, person.code()).json()
    apple = somebody(orchard)
    orchard.gate.once("convert", DOWN)
    content = orchard.sheet(passed["nonce"], apple)
    assert problem(keep(orchard.finish(upgrade, content))) == (502, "conversion-failed")
    done = orchard.finish(upgrade, content)
    assert done.status == 200
    assert not orchard.password_works("silent", PASSWORD)
    # By ticket as well.
    Person(orchard.demo, "spoken", PASSWORD).signs_up()
    link = orchard.begin(orchard.demo.account("spoken")["id"])
    code = orchard.authorize(link, somebody(orchard)).json()["code"]
    assert orchard.complete(link, code).status == 200
    assert problem(keep(hanging.result())) == (503, "verifier_unavailable")
    pool.shutdown()
    secrets |= {upgrade["upgradeToken"], passed["nonce"], done.json()["token"], link["ticket"], code,
                content["identityToken"], content["authorizationCode"], orchard.demo.secret.removeprefix("whsec_")}
    challenges = {q["challenge"] for q in orchard.gate.questions("secondFactor")}
    asked = orchard.gate.questions("verify")
    assert {PASSWORD, WRONG} <= {q["password"] for q in asked}, "it was never said: this test proves nothing"

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
                for secret in secrets - {passed["nonce"]} | challenges:
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
