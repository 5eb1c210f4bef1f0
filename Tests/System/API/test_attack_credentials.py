"""Sessions and keys, stolen, planted, doubled and taken where they do not belong."""

import base64
import json

import pytest

from attacker import COOKIE, FORM, OPERATORS, PROXIES, SAME_ORIGIN, Person, backend_routes, cookie, documented, send
from inhabited import ENDPOINT, SCOPES, WEBHOOKS, make_token
from ways import APP, LINKS
from web import bearer, call, sign_in


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site({
        **LINKS, **OPERATORS, "apple.bundleIDs": [APP],
        "log.level": "info", "server.trustedProxies": PROXIES, "assertion.audience": "backend",
        **WEBHOOKS})


# Routes that say or do something for whoever is signed in: every one that is not in the second table.
NOBODYS = {
    ("GET", "/login/attempt"), ("GET", "/login/apple"), ("POST", "/apple/callback"), ("POST", "/apple/notifications"),
    ("GET", "/oauth2/sign_in"), ("GET", "/oauth2/start"), ("GET", "/oauth2/sign_out"), ("GET", "/.well-known/jwks.json"),
    ("GET", "/assets/{path...}"), ("GET", "/auth/forbidden"), ("GET", "/.well-known/apple-app-site-association"),
    ("POST", "/api/v1/native/challenge"), ("POST", "/api/v1/native/sessions"),
    ("GET", "/link/{id}/attempt"), ("GET", "/link/{id}/apple"), ("POST", "/link/{id}"), ("POST", "/login/existing"),
    ("GET", "/.well-known/change-password"), ("POST", "/api/v1/links/{id}/authorize"),
    # Without a program's request they say nothing: Tests/System/OpenID.
    *((method, path) for method, path, _ in documented() if path.startswith("/oidc/")),
    ("GET", "/.well-known/openid-configuration"), ("GET", "/.well-known/oauth-authorization-server"),
}
BACKENDS = {(method, path) for method, path, _ in backend_routes()}
PEOPLES = [(method, path) for method, path, _ in documented() if (method, path) not in NOBODYS | BACKENDS]


def outcome(site, person, method, path, fields):
    """What tells one who is signed in from one who is not."""
    browser = [("Cookie", person.way.browser)] if person.way.browser else []
    answer = send(site, method, person.fill(path), [SAME_ORIGIN, FORM, *browser, *fields],
                  person.form(path) if method == "POST" else "")
    told = person.user.encode() in answer.body or person.user in str(answer.headers)
    return answer.status, answer.headers["Location"], told


def test_every_route_is_in_a_table():
    assert ("GET", "/api/v1/session/assertion") in PEOPLES and ("GET", "/auth/verify") in PEOPLES
    assert NOBODYS <= {(method, path) for method, path, _ in documented()}
    assert len(PEOPLES) >= 17


