"""Requests that change something, forged: from other sites, in other words, at every route there is."""

import json
from urllib.parse import urlsplit

import pytest

from app import APP
from attacker import BACKENDS, DOCUMENTED, OPERATORS, PROXIES, SAME_ORIGIN, Person, cookie, send
from routes import FORM, JSON, TABLE
from ways import LINKS
from web import bearer, call

ALLOWED = "https://app.example.com"
# Who may send what, and what becomes of it when they do. Every documented route that is no GET is in exactly one.
OWN_PAGES = {place: route.good for place, route in TABLE.items()
             if route.own_pages and place[1] not in ("/oidc/consent", "/device")} | {("DELETE", "/api/v1/account"): 202}
# What a page may send elsewhere without asking first.
SIMPLE = [FORM, ("Content-Type", "text/plain"), ("Content-Type", "multipart/form-data; boundary=x"), ("X-No-Type", "")]
# From elsewhere it does nothing and leads to the page with the button.
ELSEWHERE = {"/logout/switch": "/logout"}
OVERRIDES = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]
FROM_ALLOWED = [[("Sec-Fetch-Site", "same-site"), ("Origin", ALLOWED)], [("Origin", ALLOWED)]]
# Signed by Apple, and bound to the browser by state and binding, or to the app by its nonce.
APPLE = {("POST", "/apple/callback"), ("POST", "/apple/notifications"), ("POST", "/api/v1/native/challenge"),
         ("POST", "/api/v1/native/sessions")}
# For who has the secret of a link. What it takes is JSON, which no page of another site sends.
SECRETS = {("POST", "/api/v1/links/{id}/authorize")}
# Of applications: two go on as a GET, the others take no cookie. The decision of a person has tests of its own.
PROGRAMS = {("POST", "/device"), *(("POST", f"/oidc/{name}") for name in (
    "authorize", "consent", "logout", "token", "userinfo", "revoke", "device_authorization"))}


@pytest.fixture(scope="module")
def site(make_shared_site):
    """One that trusts this machine as its proxy, so that forged words of a proxy count as far as they can."""
    return make_shared_site({
        **LINKS, **OPERATORS, "apple.bundleIDs": [APP], "log.level": "info", "server.trustedProxies": PROXIES,
        "api.allowedOrigins": [ALLOWED], "login.allowedReturnOrigins": [ALLOWED]})


def test_every_route_that_changes_something_is_in_these_tables():
    changing = [place for place in DOCUMENTED if place[0] not in ("GET", "HEAD", "OPTIONS")]
    backends = [place for place in BACKENDS if place[0] != "GET"]
    assert sorted(changing) == sorted([*OWN_PAGES, *APPLE, *SECRETS, *PROGRAMS, *backends])


