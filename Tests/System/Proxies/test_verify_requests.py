"""What each proxy sends to `/auth/verify`, seen by a stand-in for Bramley."""

import pytest

from client import PAGE, Seen, echo
from conftest import in_front_of
from proxies import DOMAIN, Apache, HAProxy

FORGED = [
    (name, value)
    for name in ("X-Forwarded-Uri", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Method", "X-Original-URL",
                 "X-Original-Method", "x-forwarded-uri")
    for value in ("/public/a", "evil.example")]


def asked(bramley) -> Seen:
    seen = Seen(bramley.seen[-1])
    assert seen.target.split("?")[0] == "/auth/verify"
    return seen


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_the_description_is_the_proxys_own(stand_in, method):
    client, bramley, _ = stand_in
    target = "/a%20b/%c3%a9?x=%2F&y=a+b&z=;'"
    answer = client.send(client.app + target, PAGE + FORGED + [("X-Forwarded-For", "203.0.113.9")], method)
    assert answer.seen.target == target
    assert answer.seen.one("X-Forwarded-For") == "127.0.0.1"
    seen = asked(bramley)
    assert seen.method == "GET"
    for name, value in {"Proto": "https", "Host": f"app.{DOMAIN}:{client.port}", "Uri": target, "Method": method,
                        "For": "127.0.0.1"}.items():
        assert seen.one(f"X-Forwarded-{name}") == value


def test_claims_do_not_reach_bramleys_own_pages(stand_in):
    client, bramley, _ = stand_in
    claims = FORGED + [("X-Forwarded-For", "203.0.113.9"), ("X-Auth-Request-Redirect", "/public/a")]
    assert client.send(f"{client.id}/login?return_to=%2Faccount", PAGE + claims).status == 204
    seen = Seen(bramley.seen[-1])
    assert seen.target == "/login?return_to=%2Faccount"
    assert seen.one("X-Forwarded-For") == "127.0.0.1"
    assert seen.one("Host") == f"id.{DOMAIN}:{client.port}"
    assert not [field for field in seen.headers if "evil" in field[1] or "public" in field[1]]


@pytest.mark.parametrize("chunked", [False, True])
def test_content_goes_only_to_the_application(stand_in, chunked):
    client, bramley, _ = stand_in
    body = b"name=value&" * 20_000
    fields = [("Transfer-Encoding", "chunked")] if chunked else []
    framed = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n" if chunked else body
    assert client.send(client.app + "/form", PAGE + fields, "POST", framed).seen.body == body
    seen = asked(bramley)
    assert seen.body == b"" and seen.all("Content-Length") in ([], ["0"]) and not seen.all("Transfer-Encoding")


def test_an_upgrade_goes_only_to_the_application(stand_in):
    client, bramley, application = stand_in
    status, connection = client.web_socket(client.app + "/socket")
    assert status == 101 and echo(connection, b"x") == b"x"
    connection.close()
    seen = asked(bramley)
    assert not seen.all("Upgrade")
    assert "upgrade" not in ",".join(seen.all("Connection")).lower()
    assert seen.one("X-Forwarded-Uri") == "/socket"
    assert "usr_x" in str(application.seen[-1]["headers"])


LISTED = ["X-Auth-Request-User", "X-Auth-Request-Email", "X-Auth-Request-Preferred-Username", "X-Auth-Request-Name",
          "X-Auth-Request-Groups", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Request-ID", "Cookie"]


@pytest.mark.parametrize("name", [*LISTED, ", ".join(LISTED), "close, " + ", ".join(LISTED).lower()])
def test_a_visitors_connection_field_does_not_remove_the_proxys_fields(stand_in, name):
    """RFC 9110 §7.6.1: a proxy removes what Connection lists. Here it would remove the proxy's own word."""
    client, bramley, _ = stand_in
    plain = client.send(client.app + "/", PAGE + [("Cookie", "a=b")]).seen
    seen = client.send(client.app + "/", PAGE + [("Cookie", "a=b"), ("Connection", name)]).seen
    listed = {one.strip().lower() for one in name.split(",")}
    for field in LISTED:
        if field.lower() in listed and plain.all(field):
            assert len(seen.all(field)) == len(plain.all(field)), field
    assert seen.one("X-Auth-Request-User") == "usr_x"
    # Nor from Bramley's own pages.
    assert client.send(f"{client.id}/login", PAGE + [("Connection", name)]).status == 204
    at = Seen(bramley.seen[-1])
    assert at.one("X-Forwarded-For") == "127.0.0.1" and at.one("Host") == f"id.{DOMAIN}:{client.port}"


@pytest.mark.parametrize("kind", [HAProxy, Apache])
def test_only_204_admits_a_request(kind, folder):
    """Where a script of ours reads the answer: another program on Bramley's port opens nothing."""
    with in_front_of(kind, folder) as (client, other, application):
        assert client.send(client.app + "/x").status == 503
        assert len(other.seen) == 1 and not application.seen


@pytest.mark.parametrize("host", ["app", "id"])
def test_the_request_id_is_never_a_visitors(stand_in, host):
    """Else a visitor could choose by which number the log knows their request, or take another's."""
    client, bramley, application = stand_in
    for name in ("X-Request-ID", "x-request-id"):
        client.send(f"{client.app if host == 'app' else client.id}/{name}", PAGE + [(name, "forged-by-a-visitor")])
    for seen in bramley.seen[-2:] + application.seen[-2:]:
        assert "forged-by-a-visitor" not in str(seen)
    if host == "app":
        # Where the proxy makes one, Bramley and the application are told the same.
        assert Seen(application.seen[-1]).all("X-Request-ID") == Seen(bramley.seen[-1]).all("X-Request-ID")
