"""Setting up a second factor at docs/examples/accounts, and what goes on meanwhile."""

import re

import pyotp
import pytest

from demo import Person


@pytest.fixture
def demo(quick_demo):
    return quick_demo


def begins(person: Person) -> str:
    """The secret that the page shows."""
    return re.search(r'id="secret">([A-Z2-7]+)<', person.post("/account/second-factor").text)[1]


def confirms(person: Person, secret: str):
    return person.post("/account/second-factor/confirm", {"code": pyotp.TOTP(secret).now()})


def test_attack_another_session_sets_up_its_own(demo):
    """Somebody who knows the password began as well: the owner's second factor stays, and they are out."""
    owner, thief = Person(demo, "owner").signs_up(), Person(demo, "owner")
    thief.signs_in()
    secrets = begins(owner), begins(thief)
    assert confirms(owner, secrets[0]).location == "/account?done=second-factor"
    assert confirms(thief, secrets[1]).location == "/account" and not thief.is_in()
    assert demo.account("owner")["totp"] == secrets[0] and owner.is_in()
    # Nor is there a way back in without the code.
    assert thief.signs_in().status == 200 and not thief.is_in()


def test_confirmed_twice_says_what_is(demo):
    person = Person(demo, "twice").signs_up()
    secret = begins(person)
    assert confirms(person, secret).location == "/account?done=second-factor"
    answer = confirms(person, secret)
    assert answer.status == 409 and "has a second factor" in answer.text
    assert demo.account("twice")["totp"] == secret


def test_begun_again_the_older_secret_is_of_no_use(demo):
    person = Person(demo, "again").signs_up()
    old, new = begins(person), begins(person)
    wrong = confirms(person, old)
    assert wrong.status == 400 and new in wrong.text and demo.account("again")["totp"] is None
    assert confirms(person, new).location == "/account?done=second-factor"


def test_an_account_whose_password_went_gets_none_and_the_page_says_so(demo):
    """The session that had the password replaced stays, and began with a second factor before."""
    person = Person(demo, "replaced").signs_up()
    secret = begins(person)
    place = person.post("/account/connect", {"kind": "upgrade"}).location
    assert person.get(f"/connected?link={place.rpartition('/')[2]}&code=c1").location == "/account?done=upgrade"
    answer = confirms(person, secret)
    assert answer.status == 409 and "no password any more" in answer.text
    assert demo.account("replaced")["totp"] is None and person.is_in()


def test_confirming_what_was_never_begun(demo):
    person = Person(demo, "never").signs_up()
    assert person.post("/account/second-factor/confirm", {"code": "000000"}).location == "/account"
    assert demo.account("never")["totp"] is None
