"""The plain port: it leads to https at publicURL's host, and does nothing else."""

import contextlib
import http.client
import select

import pytest

from echo import connect, exchange
from patience import PATIENCE, eventually
from secure_site import SecureSite, get


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
