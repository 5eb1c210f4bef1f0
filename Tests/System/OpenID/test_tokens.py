"""The token endpoint, userinfo and revocation: demands 20 to 38 of an OpenID provider."""

import base64
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote_plus

import pytest

from party import CALLBACK, Browser, Party, basic, call, register
from web import FORM, SESSION, part_of


@pytest.fixture(scope="module")
def browser(site):
    browser = Browser(site)
    browser.sign_in()
    return browser


@pytest.fixture(scope="module")
def phone(site) -> Party:
    return register(site, "phone", "--public", "--offline", redirect_uri="com.example.app:/callback")


def test_codes_and_secrets_are_stored_as_their_hashes_alone(site, grafana, browser):
    code = grafana.code(browser)
    rows = site.operator.database("SELECT code_hash FROM openid_grant")
    assert (hashlib.sha256(code.encode()).digest(),) in [(bytes(row[0]),) for row in rows]
    assert len(base64.urlsafe_b64decode(code.removeprefix("boc_"))) * 8 >= 128
    row = site.operator.database("SELECT secret_hash FROM openid_client WHERE id = 'grafana'")[0]
    assert bytes(row[0]) == hashlib.sha256(grafana.secret.encode()).digest()
    assert grafana.secret not in site.operator.bramley("clients", "list", "--json")


def test_a_code_lives_a_minute_and_an_access_token_an_hour(site, grafana, browser):
    code = grafana.code(browser)
    site.operator.database("UPDATE openid_grant SET code_expires_at = code_expires_at - 60000 WHERE is_code_used = 0")
    assert grafana.redeem(code).json()["error"] == "invalid_grant"
    token = grafana.tokens(browser)["access_token"]
    site.operator.database("UPDATE openid_grant SET access_expires_at = access_expires_at - 3600000")
    assert grafana.userinfo(token).status == 401


@pytest.mark.parametrize("changes", [
    {"redirect_uri": CALLBACK + "/"}, {"code_verifier": "x" * 43}, {"code_verifier": None}, {"code_verifier": ""},
    {"code": "boc_" + "A" * 64}, {"code": "nonsense"}])
def test_a_code_is_bound_to_client_redirect_and_verifier(grafana, browser, changes):
    code = grafana.code(browser)
    answer = grafana.redeem(**{"code": code} | changes)
    assert (answer.status, answer.json()["error"]) == (400, "invalid_grant")
    assert grafana.redeem(code).status == 200, "a wrong try must not use it up"


def test_a_code_of_another_client(site, grafana, browser):
    other = register(site, "other")
    other.verifier = grafana.verifier
    assert other.redeem(grafana.code(browser)).json()["error"] == "invalid_grant"


def test_a_code_used_again_ends_what_it_gave(grafana, browser):
    code = grafana.code(browser, scope="openid offline_access")
    tokens = grafana.redeem(code).json()
    assert grafana.userinfo(tokens["access_token"]).status == 200
    assert grafana.redeem(code).json()["error"] == "invalid_grant"
    assert grafana.userinfo(tokens["access_token"]).status == 401
    assert grafana.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_code_redeemed_many_times_at_once_gives_tokens_once(grafana, browser):
    code = grafana.code(browser)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: grafana.redeem(code), range(8)))
    assert sorted(answer.status for answer in answers) == [200] + [400] * 7
    for answer in answers:
        if answer.status == 200:
            assert grafana.userinfo(answer.json()["access_token"]).status == 401, "a code in many hands gives nothing"


def test_require_pkce_demands_a_challenge(site, browser):
    party = register(site, "careful", "--require-pkce")
    without = {"code_challenge": None, "code_challenge_method": None}
    assert party.authorize(browser, **without).parameters()["error"] == "invalid_request"
    site.operator.bramley("clients", "update", "careful", "--no-require-pkce")
    code = party.code(browser, **without)
    assert party.redeem(code).json()["error"] == "invalid_grant", "a verifier without a challenge"
    assert party.redeem(code, code_verifier=None).status == 200


def test_public_clients_need_a_challenge_and_have_no_secret(phone, browser):
    answer = phone.authorize(browser, code_challenge=None, code_challenge_method=None)
    assert answer.parameters()["error"] == "invalid_request"
    assert phone.redeem(phone.code(browser)).status == 200
    phone.secret = "bcs_" + "A" * 43
    assert phone.redeem("nonsense").json()["error"] == "invalid_client"
    phone.secret = None