def origins(site) -> list[list[tuple[str, str]]]:
    """What browsers, and those who know them, send with a request of another site."""
    own, port, evil = site.origin, site.port, "https://evil.example"
    return [
        *[[("Sec-Fetch-Site", value)] for value in (
            "cross-site", "none", "", "Same-Origin", "same-origin, same-origin", "same-origin;x")],
        *[[("Sec-Fetch-Site", value), ("Origin", origin)] for value, origin in (
            ("cross-site", evil), ("cross-site", own), ("same-site", f"http://app.localhost:{port}"),
            ("same-site", own), ("same-site", ALLOWED), ("none", own))],
        [SAME_ORIGIN, SAME_ORIGIN], [SAME_ORIGIN, ("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "cross-site"), SAME_ORIGIN], [], [("Referer", own + "/account")],
        *[[("Origin", origin)] for origin in (
            "null", "", ALLOWED, evil, f"http://evil.localhost:{port}", f"http://localhost:{port}.evil.example",
            f"http://localhost.evil.example:{port}", f"https://localhost:{port}", "http://localhost",
            f"http://LOCALHOST:{port}", f"http://localhost.:{port}", f"http://127.0.0.1:{port}", own + "/",
            f"{own} {evil}")],
        [("Origin", own), ("Origin", own)], [("Origin", own), ("Origin", evil)],
        [("Origin", "http://evil.example"), ("Host", "evil.example")],
        [("Origin", evil), ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "https")],
        [("Origin", evil), ("Forwarded", "host=evil.example;proto=https")],
        [("Origin", evil), ("X-Requested-With", "XMLHttpRequest")],
    ]


@pytest.mark.parametrize("method, path", OWN_PAGES, ids=lambda value: value)
def test_a_forged_request_changes_nothing(site, inhabited, method, path):
    person = Person(inhabited, path)
    before = person.kept()
    place, body = person.fill(path), person.form(path) if method == "POST" else ""
    kinds = [FORM] if method == "DELETE" else SIMPLE
    for fields in origins(site):
        # It is for the pages of this origin too: below.
        if path in ELSEWHERE and fields in FROM_ALLOWED:
            continue
        for kind in kinds:
            answer = send(site, method, place, [*fields, kind, *person.cookies], body)
            assert answer.status == (303 if path in ELSEWHERE else 403), (fields, kind)
            assert answer.headers["Location"] is None or urlsplit(answer.headers["Location"]).path == ELSEWHERE[path], fields
            assert "Set-Cookie" not in answer.headers, fields
            assert "Access-Control-Allow-Origin" not in answer.headers, fields
    assert person.kept() == before
    # The very same request from a page of ours does it: it was refused for where it came from, and for nothing else.
    answer = send(site, method, place, person.page, body)
    assert answer.status == OWN_PAGES[method, path], answer.body
    assert person.kept() != before


@pytest.mark.parametrize("fields", FROM_ALLOWED, ids=str)
def test_a_page_of_an_allowed_origin_can_switch_accounts(site, inhabited, fields):
    person = Person(inhabited)
    answer = send(site, "POST", "/logout/switch", [*fields, FORM, *person.cookies])
    assert answer.status == 303 and urlsplit(answer.headers["Location"]).path == "/login"
    assert (person.session,) not in person.kept()[1] and (person.elsewhere,) in person.kept()[1]


@pytest.mark.parametrize("path", [
    path for method, path in OWN_PAGES if path.startswith(("/account/", "/login/", "/operator/"))])
@pytest.mark.parametrize("kind", [
    ("Content-Type", "text/plain"), JSON, ("X-No-Type", ""),
    ("Content-Type", "multipart/form-data; boundary=x"), ("Content-Type", "application/x-www-form-urlencodedx")])
def test_only_form_bodies_are_accepted(site, inhabited, path, kind):
    person = Person(inhabited, path)
    before = person.kept()
    assert send(site, "POST", path, [SAME_ORIGIN, kind, *person.cookies], person.form(path)).status == 415
    twice = [SAME_ORIGIN, FORM, kind if kind[0] == "Content-Type" else FORM, *person.cookies]
    assert send(site, "POST", path, twice, person.form(path)).status in (400, 415)
    assert person.kept() == before


@pytest.mark.parametrize("method, path", OWN_PAGES, ids=lambda value: value)
def test_method_overrides_and_other_methods_change_nothing(site, inhabited, method, path):
    person = Person(inhabited, path)
    before = person.kept()
    path, body = person.fill(path), person.form(path)
    for fields in (person.page, [*person.page, *[(name, method) for name in OVERRIDES]]):
        for query in ("", "?" + body, f"?_method={method}"):
            assert send(site, "GET", path + query, fields).status in (200, 303, 400, 404, 405)
        for other in ("HEAD", "PUT", "PATCH", "OPTIONS", "DELETE" if method == "POST" else "POST"):
            answer = send(site, other, path, fields, body + f"&_method={method}" if other == "POST" else "")
            # Without its action the operator's page asks about nothing.
            assert answer.status in (200, 204, 303, 404, 405, *[400] * path.startswith("/operator/")), other
    assert person.kept() == before


@pytest.mark.parametrize("method, path", BACKENDS, ids=lambda value: value)
def test_cookies_and_pages_do_not_open_backend_routes(site, inhabited, method, path):
    person = Person(inhabited, path)
    before, takes_json = person.kept(), method == "PATCH" or person.way.content
    body = json.dumps(person.way.content or {"state": "disabled"}) if takes_json else "token=x"
    for fields in ([SAME_ORIGIN], [("Origin", site.origin)], [SAME_ORIGIN, ("Origin", ALLOWED)]):
        for credential in ([], [("Authorization", f"Bearer {person.token}")],
                           [("Authorization", f"Basic {person.token}")], [("X-API-Key", person.token)]):
            sent = [*fields, *credential, JSON if takes_json else FORM, cookie(person.token)]
            answer = send(site, method, person.fill(path), sent, body if method in ("POST", "PATCH") else "")
            assert answer.status == 401, (fields, credential)
            assert "Access-Control-Allow-Origin" not in answer.headers
    assert person.kept() == before


@pytest.mark.parametrize("method, path", sorted(SECRETS), ids=lambda value: value)
def test_pages_cannot_call_app_routes(site, inhabited, method, path):
    """Without asking first, even if all secrets are guessed right; and the cookies of a session stand for no secret."""
    person = Person(inhabited, path)
    before = person.kept()
    place, content = person.fill(path), json.dumps(person.way.content)
    secret = [("Authorization", f"Bearer {person.way.bearer}")] if person.way.bearer else []
    cookies = [cookie(person.token), ("Cookie", f"__Host-bramley-login={person.token}")]
    for fields in origins(site):
        for kind in SIMPLE:
            answer = send(site, method, place, [*fields, kind, *secret, *cookies], content)
            assert answer.status == 415, (fields, kind)
            assert "Access-Control-Allow-Origin" not in answer.headers, fields
        if secret:
            answer = send(site, method, place, [*fields, JSON, *cookies], content)
            assert answer.status == 401 and answer.json()["code"] == "token_required", fields
    asked = send(site, "OPTIONS", place, [("Origin", ALLOWED), ("Access-Control-Request-Method", method),
                                          ("Access-Control-Request-Headers", "content-type, authorization")])
    assert not [name for name in asked.headers if name.lower().startswith("access-control-")]
    assert person.kept() == before
    answer = send(site, method, place, [JSON, *secret], content)
    assert answer.status == 200 and person.kept() != before, answer.body


@pytest.mark.parametrize("path", ["/link/{id}", "/login/existing"])
def test_links_and_questions_are_bound_to_the_browser_that_began_them(site, inhabited, path):
    person, other = Person(inhabited, path), Person(inhabited, path)
    before, body = person.kept(), person.form(path)
    for browser in ([], [cookie(person.token)], other.cookies, [("Cookie", "__Host-bramley-login=x")],
                    [("Cookie", person.way.browser), ("Cookie", other.way.browser)]):
        answer = send(site, "POST", person.fill(path), [SAME_ORIGIN, FORM, *browser], body)
        assert "__Host-bramley=" not in str(answer.headers.get_all("Set-Cookie")), browser
        assert answer.status in (303, 400, 404), browser
        assert "code=" not in (answer.headers["Location"] or ""), browser
    assert person.kept() == before
    assert send(site, "POST", person.fill(path), person.page, body).status == 303
    assert person.kept() != before


def test_forged_callbacks_sign_nobody_in(site, inhabited):
    def people() -> list[list[tuple]]:
        return [inhabited.read(f"SELECT count(*) FROM {table}") for table in ("session", "user")]

    before = people()
    for path, kind, body in (("/apple/callback", FORM, "state=x&code=y&id_token=a.b.c"),
                             ("/apple/notifications", JSON, '{"payload":"a.b.c"}')):
        for fields in origins(site):
            answer = send(site, "POST", path, [*fields, kind], body)
            assert answer.status in (400, 403, 429, 503), (path, fields)
            assert "__Host-bramley=" not in (answer.headers.get("Set-Cookie") or "")
    assert people() == before


def test_app_tokens_work_without_a_page_and_browser_tokens_do_not(site, inhabited):
    person = Person(inhabited)
    (_, native), = inhabited.make_sessions([person.user], "native")
    before = person.kept()
    for path in ("/api/v1/session", "/api/v1/account"):
        assert call(site, "DELETE", path, dict([SAME_ORIGIN]), token=person.token).status == 401
    # With a Bearer of ours, the cookie beside it is not looked at, whoever sent it.
    mixed = [("Authorization", "Bearer brs_" + "A" * 43), SAME_ORIGIN, cookie(person.token)]
    assert send(site, "DELETE", "/api/v1/account", mixed).status == 401
    assert person.kept() == before
    assert call(site, "DELETE", "/api/v1/session", bearer(native)).status == 204
