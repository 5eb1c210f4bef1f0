"""Sign-in, deletion and each role of Apple, held against an Apple that shares nothing with the simulated one."""

import json
import time
from functools import partial

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from apple import CUT, HANG, ISSUER, Apple, Client
from patience import eventually
from site_of_apple import APP, KEY_ID, MAJA, NILS, TEAM, WEB, credentials, refusal, team_key
from test_apps import NEW, changes_hands
from web import call


def user(site, cookie: str) -> dict:
    found = site.session(cookie)
    assert found is not None, site.server.text()
    return found["user"]


def test_a_sign_in_stores_apples_claims_and_redeems_the_code_once(site):
    found = user(site, site.signs_in(NILS))
    assert found["appleSubject"] == site.apple.subject(NILS, TEAM)
    assert found["name"] == {"given": "Nils", "family": "Ångström"}
    assert (found["email"], found["emailVerified"], found["isPrivateEmail"]) == ("nils@example.org", True, False)
    assert found["credentialState"] == "authorized"
    forms = site.asked("/auth/token")
    assert [form["grant_type"] for form in forms] == ["authorization_code"]
    assert forms[0]["redirect_uri"] == f"{site.origin}/apple/callback"


def test_boolean_claims_may_be_strings_and_the_name_comes_once(site):
    first = user(site, site.signs_in(MAJA))
    assert first["email"] == site.apple.relay(MAJA, TEAM) and first["isPrivateEmail"] is True
    # Apple says the name no more.
    second = user(site, site.signs_in(MAJA))
    assert second["id"] == first["id"] and second["name"] == {"given": "Maja", "family": "Ek"}


def test_a_wrong_client_key_is_refused_and_the_name_is_kept(site):
    good = site.apple.team_keys[TEAM][KEY_ID]
    site.apple.team_keys[TEAM][KEY_ID] = team_key()[1]
    refused = site.posts(*site.goes_to_apple(NILS))
    assert refused.status == 400 and "reason=client_refused" in site.server.text(), refused.text
    # A signature that does not fit is what this test is about; Apple complains of it, once.
    assert len(site.apple.complaints) == 1 and "client secret" in site.apple.complaints.pop()
    site.apple.team_keys[TEAM][KEY_ID] = good
    assert user(site, site.signs_in(NILS))["name"] == {"given": "Nils", "family": "Ångström"}


def test_a_valid_refresh_token_changes_nothing(site):
    cookie = site.signs_in(NILS)
    site.a_day_passes()
    form = site.asked("/auth/token")[-1]
    assert form["grant_type"] == "refresh_token" and form["refresh_token"] in site.apple.refresh_tokens
    assert credentials(site) == [("authorized", "sign_in", 1)]
    assert site.session(cookie) is not None


def test_a_dead_token_ends_the_sessions_and_keeps_the_person(site):
    cookie, other = site.signs_in(NILS), site.signs_in(MAJA)
    known = user(site, cookie)["id"]
    site.apple.end(NILS, TEAM)
    site.a_day_passes()
    assert site.session(cookie) is None and site.session(other) is not None
    assert credentials(site) == [("revoked", "token_dead", 0), ("authorized", "sign_in", 1)]
    back = user(site, site.signs_in(NILS))
    assert back["id"] == known and back["credentialState"] == "authorized"


@pytest.mark.parametrize("answer", [
    refusal("invalid_grant", "client_id mismatch. The code was not issued to x."),
    refusal("invalid_grant", "client_id mismatch. The token was not issued to x."), refusal("invalid_client"),
    *((status, "application/json", b'{"error":"invalid_grant"}') for status in (401, 500)),
    (400, "text/html", b'{"error":"invalid_grant"}'),
    *((400, "application/json", body) for body in (
        b'{"error":"invalid_grant"', b'{"error":"Invalid_Grant"}', b'{"error":["invalid_grant"]}')),
    (200, "application/json", b'{"access_token":"a","token_type":"Bearer","expires_in":3600}'),
    (429, "", b""), (503, "text/html", b"<html>Please try again later.</html>"), CUT,
    refusal("invalid_grant", "redirect_uri mismatch. The code was not issued to it."),
    refusal("invalid_request", "client_id mismatch. The token was not issued to x."),
], ids=["mismatch", "token mismatch", "client", "401", "500", "html", "cut JSON", "case", "list", "no id_token", "429",
        "503", "cut", "redirect_uri", "request"])
def test_other_errors_of_the_daily_check_sign_nobody_out(site, answer):
    cookie = site.signs_in(NILS)
    site.apple.instead["/auth/token"] = [answer]
    site.a_day_passes()
    assert credentials(site) == [("authorized", "sign_in", 1)]
    assert site.session(cookie) is not None


