"""Sessions and keys, stolen, planted, duplicated and used where they are not valid."""

import base64
import json

import pytest

from attacker import BACKENDS, COOKIE, DOCUMENTED, SAME_ORIGIN, SETTINGS, Person, cookie, send
from inhabited import ENDPOINT, SCOPES, make_token
from routes import FORM, JSON, TABLE
from web import Browser, bearer, call, new_address, sign_in


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site(SETTINGS)


# Routes that say or do something for whoever is signed in: every one that is not in the second table.
NOBODYS = {
    ("GET", "/login/attempt"), ("GET", "/login/apple"), ("POST", "/apple/callback"), ("POST", "/apple/notifications"),
    ("GET", "/oauth2/sign_in"), ("GET", "/oauth2/start"), ("GET", "/oauth2/sign_out"), ("GET", "/.well-known/jwks.json"),
    ("GET", "/assets/{path...}"), ("GET", "/auth/forbidden"), ("GET", "/.well-known/apple-app-site-association"),
    ("POST", "/api/v1/native/challenge"), ("POST", "/api/v1/native/sessions"),
    ("GET", "/link/{id}/attempt"), ("GET", "/link/{id}/apple"), ("POST", "/link/{id}"), ("POST", "/login/existing"),
    ("GET", "/.well-known/change-password"), ("POST", "/api/v1/links/{id}/authorize"),
    # Without a program's request they say nothing: Tests/System/OpenID.
    *(place for place in DOCUMENTED if place[1].startswith("/oidc/")),
    ("GET", "/.well-known/openid-configuration"), ("GET", "/.well-known/oauth-authorization-server"),
}
PEOPLES = [place for place in DOCUMENTED if place not in NOBODYS | set(BACKENDS)]


def outcome(site, person, method, path, fields):
    """Answers that distinguish a signed-in visitor from others."""
    browser = [("Cookie", person.way.browser)] if person.way.browser else []
    answer = send(site, method, person.fill(path), [SAME_ORIGIN, FORM, *browser, *fields],
                  person.form(path) if method == "POST" else "")
    told = person.user.encode() in answer.body or person.user in str(answer.headers)
    return answer.status, answer.headers["Location"], told


def test_every_route_is_in_a_table():
    assert ("GET", "/api/v1/session/assertion") in PEOPLES and ("GET", "/auth/verify") in PEOPLES
    assert NOBODYS <= set(DOCUMENTED)
    assert len(PEOPLES) >= 17


