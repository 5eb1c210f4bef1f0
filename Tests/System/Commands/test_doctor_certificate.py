"""The certificate Bramley holds itself, as `bramley doctor` sees it."""

import socket
import threading

import pytest

from doctor_place import Place
from patience import eventually
from programs import Site, write_private


class OwnCertificate(Place):
    """A server with TLS of its own and no proxy; beside it the authority that everybody believes here."""

    def __init__(self, binaries, folder, authority):
        self.folder = folder
        self.bramley = binaries / "bramley"
        self.authority = authority
        self.put(authority.issue("own", "localhost"))
        self.site = Site(
            binaries, folder, {
                "server.certificateFile": str(folder / "fullchain.pem"),
                "server.privateKeyFile": str(folder / "privkey.pem")}, scheme="https").start()

    def put(self, name: str) -> None:
        # Behind the certificate its issuer, so that nobody asks for an intermediate.
        chain = (self.authority.folder / f"{name}.pem").read_bytes() + (self.authority.folder / "ca.pem").read_bytes()
        write_private(self.folder / "fullchain.pem", chain)
        write_private(self.folder / "privkey.pem", (self.authority.folder / f"{name}.key").read_bytes())

    def end(self) -> None:
        self.site.end()


@pytest.fixture
def own(binaries, tmp_path, doctor_place):
    place = OwnCertificate(binaries, tmp_path, doctor_place.authority)
    yield place
    place.end()


def test_a_listener_with_the_configured_certificate_is_accepted(own):
    report = own.doctor()
    assert report.wrong == []
    assert report.check("certificate") == "good"
    detail = [item["detail"] for item in report.items if item["check"] == "certificate"][0]
    assert "uses the certificate of the files, for localhost, valid for" in detail
    # And the way from outside is whole: no proxy is missed.
    assert report.check("proxy") == "good"
    assert report.check("tls") == report.check("callback") == "good"
    # No app is listed here, which is a doubt of its own.
    states = [item["state"] for item in report.items if item["check"] == "notifications"]
    assert sorted(states) == ["good", "unsure"] and report.one("notifications_unlisted")["state"] == "unsure"


def test_a_listener_with_another_certificate_is_reported(own):
    # What the running server refuses is no error in a configuration.
    expired = own.authority.issue("expired", "localhost", expired=True)
    own.put(expired)
    eventually(lambda: "reason=expired" in own.site.server.text(), "the refusal", own.site.server.text)
    report = own.doctor()
    stale = report.one("certificate_stale")
    assert "certificate not reloaded" in stale["nextStep"]
    assert "expired at" in report.one("certificate_doubtful")["detail"]


def test_a_listener_without_tls_is_reported(own):
    own.site.stop()
    assert "connection refused" in own.doctor().one("certificate_not_shown")["detail"]
    with socket.create_server(("127.0.0.1", own.site.port)) as plain:
        plain.settimeout(0.1)
        over = threading.Event()

        def answer() -> None:
            while not over.is_set():
                try:
                    asking, _ = plain.accept()
                except TimeoutError:
                    continue
                with asking:
                    asking.recv(4096)
                    asking.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            assert own.doctor().one("certificate_not_shown")
        finally:
            over.set()
            thread.join()
