"""`bramley doctor`: Apple, the clock by it, and what it makes of our clients."""

import re
import sys
import urllib.parse

import pytest

from authority import self_signed
from doctor_place import NO_HTTP, listening
from front import AppleAnswers
from programs import KEY_ID, SERVICES_ID, TEAM_ID, free_port, write_private
from web import call, part_of, sign_in


def test_an_untrusted_certificate_of_apples_is_reported(place):
    place.shown(self_signed("localhost"), "APPLE_ENDPOINT").only("apple_tls")


@pytest.mark.parametrize("fault, words", [
    ({"body": "html"}, "not JSON"), ({"status": 503}, "status 503"), ({"body": "huge"}, "too long"),
    ({"body": {"text": '{"keys":[]}'}, "contentType": "application/json"}, "no usable RSA key")])
def test_an_invalid_key_set_is_reported(place, fault, words):
    place.fault("keys", fault)
    report = place.doctor()
    assert words in report.only("apple_key_set_unusable")["detail"]
    # Somebody answers: so the clients are asked about.
    assert [item["state"] for item in report.about("client")] == ["good", "good"]


def test_an_apple_without_http_is_reported(place, tmp_path):
    with listening(tmp_path, sys.executable, "-c", NO_HTTP, "PORT") as port:
        report = place.doctor(APPLE_ENDPOINT=f"http://127.0.0.1:{port}")
    assert report.wrong == ["apple_key_set_unusable", "client_unanswered"]


@pytest.fixture
def apple(place):
    apple = AppleAnswers(call(place.site.apple.origin, "GET", "/auth/keys").body)
    yield apple
    apple.stop()


@pytest.mark.parametrize("offset, direction", [(-3600, "ahead of"), (90, "behind"), (-45, "ahead of")])
def test_a_wrong_clock_is_reported(place, apple, offset, direction):
    apple.date_offset = offset
    found = place.doctor(APPLE_ENDPOINT=apple.origin).only("clock_skewed")
    said = re.search(rf"(\d+) s {direction}", found["detail"])
    # At worst half of the ten seconds an answer may take, and half a second.
    assert said and abs(int(said[1]) - abs(offset)) <= 6


@pytest.mark.parametrize("offset", [0, 20, -20])
def test_a_clock_within_the_tolerance_is_accepted(place, apple, offset):
    apple.date_offset = offset
    assert place.doctor(APPLE_ENDPOINT=apple.origin).check("clock") == "good"


def test_localhost_and_a_missing_app_are_reported_with_apple_itself(place, monkeypatch):
    # Nobody is asked: the proxy on the way to Apple is not there.
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("NO_PROXY", "localhost")
    report = place.doctor(
        APPLE_ENDPOINT="https://appleid.apple.com", APPLE_BUNDLE_IDS="",
        APPLE_SCRIPT_URL="https://appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js")
    # The database is a simulated Apple's.
    assert report.wrong == ["apple_unreachable", "database_unusable", "notifications_unlisted"]
    assert report.one("public_url_for_tests")["state"] == "unsure"


def test_an_answer_without_a_date_is_reported(place, apple):
    apple.date_offset = None
    assert place.doctor(APPLE_ENDPOINT=apple.origin).doubt("clock_unknown")["state"] == "unsure"


def test_the_probe_sends_an_invalid_code_once(place, apple):
    place.doctor(APPLE_ENDPOINT=apple.origin, APPLE_BUNDLE_IDS="com.example.app")
    web, web_alone, app, app_alone = [dict(urllib.parse.parse_qsl(body)) for body in apple.seen]
    # Without a code: the client and its key alone.
    for sent in (web_alone, app_alone):
        assert set(sent) == {"client_id", "client_secret", "grant_type", "scope"}
        assert (sent["grant_type"], sent["scope"]) == ("client_credentials", "user.migration")
    assert web["client_id"] == web_alone["client_id"] == SERVICES_ID
    assert app["client_id"] == app_alone["client_id"] == "com.example.app"
    assert web["redirect_uri"] == place.site.url("/apple/callback")
    # An app's exchange names no redirect URI.
    assert set(app) == {"client_id", "client_secret", "code", "grant_type"}
    assert web["grant_type"] == app["grant_type"] == "authorization_code"
    # Each shows a secret of its own: by this team and key, about this client.
    for sent in (web, app):
        head, claims = (part_of(sent["client_secret"], number) for number in (0, 1))
        assert (head["kid"], claims["iss"], claims["sub"]) == (KEY_ID, TEAM_ID, sent["client_id"])
    assert web["code"] == app["code"] == "bramley-doctor-no-code"


def test_every_client_is_probed_with_every_key(place, apple, tmp_path, key):
    write_private(tmp_path / "next.p8", key)
    report = place.doctor(
        APPLE_ENDPOINT=apple.origin, APPLE_BUNDLE_IDS="com.example.app,com.example.clip",
        APPLE_NEXT_KEY_ID="NEXTKEY001", APPLE_NEXT_PRIVATE_KEY_FILE=tmp_path / "next.p8")
    clients = [SERVICES_ID, "com.example.app", "com.example.clip"]
    assert [item["about"] for item in report.about("client")] == [
        f"{client} with key {key}" for key in (KEY_ID, "NEXTKEY001") for client in clients]


