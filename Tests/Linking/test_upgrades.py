"""The password style from an app: a scripted client, and the extension of the documentation as it is."""

import concurrent.futures
import re

import pytest
from jsonschema import Draft202012Validator

from app import APP, exchanges, send, sheet
from closed import closed
from demo import PASSWORD, ROOT
from orchard import problem
from people import somebody


@pytest.fixture
def ada(orchard):
    """A person of Apple's who is nobody else's in this file."""
    return somebody(orchard)


def test_without_interaction(orchard, ada):
    person = orchard.person("smooth")
    account = orchard.demo.account("smooth")["id"]
    begun = orchard.upgrade("smooth")
    assert begun.status == 200 and set(begun.json()) == {"result", "id", "upgradeToken", "nonce", "expiresAt"}
    upgrade = begun.json()
    assert re.fullmatch(r"upg_[0-9a-z]{26}", upgrade["id"]) and upgrade["upgradeToken"].startswith("bru_")
    # The password works until the end.
    assert orchard.password_works("smooth")
    done = orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], ada))
    assert done.status == 200, done.body
    answer = done.json()
    assert answer["result"] == "success" and answer["user"]["externalID"] == account
    assert answer["user"]["name"]["given"] == "Pat"
    assert send(orchard, "GET", "/api/v1/session", token=answer["token"]).json() == {
        "user": answer["user"], "session": answer["session"]}
    assert orchard.gate.questions("convert") == [{
        "action": "convert", "attemptID": upgrade["id"], "kind": "upgrade", "externalID": account,
        "userID": answer["user"]["id"]}]
    kept = orchard.demo.account("smooth")
    assert (kept["password"], kept["converted_by"], kept["apple"]) == (None, upgrade["id"], answer["user"]["id"])
    assert not orchard.password_works("smooth") and not person.is_in()
    assert orchard.apple_opens(account, ada)
    assert orchard.events(answer["user"]["id"]).count("account.upgraded") == 1
    # Nothing of the way stays behind.
    assert orchard.state(upgrade["id"]) == "done"


def test_answers_are_as_described(orchard, ada):
    document = closed()

    def holds(answer, method: str, path: str) -> None:
        content = document["paths"][path][method]["responses"][str(answer.status)]["content"]["application/json"]
        schema = content["schema"] | {"components": document["components"]}
        Draft202012Validator(schema).validate(answer.json())

    orchard.person("described").sets_up_second_factor()
    person = orchard.person("plain")
    begun = orchard.upgrade("plain")
    for answer in (begun, orchard.upgrade("described"), orchard.upgrade("plain", "a wrong password")):
        holds(answer, "post", "/api/v1/upgrades")
    holds(orchard.finish(begun.json(), orchard.sheet(begun.json()["nonce"], ada)), "post", "/api/v1/upgrades/{id}/complete")
    assert not person.is_in()


def test_with_a_second_factor(orchard, ada):
    person = orchard.person("careful").sets_up_second_factor()
    begun = orchard.upgrade("careful").json()
    assert set(begun) == {"result", "id", "upgradeToken", "methods", "expiresAt"}
    assert (begun["result"], begun["methods"]) == ("twoFactorAuthRequired", ["totp"])
    # Without the code there is no way on: no nonce, and no completion.
    early = orchard.finish(begun, orchard.sheet("a nonce of one's own", ada))
    assert early.status in (400, 403, 409), early.body
    assert orchard.owner(orchard.demo.account("careful")["id"]) is None
    assert orchard.second_factor(begun, "000000").json() == {"result": "failure"}
    passed = orchard.second_factor(begun, person.code())
    assert passed.status == 200 and set(passed.json()) == {"result", "id", "upgradeToken", "nonce", "expiresAt"}
    assert passed.json()["id"] == begun["id"]
    # The answer was lost: the same again, and the verifier is not asked a second time.
    asked = len(orchard.gate.questions("secondFactor"))
    assert orchard.second_factor(begun, person.code()).json()["result"] == "success"
    assert len(orchard.gate.questions("secondFactor")) == asked
    done = orchard.finish(begun, orchard.sheet(passed.json()["nonce"], ada))
    assert done.status == 200 and done.json()["user"]["externalID"] == orchard.demo.account("careful")["id"]
    assert not orchard.password_works("careful")


def test_five_codes_and_no_more(orchard):
    person = orchard.person("typist").sets_up_second_factor()
    begun = orchard.upgrade("typist").json()
    for _ in range(5):
        assert orchard.second_factor(begun, "x").json() == {"result": "failure"}
    assert problem(orchard.second_factor(begun, person.code())) == (403, "upgrade_ended")
    assert len(orchard.gate.questions("secondFactor")) == 5
    # Another upgrade is another five; the application counts as well.
    orchard.demo.sql("DELETE FROM failure")
    assert orchard.second_factor(orchard.upgrade("typist").json(), person.code()).json()["result"] == "success"


