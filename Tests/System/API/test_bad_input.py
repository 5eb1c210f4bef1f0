"""Bad input at every route: a documented refusal, in time, and nothing changed. Then the good request is made, of which
all the bad ones were: they were refused only for what was wrong with them."""

import contextlib
import http.client
import json
import re
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import yaml

from app import challenge, post, sheet, taken
from attacker import ROUTES, SAME_ORIGIN, SETTINGS, Person, cookie, send
from closed import DOCUMENT
from inhabited import ENDPOINT, SCOPES, Inhabited, make_id, make_token
from patience import PATIENCE, eventually
from programs import ROOT
from routes import ADMIN, BODY, FORM, TABLE
from web import Answer

FAILURES = ROOT / "docs/reference/failures.md"
# server.limits.requestLine, by default.
LINE = 8_192
SCOPES = set(SCOPES)
# Written beside what is asked for, and by jobs. Tests/System/Linking counts wrong passwords and codes.
WRITTEN = {
    "api_key": {"last_used_at"}, "session": {"last_seen_at", "examine_at"}, "lease": None, "apple_keys": None,
    "sign_in_hour": None, "server": {"seen_at"},
    "user": {"indexed_name", "indexed_groups"}, "user_word": None, "user_group": None}


def test_every_documented_route_is_tried_with_bad_input():
    section = re.search(r"^## Routes\n(.*?)^## ", ROUTES.read_text(), re.MULTILINE | re.DOTALL)[1]
    rows = re.findall(r"^- `([A-Z]+) (/[^`]*)`: (.*)$", section, re.MULTILINE)
    assert {row[:2] for row in rows} == set(TABLE) and len(rows) == len(TABLE)
    for *place, asker in rows:
        scope, route = re.fullmatch(r"`([a-z:]+)`", asker.strip()), TABLE[tuple(place)]
        assert (scope and scope[1]) == (route.asker if route.asker in SCOPES else None), place


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site(SETTINGS | {"apple.nativeNonce": "raw"})


def tap(site, person: str) -> dict:
    nonce = challenge(site)
    return {name: value for name, value in taken(sheet(site, person, nonce), nonce=nonce).items() if name != "user"}


def sign_in_app(site, person: str) -> str:
    return post(site, tap(site, person)).json()["token"]


class Request:
    def __init__(self, site, inhabited: Inhabited, keys: dict, method: str, path: str):
        self.route = route = TABLE[method, path]
        self.method, self.place, self.server = method, path, site
        if path in ADMIN:
            self.server = SimpleNamespace(port=site.admin_port, origin=f"http://127.0.0.1:{site.admin_port}")
        self.person = Person(inhabited, path)
        self.target = "/assets/bramley.css" if path == "/assets/{path...}" else self.person.fill(path)
        self.fields = [SAME_ORIGIN] if route.own_pages else []
        if route.asker in ("page", "session"):
            self.credential = cookie(self.person.token)
        elif route.asker in SCOPES:
            self.credential = ("Authorization", f"Bearer {keys[route.asker]}")
        elif route.asker == "app":
            self.credential = ("Authorization", f"Bearer {sign_in_app(site, 'chie')}")
        elif route.asker == "secret":
            self.credential = ("Authorization", f"Bearer {self.person.way.bearer}")
        elif self.person.way.browser:
            self.credential = ("Cookie", self.person.way.browser)
        else:
            self.credential = None
        self.fill(site)

    def fill(self, site) -> None:
        person = self.person
        self.content = person.way.content
        match self.place:
            case "/apple/callback":
                # Whom nobody asks whether they have an account.
                sign_in_app(site, "boris")
                start = send(site, "GET", "/login/apple")
                form = site.apple.call(
                    "POST", "authorize", {"person": "boris", "authorize_url": start.headers["Location"]})["form"]
                self.content = dict(parse_qsl(form))
                self.credential = ("Cookie", start.headers["Set-Cookie"].split(";")[0])
            case "/apple/notifications":
                sign_in_app(site, "dana")
                made = site.apple.call("POST", "notifications", {
                    "type": "email-disabled", "person": "dana", "deliver": False})
                self.content = {"payload": made["payload"]}
            case place if place in person.fields: self.content = person.fields[place]
            case "/logout" | "/logout/switch" if self.method == "POST": self.content = {"return_to": "/account"}
            case "/api/v1/account":
                tapped = tap(site, "chie")
                self.content = {name: tapped[name] for name in ("authorizationCode", "nonce")}
            case "/api/v1/native/sessions": self.content = tap(site, "ada")
            case "/api/v1/webhooks/retry" | "/api/v1/webhooks/test": self.content = {"endpoint": ENDPOINT}
            case "/api/v1/introspect": self.content = {"token": person.token}
            case "/api/v1/users/{id}" if self.method == "PATCH":
                self.content = {"externalID": person.user, "groups": ["staff"], "state": "active"}

    def encode(self, content: dict) -> bytes:
        return (urlencode(content) if self.route.takes == FORM else json.dumps(content)).encode()

    def send(self, content=None, *, method=None, target=None, kind=True, credential=True, fields=None) -> Answer:
        """The good request, but for what is named."""
        route = self.route
        if content is None:
            content = self.encode(self.content) if route.takes else b""
        sent = list(self.fields if fields is None else fields)
        if route.takes:
            sent += [route.takes] if kind is True else kind
        if credential := self.credential if credential is True else credential:
            sent.append(credential)
        return send(self.server, method or self.method, target or self.target, sent, content)