@pytest.mark.parametrize("method, path", PEOPLES, ids=lambda value: value)
def test_doubled_renamed_or_altered_cookies_sign_nobody_in(site, inhabited, method, path):
    person, attacker = Person(inhabited, path), Person(inhabited)
    mine, theirs = person.token, attacker.token
    out = outcome(site, person, method, path, [])
    before = person.kept(), attacker.kept()
    for fields in [
        # Twice: two sessions, one and nonsense, twice the same; in one field and in two.
        [("Cookie", f"{COOKIE}={mine}; {COOKIE}={theirs}")], [("Cookie", f"{COOKIE}={theirs}; {COOKIE}={mine}")],
        [("Cookie", f"{COOKIE}={mine}; {COOKIE}=")], [("Cookie", f"{COOKIE}=; {COOKIE}={mine}")],
        [("Cookie", f"{COOKIE}={mine}; {COOKIE}={mine}")], [("Cookie", f"{COOKIE}={mine};{COOKIE} ={theirs}")],
        [("Cookie", f"{COOKIE}={mine}; a=b;\t{COOKIE}\t={theirs}")],
        [cookie(mine), cookie(theirs)], [cookie(theirs), cookie(mine)], [cookie(mine), cookie(mine)],
        # Other names: what a sibling host can set, and what only looks like ours.
        [("Cookie", f"bramley={mine}")], [("Cookie", f"__host-bramley={mine}")], [("Cookie", f"__HOST-BRAMLEY={mine}")],
        [("Cookie", f"__Secure-bramley={mine}")], [("Cookie", f"__Host-bramley-login={mine}")],
        [("Cookie", f"x__Host-bramley={mine}")], [("Cookie", f"__Host-bramley[0]={mine}")], [("Cookie", f"={COOKIE}={mine}")],
        [("Cookie", f"__Host%2Dbramley={mine}")], [("Cookie2", f"{COOKIE}={mine}")],
        # Other values.
        [("Cookie", f'{COOKIE}="{mine}"')], [("Cookie", f"{COOKIE}={mine},{COOKIE}={mine}")],
        [("Cookie", f"{COOKIE}={mine}=")], [("Cookie", f"{COOKIE}={mine}%00")], [("Cookie", f"{COOKIE}= {mine} x")],
        [("Cookie", f"{COOKIE}={mine[:-1]}")], [("Cookie", f"{COOKIE}={mine.upper()}")], [("Cookie", f"{COOKIE}")],
        [("Cookie", f"$Version=1; {COOKIE}={mine}; {COOKIE}={theirs}")],
        # Elsewhere.
        [("Authorization", f"Bearer {mine}")], [("Authorization", f"Basic {mine}")], [("X-Session", mine)],
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
    """Fixation: whatever the browser holds before, it holds another afterwards, and the old one opens nothing."""
    attacker = Person(inhabited)
    # Whom nobody asks whether they have an account.
    sign_in(site, "ada")
    invented, _ = make_token("brs_")
    for planted in (attacker.token, invented, "brs_", "x" * 4000):
        start = send(site, "GET", "/login/apple", [cookie(planted)])
        assert start.status == 303
        binding = start.headers["Set-Cookie"].split(";")[0]
        form = site.apple.call("POST", "authorize", {"person": "ada", "authorize_url": start.headers["Location"]})["form"]
        done = send(site, "POST", "/apple/callback", [FORM, ("Cookie", f"{binding}; {COOKIE}={planted}")], form)
        assert done.status == 303, done.body
        new, = [value for value in done.headers.get_all("Set-Cookie") if value.startswith(COOKIE + "=")]
        token = new.split(";")[0].partition("=")[2]
        assert token != planted and token.startswith("brs_")
        assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(new.split("; ")) and "Domain" not in new
        ada = call(site, "GET", "/api/v1/session", {"Cookie": f"{COOKIE}={token}"}).json()["user"]
        assert ada["id"] != attacker.user
        after = send(site, "GET", "/api/v1/session", [cookie(planted)])
        assert after.status == 401 or after.json()["user"]["id"] == attacker.user


@pytest.mark.parametrize("method, path, scope", backend_routes(), ids=lambda value: value)
def test_an_api_key_opens_only_routes_of_its_scopes(site, inhabited, keys, method, path, scope):
    person = Person(inhabited, path)
    kind, body = ("Content-Type", "application/json"), ""
    if method == "PATCH":
        body = '{"groups":["admin"]}'
    elif path == "/api/v1/clients/{id}/secret":
        body = "{}"
    elif person.way.content:
        body = json.dumps(person.way.content)
    elif path.startswith("/api/v1/webhooks/") and method == "POST":
        body = json.dumps({"endpoint": ENDPOINT})
    elif method == "POST":
        kind, body = FORM, f"token={person.token}"
    before = person.kept()

    def ask(*fields):
        return send(site, method, person.fill(path), [kind, *fields], body)

    basic = base64.b64encode
    for name, key in keys.items():
        if name == scope:
            continue
        for credential in (f"Bearer {key}", "Basic " + basic(f"x:{key}".encode()).decode()):
            answer = ask(("Authorization", credential))
            assert answer.status == 403 and answer.json()["code"] == "insufficient_scope", name
            # Nothing else in the request widens it.
            assert ask(("Authorization", credential), cookie(person.token), SAME_ORIGIN).status == 403
            assert ask(("Authorization", credential), ("X-Scope", scope)).status == 403
    good = keys[scope]
    for fields in [
        [("Authorization", f"Bearer {good}"), ("Authorization", "Basic " + basic(f"x:{good}".encode()).decode())],
        [("Authorization", f"Bearer {good}"), ("Authorization", f"Bearer {good}")],
        [("Authorization", f"Bearer {good}, Bearer {good}")], [("Authorization", good)],
        [("Authorization", f"Bearer {good}x")], [("Authorization", f"Bearer {good[:-1]}")],
        [("Authorization", f"Bearer {good.upper()}")], [("Authorization", f"Bearer\t{good}")],
        [("Authorization", "Basic " + basic(f"{good}:".encode()).decode())],
        [("Authorization", "Basic " + basic(good.encode()).decode())], [("Proxy-Authorization", f"Bearer {good}")],
        [("Cookie", f"{COOKIE}={good}"), SAME_ORIGIN], [("Authorization", f"Bearer {person.token}")],
    ]:
        assert ask(*fields).status == 401, fields
    assert send(site, method, person.fill(path) + "?access_token=" + good, [kind], body).status == 401
    assert person.kept() == before
    assert ask(("Authorization", f"Bearer {good}")).status in (200, 201, 202, 204)


@pytest.fixture(scope="module")
def keys(inhabited):
    """A link belongs to the key that began it: that one is among them."""
    return {scope: inhabited.key(scope) for scope in SCOPES}


@pytest.mark.parametrize("method, path", PEOPLES, ids=lambda value: value)
def test_an_api_key_is_no_session(site, inhabited, keys, method, path):
    person = Person(inhabited, path)
    out = outcome(site, person, method, path, [])
    everything = inhabited.make_key(*SCOPES)
    for fields in ([("Authorization", f"Bearer {everything}")], [cookie(everything)]):
        assert outcome(site, person, method, path, fields) == out, fields


def test_a_revoked_api_key_is_refused_at_once(site, inhabited):
    key = inhabited.make_key(*SCOPES)
    assert call(site, "GET", "/api/v1/users", bearer(key)).status == 200
    assert key not in site.operator.bramley("api-keys", "list", "--json")
    newest = inhabited.read("SELECT id FROM api_key ORDER BY created_at DESC LIMIT 1")[0][0]
    site.operator.bramley("api-keys", "revoke", newest, "--yes")
    person = Person(inhabited)
    for method, path, _ in backend_routes():
        answer = send(site, method, person.fill(path), [("Authorization", f"Bearer {key}")])
        assert answer.status == 401 and answer.json()["code"] == "invalid_token", path


def test_no_assertion_is_given_for_ended_or_disabled_sessions(site, inhabited):
    """Assertions are kept for a minute: never past the end of what they say."""
    for end in ("revoke", "disabled", "pending", "delete"):
        person = Person(inhabited)
        for _ in range(3):
            kept = send(site, "GET", "/auth/verify?assertion=true", [cookie(person.token)])
            assert kept.status == 204 and kept.headers["X-Auth-Request-Assertion"].count(".") == 2
        assert send(site, "GET", "/api/v1/session/assertion", [cookie(person.token)]).status == 200
        key = bearer(inhabited.make_key(*SCOPES))
        if end == "revoke":
            assert call(site, "DELETE", f"/api/v1/users/{person.user}/sessions", key).status == 204
        elif end == "delete":
            assert call(site, "DELETE", f"/api/v1/users/{person.user}", key).status == 202
        else:
            assert call(site, "PATCH", f"/api/v1/users/{person.user}", key | {"Content-Type": "application/json"},
                        f'{{"state":"{end}"}}').status == 200
        for path in ("/auth/verify?assertion=true", "/oauth2/auth?assertion=true", "/api/v1/session/assertion"):
            answer = send(site, "GET", path, [cookie(person.token)])
            assert answer.status in (401, 403), (end, path)
            assert not answer.headers.get("X-Auth-Request-Assertion"), (end, path)
            assert b'"assertion"' not in answer.body


def test_the_key_set_holds_only_public_members(site, inhabited):
    person = Person(inhabited)
    assert send(site, "GET", "/api/v1/session/assertion", [cookie(person.token)]).status == 200
    keys = call(site, "GET", "/.well-known/jwks.json").json()["keys"]
    assert keys
    for key in keys:
        # Those of ID tokens, once a program is registered.
        own = {"n", "e"} if key["kty"] == "RSA" else {"crv", "x", "y"}
        assert set(key) == {"kty", "kid", "use", "alg"} | own
        assert (key["kty"], key["use"], key["alg"]) in {("EC", "sig", "ES256"), ("RSA", "sig", "RS256")}
        assert key.get("crv", "P-256") == "P-256"