def test_a_token_answer_for_another_subject_is_refused(site):
    cookie = site.signs_in(NILS)
    site.signs_in(MAJA)
    site.operator.database("DELETE FROM apple_credential WHERE identity = (SELECT max(id) FROM apple_identity)")
    other = next(sign for sign in site.apple.refresh_tokens.values() if sign.account is MAJA)
    site.apple.instead["/auth/token"] = [(200, "application/json", json.dumps(site.apple.tokens(other, {})).encode())]
    site.a_day_passes()
    assert "sub is wrong" in site.server.text()
    assert site.session(cookie) is not None


def revoked(site, account) -> bool:
    return (account.id, TEAM) not in site.apple.consents


def pending(site) -> list[dict]:
    return site.operator.json("credentials", "revocations")["items"]


def fails_once(site) -> None:
    eventually(lambda: [entry["attempts"] for entry in pending(site)] == [1], "a failure", site.server.text)


def repeats_revocations(site) -> None:
    site.operator.bramley("credentials", "revocations", "--retry")
    eventually(lambda: not pending(site), "the revocation", site.server.text)


def comes_back_with_the_name_of_before(site) -> None:
    jar, form = site.goes_to_apple(NILS)
    assert "user" not in form
    site.posts(jar, form).must(303)
    assert site.operator.database("SELECT given_name, family_name FROM user") == [("Nils", "Ångström")]


def test_a_deletion_revokes_the_token_at_apple(site):
    cookie = site.signs_in(NILS)
    first = user(site, cookie)["id"]
    site.deletes_account(cookie)
    eventually(lambda: not pending(site), "the revocation", site.server.text)
    assert revoked(site, NILS)
    (form,) = site.asked("/auth/revoke")
    assert form["token"] in site.apple.refresh_tokens and form["client_id"] == WEB
    assert site.session(cookie) is None
    # A first sign-in again, with the name.
    back = user(site, site.signs_in(NILS))
    assert back["id"] != first and back["name"] == {"given": "Nils", "family": "Ångström"}


@pytest.mark.parametrize("answer", [
    (503, "text/html", b"<html></html>"), (200, "text/html", b"<html>maintenance</html>"),
    (200, "application/json", b'{"cut":'), refusal("invalid_client"), (429, "", b""), (302, "", b""),
], ids=["503", "a page", "cut", "client", "429", "302"])
def test_a_failed_revocation_is_repeated(site, answer):
    cookie = site.signs_in(NILS)
    site.apple.instead["/auth/revoke"] = [answer]
    site.deletes_account(cookie)
    fails_once(site)
    assert not revoked(site, NILS)
    repeats_revocations(site)
    assert revoked(site, NILS)


def test_a_name_survives_a_revocation_whose_answer_was_lost(site):
    """Apple acted on it, and nobody here knows."""
    cookie = site.signs_in(NILS)
    site.apple.instead["/auth/revoke"] = [(504, "text/html", b"")]
    site.deletes_account(cookie)
    fails_once(site)
    site.apple.end(NILS, TEAM)
    jar, form = site.goes_to_apple(NILS)
    assert "user" in form
    # The second request, while the person is on the way back.
    repeats_revocations(site)
    assert site.posts(jar, form).status >= 400
    comes_back_with_the_name_of_before(site)


@pytest.mark.parametrize("kind", ["consent-revoked", "account-deleted"])
def test_a_name_survives_a_late_report_of_an_earlier_end(site, kind):
    site.signs_in(NILS)
    site.apple.end(NILS, TEAM)
    late = site.told(kind)
    jar, form = site.goes_to_apple(NILS)
    assert "user" in form
    site.apple.instead["/auth/token"] = [(503, "text/html", b"")]
    assert site.posts(jar, form).status == 503
    assert site.notifies(late) == 200
    comes_back_with_the_name_of_before(site)


def test_a_name_survives_an_end_in_the_second_of_the_consent(site):
    """`iat` has whole seconds: the sign-in is refused, for it may be of before. Its name is not."""
    site.deletes_account(site.signs_in(NILS))
    eventually(lambda: not pending(site), "the revocation", site.server.text)
    jar, form = site.goes_to_apple(NILS)
    assert "user" in form
    issued = jwt.decode(form["id_token"], site.apple.keys[-1]).claims["iat"]
    assert site.notifies(site.told("consent-revoked", issued * 1000)) == 200
    assert site.posts(jar, form).status >= 400
    site.apple.ahead = 2
    comes_back_with_the_name_of_before(site)


@pytest.mark.parametrize("kind, left", [
    ("consent-revoked", [("revoked", "consent_revoked", 0)]), ("account-delete", []), ("account-deleted", [])])
def test_a_notification_of_an_end_ends_sessions(site, kind, left):
    cookie = site.signs_in(NILS)
    site.apple.end(NILS, TEAM)
    assert site.notifies(site.told(kind)) == 200
    assert site.session(cookie) is None
    assert credentials(site) == left
    assert site.operator.database("SELECT count(*) FROM user") == [(len(left),)]


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
