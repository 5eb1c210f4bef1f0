"""The second Apple in each of its roles at the token, revocation and migration endpoints; and that it checks who asks."""

import json
import time
from functools import partial

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from apple import CUT, HANG, ISSUER, Apple, Client
from patience import eventually
from site_of_apple import APP, KEY_ID, MAJA, NILS, TEAM, WEB, credentials, refusal, team_key
from test_transfer import NEW, changes_hands
from web import call

PAGE = (200, "text/html", b"<html>Please try again later.</html>")


@pytest.fixture
def apple():
    private, public = team_key()
    apple = Apple({WEB: Client(WEB, TEAM, "https://example.org/apple/callback"), "theirs": Client("theirs", "OTHERTEAM1")},
                  {TEAM: {KEY_ID: public}, "OTHERTEAM1": {"OTHERKEY01": team_key()[1]}})
    apple.private = ECKey.import_key(private)
    yield apple
    apple.close()


def secret(apple, header: dict | None = None, key=None, **claims) -> str:
    now = int(time.time())
    claims = {"iss": TEAM, "sub": WEB, "aud": ISSUER, "iat": now, "exp": now + 300} | claims
    return jwt.encode({"alg": "ES256", "kid": KEY_ID} | (header or {}),
                      {name: value for name, value in claims.items() if value is not None}, key or apple.private,
                      algorithms=["ES256", "ES384", "HS256"])


def ask(apple, path: str, **form: str) -> tuple[int, dict]:
    answer = call(apple.server.port, "POST", path, {"User-Agent": "test"}, form=form)
    return answer.status, answer.json() if answer.body else {}


