"""What `bramley check` and `bramley serve` say of certificates."""

import dataclasses
import subprocess

import pytest


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
