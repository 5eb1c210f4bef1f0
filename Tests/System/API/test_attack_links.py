"""Where an answer may lead, and who may read it: open redirects, split fields, and other origins."""

import json
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from app import APP
from attacker import DOCUMENTED, PROXIES, Page, Person, browser_pages, cookie, send
from ways import LINKS, SIGN_IN

ALLOWED = "https://app.example.com"


@pytest.fixture(scope="module", params=["trusted", "untrusted"])
def site(make_shared_site, request):
    """Once with a proxy between that is believed, and once without."""
    return make_shared_site({
        **LINKS, "apple.bundleIDs": [APP], "log.level": "info",
        "server.trustedProxies": PROXIES if request.param == "trusted" else [],
        "api.allowedOrigins": [ALLOWED], "login.allowedReturnOrigins": [ALLOWED], "assertion.audience": "backend"})


HOSTILE = [
    "//evil.example", "///evil.example/", "/\\evil.example", "\\\\evil.example", "https:evil.example", "https:/evil.example",
    "https:///evil.example", "\t//evil.example", " //evil.example", "/\t/evil.example", "/\n/evil.example", "/%2fevil.example",
    "/%5cevil.example", "@evil.example", "https://evil.example", "https://app.example.com@evil.example/",
    "https://app.example.com.evil.example", "https://evilapp.example.com", "http://app.example.com", "https://app.example.com:444",
    "https://app.example.com\\@evil.example", "https://app.example.com%2f@evil.example", "https://app.example.com./",
    "https://app。example.com", "https://аpp.example.com", "javascript:alert(1)", "data:text/html,x", "/a/../..//evil.example",
    "/.%2e//evil.example", "/\r\nSet-Cookie: x=y", "/%0d%0aSet-Cookie:%20x=y", "/x\r\n\r\n<script>", "/%00",
    "https:/\u0301/evil.example", "https://app.example.com/\u2028x\r\nLocation: https://evil.example",
    "https://app.example.com\u0301.evil.example", "https://[::1]evil.example", "//app.example.com.evil.example/%2e%2e",
]
# To oauth2-proxy's routes, another scheme stands for the one origin that has this host: it leads there, with its own scheme.
NAMES_AN_ALLOWED_HOST = {"http://app.example.com"}
# The parameter that leads somewhere, of every route that has one; others are given it in vain.
PARAMETERS = ["return_to", "rd", "redirect", "returnTo", "next", "url"]
PAGES = browser_pages()


def check(site, answer, own=(ALLOWED,)):
    """Nothing leads to anybody but us, Apple, who is allowed, and the application's one page for its passwords."""
    allowed = {site.origin, site.apple.origin, "https://account.apple.com", *own}
    leads = [answer.headers["Location"]] if answer.headers["Location"] else []
    if "text/html" in (answer.headers["Content-Type"] or ""):
        for tag, attributes in Page(answer.body).tags:
            leads += [attributes[name] for name in ("href", "action", "src", "srcset", "formaction") if name in attributes]
            assert tag != "script" or "nonce" in attributes and "src" in attributes
            assert not [name for name in attributes if name.startswith("on")]
    for lead in leads:
        assert all(0x20 < ord(character) < 0x7F for character in lead), lead
        parts = urlsplit(lead)
        if lead.partition("?ticket=brt_")[0] == SIGN_IN:
            continue
        if parts.scheme or parts.netloc or lead.startswith(("//", "/\\")):
            assert f"{parts.scheme}://{parts.netloc}" in allowed, lead
    assert "evil" not in urlsplit(answer.headers["Location"] or "").netloc
    assert not [value for value in answer.headers.get_all("Set-Cookie") or [] if not value.startswith("__Host-bramley")]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("signed_in", [True, False])
def test_no_page_redirects_to_a_hostile_address(site, inhabited, path, signed_in):
    person = Person(inhabited, path)
    route, path = path, person.fill(path)
    fields = person.cookies[0 if signed_in else 1:]
    # The last is a path of ours, whatever its first letter looks like.
    for target in [*HOSTILE, "/\u0301/evil.example"]:
        for name in PARAMETERS:
            answer = send(site, "GET", f"{path}?{name}={quote(target, safe='')}", fields)
            assert answer.status in (200, 303, 400), (name, target)
            check(site, answer)
            leads = name == "return_to" and route in ("/login", "/login/apple") or name == "rd" and path.startswith("/oauth2/")
            if name == "rd" and leads and target in NAMES_AN_ALLOWED_HOST:
                assert answer.status != 400, target
            elif leads and target in HOSTILE:
                assert answer.status == 400, target
        # What an oauth2-proxy would be told by its proxy, and what a proxy is told by nobody.
        forged = [("X-Auth-Request-Redirect", quote(target, safe="/:@.\\#?&=%")), ("X-Forwarded-Host", "evil.example"),
                  ("X-Forwarded-Proto", "https"), ("X-Forwarded-Uri", "//evil.example"), ("X-Original-URL", "//evil.example")]
        check(site, send(site, "GET", path, [*fields, *forged]))
        check(site, send(site, "GET", path + "?rd=/x", [*fields, *forged]))
    check(site, send(site, "GET", path, [*fields, ("Host", "evil.example")]))


