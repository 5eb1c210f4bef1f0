"""The OpenID Foundation's certification modules for what is claimed, each by its name in the public suite: Basic, Config,
Form Post, RP-Initiated and Back-Channel Logout. Transcribed from their descriptions: the suite needs a network."""

import re
import time
from urllib.parse import urlencode, urlsplit

import pytest

from party import CALLBACK, Browser, Party, basic, call, posted, register, return_target
from patience import eventually
from test_back_channel import Listener
from web import FORM, part_of

pytestmark = pytest.mark.long
BACK = "https://suite.example.com/post-logout?foo=bar"


@pytest.fixture(scope="module")
def suite(site) -> Party:
    return register(site, "suite", "--logout-uri", BACK, "--offline")


class Module:
    """One program with one browser, in one response mode. As the suite, it sends no code challenge unless a module says."""

    def __init__(self, party: Party, mode: str):
        self.party, self.mode, self.browser = party, mode, Browser(party.site)

    def request(self, **changes):
        defaults = {"code_challenge": None, "code_challenge_method": None, "scope": "openid", "nonce": "n-1"}
        defaults |= {"response_mode": "form_post"} if self.mode == "form_post" else {}
        return self.party.path(**defaults | changes)

    def answer(self, response) -> dict | None:
        """What the program gets; None while the visitor sees a page."""
        if response.status == 303 and response.location.startswith(CALLBACK):
            assert self.mode == "query"
            return response.parameters()
        found = posted(response)
        assert found is None or (self.mode == "form_post" and found[0] == CALLBACK)
        return found and found[1]

    def run(self, person: str = "ada", shows_page: bool | None = None, **changes) -> dict:
        response = self.browser.get(self.request(**changes))
        told = self.answer(response)
        if shows_page is not None:
            assert (told is None) == shows_page, "whether the visitor is asked"
        if told is not None:
            return told
        assert response.status == 200, response.body
        return self.answer(self.browser.return_to(return_target(response), person))

    def tokens(self, told: dict, headers: dict | None = None, **changes) -> dict:
        assert told["state"] == "s-4711" and told["iss"] == self.party.site.origin
        response = self.party.redeem(told["code"], headers, **{"code_verifier": None} | changes).must(200)
        assert response.headers["Cache-Control"] == "no-store" and response.json()["token_type"] == "Bearer"
        return response.json()

    def claims(self, **changes) -> dict:
        return self.party.claims(self.tokens(self.run(**changes))["id_token"])

    def happy(self, **changes) -> dict:
        """Through all of it; the claims of the ID token and of userinfo."""
        tokens = self.tokens(self.run(**changes))
        claims = self.party.claims(tokens["id_token"])
        assert claims.get("nonce") == changes.get("nonce", "n-1")
        info = self.party.userinfo(tokens["access_token"])
        assert info.status == 200 and info.json()["sub"] == claims["sub"]
        return {"id": claims, "info": info.json(), "tokens": tokens}


@pytest.fixture(params=["query", "form_post"])
def module(request, suite) -> Module:
    """oidcc-basic-certification-test-plan, and oidcc-formpost-basic-certification-test-plan."""
    return Module(suite, request.param)


