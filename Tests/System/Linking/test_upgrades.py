"""Replacing a password, end to end: the extension of the documentation, the application of the documentation, Bramley."""

import concurrent.futures

import pytest
from jsonschema import Draft202012Validator

from app import exchanges, send, sheet
from closed import closed
from demo import PASSWORD, Person
from orchard import problem
from people import somebody


@pytest.fixture
def ada(orchard):
    """A person of Apple's who is nobody else's in this file."""
    return somebody(orchard)


@pytest.fixture
def device(orchard, make_device):
    return make_device(orchard.demo.origin, orchard.origin)


def given(orchard, nonce: str, person: str) -> dict:
    return sheet(orchard, person, nonce)


# The three results of the extension

def test_success_in_one_tap(orchard, ada, device):
    person = orchard.person("smooth")
    account = orchard.demo.account("smooth")["id"]
    nonce = device.sheet("convert", "smooth", PASSWORD)
    # The password works until the end.
    assert orchard.password_works("smooth")
    assert device.gives(given(orchard, nonce, ada)) == "done"
    user = orchard.owner(account)
    kept = orchard.demo.account("smooth")
    assert (kept["password"], kept["apple"]) == (None, user)
    assert not orchard.password_works("smooth") and not person.is_in()
    # A ticket makes no session: the app signs in with Apple at its next launch.
    assert orchard.sql("SELECT count(*) FROM session WHERE user = ?", user) == [(0,)]
    assert orchard.apple_opens(account, ada)
    assert orchard.events(user).count("account.upgraded") == 1
    assert orchard.sql("SELECT given_name FROM user WHERE id = ?", user) == [("Pat",)]


def test_the_extension_asks_for_the_second_factor(orchard, ada, device):
    person = orchard.person("asked").sets_up_second_factor()
    assert device.ask("convert", "asked", PASSWORD) == "ended userInteractionRequired"
    device.say("prepare", "asked", PASSWORD)
    assert device.ask("form").startswith("form Enter")
    device.say("code", "000000")
    assert device.ask("form").startswith("form This code is wrong")
    nonce = device.sheet("code", person.code())
    assert device.gives(given(orchard, nonce, ada)) == "done"
    assert not orchard.password_works("asked")


def test_failures_and_cancellations_keep_the_password(orchard, ada, device):
    orchard.person("unlucky").sets_up_second_factor()
    assert device.ask("convert", "unlucky", "a wrong password") == "ended failed"
    assert device.ask("convert", "nobody", PASSWORD) == "ended failed"
    device.say("prepare", "unlucky", PASSWORD)
    device.ask("form")
    assert device.ask("cancel") == "ended userCanceled"
    orchard.gate.once("begin", ("close",))
    orchard.person("closes")
    assert device.ask("convert", "closes", PASSWORD) == "ended failed"
    device.sheet("convert", "closes", PASSWORD)
    assert device.gives("closed") == "ended userCanceled"
    # Somebody who has another account already.
    orchard.person("other")
    assert orchard.tie(orchard.demo.account("other")["id"], ada).status == 200
    nonce = device.sheet("convert", "closes", PASSWORD)
    assert device.gives(given(orchard, nonce, ada)) == "ended failed"
    assert orchard.password_works("unlucky") and orchard.password_works("closes")


def test_the_extension_goes_on_after_an_answer_that_was_lost(orchard, ada, device):
    orchard.person("slow")
    orchard.gate.once("complete", ("lose",), ("close",))
    nonce = device.sheet("convert", "slow", PASSWORD)
    assert device.gives(given(orchard, nonce, ada)) == "done"
    assert not orchard.password_works("slow")


def test_bramley_never_sees_the_password(orchard, ada, device):
    """Neither in what the application asks, nor in what the extension sends: only the link's ids and secrets arrive."""
    orchard.person("unseen")
    orchard.gate.asked.clear()
    nonce = device.sheet("convert", "unseen", PASSWORD)
    assert device.gives(given(orchard, nonce, ada)) == "done"
    begun, completed = orchard.gate.asked[0][1], orchard.gate.asked[1][1]
    assert set(begun) == {"externalID", "kind", "displayName", "returnTo"} and set(completed) == {"code"}
    assert PASSWORD not in orchard.server.text() and PASSWORD not in str(orchard.gate.asked)


# Its requests


