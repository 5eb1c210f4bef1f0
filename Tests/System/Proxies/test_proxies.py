"""Each proxy with its documented configuration, in front of Bramley and an application."""

import re
from urllib.parse import quote

import pytest

from client import FETCH, PAGE, echo
from patience import eventually
from proxies import CLAIMED_BY_PREFIX, CLAIMS, DOMAIN

# The last two Bramley does not send here: they must not arrive either.
IDENTITY = ["User", "Email", "Preferred-Username", "Name", "Groups", "Access-Token", "Assertion"]

# Pages somebody may ask for: the browser must come back to the very same.
PAGES = [
    "/", "/a/b?x=1&y=2", "/report?q=%2Fadmin%2F&z=a%20b+c&u=%C3%A9%E6%9D%8E&&=&e", "/a%20b/%C3%A9?r=https%3A%2F%2Fevil.example%2F",
    "/deep/page.html?return_to=%2Flogin%3Freturn_to%3D%252F", "/q?a=%26%23%3B%22%27&b=;,:@!$()*~",
]


@pytest.mark.parametrize("page", PAGES)
def test_a_signed_out_visitor_returns_to_the_exact_page(place, page):
    client = place.client()
    refused = client.send(client.app + page)
    assert refused.status == 302
    location = client.sign_in(place.apple, "ada", refused["Location"])
    assert location == client.app + page
    answer = client.send(location)
    assert answer.seen.target == page
    assert answer.seen.one("X-Auth-Request-Email") == "ada@example.com"


@pytest.mark.parametrize("target", ["/d?" + "a=1&" * 475, "/d?" + "/" * 1_900, "/" + "d/" * 900, "/d?q=" + "%C3%A9" * 300])
def test_a_long_address_leads_to_the_login_page_and_back(place, target):
    """An answer names the address escaped, which triples it."""
    client = place.client()
    refused = client.send(client.app + target)
    assert refused.status == 302 and quote(client.app, safe="") in refused["Location"]
    assert client.send(refused["Location"]).status == 200


def test_too_many_cookies_get_a_page(place):
    """nginx and Caddy pass heads on that Bramley refuses; others refuse them themselves."""
    client = place.client()
    cookies = [("Cookie", f"c{index}={'x' * 3_500}") for index in range(7)]
    answer = client.send(f"{client.id}/login", PAGE + cookies)
    if place.proxy.name in ("nginx", "caddy"):
        assert answer.status == 431 and "The request is too large" in answer.text and "Delete the cookies" in answer.text
        assert "default-src 'none'" in answer["Content-Security-Policy"]
    else:
        assert answer.status in (400, 431)
    site = client.send(client.app + "/", PAGE + cookies)
    assert site.status in (400, 431, 500, 502, 503)
    if place.proxy.name == "nginx":
        assert site.status == 500 and "delete the cookies of this site" in site.text


def test_identity_arrives(place):
    seen = place.signed_in("chie").send(f"https://app.{DOMAIN}:{place.ports.secure}/").seen
    assert seen.one("X-Auth-Request-User").startswith("usr_")
    assert seen.one("X-Auth-Request-Email") == seen.one("X-Auth-Request-Preferred-Username") == "chie@example.net"
    assert seen.one("X-Auth-Request-Name") == "%E5%8D%83%E7%B5%B5%20%E5%B1%B1%E7%94%B0"
    assert seen.all("X-Auth-Request-Groups") in ([], [""])


@pytest.fixture(scope="module")
def dana(place):
    """Somebody who stays signed in: each sign-in counts against the limit of an address."""
    return place.signed_in("dana")


# Every way to write the name of a field that an application might take for it.
def claims(value: str) -> list[tuple[str, str]]:
    spellings = ("X-Auth-Request-{0}", "x-auth-request-{1}", "X-AUTH-REQUEST-{2}", "X_Auth_Request_{3}",
                 "X_Auth-Request-{0}", "X-Auth_Request-{0}", "X-Auth-Request_{0}", "X_Auth_Request-{0}",
                 "x-auth_request_{1}", "X_AUTH-REQUEST_{2}")
    return [(spelling.format(name, name.lower(), name.upper(), name.replace("-", "_")), value)
            for name in IDENTITY for spelling in spellings]


@pytest.mark.parametrize("page", ["/", "/hello", "/public/a"])
def test_forged_identity_has_no_effect(place, dana, page):
    # Each proxy takes a hundred fields or so.
    for fields in (claims("root"), [field for field in claims("root")[:30] for _ in range(2)]):
        for visitor in (dana, place.client()) if page != "/" else (dana,):
            seen = visitor.send(dana.app + page, PAGE + fields).seen
            for name in IDENTITY:
                values = seen.all(f"X-Auth-Request-{name}")
                assert len(values) <= 1 and "root" not in str(values), f"{name}: {seen.headers}"
            assert (seen.all("X-Auth-Request-User") not in ([], [""])) == (visitor is dana)
        assert place.client().send(dana.app + "/", PAGE + fields).status == 302


