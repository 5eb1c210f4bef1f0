"""The authorization endpoint: demands 1 to 20 of an OpenID provider."""

from urllib.parse import urlencode, urlsplit

import pytest

from party import CALLBACK, Browser, call, posted, register, return_target, signed_in
from patience import eventually
from processes import fails
from web import SESSION, start_of

EVIL = "https://evil.example"


def test_metadata_has_the_exact_issuer_and_only_supported_features(site, grafana):
    answer = call(site, "GET", "/.well-known/openid-configuration")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    # RFC 8414 has another place for it.
    assert call(site, "GET", "/.well-known/oauth-authorization-server").body == answer.body
    document = answer.json()
    assert document["issuer"] == site.origin and document["request_uri_parameter_supported"] is False
    assert document["response_types_supported"] == ["code"] and document["subject_types_supported"] == ["public"]
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert document["grant_types_supported"] == [
        "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"]
    assert document["device_authorization_endpoint"] == document["issuer"] + "/oidc/device_authorization"
    assert document["backchannel_logout_supported"] is document["backchannel_logout_session_supported"] is True
    for name, address in document.items():
        if name.endswith("_endpoint") or name == "jwks_uri":
            assert address.startswith(site.origin)
            assert call(site, "GET", urlsplit(address).path).status != 404, name


def test_keys_are_rsa_and_have_ids(site, grafana, browser):
    grafana.tokens(browser)
    rsa = [key for key in call(site, "GET", "/.well-known/jwks.json").json()["keys"] if key["kty"] == "RSA"]
    assert rsa and all(key["kid"] and key["alg"] == "RS256" and len(key["n"]) >= 342 for key in rsa)


def test_get_and_post_begin_the_same_sign_in(grafana, browser):
    answer = browser.send("POST", "/oidc/authorize", grafana.path().partition("?")[2]).must(303)
    assert browser.own(answer.location).startswith("/oidc/authorize?")
    assert return_target(browser.follow(answer)).startswith("/oidc/authorize?")


@pytest.mark.parametrize("changes", [
    {"client_id": "nobody"}, {"client_id": None}, {"client_id": "gra fana"},
    {"redirect_uri": None}, {"redirect_uri": CALLBACK + "/"}, {"redirect_uri": CALLBACK[:-1]},
    {"redirect_uri": CALLBACK.upper()}, {"redirect_uri": CALLBACK + "?a=b"}, {"redirect_uri": EVIL},
    {"redirect_uri": CALLBACK.replace("https", "http")}, {"redirect_uri": "//" + CALLBACK.partition("//")[2]},
    {"client_id": ["grafana", EVIL]}, {"redirect_uri": [CALLBACK, EVIL]},
])
def test_an_unknown_client_or_address_or_a_second_one_is_a_page(grafana, browser, changes):
    answer = browser.get(grafana.path(**changes))
    assert answer.status == 400 and "Location" not in answer.headers
    assert answer.headers["Content-Type"].startswith("text/html") and b"error-id" in answer.body


def test_the_loopback_port_is_free_only_for_public_clients(site):
    uri = "http://127.0.0.1:4711/callback"
    public, other = register(site, "desktop", "--public", redirect_uri=uri), register(site, "service", redirect_uri=uri)
    for party, status, uris in [
        (public, 200, ["http://127.0.0.1:4712/callback", "http://127.0.0.1:65535/callback"]),
        (public, 400, ["http://127.0.0.1:4711/other", "http://127.0.0.2:4711/callback",
                       "http://127.0.0.1:04711/callback", "http://127.0.0.1:70000/callback",
                       "http://127.0.0.1:4711@evil.example/callback", "https://127.0.0.1:4711/callback"]),
        (other, 400, ["http://127.0.0.1:4712/callback"]),
    ]:
        for uri in uris:
            assert Browser(site).get(party.path(redirect_uri=uri)).status == status, uri


