"""The token endpoint, userinfo and revocation: demands 20 to 38 of an OpenID provider."""

import base64
import hashlib
import json
from urllib.parse import quote_plus

import pytest

from party import CALLBACK, Browser, Party, basic, call, register, signed_in
from patience import at_once
from web import SESSION, part_of

KINDS = ("access", "refresh", "id")


@pytest.fixture(scope="module")
def browser(site):
    return signed_in(site)


def kept(site, column: str, table: str) -> list[bytes]:
    found = site.operator.database(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL")
    return [bytes(value) for value, in found]


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def test_codes_and_secrets_are_stored_only_as_hashes(site, grafana, browser):
    code = grafana.code(browser)
    assert digest(code) in kept(site, "code_hash", "openid_grant")
    assert len(base64.urlsafe_b64decode(code.removeprefix("boc_"))) * 8 >= 128
    assert digest(grafana.secret) in kept(site, "secret_hash", "openid_client")
    assert grafana.secret not in site.operator.bramley("clients", "list", "--json")


def test_a_code_is_valid_for_a_minute_and_an_access_token_for_an_hour(site, grafana, browser):
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
    assert grafana.redeem(**{"code": code} | changes).must(400).json()["error"] == "invalid_grant"
    assert grafana.redeem(code).status == 200, "a wrong try must not use it up"


def test_a_code_of_another_client_is_refused(site, grafana, browser):
    other = register(site, "other")
    other.verifier = grafana.verifier
    assert other.redeem(grafana.code(browser)).json()["error"] == "invalid_grant"


def test_a_reused_code_ends_its_tokens(grafana, browser):
    code = grafana.code(browser, scope="openid offline_access")
    tokens = grafana.redeem(code).json()
    assert grafana.userinfo(tokens["access_token"]).status == 200
    assert grafana.redeem(code).json()["error"] == "invalid_grant"
    assert grafana.userinfo(tokens["access_token"]).status == 401
    assert grafana.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_code_redeemed_many_times_at_once_gives_tokens_once(grafana, browser):
    code = grafana.code(browser)
    first, *others = sorted(at_once(8, lambda _: grafana.redeem(code)), key=lambda answer: answer.status)
    assert first.status == 200 and [answer.status for answer in others] == [400] * 7
    assert grafana.userinfo(first.json()["access_token"]).status == 401, "a code in many hands gives nothing"


def test_require_pkce_demands_a_challenge(site, browser):
    party = register(site, "careful", "--require-pkce")
    without = {"code_challenge": None, "code_challenge_method": None}
    assert party.authorize(browser, **without).parameters()["error"] == "invalid_request"
    site.operator.bramley("clients", "update", "careful", "--no-require-pkce")
    code = party.code(browser, **without)
    assert party.redeem(code).json()["error"] == "invalid_grant", "a verifier without a challenge"
    assert party.redeem(code, code_verifier=None).status == 200


def test_public_clients_need_a_challenge_and_have_no_secret(site, browser):
    phone = register(site, "phone", "--public", "--offline", redirect_uri="com.example.app:/callback")
    answer = phone.authorize(browser, code_challenge=None, code_challenge_method=None)
    assert answer.parameters()["error"] == "invalid_request"
    assert phone.redeem(phone.code(browser)).status == 200
    phone.secret = "bcs_" + "A" * 43
    assert phone.redeem("nonsense").json()["error"] == "invalid_client"


def test_every_authentication_method(grafana, browser):
    encoded = "".join(f"%{byte:02x}" for byte in grafana.secret.encode())
    for headers in (None, basic("grafana", grafana.secret), basic("grafana", encoded)):
        assert grafana.redeem(grafana.code(browser), headers).status == 200


def test_an_empty_secret_is_refused(site, grafana, browser):
    party = register(site, "bare", "--public")
    # As oidc-agent names a public client.
    assert party.redeem(party.code(browser), basic("bare", "")).status == 200
    assert party.redeem(party.code(browser), basic("bare", "x")).json()["error"] == "invalid_client"
    assert grafana.redeem(grafana.code(browser), basic("grafana", "")).json()["error"] == "invalid_client"


def test_an_operator_s_secret_may_have_any_character(site, tmp_path, browser):
    """Authlib and others send it in Basic without the encoding of RFC 6749 §2.3.1."""
    secret = "a+b/c%41 d=" + "x" * 32
    file = tmp_path / "clients.json"
    file.write_text(json.dumps({"clients": [
        {"clientID": "chosen", "redirectURIs": [CALLBACK], "clientSecretSHA256": digest(secret).hex()}]}))
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


def test_wrong_or_missing_secrets_are_refused(site, grafana):
    for secret in ("wrong", None):
        assert Party(site, "grafana", secret).redeem("x").json()["error"] == "invalid_client"
    assert site.operator.json("clients", "show", "grafana")["lastRefusedAt"], "the operator sees it"


def test_two_authentication_methods_at_once_are_refused(grafana):
    answer = grafana.redeem("nonsense", basic("grafana", grafana.secret), client_secret=grafana.secret)
    assert (answer.status, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("grant, error", [
    (None, "invalid_request"), ("authorization_code", "invalid_request"), ("refresh_token", "invalid_request"),
    *((grant, "unsupported_grant_type") for grant in ("password", "client_credentials", "implicit"))])
def test_other_grant_types_are_refused(grafana, grant, error):
    assert grafana.post("/oidc/token", {"grant_type": grant}).must(400).json()["error"] == error


def test_the_token_response_has_the_documented_members(grafana, browser):
    answer = grafana.redeem(grafana.code(browser))
    tokens = answer.json()
    assert answer.headers["Content-Type"] == "application/json" and answer.headers["Cache-Control"] == "no-store"
    assert tokens["token_type"] == "Bearer" and 0 < tokens["expires_in"] <= 3600
    assert tokens["scope"] == "openid profile email groups" and "refresh_token" not in tokens


def test_the_id_token_has_the_documented_claims(grafana, browser):
    tokens = grafana.tokens(browser)
    claims = grafana.claims(tokens["id_token"])
    assert claims["at_hash"] == base64.urlsafe_b64encode(digest(tokens["access_token"])[:16]).decode().rstrip("=")
    assert claims["sid"].startswith("ses_") and claims["sub"].startswith("usr_") and claims["nonce"] == "n-0815"
    assert claims["auth_time"] <= claims["iat"] < claims["exp"]
    header = part_of(tokens["id_token"], 0)
    assert (header["alg"], header["typ"]) == ("RS256", "JWT") and header["kid"]


def test_two_secrets_are_valid_during_a_rotation(site, browser):
    party = register(site, "rotating")
    for secret in (site.operator.json("clients", "rotate-secret", "rotating")["clientSecret"], party.secret):
        party.secret = secret
        assert party.redeem(party.code(browser)).status == 200
    site.operator.bramley("clients", "rotate-secret", "rotating", "--keep-old", "0")
    assert party.redeem("x").json()["error"] == "invalid_client"


@pytest.mark.parametrize("path", [
    "/.well-known/openid-configuration", "/.well-known/jwks.json", "/oidc/token", "/oidc/userinfo"])
def test_pages_of_public_clients_may_call_the_endpoints(site, grafana, path):
    asked = call(site, "OPTIONS", path, {
        "Origin": "https://spa.example.com", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization"})
    assert asked.status == 204 and asked.headers["Access-Control-Allow-Origin"] == "*"
    assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in asked.headers
    answer = call(site, "POST" if path == "/oidc/token" else "GET", path, {"Origin": "https://spa.example.com"})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_refresh_tokens_only_if_requested_and_allowed(site, grafana, browser):
    assert "refresh_token" in grafana.tokens(browser, scope="openid offline_access")
    tokens = register(site, "strict").tokens(browser, scope="openid offline_access")
    assert "refresh_token" not in tokens and tokens["scope"] == "openid"


def test_refresh_tokens_rotate_and_a_reused_one_ends_the_grant(site, grafana, browser):
    first = grafana.tokens(browser, scope="openid offline_access")
    second = grafana.refresh(first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert grafana.userinfo(second["access_token"]).status == 200
    third = grafana.refresh(second["refresh_token"]).json()
    # The first is two generations old: somebody else has it.
    for tokens in (first, third):
        assert grafana.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert grafana.userinfo(third["access_token"]).status == 401


def test_a_lost_refresh_answer_can_be_repeated_briefly(site, grafana, browser):
    first = grafana.tokens(browser, scope="openid offline_access")["refresh_token"]
    answers = {grafana.refresh(first).body for _ in range(2)}
    site.restart()
    (answer,) = answers | {grafana.refresh(first).body}
    # As if the last refresh had been a minute ago.
    site.operator.database("UPDATE openid_grant SET refreshed_at = refreshed_at - 60000 WHERE client = 'grafana'")
    for token in (first, json.loads(answer)["refresh_token"]):
        assert grafana.refresh(token).json()["error"] == "invalid_grant"


def test_concurrent_identical_refreshes_get_one_answer(grafana, browser):
    token = grafana.tokens(browser, scope="openid offline_access")["refresh_token"]
    (answer,) = set(at_once(8, lambda _: grafana.refresh(token).body))
    assert grafana.refresh(json.loads(answer)["refresh_token"]).status == 200


def test_a_refresh_token_is_bound_to_client_and_scope(site, grafana, browser):
    tokens = grafana.tokens(browser, scope="openid offline_access email")
    assert register(site, "stranger", "--offline").refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert grafana.refresh(tokens["refresh_token"], scope="openid profile").json()["error"] == "invalid_scope"
    before = grafana.claims(tokens["id_token"])
    after = grafana.claims(grafana.refresh(tokens["refresh_token"], scope="openid email").json()["id_token"])
    assert all(before[name] == after[name] for name in ("sub", "aud", "auth_time", "sid")) and "nonce" not in after


def test_a_refused_exchange_is_logged_with_its_cause(site, grafana, browser):
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
    site.operator.bramley("users", "groups", grafana.claims(tokens["id_token"])["sub"], "--add", "editors")
    assert "editors" in grafana.claims(grafana.refresh(tokens["refresh_token"]).json()["id_token"])["groups"]


def test_offline_access_survives_ending_all_sessions_by_the_api(site, grafana):
    """As docs/reference/api.md says of DELETE /api/v1/users/{id}/sessions."""
    browser = Browser(site)
    tokens = grafana.tokens(browser, "dana", scope="openid offline_access")
    user = grafana.claims(tokens["id_token"])["sub"]
    ended = call(site, "DELETE", f"/api/v1/users/{user}/sessions", token=site.operator.key("users:write"))
    assert ended.status == 204 and browser.get("/account").status == 303
    again = grafana.refresh(tokens["refresh_token"]).must(200)
    site.operator.bramley("users", "disable", user)
    assert grafana.refresh(again.json()["refresh_token"]).json()["error"] == "invalid_grant"
    site.operator.bramley("users", "enable", user)


@pytest.mark.parametrize("end, person", [
    ("disable", "boris"), ("delete", "chie"), ("consent-revoked", "dana"), ("account-deleted", "erin")])
def test_all_tokens_end_with_the_person_s_right(site, grafana, end, person):
    tokens = grafana.tokens(Browser(site), person, scope="openid offline_access")
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


def test_revocation_ends_only_the_clients_tokens(site, grafana, browser):
    tokens = grafana.tokens(browser, scope="openid offline_access")
    def revoke(party: Party, token: str) -> int:
        return party.post("/oidc/revoke", {"token": token}).status

    assert revoke(grafana, "unknown") == revoke(register(site, "outsider"), tokens["access_token"]) == 200
    assert grafana.userinfo(tokens["access_token"]).status == 200, "another client must not end it"
    assert revoke(grafana, tokens["access_token"]) == 200
    assert grafana.userinfo(tokens["access_token"]).status == 401
    again = grafana.refresh(tokens["refresh_token"]).json()
    assert revoke(grafana, again["refresh_token"]) == 200
    assert grafana.refresh(again["refresh_token"]).json()["error"] == "invalid_grant"
    assert grafana.userinfo(again["access_token"]).status == 401
    assert revoke(Party(site, "grafana", "wrong"), "x") == 401


def test_access_tokens_are_opaque_and_known_to_introspection(site, grafana, browser):
    token = grafana.tokens(browser)["access_token"]
    assert token.startswith("boa_") and "." not in token
    assert digest(token) in kept(site, "access_hash", "openid_grant")
    key = site.operator.key("introspect")

    def ask(token: str) -> dict:
        return call(site, "POST", "/api/v1/introspect", form={"token": token}, token=key).json()

    told = ask(token)
    assert told["active"] and told["client_id"] == "grafana" and told["scope"] == "openid profile email groups"
    assert ask("boa_" + "A" * 64) == {"active": False}


def test_userinfo_accepts_a_bearer_in_header_or_form(site, grafana, browser):
    token = grafana.tokens(browser)["access_token"]
    form, challenge = {"access_token": token}, 'Bearer realm="bramley"'
    for method, query, sent, status, told in [
        *((method, "", {"token": token}, 200, "") for method in ("GET", "POST")), ("POST", "", {"form": form}, 200, ""),
        ("POST", "", {"form": form, "token": token}, 400, 'error="invalid_request"'),
        ("GET", "", {"form": form}, 401, challenge), ("GET", f"?access_token={token}", {}, 401, challenge),
        ("GET", "", {}, 401, challenge), ("GET", "", {"token": "boa_x"}, 401, 'error="invalid_token"'),
    ]:
        answer = call(site, method, f"/oidc/userinfo{query}", **sent)
        assert answer.status == status and told in answer.headers.get("WWW-Authenticate", ""), (method, query, sent)


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


def test_apple_s_claims_have_their_own_scope(site, browser):
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
    kinds = [*(tokens[f"{kind}_token"] for kind in KINDS), grafana.code(browser)]
    for token in (*kinds, browser.cookies[SESSION]):
        if token != tokens["access_token"]:
            assert grafana.userinfo(token).status == 401
        if token != tokens["refresh_token"]:
            assert grafana.refresh(token).json()["error"] == "invalid_grant"
    for token in kinds:
        assert call(site, "GET", "/api/v1/session", token=token).status == 401


def test_nothing_secret_is_in_the_log(site, grafana, browser):
    tokens, code = grafana.tokens(browser, scope="openid offline_access"), grafana.code(browser)
    grafana.redeem(code, code_verifier="x" * 43)
    log = site.server.text()
    for secret in (*(tokens[f"{kind}_token"] for kind in KINDS), code, grafana.secret, grafana.verifier):
        assert len(secret) > 40 and secret not in log
