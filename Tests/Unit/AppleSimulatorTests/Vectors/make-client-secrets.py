#!/usr/bin/env python3
"""Writes client-secrets.json: client secrets minted by an independent implementation.

Needs the Python package `cryptography`. The private keys are thrown away; the tests' clock stands at NOW.
Origin: this script. Licence: that of the repository.
"""
import base64
import hashlib
import hmac
import json
import pathlib

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

NOW = 1_800_000_000


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(key, header, claims, der=False):
    signing_input = b64(json.dumps(header).encode()) + "." + b64(json.dumps(claims).encode())
    algorithm = header.get("alg")
    if algorithm == "none":
        signature = b""
    elif algorithm == "HS256":
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        signature = hmac.new(public, signing_input.encode(), hashlib.sha256).digest()
    else:
        signature = key.sign(signing_input.encode(), ec.ECDSA(hashes.SHA256()))
        if not der:
            r, s = utils.decode_dss_signature(signature)
            signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return signing_input + "." + b64(signature)


def pem(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def without(mapping, name):
    return {key: value for key, value in mapping.items() if key != name}


key, other, recipient = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
header = {"alg": "ES256", "kid": "KEY1234567"}
claims = {
    "iss": "TEAM123456", "iat": NOW, "exp": NOW + 300, "aud": "https://appleid.apple.com", "sub": "com.example.web",
}
recipient_claims = {**claims, "iss": "TEAM654321", "sub": "com.example.recipient"}
secrets = {
    "good": jwt(key, header, claims),
    "native": jwt(key, header, {**claims, "sub": "com.example.app"}),
    "recipient": jwt(recipient, {"alg": "ES256", "kid": "KEY7654321"}, recipient_claims),
    "longest": jwt(key, header, {**claims, "exp": NOW + 15_777_000}),
    "slightlyAhead": jwt(key, header, {**claims, "iat": NOW + 60}),
    "tooLong": jwt(key, header, {**claims, "exp": NOW + 15_777_001}),
    "tooFarAhead": jwt(key, header, {**claims, "iat": NOW + 61}),
    "expired": jwt(key, header, {**claims, "exp": NOW}),
    "noExp": jwt(key, header, without(claims, "exp")),
    "noIat": jwt(key, header, without(claims, "iat")),
    "wrongIss": jwt(key, header, {**claims, "iss": "TEAM654321"}),
    "wrongSub": jwt(key, header, {**claims, "sub": "com.example.app"}),
    "wrongAud": jwt(key, header, {**claims, "aud": "https://example.com"}),
    "noAud": jwt(key, header, without(claims, "aud")),
    "wrongKey": jwt(other, header, claims),
    "wrongKid": jwt(key, {**header, "kid": "NOSUCHKEY1"}, claims),
    "noKid": jwt(key, without(header, "kid"), claims),
    "algNone": jwt(key, {**header, "alg": "none"}, claims),
    "algHS256": jwt(key, {**header, "alg": "HS256"}, claims),
    "derSignature": jwt(key, header, claims, der=True),
    "twoParts": ".".join(jwt(key, header, claims).split(".")[:2]),
    "noJWT": "secret",
}
output = {
    "now": NOW,
    "publicKey": pem(key),
    "recipientPublicKey": pem(recipient),
    "p384PublicKey": pem(ec.generate_private_key(ec.SECP384R1())),
    "secrets": secrets,
}
path = pathlib.Path(__file__).with_name("client-secrets.json")
path.write_text(json.dumps(output, indent=1) + "\n")