def test_failed_is_one_answer(orchard):
    orchard.person("known")
    answers = [orchard.upgrade(name, password) for name, password in
               [("known", "a wrong password"), ("unknown", PASSWORD), ("unknown", "x"), ("known", PASSWORD + " ")]]
    assert {(answer.status, answer.body) for answer in answers} == {(200, answers[0].body)}
    assert answers[0].json() == {"result": "failure"}
    assert orchard.sql("SELECT count(*) FROM account_link WHERE created_at > 0 AND style = 'password' AND state = 'open'"
                       " AND external_id = ?", orchard.demo.account("known")["id"]) == [(0,)]


def test_cancelled_leaves_nothing_behind(orchard, ada):
    orchard.person("fickle")
    users = orchard.users()
    upgrade = orchard.begun("fickle")
    assert orchard.users() == users and orchard.password_works("fickle")
    assert orchard.owner(orchard.demo.account("fickle")["id"]) is None
    # And again from the beginning.
    upgrade = orchard.begun("fickle")
    assert orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], ada)).status == 200


def test_retried_is_one_conversion_one_session_and_one_code(orchard, ada):
    orchard.person("retried")
    upgrade = orchard.begun("retried")
    content, sent = orchard.sheet(upgrade["nonce"], ada), exchanges(orchard)
    first = orchard.finish(upgrade, content)
    assert first.status == 200
    again = orchard.finish(upgrade, content)
    assert again.json()["token"] == first.json()["token"]
    orchard.stop()
    orchard.start()
    assert orchard.finish(upgrade, content).json()["token"] == first.json()["token"]
    assert exchanges(orchard) - sent == 1 and len(orchard.gate.questions("convert")) == 1
    sessions = orchard.sql("SELECT count(*) FROM session WHERE user = ?", first.json()["user"]["id"])
    assert sessions == [(1,)]
    # Another answer of Apple's is another request.
    other = orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], ada))
    assert other.status in (400, 409) and "token" not in other.json()


def test_twenty_identical_completions_at_once_are_one(orchard, ada):
    orchard.person("hasty")
    upgrade = orchard.begun("hasty")
    content = orchard.sheet(upgrade["nonce"], ada)
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: orchard.finish(upgrade, content), range(20)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.json()["token"] for answer in answers}) == 1
    assert len({question["attemptID"] for question in orchard.gate.questions("convert")}) == 1


@pytest.mark.parametrize("content", [
    {}, {"username": "x"}, {"password": "x"}, {"username": 1, "password": "x"}, {"username": "x", "password": None},
    {"username": "", "password": "x"}, {"username": "x" * 5000, "password": "x"}, {"username": "x", "password": "x" * 5000},
    {"username": "x\0", "password": "x"}, b"[]", b"{", b'{"username":"a","username":"b","password":"c"}',
])
def test_what_is_no_question_is_not_asked(orchard, content):
    answer = send(orchard, "POST", "/api/v1/upgrades", content)
    assert answer.status == 400, answer.body
    assert not orchard.gate.asked


def test_tokens_belong_to_their_upgrade(orchard, ada):
    orchard.person("mine")
    orchard.person("theirs")
    mine, theirs = orchard.begun("mine"), orchard.begun("theirs")
    content = orchard.sheet(mine["nonce"], ada)
    for token in (theirs["upgradeToken"], "bru_" + "A" * 43, "brs_x", mine["id"]):
        answer = orchard.finish(mine, content, token=token)
        assert answer.status in (401, 404), (token, answer.body)
        assert orchard.second_factor(mine | {"upgradeToken": token}, "1").status in (401, 404)
    assert send(orchard, "POST", f"/api/v1/upgrades/{mine['id']}/complete", content).status == 401
    assert problem(orchard.finish(mine | {"id": "upg_" + "0" * 26}, content)) == (404, "link_unknown")
    assert orchard.finish(mine, content).status == 200
    assert orchard.password_works("theirs")


def test_an_upgrade_ends_after_ten_minutes(orchard, ada):
    orchard.person("late")
    upgrade = orchard.begun("late")
    orchard.sql("UPDATE account_link SET created_at = created_at - 600000, expires_at = expires_at - 600000 WHERE id = ?",
                upgrade["id"])
    assert problem(orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], ada))) == (410, "link_expired")
    assert orchard.password_works("late") and orchard.owner(orchard.demo.account("late")["id"]) is None


