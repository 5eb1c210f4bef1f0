"""`bramley doctor`: what it prints, and what it finds on this machine."""

import http.client
import os
import shutil
import time
from pathlib import Path

import pytest

from answering import Answering
from programs import KEY_ID, SERVICES_ID, free_port, write_private

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
