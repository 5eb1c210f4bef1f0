"""What /readyz and the audit log say of the certificate, and of a sealing key that is not the newest."""

import json
import shutil
import signal
import sqlite3

from patience import eventually
from programs import Site, write_private
from secure_site import get


def ready(site) -> tuple[int, dict[str, str | None]]:
    """The status, and each check with its problem."""
    # It listens a moment after the other port.
    site.server.wait_for(site.admin_port)
    answer = site.admin("/readyz", "application/json")
    return answer.status, {check["name"]: check.get("problem") for check in answer.json()["checks"]}


def test_a_certificate_out_of_its_time_is_not_ready_until_a_good_one_comes(make_secure_site, authority):
    # Bramley serves with it all the same: a start must not depend on the day.
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
    operator = site.operator
    eventually(
        lambda: operator.database("SELECT count(*) FROM audit WHERE type = 'certificate.changed'") == [(1,)],
        "the line", site.server.text)
    lines = operator.json("audit", "list", "--type", "certificate.changed")["items"]
    assert [(line["object"], line["actor"]) for line in lines] == [
        (following.certificate.fingerprint(following.certificate.signature_hash_algorithm).hex(), "server")]


def test_a_newer_sealing_key_than_the_servers_is_not_ready(binaries, tmp_path):
    folder = tmp_path / "first"
    folder.mkdir()
    site = Site(binaries, folder, {"storage.directory": str(folder / "data")})
    try:
        site.start()
        eventually(lambda: "listening" in site.server.text(), "the server", site.server.text)
        assert ready(site)[0] == 200
        site.stop()
        # Another server is started with a newer key, on a copy: what it leaves in its database is what the first would
        # find in its own, had it been overtaken.
        other = tmp_path / "other"
        shutil.copytree(folder, other)
        write_private(other / "new.key", b"ab" * 32 + b"\n")
        configuration = json.loads((other / "config.json").read_text())
        configuration["storage"]["directory"] = str(other / "data")
        configuration["secrets"] = {
            "sealingKeyFile": str(other / "new.key"),
            "previousSealingKeyFiles": [str(other / "data/sealing.key")]}
        write_private(other / "config.json", json.dumps(configuration).encode())
        newer = Site.__new__(Site)
        newer.binaries, newer.folder, newer.port, newer.admin_port = binaries, other, site.port, site.admin_port
        newer.start()
        eventually(lambda: newer.server.text().count("listening") == 2, "the other", newer.server.text)
        assert ready(newer)[0] == 200
        newer.stop()
        rows = sqlite3.connect(other / "data/bramley.db").execute(
            "SELECT key, value FROM meta WHERE key LIKE 'sealing-key%'").fetchall()
        assert len(rows) == 3

        site.start()
        eventually(lambda: site.server.text().count("listening") == 2, "the server", site.server.text)
        assert ready(site)[0] == 200
        for key, value in rows:
            site.operator.database("UPDATE meta SET value = ? WHERE key = ?", value, key)
        status, checks = ready(site)
        assert status == 503
        assert [name for name, problem in checks.items() if problem] == ["sealing_key"]
        assert "restart it" in checks["sealing_key"], checks
    finally:
        site.end()
