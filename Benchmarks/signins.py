"""Completed sign-ins by the second: the load, and a stand-in for Apple that is not the bottleneck.

Every token is signed before the timed window. The stand-in answers /auth/token from a table, in a process and on a
core of its own; its CPU is reported beside the result. The server does all that a real sign-in asks of it: two RS256
verifications, the exchange over a socket, and a durable transaction.
"""

import base64
import hashlib
import http.client
import json
import multiprocessing
import os
import re
import secrets
import socket
import time
import urllib.parse
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

import peers
import wire

COUNT = int(os.environ.get("BENCH_SIGN_INS", "2000"))
PARALLEL = 64
CODE = re.compile(rb"(?:^|&)code=([^&]*)")
COOKIE = re.compile(rb"(?i)set-cookie: *((?:__Host-|__Secure-)bramley=[^;]+)")
ISSUER, CLIENT = "https://appleid.apple.com", "com.example.web"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def half_hash(text):
    return encode(hashlib.sha256(text.encode()).digest()[:16])


def whole(content):
    return (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(content), content))


class Signer:
    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        numbers = self.key.public_key().public_numbers()
        self.jwks = {"keys": [{"kty": "RSA", "kid": "BENCHKEY01", "use": "sig", "alg": "RS256",
                               "n": encode(numbers.n.to_bytes(256, "big")), "e": "AQAB"}]}

    def token(self, sub, nonce, **more):
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": CLIENT, "exp": now + 86400, "iat": now, "sub": sub, "nonce": nonce,
                  "nonce_supported": True, "email": f"{sub}@example.com", "email_verified": True,
                  "auth_time": now, **more}
        return self.sign(claims)

    def sign(self, claims):
        text = encode(b'{"kid":"BENCHKEY01","alg":"RS256"}') + "." + encode(json.dumps(claims).encode())
        signature = self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return text + "." + encode(signature)


def serve_apple(listener, answers, core, control):
    os.sched_setaffinity(0, set(map(int, core.split(","))))

    def answer(head, body):
        if head.startswith(b"GET /auth/keys"):
            return answers["keys"]
        return answers.get(CODE.search(body).group(1), answers["nothing"])

    def told():
        answers.update(control.recv())
        control.send(True)

    control.send(os.getpid())
    wire.answer_all(listener, answer, (control.fileno(), told))


class StandIn:
    @classmethod
    def start(cls, core):
        self = cls()
        self.signer = Signer()
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.control, other = multiprocessing.Pipe()
        answers = {"keys": whole(json.dumps(self.signer.jwks).encode()), "nothing": whole(b"{}")}
        self.process = multiprocessing.Process(target=serve_apple, args=(listener, answers, core, other), daemon=True)
        self.process.start()
        listener.close()
        self.pid = self.control.recv()
        return self

    def learn(self, answers):
        self.control.send(answers)
        self.control.recv()

    def stop(self):
        self.process.terminate()
        self.process.join()


class Prepared:
    """One sign-in, ready to be posted.

    sub: of somebody who is known; else a new person, with the name Apple sends once.
    """

    def __init__(self, connection, signer, port, number, sub=None):
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        connection.request("GET", "/login/attempt", headers={
            "Host": f"localhost:{port}", "Sec-Fetch-Site": "same-origin", "X-Forwarded-For": address})
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise SystemExit(f"/login/attempt answered {response.status}: {body[:200]}")
        attempt = json.loads(body)
        binding = response.getheader("Set-Cookie").split(";")[0]
        is_new = sub is None
        sub = sub or f"bench{number}"
        code, access = "c" + secrets.token_hex(16), secrets.token_hex(16)
        front = signer.token(sub, attempt["nonce"], c_hash=half_hash(code))
        back = signer.token(sub, attempt["nonce"], at_hash=half_hash(access))
        self.code = code.encode()
        self.answer = whole(json.dumps(
            {"access_token": access, "token_type": "Bearer", "expires_in": 3600,
             "refresh_token": "r" + secrets.token_hex(16), "id_token": back}).encode())
        fields = {"state": attempt["state"], "code": code, "id_token": front}
        if is_new:
            fields["user"] = json.dumps(
                {"name": {"firstName": "Ada", "lastName": "Byron"}, "email": f"{sub}@example.com"})
        form = urllib.parse.urlencode(fields).encode()
        self.request = (
            f"POST /apple/callback HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: https://appleid.apple.com\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nCookie: {binding}\r\nX-Forwarded-For: {address}\r\n"
            f"Content-Length: {len(form)}\r\n\r\n").encode() + form


def prepare(port, signer, count, first=0, returning=False):
    """returning: the people of an earlier call with the same `first`, without their names."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    return [Prepared(connection, signer, port, first + number, f"bench{first + number}" if returning else None)
            for number in range(count)]


def post_all(port, prepared):
    """The session cookies of these sign-ins."""
    answers = wire.post_all(port, [item.request for item in prepared], PARALLEL)
    refused = [answer for answer in answers if not answer.startswith(b"HTTP/1.1 303")]
    if refused:
        raise SystemExit(f"a sign-in was refused: {refused[0].decode()}")
    return [COOKIE.search(answer).group(1).decode() for answer in answers]


def sign_in_once(bramley, apple):
    """The session cookie of one completed sign-in."""
    prepared = prepare(bramley.port, apple.signer, 1)
    apple.learn({item.code: item.answer for item in prepared})
    return post_all(bramley.port, prepared)[0]


@dataclass
class Result:
    per_core_second: float
    per_second: float
    stand_in_cpu: float


def run(binary, folder, server_core, load_core, returning=False):
    """returning: everybody signs in for the second time; else for the first."""
    apple = StandIn.start(load_core)
    bramley = peers.Bramley(binary, os.path.join(folder, secrets.token_hex(4)), server_core, apple=apple.url)

    def prepared(count, first, returning):
        items = prepare(bramley.port, apple.signer, count, first, returning)
        apple.learn({item.code: item.answer for item in items})
        return items

    try:
        os.sched_setaffinity(0, {int(load_core)})
        post_all(bramley.port, prepared(200, 0, False))
        if returning:
            post_all(bramley.port, prepared(COUNT, 1000, False))
        timed = prepared(COUNT, 1000, returning)
        server, stand_in = peers.cpu_seconds(bramley.pid), peers.cpu_seconds(apple.pid)
        began = time.monotonic()
        cookies = post_all(bramley.port, timed)
        elapsed = time.monotonic() - began
        used = peers.cpu_seconds(bramley.pid) - server
        if len(set(cookies)) != COUNT:
            raise SystemExit(f"{len(set(cookies))} sessions of {COUNT}")
        return Result(COUNT / used, COUNT / elapsed, (peers.cpu_seconds(apple.pid) - stand_in) / COUNT * 1e6)
    finally:
        os.sched_setaffinity(0, range(os.cpu_count()))
        bramley.stop()
        apple.stop()
