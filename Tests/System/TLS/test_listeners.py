"""What the two ports speak, to other implementations and to a browser: TLS, and a redirect to it."""

import contextlib
import http.client
import select
import subprocess

import pytest

from echo import connect, exchange
from patience import PATIENCE, eventually
from processes import finished
from secure_site import SecureSite, get
from visitor import Visitor, start_browser
from web import SESSION


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


def plain(site) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", site.redirect_port, timeout=PATIENCE)


@pytest.fixture(scope="module")
def redirecting(make_shared_site, authority, issued):
    return make_shared_site(
        {"server.limits.headerTimeout": 1, "server.limits.connectionsPerAddress": 20}, SecureSite,
        authority=authority, issued=issued)


@pytest.mark.parametrize("method,status", [
    ("GET", 301), ("HEAD", 301), ("POST", 308), ("PUT", 308), ("DELETE", 308), ("OPTIONS", 308), ("PROPFIND", 308)])
@pytest.mark.parametrize("path", [
    "/", "/login?return_to=%2Fa%20b&x=1", "//evil.example/a", "/.well-known/x", "/a;b?", "/healthz", "/auth/verify"])
def test_every_request_is_redirected_to_the_same_address_with_tls(redirecting, method, status, path):
    connection = plain(redirecting)
    # Whatever the request calls us.
    answer = get(connection, path, method, Host="evil.example:80", **{"X-Forwarded-Host": "evil.example"})
    assert answer.status == status
    assert answer.headers["Location"] == redirecting.origin + path
    assert answer.headers["Strict-Transport-Security"] is None
    assert answer.headers["Set-Cookie"] is None
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "max-age=3600"
    assert (answer.content == b"") == (method == "HEAD")
    assert get(connection, "/again").headers["Location"] == redirecting.origin + "/again"
    connection.close()


def test_absolute_and_other_request_targets_are_redirected(redirecting):
    location = b"Location: " + redirecting.origin.encode()
    for request, path in [
        (b"GET /a HTTP/1.0\r\n\r\n", b"/a"),
        (b"GET http://evil.example/b?c HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", b"/b?c"),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"/"),
        (b"POST /d HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", b"/d"),
    ]:
        answer = exchange(("127.0.0.1", redirecting.redirect_port), request)
        assert location.lower() + path + b"\r\n" in answer.replace(b"Location", b"location"), (request, answer)


@pytest.mark.parametrize("request_bytes,status", [
    (b"GET /a\r\nb HTTP/1.1\r\nHost: x\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\n\r\n", b"400"),
    (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
    (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"414"),
    (b"GET /slow HTTP/1.1\r\nHo", b"408"),
])
def test_malformed_requests_are_refused(redirecting, request_bytes, status):
    answer = exchange(("127.0.0.1", redirecting.redirect_port), request_bytes)
    assert answer.startswith(b"HTTP/1.1 " + status), answer
    assert b"strict-transport-security" not in answer.lower()


def test_connections_to_the_plain_port_count_towards_the_limits(redirecting):
    """One address cannot have more than its share by way of the second port."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(("127.0.0.1", redirecting.redirect_port))) for _ in range(40)]
        # Those that were not let in are closed at once, the others wait for a request.
        eventually(lambda: len(select.select(held, [], [], 0)[0]) >= 20, "the end of what is too much")

    def is_served() -> bool:
        try:
            return get(plain(redirecting), "/").status == 301
        except OSError:
            return False

    # The next test has the same address.
    eventually(is_served, "room after they have left")


@pytest.fixture
def visitor(site, issued):
    # A profile of its own: what it learns by Strict-Transport-Security holds for localhost on every port.
    browser = start_browser(arguments=(f"--ignore-certificate-errors-spki-list={issued.spki}",))
    visitor = Visitor(browser, site)
    # The simulated Apple speaks http, the pages here https.
    visitor.allow_complaint(r"Mixed Content: .* requested an insecure element 'http://127\.0\.0\.1:")
    yield visitor
    try:
        visitor.check()
    finally:
        browser.quit()


def test_signing_in_and_out_and_a_notification_from_apple(site, visitor):
    visitor.signs_in("ada")
    assert visitor.driver.current_url.startswith("https://localhost:")
    assert visitor.heading() == "Ada Byron"
    cookie = visitor.cookies()[SESSION]
    assert cookie["secure"] and cookie["httpOnly"] and visitor.is_signed_in()
    # Apple's servers come by TLS as well, and believe the certificate.
    site.apple.notify("consent-revoked", "ada")
    assert not visitor.is_signed_in()


def test_from_the_plain_port_to_the_login_page(site, visitor):
    visitor.open(f"http://localhost:{site.redirect_port}/login?return_to=%2Faccount")
    visitor.arrives("/login")
    assert visitor.driver.current_url == site.url("/login?return_to=%2Faccount")
