"""Signs and checks tokens, and looks into databases: one JSON question and answer a line."""
import base64
import contextlib
import hashlib
import hmac
import json
import sqlite3
import sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

keys = {}
named_p256 = {}
elliptic = ec.generate_private_key(ec.SECP256R1())


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def key(name, bits=2048):
    if (name, bits) not in keys:
        keys[(name, bits)] = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    return keys[(name, bits)]


def public(name, encoding):
    return key(name).public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)


def octets(number):
    return b64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def jwk(name, bits=2048):
    numbers = key(name, bits).public_key().public_numbers()
    return {"kty": "RSA", "kid": name, "use": "sig", "alg": "RS256", "n": octets(numbers.n), "e": octets(numbers.e)}


def pem(private):
    return private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def signature(method, name, message):
    name, _, bits = name.partition("/")
    private = key(name, int(bits or 2048))
    schemes = {
        "RS256": (padding.PKCS1v15(), hashes.SHA256()), "RS512": (padding.PKCS1v15(), hashes.SHA512()),
        "PS256": (padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())}
    if method in schemes:
        return private.sign(message, *schemes[method])
    if method == "ES256":
        r, s = utils.decode_dss_signature(elliptic.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    if method == "none":
        return b""
    secrets = {
        "HS256-pem": lambda: public(name, serialization.Encoding.PEM),
        "HS256-der": lambda: public(name, serialization.Encoding.DER),
        "HS256-n": lambda: octets(private.public_key().public_numbers().n).encode()}
    return hmac.new(secrets[method](), message, hashlib.sha256).digest()


def answer(q):
    op, name = q["op"], q.get("key", "")
    if op == "sign":
        # Bytes that are no UTF-8 cannot travel in a question: they are asked for by name.
        header, payload = (q[part].encode().replace(b"<NOT-UTF-8>", b"\xff\xfe") for part in ("header", "payload"))
        text = b64(header) + "." + b64(payload)
        return text + "." + b64(signature(q["method"], name, text.encode()))
    if op == "jwt":
        private = RSAKey.import_key(pem(key(name)))
        return jwt.encode({"alg": "RS256", "kid": name}, json.loads(q["payload"]), private)
    if op == "jwk":
        members = jwk(name, int(q["bits"])) | json.loads(q["payload"])
        return json.dumps({k: v for k, v in members.items() if v is not None})
    if op == "jwks":
        return json.dumps({"keys": [jwk(kid) for kid in name.split(",") if kid]})
    if op == "p256":
        named_p256[name] = ec.generate_private_key(ec.SECP256R1())
        return pem(named_p256[name]).decode()
    if op == "es256":
        # By its name, or as PEM.
        private = named_p256.get(name) or serialization.load_pem_private_key(name.encode(), None)
        public_key = private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        token = jwt.decode(q["payload"], ECKey.import_key(public_key), algorithms=["ES256"])
        return json.dumps({"header": token.header, "claims": token.claims})
    if op == "sql":
        # Another implementation looks into the database, read-only.
        with contextlib.closing(sqlite3.connect(f"file:{name}?mode=ro", uri=True, timeout=30)) as database:
            return str(database.execute(q["payload"]).fetchone()[0])
    if op == "half-hash":
        return b64(hashlib.sha256(name.encode()).digest()[:16])
    raise ValueError(op)


for line in sys.stdin:
    try:
        reply = {"answer": answer(json.loads(line))}
    except Exception as error:
        reply = {"error": repr(error)}
    print(json.dumps(reply), flush=True)