@pytest.mark.parametrize("changes, error", [
    ({"response_type": None}, "invalid_request"), ({"response_type": "token"}, "unsupported_response_type"),
    ({"response_type": "code id_token"}, "unsupported_response_type"), ({"response_mode": "fragment"}, "invalid_request"),
    ({"scope": "profile"}, "invalid_scope"),
    ({"code_challenge_method": "plain"}, "invalid_request"), ({"code_challenge_method": None}, "invalid_request"),
    ({"code_challenge": None}, "invalid_request"), ({"code_challenge": "short"}, "invalid_request"),
    ({"prompt": "none login"}, "invalid_request"), ({"max_age": "-1"}, "invalid_request"),
    ({"max_age": "soon"}, "invalid_request"), ({"request": "e30."}, "request_not_supported"),
    ({"request_uri": "https://grafana.example.com/r"}, "request_uri_not_supported"),
    ({"state": "s-4711", "nonce": "a\0b"}, "invalid_request"),
])
def test_other_errors_go_to_the_application(site, grafana, browser, changes, error):
    answer = browser.get(grafana.path(**changes))
    assert answer.status == 303 and answer.location.startswith(CALLBACK + "?")
    told = answer.parameters()
    assert (told["error"], told["state"], told["iss"]) == (error, "s-4711", site.origin)


@pytest.mark.parametrize("name", ["scope", "state", "nonce", "response_type", "code_challenge", "prompt", "max_age",
                                  "display", "ui_locales", "login_hint", "acr_values", "claims"])
def test_a_parameter_twice_is_an_error(grafana, browser, name):
    once = f"&{name}=y" if name in ("display", "ui_locales", "login_hint", "acr_values", "claims") else ""
    told = browser.get(grafana.path(prompt="login", max_age="9") + f"{once}&{name}=x").parameters()
    assert told["error"] == "invalid_request"


def test_unknown_parameters_are_ignored(grafana, browser):
    assert browser.get(grafana.path(audience=["a", "b"])).status == 200


def test_the_nonce_is_copied_unchanged(grafana, browser):
    nonce = "ünï %+&=\"'<>"
    assert grafana.claims(grafana.tokens(browser, nonce=nonce)["id_token"])["nonce"] == nonce
    assert "nonce" not in grafana.claims(grafana.tokens(browser, nonce=None)["id_token"])


def test_prompt_none_shows_nothing(grafana, browser):
    assert browser.get(grafana.path(prompt="none")).parameters()["error"] == "login_required"
    browser.sign_in()
    assert "code" in browser.get(grafana.path(prompt="none")).parameters()


def test_prompt_login_goes_to_apple_again(grafana, browser):
    first = grafana.claims(grafana.tokens(browser)["id_token"])
    page = browser.get(grafana.path(prompt="login"))
    assert page.status == 200, "a session answers a request for another sign-in"
    target = return_target(page)
    assert browser.get(target).status == 200
    second = grafana.claims(grafana.redeem(browser.return_to(target).parameters()["code"]).json()["id_token"])
    assert second["auth_time"] >= first["auth_time"] and second["sid"] == first["sid"]


@pytest.mark.parametrize("prompt", ["select_account", "consent select_account"])
def test_select_account_goes_to_apple(grafana, browser, prompt):
    browser.sign_in()
    assert browser.get(grafana.path(prompt=prompt)).status == 200
    assert "code" in grafana.authorize(browser, "boris", prompt=prompt).parameters()


def test_prompt_none_shows_no_page_under_the_limit_either(make_site):
    site = make_site({"log.level": "info", "server.limits.signInsPerMinute": 3})
    party, browser, address = register(site, "silent"), Browser(site), {"X-Forwarded-For": "192.0.2.7"}
    errors = [browser.get(party.path(prompt="none"), address).parameters()["error"] for _ in range(6)]
    assert errors[:2] == ["login_required"] * 2 and errors[-1] == "temporarily_unavailable"
    assert browser.get(party.path(), address).status == 429


def opaque(party, browser, **changes):
    """The answer to a request by POST, where it leads."""
    answer = browser.send("POST", "/oidc/authorize", party.path(**changes).partition("?")[2])
    return browser.follow(answer) if answer.status == 303 and "/oidc/authorize" in answer.location else answer


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("signed_in", [True, False])
@pytest.mark.parametrize("state, nonce", [("s" * 1_025, "n" * 513), ("s" * 4_000, "n" * 2_000), ("ü" * 512, "é" * 256),
                                          ("s" * 8_192, "n" * 8_192), (";'\"<>&=+%00" * 50, "n")])
