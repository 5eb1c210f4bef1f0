"""The verifier of docs/examples/accounts, over HTTP, with questions signed by another implementation."""

import concurrent.futures
import json
import statistics
import time

import pytest

from conftest import new_secret
from demo import EXAMPLE, PASSWORD, ROOT, Person

QUESTION = {"action": "verify", "username": "nobody", "password": PASSWORD}


@pytest.fixture
def demo(lone_demo):
    return lone_demo


def test_a_right_password_is_the_account(demo):
    Person(demo, "right").signs_up()
    assert demo.verify("right") == {"result": "success", "externalID": demo.account("right")["id"]}
    # As people type it.
    assert demo.verify("  RIGHT ")["result"] == "success"


def test_whatever_is_not_the_password_is_the_same_answer(demo):
    Person(demo, "known").signs_up()
    Person(demo, "gone").signs_up()
    assert demo.convert("upg_gone", demo.account("gone")["id"]) == 204
    answers = [
        demo.ask({"action": "verify", "username": name, "password": password})
        for name, password in [("known", "wrong password"), ("unknown", PASSWORD), ("gone", PASSWORD), ("", ""),
                               ("known", ""), ("known", PASSWORD + "x"), ("known", PASSWORD * 100), ("x" * 10000, PASSWORD),
                               ("known", "\ud800"), ("\udfff", PASSWORD), ("known\0", PASSWORD), ("known", PASSWORD + "\0")]
    ]
    assert {(answer.status, answer.text) for answer in answers} == {(200, '{"result":"failure"}\n')}


def test_an_unknown_name_takes_as_long_as_a_wrong_password(demo):
    Person(demo, "timed").signs_up()
    Person(demo, "converted").signs_up()
    assert demo.convert("upg_converted", demo.account("converted")["id"]) == 204
    times = {name: [] for name in ("timed", "stranger", "converted")}
    for number in range(9):
        for name, measured in times.items():
            begun = time.perf_counter()
            assert demo.verify(name, f"wrong password {number}")["result"] == "failure"
            measured.append(time.perf_counter() - begun)
    # Without a hash for nobody it would be a tenth. Other programs on this machine may double either.
    fast, *_, slow = sorted(statistics.median(measured) for measured in times.values())
    assert fast > slow / 3, times


def test_ten_wrong_passwords_lock_a_name_that_exists_and_one_that_does_not(demo):
    Person(demo, "guessed").signs_up()
    for name in ("guessed", "absent"):
        for _ in range(10):
            assert demo.verify(name, "a wrong password") == {"result": "failure"}
    assert demo.verify("guessed") == demo.verify("absent") == {"result": "failure"}
    # The person is told at the sign-in page, whether there is such an account or not.
    assert [Person(demo, name).signs_in().status for name in ("guessed", "absent")] == [429, 429]
    demo.sql("UPDATE failure SET at = at - 901")
    assert demo.verify("guessed")["result"] == "success"