def test_limits(make_orchard):
    orchard = make_orchard({"server.limits.upgradesPerMinute": 4, "server.limits.upgradesPerAccount": 3})
    orchard.person("counted")
    # By address, whatever the name.
    statuses = [orchard.upgrade(f"name{number}", address="203.0.113.9").status for number in range(6)]
    assert statuses == [200] * 4 + [429] * 2
    # By name, from wherever, in any spelling of its bytes alike, whether there is one or not.
    for name in ("counted", "nobody"):
        answers = [orchard.upgrade(name, "a wrong password") for _ in range(5)]
        assert [answer.status for answer in answers] == [200] * 3 + [429] * 2
        assert int(answers[-1].headers["Retry-After"]) > 0
    assert len([q for q in orchard.gate.questions("verify") if q["username"] == "counted"]) == 3
    # A right password is held up too: who guesses learns nothing from it.
    assert orchard.upgrade("counted").status == 429


def test_without_a_verifier_there_are_no_upgrades(make_orchard):
    orchard = make_orchard({"upgrade.verifierURL": None, "upgrade.secretFile": None})
    assert problem(orchard.upgrade("anybody")) == (404, "upgrades_not_configured")
    assert send(orchard, "GET", "/upgrade").status == 404
    assert problem(orchard.post_link({"externalID": "1", "kind": "upgrade", "displayName": "x",
                                      "returnTo": f"{orchard.demo.origin}/connected"})) == (409, "upgrades_not_configured")
    orchard.person("linked")
    assert orchard.tie(orchard.demo.account("linked")["id"]).status == 200


# The extension of docs/examples/ios/Upgrade

def given(orchard, nonce: str, person: str) -> dict:
    return sheet(orchard, person, nonce)


def test_the_extension_in_one_tap(orchard, ada, make_device):
    orchard.person("tapped")
    device = make_device(orchard.origin)
    nonce = device.sheet("convert", "tapped", PASSWORD)
    assert device.gives(given(orchard, nonce, ada)) == "done"
    session = device.session()
    assert session["user"]["name"]["given"] == "Pat"
    found = send(orchard, "GET", "/api/v1/session", token=session["token"]).json()["user"]
    assert found["externalID"] == orchard.demo.account("tapped")["id"]
    assert not orchard.password_works("tapped")


def test_the_extension_with_a_second_factor(orchard, ada, make_device):
    person = orchard.person("asked").sets_up_second_factor()
    device = make_device(orchard.origin)
    assert device.ask("convert", "asked", PASSWORD) == "ended userInteractionRequired"
    device.say("prepare", "asked", PASSWORD)
    assert device.ask("form").startswith("form Enter")
    device.say("code", "000000")
    assert device.ask("form").startswith("form This code is wrong")
    nonce = device.sheet("code", person.code())
    assert device.gives(given(orchard, nonce, ada)) == "done"
    assert not orchard.password_works("asked")


def test_the_extension_failed_and_cancelled(orchard, ada, make_device):
    orchard.person("unlucky").sets_up_second_factor()
    device = make_device(orchard.origin)
    assert device.ask("convert", "unlucky", "a wrong password") == "ended failed"
    assert device.ask("convert", "nobody", PASSWORD) == "ended failed"
    device.say("prepare", "unlucky", PASSWORD)
    device.ask("form")
    assert device.ask("cancel") == "ended userCanceled"
    orchard.gate.always("verify", ("close",))
    assert device.ask("convert", "unlucky", PASSWORD) == "ended failed"
    orchard.gate.heal()
    orchard.person("closes")
    device.sheet("convert", "closes", PASSWORD)
    assert device.gives("closed") == "ended userCanceled"
    # Somebody who has another account already.
    orchard.person("other")
    assert orchard.tie(orchard.demo.account("other")["id"], ada).status == 200
    nonce = device.sheet("convert", "closes", PASSWORD)
    assert device.gives(given(orchard, nonce, ada)) == "ended failed"
    assert device.session() is None
    assert orchard.password_works("unlucky") and orchard.password_works("closes")


def test_the_extension_goes_on_after_a_conversion_that_was_not_answered(orchard, ada, make_device):
    orchard.person("slow")
    device = make_device(orchard.origin)
    orchard.gate.once("convert", ("close",))
    nonce = device.sheet("convert", "slow", PASSWORD)
    assert device.gives(given(orchard, nonce, ada)) == "done"
    assert not orchard.password_works("slow")
    assert device.session()["token"].startswith("brs_")


def test_another_apps_token_upgrades_nothing(orchard, ada):
    orchard.person("foreign")
    upgrade = orchard.begun("foreign")
    orchard.apple.call("POST", "clients", {"id": "com.example.stranger", "team": "TEAM123456", "redirectURIs": []})
    assert problem(orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], ada, app="com.example.stranger"))) == (
        400, "identity_token")
    assert orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], ada, app=APP)).status == 200
