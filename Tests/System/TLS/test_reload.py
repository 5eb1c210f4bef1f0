"""Another certificate while the server serves: nobody notices but by looking at it."""

import http.client
import signal
import ssl
import threading

import pytest

from patience import eventually
from programs import write_private
from secure_site import get

KEPT = "certificate not reloaded; the previous one stays in use"
TAKEN = "certificate reloaded"


def test_files_that_change_are_taken_by_themselves(site, authority, issued):
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


def test_sighup_takes_them_at_once(site, authority):
    following = authority.issue("localhost", kind="rsa")
    site.put(following)
    site.server.process.send_signal(signal.SIGHUP)
    eventually(lambda: site.said(TAKEN) >= 1, "the log line")
    assert site.shown().serial_number == following.serial


def test_links_are_switched_as_certbot_does(make_secure_site, authority, issued, tmp_path):
    """live/fullchain.pem → archive/fullchain1.pem, and the next day → archive/fullchain2.pem."""
    following = authority.issue("localhost")
    archive, live = tmp_path / "archive", tmp_path / "live"
    for folder in (archive, live):
        folder.mkdir()
    for number, pair in ((1, issued), (2, following)):
        write_private(archive / f"fullchain{number}.pem", pair.chain)
        write_private(archive / f"privkey{number}.pem", pair.key)

    def switch(number: int) -> None:
        for name in ("fullchain", "privkey"):
            link = live / f"{name}.new"
            link.symlink_to(archive / f"{name}{number}.pem")
            link.rename(live / f"{name}.pem")

    switch(1)
    site = make_secure_site({
        "server.certificateFile": str(live / "fullchain.pem"), "server.privateKeyFile": str(live / "privkey.pem")})
    assert site.shown().serial_number == issued.serial
    switch(2)
    eventually(lambda: site.shown().serial_number == following.serial, "the new certificate", site.server.text)
    assert site.said(KEPT) == 0


@pytest.mark.parametrize("flaw,reason", [
    ("another's key", "mismatch"), ("half a chain", "unreadable_certificate"), ("no file", "unreadable"),
    ("another name", "wrong_name"), ("expired", "expired"), ("of tomorrow", "not_yet_valid"),
    ("a key everybody reads", "unreadable"),
])
def test_a_bad_pair_is_refused_and_the_next_good_one_taken(site, authority, issued, flaw, reason):
    other = authority.issue("localhost")
    match flaw:
        case "another's key": write_private(site.key_file, other.key)
        case "half a chain": write_private(site.chain_file, other.chain[:400])
        case "no file": site.chain_file.unlink()
        case "another name": site.put(authority.issue("www.example.com"))
        case "expired": site.put(authority.issue("localhost", start=-30, days=10))
        case "of tomorrow": site.put(authority.issue("localhost", start=1))
        case "a key everybody reads": site.key_file.chmod(0o644)
    eventually(lambda: site.said(KEPT) == 1, "the log line", site.server.text)
    assert f"reason={reason}" in site.server.text()
    assert site.shown().serial_number == issued.serial
    # Asked twice, said once more at most, and still served.
    site.server.process.send_signal(signal.SIGHUP)
    connection = site.connect()
    assert get(connection, "/login").status == 200
    connection.close()
    good = authority.issue("localhost")
    site.put(good)
    site.key_file.chmod(0o600)
    eventually(lambda: site.shown().serial_number == good.serial, "the good one", site.server.text)
    said = site.server.text()
    for secret in (good.key, other.key):
        # Each line of the key itself; how a key begins, the message that misses it may say.
        assert not any(line in said for line in secret.decode().splitlines() if not line.startswith("-----"))


def test_under_load_not_one_connection_is_dropped(site, authority):
    """Kept connections and new ones all along, while the certificate changes again and again.

    `/auth/verify` has no limit; 401 is its answer to strangers.
    """
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
                serials.add(ssl.DER_cert_to_PEM_cert(connection.sock.getpeercert(binary_form=True)))
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
        for round_ in range(4):
            following = authority.issue("localhost")
            site.put(following)
            if round_ % 2:
                site.server.process.send_signal(signal.SIGHUP)
            eventually(lambda: site.shown().serial_number == following.serial, "the new one", site.server.text)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
    assert min(answers) > 20
    assert len(serials) >= 4
