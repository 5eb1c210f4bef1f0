"""Completed sign-ins by the second: the load, and a stand-in for Apple that is not the bottleneck.

Every token is signed before the timed window. The stand-in answers /auth/token from a table, in a process and on a
core of its own; its CPU is reported beside the result. The server does all that a real sign-in asks of it: two RS256
verifications, the exchange over a socket, and a durable transaction.
"""

import asyncio
import base64
import hashlib
import http.client
import json
import multiprocessing
import os
import re
import secrets
import time
import urllib.parse
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

import peers

COUNT = int(os.environ.get("BENCH_SIGN_INS", "2000"))
PARALLEL = 64
ISSUER, CLIENT = "https://appleid.apple.com", "com.example.web"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def half_hash(text):
    return encode(hashlib.sha256(text.encode()).digest()[:16])


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
        text = encode(b'{"kid":"BENCHKEY01","alg":"RS256"}') + "." + encode(json.dumps(claims).encode())
        signature = self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return text + "." + encode(signature)


class AppleProtocol(asyncio.Protocol):
    answers: dict = {}

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, rest = self.buffer.split(b"\r\n\r\n", 1)
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            size = int(length.group(1)) if length else 0
            if len(rest) < size:
                return
            body, self.buffer = rest[:size], rest[size:]
            if head.startswith(b"GET /auth/keys"):
                answer = self.answers["keys"]
            else:
                code = re.search(rb"(?:^|&)code=([^&]*)", body).group(1).decode()
                answer = self.answers.get(code, b"{}")
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(answer), answer))


def serve_apple(port, answers, core, control):
    os.sched_setaffinity(0, {int(core)})

    async def run():
        loop = asyncio.get_running_loop()
        AppleProtocol.answers = answers
        server = await loop.create_server(AppleProtocol, "127.0.0.1", port)
        control.send(os.getpid())

        def told():
            AppleProtocol.answers.update(control.recv())
            control.send(True)

        loop.add_reader(control.fileno(), told)
        await server.serve_forever()

    asyncio.run(run())


class StandIn:
    @classmethod
    def start(cls, core):
        self = cls()
        self.signer = Signer()
        self.port = peers.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.control, other = multiprocessing.Pipe()
        answers = {"keys": json.dumps(self.signer.jwks).encode()}
        self.process = multiprocessing.Process(
            target=serve_apple, args=(self.port, answers, core, other), daemon=True)
        self.process.start()
        self.pid = self.control.recv()
        return self

    def learn(self, answers):
        self.control.send(answers)
        self.control.recv()

    def stop(self):
        self.process.terminate()
        self.process.join()


class Prepared:
    """One sign-in, ready to be posted."""

    def __init__(self, connection, signer, port, number):
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        connection.request("GET", "/login/attempt", headers={
            "Host": f"localhost:{port}", "Sec-Fetch-Site": "same-origin", "X-Forwarded-For": address})
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise SystemExit(f"/login/attempt answered {response.status}: {body[:200]}")
        attempt = json.loads(body)
        binding = response.getheader("Set-Cookie").split(";")[0]
        sub, self.code, access = f"bench{number}", "c" + secrets.token_hex(16), secrets.token_hex(16)
        front = signer.token(sub, attempt["nonce"], c_hash=half_hash(self.code))
        back = signer.token(sub, attempt["nonce"], at_hash=half_hash(access))
        self.answer = json.dumps({"access_token": access, "token_type": "Bearer", "expires_in": 3600,
                                  "refresh_token": "r" + secrets.token_hex(16), "id_token": back}).encode()
        user = json.dumps({"name": {"firstName": "Ada", "lastName": "Byron"}, "email": f"{sub}@example.com"})
        form = urllib.parse.urlencode(
            {"state": attempt["state"], "code": self.code, "id_token": front, "user": user}).encode()
        self.request = (
            f"POST /apple/callback HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: https://appleid.apple.com\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nCookie: {binding}\r\nX-Forwarded-For: {address}\r\n"
            f"Content-Length: {len(form)}\r\n\r\n").encode() + form


def prepare(port, signer, count, first=0):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    return [Prepared(connection, signer, port, first + number) for number in range(count)]


async def post_all(port, prepared):
    queue = iter(prepared)

    async def work():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        cookies = []
        for item in queue:
            writer.write(item.request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if not head.startswith("HTTP/1.1 303"):
                raise SystemExit(f"a sign-in was refused: {head}")
            length = re.search(r"(?i)content-length: *(\d+)", head)
            if length:
                await reader.readexactly(int(length.group(1)))
            cookies.append(re.search(r"(?i)set-cookie: *((?:__Host-|__Secure-)bramley=[^;]+)", head).group(1))
        writer.close()
        return cookies

    return sum(await asyncio.gather(*(work() for _ in range(PARALLEL))), [])


def sign_in_once(bramley, apple):
    """The session cookie of one completed sign-in."""
    prepared = prepare(bramley.port, apple.signer, 1)
    apple.learn({item.code: item.answer for item in prepared})
    return asyncio.run(post_all(bramley.port, prepared))[0]


@dataclass
class Result:
    per_core_second: float
    per_second: float
    stand_in_cpu: float


def run(binary, folder, server_core, load_core):
    apple = StandIn.start(load_core)
    bramley = peers.Bramley(binary, os.path.join(folder, secrets.token_hex(4)), server_core, apple=apple.url)
    try:
        warm = prepare(bramley.port, apple.signer, 200)
        timed = prepare(bramley.port, apple.signer, COUNT, first=1000)
        apple.learn({item.code: item.answer for item in warm + timed})
        os.sched_setaffinity(0, {int(load_core)})
        asyncio.run(post_all(bramley.port, warm))
        server, stand_in = peers.cpu_seconds(bramley.pid), peers.cpu_seconds(apple.pid)
        began = time.monotonic()
        cookies = asyncio.run(post_all(bramley.port, timed))
        elapsed = time.monotonic() - began
        used = peers.cpu_seconds(bramley.pid) - server
        if len(set(cookies)) != COUNT:
            raise SystemExit(f"{len(set(cookies))} sessions of {COUNT}")
        return Result(COUNT / used, COUNT / elapsed, (peers.cpu_seconds(apple.pid) - stand_in) / COUNT * 1e6)
    finally:
        os.sched_setaffinity(0, range(os.cpu_count()))
        bramley.stop()
        apple.stop()
