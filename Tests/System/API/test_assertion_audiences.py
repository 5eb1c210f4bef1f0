"""Assertions for several audiences by both algorithms, checked by others: joserfc and openssl."""

import base64
import json
import subprocess
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from patience import PATIENCE, eventually
from web import call, sign_in

API, GATEWAY, REPORTS = "https://api.example.com", "https://gateway.example.com/in", "reports"
ALGORITHMS = {API: "ES256", GATEWAY: "RS256", REPORTS: "ES256"}
TYPE = "bramley-assertion+jwt"


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site({
        "assertion.audience": [API, GATEWAY, REPORTS], "assertion.rs256Audiences": [GATEWAY]})


@pytest.fixture(scope="module")
def cookie(site) -> dict:
    return {"Cookie": "__Host-bramley=" + sign_in(site, "ada")}


def key_set(site) -> dict:
    answer = call(site, "GET", "/.well-known/jwks.json")
    assert answer.status == 200, answer.body
    return answer.json()


def from_page(site, cookie: dict, query: str = "") -> str:
    answer = call(site, "GET", "/api/v1/session/assertion" + query, cookie)
    assert answer.status == 200, answer.body
    return answer.json()["assertion"]


def from_proxy(site, cookie: dict, value: str) -> str:
    answer = call(site, "GET", f"/auth/verify?assertion={value}", cookie)
    assert answer.status == 204, answer.body
    return answer.headers["X-Auth-Request-Assertion"]


def claims(token: str, keys: dict, audience: str) -> dict:
    """As a backend of this audience reads it, by the one algorithm it knows."""
    decoded = jwt.decode(token, KeySet.import_key_set(keys), algorithms=[ALGORITHMS[audience]])
    jwt.JWTClaimsRegistry(aud={"essential": True, "value": audience}).validate(decoded.claims)
    assert decoded.header["typ"] == TYPE
    return decoded.claims


@pytest.mark.parametrize("audience", ALGORITHMS)
def test_each_audience_reads_its_own_and_no_other(site, cookie, audience):
    keys = key_set(site)
    assert [key["alg"] for key in keys["keys"]] == ["ES256", "RS256"]
    assert all(not {"d", "p", "q", "dp", "dq", "qi"} & set(key) for key in keys["keys"])
    tokens = [from_page(site, cookie, f"?audience={quote(audience, safe='')}")]
    # Twice: by the route, and by the fast path that keeps it.
    tokens += [from_proxy(site, cookie, quote(audience, safe="")) for _ in range(2)]
    for token in tokens:
        found = claims(token, keys, audience)
        assert found["iss"] == site.origin and found["sub"].startswith("usr_")
        for other in set(ALGORITHMS) - {audience}:
            with pytest.raises((JoseError, ValueError)):
                claims(token, keys, other)


def test_assertion_true_and_no_audience_mean_the_first_audience(site, cookie):
    keys = key_set(site)
    assert claims(from_page(site, cookie), keys, API) and claims(from_proxy(site, cookie, "true"), keys, API)
    for path in ("/auth/verify?assertion=other", "/auth/verify?assertion=" + quote(API + "/", safe=""),
                 "/api/v1/session/assertion?audience=other"):
        assert call(site, "GET", path, cookie).status == 400, path


@pytest.mark.parametrize("audience", [API, GATEWAY])
def test_openssl_verifies_the_signature(site, cookie, audience, tmp_path):
    token = from_page(site, cookie, f"?audience={quote(audience, safe='')}")
    signed, _, part = token.rpartition(".")
    signature = base64.urlsafe_b64decode(part + "==")
    kid = jws.extract_compact(token.encode()).headers()["kid"]
    key = KeySet.import_key_set(key_set(site)).get_by_kid(kid)
    public = key.public_key if hasattr(key, "public_key") else key.raw_value
    (tmp_path / "key.pem").write_bytes(public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    if ALGORITHMS[audience] == "ES256":
        signature = encode_dss_signature(
            int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    else:
        assert public.key_size == 2048
    (tmp_path / "signature").write_bytes(signature)
    (tmp_path / "signed").write_text(signed)

    def verify() -> int:
        return subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify", tmp_path / "key.pem", "-signature", tmp_path / "signature",
             tmp_path / "signed"], capture_output=True, timeout=PATIENCE).returncode

    assert verify() == 0
    (tmp_path / "signed").write_text(signed + "x")
    assert verify() != 0


def test_revoked_assertion_keys_leave_the_key_set(site, cookie):
    before = key_set(site)
    tokens = {audience: from_page(site, cookie, f"?audience={quote(audience, safe='')}") for audience in (API, GATEWAY)}
    rotated = site.operator.json("assertion", "rotate", "--revoke", "--yes")
    assert [key["algorithm"] for key in rotated["keys"]] == ["ES256", "RS256"]
    assert rotated["kid"] == rotated["keys"][0]["kid"]
    eventually(lambda: {key["kid"] for key in key_set(site)["keys"]} == {key["kid"] for key in rotated["keys"]},
               "the new keys", lambda: json.dumps(key_set(site)))
    assert not {key["kid"] for key in before["keys"]} & {key["kid"] for key in key_set(site)["keys"]}
    for audience, token in tokens.items():
        with pytest.raises((JoseError, ValueError)):
            claims(token, key_set(site), audience)
        # The proxy's kept one goes with the key.
        assert claims(from_proxy(site, cookie, quote(audience, safe="")), key_set(site), audience)