def test_long_opaque_values_come_back_whole_with_the_issuer(site, grafana, browser, method, signed_in, state, nonce):
    if method == "GET" and len(state) == 8_192:
        pytest.skip("longer than a request line")
    if signed_in:
        browser.sign_in()
    changes = {"state": state, "nonce": nonce}
    answer = browser.get(grafana.path(**changes)) if method == "GET" else opaque(grafana, browser, **changes)
    if not signed_in:
        assert answer.status == 200, answer.body
        target = return_target(answer)
        assert len(target) < 3_100
        answer = browser.return_to(target)
    told = answer.parameters()
    assert (told["state"], told["iss"]) == (state, site.origin)
    assert grafana.claims(grafana.redeem(told["code"]).json()["id_token"])["nonce"] == nonce


@pytest.mark.parametrize("name", ["state", "nonce"])
@pytest.mark.parametrize("signed_in", [True, False])
@pytest.mark.parametrize("value", ["x" * 8_193, "a\nb", "a\x7f", "a\tb"])
def test_values_that_are_too_long_or_have_control_characters_are_an_error(grafana, browser, name, value, signed_in):
    if signed_in:
        browser.sign_in()
    told = opaque(grafana, browser, **{name: value}).parameters()
    assert told["error"] == "invalid_request" and name in told["error_description"]


def test_a_kept_request_expires(site, grafana, browser):
    page = opaque(grafana, browser, state="s" * 5_000)
    site.operator.database("UPDATE authorize_request SET expires_at = 1")
    assert browser.get(return_target(page)).status == 400


def test_response_mode_form_post_is_answered_by_a_page(site, grafana, browser):
    state = "s\"<>&'"
    answer = grafana.authorize(browser, response_mode="form_post", state=state).must(200)
    address, fields = posted(answer)
    assert address == CALLBACK and set(fields) == {"code", "state", "iss"}
    assert (fields["state"], fields["iss"]) == (state, site.origin)
    assert grafana.redeem(fields["code"]).status == 200
    assert "form-action http: https:" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    # For browsers without scripts; and nobody need have been at Apple.
    assert b'type="submit"' in answer.body and b"Apple" not in answer.body
    for changes, error in [({"prompt": "none", "max_age": "0"}, None), ({"scope": "profile"}, "invalid_scope")]:
        address, fields = posted(browser.get(grafana.path(response_mode="form_post", **changes)))
        assert address == CALLBACK and fields.get("error") == error or error is None
    assert "form_post" in call(site, "GET", "/.well-known/openid-configuration").json()["response_modes_supported"]


@pytest.mark.parametrize("changes, reason, says", [
    ({"scope": "profile"}, "openid_error_returned", "client grafana: invalid_scope"),
    ({"prompt": "none"}, "openid_error_returned", "client grafana: login_required"),
    ({"redirect_uri": "https://evil.example/cb"}, "openid_redirect_refused",
     "redirect_uri is https://evil.example/cb, registered: " + CALLBACK),
])
def test_every_error_is_logged(site, grafana, browser, changes, reason, says):
    before = site.server.text()
    browser.get(grafana.path(**changes))
    lines = [line for line in site.server.text()[len(before):].splitlines() if f"reason={reason}" in line]
    assert len(lines) == 1 and says in lines[0]


def test_a_mark_is_valid_only_for_its_request(grafana, browser):
    browser.sign_in()
    target = return_target(browser.get(grafana.path(prompt="login")))
    browser.through_apple(target)
    mark = target.partition("bramley_mark=")[2]
    assert browser.get(grafana.path(prompt="login", state="another") + f"&bramley_mark={mark}").status == 200
    assert browser.get(grafana.path(prompt="login") + "&bramley_mark=AAAA").status == 200