def test_every_way_of_authentication(grafana, browser):
    assert grafana.redeem(grafana.code(browser)).status == 200
    assert grafana.redeem(grafana.code(browser), basic("grafana", grafana.secret)).status == 200
    encoded = basic("grafana", "".join(f"%{byte:02x}" for byte in grafana.secret.encode()))
    assert grafana.redeem(grafana.code(browser), encoded).status == 200


def test_an_empty_secret_is_refused(site, grafana, browser):
    """oidc-agent names a public client in Basic."""
    party = register(site, "bare", "--public")
    assert party.redeem(party.code(browser), basic("bare", "")).status == 200
    assert party.redeem(party.code(browser), basic("bare", "x")).json()["error"] == "invalid_client"
    assert grafana.redeem(grafana.code(browser), basic("grafana", "")).json()["error"] == "invalid_client"


def test_an_operator_s_secret_may_have_any_character(site, tmp_path, browser):
    """Authlib and others send it in Basic without the encoding of RFC 6749 §2.3.1."""
    secret = "a+b/c%41 d=" + "x" * 32
    file = tmp_path / "clients.json"
    file.write_text(json.dumps({"clients": [{
        "clientID": "chosen", "redirectURIs": [CALLBACK],
        "clientSecretSHA256": hashlib.sha256(secret.encode()).hexdigest()}]}))
    site.operator.bramley("clients", "apply", str(file))
    party = Party(site, "chosen", secret)
    for sent in (secret, quote_plus(secret)):
        assert party.redeem(party.code(browser), basic("chosen", sent)).status == 200, sent
    assert party.redeem(party.code(browser)).status == 200
    assert party.redeem("boc_x", basic("chosen", secret + "x")).json()["error"] == "invalid_client"


@pytest.mark.parametrize("headers", [
    basic("grafana", "wrong"), basic("nobody", "x"), {"Authorization": "Basic !"}, {"Authorization": "Bearer x"},
    {"Authorization": "Basic"}])
def test_a_wrong_basic_is_challenged(grafana, headers):
    answer = grafana.redeem("nonsense", headers)
    assert (answer.status, answer.json()["error"]) == (401, "invalid_client")
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")


def test_wrong_or_missing_secrets(site, grafana):
    assert Party(site, "grafana", "wrong").redeem("x").json()["error"] == "invalid_client"
    assert Party(site, "grafana", None).redeem("x").json()["error"] == "invalid_client"
    shown = site.operator.json("clients", "show", "grafana")
    assert shown["lastRefusedAt"], "the operator sees that a program has a wrong secret"


