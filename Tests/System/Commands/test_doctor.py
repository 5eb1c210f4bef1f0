"""`bramley doctor`: what it prints, and what it finds on this machine and about programs that speak OpenID Connect."""

import http.client
import os
import shutil
import time
from pathlib import Path

import pytest

from answering import Answering
from doctor_place import Place
from patience import eventually
from programs import KEY_ID, SERVICES_ID, free_port, write_private
from web import call

NOTHING_ELSE = "Nothing else was checked"
# Root reads what it may not: without these it is a user like any other.
WITHOUT_PRIVILEGE = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else [])


def test_a_healthy_server_has_no_findings(place):
    report = place.doctor()
    assert report.kinds == set(), "something of a healthy server is doubted"
    for check in ("database", "server", "apple_key_set", "clock", "apple_key", "tls", "callback", "notifications",
                  "cookies", "headers", "proxy", "traffic"):
        assert report.check(check) == "good", check
    client, app = report.about("client")
    assert SERVICES_ID in client["about"] and KEY_ID in client["about"] and "com.example.app" in app["about"]
    assert "accepts this client and the key" in client["detail"]


def test_the_doctor_changes_nothing(place):
    def rows():
        tables = ("user", "session", "event", "notification", "first_consent", "used_attempt", "revocation")
        return {table: place.site.operator.database(f"SELECT count(*) FROM {table}") for table in tables}

    before, log = rows(), len(place.site.server.text().splitlines())
    place.doctor()
    assert rows() == before
    lines = place.site.server.text().splitlines()[log:]
    assert not [line for line in lines if "refused" in line or "failed" in line], lines


def test_the_text_output_names_findings_and_next_steps(place):
    place.fault("token", {"error": "invalid_client"})
    run = place.run(APPLE_BUNDLE_IDS="")
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    assert lines[-1].startswith("1 wrong, ")
    wrong, = [number for number, line in enumerate(lines) if line.startswith("wrong   client ")]
    assert lines[wrong + 1].startswith("        next: ")
    assert all(line.isprintable() for line in lines)


def test_an_invalid_configuration_is_reported(place):
    report = place.doctor(SERVER_PORT=0, ACCESS_SIGN_UP="maybe")
    assert report.wrong == ["configuration_refused", "configuration_refused"]
    assert {item["about"] for item in report.items} >= {"server.port", "access.signUp"}
    # It says so once, last, that this is all it looked at.
    assert [NOTHING_ELSE in item["detail"] for item in report.items if item["state"] == "wrong"] == [False, True]


def test_a_configuration_readable_by_others_is_reported(place, tmp_path):
    copy = tmp_path / "config.json"
    shutil.copy(place.folder / "config.json", copy)
    copy.chmod(0o640)
    assert "chmod 600" in place.doctor("--config", str(copy)).doubt("configuration_doubtful")["nextStep"]


def unreadable(file: Path, key: bytes) -> None:
    """Written by root and left to root, which is how it is copied most often."""
    write_private(file, key)
    file.chmod(0)