def test_sign_out_redirects_only_to_allowed_origins(site, inhabited):
    for target in HOSTILE:
        person = Person(inhabited)
        answer = send(site, "POST", "/logout", person.page, f"return_to={quote(target, safe='')}")
        assert answer.status == 400, target
        check(site, answer)
        # Refused whole: nobody is signed out and then lost.
        assert send(site, "GET", "/api/v1/session", [cookie(person.token)]).status == 200
    answer = send(site, "POST", "/logout", person.page, f"return_to={quote(ALLOWED + '/bye', safe='')}")
    assert (answer.status, answer.headers["Location"]) == (303, ALLOWED + "/bye")


def test_links_return_only_to_allowed_origins(site, inhabited):
    key = [("Authorization", f"Bearer {inhabited.key('links')}"), ("Content-Type", "application/json")]
    link = Person(inhabited, "/api/v1/links")
    before = link.kept()
    for target in HOSTILE:
        answer = send(site, "POST", "/api/v1/links", key, json.dumps(link.way.content | {"returnTo": target}))
        assert answer.status == 400 and answer.json()["code"] == "invalid_request", target
    assert link.kept() == before
    # Nothing but where it leads was wrong.
    answer = send(site, "POST", "/api/v1/links", key, json.dumps(link.way.content | {"returnTo": ALLOWED + "/x"}))
    assert answer.status == 201


def test_requests_cannot_change_where_the_application_is(site, inhabited):
    asked, linked = Person(inhabited, "/login/existing"), Person(inhabited, "/link/{id}")
    for target in HOSTILE:
        for name in ("return_to", "returnTo", "ticket", "url", "link", "code"):
            more = urlencode({name: target})
            form = urlencode(asked.way.content | {"choice": "connect"}) + "&" + more
            answer = send(site, "POST", f"/login/existing?{more}", asked.page, form)
            assert answer.status == 303 and answer.headers["Location"].startswith(SIGN_IN + "?ticket=brt_"), target
            assert "evil" not in answer.headers["Location"]
            # The same answer every time: it was given the first time.
            answer = send(site, "POST", linked.fill("/link/{id}") + "?" + more, linked.page, more)
            assert answer.status == 303 and "?link=lnk_" in answer.headers["Location"], target
            assert "evil" not in answer.headers["Location"]
            check(site, answer)


LANGUAGES = {"en", "de", "fr", "es", "ja", "ko", "zh-Hans", "ar"}
LOCALES = [
    "de\r\nSet-Cookie: x=y", "de&return_to=https://evil.example", "de#x", "de?x", "de\"><script>alert(1)</script>", "de'",
    "../../etc/passwd", "de\x00", "x" * 3000, "de " * 700, "-".join(["de"] * 500), "\u0301de", "de\u202e", "{{t.login}}",
    "zh-Hans\r\nLocation: https://evil.example", "AR", "*", "", " ", "de;q=1", "i-klingon", "en-US-x-evil", "%64%65",
]


@pytest.mark.parametrize("path", PAGES)
def test_hostile_languages_in_addresses_are_ignored(site, inhabited, path):
    person = Person(inhabited, path)
    route, path = path, person.fill(path)
    for locale in LOCALES:
        query = "ui_locales=" + quote(locale, safe="")
        for fields in (person.cookies[1:], person.cookies):
            for again in (query, f"{query}&{query}"):
                answer = send(site, "GET", f"{path}?{again}", fields)
                assert answer.status in (200, 303, 400), locale[:40]
                assert answer.headers.get("Content-Language", "en") in LANGUAGES
                check(site, answer)
                given = parse_qs(urlsplit(answer.headers["Location"] or "").query)
                assert set(given) <= {"ui_locales", "return_to"} or route in ("/login/apple", "/link/{id}/apple"), answer.headers["Location"]
                assert not given.get("ui_locales") or given["ui_locales"][0] in LANGUAGES
            answer = send(site, "GET", path, [*fields, ("Accept-Language", quote(locale, safe=" *;=,-\u0301")[:4000])])
            assert answer.status in (200, 303), locale[:40]


