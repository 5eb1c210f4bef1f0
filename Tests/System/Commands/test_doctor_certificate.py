"""The certificate Bramley holds itself, as `bramley doctor` sees it."""

import sys

import pytest

from authority import Issued
from doctor_place import NO_HTTP, Place, listening
from patience import eventually
from programs import Site, write_private


class OwnCertificate(Place):
    """A server with TLS of its own and no proxy; beside it the authority that everybody believes here."""

    def __init__(self, binaries, folder, authority):
        self.folder = folder
        self.bramley = binaries / "bramley"
        self.authority = authority
        self.put(authority.issue("localhost"))
        self.site = Site(
            binaries, folder, {
                "server.certificateFile": str(folder / "fullchain.pem"),
                "server.privateKeyFile": str(folder / "privkey.pem")}, scheme="https").start()

    def put(self, issued: Issued) -> None:
        write_private(self.folder / "fullchain.pem", issued.chain)
        write_private(self.folder / "privkey.pem", issued.key)

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
    own.put(own.authority.issue("localhost", start=-3, days=2))
    eventually(lambda: "reason=expired" in own.site.server.text(), "the refusal", own.site.server.text)
    report = own.doctor()
    stale = report.one("certificate_stale")
    assert "certificate not reloaded" in stale["nextStep"]
    assert "expired at" in report.one("certificate_doubtful")["detail"]


def test_a_listener_without_tls_is_reported(own):
    own.site.stop()
    assert "connection refused" in own.doctor().one("certificate_not_shown")["detail"]
    with listening(own.folder, sys.executable, "-c", NO_HTTP, "PORT", port=own.site.port):
        assert own.doctor().one("certificate_not_shown")