@pytest.mark.parametrize("method, path", PEOPLES, ids=lambda value: value)
def test_doubled_renamed_or_altered_cookies_sign_nobody_in(site, inhabited, method, path):
    person, attacker = Person(inhabited, path), Person(inhabited)
    mine, theirs = person.token, attacker.token
    out = outcome(site, person, method, path, [])
    before = person.kept(), attacker.kept()
    cookies = [
        # Twice: two sessions, one and nonsense, twice the same.
        f"{COOKIE}={mine}; {COOKIE}={theirs}", f"{COOKIE}={theirs}; {COOKIE}={mine}", f"{COOKIE}={mine}; {COOKIE}=",
        f"{COOKIE}=; {COOKIE}={mine}", f"{COOKIE}={mine}; {COOKIE}={mine}", f"{COOKIE}={mine};{COOKIE} ={theirs}",
        f"{COOKIE}={mine}; a=b;\t{COOKIE}\t={theirs}", f"$Version=1; {COOKIE}={mine}; {COOKIE}={theirs}",
        # Other names: what a sibling host can set, and what only looks like ours.
        f"bramley={mine}", f"__host-bramley={mine}", f"__HOST-BRAMLEY={mine}", f"__Secure-bramley={mine}",
        f"__Host-bramley-login={mine}", f"x__Host-bramley={mine}", f"__Host-bramley[0]={mine}", f"={COOKIE}={mine}",
        f"__Host%2Dbramley={mine}",
        # Other values.
        f'{COOKIE}="{mine}"', f"{COOKIE}={mine},{COOKIE}={mine}", f"{COOKIE}={mine}=", f"{COOKIE}={mine}%00",
        f"{COOKIE}= {mine} x", f"{COOKIE}={mine[:-1]}", f"{COOKIE}={mine.upper()}", COOKIE]
    for fields in [
        *[[("Cookie", text)] for text in cookies],
        # In two fields, and elsewhere.
        [cookie(mine), cookie(theirs)], [cookie(theirs), cookie(mine)], [cookie(mine), cookie(mine)],
        [("Cookie2", f"{COOKIE}={mine}")], [("Authorization", f"Bearer {mine}")], [("Authorization", f"Basic {mine}")],
        [("X-Session", mine)],
        # A Bearer of ours decides alone.
        [("Authorization", "Bearer brs_" + "A" * 43), cookie(mine)],
        [("Authorization", "Bearer brs_x"), ("Authorization", "Bearer other"), cookie(mine)],
    ]:
        found = outcome(site, person, method, path, fields)
        # One that stands under the name of the cookie that ties a link to this browser: with two, it is no browser's.
        twice = person.way.browser and fields[0][1].startswith("__Host-bramley-login=") and found == (400, None, False)
        assert found == out or twice, fields
        assert (person.kept(), attacker.kept()) == before, fields
    # What a sibling host adds does not sign anybody out, where it is not under our name.
    tossed = [("Cookie", f"bramley={theirs}; __host-bramley={theirs}; {COOKIE}={mine}; __Secure-bramley={theirs}")]
    assert outcome(site, person, method, path, tossed) != out or person.kept() != before[0]


def test_a_session_planted_before_sign_in_is_replaced(site, inhabited):
    attacker = Person(inhabited)
    # Whom nobody asks whether they have an account.
    sign_in(site, "ada")
    invented, _ = make_token("brs_")
    for planted in (attacker.token, invented, "brs_", "x" * 4000):
        browser = Browser(site, new_address(), {COOKIE: planted})
        done = browser.comes_back(browser.goes_to_apple("ada")).must(303)
        new, = [value for value in done.headers.get_all("Set-Cookie") if value.startswith(COOKIE + "=")]
        token = browser.cookies[COOKIE]
        assert token != planted and token.startswith("brs_")
        assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(new.split("; ")) and "Domain" not in new
        assert browser.session()["user"]["id"] != attacker.user
        after = send(site, "GET", "/api/v1/session", [cookie(planted)])
        assert after.status == 401 or after.json()["user"]["id"] == attacker.user


@pytest.mark.parametrize("method, path", BACKENDS, ids=lambda value: value)
def test_an_api_key_opens_only_routes_of_its_scopes(site, inhabited, keys, method, path):
    person, scope = Person(inhabited, path), TABLE[method, path].asker
    own = {"/api/v1/users/{id}": {"groups": ["admin"]}, "/api/v1/clients/{id}/secret": {}}
    content = own.get(path, person.way.content)
    if path in ("/api/v1/webhooks/retry", "/api/v1/webhooks/test"):
        content = {"endpoint": ENDPOINT}
    kind, body = JSON, json.dumps(content) if TABLE[method, path].takes else ""
    if path == "/api/v1/introspect":
        kind, body = FORM, f"token={person.token}"
    before = person.kept()

    def ask(*fields):
        return send(site, method, person.fill(path), [kind, *fields], body)

    def basic(text: str) -> str:
        return "Basic " + base64.b64encode(text.encode()).decode()

    for name in set(keys) - {scope}:
        for credential in (f"Bearer {keys[name]}", basic(f"x:{keys[name]}")):
            assert ask(("Authorization", credential)).must(403).json()["code"] == "insufficient_scope", name
            # Nothing else in the request widens it.
            assert ask(("Authorization", credential), cookie(person.token), SAME_ORIGIN).status == 403
            assert ask(("Authorization", credential), ("X-Scope", scope)).status == 403
    good = keys[scope]
    for fields in [
        [("Authorization", f"Bearer {good}"), ("Authorization", basic(f"x:{good}"))],
        [("Authorization", f"Bearer {good}"), ("Authorization", f"Bearer {good}")],
        *[[("Authorization", text)] for text in (
            f"Bearer {good}, Bearer {good}", good, f"Bearer {good}x", f"Bearer {good[:-1]}", f"Bearer {good.upper()}",
            f"Bearer\t{good}", basic(f"{good}:"), basic(good), f"Bearer {person.token}")],
        [("Proxy-Authorization", f"Bearer {good}")], [("Cookie", f"{COOKIE}={good}"), SAME_ORIGIN],
    ]:
        assert ask(*fields).status == 401, fields
    assert send(site, method, person.fill(path) + "?access_token=" + good, [kind], body).status == 401
    assert person.kept() == before
    assert ask(("Authorization", f"Bearer {good}")).status in (200, 201, 202, 204)


