"""The other side of the interoperability tests: Python's `cryptography`, JOSE assembled by hand.

One JSON request on standard input, one JSON answer on standard output. Works with cryptography 38 and later.
"""
import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(value):
    return encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def parts(header, payload):
    return (encode(json.dumps(header).encode()) + "." + encode(json.dumps(payload).encode())).encode()


def sign_rs256(request):
    """Tokens of several key sizes and exponents, with their keys as one set."""
    keys, tokens = [], []
    for bits, exponent in [(2048, 65537), (2048, 3), (3072, 65537), (4096, 65537)]:
        key = rsa.generate_private_key(public_exponent=exponent, key_size=bits)
        public = key.public_key().public_numbers()
        kid = "%d-%d" % (bits, exponent)
        keys.append({"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256",
                     "n": number(public.n), "e": number(public.e)})
        signed = parts({"kid": kid, "alg": "RS256"}, request["claims"])
        tokens.append(signed.decode() + "." + encode(key.sign(signed, padding.PKCS1v15(), hashes.SHA256())))
        pss = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=32)
        tokens.append(signed.decode() + "." + encode(key.sign(signed, pss, hashes.SHA256())))
        tokens.append(signed.decode() + "." + encode(key.sign(signed, padding.PKCS1v15(), hashes.SHA512())))
    return {"keys": {"keys": keys}, "tokens": tokens}


def sign_es256(request):
    tokens = []
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_numbers()
    for index in range(request["count"]):
        signed = parts({"alg": "ES256"}, {"index": index})
        r, s = decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))
        tokens.append(signed.decode() + "." + encode(r.to_bytes(32, "big") + s.to_bytes(32, "big")))
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                            serialization.NoEncryption())
    jwk = {"kty": "EC", "crv": "P-256", "x": encode(public.x.to_bytes(32, "big")),
           "y": encode(public.y.to_bytes(32, "big"))}
    return {"key": jwk, "pem": pem.decode(), "tokens": tokens}


def verify_es256(request):
    """Which of the tokens verify under the key."""
    point = b"\x04" + decode(request["key"]["x"]) + decode(request["key"]["y"])
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    results = []
    for token in request["tokens"]:
        signed, _, signature = token.rpartition(".")
        raw = decode(signature)
        assert len(raw) == 64
        der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        try:
            key.verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))
            results.append(json.loads(decode(signed.split(".")[0]))["alg"] == "ES256")
        except InvalidSignature:
            results.append(False)
    return {"results": results}


def authenticate(request):
    """HMAC-SHA-256 of each message, in hexadecimal."""
    codes = []
    for key, message in request["pairs"]:
        code = hmac.HMAC(bytes.fromhex(key), hashes.SHA256())
        code.update(bytes.fromhex(message))
        codes.append(code.finalize().hex())
    return {"codes": codes}


request = json.load(sys.stdin)
print(json.dumps({"sign_rs256": sign_rs256, "sign_es256": sign_es256, "verify_es256": verify_es256,
                  "authenticate": authenticate}[request["do"]](request)))