@pytest.mark.parametrize("make, words, step", [
    (lambda file, key: write_private(file, b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "", ""),
    (lambda file, key: None, f"does not exist|{NOTHING_ELSE}", ""),
    (lambda file, key: file.mkdir(), f"is not a file|{NOTHING_ELSE}", ""),
    (lambda file, key: write_private(file, b"x" * 70_000), f"is larger than|{NOTHING_ELSE}", ""),
    (unreadable, "cannot be read by the user that runs bramley", "chown"),
])
def test_a_missing_or_wrong_key_file_is_reported(place, tmp_path, key, make, words, step):
    make(tmp_path / "AuthKey.p8", key)
    found = place.doctor(prefix=WITHOUT_PRIVILEGE, APPLE_PRIVATE_KEY_FILE=tmp_path / "AuthKey.p8").only("apple_key_unusable")
    assert all(part in found["detail"] for part in words.split("|")) and step in found["nextStep"]
    assert str(tmp_path / "AuthKey.p8") in found["detail"] if words else found["about"] == "apple.privateKeyFile"


def test_a_key_file_named_for_another_key_is_reported(place, tmp_path):
    named = tmp_path / "AuthKey_AAAAAAAAAA.p8"
    shutil.copy(place.folder / "AuthKey.p8", named)
    assert "AAAAAAAAAA" in place.doctor(APPLE_PRIVATE_KEY_FILE=named).doubt("apple_key_id_doubtful")["nextStep"]


def test_a_missing_database_and_a_stopped_server_are_reported(place, tmp_path):
    report = place.doctor(STORAGE_DIRECTORY=tmp_path / "data", ADMIN_PORT=free_port())
    assert report.wrong == ["database_missing", "server_not_running"]
    # Without the sealing key nobody can tell who answers, and nothing is made.
    assert not (tmp_path / "data").exists()
    assert report.check("tls") == "good"


def test_a_wrong_sealing_key_is_reported(place):
    assert "sealing key" in place.doctor(SECRETS_SEALING_KEY="ab" * 32).only("database_unusable")["detail"]


def test_a_locked_database_is_reported(place):
    with place.site.operator.locked():
        # A write that waits for the lock already: the doctor's waits behind it, and for as long again.
        earlier = http.client.HTTPConnection("127.0.0.1", place.site.admin_port, timeout=60)
        earlier.request("GET", "/readyz")
        report = place.doctor()
    assert earlier.getresponse().status == 503
    earlier.close()
    assert "does not accept writes" in report.only("server_not_ready")["detail"]


def test_the_time_of_the_last_notification_is_shown(place):
    place.site.apple.notify("email-disabled", "ada")
    assert place.doctor().check("last_notification") == "good"
    place.site.operator.database("UPDATE notification SET received_at = ?", int((time.time() - 20 * 86_400) * 1000))
    # Where nobody withdraws their consent there is nothing to tell.
    found, = place.doctor().about("last_notification")
    assert found["state"] == "good" and "20 days" in found["detail"]


def test_missing_notifications_are_reported(place):
    operator = place.site.operator
    operator.database("DELETE FROM notification")
    assert place.doctor().check("last_notification") == "good"
    operator.database(
        "INSERT INTO event (salt, type, time, user, session, cause, fields) VALUES "
        "(x'00', 'session.ended', ?, 'usr_gone', 'ses_gone', 'token_dead', '[]')", int(time.time() * 1000))
    found = place.doctor().one("no_notification")
    assert found["state"] == "unsure" and "daily check" in found["detail"]
    assert place.site.url("/apple/notifications") in found["nextStep"]
    operator.database("DELETE FROM event WHERE session = 'ses_gone'")


def test_without_an_app_notifications_are_refused(place):
    found = place.doctor(APPLE_BUNDLE_IDS="").one("notifications_unlisted")
    assert found["state"] == "unsure", "a simulated Apple needs no app"
    assert found["about"] == "apple.bundleIDs" and "will be refused" in found["detail"]


def test_a_refused_notification_is_reported(place):
    """Regression: a notification for an app that nobody listed was a line of the log that nobody read."""
    sent = place.site.apple.call(
        "POST", "notifications", {"type": "consent-revoked", "sub": "nobody", "aud": "com.example.primary"})
    assert sent["deliveries"][0]["status"] == 400
    found = place.doctor().only("notification_refused")
    assert "com.example.primary" in found["detail"] and "apple.bundleIDs" in found["nextStep"]
    ready = place.site.admin("/readyz").must(200)
    assert ready.text.startswith("ready\n") and "notifications: warning: " in ready.text and "com.example.primary" in ready.text
    metrics = place.site.admin("/metrics").text
    assert 'bramley_apple_notifications_total{type="unverified",outcome="other_audience"} 1' in metrics
    place.site.restart()


@pytest.mark.parametrize("body", [
    b"ready\n", b"<html>hello</html>", b'{"status":"ready","checks":[]}',
    b'{"status":"ready","checks":[{"name":"storage","ok":true,"problem":null}]}', b"", b"x" * 100_000])
def test_another_program_on_the_admin_port_is_reported(place, body):
    """Regression: any program that answered 200 and `ready` there passed for the server."""
    # What it was sent is all it has to show.
    stranger = Answering(lambda asked, _: (200, {"Bramley-Doctor": asked.headers["Bramley-Doctor"]}, body))
    found = place.doctor(ADMIN_PORT=stranger.port).only("server_elsewhere")
    stranger.stop()
    assert f"127.0.0.1:{stranger.port}" in found["detail"]


def test_another_bramley_on_the_admin_port_is_reported(place, make_site):
    assert place.doctor(ADMIN_PORT=make_site().admin_port).wrong == ["server_elsewhere"]


CALLBACK = "https://program.example.com/callback"
DAY = 86_400_000


@pytest.fixture
def client(request, place: Place):
    operator = place.site.operator

    def add(name: str, *options: str, redirect_uri: str = CALLBACK) -> dict:
        request.addfinalizer(lambda: operator.bramley("clients", "delete", name, "--yes"))
        return operator.json("clients", "add", name, "--redirect-uri", redirect_uri, *options)

    return add


def findings(place: Place, **environment) -> dict[str, str]:
    """By client, what was found; empty when there is nothing to say."""
    items = place.doctor(**environment).about("openid_client")
    return {item["about"]: item["finding"] for item in items if item["about"]}


def asks_for_a_token(place: Place, name: str, secret: str) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "none", "client_id": name, "client_secret": secret}
    assert call(place.site.port, "POST", "/oidc/token", {"X-Forwarded-Proto": "https"}, form=form).status in (400, 401)