def test_two_authentication_methods_at_once_are_refused(grafana):
    answer = grafana.redeem("nonsense", basic("grafana", grafana.secret), client_secret=grafana.secret)
    assert (answer.status, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("form, error", [
    ({}, "invalid_request"), ({"grant_type": "password"}, "unsupported_grant_type"),
    ({"grant_type": "client_credentials"}, "unsupported_grant_type"), ({"grant_type": "implicit"}, "unsupported_grant_type"),
    ({"grant_type": "authorization_code"}, "invalid_request"), ({"grant_type": "refresh_token"}, "invalid_request")])
def test_other_grant_types_are_refused(grafana, form, error):
    answer = grafana.post("/oidc/token", form)
    assert (answer.status, answer.json()["error"]) == (400, error)


def test_the_token_response_has_the_documented_members(grafana, browser):
    answer = grafana.redeem(grafana.code(browser))
    tokens = answer.json()
    assert answer.headers["Content-Type"] == "application/json" and answer.headers["Cache-Control"] == "no-store"
    assert tokens["token_type"] == "Bearer" and 0 < tokens["expires_in"] <= 3600
    assert tokens["scope"] == "openid profile email groups" and "refresh_token" not in tokens


def test_the_id_token_has_the_documented_claims(grafana, browser):
    tokens = grafana.tokens(browser)
    claims = grafana.claims(tokens["id_token"])
    half = hashlib.sha256(tokens["access_token"].encode()).digest()[:16]
    assert claims["at_hash"] == base64.urlsafe_b64encode(half).rstrip(b"=").decode()
    assert claims["sid"].startswith("ses_") and claims["sub"].startswith("usr_") and claims["nonce"] == "n-0815"
    assert claims["auth_time"] <= claims["iat"] < claims["exp"]
    header = part_of(tokens["id_token"], 0)
    assert (header["alg"], header["typ"]) == ("RS256", "JWT") and header["kid"]


def test_two_secrets_while_rotating(site, browser):
    party = register(site, "rotating")
    old = party.secret
    party.secret = site.operator.json("clients", "rotate-secret", "rotating")["clientSecret"]
    assert party.redeem(party.code(browser)).status == 200
    party.secret = old
    assert party.redeem(party.code(browser)).status == 200
    site.operator.bramley("clients", "rotate-secret", "rotating", "--keep-old", "0")
    assert party.redeem("x").json()["error"] == "invalid_client"


@pytest.mark.parametrize("path", [
    "/.well-known/openid-configuration", "/.well-known/jwks.json", "/oidc/token", "/oidc/userinfo"])
def test_pages_of_public_clients_may_call(site, grafana, path):
    asked = call(site, "OPTIONS", path, {
        "Origin": "https://spa.example.com", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization"})
    assert asked.status == 204 and asked.headers["Access-Control-Allow-Origin"] == "*"
    assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in asked.headers
    answer = call(site, "POST" if path == "/oidc/token" else "GET", path, {"Origin": "https://spa.example.com"})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_refresh_only_where_asked_and_allowed(site, grafana, browser):
    assert "refresh_token" in grafana.tokens(browser, scope="openid offline_access")
    strict = register(site, "strict")
    tokens = strict.tokens(browser, scope="openid offline_access")
    assert "refresh_token" not in tokens and tokens["scope"] == "openid"


def test_refresh_tokens_rotate_and_one_two_generations_old_ends_them_all(site, grafana, browser):
    first = grafana.tokens(browser, scope="openid offline_access")
    second = grafana.refresh(first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert grafana.userinfo(second["access_token"]).status == 200
    third = grafana.refresh(second["refresh_token"]).json()
    # The first is two generations old: somebody else has it.
    assert grafana.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert grafana.refresh(third["refresh_token"]).json()["error"] == "invalid_grant"
    assert grafana.userinfo(third["access_token"]).status == 401


def test_a_lost_answer_is_given_again_for_a_moment(site, grafana, browser):
    first = grafana.tokens(browser, scope="openid offline_access")
    answers = [grafana.refresh(first["refresh_token"]).body for _ in range(2)]
    site.restart()
    answers.append(grafana.refresh(first["refresh_token"]).body)
    assert answers[0] == answers[1] == answers[2]
    # As if the last refresh had been a minute ago.
    site.operator.database("UPDATE openid_grant SET refreshed_at = refreshed_at - 60000 WHERE client = 'grafana'")
    assert grafana.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert grafana.refresh(json.loads(answers[0])["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_refresh_sent_many_times_at_once_gets_one_answer(grafana, browser):
    token = grafana.tokens(browser, scope="openid offline_access")["refresh_token"]
    with ThreadPoolExecutor(8) as pool:
        answers = {answer.body for answer in pool.map(lambda _: grafana.refresh(token), range(8))}
    assert len(answers) == 1 and grafana.refresh(json.loads(answers.pop())["refresh_token"]).status == 200


def test_a_refresh_token_is_bound_to_client_and_scope(site, grafana, browser):
    tokens = grafana.tokens(browser, scope="openid offline_access email")
    other = register(site, "stranger", "--offline")
    assert other.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert grafana.refresh(tokens["refresh_token"], scope="openid profile").json()["error"] == "invalid_scope"
    before = grafana.claims(tokens["id_token"])
    after = grafana.claims(grafana.refresh(tokens["refresh_token"], scope="openid email").json()["id_token"])
    assert [before[name] for name in ("sub", "aud", "auth_time", "sid")] == \
        [after[name] for name in ("sub", "aud", "auth_time", "sid")]
    assert "nonce" not in after


def test_a_refused_exchange_leaves_a_line_with_its_cause(site, grafana, browser):
    def line(answer):
        assert answer.json()["error"] == "invalid_grant"
        return [text for text in site.server.text().splitlines() if "openid_grant_refused" in text][-1]

    code = grafana.code(browser)
    wrong = "https://grafana.example.com/elsewhere"
    said = line(grafana.redeem(code, redirect_uri=wrong))
    assert f"client grafana: redirect_uri is {wrong}, the code was for {grafana.redirect_uri}" in said
    assert grafana.redeem(code).status == 200
    assert "client grafana: used before" in line(grafana.redeem(code))
    assert "client grafana: forged" in line(grafana.refresh(
        grafana.tokens(browser, scope="openid offline_access")["refresh_token"][:-4] + "AAAA"))


def test_a_withdrawn_scope_is_gone_at_once(site, browser):
    party = register(site, "narrowed", "--offline")
    tokens = party.tokens(browser, scope="openid profile email offline_access")
    assert "email" in party.userinfo(tokens["access_token"]).json()
    site.operator.bramley("clients", "update", "narrowed", "--scope", "openid", "--offline")
    assert set(party.userinfo(tokens["access_token"]).json()) == {"sub"}
    again = party.refresh(tokens["refresh_token"]).json()
    assert again["scope"] == "openid offline_access" and "email" not in party.claims(again["id_token"])
    site.operator.bramley("clients", "update", "narrowed", "--no-offline")
    assert party.refresh(again["refresh_token"]).json()["error"] == "invalid_grant"


def test_groups_are_fresh_on_each_refresh(site, grafana, browser):
    tokens = grafana.tokens(browser, scope="openid offline_access groups")
    claims = grafana.claims(tokens["id_token"])
    site.operator.bramley("users", "groups", claims["sub"], "--add", "editors")
    assert "editors" in grafana.claims(grafana.refresh(tokens["refresh_token"]).json()["id_token"])["groups"]


def test_offline_access_outlives_the_end_of_all_sessions_by_the_api(site, grafana):
    """As docs/reference/api.md says of DELETE /api/v1/users/{id}/sessions."""
    browser = Browser(site)
    tokens = grafana.tokens(browser, "dana", scope="openid offline_access")
    user = grafana.claims(tokens["id_token"])["sub"]
    key = site.operator.bramley("api-keys", "create", "ends", "--scopes", "users:write").strip()
    ended = call(site, "DELETE", f"/api/v1/users/{user}/sessions", token=key)
    assert ended.status == 204 and browser.get("/account").status == 303
    again = grafana.refresh(tokens["refresh_token"])
    assert again.status == 200
    site.operator.bramley("users", "disable", user)
    assert grafana.refresh(again.json()["refresh_token"]).json()["error"] == "invalid_grant"
    site.operator.bramley("users", "enable", user)


@pytest.mark.parametrize("end", ["disable", "delete", "consent-revoked", "account-deleted"])
def test_all_tokens_end_with_the_person_s_right(site, grafana, end):
    browser = Browser(site)
    person = {"disable": "boris", "delete": "chie", "consent-revoked": "dana", "account-deleted": "erin"}[end]
    tokens = grafana.tokens(browser, person, scope="openid offline_access")
    assert grafana.userinfo(tokens["access_token"]).status == 200
    user = grafana.claims(tokens["id_token"])["sub"]
    if end in ("disable", "delete"):
        site.operator.bramley("users", end, user, *(["--yes"] if end == "delete" else []))
    else:
        site.apple.notify(end, person)
    assert grafana.userinfo(tokens["access_token"]).status == 401
    assert grafana.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    if end == "disable":
        site.operator.bramley("users", "enable", user)
        assert grafana.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_revocation_ends_tokens_of_the_client_alone(site, grafana, browser):
    tokens = grafana.tokens(browser, scope="openid offline_access")
    assert grafana.post("/oidc/revoke", {"token": "unknown"}).status == 200
    other = register(site, "outsider")
    assert other.post("/oidc/revoke", {"token": tokens["access_token"]}).status == 200
    assert grafana.userinfo(tokens["access_token"]).status == 200, "another client must not end it"
    assert grafana.post("/oidc/revoke", {"token": tokens["access_token"]}).status == 200
    assert grafana.userinfo(tokens["access_token"]).status == 401
    again = grafana.refresh(tokens["refresh_token"]).json()
    assert grafana.post("/oidc/revoke", {"token": again["refresh_token"]}).status == 200
    assert grafana.refresh(again["refresh_token"]).json()["error"] == "invalid_grant"
    assert grafana.userinfo(again["access_token"]).status == 401
    assert Party(site, "grafana", "wrong").post("/oidc/revoke", {"token": "x"}).status == 401


def test_access_tokens_are_opaque_and_known_to_introspection(site, grafana, browser):
    token = grafana.tokens(browser)["access_token"]
    assert token.startswith("boa_") and "." not in token
    assert (hashlib.sha256(token.encode()).digest(),) in [
        (bytes(row[0]),) for row in site.operator.database(
            "SELECT access_hash FROM openid_grant WHERE access_hash IS NOT NULL")]
    key = site.operator.bramley("api-keys", "create", "mail", "--scopes", "introspect").strip()

    def ask(token: str) -> dict:
        return call(site, "POST", "/api/v1/introspect", form={"token": token}, token=key).json()

    told = ask(token)
    assert told["active"] and told["client_id"] == "grafana" and told["scope"] == "openid profile email groups"
    assert ask("boa_" + "A" * 64) == {"active": False}


def test_userinfo_takes_a_bearer_in_two_ways(site, grafana, browser):
    token = grafana.tokens(browser)["access_token"]
    assert call(site, "GET", "/oidc/userinfo", token=token).status == 200
    assert call(site, "POST", "/oidc/userinfo", token=token).status == 200
    assert call(site, "POST", "/oidc/userinfo", form={"access_token": token}).status == 200
    twice = call(site, "POST", "/oidc/userinfo", form={"access_token": token}, token=token)
    assert twice.status == 400 and 'error="invalid_request"' in twice.headers["WWW-Authenticate"]
    assert call(site, "GET", f"/oidc/userinfo?access_token={token}").status == 401
    assert call(site, "GET", "/oidc/userinfo", FORM, f"access_token={token}").status == 401
    refused = call(site, "GET", "/oidc/userinfo", token="boa_x")
    assert refused.status == 401 and 'error="invalid_token"' in refused.headers["WWW-Authenticate"]
    assert call(site, "GET", "/oidc/userinfo").headers["WWW-Authenticate"] == 'Bearer realm="bramley"'


@pytest.mark.parametrize("scope, names", [
    ("openid", {"sub"}),
    ("openid profile", {"sub", "name", "given_name", "family_name", "updated_at"}),
    ("openid email", {"sub", "email", "email_verified"}),
    ("openid groups", {"sub", "groups"}),
])
def test_claims_follow_the_scopes(grafana, browser, scope, names):
    tokens = grafana.tokens(browser, scope=scope)
    told = grafana.userinfo(tokens["access_token"]).json()
    assert set(told) == names
    claims = grafana.claims(tokens["id_token"])
    assert all(claims[name] == told[name] for name in names)
    assert told.get("email_verified", True) is True


def test_apple_s_claims_are_a_scope_of_their_own(site, browser):
    party = register(site, "apple-aware", "--scope", "openid,apple")
    told = party.userinfo(party.tokens(browser, scope="openid apple")["access_token"]).json()
    assert set(told) == {"sub", "apple_sub", "is_private_email"} and isinstance(told["is_private_email"], bool)


def test_a_token_ends_with_its_session_unless_it_is_offline(site, grafana):
    browser = Browser(site)
    short, long = grafana.tokens(browser), grafana.tokens(browser, scope="openid offline_access")
    code = grafana.code(browser)
    browser.sign_out()
    assert grafana.redeem(code).json()["error"] == "invalid_grant"
    assert grafana.userinfo(short["access_token"]).status == 401
    assert grafana.refresh(long["refresh_token"]).status == 200, "offline access outlives a sign-out"
    session = grafana.claims(short["id_token"])["sid"]
    kept = site.operator.database("SELECT refresh_hash IS NOT NULL FROM openid_grant WHERE session = ?", session)
    assert [bool(row[0]) for row in kept] == [True], "nothing else of the session is kept"


def test_no_token_passes_for_another_kind(site, grafana, browser):
    tokens = grafana.tokens(browser, scope="openid offline_access")
    kinds = [tokens["access_token"], tokens["refresh_token"], tokens["id_token"], grafana.code(browser),
             browser.cookies[SESSION]]
    for token in kinds:
        if token != tokens["access_token"]:
            assert grafana.userinfo(token).status == 401
        if token != tokens["refresh_token"]:
            assert grafana.refresh(token).json()["error"] == "invalid_grant"
    for token in kinds[:4]:
        assert call(site, "GET", "/api/v1/session", token=token).status == 401


def test_nothing_secret_is_in_the_log(site, grafana, browser):
    tokens = grafana.tokens(browser, scope="openid offline_access")
    code = grafana.code(browser)
    grafana.redeem(code, code_verifier="x" * 43)
    log = (site.folder / "bramley.log").read_text()
    for secret in [*tokens.values(), code, grafana.secret, grafana.verifier]:
        if isinstance(secret, str) and len(secret) > 40:
            assert secret not in log
