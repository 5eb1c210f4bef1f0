"""Apps at the second Apple: the bundle ID is the client, there is no redirect URI, and the nonce travels hashed."""

from apple import Account
from patience import eventually
from site_of_apple import APP, MAJA, NILS, TEAM, WEB
from web import Answer


def signs_in(site) -> dict:
    answer = site.sends("POST", "/api/v1/native/sessions", site.taps(NILS))
    assert answer.status == 200, (answer.text, site.server.text())
    return answer.json()


def test_a_code_is_redeemed_as_the_app_and_once(site):
    content = site.taps(NILS)
    answers = [site.sends("POST", "/api/v1/native/sessions", content) for _ in range(3)]
    assert [answer.status for answer in answers] == [200] * 3
    assert len({answer.text for answer in answers}) == 1
    found = answers[0].json()["user"]
    assert found["name"] == {"given": "Nils", "family": "Ångström"} and found["realUserStatus"] == "likelyReal"
    (form,) = site.asked("/auth/token")
    assert form["client_id"] == APP and "redirect_uri" not in form


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


def deletes(site, account: Account, app: dict) -> Answer:
    """By a fresh code of this account's."""
    fresh = site.taps(account)
    content = {name: fresh[name] for name in ("authorizationCode", "nonce")}
    return site.sends("DELETE", "/api/v1/account", content, app["token"])


def test_a_fresh_code_deletes_where_no_token_is_stored(site):
    app = signs_in(site)
    site.operator.database("UPDATE apple_credential SET sealed_refresh_token = NULL, next_check_at = NULL")
    answer = deletes(site, NILS, app)
    assert answer.status == 202, (answer.text, site.server.text())
    eventually(lambda: site.asked("/auth/revoke"), "the revocation", site.server.text)
    (form,) = site.asked("/auth/revoke")
    assert form["client_id"] == APP
    eventually(lambda: (NILS.id, TEAM) not in site.apple.consents, "the end of the consent")
    assert site.operator.database("SELECT count(*) FROM user") == [(0,)]


def test_a_code_of_somebody_else_deletes_nobody(site):
    app = signs_in(site)
    answer = deletes(site, MAJA, app)
    assert answer.status == 400, answer.text
    assert site.sends("GET", "/api/v1/session", {}, app["token"]).status == 200
    assert site.asked("/auth/revoke") == []
