"""What `bramley users import --from` takes from an export is what the export says: nobody comes in who was shut out, and
nobody is lost without a word."""

import json
import subprocess

import pytest

from elsewhere import AGENTS, Elsewhere
from programs import Site


@pytest.fixture(scope="module")
def site(binaries, tmp_path_factory):
    site = Site(binaries, tmp_path_factory.mktemp("site"), {"access.signUp": "closed"})
    site.start()
    yield site
    site.end()


@pytest.fixture
def take(binaries, site, tmp_path):
    def run(product: str, text: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [binaries / "bramley", "users", "import", "-", "--from", product, "--config", site.folder / "config.json"],
            input=text, capture_output=True, text=True, cwd=tmp_path)
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
def test_whoever_was_shut_out_stays_out(site, take, product):
    person, row = SHUT_OUT[product]
    sub = subject(site, person)
    done = take(product, lines(row(sub)))
    assert done.returncode == 0, done.stderr
    assert state(site, sub) == "disabled"
    with pytest.raises(AssertionError):
        Elsewhere(site, person, AGENTS["Firefox on Windows"])


NOBODY = {
    "an old firebase-tools": ("firebase", lines({"localId": "a", "providerUserInfo": []}), "firebase-tools"),
    "a whole file": ("firebase", lines({"users": [{"localId": "a"}]}), "jq -c '.users[]'"),
    "a whole file on many lines": ("keycloak", json.dumps({"realm": "r", "users": []}, indent=1), "jq -c '.users[]'"),
    "another product": ("firebase", lines({"provider": "apple", "providerAccountId": "1", "userId": "u"}), "next-auth"),
    "better-auth": ("next-auth", lines({"providerId": "apple", "accountId": "1", "userId": "u"}), "Account"),
}


@pytest.mark.parametrize("case", NOBODY)
def test_an_import_of_nobody_says_what_to_check(take, case):
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
