"""The certificate Bramley holds itself, as `bramley doctor` sees it."""

import sys

import pytest

from doctor_place import NO_HTTP, Place, listening
from patience import eventually
from secure_site import SecureSite


class OwnCertificate(Place):
    """A server with TLS of its own and no proxy; beside it the authority that everybody believes here."""

    def __init__(self, site: SecureSite):
        self.site, self.folder, self.bramley = site, site.folder, site.binaries / "bramley"


@pytest.fixture
def own(make_site, doctor_place):
    authority = doctor_place.authority
    return OwnCertificate(make_site(
        {"server.redirectPort": None}, SecureSite, authority=authority, issued=authority.issue("localhost")))


def test_a_listener_with_the_configured_certificate_is_accepted(own):
    report = own.doctor()
    assert report.wrong == []
    certificate, = report.about("certificate", "good")
    assert "uses the certificate of the files, for localhost, valid for" in certificate["detail"]
    # And the way from outside is whole: no proxy is missed.
    assert report.check("proxy") == "good"
    assert report.check("tls") == report.check("callback") == "good"
    # No app is listed here, which is a doubt of its own.
    assert sorted(item["state"] for item in report.about("notifications")) == ["good", "unsure"]
    assert report.one("notifications_unlisted")["state"] == "unsure"


def test_a_listener_with_another_certificate_is_reported(own, doctor_place):
    # What the running server refuses is not an error in a configuration.
    own.site.put(doctor_place.authority.issue("localhost", start=-3, days=2))
    eventually(lambda: "reason=expired" in own.site.server.text(), "the refusal", own.site.server.text)
    report = own.doctor()
    assert "certificate not reloaded" in report.one("certificate_stale")["nextStep"]
    assert "expired at" in report.one("certificate_doubtful")["detail"]


def test_a_listener_without_tls_is_reported(own):
    own.site.stop()
    assert "connection refused" in own.doctor().one("certificate_not_shown")["detail"]
    with listening(own.folder, sys.executable, "-c", NO_HTTP, "PORT", port=own.site.port):
        assert own.doctor().one("certificate_not_shown")