def test_the_second_factor(demo):
    person = Person(demo, "careful").signs_up().sets_up_second_factor()
    first = demo.verify("careful")
    assert first == {"result": "twoFactorAuthRequired", "challenge": first["challenge"], "methods": ["totp"]}
    assert demo.verify("careful", "a wrong password") == {"result": "failure"}
    wrong = "000000" if person.code() != "000000" else "000001"
    assert demo.second_factor(first["challenge"], wrong) == {"result": "failure"}
    code = person.code()
    right = {"result": "success", "externalID": demo.account("careful")["id"]}
    assert demo.second_factor(first["challenge"], code) == right
    # Neither the challenge nor the code works again.
    assert demo.second_factor(first["challenge"], person.code()) == {"result": "failure"}
    again = demo.verify("careful")["challenge"]
    assert again != first["challenge"]
    demo.sql("UPDATE account SET totp_step = ? WHERE name = 'careful'", int(time.time()) // 30 + 1)
    assert demo.second_factor(again, code) == {"result": "failure"}
    assert demo.second_factor(again, person.code()) == right
    assert demo.second_factor("no challenge", person.code()) == {"result": "failure"}
    assert demo.second_factor("\ud800", "\ud800") == {"result": "failure"}


def test_a_challenge_has_five_tries_and_an_hour_is_too_long(demo):
    person = Person(demo, "patient").signs_up().sets_up_second_factor()
    challenge = demo.verify("patient")["challenge"]
    for _ in range(5):
        assert demo.second_factor(challenge, "x")["result"] == "failure"
    assert demo.second_factor(challenge, person.code())["result"] == "failure"
    late = demo.verify("patient")["challenge"]
    demo.sql("UPDATE challenge SET made = made - 601")
    assert demo.second_factor(late, person.code())["result"] == "failure"


def test_more_challenges_are_no_more_codes(demo):
    person = Person(demo, "guarded").signs_up().sets_up_second_factor()
    for _ in range(2):
        challenge = demo.verify("guarded")["challenge"]
        for _ in range(5):
            demo.second_factor(challenge, "x")
    assert demo.verify("guarded") == {"result": "failure"}
    assert person.signs_in().status == 429


def test_a_challenge_of_the_page_is_none_of_the_verifiers(demo):
    from demo import hidden
    person = Person(demo, "split").signs_up().sets_up_second_factor()
    page = person.post("/sign-in", {"name": "split", "password": PASSWORD})
    assert demo.second_factor(hidden(page)["challenge"], person.code())["result"] == "failure"
    challenge = demo.verify("split")["challenge"]
    assert person.post("/sign-in/code", {"challenge": challenge, "code": person.code()}).status == 401


def test_convert_takes_the_password_away_and_remembers_who_asked(demo):
    inside, elsewhere = Person(demo, "convert").signs_up(), Person(demo, "convert")
    elsewhere.signs_in()
    inside.sets_up_second_factor()
    account = demo.account("convert")["id"]
    challenge = demo.verify("convert")["challenge"]
    assert demo.convert("upg_first", account) == 204
    kept = demo.account("convert")
    assert (kept["password"], kept["totp"], kept["converted_by"]) == (None, None, "upg_first")
    # The password, a half-finished second factor and the sessions made with it are of no use any more.
    assert demo.verify("convert") == {"result": "failure"}
    assert demo.second_factor(challenge, inside.code()) == {"result": "failure"}
    assert Person(demo, "convert").signs_in().status == 401
    assert not inside.is_in() and not elsewhere.is_in()
    # The answer was lost: the same again is as good, and changes nothing.
    for _ in range(3):
        assert demo.convert("upg_first", account) == 204
    assert demo.convert("upg_second", account) == 409
    assert demo.account("convert") == kept


def test_convert_refuses_whom_it_does_not_know(demo):
    Person(demo, "kept").signs_up()
    before = demo.account("kept")
    assert demo.convert("upg_stranger", "acc_nobody") == 409
    assert demo.convert("upg_stranger", "") == 409
    for changes in ({"kind": "link"}, {"kind": None}, {"externalID": 7}, {"userID": None}, {"attemptID": ["x"]},
                    {"externalID": "\ud800"}):
        assert demo.convert("upg_wrong", before["id"], **changes) == 400, changes
    assert demo.account("kept") == before


def test_twenty_attempts_at_once_are_one(demo):
    Person(demo, "raced").signs_up()
    account = demo.account("raced")["id"]
    attempts = [f"upg_race{number % 4}" for number in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda attempt: demo.convert(attempt, account), attempts))
    winner = demo.account("raced")["converted_by"]
    assert [answer == 204 for answer in answers] == [attempt == winner for attempt in attempts]
    assert set(answers) == {204, 409}


def test_the_session_that_asked_for_it_stays(demo):
    asked, other = Person(demo, "stays").signs_up(), Person(demo, "stays")
    other.signs_in()
    (session,) = demo.sql("SELECT hash FROM session WHERE account = ? ORDER BY made LIMIT 1", demo.account("stays")["id"])
    demo.sql("INSERT INTO connection (link, kind, session) VALUES ('lnk_stays', 'upgrade', ?)", session[0])
    assert demo.convert("lnk_stays", demo.account("stays")["id"]) == 204
    assert asked.is_in() and not other.is_in()


