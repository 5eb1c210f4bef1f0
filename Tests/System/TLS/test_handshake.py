"""What the listener speaks, as other implementations see it from outside."""

import subprocess

import pytest

from echo import exchange
from processes import finished
from secure_site import SecureSite, get


def s_client(site, *arguments: str) -> subprocess.CompletedProcess:
    return finished("openssl", "s_client", "-connect", f"127.0.0.1:{site.port}", "-servername", "localhost",
                    "-CAfile", site.trust, "-verify_return_error", *arguments)


@pytest.fixture(scope="module")
def listener(make_shared_site, authority, issued):
    return make_shared_site(None, SecureSite, authority=authority, issued=issued)


@pytest.mark.parametrize("arguments", [("-tls1_3",), ("-tls1_2",), ("-tls1_3", "-groups", "P-256")])
def test_supported_tls_versions_and_ciphers_are_accepted(listener, arguments):
    run = s_client(listener, *arguments)
    assert run.returncode == 0, run.stderr
    assert "Verify return code: 0 (ok)" in run.stdout


@pytest.mark.parametrize("arguments", [
    ("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"), ("-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"), ("-alpn", "spdy/3.1")])
def test_outdated_tls_versions_and_ciphers_are_refused(listener, arguments):
    run = s_client(listener, *arguments)
    assert "Verify return code: 0 (ok)" not in run.stdout or run.returncode != 0, run.stdout
    assert "alert" in run.stderr or "no protocols available" in run.stderr, run.stderr


def test_answers_over_tls_are_those_of_the_site(listener):
    connection = listener.connect()
    page = get(connection, "/login")
    assert page.status == 200
    assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "__Host-bramley-login=" in page.headers["Set-Cookie"] and "Secure" in page.headers["Set-Cookie"]
    # What a client claims about the scheme is nobody's word.
    verify = get(connection, "/auth/verify", **{"X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil.example"})
    assert verify.status == 401
    assert verify.headers["Location"].startswith(listener.origin + "/login")
    connection.close()


def test_plain_http_ends_at_once(listener):
    answer = exchange(("127.0.0.1", listener.port), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    # Nothing of the site goes out in the clear.
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"this port speaks https\n"), answer
    assert b"strict-transport-security" not in answer.lower()
