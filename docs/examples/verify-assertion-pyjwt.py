"""Verifies a signed assertion with PyJWT: `pip install "PyJWT[crypto]>=2.15"`. Refusals raise `jwt.PyJWTError`."""

import jwt

keys = jwt.PyJWKClient("https://id.example.com/.well-known/jwks.json", lifespan=300, cooldown_duration=10, timeout=5)


def verify(token: str) -> dict:
    decoded = jwt.decode_complete(
        token, keys.get_signing_key_from_jwt(token), algorithms=["ES256"], leeway=30,
        issuer="https://id.example.com", audience="https://api.example.com",
        options={"require": ["iss", "aud", "sub", "iat", "exp"], "strict_aud": True})
    if decoded["header"].get("typ") != "bramley-assertion+jwt":
        raise jwt.InvalidTokenError("another kind of token")
    return decoded["payload"]