def everything(site, written: dict = WRITTEN) -> dict:
    tables = site.operator.tables()
    assert set(WRITTEN) <= set(tables)
    found = {}
    for table, names in tables.items():
        if (passed := written.get(table, set())) is not None:
            columns = ", ".join(name for name in names if name not in passed)
            found[table] = sorted(site.operator.database(f"SELECT {columns} FROM {table}"), key=repr)
    return found


def settled(site, written: dict = WRITTEN) -> dict:
    """Everything, once nothing is left to do: revocations that Apple has not been told of, endpoints that new events
    are not queued for, and what a start writes once the server answers: its key and its access rules."""
    unfinished = """
        SELECT (SELECT count(*) FROM revocation WHERE next_attempt_at IS NOT NULL)
        + (SELECT count(*) FROM webhook_endpoint WHERE cursor < (SELECT coalesce(max(sequence), 0) FROM event))
        + (SELECT 2 - count(*) FROM meta WHERE key IN ('audited-apple_key.changed', 'audited-access_rules.changed'))
        """
    eventually(lambda: site.operator.database(unfinished) == [(0,)], "work left by earlier requests")
    return everything(site, written)


def changes(before: dict, after: dict) -> dict:
    """By table, the rows that went and those that came."""
    return {table: ([row for row in rows if row not in after[table]], [row for row in after[table] if row not in rows])
            for table, rows in before.items() if rows != after[table]}


OPENAPI = yaml.load(DOCUMENT.read_text(), yaml.CSafeLoader)


def described(method: str, path: str) -> dict[int, set[str]]:
    """Codes by status: of an operation in docs/openapi.yaml; for others, all those of docs/reference/failures.md."""
    operation = OPENAPI["paths"].get(path, {}).get(method.lower())
    if operation is None:
        rows = re.findall(r"^- `([a-z_]+)` \((\d{3})\):", FAILURES.read_text(), re.MULTILINE)
        return {int(status): {code for code, other in rows if other == status} for _, status in rows}
    found: dict[int, set[str]] = {}
    for status, answer in operation["responses"].items():
        if "$ref" in answer:
            answer = OPENAPI["components"]["responses"][answer["$ref"].rpartition("/")[2]]
        if problem := answer.get("content", {}).get("application/problem+json"):
            found[int(status)] = set(problem["schema"]["allOf"][1]["properties"]["code"]["x-extensible-enum"])
    return found