FORGED = {
    "another's key": lambda apple: secret(apple, key=ECKey.generate_key("P-256")),
    "an unknown key ID": lambda apple: secret(apple, {"kid": "OTHERKEY01"}),
    "no key ID": lambda apple: secret(apple, {"kid": ""}),
    "a shared secret": lambda apple: secret(apple, {"alg": "HS256"}, OctKey.generate_key(256)),
    "another curve": lambda apple: secret(apple, {"alg": "ES384"}, ECKey.generate_key("P-384")),
    "cut": lambda apple: secret(apple)[:-4],
    "no signature": lambda apple: secret(apple).rpartition(".")[0] + ".",
    "nothing": lambda apple: "",
    "ended": lambda apple: secret(apple, exp=int(time.time()) - 10),
    "too long": lambda apple: secret(apple, exp=int(time.time()) + 15_777_100),
    "from tomorrow": lambda apple: secret(apple, iat=int(time.time()) + 86_400, exp=int(time.time()) + 90_000),
    "no end": lambda apple: secret(apple, exp=None),
    "another team": lambda apple: secret(apple, iss="OTHERTEAM1"),
    "another client": lambda apple: secret(apple, sub=APP),
    "another audience": lambda apple: secret(apple, aud="https://account.apple.com"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_the_second_apple_refuses_forged_client_secrets(apple, forged):
    text = FORGED[forged](apple)
    code, _, _ = apple.allows(NILS, apple.clients[WEB], None, True)
    redeem = {"grant_type": "authorization_code", "code": code, "redirect_uri": apple.clients[WEB].redirect_uri}
    revoke = {"token": "r", "token_type_hint": "refresh_token"}
    for path, form in (
            ("token", redeem), ("revoke", revoke), ("usermigrationinfo", {"sub": "s", "target": NEW}),
            ("token", {"grant_type": "client_credentials", "scope": "user.migration"})):
        refused = ask(apple, f"/auth/{path}", client_secret=text, client_id=WEB, **form)
        assert refused == (400, {"error": "invalid_client"}), path
    assert (NILS.id, TEAM) in apple.consents
    # The good one is taken, with the very code that was refused before, and by no other client.
    by = partial(ask, apple, client_secret=secret(apple))
    assert by("/auth/token", client_id="theirs", **redeem)[1]["error"] == "invalid_client"
    status, tokens = by("/auth/token", client_id=WEB, **redeem)
    assert status == 200 and tokens["refresh_token"] in apple.refresh_tokens
    assert by("/auth/revoke", client_id=WEB, **revoke | {"token": tokens["refresh_token"]}) == (200, {})
    assert (NILS.id, TEAM) not in apple.consents


@pytest.mark.parametrize("answer", [
    refusal("invalid_grant", "The code has expired or has been revoked."), refusal("invalid_client"),
    refusal("invalid_grant", f"client_id mismatch. The code was not issued to {WEB}."),
    refusal("invalid_grant", "redirect_uri mismatch. The code was not issued to it."), refusal("invalid_request"),
    (429, "", b""), (503, *PAGE[1:]), PAGE, (400, *PAGE[1:]),
    (200, "application/json", b"{}"), CUT,
], ids=["grant", "client", "client_id", "redirect_uri", "request", "429", "503", "page", "page of 400", "empty", "cut"])
def test_a_code_without_a_token_signs_nobody_in_and_the_name_is_kept(site, answer):
    site.apple.instead["/auth/token"] = [answer]
    refused = site.posts(*site.goes_to_apple(NILS))
    assert refused.status in (400, 503), refused.text
    assert "__Host-bramley=" not in str(refused.headers)
    assert site.operator.database("SELECT (SELECT count(*) FROM user), (SELECT count(*) FROM session)") == [(0, 0)]
    # Apple says it no more.
    assert site.session(site.signs_in(NILS))["user"]["name"] == {"given": "Nils", "family": "Ångström"}


def test_token_checks_and_revocations_time_out(site):
    nils, maja = site.signs_in(NILS), site.signs_in(MAJA)
    site.apple.instead["/auth/revoke"] = [HANG]
    site.deletes_account(maja)
    eventually(lambda: site.asked("/auth/revoke"), "the revocation")
    site.apple.instead["/auth/token"] = [HANG]
    # What is in flight when the process is stopped is waited for, and no longer than a request may take.
    site.a_day_passes()
    assert credentials(site) == [("authorized", "sign_in", 1)]
    assert site.session(nils) is not None
    assert (MAJA.id, TEAM) in site.apple.consents
    site.operator.bramley("credentials", "revocations", "--retry")
    eventually(lambda: (MAJA.id, TEAM) not in site.apple.consents, "the end of the consent", site.server.text)
    assert (NILS.id, TEAM) in site.apple.consents


def sign_in_both(site) -> dict[str, str]:
    return {account.id: site.session(site.signs_in(account))["user"]["id"] for account in (NILS, MAJA)}


@pytest.mark.parametrize("path, answer", [
    ("/auth/token", refusal("invalid_client")), ("/auth/token", PAGE),
    ("/auth/usermigrationinfo", refusal("invalid_client")), ("/auth/usermigrationinfo", (401, "", b"")),
    ("/auth/usermigrationinfo", (429, "", b"")), ("/auth/usermigrationinfo", PAGE), ("/auth/usermigrationinfo", CUT),
    ("/auth/usermigrationinfo", HANG),
], ids=["token: client", "token: page", "client", "401", "429", "page", "cut", "hang"])
def test_an_unanswered_migration_request_is_repeated(site, path, answer):
    users = sign_in_both(site)

    def until_done(*command: str) -> None:
        # Whether it gives up at once or tries again is its own choice; nobody is lost by either.
        site.apple.instead[path] = [answer]
        if site.operator.run(*command).returncode != 0:
            site.operator.bramley(*command)
        assert site.apple.instead[path] == []

    until_done("transfer", "export", "--to", NEW)
    changes_hands(site)
    until_done("transfer", "import")
    assert site.operator.database("SELECT count(*) FROM user") == [(2,)]
    for account in (NILS, MAJA):
        assert site.session(site.signs_in(account))["user"]["id"] == users[account.id]


def test_people_apple_refuses_to_migrate_are_listed(site):
    users = sign_in_both(site)
    site.apple.instead["/auth/usermigrationinfo"] = [refusal("invalid_request")]
    site.operator.run("transfer", "export", "--to", NEW)
    changes_hands(site)
    site.operator.bramley("transfer", "import")
    unmoved = site.operator.json("transfer", "status", "--unmoved")
    assert sum(user in json.dumps(unmoved) for user in users.values()) == 1
    assert len(site.apple.transfers) == 1