def test_an_inconclusive_answer_does_not_confirm_a_key(place, apple):
    """One client is refused and the other's answer is an error page: the key was not accepted."""
    apple.token = [(400, b'{"error":"invalid_client"}'), (503, b"later")]
    report = place.doctor(APPLE_ENDPOINT=apple.origin, APPLE_BUNDLE_IDS="com.example.app")
    assert report.wrong == ["client_refused", "client_unanswered"]
    step = report.one("client_refused")["nextStep"]
    assert "The key is good" not in step
    assert KEY_ID in step and "not be revoked" in step and SERVICES_ID in step


def test_a_key_that_apple_refuses_for_every_client_is_reported(place):
    place.fault("token", {"error": "invalid_client"})
    report = place.doctor(APPLE_BUNDLE_IDS="com.example.app")
    assert report.wrong == ["client_refused", "client_refused"]
    for item in report.about("client"):
        assert KEY_ID in item["nextStep"] and "not be revoked" in item["nextStep"]


def test_a_client_that_apple_refuses_is_reported(place):
    place.fault("token", {"error": "invalid_client", "remaining": 1})
    report = place.doctor(APPLE_BUNDLE_IDS="com.example.app")
    refused = report.one("client_refused")
    assert SERVICES_ID in refused["about"]
    # The key works for the other: it is no suspect.
    assert "The key is good" in refused["nextStep"] and "TEAM123456" in refused["nextStep"]
    assert [item["about"] for item in report.about("client", "good")] == [f"com.example.app with key {KEY_ID}"]


def test_a_key_that_apple_refuses_is_reported(place, tmp_path, key):
    """Each key is probed separately: a valid one does not vouch for the other."""
    write_private(tmp_path / "next.p8", key)
    place.site.apple.call("POST", "clients", {
        "id": "com.example.clip", "team": TEAM_ID, "keyID": "NEXTKEY001", "key": key.decode()})
    place.fault("token", {"error": "invalid_client", "remaining": 1})
    report = place.doctor(
        APPLE_BUNDLE_IDS="", APPLE_NEXT_KEY_ID="NEXTKEY001", APPLE_NEXT_PRIVATE_KEY_FILE=tmp_path / "next.p8")
    place.site.apple.call("POST", "reset")
    assert KEY_ID in report.one("client_refused")["about"]
    good = report.about("client", "good")
    assert good and all("NEXTKEY001" in item["about"] for item in good)
    assert report.wrong == ["client_refused"]


def test_a_revoked_key_is_not_confirmed(place):
    """Apple looks for a code before it looks at the client, so an invalid code proves nothing."""
    report = place.doctor()
    assert [item["state"] for item in report.about("apple_key") + report.about("client")] == ["good"] * 3
    place.site.apple.call("DELETE", f"client-keys/{KEY_ID}")
    report = place.doctor()
    place.site.apple.call("POST", "reset")
    assert report.wrong == ["client_refused", "client_refused"]
    assert report.about("apple_key", "good") + report.about("client", "good") == []
    assert "not be revoked" in report.one("apple_key_refused")["nextStep"]


def test_an_answer_about_only_the_code_proves_nothing(place, apple):
    report = place.doctor(APPLE_ENDPOINT=apple.origin, APPLE_BUNDLE_IDS="com.example.app")
    assert report.wrong == []
    assert [item["state"] for item in report.items if item["finding"] == "client_unproven"] == ["unsure", "unsure"]
    assert "Sign in once" in report.one("apple_key_unproven")["nextStep"]


def test_what_the_server_has_learned_decides_where_apple_says_nothing(place, apple):
    place.site.apple.add_person("prover")
    sign_in(place.site, "prover")
    report = place.doctor(APPLE_ENDPOINT=apple.origin, APPLE_BUNDLE_IDS="com.example.app")
    # Of the app nobody has learned anything.
    assert report.doubt("client_unproven")["about"] == f"com.example.app with key {KEY_ID}"
    good = report.about("apple_key", "good") + report.about("client", "good")
    assert good
    for item in good:
        assert "accepted" in item["detail"] and "at 20" in item["detail"]
    place.site.apple.call("DELETE", f"client-keys/{KEY_ID}")
    with pytest.raises(AssertionError):
        sign_in(place.site, "prover")
    report = place.doctor(APPLE_ENDPOINT=apple.origin, APPLE_BUNDLE_IDS="com.example.app")
    place.site.apple.call("POST", "reset")
    place.site.restart()
    assert report.about("apple_key", "good") + report.about("client", "good") == []
    assert "but Apple refused it at 20" in report.one("apple_key_refused")["detail"]


def test_an_unknown_error_of_apple_is_reported(place):
    place.fault("token", {"error": "invalid_request"})
    assert "invalid_request" in place.doctor(APPLE_BUNDLE_IDS="").doubt("client_unexpected")["detail"]


@pytest.mark.parametrize("endpoint, fault, finding", [
    ("keys", {"close": "half"}, "apple_unreachable"), ("keys", {"close": "start"}, "apple_unreachable"),
    *[("token", fault, "client_unanswered") for fault in (
        {"status": 503}, {"status": 429}, {"body": "html"}, {"close": "half"})],
])
def test_a_broken_endpoint_of_apple_is_reported(place, endpoint, fault, finding):
    place.fault(endpoint, fault)
    assert place.doctor(APPLE_BUNDLE_IDS="").wrong == [finding]