def spellings(name: str) -> list[str]:
    """The name with other characters instead of `-`: CGI's kind of application reads them as the same."""
    others = [name.replace("-", character) for character in "_.~!#$%&'*+^`|"]
    mixed = [text for character in "_."
             for text in (name.replace("-", character, 1), character.join(name.rsplit("-", 1)))]
    return [name, name.lower(), name.upper(), *dict.fromkeys(others + mixed)]


def arrived(visitor, page: str, names: list[str]) -> list[str]:
    """Which of these fields a visitor can send through to the application."""
    found = []
    # Each proxy takes a hundred fields or so.
    for start in range(0, len(names), 60):
        seen = visitor.send(visitor.app + page, PAGE + [(name, "forged") for name in names[start:start + 60]]).seen
        found += [name for name, value in seen.headers if "forged" in value]
    return found


@pytest.mark.parametrize("page,somebody", [("/", True), ("/hello", True), ("/public/a", True), ("/public/a", False)])
def test_a_visitors_claims_are_removed_under_every_known_name(place, dana, page, somebody):
    visitor = dana if somebody else place.client()
    # The second: whose field is set, the proxy replaces it and does not add to it.
    for names in (CLAIMS, [f"X-Auth-Request-{name}" for name in IDENTITY]):
        assert arrived(visitor, page, [spelling for name in names for spelling in spellings(name)]) == []


def test_claims_are_removed_by_prefix_where_the_proxy_can(place, dana):
    found = arrived(dana, "/", CLAIMED_BY_PREFIX)
    # nginx has a list of names, and docs/sites/proxies.md says so.
    assert found == (CLAIMED_BY_PREFIX if place.proxy.name == "nginx" else [])


def test_other_fields_arrive(dana):
    fields = ["X-Requested-By", "Authorization-Hint", "X-Author", "Remotely", "X-Forward", "X-1", "DNT"]
    assert {name.lower() for name in arrived(dana, "/", fields)} == {name.lower() for name in fields}


FORGED = [
    [("X-Forwarded-Uri", "/public/a")], [("X-Forwarded-Uri", "/public/a"), ("X-Forwarded-Uri", "/public/b")],
    [("X-Forwarded-Method", "PUT")], [("X-Forwarded-Proto", "http"), ("X-Forwarded-Host", "evil.example")],
    [("X-Forwarded-Host", f"app.{DOMAIN}"), ("X-Forwarded-Host", "evil.example")],
    [("X-Original-URL", f"https://app.{DOMAIN}/public/a"), ("X-Original-Method", "GET")],
    [("X-Original-URI", "/public/a"), ("X-Original-URI", "/public/b")], [("X-Rewrite-URL", "/public/a")],
    [("X_Forwarded_Uri", "/public/a"), ("X-Forwarded_Uri", "/public/a")],
    [("Connection", "X-Forwarded-Uri, X-Forwarded-Host, Cookie")], [("X-HTTP-Method-Override", "PUT")],
]


@pytest.mark.parametrize("forged", FORGED, ids=range(len(FORGED)))
def test_forged_description_has_no_effect(place, dana, forged):
    client = place.client()
    refused = client.send(f"{client.app}/x?y=z", PAGE + forged)
    # Refused as before, and the way back is the page itself.
    assert refused.status == 302, refused.text
    expected = f"https%3A%2F%2Fapp.{DOMAIN}%3A{place.ports.secure}%2Fx%3Fy%3Dz"
    assert refused["Location"] == f"{client.id}/login?return_to={expected}"
    fields = [field for field in forged if field[0] != "Connection"]
    assert dana.send(f"{client.app}/admin/x", PAGE + fields).status == 403
    seen = dana.send(f"{client.app}/x", PAGE + fields).seen
    assert seen.target == "/x"
    for name, value in seen.headers:
        if name.lower().replace("_", "-").startswith(("x-forwarded-", "x-original-")):
            assert value in ("", "https", "127.0.0.1", f"app.{DOMAIN}:{place.ports.secure}", "/x", "GET"), (name, value)


def test_an_ambiguous_description_is_refused(place):
    client = place.signed_in()
    before = len(place.application.seen)
    for target in ("/public/%2e%2e/admin/x", "/public/..%2fadmin", "//admin/x", "/public//../admin", "/public/../admin",
                   "/public/..;/admin", "/admin;a/x", "/public/%252e%252e/admin", "/public/..%5cadmin"):
        answer = client.send(client.app, PAGE, target=target)
        assert answer.status in (400, 403, 404), f"{target}: {answer.status} {answer.text[:200]}"
    assert len(place.application.seen) == before


def test_requests_for_another_host_are_refused(place):
    client = place.signed_in()
    before = len(place.application.seen)
    for host in ("evil.example", f"app.{DOMAIN}.evil.example", "127.0.0.1", f"x.{DOMAIN}",
                 f"app.{DOMAIN}.:{place.ports.secure}", f"APP.{DOMAIN.upper()}:{place.ports.secure}"):
        answer = client.send(client.app + "/admin/x", PAGE + [("Host", host)])
        assert answer.status >= 400 or answer.body == b"", f"{host}: {answer.status}"
    assert len(place.application.seen) == before


