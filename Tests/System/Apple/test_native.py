"""Apps at the second Apple: the bundle ID is the client, there is no redirect URI, and the nonce travels hashed."""

import hashlib

from apple import Account
from patience import eventually
from site_of_apple import APP, TEAM, WEB

NILS = Account("nils", email="nils@example.org")


def hashed(nonce: str) -> str:
    return hashlib.sha256(nonce.encode()).hexdigest()


def signs_in(site, account: Account = NILS) -> dict:
    nonce = site.challenge()
    answer = site.sends("POST", "/api/v1/native/sessions", site.taps(account, nonce, hashed(nonce)))
    assert answer.status == 200, (answer.text, site.server.text())
    return answer.json()


def test_a_code_is_redeemed_as_the_app_and_once(site):
    nonce = site.challenge()
    content = site.taps(NILS, nonce, hashed(nonce))
    answers = [site.sends("POST", "/api/v1/native/sessions", content) for _ in range(3)]
    assert [answer.status for answer in answers] == [200] * 3
    assert len({answer.text for answer in answers}) == 1
    found = answers[0].json()["user"]
    assert found["name"] == {"given": "Nils", "family": "Ångström"} and found["realUserStatus"] == "likelyReal"
    (form,) = site.asked("/auth/token")
    assert form["client_id"] == APP and "redirect_uri" not in form


def test_a_raw_nonce_in_the_token_is_refused(site):
    nonce = site.challenge()
    refused = site.sends("POST", "/api/v1/native/sessions", site.taps(NILS, nonce, nonce))
    assert refused.json()["code"] == "identity_token"
    assert site.asked("/auth/token") == []
    assert site.operator.database("SELECT count(*) FROM user") == [(0,)]


def test_a_web_token_is_refused_as_an_apps(site):
    nonce = site.challenge()
    code, token, _ = site.apple.allows(NILS, site.apple.clients[WEB], hashed(nonce), True)
    refused = site.sends("POST", "/api/v1/native/sessions", {
        "identityToken": token, "authorizationCode": code, "nonce": nonce})
    assert refused.json()["code"] == "identity_token"
    assert site.asked("/auth/token") == []


def test_the_web_and_the_app_are_one_person_and_each_token_is_checked_as_its_client(site):
    cookie = site.signs_in(NILS)
    app = signs_in(site)
    assert site.session(cookie)["user"]["id"] == app["user"]["id"]
    site.a_day_passes()
    assert {(form["grant_type"], form["client_id"]) for form in site.asked("/auth/token")[2:]} == {
        ("refresh_token", WEB), ("refresh_token", APP)}
    assert site.session(cookie) is not None
    site.apple.end(NILS, TEAM)
    site.a_day_passes()
    assert site.session(cookie) is None
    assert site.sends("GET", "/api/v1/session", {}, app["token"]).status == 401


def test_a_fresh_code_deletes_where_no_token_is_stored(site):
    app = signs_in(site)
    site.operator.database("UPDATE apple_credential SET sealed_refresh_token = NULL, next_check_at = NULL")
    nonce = site.challenge()
    fresh = site.taps(NILS, nonce, hashed(nonce))
    content = {name: fresh[name] for name in ("authorizationCode", "nonce")}
    answer = site.sends("DELETE", "/api/v1/account", content, app["token"])
    assert answer.status == 202, (answer.text, site.server.text())
    eventually(lambda: site.asked("/auth/revoke"), "the revocation", site.server.text)
    (form,) = site.asked("/auth/revoke")
    assert form["client_id"] == APP
    eventually(lambda: (NILS.id, TEAM) not in site.apple.consents, "the end of the consent")
    assert site.operator.database("SELECT count(*) FROM user") == [(0,)]


def test_a_code_of_somebody_else_deletes_nobody(site):
    app = signs_in(site)
    maja = Account("maja", email="maja@example.org")
    nonce = site.challenge()
    fresh = site.taps(maja, nonce, hashed(nonce))
    answer = site.sends(
        "DELETE", "/api/v1/account", {name: fresh[name] for name in ("authorizationCode", "nonce")}, app["token"])
    assert answer.status == 400, answer.text
    assert site.sends("GET", "/api/v1/session", {}, app["token"]).status == 200
    assert site.asked("/auth/revoke") == []
