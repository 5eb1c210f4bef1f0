"""Setting up a second factor at docs/examples/accounts, and changes meanwhile."""

import pyotp

from demo import Person


def confirms(person: Person, secret: str):
    return person.post("/account/second-factor/confirm", {"code": pyotp.TOTP(secret).now()})


def test_attack_another_session_sets_up_its_own(demo):
    owner, thief = Person(demo, "owner").signs_up(), Person(demo, "owner")
    thief.signs_in()
    secrets = owner.begins_second_factor(), thief.begins_second_factor()
    assert confirms(owner, secrets[0]).location == "/account?done=second-factor"
    assert confirms(thief, secrets[1]).location == "/account" and not thief.is_in()
    assert demo.account("owner")["totp"] == secrets[0] and owner.is_in()
    # Nor is there a way back in without the code.
    assert thief.signs_in().status == 200 and not thief.is_in()


def test_confirming_twice_says_that_there_is_a_second_factor(demo):
    person = Person(demo, "twice").signs_up()
    secret = person.begins_second_factor()
    assert confirms(person, secret).location == "/account?done=second-factor"
    assert "has a second factor" in confirms(person, secret).must(409).text
    assert demo.account("twice")["totp"] == secret


def test_after_a_restart_of_the_setup_the_older_secret_is_refused(demo):
    person = Person(demo, "again").signs_up()
    old, new = person.begins_second_factor(), person.begins_second_factor()
    assert new in confirms(person, old).must(400).text and demo.account("again")["totp"] is None
    assert confirms(person, new).location == "/account?done=second-factor"


def test_an_account_without_a_password_gets_no_second_factor_and_the_page_says_so(demo):
    person = Person(demo, "replaced").signs_up()
    secret = person.begins_second_factor()
    place = person.post("/account/connect", {"kind": "upgrade"}).location
    assert person.get(f"/connected?link={place.rpartition('/')[2]}&code=c1").location == "/account?done=upgrade"
    assert "no password any more" in confirms(person, secret).must(409).text
    assert demo.account("replaced")["totp"] is None and person.is_in()


def test_confirming_a_setup_that_was_never_begun_is_refused(demo):
    person = Person(demo, "never").signs_up()
    assert person.post("/account/second-factor/confirm", {"code": "000000"}).location == "/account"
    assert demo.account("never")["totp"] is None