@pytest.mark.parametrize("method, fields, status", [
    ("HEAD", PAGE, 302), ("GET", FETCH, 401), ("GET", [("Sec-Fetch-Mode", "no-cors")], 401),
    ("GET", [("Accept", "application/json"), ("X-Requested-With", "XMLHttpRequest")], 401),
    ("POST", PAGE, 401), ("PUT", PAGE, 401), ("DELETE", PAGE, 401),
], ids=["HEAD", "cors", "no-cors", "XMLHttpRequest", "POST", "PUT", "DELETE"])
def test_only_page_loads_are_redirected_to_the_login(place, dana, method, fields, status):
    body = None if method in ("HEAD", "GET") else bytes(range(256)) * 1024
    # A little: a proxy that refuses may close before it has read all of more.
    assert place.client().send(dana.app + "/form", fields, method, body and b"a=b").status == status
    answer = dana.send(dana.app + "/form?a=b", fields, method, body)
    assert answer.status == 200
    if body:
        assert (answer.seen.method, answer.seen.target, answer.seen.body) == (method, "/form?a=b", body)


def test_rule_for_a_method_sees_the_method(dana):
    assert dana.send(dana.app + "/upload", FETCH, "PUT", b"x").status == 403
    assert dana.send(dana.app + "/upload", FETCH, "POST", b"x").status == 200


def test_web_socket(place):
    client, somebody = place.client(), place.signed_in()
    status, connection = somebody.web_socket(client.app + "/socket")
    assert status == 101
    for text in ("hello", "李雷"):
        assert echo(connection, text.encode()) == text.encode()
    connection.close()
    for visitor, path, expected in ((client, "/socket", 401), (somebody, "/admin/socket", 403)):
        status, connection = visitor.web_socket(client.app + path)
        connection.close()
        assert status == expected
    seen = [seen for seen in place.application.seen if seen["method"] == "WEBSOCKET"]
    assert seen[-1]["target"] == "/socket" and "usr_" in str(seen[-1]["headers"])


def test_public_and_optional_paths(place):
    client = place.client()
    for page in ("/public/style.css?v=1", "/public", "/hello"):
        seen = client.send(client.app + page, FETCH).seen
        assert seen.target == page
        assert all(seen.all(f"X-Auth-Request-{name}") in ([], [""]) for name in IDENTITY)
    seen = place.signed_in().send(client.app + "/hello").seen
    assert seen.one("X-Auth-Request-Email") == "ada@example.com"


def test_forbidden_with_a_page(place):
    client = place.signed_in("boris")
    answer = client.send(client.app + "/admin/a?b=c&d=%2F")
    assert (answer.status, answer["Content-Type"]) == (403, "text/html; charset=utf-8")
    assert "You don’t have access to this page" in answer.text and answer.text.rstrip().endswith("</html>")
    assert "style-src 'sha256-" in answer["Content-Security-Policy"]
    assert "You are signed in as <bdi>Boris" in answer.text
    assert f'action="{client.id}/logout/switch"' in answer.text
    assert f'name="return_to" value="{client.app}/admin/a?b=c&amp;d=%2F"' in answer.text
    # With it the operator finds the line of the log.
    assert re.search("<code>([0-9A-F-]{11})</code>", answer.text)[1] in place.site.server.text()
    assert "<html" not in client.send(client.app + "/admin/a", FETCH).must(403).text
    # One step to another account, which another site cannot take.
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    body = f"return_to={quote(client.app + '/admin/a?b=c', safe='')}".encode()
    other = client.send(f"{client.id}/logout/switch", form + [("Origin", "https://evil.example")], "POST", body)
    assert other["Location"].startswith("/logout?") and client.send(client.app + "/x").status == 200
    switched = client.send(f"{client.id}/logout/switch", form + [("Origin", client.app)], "POST", body)
    assert switched.status == 303 and client.send(client.app + "/x").status == 302
    assert client.sign_in(place.apple, "ada", client.id + switched["Location"]) == client.app + "/admin/a?b=c"


def test_nobody_is_admitted_while_bramley_is_down(place):
    client = place.signed_in()
    place.site.stop()
    try:
        before = len(place.application.seen)
        for page in ("/x", "/public/a", "/hello"):
            for fields in (PAGE, FETCH):
                assert client.send(client.app + page, fields).status >= 500
        assert client.web_socket(client.app + "/socket")[0] >= 500
        assert len(place.application.seen) == before
    finally:
        place.site.start()
    assert client.send(client.app + "/x").status == 200


def test_the_log_contains_no_query(place):
    """Regression: a link's secret was in the proxy's log, where a reader could open the link first."""
    log = place.proxy.folder / "access.log"
    client = place.client()
    if place.proxy.name not in ("nginx", "apache"):
        assert not log.exists(), "these log no requests unless told to"
        return
    target = f"{client.id}/link/lnk_1?token=bra_secret"
    assert client.send(target, [*PAGE, ("Referer", f"{client.id}/x?bra_secret")]).status >= 400
    # Written once the answer is sent.
    eventually(lambda: "/link/lnk_1" in log.read_text(), "the line of the request")
    assert "bra_secret" not in log.read_text()