def test_max_age_asks_for_a_newer_sign_in(site, grafana, browser):
    claims = grafana.claims(grafana.tokens(browser, max_age="3600")["id_token"])
    assert claims["auth_time"] > 0
    # As if it had been an hour ago.
    site.operator.database("UPDATE session SET created_at = created_at - 3600000 WHERE id = ?", claims["sid"])
    # Servers over PostgreSQL remember sessions for a moment.
    eventually(lambda: browser.get(grafana.path(max_age="3599")).status == 200, "the login page")
    assert "code" in browser.get(grafana.path(max_age="7200")).parameters()
    assert browser.get(grafana.path(max_age="3599", prompt="none")).parameters()["error"] == "login_required"
    assert "code" in grafana.authorize(browser, max_age="0").parameters()


@pytest.mark.parametrize("name, value", [
    ("display", "touch"), ("ui_locales", "de fr"), ("claims_locales", "de"), ("acr_values", "loa4"),
    ("login_hint", "ada@example.com"), ("claims", "{}"), ("prompt", "consent"), ("prompt", "unheard_of")])
def test_hints_and_unknown_prompts_are_ignored(grafana, browser, name, value):
    browser.sign_in()
    assert "code" in browser.get(grafana.path(**{name: value})).parameters()


def test_an_id_token_hint_selects_the_person(site, grafana, browser):
    ada = grafana.tokens(browser)["id_token"]
    assert "code" in browser.get(grafana.path(id_token_hint=ada, prompt="none")).parameters()
    other = signed_in(site, "boris")
    assert other.get(grafana.path(id_token_hint=ada, prompt="none")).parameters()["error"] == "login_required"
    # Boris may become Ada; if he stays Boris, the program gets nothing.
    assert other.get(grafana.path(id_token_hint=ada)).status == 200
    assert grafana.authorize(other, "boris", id_token_hint=ada).parameters()["error"] == "login_required"
    assert "code" in grafana.authorize(other, "ada", id_token_hint=ada).parameters()


