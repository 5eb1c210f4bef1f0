"""Replacing a password, end to end: the extension of the documentation, the application of the documentation, Bramley."""

import pytest
from jsonschema import Draft202012Validator

from app import send, sheet
from closed import closed
from demo import PASSWORD
from patience import at_once


@pytest.fixture
def device(orchard, make_device):
    return make_device(orchard.demo.origin, orchard.origin)


def test_success_in_one_tap(orchard, ada, device):
    person = orchard.person("smooth")
    account = orchard.demo.account("smooth")["id"]
    nonce = device.sheet("convert", "smooth", PASSWORD)
    assert orchard.password_works("smooth")
    assert device.gives(sheet(orchard, ada, nonce)) == "done"
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
    assert device.gives(sheet(orchard, ada, device.sheet("code", person.code()))) == "done"
    assert not orchard.password_works("asked")


def test_twenty_concurrent_identical_requests_count_once(orchard, ada):
    orchard.person("hasty")
    upgrade = orchard.begun("hasty")
    content = orchard.sheet(upgrade["nonce"], ada)
    codes = set(at_once(20, lambda _: orchard.proven(upgrade, content=content)))
    assert len(codes) == 1
    assert set(at_once(20, lambda _: orchard.demo.complete(upgrade, *codes).status)) == {200}
    assert orchard.events(orchard.owner(orchard.demo.account("hasty")["id"])).count("account.upgraded") == 1


def test_answers_are_as_described(orchard, ada):
    document = closed()

    def holds(answer, path: str) -> None:
        content = document["paths"][path]["post"]["responses"][str(answer.status)]["content"]["application/json"]
        Draft202012Validator(content["schema"] | {"components": document["components"]}).validate(answer.json())

    link = orchard.begin("described", "upgrade")
    code = orchard.authorize(link, ada)
    holds(code, "/api/v1/links/{id}/authorize")
    holds(orchard.complete(link, code.json()["code"]), "/api/v1/links/{id}/complete")


def test_password_managers_are_redirected_only_if_configured(orchard):
    assert send(orchard, "GET", "/.well-known/change-password").status == 404


@pytest.mark.parametrize("path", ["/upgrade", "/api/v1/upgrades", "/api/v1/upgrades/upg_0/complete", "/upgrade/second-factor"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_bramley_has_no_route_that_takes_a_password(orchard, path, method):
    answer = send(orchard, method, path, {"username": "a", "password": PASSWORD} if method == "POST" else None)
    assert answer.status == 404
