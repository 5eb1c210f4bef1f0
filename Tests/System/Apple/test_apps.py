"""Apps at the second Apple: the bundle ID is the client; and the app goes to another team."""

import json

from apple import Account
from patience import eventually
from programs import write_private
from site_of_apple import APP, MAJA, NILS, TEAM, WEB, team_key
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


NEW, NEW_KEY = "TEAMABCDE2", "KEYABCDEF2"
LEFT = Account("left", given="Lisa", family="Gone", email="lisa@example.org")


def changes_hands(site) -> None:
    private, public = team_key()
    site.apple.team_keys[NEW] = {NEW_KEY: public}
    write_private(site.folder / "NewKey.p8", private)
    site.apple.hands_over(site.apple.clients[WEB], NEW)
    assert site.server.stop() == 0
    site.configure({
        "apple.teamID": NEW, "apple.keyID": NEW_KEY, "apple.bundleIDs": [],
        "apple.privateKeyFile": str(site.folder / "NewKey.p8")})
    site.start()


def test_a_transfer_keeps_every_user(site):
    cookies = {account.id: site.signs_in(account) for account in (NILS, MAJA, LEFT)}
    before = {name: site.session(cookie)["user"] for name, cookie in cookies.items()}
    site.apple.end(LEFT, TEAM)
    # One answer is lost on the way, and one is no answer.
    site.apple.instead["/auth/usermigrationinfo"] = [(503, "text/html", b"<html></html>"), (429, "", b"")]
    site.operator.bramley("transfer", "export", "--to", NEW)
    assert {entry[0].id for entry in site.apple.transfers.values()} == {"nils", "maja"}
    changes_hands(site)
    # Nils is faster than the import.
    cookies["nils"] = site.signs_in(NILS)
    assert site.session(cookies["nils"])["user"]["id"] == before["nils"]["id"]
    site.operator.bramley("transfer", "import")
    assert site.operator.database("SELECT count(*) FROM user") == [(3,)]
    for account in (NILS, MAJA):
        after = site.session(cookies[account.id])["user"]
        assert after["id"] == before[account.id]["id"] and after["name"] == before[account.id]["name"]
        assert after["appleSubject"] == site.apple.subject(account, NEW)
    assert site.session(cookies["maja"])["user"]["email"] == site.apple.relay(MAJA, NEW)
    assert site.session(cookies["nils"])["user"]["email"] == "nils@example.org"
    for team in (TEAM, NEW):
        shown = site.operator.json("users", "show", "--apple-subject", site.apple.subject(MAJA, team))
        assert before["maja"]["id"] in json.dumps(shown)
    # Who had left could not move, and is distinguished.
    unmoved = json.dumps(site.operator.json("transfer", "status", "--unmoved"))
    assert before["left"]["id"] in unmoved and before["maja"]["id"] not in unmoved
    # Again changes nothing, and asks Apple about nobody twice.
    asked = len(site.asked("/auth/usermigrationinfo"))
    site.operator.bramley("transfer", "import")
    assert [form for form in site.asked("/auth/usermigrationinfo")[asked:] if "transfer_sub" in form] == []


def test_notifications_with_either_subject_concern_the_same_person(site):
    cookie = site.signs_in(MAJA)
    site.operator.bramley("transfer", "export", "--to", NEW)
    old = site.apple.notification("consent-revoked", MAJA, site.apple.clients[WEB])
    changes_hands(site)
    site.operator.bramley("transfer", "import")
    # In a later second than Apple's word, on any machine.
    site.apple.ahead = 2
    moved = site.signs_in(MAJA)
    assert site.session(cookie) is not None
    # Older than the last sign-in: it ends the session of before, and nothing else.
    assert site.notifies(old) == 200
    assert site.session(cookie) is None and site.session(moved) is not None
    site.apple.end(MAJA, NEW)
    assert site.notifies(site.apple.notification("consent-revoked", MAJA, site.apple.clients[WEB])) == 200
    assert site.session(moved) is None
