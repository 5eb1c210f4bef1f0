"""The account of docs/examples/ios on a phone that a script plays, against the real server."""

import json

import pytest

from app import exchanges, hashed, sheet
from device import Device
from patience import PATIENCE
from web import call, part_of


@pytest.fixture
def site(make_app_site):
    return make_app_site({"assertion.audience": "https://api.example.com"})


@pytest.fixture
def phone(phone_program, site, tmp_path):
    """A phone whose app may be ended and started again; its keychain stays."""
    phones = []

    def start() -> Device:
        phones.append(Device(phone_program, site.origin, KEYCHAIN=str(tmp_path / "keychain")))
        return phones[-1]

    phone = start()
    phone.again = start
    yield phone
    for phone in phones:
        phone.end()


def sign_in(phone, site) -> str:
    """Taps the button and consents; what the app shows then."""
    return phone.gives(sheet(site, "ada", phone.sheet("sign-in")))


def count(site, table: str) -> int:
    return site.operator.database(f"SELECT count(*) FROM {table}")[0][0]


def test_who_signed_in_stays_so_when_the_app_is_started_again(phone, site):
    assert phone.ask("start") == "signed out"
    person = sign_in(phone, site)
    assert person.startswith("usr_") and person.endswith(" Ada")
    phone = phone.again()
    assert phone.ask("start") == person
    assert phone.ask("sign-out") == "signed out" and count(site, "session") == 0
    assert phone.ask("start") == "signed out"


def test_a_sign_in_without_an_answer_is_finished_at_the_next_launch(phone, site):
    given = sheet(site, "ada", phone.sheet("sign-in"))
    site.kill()
    assert phone.gives(given) == "error"
    site.start()
    # The name, which Apple gave once, is there.
    assert phone.again().ask("start").endswith(" Ada")
    assert exchanges(site) == 1


def test_an_account_of_the_application_is_connected(phone, site):
    backend = {"token": site.operator.key("links")}
    content = {"externalID": "42", "kind": "link", "displayName": "ada"}
    link = call(site, "POST", "/api/v1/links", body=content, **backend).must(201).json()
    nonce = phone.sheet("link", json.dumps(link))
    assert nonce == hashed(link["nonce"])
    code = phone.gives(sheet(site, "ada", nonce))
    assert phone.lines.get(timeout=PATIENCE) == "signed out"
    done = call(site, "POST", f"/api/v1/links/{link['id']}/complete", body={"code": code}, **backend).must(200)
    assert done.json()["user"]["externalID"] == "42"


def test_a_refused_sign_in_is_not_repeated(phone, site):
    sign_in(phone, site)
    phone.ask("sign-out")
    site.operator.database("UPDATE user SET state = 'disabled'")
    assert sign_in(phone, site) == "refused: disabled"
    asked = exchanges(site)
    assert phone.again().ask("start") == "signed out" and exchanges(site) == asked


@pytest.mark.parametrize("state, stays", [
    ("authorized", True), ("transferred", True), ("unknown", True), ("revoked", False), ("notFound", False)])
def test_apples_word_at_launch_decides(phone, site, state, stays):
    person = sign_in(phone, site)
    assert phone.ask("state", state) == (person if stays else "signed out")
    assert count(site, "session") == stays


def test_a_session_that_ended_at_the_server_is_over_here(phone, site):
    person = sign_in(phone, site)
    assert part_of(phone.ask("assertion"))["sub"] == person.split()[0] and phone.lines.get() == person
    site.apple.notify("consent-revoked", "ada")
    assert (phone.ask("assertion"), phone.lines.get()) == ("nobody", "signed out")
    assert phone.ask("start") == "signed out"


def test_without_a_connection_the_person_stays(phone, site):
    person = sign_in(phone, site)
    site.kill()
    assert phone.again().ask("start") == person


def test_what_the_device_has_is_offered_before_a_new_account(phone, site):
    asked, *more = phone.sheet("existing").split()
    assert more == ["password", "local"]
    assert phone.gives(sheet(site, "ada", asked)).endswith(" Ada")
    phone.ask("sign-out")
    phone.sheet("existing")
    assert phone.gives("hunter2") == "password of ada: hunter2"
    assert phone.lines.get() == "signed out", "a saved password is nothing for Bramley"
    phone.sheet("existing")
    assert phone.gives("closed") == "canceled"


def test_the_account_is_deleted_after_another_look_at_the_sheet(phone, site):
    sign_in(phone, site)
    asked = phone.sheet("delete")
    assert phone.gives("closed") == "canceled" and count(site, "user") == 1
    asked = phone.sheet("delete")
    assert phone.gives(sheet(site, "ada", asked)) == "signed out"
    assert count(site, "user") == 0


def test_a_sign_up_with_a_passkey_may_lead_here(phone):
    assert (phone.ask("prefers"), phone.lines.get()) == ("false", "true")
