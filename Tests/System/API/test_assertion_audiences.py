"""Assertions for several audiences by both algorithms, checked by another library: joserfc."""

import json
from urllib.parse import urlencode

import pytest
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from patience import eventually
from web import call, sign_in

API, GATEWAY, REPORTS = "https://api.example.com", "https://gateway.example.com/in", "reports"
ALGORITHMS = {API: "ES256", GATEWAY: "RS256", REPORTS: "ES256"}


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site({"assertion.audience": [API, GATEWAY, REPORTS], "assertion.rs256Audiences": [GATEWAY]})


@pytest.fixture(scope="module")
def cookie(site) -> dict:
    return {"Cookie": "__Host-bramley=" + sign_in(site, "ada")}


def key_set(site) -> dict:
    return call(site, "GET", "/.well-known/jwks.json").must(200).json()


def ids(keys: dict) -> set[str]:
    return {key["kid"] for key in keys["keys"]}


def from_page(site, cookie: dict, audience: str) -> str:
    path = "/api/v1/session/assertion?" + urlencode({"audience": audience})
    return call(site, "GET", path, cookie).must(200).json()["assertion"]


def from_proxy(site, cookie: dict, value: str) -> str:
    answer = call(site, "GET", "/auth/verify?" + urlencode({"assertion": value}), cookie).must(204)
    return answer.headers["X-Auth-Request-Assertion"]


def claims(token: str, keys: dict, audience: str) -> dict:
    """As a backend of this audience reads it, by the one algorithm it knows."""
    decoded = jwt.decode(token, KeySet.import_key_set(keys), algorithms=[ALGORITHMS[audience]])
    jwt.JWTClaimsRegistry(aud={"essential": True, "value": audience}).validate(decoded.claims)
    assert decoded.header["typ"] == "bramley-assertion+jwt"
    return decoded.claims


@pytest.mark.parametrize("audience", ALGORITHMS)
def test_each_audience_accepts_only_its_own_assertions(site, cookie, audience):
    keys = key_set(site)
    assert [key["alg"] for key in keys["keys"]] == ["ES256", "RS256"]
    assert all(not {"d", "p", "q", "dp", "dq", "qi"} & set(key) for key in keys["keys"])
    # 2,048 bits.
    assert len(keys["keys"][1]["n"]) == 342
    # By the proxy twice: from the route, and from the fast path that keeps it.
    for token in from_page(site, cookie, audience), *(from_proxy(site, cookie, audience) for _ in range(2)):
        found = claims(token, keys, audience)
        assert found["iss"] == site.origin and found["sub"].startswith("usr_")
        for other in set(ALGORITHMS) - {audience}:
            with pytest.raises((JoseError, ValueError)):
                claims(token, keys, other)


def test_revoked_assertion_keys_leave_the_key_set(site, cookie):
    before = key_set(site)
    tokens = {audience: from_page(site, cookie, audience) for audience in (API, GATEWAY)}
    rotated = site.operator.json("assertion", "rotate", "--revoke", "--yes")
    assert [key["algorithm"] for key in rotated["keys"]] == ["ES256", "RS256"]
    assert rotated["kid"] == rotated["keys"][0]["kid"]
    eventually(lambda: ids(key_set(site)) == ids(rotated), "the new keys", lambda: json.dumps(key_set(site)))
    assert not ids(before) & ids(key_set(site))
    for audience, token in tokens.items():
        with pytest.raises((JoseError, ValueError)):
            claims(token, key_set(site), audience)
        # The proxy's kept one goes with the key.
        assert claims(from_proxy(site, cookie, audience), key_set(site), audience)