# Of every route: docs/reference/failures.md.
ALWAYS = {(405, "method_not_allowed"), (501, "method_not_allowed"), (404, "not_found"), (400, "bad_request")}


# No request that a route would see.
IN_ONE_LINE = ("too much for any", "an endless address")


class Refusals:
    """Collects what was not refused as it should have been, so that one run shows all of it."""

    def __init__(self, request: Request):
        self.request, self.wrong = request, []
        self.described = described(request.method, request.place)

    def expect(self, what: str, answer: Answer, *statuses: int, code: str | None = None) -> None:
        if answer.status not in statuses:
            return self.wrong.append(f"{what}: {answer.status} and not {statuses}: {answer.body[:200]!r}")
        # What a proxy passes on has its fields alone.
        if answer.status < 400 or answer.status == 401 and self.request.place in ("/auth/verify", "/oauth2/auth"):
            return
        kind = answer.headers.get("Content-Type", "")
        if kind == "application/problem+json":
            problem = answer.json()
            pair = answer.status, problem["code"]
            if pair not in ALWAYS and problem["code"] not in self.described.get(answer.status, ()):
                self.wrong.append(f"{what}: {pair} is not documented")
            if problem["status"] != answer.status or not problem["errorID"] or code not in (None, problem["code"]):
                self.wrong.append(f"{what}: {problem} and not {code}")
        elif self.request.place.startswith("/oidc/") and kind == "application/json":
            assert set(answer.json()) == {"error", "error_description"}, what
        elif self.request.place.startswith("/api/") and what not in IN_ONE_LINE:
            self.wrong.append(f"{what}: {kind}")
        elif not kind.startswith(("text/html", "text/plain")) or not answer.body:
            self.wrong.append(f"{what}: {kind}, {answer.body[:100]!r}")


