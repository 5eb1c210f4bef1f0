"""Apps at the second Apple: the bundle ID is the client, there is no redirect URI, and the nonce travels hashed."""

from apple import Account
from patience import eventually
from site_of_apple import APP, MAJA, NILS, TEAM, WEB
from web import Answer, call


def signs_in(site) -> dict:
    return call(site, "POST", "/api/v1/native/sessions", body=site.taps(NILS)).must(200).json()


def test_a_code_is_redeemed_once_as_the_app(site):
    content = site.taps(NILS)
    answers = [call(site, "POST", "/api/v1/native/sessions", body=content) for _ in range(3)]
    assert [answer.status for answer in answers] == [200] * 3
    assert len({answer.text for answer in answers}) == 1
    found = answers[0].json()["user"]
    assert found["name"] == {"given": "Nils", "family": "Ångström"} and found["realUserStatus"] == "likelyReal"
    (form,) = site.asked("/auth/token")
    assert form["client_id"] == APP and "redirect_uri" not in form


def test_web_and_app_are_one_person_with_a_checked_token_each(site):
    cookie, app = site.signs_in(NILS), signs_in(site)
    assert site.session(cookie)["user"]["id"] == app["user"]["id"]
    site.a_day_passes()
    assert {(form["grant_type"], form["client_id"]) for form in site.asked("/auth/token")[2:]} == {
        ("refresh_token", WEB), ("refresh_token", APP)}
    assert site.session(cookie) is not None
    site.apple.end(NILS, TEAM)
    site.a_day_passes()
    assert site.session(cookie) is None
    assert call(site, "GET", "/api/v1/session", token=app["token"]).status == 401


def deletes(site, account: Account, app: dict) -> Answer:
    content = {name: value for name, value in site.taps(account).items() if name in ("authorizationCode", "nonce")}
    return call(site, "DELETE", "/api/v1/account", body=content, token=app["token"])


def test_a_fresh_code_allows_a_deletion_without_a_stored_token(site):
    app = signs_in(site)
    site.operator.database("UPDATE apple_credential SET sealed_refresh_token = NULL, next_check_at = NULL")
    deletes(site, NILS, app).must(202)
    eventually(lambda: site.asked("/auth/revoke"), "the revocation", site.server.text)
    (form,) = site.asked("/auth/revoke")
    assert form["client_id"] == APP
    eventually(lambda: (NILS.id, TEAM) not in site.apple.consents, "the end of the consent")
    assert site.operator.database("SELECT count(*) FROM user") == [(0,)]


def test_another_persons_code_deletes_nobody(site):
    app = signs_in(site)
    deletes(site, MAJA, app).must(400)
    assert call(site, "GET", "/api/v1/session", token=app["token"]).status == 200
    assert site.asked("/auth/revoke") == []
