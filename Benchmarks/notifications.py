"""Notifications accepted by the second: each verified, durable and applied to somebody who is signed in.

Every token is signed before the timed window, each with a `jti` of its own. Four are about each person: mail is
forwarded no more, is forwarded again, consent is withdrawn (which ends their session), and mail once more.
"""

import json
import os
import secrets
import time
from dataclasses import dataclass

import peers
import signins
import wire

COUNT = int(os.environ.get("BENCH_NOTIFICATIONS", "4000"))
KINDS = ("email-disabled", "email-enabled", "consent-revoked", "email-disabled")


def prepare(port, signer, subjects):
    """One request for each kind and person, person after person within a kind."""
    return [post(port, signer, kind, sub, order)
            for order, kind in enumerate(KINDS) for sub in subjects]


def post(port, signer, kind, sub, order):
    moment = time.time() + order / 1000
    event = {"type": kind, "sub": sub, "event_time": int(moment * 1000)}
    if kind.startswith("email"):
        event |= {"email": f"{sub}@privaterelay.appleid.com", "is_private_email": "true"}
    token = signer.sign({"iss": signins.ISSUER, "aud": signins.CLIENT, "exp": int(moment) + 86400, "iat": int(moment),
                         "jti": secrets.token_urlsafe(16), "events": json.dumps(event)})
    body = json.dumps({"payload": token}).encode()
    return (f"POST /apple/notifications HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


@dataclass
class Result:
    per_core_second: float
    per_second: float


def run(binary, folder, server_core, load_core):
    apple = signins.StandIn.start(load_core)
    bramley = peers.Bramley(binary, os.path.join(folder, secrets.token_hex(4)), server_core, apple=apple.url)

    def sign_in(count, first):
        people = signins.prepare(bramley.port, apple.signer, count, first)
        apple.learn({item.code: item.answer for item in people})
        signins.post_all(bramley.port, people)
        return [f"bench{first + number}" for number in range(count)]

    def post_all(requests):
        answers = wire.post_all(bramley.port, requests, signins.PARALLEL)
        refused = [answer for answer in answers if not answer.startswith(b"HTTP/1.1 200")]
        if refused:
            raise SystemExit(f"a notification was refused: {refused[0].decode()}")

    try:
        os.sched_setaffinity(0, {int(load_core)})
        warm, people = sign_in(50, 0), sign_in(COUNT // len(KINDS), 1000)
        timed = prepare(bramley.port, apple.signer, people)
        post_all(prepare(bramley.port, apple.signer, warm))
        server, began = peers.cpu_seconds(bramley.pid), time.monotonic()
        post_all(timed)
        elapsed = time.monotonic() - began
        used = peers.cpu_seconds(bramley.pid) - server
        return Result(len(timed) / used, len(timed) / elapsed)
    finally:
        os.sched_setaffinity(0, range(os.cpu_count()))
        bramley.stop()
        apple.stop()