def test_repeated_is_one_upgrade_and_one_code(orchard, ada):
    orchard.person("retried")
    upgrade = orchard.begun("retried")
    content, sent = orchard.sheet(upgrade["nonce"], ada), exchanges(orchard)
    code = orchard.authorize(upgrade, content=content).json()["code"]
    assert orchard.demo.complete(upgrade, code).status == 200
    orchard.restart()
    assert orchard.authorize(upgrade, content=content).json()["code"] == code
    assert orchard.demo.complete(upgrade, code).status == 200
    assert exchanges(orchard) - sent == 1
    # Another answer of Apple's is another request.
    assert orchard.authorize(upgrade, ada).status in (400, 409)


def test_twenty_identical_requests_at_once_are_one(orchard, ada):
    orchard.person("hasty")
    upgrade = orchard.begun("hasty")
    content = orchard.sheet(upgrade["nonce"], ada)
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        codes = list(pool.map(lambda _: orchard.authorize(upgrade, content=content), range(20)))
        assert {code.status for code in codes} == {200} and len({code.json()["code"] for code in codes}) == 1
        done = list(pool.map(lambda code: orchard.demo.complete(upgrade, code.json()["code"]).status, codes))
    assert set(done) == {200}
    assert orchard.events(orchard.owner(orchard.demo.account("hasty")["id"])).count("account.upgraded") == 1


def test_an_upgrade_ends_after_ten_minutes(orchard, ada):
    orchard.person("late")
    upgrade = orchard.begun("late")
    orchard.sql("UPDATE account_link SET created_at = created_at - 600000, expires_at = expires_at - 600000 WHERE id = ?",
                upgrade["id"])
    assert problem(orchard.authorize(upgrade, ada)) == (410, "link_expired")
    assert orchard.password_works("late") and orchard.owner(orchard.demo.account("late")["id"]) is None


def test_answers_are_as_described(orchard, ada):
    document = closed()

    def holds(answer, method: str, path: str) -> None:
        content = document["paths"][path][method]["responses"][str(answer.status)]["content"]["application/json"]
        schema = content["schema"] | {"components": document["components"]}
        Draft202012Validator(schema).validate(answer.json())

    link = orchard.begin("described", "upgrade")
    code = orchard.authorize(link, ada)
    holds(code, "post", "/api/v1/links/{id}/authorize")
    holds(orchard.complete(link, code.json()["code"]), "post", "/api/v1/links/{id}/complete")


def test_the_event_names_the_link(orchard, ada):
    """By which the application drops a password once, however often the event arrives."""
    orchard.person("named")
    upgrade = orchard.begun("named")
    assert orchard.demo.complete(upgrade, orchard.proven(upgrade, ada)).status == 200
    events = send(orchard, "GET", f"/api/v1/events?user={orchard.owner(orchard.demo.account('named')['id'])}", token=orchard.key("events:read")).json()["items"]
    assert [event["data"]["link"] for event in events if event["type"] == "account.upgraded"][-1] == upgrade["id"]


def test_undone_by_taking_the_external_id_away(orchard, ada):
    """The application changes its mind: from then on Apple does not open the account, and no password is dropped."""
    orchard.person("undone")
    upgrade = orchard.begun("undone")
    external = orchard.demo.account("undone")["id"]
    code = orchard.proven(upgrade, ada)
    orchard.gate.once("complete", ("lose",), ("close",), ("close",), ("close",))
    assert orchard.demo.complete(upgrade, code).status == 503
    user = orchard.owner(external)
    assert send(orchard, "PATCH", f"/api/v1/users/{user}", {"externalID": None}, token=orchard.key("users:write")).status == 204
    orchard.gate.heal()
    assert orchard.demo.complete(upgrade, code).status == 409
    assert orchard.password_works("undone") and orchard.owner(external) is None
    # And it can be begun again.
    assert orchard.replaces("undone", ada).status == 200


def test_password_managers_are_led_to_where_the_password_is_changed(make_orchard):
    orchard = make_orchard({"login.changePasswordURL": "https://www.example.com/password?from=bramley"})
    answer = send(orchard, "GET", "/.well-known/change-password")
    assert (answer.status, answer.headers["Location"]) == (303, "https://www.example.com/password?from=bramley")


def test_password_managers_are_not_led_there_unless_configured(orchard):
    assert send(orchard, "GET", "/.well-known/change-password").status == 404


@pytest.mark.parametrize("path", ["/upgrade", "/api/v1/upgrades", "/api/v1/upgrades/upg_0/complete", "/upgrade/second-factor"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_bramley_has_no_route_that_takes_a_password(orchard, path, method):
    answer = send(orchard, method, path, {"username": "a", "password": PASSWORD} if method == "POST" else None)
    assert answer.status == 404
    assert Person(orchard.demo, "nobody").get("/account").location == "/sign-in"
