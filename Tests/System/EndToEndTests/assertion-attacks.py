"""Holds docs/examples/verify-assertion.py against a good assertion and everything that only looks like one.

One JSON question on standard input: {"sample", "issuer", "audience", "token", "others": {name: token}}. The answer says
of each what the sample made of it, and how the key set looks to joserfc.
"""
import base64
import hashlib
import hmac
import importlib.util
import json
import sys
import urllib.request

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

question = json.load(sys.stdin)
spec = importlib.util.spec_from_file_location("sample", question["sample"])
sample = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sample)

issuer, audience, token = question["issuer"], question["audience"], question["token"]


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def parsed(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def packed(value):
    return b64(json.dumps(value).encode())


head, body, signature = token.split(".")
header, claims = parsed(head), parsed(body)
published = json.load(urllib.request.urlopen(issuer + "/.well-known/jwks.json", timeout=10))
public = next(key for key in published["keys"] if key["kid"] == header["kid"])
stranger = ECKey.generate_key("P-256")
rsa = RSAKey.generate_key(2048)


def signed(header, claims, key=stranger, algorithm="ES256"):
    return jwt.encode(header, claims, key, algorithms=[algorithm])


def with_secret(secret):
    text = packed(header | {"alg": "HS256"}) + "." + body
    return text + "." + b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())


def flipped(text, index):
    return text[:index] + ("A" if text[index] != "A" else "B") + text[index + 1:]


jwk = json.dumps(public, separators=(",", ":")).encode()
forgeries = {
    "another person": head + "." + packed(claims | {"sub": "usr_00000000000000000000000000"}) + "." + signature,
    "more groups": head + "." + packed(claims | {"groups": ["admin"]}) + "." + signature,
    "later end": head + "." + packed(claims | {"exp": claims["exp"] + 3600}) + "." + signature,
    "another type": packed(header | {"typ": "JWT"}) + "." + body + "." + signature,
    "alg none": packed(header | {"alg": "none"}) + "." + body + ".",
    "alg none with a signature": packed(header | {"alg": "none"}) + "." + body + "." + signature,
    "HS256 with the public x": with_secret(public["x"].encode()),
    "HS256 with the JWK": with_secret(jwk),
    "HS256 with the PEM": with_secret(ECKey.import_key(public).as_pem(private=False)),
    "a stranger's key under our kid": signed(header, claims),
    "a stranger's key in the header": signed(header | {"jwk": stranger.as_dict(private=False)}, claims),
    "a stranger's kid": signed(header | {"kid": stranger.thumbprint()}, claims),
    "no kid": signed({"alg": "ES256", "typ": header["typ"]}, claims),
    "a kid that is a list": packed(header | {"kid": [header["kid"]]}) + "." + body + "." + signature,
    "RS256 under our kid": signed(header | {"alg": "RS256"}, claims, rsa, "RS256"),
    "no signature": head + "." + body + ".",
    "an empty signature of zeros": head + "." + body + "." + b64(bytes(64)),
    "a DER signature": head + "." + body + "." + b64(b"\x30\x06\x02\x01\x01\x02\x01\x01"),
    "two tokens": token + token,
    "a part more": token + ".x",
    "a part less": head + "." + body,
    "nothing": "",
    "no ASCII": token + "\u00e9",
    "too long": token + "A" * 20_000,
}
for index in range(0, len(signature) - 1, 9):
    forgeries[f"signature changed at {index}"] = head + "." + body + "." + flipped(signature, index)


def attempt(verifier, text):
    try:
        return "accepted " + verifier.verify(text)["sub"]
    except sample.Refused as refusal:
        return f"refused: {refusal}"
    except Exception as error:
        return f"crashed: {error!r}"


verifier = sample.AssertionVerifier(issuer, audience)
results = {"good": attempt(verifier, token)}
for name, text in (forgeries | question["others"]).items():
    results[name] = attempt(verifier, text)
results["good again"] = attempt(verifier, token)
results["for another audience"] = attempt(sample.AssertionVerifier(issuer, audience + "/"), token)
other = sample.AssertionVerifier(issuer, audience)
other.issuer = issuer.replace("localhost", "127.0.0.1")
results["of another issuer"] = attempt(other, token)
sys.stdout.write(json.dumps({
    "results": results,
    "thumbprints": [ECKey.import_key(key).thumbprint() == key["kid"] for key in published["keys"]],
    "private": [ECKey.import_key(key).is_private for key in published["keys"]],
}))