def change(place: Place, name: str, column: str, value: int) -> None:
    place.site.operator.database(f"UPDATE openid_client SET {column} = ? WHERE id = ?", value, name)


def test_without_clients_the_doctor_has_no_findings_about_them(place):
    assert place.doctor().about("openid_client") == []


def test_working_clients_have_no_findings(place, client):
    client("one")
    client("two", redirect_uri="https://two.example.com/")
    said, = place.doctor().about("openid_client")
    assert (said["state"], said["detail"]) == ("good", "2 clients.")


def test_a_client_named_like_an_assertion_audience_is_reported(place, client):
    client("orders")
    assert findings(place, ASSERTION_AUDIENCE="orders") == {"orders": "openid_client_unusable"}
    assert findings(place, ASSERTION_AUDIENCE="other") == {}


@pytest.mark.parametrize("path", ["/apple/callback", "/oidc/authorize", "/login", "/api/v1/session"])
def test_a_redirect_uri_of_bramleys_own_is_reported(place, client, path):
    client("lost", redirect_uri=place.site.origin + path)
    assert findings(place) == {"lost": "openid_redirect_unusable"}


def test_a_redirect_uri_on_localhost_is_reported(place, client):
    client("desk", redirect_uri="http://localhost:3000/callback")
    client("phone", "--public", redirect_uri="http://127.0.0.1/callback")
    assert findings(place) == {"desk": "openid_redirect_local"}


def test_a_client_that_was_never_used_is_reported(place, client):
    client("idle")
    assert findings(place) == {}
    change(place, "idle", "created_at", int(time.time() * 1000) - DAY - 1000)
    assert findings(place) == {"idle": "openid_client_unused"}
    change(place, "idle", "last_used_at", int(time.time() * 1000))
    assert findings(place) == {}


def test_a_client_that_sends_wrong_secrets_is_reported(place, client):
    asks_for_a_token(place, "guessing", client("guessing")["clientSecret"])
    assert findings(place) == {}, "a wrong token is no wrong secret"
    asks_for_a_token(place, "guessing", "wrong")
    eventually(lambda: findings(place) == {"guessing": "openid_client_refused"}, "the finding")
    change(place, "guessing", "last_used_at", int(time.time() * 1000) + 1000)
    assert findings(place) == {}, "it has got a token since"


def test_a_client_that_refuses_logouts_is_reported(place, client):
    client("deaf", "--back-channel-logout-uri", "https://deaf.example.com/logout")
    place.site.operator.database(
        "UPDATE webhook_endpoint SET failing_since = ?, last_failure = 'status 404' WHERE url = 'client:deaf'",
        int(time.time() * 1000))
    assert findings(place) == {"deaf": "openid_logout_failing"}


def test_check_reports_the_same_findings(place, client):
    client("orders")
    client("lost", redirect_uri=place.site.origin + "/login")
    done = place.site.operator.run("check")
    assert done.returncode == 0 and "openid_client lost: People who sign in are sent to" in done.stdout
    assert "orders" not in done.stdout
