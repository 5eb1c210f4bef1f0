#!/usr/bin/env python3
"""Verifies a compact JWS with the Python package `cryptography`, and its c_hash or at_hash when named.

Input, JSON on standard input: {"keys": [...], "token": "...", "hash": "c_hash", "of": "..."}. Prints OK or why not.
Origin: this script. Licence: that of the repository.
"""
import base64
import hashlib
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


given = json.load(sys.stdin)
header, claims, signature = given["token"].split(".")
kid = json.loads(decode(header))["kid"]
key = next(key for key in given["keys"] if key["kid"] == kid)
numbers = rsa.RSAPublicNumbers(int.from_bytes(decode(key["e"]), "big"), int.from_bytes(decode(key["n"]), "big"))
try:
    numbers.public_key().verify(
        decode(signature), f"{header}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
except InvalidSignature:
    print("bad signature")
    sys.exit()
if given.get("hash"):
    expected = base64.urlsafe_b64encode(hashlib.sha256(given["of"].encode()).digest()[:16]).rstrip(b"=").decode()
    if json.loads(decode(claims)).get(given["hash"]) != expected:
        print("bad " + given["hash"])
        sys.exit()
print("OK")
