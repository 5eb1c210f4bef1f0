"""What the listener speaks, as other implementations see it from outside."""

import socket
import ssl
import subprocess
import time

import pytest

from patience import PATIENCE
from secure_site import SecureSite, get


def s_client(site, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{site.port}", "-servername", "localhost", "-CAfile",
         str(site.trust), "-verify_return_error", *arguments],
        input="", capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def listener(make_shared_site, authority, issued):
    return make_shared_site({"server.limits.handshakeTimeout": 1}, SecureSite, authority=authority, issued=issued)


@pytest.mark.parametrize("arguments", [
    ("-tls1_3",), ("-tls1_2",), ("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    ("-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"), ("-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"),
    ("-tls1_3", "-groups", "P-256"),
])
def test_supported_tls_versions_and_ciphers_are_accepted(listener, arguments):
    run = s_client(listener, *arguments)
    assert run.returncode == 0, run.stderr
    assert "Verify return code: 0 (ok)" in run.stdout


@pytest.mark.parametrize("arguments", [
    ("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"), ("-tls1", "-cipher", "ALL:@SECLEVEL=0"),
    ("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"), ("-tls1_2", "-cipher", "AES128-GCM-SHA256:@SECLEVEL=0"),
    ("-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"), ("-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"),
    ("-alpn", "spdy/3.1"),
])
def test_outdated_tls_versions_and_ciphers_are_refused(listener, arguments):
    run = s_client(listener, *arguments)
    assert "Verify return code: 0 (ok)" not in run.stdout or run.returncode != 0, run.stdout
    assert "alert" in run.stderr or "no protocols available" in run.stderr, run.stderr


def test_the_whole_chain_is_sent(listener):
    run = s_client(listener, "-showcerts")
    assert run.stdout.count("BEGIN CERTIFICATE") == 2


@pytest.mark.parametrize("offered,chosen", [
    (("http/1.1",), "http/1.1"), (("h2",), "h2"), (("http/1.1", "h2"), "h2"), (("h3", "http/1.1"), "http/1.1"), ((), None)])
def test_a_protocol_is_agreed_on(listener, offered, chosen):
    with listener.context(*offered).wrap_socket(
            socket.create_connection(("127.0.0.1", listener.port)), server_hostname="localhost") as stream:
        assert stream.selected_alpn_protocol() == chosen
        assert stream.version() == "TLSv1.3"


def test_answers_are_those_of_the_site(listener):
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


def test_a_silent_client_is_disconnected(listener):
    """Each by the limit of a handshake, not of a request: before the first byte, and in the middle."""
    hello = bytes.fromhex("16030100f8010000f40303")
    for beginning in (b"", hello):
        with socket.create_connection(("127.0.0.1", listener.port), timeout=PATIENCE) as connection:
            start = time.monotonic()
            connection.sendall(beginning)
            try:
                while connection.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            assert 0.5 < time.monotonic() - start < 15


def test_plain_http_ends_at_once(listener):
    with socket.create_connection(("127.0.0.1", listener.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while piece := connection.recv(4096):
            answer += piece
        # Nothing of the site goes out in the clear.
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"this port speaks https\n"), answer
        assert b"strict-transport-security" not in answer.lower()


def test_resumption(listener):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = listener.context()
        context.minimum_version = context.maximum_version = version

        def visit(session=None):
            stream = context.wrap_socket(
                socket.create_connection(("127.0.0.1", listener.port)), server_hostname="localhost", session=session)
            stream.sendall(b"GET /login/attempt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while stream.recv(65536):
                pass
            return stream

        first = visit()
        assert not first.session_reused
        assert visit(first.session).session_reused, version