@pytest.mark.parametrize("path", ["/link/{id}", "/login/existing"])
def test_hostile_languages_in_forms_are_ignored(site, inhabited, path):
    person = Person(inhabited, path)
    content = person.way.content | ({"choice": "connect"} if path == "/login/existing" else {})
    for locale in LOCALES:
        quoted = quote(locale, safe="")
        for query, fields in ((f"?ui_locales={quoted}", []), (f"?ui_locales={quoted}&ui_locales=de", []),
                              ("", [("Accept-Language", quote(locale, safe=" *;=,-\u0301")[:4000])])):
            form = urlencode(content) + (f"&ui_locales={quoted}" if query else "")
            answer = send(site, "POST", person.fill(path) + query, [*person.page, *fields], form)
            assert answer.status in (200, 303, 400, 422), locale[:40]
            assert answer.headers.get("Content-Language", "en") in LANGUAGES
            check(site, answer)
    # And one that is a language is spoken.
    answer = send(site, "POST", person.fill(path), [*person.page, ("Accept-Language", "de")], urlencode(content))
    assert answer.status == 303 or (answer.status, answer.headers["Content-Language"]) == (200, "de")


def test_only_known_notices_are_shown(site, inhabited):
    person = Person(inhabited)

    def paragraphs(query: str, *fields: tuple[str, str]) -> int:
        return send(site, "GET", path + query, [cookie(person.token), *fields]).body.count(b"<p")

    for path, known, unknown in [
            ("/account", "session-ended", "unconfirmed"), ("/account/delete", "unconfirmed", "session-ended")]:
        count = paragraphs("")
        assert paragraphs(f"?done={known}") == count + 1
        for code in ("Session-Ended", "session-ended ", "session-ended\u0301", "x", f"{known}&done={known}", unknown, "<b>", ""):
            assert paragraphs(f"?done={quote(code, safe='&=')}") == count, code
        for kind in ("cross-site", "same-site"):
            assert paragraphs(f"?done={known}", ("Sec-Fetch-Site", kind)) == count


READABLE = {"/api/v1/session", "/api/v1/session/assertion"}
# Without the visitor's cookie.
OPEN = {"/.well-known/jwks.json", "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
        "/oidc/token", "/oidc/userinfo", "/oidc/revoke", "/oidc/device_authorization"}
STRANGERS = [
    "https://evil.example", "null", "", "https://app.example.com.evil.example", "https://evilapp.example.com",
    "https://sub.app.example.com", "http://app.example.com", "https://app.example.com:443", "https://app.example.com:8443",
    "https://app.example.com.", "https://APP.example.com", "HTTPS://app.example.com", "https://app.example.com/",
    "https://app.example.com, https://evil.example", "https://app.example.com https://evil.example", " ", "*",
    "https://app.example.com%00", "https://app.example.com\u0301", "app.example.com", "//app.example.com", "https://example.com",
    "https://app.example.com@evil.example", "https://user@app.example.com",
]


@pytest.mark.parametrize("method, path", DOCUMENTED, ids=lambda value: value)
def test_cross_origin_reads_are_refused_except_where_documented(site, inhabited, method, path):
    person = Person(inhabited, path)
    for verb in (method, "HEAD" if method == "GET" else method, "OPTIONS"):
        for origin in STRANGERS if path in READABLE else [*STRANGERS, ALLOWED]:
            for extra in ([], [("Origin", ALLOWED)] if path in READABLE else [], [
                    ("Access-Control-Request-Method", method), ("Access-Control-Request-Headers", "authorization")]):
                fields = [("Origin", origin.encode()), *extra, ("Sec-Fetch-Site", "cross-site"), cookie(person.token)]
                answer = send(site, verb, person.fill(path), fields)
                told = {name.lower() for name in answer.headers if name.lower().startswith("access-control-")}
                if path in OPEN:
                    assert "access-control-allow-credentials" not in told
                    assert answer.headers.get("Access-Control-Allow-Origin", "*") == "*"
                else:
                    assert not told, (verb, origin, extra)
                if path in READABLE and verb != "DELETE":
                    # A cache in between gives nobody the answer that is another's.
                    assert "Origin" in answer.headers["Vary"]
    if path in READABLE:
        answer = send(site, method, path, [("Origin", ALLOWED), cookie(person.token)])
        if method == "GET":
            assert answer.headers["Access-Control-Allow-Origin"] == ALLOWED
            assert answer.headers["Access-Control-Allow-Credentials"] == "true"
            asked = [("Origin", ALLOWED), ("Access-Control-Request-Method", "DELETE")]
            assert "DELETE" not in send(site, "OPTIONS", path, asked).headers["Access-Control-Allow-Methods"]
        else:
            assert "Access-Control-Allow-Origin" not in answer.headers


def test_every_page_for_browsers_is_tried():
    assert len(PAGES) >= 11
