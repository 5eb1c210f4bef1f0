"""`bramley doctor`: what it prints, and what it finds on this machine."""

import os
import shutil
import sqlite3
import time

import pytest

from programs import KEY_ID, SERVICES_ID, free_port, write_private

NOTHING_ELSE = "Nothing else was looked at"
# Root reads what it may not: without these it is a user like any other.
WITHOUT_PRIVILEGE = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else [])


# All is well

def test_nothing_is_wrong(place):
    report = place.doctor()
    assert report.wrong == []
    # What no program can know is said as well.
    assert report.kinds == {"client_inconclusive", "no_notification", "public_url_for_tests"}
    for check in ("database", "server", "apple_key_set", "clock", "apple_key", "tls", "callback", "notifications",
                  "cookies", "headers", "proxy", "traffic"):
        assert report.check(check) == "good", check
    inconclusive = report.one("client_inconclusive")
    assert SERVICES_ID in inconclusive["about"] and KEY_ID in inconclusive["about"]
    assert "invalid_grant" in inconclusive["detail"]


def test_it_changes_nothing(place):
    def rows():
        with sqlite3.connect(place.folder / "data/bramley.db") as database:
            tables = ("user", "session", "event", "notification", "first_consent", "used_attempt", "revocation")
            return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables}

    before, log = rows(), len(place.site.server.text().splitlines())
    place.doctor()
    assert rows() == before
    lines = place.site.server.text().splitlines()[log:]
    assert not [line for line in lines if "refused" in line or "failed" in line], lines


def test_text_for_people(place):
    place.fault("token", {"error": "invalid_client"})
    run = place.run()
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    assert lines[-1].startswith("1 wrong, ")
    wrong = [number for number, line in enumerate(lines) if line.startswith("wrong   client ")]
    assert len(wrong) == 1
    assert lines[wrong[0] + 1].startswith("        next: ")
    assert all(line.isprintable() for line in lines)


# What is here

def test_a_configuration_that_does_not_hold(place):
    report = place.doctor(SERVER_PORT=0, ACCESS_SIGN_UP="maybe")
    assert report.wrong == ["configuration_refused", "configuration_refused"]
    assert {item["about"] for item in report.items} >= {"server.port", "access.signUp"}
    # It says so once, last, that this is all it looked at.
    assert [NOTHING_ELSE in item["detail"] for item in report.items if item["state"] == "wrong"] == [False, True]


def test_a_configuration_others_can_read(place, tmp_path):
    copy = tmp_path / "config.json"
    shutil.copy(place.folder / "config.json", copy)
    copy.chmod(0o640)
    report = place.doctor("--config", str(copy))
    assert report.wrong == []
    assert "chmod 600" in report.one("configuration_doubtful")["nextStep"]


def test_a_key_that_is_none(place, tmp_path):
    write_private(tmp_path / "AuthKey.p8", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    report = place.doctor(APPLE_PRIVATE_KEY_FILE=tmp_path / "AuthKey.p8")
    assert report.wrong == ["apple_key_unusable"]
    assert report.one("apple_key_unusable")["about"] == "apple.privateKeyFile"


@pytest.mark.parametrize("make,words", [
    (lambda file: None, "does not exist"),
    (lambda file: file.mkdir(), "is no file"),
    (lambda file: write_private(file, b"x" * 70_000), "is larger than"),
])
def test_a_key_file_that_is_not_there(place, tmp_path, make, words):
    make(tmp_path / "AuthKey.p8")
    report = place.doctor(APPLE_PRIVATE_KEY_FILE=tmp_path / "AuthKey.p8")
    assert report.wrong == ["apple_key_unusable"]
    found = report.one("apple_key_unusable")
    assert words in found["detail"] and str(tmp_path / "AuthKey.p8") in found["detail"]
    assert NOTHING_ELSE in found["detail"]


def test_a_key_file_that_cannot_be_read(place, tmp_path):
    """Written by root and left to root, which is how it is copied most often."""
    shutil.copy(place.folder / "AuthKey.p8", tmp_path / "AuthKey.p8")
    (tmp_path / "AuthKey.p8").chmod(0)
    report = place.doctor(prefix=WITHOUT_PRIVILEGE, APPLE_PRIVATE_KEY_FILE=tmp_path / "AuthKey.p8")
    assert report.wrong == ["apple_key_unusable"]
    found = report.one("apple_key_unusable")
    assert "cannot be read by the user that runs bramley" in found["detail"]
    assert "chown" in found["nextStep"]


def test_a_key_under_another_keys_name(place, tmp_path):
    named = tmp_path / "AuthKey_AAAAAAAAAA.p8"
    shutil.copy(place.folder / "AuthKey.p8", named)
    report = place.doctor(APPLE_PRIVATE_KEY_FILE=named)
    assert report.wrong == []
    assert "AAAAAAAAAA" in report.one("apple_key_id_doubtful")["nextStep"]


def test_no_database_and_no_server(place, tmp_path):
    report = place.doctor(STORAGE_DIRECTORY=tmp_path / "data", ADMIN_PORT=free_port())
    assert report.wrong == ["database_missing", "server_not_running"]
    # Without the sealing key nobody can tell who answers, and nothing is made.
    assert not (tmp_path / "data").exists()
    assert report.check("tls") == "good"


def test_another_sealing_key(place):
    report = place.doctor(SECRETS_SEALING_KEY="ab" * 32)
    assert report.wrong == ["database_unusable"]
    assert "sealing key" in report.one("database_unusable")["detail"]


def test_a_database_that_takes_no_writes(place):
    with sqlite3.connect(place.folder / "data/bramley.db", isolation_level=None) as database:
        database.execute("BEGIN IMMEDIATE")
        report = place.doctor()
        database.execute("ROLLBACK")
    assert report.wrong in (["server_not_ready"], ["server_not_running"]), report.items
    assert "does not take writes" in report.one("server_not_ready")["detail"]


# What Apple told

def test_the_last_notification(place):
    place.site.apple.notify("email-disabled", "ada")
    assert place.doctor().check("last_notification") == "good"
    with sqlite3.connect(place.folder / "data/bramley.db") as database:
        database.execute("UPDATE notification SET received_at = ?", (int((time.time() - 20 * 86_400) * 1000),))
    assert "20 days" in place.doctor().one("last_notification_old")["detail"]


def test_no_notification_ever(place):
    with sqlite3.connect(place.folder / "data/bramley.db") as database:
        database.execute("DELETE FROM notification")
    found = place.doctor().one("no_notification")
    assert place.site.url("/apple/notifications") in found["nextStep"]