@pytest.mark.parametrize("method, path", PEOPLES, ids=lambda value: value)
def test_an_api_key_is_not_a_session(site, inhabited, keys, method, path):
    person = Person(inhabited, path)
    out, everything = outcome(site, person, method, path, []), inhabited.key(*SCOPES)
    for fields in ([("Authorization", f"Bearer {everything}")], [cookie(everything)]):
        assert outcome(site, person, method, path, fields) == out, fields


def test_a_revoked_api_key_is_refused_at_once(site, inhabited):
    key = inhabited.operator.key(*SCOPES)
    assert call(site, "GET", "/api/v1/users", bearer(key)).status == 200
    assert key not in site.operator.bramley("api-keys", "list", "--json")
    newest = inhabited.read("SELECT id FROM api_key ORDER BY created_at DESC LIMIT 1")[0][0]
    site.operator.bramley("api-keys", "revoke", newest, "--yes")
    person = Person(inhabited)
    for method, path in BACKENDS:
        answer = send(site, method, person.fill(path), [("Authorization", f"Bearer {key}")])
        assert answer.status == 401 and answer.json()["code"] == "invalid_token", path


def test_no_assertion_is_given_for_ended_or_disabled_sessions(site, inhabited):
    for end in ("revoke", "disabled", "pending", "delete"):
        person = Person(inhabited)
        for _ in range(3):
            kept = send(site, "GET", "/auth/verify?assertion=true", [cookie(person.token)])
            assert kept.status == 204 and kept.headers["X-Auth-Request-Assertion"].count(".") == 2
        assert send(site, "GET", "/api/v1/session/assertion", [cookie(person.token)]).status == 200
        user = f"/api/v1/users/{person.user}"
        request, status = {
            "revoke": (("DELETE", f"{user}/sessions"), 204), "delete": (("DELETE", user), 202),
        }.get(end, (("PATCH", user, None, {"state": end}), 200))
        assert call(site, *request, token=inhabited.key(*SCOPES)).status == status
        for path in ("/auth/verify?assertion=true", "/oauth2/auth?assertion=true", "/api/v1/session/assertion"):
            answer = send(site, "GET", path, [cookie(person.token)])
            assert answer.status in (401, 403), (end, path)
            assert not answer.headers.get("X-Auth-Request-Assertion"), (end, path)
            assert b'"assertion"' not in answer.body


def test_the_key_set_holds_only_public_members(site, inhabited):
    assert send(site, "GET", "/api/v1/session/assertion", [cookie(Person(inhabited).token)]).status == 200
    keys = call(site, "GET", "/.well-known/jwks.json").json()["keys"]
    assert keys
    for key in keys:
        # Those of ID tokens, once a program is registered.
        assert set(key) == {"kty", "kid", "use", "alg"} | ({"n", "e"} if key["kty"] == "RSA" else {"crv", "x", "y"})
        assert (key["kty"], key["use"], key["alg"]) in {("EC", "sig", "ES256"), ("RSA", "sig", "RS256")}
        assert key.get("crv", "P-256") == "P-256"
