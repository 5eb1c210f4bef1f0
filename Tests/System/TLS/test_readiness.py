"""What /readyz and the audit log say of the certificate, and of a sealing key that is not the newest."""

import shutil
import signal

from patience import eventually
from programs import write_private
from secure_site import get


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