# What the request has besides, and what userinfo must tell then.
ACCEPTED = {
    "oidcc-server, oidcc-idtoken-signature": ({}, set()),
    "oidcc-ensure-request-without-nonce-succeeds-for-code-flow": ({"nonce": None}, set()),
    "oidcc-scope-profile": ({"scope": "openid profile"}, {"name", "given_name", "family_name", "updated_at"}),
    "oidcc-scope-email": ({"scope": "openid email"}, {"email", "email_verified"}),
    "oidcc-scope-address": ({"scope": "openid address"}, set()),
    "oidcc-scope-phone": ({"scope": "openid phone"}, set()),
    "oidcc-scope-all": ({"scope": "openid profile email address phone"}, {"name", "email", "email_verified"}),
    "oidcc-ensure-other-scope-order-succeeds": ({"scope": "email openid"}, {"email"}),
    "oidcc-display-page": ({"display": "page"}, set()),
    "oidcc-display-popup": ({"display": "popup"}, set()),
    "oidcc-ensure-request-with-unknown-parameter-succeeds": ({"extra": "foobar"}, set()),
    "oidcc-login-hint": ({"login_hint": "ada@example.com"}, set()),
    "oidcc-ui-locales": ({"ui_locales": "se"}, set()),
    "oidcc-claims-locales": ({"claims_locales": "se"}, set()),
    "oidcc-ensure-request-with-acr-values-succeeds": ({"acr_values": "1 2"}, set()),
    "oidcc-claims-essential": ({"claims": '{"userinfo":{"name":{"essential":true}}}'}, set()),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_requests_that_are_accepted(module, name):
    changes, names = ACCEPTED[name]
    done = module.happy(**changes)
    claims = done["id"]
    assert names <= set(done["info"]) and ("nonce" in claims) == ("nonce" not in changes)
    assert abs(claims["iat"] - time.time()) < 300 and claims["exp"] > claims["iat"]
    assert part_of(done["tokens"]["id_token"], 0)["alg"] == "RS256"


# What the request has besides, and the errors that may be told. The objects are `{"alg":"none"}` and no signature.
REFUSED = {
    "oidcc-response-type-missing": ({"response_type": None}, {"invalid_request", "unsupported_response_type"}),
    "oidcc-prompt-none-not-logged-in": ({"prompt": "none"}, {"login_required", "interaction_required"}),
    "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported": (
        {"request": "eyJhbGciOiJub25lIn0.e30."}, {"request_not_supported"}),
    "oidcc-ensure-request-object-with-redirect-uri": (
        {"request": "eyJhbGciOiJub25lIn0.eyJyZWRpcmVjdF91cmkiOiAiaHR0cHM6Ly9ldmlsLmV4YW1wbGUvIn0."},
        {"request_not_supported"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_requests_that_are_refused(module, name):
    changes, errors = REFUSED[name]
    told = module.run(shows_page=False, **changes)
    assert told["error"] in errors and told["state"] == "s-4711" and "code" not in told


@pytest.mark.parametrize("method, where", [("GET", "header"), ("POST", "header"), ("POST", "body")])
def test_oidcc_userinfo(module, method, where):
    token = module.happy()["tokens"]["access_token"]
    sent = (FORM, urlencode({"access_token": token})) if where == "body" else ({"Authorization": f"Bearer {token}"},)
    assert call(module.party.site, method, "/oidc/userinfo", *sent).status == 200


def test_oidcc_prompt_login(module):
    first = module.happy()["id"]
    second = module.claims(shows_page=True, prompt="login")
    assert second["auth_time"] >= first["auth_time"]
    assert (second["sub"], second["sid"]) == (first["sub"], first["sid"]), "two sessions of one browser have one sid"


def test_oidcc_max_age_1(module):
    first = module.happy()["id"]
    sql = "UPDATE session SET created_at = created_at - 5000 WHERE id = ?"
    module.party.site.operator.database(sql, first["sid"])
    eventually(lambda: module.answer(module.browser.get(module.request(max_age="1"))) is None, "the login page")
    second = module.claims(shows_page=True, max_age="1")
    assert second["auth_time"] > first["auth_time"] - 5 and second["sub"] == first["sub"]


# What the request of somebody who is signed in has besides.
ANSWERED_AT_ONCE = {
    "oidcc-prompt-none-logged-in": lambda hint: {"prompt": "none"},
    "oidcc-max-age-10000": lambda hint: {"max_age": "10000"},
    "oidcc-id-token-hint": lambda hint: {"prompt": "none", "id_token_hint": hint},
}


@pytest.mark.parametrize("name", ANSWERED_AT_ONCE)
def test_a_session_answers_without_a_page(module, name):
    first = module.happy()
    second = module.claims(shows_page=False, **ANSWERED_AT_ONCE[name](first["tokens"]["id_token"]))
    assert (second["sub"], second["auth_time"]) == (first["id"]["sub"], first["id"]["auth_time"])


def test_oidcc_codereuse(module):
    told = module.run()
    tokens = module.tokens(told)
    assert module.party.redeem(told["code"], code_verifier=None).must(400).json()["error"] == "invalid_grant"
    # oidcc-codereuse-30seconds: what the code gave has ended (a warning in the suite if not).
    assert module.party.userinfo(tokens["access_token"]).status == 401


def test_oidcc_ensure_registered_redirect_uri(module):
    response = module.browser.get(module.request(redirect_uri="https://suite.example.com/unregistered"))
    assert response.status == 400 and "Location" not in response.headers


def test_oidcc_server_client_secret_post_and_basic(module):
    module.tokens(module.run())
    module.tokens(module.run(), basic(module.party.client_id, module.party.secret))


def test_oidcc_refresh_token(module):
    first = module.happy(scope="openid offline_access")
    renewed = module.party.refresh(first["tokens"]["refresh_token"]).must(200)
    claims = module.party.claims(renewed.json()["id_token"])
    assert (claims["sub"], claims["aud"], claims["auth_time"]) == tuple(first["id"][name] for name in ("sub", "aud", "auth_time"))
    other = register(module.party.site, f"other-{module.mode.replace('_', '-')}", "--offline")
    assert other.refresh(renewed.json()["refresh_token"]).json()["error"] == "invalid_grant"


def test_oidcc_ensure_request_with_valid_pkce_succeeds(module):
    told = module.run(code_challenge=module.party.challenge, code_challenge_method="S256")
    module.tokens(told, code_verifier=module.party.verifier)


def test_oidcc_discovery_endpoint_verification(site, suite):
    document = call(site, "GET", "/.well-known/openid-configuration").json()
    assert document["issuer"] == site.origin
    for name in ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri", "end_session_endpoint"):
        assert document[name].startswith(site.origin + "/")
    assert "code" in document["response_types_supported"] and "RS256" in document["id_token_signing_alg_values_supported"]
    assert {"query", "form_post"} <= set(document["response_modes_supported"])
    assert "openid" in document["scopes_supported"] and "public" in document["subject_types_supported"]
    assert {"client_secret_basic", "client_secret_post"} <= set(document["token_endpoint_auth_methods_supported"])
    assert document["claims_parameter_supported"] is False and document["request_uri_parameter_supported"] is False
    Browser(site).sign_in()
    suite.tokens(Browser(site))
    keys = call(site, "GET", urlsplit(document["jwks_uri"]).path).json()["keys"]
    assert keys and all("d" not in key and key.get("use") == "sig" for key in keys)


# What differs from a good request, where it leads (None: nowhere), and whether the person is signed out.
LOGOUTS = {
    "": ({}, BACK + "&state=abc", True),
    "-no-state": ({"state": None}, BACK, True),
    "-no-post-logout-redirect-uri": ({"post_logout_redirect_uri": None}, "/logout", True),
    "-bad-post-logout-redirect-uri": ({"post_logout_redirect_uri": "https://suite.example.com/other"}, None, False),
    "-query-added-to-post-logout-redirect-uri": ({"post_logout_redirect_uri": BACK + "&x=y"}, None, False),
    # A question, and no redirect.
    "-modified-id-token-hint": ({"id_token_hint": "modified"}, "/logout", False),
    "-bad-id-token-hint": ({"id_token_hint": "nonsense"}, "/logout", False),
    "-no-id-token-hint": ({"id_token_hint": None}, "/logout", False),
    "-only-state": ({"id_token_hint": None, "post_logout_redirect_uri": None}, "/logout", False),
    "-no-params": ({"id_token_hint": None, "post_logout_redirect_uri": None, "state": None}, "/logout", False),
}


@pytest.mark.parametrize("name", LOGOUTS)
def test_oidcc_rp_initiated_logout(suite, name):
    changes, leads, ends = LOGOUTS[name]
    module = Module(suite, "query")
    hint = module.happy()["tokens"]["id_token"]
    parameters = {"id_token_hint": hint, "post_logout_redirect_uri": BACK, "state": "abc"} | changes
    if parameters["id_token_hint"] == "modified":
        parameters["id_token_hint"] = hint[:-5] + ("AAAAA" if hint[-5:] != "AAAAA" else "BBBBB")
    answer = module.browser.get("/oidc/logout?" + urlencode(
        {name: value for name, value in parameters.items() if value is not None}))
    assert answer.status == (303 if leads else 400)
    assert (answer.location.removeprefix(suite.site.origin) or None) == leads
    assert ("code" in module.run(shows_page=False, prompt="none")) != ends


def test_oidcc_backchannel_logout(site):
    """oidcc-backchannel-rp-initiated-logout, and the suite's checks of the logout token."""
    document = call(site, "GET", "/.well-known/openid-configuration").json()
    assert document["backchannel_logout_supported"] and document["backchannel_logout_session_supported"]
    one = Listener(site, "suite-listener")
    module = Module(one.party, "query")
    done = module.happy()
    module.browser.get("/oidc/logout?" + urlencode({"id_token_hint": done["tokens"]["id_token"]}))
    token = one.wait_for(1)[0]
    claims = one.claims(token)
    assert claims["sub"] == done["id"]["sub"] and claims["sid"] == done["id"]["sid"]
    assert part_of(token, 0)["alg"] == "RS256" and len(claims["jti"]) >= 16
    # It is no ID token.
    assert module.run(shows_page=False, prompt="none", id_token_hint=token)["error"] == "login_required"
    one.receiver.close()


def test_every_module_ends_without_an_error_of_the_server(site):
    assert not re.findall(r"^\S+Z error .*", site.server.text(), re.MULTILINE)
