"""What `bramley check` and `bramley serve` say of certificates."""

import subprocess

import pytest

from programs import write_private


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
    assert " leads to https://localhost:" in run.stdout


@pytest.mark.parametrize("start,days,words", [
    (-30, 10, "expired at"), (2, 90, "is not valid before"), (-80, 90, "expires at")])
def test_an_expired_certificate_is_a_warning(check, authority, start, days, words):
    """A restart shall not keep the server down until somebody has renewed."""
    run = check(authority.issue("localhost", start=start, days=days))
    assert run.returncode == 0
    assert "warning: server.certificateFile" in run.stdout and words in run.stdout


def test_a_certificate_for_another_name_is_an_error_without_a_proxy(check, authority):
    pair = authority.issue("www.example.com")
    run = check(pair)
    assert run.returncode == 1
    assert "is for www.example.com, and publicURL's host is localhost." in run.stderr
    assert check(pair, {"server.trustedProxies": ["127.0.0.1"]}).returncode == 0


def test_serve_does_not_start_without_its_key(make_secure_site, authority):
    site = make_secure_site(start=False)
    write_private(site.key_file, authority.issue("localhost").key)
    run = site.operator.run("serve", timeout=60)
    assert run.returncode == 1
    assert "is not the key of the certificate." in run.stderr
    assert "PRIVATE" not in run.stderr
