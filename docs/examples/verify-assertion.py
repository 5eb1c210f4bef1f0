#!/usr/bin/env python3
"""Verifies a signed assertion from Bramley in a backend.

    pip install joserfc
    python3 verify-assertion.py https://id.example.com https://api.example.com < assertion

The first argument is Bramley's publicURL, the second assertion.audience. Prints the claims; or why the assertion is
refused, with exit code 1. In a backend, keep one AssertionVerifier and call verify() with the X-Auth-Request-Assertion
of each request, or with the Bearer token that your page or app sends.
"""

import json
import sys
import threading
import time
import urllib.parse
import urllib.request

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

TYPE = "bramley-assertion+jwt"


class Refused(Exception):
    """The token proves nothing."""


class AssertionVerifier:
    MAXIMUM_BYTES = 16_384
    # Seconds: how long a fetched key set is used (its max-age); pause before an unknown key causes another fetch;
    # maximum difference between this clock and Bramley's.
    KEYS_LAST, COOL_DOWN, LEEWAY = 300, 10, 30

    def __init__(self, issuer: str, audience: str):
        address = urllib.parse.urlsplit(issuer)
        # Whoever changes the keys can imitate anybody, so plain http is for this machine only.
        if address.scheme != "https" and address.hostname not in ("localhost", "127.0.0.1"):
            raise ValueError("publicURL must begin with https://")
        self.issuer = issuer
        self.audience = audience
        self.address = issuer + "/.well-known/jwks.json"
        self.keys: dict[str, ECKey] = {}
        self.fetched = float("-inf")
        self.lock = threading.Lock()

    def verify(self, token: str) -> dict:
        """The claims of a valid token from Bramley for this backend. Raises Refused for any other."""
        if not token.isascii() or len(token) > self.MAXIMUM_BYTES:
            raise Refused("not a token")
        rules = jwt.JWTClaimsRegistry(
            leeway=self.LEEWAY,
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": self.audience},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )
        try:
            # One algorithm, chosen here and not by the token. The key comes from Bramley, by its id.
            decoded = jwt.decode(token, self.key_for, algorithms=["ES256"])
            if decoded.header.get("typ") != TYPE:
                raise Refused("another kind of token")
            rules.validate(decoded.claims)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise Refused(str(error) or type(error).__name__) from error
        return decoded.claims

    def key_for(self, token) -> ECKey:
        kid = token.headers().get("kid")
        with self.lock:
            age = time.monotonic() - self.fetched
            if age > self.KEYS_LAST or (kid not in self.keys and age > self.COOL_DOWN):
                self.fetch()
            if not isinstance(kid, str) or kid not in self.keys:
                raise Refused("an unknown key")
            return self.keys[kid]

    def fetch(self) -> None:
        opener = urllib.request.build_opener(NoRedirects)
        with opener.open(self.address, timeout=5) as answer:
            document = json.loads(answer.read(65_536))
        self.keys = {
            key["kid"]: ECKey.import_key(key)
            for key in document["keys"]
            if (key.get("kty"), key.get("crv"), key.get("use")) == ("EC", "P-256", "sig")
        }
        self.fetched = time.monotonic()


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    verifier = AssertionVerifier(sys.argv[1], sys.argv[2])
    try:
        claims = verifier.verify(sys.stdin.read().strip())
    except Refused as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 1
    print(json.dumps(claims, indent=4, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
