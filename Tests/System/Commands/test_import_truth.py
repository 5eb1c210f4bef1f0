"""What `bramley users import --from` takes from an export is what the export says: nobody comes in who was shut out, and
nobody is lost without a word."""

import json

import pytest

from elsewhere import AGENTS, Elsewhere


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site({"access.signUp": "closed"})


@pytest.fixture
def take(site, tmp_path):
    def run(product: str, text: str) :
        return site.operator.run("users", "import", "-", "--from", product, input=text, cwd=tmp_path)
    return run


def lines(*rows: dict) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def subject(site, person: str) -> str:
    return next(one["teams"][0]["sub"] for one in site.apple.call("GET", "state")["people"] if one["id"] == person)


def state(site, subject: str) -> str:
    found = site.operator.database(
        f"SELECT u.state FROM user u JOIN apple_identity i ON i.user = u.id WHERE i.subject = '{subject}'")
    return found[0][0]


SHUT_OUT = {
    "firebase": ("ada", lambda sub: {"localId": "f", "disabled": True, "providerUserInfo": [
        {"providerId": "apple.com", "rawId": sub}]}),
    "keycloak": ("boris", lambda sub: {"id": "k", "enabled": False, "federatedIdentities": [
        {"identityProvider": "apple", "userId": sub}]}),
    "auth0": ("chie", lambda sub: {"user_id": f"apple|{sub}", "blocked": True, "identities": [
        {"provider": "apple", "user_id": sub}]}),
}


@pytest.mark.parametrize("product", SHUT_OUT)
def test_an_import_lets_nobody_in_who_was_disabled(site, take, product):
    person, row = SHUT_OUT[product]
    sub = subject(site, person)
    done = take(product, lines(row(sub)))
    assert done.returncode == 0, done.stderr
    assert state(site, sub) == "disabled"
    with pytest.raises(AssertionError):
        Elsewhere(site, person, AGENTS["Firefox on Windows"])


def address(site, subject: str) -> tuple:
    """With whether it is verified."""
    return site.operator.database(
        "SELECT u.email, u.email_verified FROM user u JOIN apple_identity i ON i.user = u.id WHERE i.subject = ?",
        subject)[0]


@pytest.mark.parametrize("time", ["0000-00-00 00:00:00", "1970-01-01T00:00:00.000Z", "1970-01-01", 0, -1, "Invalid Date"])
def test_an_invalid_verification_time_verifies_no_address(site, take, time):
    """Regression: MySQL's zero date and JavaScript's first moment made an address a verified one."""
    sub = f"none-{time}".replace(" ", "-")
    done = take("next-auth", lines({"provider": "apple", "providerAccountId": sub, "userId": sub, "emailVerified": time,
                                    "email": "n@example.com"}))
    assert done.returncode == 0 and address(site, sub) == ("n@example.com", 0), done.stderr


def test_the_address_of_an_account_that_apple_did_not_make_is_not_taken(site, take):
    """Regression: Auth0's top-level address was taken where the list named Apple's identity alone."""
    done = take("auth0", lines({"user_id": "google-oauth2|7", "email": "boss@example.com", "email_verified": True,
                                "identities": [{"provider": "apple", "user_id": "made-by-google"}]}))
    assert done.returncode == 0 and address(site, "made-by-google") == (None, 0), done.stderr


NOBODY = {
    "an old firebase-tools": ("firebase", lines({"localId": "a", "providerUserInfo": []}), "firebase-tools"),
    "a whole file": ("firebase", lines({"users": [{"localId": "a"}]}), "jq -c '.users[]'"),
    "a whole file on many lines": ("keycloak", json.dumps({"realm": "r", "users": []}, indent=1), "jq -c '.users[]'"),
    "another product": ("firebase", lines({"provider": "apple", "providerAccountId": "1", "userId": "u"}), "next-auth"),
    "better-auth": ("next-auth", lines({"providerId": "apple", "accountId": "1", "userId": "u"}), "Account"),
}


@pytest.mark.parametrize("case", NOBODY)
def test_an_import_without_people_says_what_to_check(take, case):
    product, text, says = NOBODY[case]
    done = take(product, text)
    assert done.returncode == 65, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("warning: ") and says in last


def test_a_second_apple_identity_is_named(site, take):
    done = take("auth0", lines({"user_id": "auth0|1", "identities": [
        {"provider": "apple", "user_id": "first"}, {"provider": "apple", "user_id": "second"}]}))
    assert done.returncode == 1
    assert "line 1: " in done.stderr and "second" in done.stderr
    assert state(site, "first") == "active"