@pytest.mark.parametrize("forge", [
    lambda token: "nonsense", lambda token: token.rpartition(".")[0] + ".",
    lambda token: "eyJhbGciOiJub25lIn0." + token.split(".")[1] + ".",
    lambda token: token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB")])
def test_a_forged_hint_is_refused(grafana, browser, forge):
    token = grafana.tokens(browser)["id_token"]
    assert browser.get(grafana.path(id_token_hint=forge(token))).parameters()["error"] == "login_required"


def test_two_tabs_each_return_to_their_own_application(site, grafana, browser):
    other = register(site, "wiki", redirect_uri="https://wiki.example.com/callback")
    one, two = (return_target(browser.get(party.path())) for party in (grafana, other))
    assert browser.return_to(one).location.startswith(CALLBACK)
    assert browser.return_to(two).location.startswith("https://wiki.example.com/callback?")


def test_a_restart_during_a_sign_in_loses_nothing(site, grafana, browser):
    form = browser.goes_to_apple(path=start_of(return_target(browser.get(grafana.path()))))
    site.restart()
    assert "code" in browser.follow(browser.comes_back(form)).parameters()


@pytest.mark.parametrize("state", ["s-4711", "s" * 5_000], ids=["short", "long"])
def test_a_cancelled_sign_in_is_reported_to_the_application(grafana, browser, state):
    told = browser.cancel(return_target(opaque(grafana, browser, state=state))).parameters()
    assert (told["error"], told["state"]) == ("access_denied", state)


def test_people_outside_the_groups_and_the_application_are_informed(site, browser):
    party = register(site, "staff-only", "--group", "staff", "--name", "Staff Only")
    answer = party.authorize(browser)
    assert answer.status == 403 and b"Staff Only" in answer.body and b"Ada" in answer.body
    assert f"{CALLBACK}?error=access_denied".encode() in answer.body, "the way back to the program"
    assert browser.get(party.path(prompt="none")).parameters()["error"] == "access_denied"
    site.operator.bramley("users", "groups", browser.user(), "--add", "staff")
    # Another process's write is known within a second, where sessions are cached.
    eventually(lambda: browser.get(party.path()).status == 303, "the group")
    assert "code" in browser.get(party.path()).parameters()


def test_an_organization_of_apples_is_a_group_everywhere(site, browser):
    """A Work & School account, as of the simulated Erin: in rules, in clients' groups, and in what they are told."""
    site.apple.add_person("wendy", organizationID="org.example.school")
    group = "org:org.example.school"
    outside = register(site, "college-only", "--group", "org:org.example.college")
    inside = register(site, "school-only", "--group", group)
    tokens = inside.tokens(browser, "wendy")
    assert inside.claims(tokens["id_token"])["groups"] == [group]
    assert outside.authorize(browser).status == 403
    assert browser.get("/auth/verify").headers["X-Auth-Request-Groups"] == "org%3Aorg.example.school"
    for demanded, status in ((group, 202), ("org:org.example.college", 403)):
        assert browser.get(f"/oauth2/auth?allowed_groups={demanded}").status == status
    user = site.operator.json("users", "show", browser.user())
    assert (user["organizationID"], user["groups"]) == ("org.example.school", [])
    found = site.operator.json("users", "list", "--group", group)["items"]
    assert [item["id"] for item in found] == [user["id"]]
    # Apple alone says who is in it.
    fails(site.operator.run("users", "groups", user["id"], "--add", "org:org.example.college"), "org:", code=64)
    # Who leaves it loses what it opened.
    site.apple.add_person("wendy", organizationID=None)
    browser.sign_in("wendy")
    user = site.operator.json("users", "show", user["id"])
    assert user["organizationID"] is None
    assert inside.userinfo(tokens["access_token"]).status == 401 and inside.authorize(browser).status == 403
    changes = site.operator.json("audit", "list", "--user", user["id"], "--type", "user.changed")["items"]
    assert [change["object"] for change in changes] == ["organizationID"]


def test_pages_cannot_be_framed_and_send_no_referer(grafana, browser):
    page = browser.get(grafana.path())
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Referrer-Policy"] == "no-referrer"
    browser.sign_in()
    assert browser.get(grafana.path()).headers["Referrer-Policy"] == "no-referrer"


def test_a_window_of_the_application_keeps_its_opener(site, grafana, browser):
    page = browser.get(grafana.path())
    target = return_target(page)
    start, done = browser.get(start_of(target)), browser.through_apple(target)
    last = browser.follow(done)
    refused = browser.get(register(site, "closed", "--group", "nobody").path())
    assert refused.status == 403 and last.location.startswith(CALLBACK)
    # Apple's answer comes from elsewhere, without the cookie of this browser: a page that begins again.
    form = Browser(site).goes_to_apple(path=start_of(target))
    failed = Browser(site).send("POST", "/apple/callback", form + "&bramley_repost=1", {"Origin": site.origin})
    assert 400 <= failed.status < 500, failed.body
    for answer in (page, start, done, last, refused, failed, browser.get("/login?" + urlencode({"return_to": target}))):
        assert answer.headers.get_all("Cross-Origin-Opener-Policy") == ["unsafe-none"]
    assert browser.get("/account").headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_only_one_unaltered_session_cookie_is_a_sign_in(site, grafana, browser):
    token = browser.sign_in()
    own = f"{SESSION}={token}"
    cookies = [f"{own}; {own}", f'{SESSION}="{token}"', own[:-1], f"bramley={token}"]
    for fields in [*({"Cookie": cookie} for cookie in cookies), {"Authorization": f"Bearer {token}"}]:
        answer = call(site, "GET", grafana.path(prompt="none"), fields)
        assert answer.parameters()["error"] == "login_required", fields


def test_the_login_page_names_the_application(grafana, browser):
    page = browser.get(grafana.path(scope="openid email")).body.decode()
    assert "Grafana" in page and "e-mail address that Apple gave us" in page and "your groups here" not in page


def test_a_hostile_application_name_stays_text(site, browser):
    page = browser.get(register(site, "hostile", "--name", "<script>alert(1)</script>").path())
    assert b"<script>alert" not in page.body and b"&lt;script&gt;" in page.body