def methods(request: Request, expect) -> None:
    allowed = {method for method, path in TABLE if path == request.place} | {"OPTIONS"}
    allowed |= {"HEAD"} if "GET" in allowed else set()
    for method in sorted({"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - allowed):
        answer = request.send(method=method)
        expect(f"the method {method}", answer, 405, code="method_not_allowed")
        said = {name.strip() for name in answer.headers.get("Allow", "").split(",")}
        if said != allowed:
            expect(f"Allow for {method} is {said}", answer)
    expect("no method", request.send(method="BREW"), 501)


def addresses(request: Request, expect) -> None:
    route, target = request.route, request.target
    for more in ("%00", "%ff", "/%2e%2e/", "//", "/%2F", "%"):
        expect(f"the path with {more}", request.send(target=target + more), 400, 404)
    expect("an endless address", request.send(target=f"{target}?x={'x' * LINE}"), 414)
    if route.strict:
        for query in ("x=1", "%00=1", "%ff=1", "state", "=&=", "token=x", "_method=DELETE"):
            expect(f"the parameter {query}", request.send(target=f"{target}?{query}"), 400, code="invalid_request")
    for name in route.once:
        expect(f"{name} twice", request.send(target=f"{target}?{name}=true&{name}=true"), 400)
        if route.strict:
            for value in ("%00", "%ff", "x" * 3000, ""):
                expect(f"{name}={value[:9]}", request.send(target=f"{target}?{name}={value}"), 400, 404, 410)
    if "{id}" in request.place and request.method not in ("PATCH", "PUT"):
        ids = request.person.way.id or request.person.user
        for part in (*map(make_id, ("usr_", "lnk_", "upg_")), "usr_", "lnk_", "upg_", ids.upper(), "x" * 300, "%00", "%F0%9F%8D%8E", "'"):
            answer = request.send(target=target.replace(ids, part))
            if (request.method, request.place) == ("POST", "/link/{id}") and answer.status == 303:
                # To the page, which says that there is no such link.
                answer = send(request.server, "GET", urlsplit(answer.headers["Location"]).path, [request.credential])
            expect(f"the id {part}", answer, 404, 400)


def credentials(request: Request, expect, keys: dict, inhabited: Inhabited) -> None:
    route, person = request.route, request.person
    if route.asker == "nobody":
        return
    expired = Person(inhabited)
    inhabited.write("UPDATE session SET expires_at = 1 WHERE user = ?", [(expired.user,)])
    (_, native), = inhabited.make_sessions([person.user], "native")
    unknown, key = make_token("brs_")[0], make_token("brk_")[0]
    anybody = next(iter(keys.values()))
    cookies = [cookie(token) for token in (unknown, "brs_", "", "x" * 4000, expired.token, native, anybody)]
    bearers = [("Authorization", f"{scheme} {token}") for scheme, token in [
        ("Bearer", unknown), ("Bearer", "brs_"), ("Bearer", key), ("Bearer", "brk_"), ("Bearer", "x" * 4000),
        ("Bearer", expired.token), ("Bearer", person.token), ("Basic", "x"), ("Digest", "x"), ("Bearer", "")]]
    if route.asker == "secret":
        # None is none; what is no secret of this link is one that nobody knows.
        own, other = person.way.bearer, Person(inhabited, "/api/v1/links/{id}/authorize").way.bearer
        for credential in [None, *cookies]:
            expect(f"as {credential}", request.send(credential=credential), 401, code="token_required")
        for credential in [*bearers, *[("Authorization", text) for text in (
                f"Bearer {other}", f"Bearer {own}x", f"Basic {own}", f"Bearer {own[:-1]}", own)]]:
            expect(f"as {credential}", request.send(credential=credential), 404, code="link_unknown")
        expect("twice", request.send(fields=[request.credential]), 404, code="link_unknown")
        return
    if route.asker == "browser":
        # Whoever waits, waits in one browser; every other is led back to the page, or told so.
        other = Person(inhabited, request.place).way.browser
        for credential in [None, *cookies, *bearers, ("Cookie", other), ("Cookie", f"{person.way.browser}; {other}"),
                           ("Cookie", person.way.browser[:-1]), ("Cookie", person.way.browser + "x")]:
            answer = request.send(credential=credential)
            expect(f"as {credential}", answer, 303, 400, 404)
            if answer.status == 303:
                assert urlsplit(answer.headers["Location"]).path == request.target, credential
        return
    if route.asker in SCOPES:
        for credential in [None, *cookies, *bearers]:
            expect(f"as {credential}", request.send(credential=credential), 401)
        for scope in SCOPES - {route.asker}:
            answer = request.send(credential=("Authorization", f"Bearer {keys[scope]}"))
            expect(f"with the key for {scope}", answer, 403, code="insufficient_scope")
        return
    # A page leads to the login page; signing out again is no mistake. For an app's route, a cookie is another site's.
    is_called = request.place.startswith(("/api/", "/auth/verify", "/oauth2/"))
    lost = (401, 403) if route.asker == "app" else (401,) if is_called else (200, 303, 403)
    # A Bearer that is not ours is the application's own.
    for credential in [None, *cookies, *bearers[:2], *bearers[5:7]]:
        expect(f"as {credential}", request.send(credential=credential), *lost)


def origins(request: Request, expect) -> None:
    # Of an app nobody asks where it is.
    if not request.route.own_pages:
        return
    for fields in ([], [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")], [("Origin", "null")],
                   [("Origin", "https://evil.example")], [SAME_ORIGIN, ("Sec-Fetch-Site", "cross-site")]):
        answer = request.send(fields=fields)
        expect(f"from {fields}", answer, request.route.elsewhere, code="cross_site")
        if answer.status == 303:
            assert urlsplit(answer.headers["Location"]).path == "/logout" and "Set-Cookie" not in answer.headers, fields


def contents(request: Request, expect) -> None:
    route = request.route
    too_much(request, expect)
    if not route.takes:
        return
    good, code = request.encode(request.content), route.code
    other = "application/json" if route.takes == FORM else FORM[1]
    if not route.any_type:
        for kind in (
                [], *[[("Content-Type", text)] for text in (
                    other, "text/plain", "", "multipart/form-data; boundary=x", route.takes[1] + "x", "\x80\xff")],
                [route.takes, ("Content-Type", other)], [("Content-Type", other), route.takes]):
            expect(f"the type {kind}", request.send(good or b"{}", kind=kind), 415, 400)
    if route.most < BODY:
        filler = b"x=" + b"y" * route.most if route.takes == FORM else json.dumps({"x": "y" * route.most}).encode()
        expect("too much", request.send(filler), 413, code="content_too_large")
    if route.takes == FORM:
        forms(request, expect)
        return

    def refused(what: str, body: bytes) -> None:
        expect(what, request.send(body), *route.refuses, code=code)

    if not route.may_be_empty:
        refused("nothing", b"")
    for body in (b"[]", b'"x"', b"null", b"true", b"1", b"{", b"}", b"{}x", b"{}{}", b"\xef\xbb\xbf{}", b"\x00", b"{}\x00", b"x=1",
                 b'{"\xff":1}', b'{"x\x00":1}', b"{'x':1}", b"{\"x\":1,}", b"[" * 9_000, b'{"x":' * 900, b"<x/>", b'{"x":NaN}'):
        refused(repr(body[:20]), body)
    if good:
        for cut in (1, len(good) // 2, len(good) - 1):
            refused(f"cut after {cut}", good[:cut])
    if not route.ignores_others:
        refused("a member more", json.dumps(request.content | {"x": 1}).encode())
        refused("a member in other letters", json.dumps({name.upper(): "x" for name in route.needs or ("x",)}).encode())
    for name in route.needs:
        refused(f"without {name}", json.dumps({key: value for key, value in request.content.items() if key != name}).encode())
    for name in (*route.needs, *route.may):
        wrong = [1, 1.5, True, [1], [[]], [None], {"x": 1}, "", "\x00", "\ud800", "x" * 17_000]
        wrong += [] if name in route.null else [None]
        if name == "user":
            wrong = [1, True, [], "x", {"givenName": 1}, {"familyName": ["x"]}, {"x": 1}, {"givenName": "\ud800"}]
        for value in wrong:
            spoilt = request.content | {name: value}
            # Empty is none, as in a form.
            if name in ("identityToken", "returnTo") and value == "" and name in route.may:
                continue
            # With a nonce that is good, a code that reads as one is Apple's to refuse; and the nonce is used up.
            if (name, value) == ("authorizationCode", "\x00") and (request.place == "/api/v1/account" or route.asker == "secret"):
                continue
            # `test_a_wrong_link_code_only_uses_up_a_try`
            if (name, value) == (route.counted, "\x00"):
                continue
            statuses = (*route.refuses, 413) if value == "x" * 17_000 else route.refuses
            answer = request.send(json.dumps(spoilt).encode())
            # A text is read, and then it is no token, no code and no nonce.
            is_read = isinstance(value, str) and name in ("identityToken", "authorizationCode", "nonce")
            expect(f"{name} is {str(value)[:20]!r}", answer, *statuses,
                   code=None if is_read or answer.status == 413 else code)
        value = json.dumps(request.content.get(name, "x")).encode()
        quoted = json.dumps(name).encode()
        rest = good[1:] if request.content else b"}"
        doubled = b"{" + quoted + b":" + value + b"," + (rest if name in request.content else quoted + b":" + value + b"," + rest)
        refused(f"{name} twice", doubled)
        refused(f"{name} twice, spelt otherwise", doubled.replace(quoted, b'"\\u%04x' % ord(name[0]) + quoted[2:], 1))
        refused(f"{name} is no UTF-8", b"{" + quoted + b':"\xff\xfe"}')


def forms(request: Request, expect) -> None:
    route = request.route
    for name in (*route.needs, *route.may):
        rest = {key: value for key, value in request.content.items() if key != name}
        both = urlencode(request.content).encode() + b"&" + urlencode({name: request.content[name]}).encode()
        # Even where nothing is missing: nobody knows which is meant.
        filler = b"".join(b"&x%d=1" % number for number in range(300))
        apart = both.replace(b"&" + name.encode(), filler + b"&" + name.encode())
        expect(f"{name} twice", request.send(both), *route.twice, code=route.code)
        if len(apart) <= route.most:
            expect(f"{name} twice, far apart", request.send(apart), *route.twice, code=route.code)
        if name in route.needs:
            for what, more in (("without", {}), ("empty", {name: ""}), ("upper", {name.upper(): "x"})):
                answer = request.send(urlencode(rest | more).encode())
                expect(f"{name}: {what}", answer, *route.refuses, code=route.code)
        for value in (b"%00", b"%ff%fe", b"\xff", b"%", b"%zz", b"\x00", b"x" * 3000, b"[]", b"//evil.example", b"%0d%0aSet-Cookie:x=1"):
            body = urlencode(rest).encode() + b"&" + name.encode() + b"=" + value
            expect(f"{name}={value[:12]}", request.send(body), *(route.unknown or route.refuses), code=route.code)
    many = "&".join(f"x{number}=1" for number in range(100))
    expect("many fields", request.send(many.encode()), 400, *route.refuses, code=route.code)
    if route.needs:
        for body in (b"", b"&", b"=", b"\x00", b"\xff", b'{"x":1}', b"[]"):
            expect(repr(body), request.send(body), *route.refuses, code=route.code)


def too_much(request: Request, expect) -> None:
    """Announces more content than the server accepts: it does not wait for it."""
    connection = http.client.HTTPConnection("127.0.0.1", request.server.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.putrequest(request.method, request.target, skip_host=True)
        for name, value in (("Host", urlsplit(request.server.origin).netloc), ("Content-Length", str(BODY + 1))):
            connection.putheader(name, value)
        connection.endheaders()
        expect("too much for any", Answer(connection.getresponse()), 413)


@pytest.mark.parametrize("method, path", TABLE, ids=lambda value: value)
def test_bad_input_is_refused_and_changes_nothing(site, inhabited, keys, method, path):
    request = Request(site, inhabited, keys, method, path)
    refusals = Refusals(request)
    before = settled(site)
    for way in (methods, addresses, origins, contents):
        way(request, refusals.expect)
    assert not refusals.wrong, "\n".join(refusals.wrong)
    assert not (found := changes(before, everything(site))), found
    # These make sessions of their own, to be refused.
    credentials(request, refusals.expect, keys, inhabited)
    # Else the server deletes it, once a minute, while another test looks whether anything changes.
    inhabited.write("DELETE FROM session WHERE expires_at = 1", [()])
    assert not refusals.wrong, "\n".join(refusals.wrong)
    if method != "GET" and request.route.asker != "nobody":
        # What the request would have ended is there.
        user, sessions, *_ = request.person.kept()
        assert (request.person.session,) in sessions and (request.person.elsewhere,) in sessions
        assert user and user[0][0] == "active" and user[0][1] is None
    good = request.send()
    assert good.status == request.route.good, (good.status, good.body)


@pytest.mark.parametrize("method, path", [place for place, route in TABLE.items() if route.counted], ids=lambda value: value)
@pytest.mark.parametrize("code", [
    "\x00", "[]", "000000", "//evil.example", "x" * 129, "' OR 1=1", "12345", "1234567", "１２３４５６", "brl_" + "A" * 43])
def test_a_wrong_link_code_only_uses_up_a_try(site, inhabited, keys, method, path, code):
    request = Request(site, inhabited, keys, method, path)
    refusals, written = Refusals(request), WRITTEN | {"account_link": {"tries"}}
    before = settled(site, written)
    answer = request.send(request.encode(request.content | {request.route.counted: code}))
    refusals.expect(code, answer, *request.route.refuses)
    assert not refusals.wrong, "\n".join(refusals.wrong)
    assert not (found := changes(before, everything(site, written))), found
    assert request.send().status == request.route.good