# Who is asking

def test_a_question_that_is_not_signed_by_bramley_is_not_answered(demo):
    Person(demo, "signed").signs_up()
    question = {"action": "verify", "username": "signed", "password": PASSWORD}
    now = time.time()
    for change in [
        {"secret": new_secret()}, {"secret": demo.webhook_secret}, {"at": now - 301}, {"at": now + 310},
        {"webhook_id": "msg_another"}, {"webhook_id": None}, {"webhook_id": ""}, {"webhook_timestamp": str(int(now) + 60)},
        {"webhook_timestamp": None}, {"webhook_timestamp": "soon"}, {"webhook_signature": None}, {"webhook_signature": ""},
        {"webhook_signature": "v1,AAAA"}, {"webhook_signature": "v1a," + "A" * 44},
    ]:
        answer = demo.ask(question, **change)
        assert answer.status == 400 and "success" not in answer.text, change
    convert = {"action": "convert", "attemptID": "upg_x", "kind": "upgrade", "externalID": demo.account("signed")["id"],
               "userID": "usr_x"}
    assert demo.ask(convert, secret=new_secret()).status == 400
    assert demo.account("signed")["password"]
    # What is signed is the content: another one does not go with it.
    from demo import send, signature
    body = json.dumps(question).encode()
    fields = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now)),
              "webhook-signature": signature(demo.secret, "msg_1", now, body)}
    assert send(demo.port, "POST", "/verifier", fields, body.replace(b"signed", b"nobody")).status == 400
    assert send(demo.port, "POST", "/verifier", fields, body).status == 200
    assert send(demo.port, "GET", "/verifier", fields).status == 405


def test_a_recorded_question_is_answered_once(demo):
    Person(demo, "recorded").signs_up()
    question, now = {"action": "verify", "username": "recorded", "password": PASSWORD}, time.time()
    assert demo.ask(question, message="msg_recorded", at=now).json()["result"] == "success"
    assert demo.ask(question, message="msg_recorded", at=now).status == 400
    code = {"action": "secondFactor", "challenge": "c", "code": "1"}
    assert [demo.ask(code, message="msg_code", at=now).status for _ in range(2)] == [200, 400]


@pytest.mark.parametrize("body", [
    b"", b"no json", b"[]", b"null", b"{}", b'{"action":"erase"}', b'{"action":["verify"]}',
    b'{"action":"verify"}', b'{"action":"verify","username":1,"password":2}', b'{"action":"verify","username":"a"}',
    b'{"action":"secondFactor","challenge":null,"code":"1"}', b"[" * 50000, b'{"action":"convert","attemptID":"a"}',
])
def test_what_is_no_question_is_refused(demo, body):
    assert demo.ask(body).status == 400


def test_a_long_question_is_not_read(demo):
    assert demo.ask(b" " * 65537).status == 413


def test_nothing_said_in_secret_is_logged_or_kept(demo):
    password = "Canary-6f1d-password"
    person = Person(demo, "canary", password).signs_up().sets_up_second_factor()
    demo.verify("canary", password)
    demo.verify("canary", "Canary-wrong")
    demo.ask({"action": "verify", "username": "canary", "password": "Canary-forged"}, secret=new_secret())
    demo.ask(b'{"action":"verify","password":"Canary-broken"')
    demo.ask({"action": "verify", "username": "Canary-\ud800", "password": "Canary-\ud800"})
    person.signs_in(ticket="brt_Canary-ticket")
    person.get("/connected?link=lnk_Canary&code=Canary-code")
    files = list(demo.folder.rglob("*"))
    assert demo.database in files and demo.program.log in files
    for file in files:
        assert b"Canary" not in file.read_bytes(), file
    assert "/connected 403" in demo.program.text()


def test_the_packages_of_the_tests_are_those_of_the_example():
    pins = (ROOT / "scripts/test-requirements.txt").read_text().splitlines()
    assert set((EXAMPLE / "requirements.txt").read_text().split()) <= set(pins)
    assert (EXAMPLE / "webhooks.py").read_bytes() == (ROOT / "docs/examples/flask/webhooks.py").read_bytes()
