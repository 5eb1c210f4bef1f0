"""`bramley users import --from`: whole exports of other products, through the commands of docs/operate/import.md."""

import json
import re
import subprocess

import pytest

from elsewhere import AGENTS, Elsewhere
from processes import output
from programs import ROOT

PAGE = ROOT / "docs/operate/import.md"
COMMANDS = {found[2]: found[1] for found in re.finditer(r"^(.+ --from ([a-z0-9-]+))$", PAGE.read_text(), re.MULTILINE)}
PEOPLE = ("ada", "boris")


def auth0(people: dict[str, str]) -> str:
    return "".join(json.dumps({
        "user_id": f"apple|{subject}", "email": f"{who}@example.com", "email_verified": True, "given_name": who.title(),
        "identities": [{"connection": "apple", "provider": "apple", "user_id": subject, "isSocial": True}],
    }) + "\n" for who, subject in people.items()) + json.dumps({
        "user_id": "google-oauth2|1", "email": "else@example.com", "identities": [{"provider": "google-oauth2", "user_id": "1"}]})


def firebase(people: dict[str, str]) -> str:
    return json.dumps({"users": [{
        "localId": f"uid-{who}", "email": f"{who}@example.com", "emailVerified": True, "displayName": who.title(),
        "createdAt": "1700000000000", "providerUserInfo": [{"providerId": "apple.com", "rawId": subject}],
    } for who, subject in people.items()] + [{"localId": "uid-else", "providerUserInfo": []}]}, indent=2)


def keycloak(people: dict[str, str]) -> str:
    return json.dumps({"realm": "shop", "roles": {"realm": [{"name": "users"}]}, "users": [{
        "id": f"id-{who}", "username": who, "email": f"{who}@example.com", "emailVerified": True, "firstName": who.title(),
        "federatedIdentities": [{"identityProvider": "apple", "userId": subject, "userName": who}],
    } for who, subject in people.items()] + [{"id": "id-else", "username": "else"}]}, indent=2)


def supabase(people: dict[str, str]) -> str:
    return "\n".join(json.dumps(row) for row in [{
        "provider_id": subject, "user_id": f"uuid-{who}", "provider": "apple", "identity_data": {
            "sub": subject, "email": f"{who}@example.com", "email_verified": True, "full_name": who.title(),
            "custom_claims": {"is_private_email": False}},
    } for who, subject in people.items()] + [{"provider": "email", "provider_id": "x", "user_id": "uuid-else"}])


def next_auth(people: dict[str, str]) -> str:
    return "\n".join(json.dumps(row) for row in [{
        "provider": "apple", "providerAccountId": subject, "userId": f"cl-{who}", "name": who.title(),
        "email": f"{who}@example.com", "emailVerified": "2024-01-01T00:00:00",
    } for who, subject in people.items()] + [{"provider": "github", "providerAccountId": "1", "userId": "cl-else"}])


def subject(site, who: str) -> str:
    return next(one["teams"][0]["sub"] for one in site.apple.call("GET", "state")["people"] if one["id"] == who)


# How each writes a person's old id, and its export.
PRODUCTS = {
    "auth0": (None, auth0), "firebase": ("uid-", firebase), "keycloak": ("id-", keycloak), "supabase": ("uuid-", supabase),
    "next-auth": ("cl-", next_auth)}


@pytest.mark.parametrize("product", PRODUCTS)
def test_everyone_is_imported_once(make_site, binaries, product):
    prefix, export = PRODUCTS[product]
    site = make_site({"access.signUp": "closed"})
    subjects = {who: subject(site, who) for who in PEOPLE}
    command = COMMANDS[product]
    if "psql" in command:
        # What the database answers.
        (site.folder / "rows").write_text(export(subjects))
        command = "cat rows | " + command.partition(" | ")[2]
    else:
        (site.folder / re.search(r"\b(users|realm)\.json", command)[0]).write_text(export(subjects))

    def run(options: str) -> dict:
        line = command.replace("bramley", f"{binaries}/bramley").replace("--from", f"--json {options} --from")
        return json.loads(output("bash", "-euo", "pipefail", "-c", line, cwd=site.folder))

    def report(imported: int, unchanged: int, rehearsed: bool = False) -> dict:
        return {"lines": 3, "imported": imported, "updated": 0, "unchanged": unchanged, "refused": 0,
                "withoutApple": 1, "dryRun": rehearsed, "complete": True}

    assert run("--dry-run") == report(2, 0, True)
    assert site.operator.database("SELECT count(*) FROM user") == [(0,)]
    assert run("") == report(2, 0)
    assert run("") == report(0, 2)
    # Nobody else may sign up, and they are who they were.
    ada = Elsewhere(site, "ada", AGENTS["Firefox on Windows"]).session()["user"]
    assert ada["externalID"] == (f"{prefix}ada" if prefix else f"apple|{subjects['ada']}")
    assert site.operator.database("SELECT count(*) FROM user") == [(2,)]


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site({"access.signUp": "closed"})


def take(site, product: str, line: dict) -> subprocess.CompletedProcess:
    return site.operator.run("users", "import", "-", "--from", product, input=json.dumps(line) + "\n")


def state(site, sub: str) -> str:
    return site.operator.database(
        "SELECT u.state FROM user u JOIN apple_identity i ON i.user = u.id WHERE i.subject = ?", sub)[0][0]


def test_an_import_keeps_disabled_people_disabled(site):
    sub = subject(site, "ada")
    done = take(site, "firebase", {"localId": "f", "disabled": True, "providerUserInfo": [
        {"providerId": "apple.com", "rawId": sub}]})
    assert done.returncode == 0, done.stderr
    assert state(site, sub) == "disabled"
    with pytest.raises(AssertionError):
        Elsewhere(site, "ada", AGENTS["Firefox on Windows"])


def test_an_import_without_people_says_what_to_check(site):
    done = take(site, "firebase", {"localId": "a", "providerUserInfo": []})
    assert done.returncode == 65, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("warning: ") and "firebase-tools" in last


def test_a_second_apple_identity_is_named(site):
    done = take(site, "auth0", {"user_id": "auth0|1", "identities": [
        {"provider": "apple", "user_id": "first"}, {"provider": "apple", "user_id": "second"}]})
    assert done.returncode == 1
    assert "line 1: " in done.stderr and "second" in done.stderr
    assert state(site, "first") == "active"
