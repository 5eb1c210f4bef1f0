"""The certificate: what `bramley check` and /readyz say of it, and another one while the server serves."""

import dataclasses
import http.client
import shutil
import signal
import subprocess
import threading

import pytest
from cryptography.x509 import load_der_x509_certificate

from patience import eventually
from programs import write_private
from secure_site import get


@pytest.fixture
def check(make_secure_site):
    """Runs it on a configuration that was never started."""
    def run(pair=None, settings: dict | None = None) -> subprocess.CompletedProcess:
        return make_secure_site(settings, pair, start=False).operator.run("check", timeout=60)

    return run


def test_a_valid_certificate_is_reported(check):
    run = check(settings={"apple.bundleIDs": ["com.example.app"]})
    assert run.returncode == 0, run.stderr
    assert "warning" not in run.stdout
    assert "for localhost, 127.0.0.1, until " in run.stdout
    assert " redirects to  https://localhost:" in run.stdout


def test_a_certificate_for_another_name_is_an_error_without_a_proxy(check, authority):
    pair = authority.issue("www.example.com")
    run = check(pair)
    assert run.returncode == 1
    assert "is for www.example.com, but publicURL's host is localhost." in run.stderr
    assert check(pair, {"server.trustedProxies": ["127.0.0.1"]}).returncode == 0


def test_the_key_of_another_certificate_is_an_error(check, authority):
    run = check(dataclasses.replace(authority.issue("localhost"), key=authority.issue("localhost").key))
    assert run.returncode == 1 and "is not the key of the certificate." in run.stderr
    assert "PRIVATE" not in run.stderr


def ready(site) -> tuple[int, dict[str, str | None]]:
    # It listens a moment after the other port.
    site.server.wait_for(site.admin_port)
    answer = site.admin("/readyz", "application/json")
    return answer.status, {check["name"]: check.get("problem") for check in answer.json()["checks"]}


def test_an_expired_certificate_is_not_ready_until_it_is_replaced(make_secure_site, authority):
    # Bramley serves with it anyway: a start must not depend on the day.
    expired = authority.issue("localhost", start=-30, days=29)
    site = make_secure_site(pair=expired)
    status, checks = ready(site)
    assert status == 503
    assert checks["certificate"] and "expired" in checks["certificate"], checks
    assert [name for name, problem in checks.items() if problem] == ["certificate"]
    following = authority.issue("localhost")
    site.put(following)
    eventually(lambda: ready(site)[0] == 200, "readiness", site.server.text)
    assert ready(site)[1]["certificate"] is None
    assert get(site.connect(), "/login").status == 200
    # A bad pair after it changes nothing.
    site.put(expired)
    site.server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "not reloaded" in site.server.text(), "the refusal", site.server.text)
    assert ready(site)[0] == 200 and site.shown().serial_number == following.serial
    # The audit log has the change that took place, and no other.
    line, = eventually(
        lambda: site.operator.json("audit", "list", "--type", "certificate.changed")["items"], "the line")
    assert (line["object"], line["actor"]) == (
        following.certificate.fingerprint(following.certificate.signature_hash_algorithm).hex(), "server")


def test_a_server_with_an_older_sealing_key_is_not_ready(make_site, tmp_path):
    site = make_site(start=False)
    data, new, before = site.folder / "data", tmp_path / "new.key", tmp_path / "data-before"

    def serves(times: int) -> None:
        site.start()
        eventually(lambda: site.server.text().count("listening") == times, "the server", site.server.text)
        assert ready(site)[0] == 200

    serves(1)
    site.stop()
    # It runs with a newer key, and then again as it was: what it left in its database is what it would find there, had
    # another server overtaken it.
    shutil.copytree(data, before)
    write_private(new, b"ab" * 32 + b"\n")
    site.configure({"secrets.sealingKeyFile": str(new), "secrets.previousSealingKeyFiles": [str(data / "sealing.key")]})
    serves(2)
    site.stop()
    rows = site.operator.database("SELECT key, value FROM meta WHERE key LIKE 'sealing-key%'")
    assert len(rows) == 3
    shutil.rmtree(data)
    before.rename(data)
    site.configure({"secrets.sealingKeyFile": None, "secrets.previousSealingKeyFiles": None})
    serves(3)
    for key, value in rows:
        site.operator.database("UPDATE meta SET value = ? WHERE key = ?", value, key)
    status, checks = ready(site)
    assert status == 503
    assert [name for name, problem in checks.items() if problem] == ["sealing_key"]
    assert "copy it here as sealing.key.next" in checks["sealing_key"], checks


KEPT = "certificate not reloaded; the previous one stays in use"
TAKEN = "certificate reloaded"


def test_a_new_certificate_is_served_without_a_signal(site, authority, issued):
    assert site.shown().serial_number == issued.serial
    kept = site.connect()
    assert get(kept, "/login").status == 200
    following = authority.issue("localhost")
    site.put(following)
    eventually(lambda: site.shown().serial_number == following.serial, "the new certificate", site.server.text)
    # The connection of before is still the same one.
    assert get(kept, "/login").status == 200
    kept.close()
    assert site.said(TAKEN) == 1
    assert site.said(KEPT) <= 1


def test_sighup_reloads_the_certificate(site, authority):
    following = authority.issue("localhost", kind="rsa")
    site.put(following)
    site.server.process.send_signal(signal.SIGHUP)
    eventually(lambda: site.said(TAKEN) >= 1, "the log line")
    assert site.shown().serial_number == following.serial


def test_no_connection_is_dropped_under_load(site, authority):
    """`/auth/verify` has no limit; 401 is its answer to strangers."""
    over = threading.Event()
    failures: list[str] = []
    answers = [0, 0]
    serials = set()

    def keep() -> None:
        connection = site.connect()
        first = connection.sock
        while not over.is_set():
            try:
                answer = get(connection, "/auth/verify")
                if answer.status != 401 or connection.sock is not first:
                    failures.append(f"{answer.status}, another connection: {connection.sock is not first}")
                    return
                answers[0] += 1
                over.wait(0.05)
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"kept: {error!r}")
                return
        connection.close()

    def come_and_go() -> None:
        while not over.is_set():
            try:
                connection = site.connect()
                serials.add(load_der_x509_certificate(connection.sock.getpeercert(binary_form=True)).serial_number)
                if get(connection, "/auth/verify").status != 401:
                    failures.append("a new connection was refused")
                connection.close()
                answers[1] += 1
                over.wait(0.05)
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"new: {error!r}")
                return

    threads = [threading.Thread(target=work) for work in (keep, keep, keep, come_and_go, come_and_go)]
    for thread in threads:
        thread.start()
    try:
        for number in range(4):
            following = authority.issue("localhost")
            site.put(following)
            if number % 2:
                site.server.process.send_signal(signal.SIGHUP)
            eventually(lambda: failures or following.serial in serials, "the new one", site.server.text)
        eventually(lambda: failures or min(answers) > 20, "connections of both kinds", site.server.text)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
