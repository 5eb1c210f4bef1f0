"""Another certificate while the server serves: nobody notices but by looking at it."""

import http.client
import signal
import threading

from cryptography.x509 import load_der_x509_certificate
from patience import eventually
from secure_site import get

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
