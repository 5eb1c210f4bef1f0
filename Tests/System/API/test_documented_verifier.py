"""The check of assertions with PyJWT, docs/examples/verify-assertion-pyjwt.py."""

import base64
import json
import time

import jwt
import pytest
from joserfc import jwt as signing
from joserfc.jwk import ECKey, RSAKey

from answering import Answering
from programs import ROOT
from web import call, sign_in

ISSUER, AUDIENCE = "https://id.example.com", "https://api.example.com"
KEYS = {"ES256": ECKey.generate_key("P-256", {"kid": "known", "use": "sig", "alg": "ES256"}),
        "RS256": RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig", "alg": "RS256"})}
STRANGER = ECKey.generate_key("P-256")
HEADER = {"alg": "ES256", "kid": "known", "typ": "bramley-assertion+jwt"}


def documented(keys: str, issuer: str = ISSUER):
    """The function of the example; the keys are at this origin."""
    code = (ROOT / "docs/examples/verify-assertion-pyjwt.py").read_text()
    names: dict = {}
    exec(code.replace(f"{ISSUER}/.well-known", f"{keys}/.well-known").replace(f'"{ISSUER}"', f'"{issuer}"'), names)
    return names["verify"]


@pytest.fixture(scope="module")
def verify():
    keys = json.dumps({"keys": [key.as_dict(private=False) for key in KEYS.values()]}).encode()
    server = Answering(lambda request, body: (200, {}, keys))
    yield documented(server.origin)
    server.stop()


def signed(key=KEYS["ES256"], header: dict = {}, **claims) -> str:
    now = int(time.time())
    whole = {"iss": ISSUER, "aud": AUDIENCE, "sub": "usr_1", "iat": now, "exp": now + 300} | claims
    whole = {name: value for name, value in whole.items() if value is not None}
    return signing.encode(HEADER | header, whole, key, algorithms=[(HEADER | header)["alg"]])


def unsigned() -> str:
    parts = ({"alg": "none"} | HEADER | {"alg": "none"}, {"iss": ISSUER, "aud": AUDIENCE, "sub": "usr_1"})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


def test_an_assertion_of_the_server_is_accepted(make_site):
    site = make_site({"assertion.audience": AUDIENCE})
    cookie = {"Cookie": "__Host-bramley=" + sign_in(site, "ada")}
    token = call(site, "GET", "/api/v1/session/assertion", cookie).must(200).json()["assertion"]
    assert documented(site.origin, site.origin)(token)["sub"].startswith("usr_")
    with pytest.raises(jwt.InvalidIssuerError):
        documented(site.origin)(token)


def test_a_good_one_and_one_that_ended_a_moment_ago_are_accepted(verify):
    assert verify(signed())["sub"] == "usr_1"
    assert verify(signed(exp=int(time.time()) - 5))["sub"] == "usr_1"


# Made in the test: each token has its time.
@pytest.mark.parametrize("token", [
    lambda: signed(iss=ISSUER + "/"), lambda: signed(aud="reports"), lambda: signed(aud=[AUDIENCE, "reports"]),
    lambda: signed(exp=int(time.time()) - 40), lambda: signed(iat=int(time.time()) + 60),
    *(lambda name=name: signed(**{name: None}) for name in ("iss", "aud", "sub", "iat", "exp")),
    lambda: signed(header={"typ": "JWT"}), lambda: signed(header={"kid": "unknown"}), lambda: signed(STRANGER),
    lambda: signed(KEYS["RS256"], {"alg": "RS256", "kid": "rsa"}), unsigned, lambda: signed()[:-4] + "AAAA",
    lambda: signed() + ".x", lambda: "x", lambda: "", lambda: "é", lambda: signed() + "é",
], ids=range(21))
def test_any_other_is_refused(verify, token):
    with pytest.raises(jwt.PyJWTError):
        verify(token())
