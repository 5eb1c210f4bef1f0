"""An application that receives webhooks: it can answer well, badly, slowly, or not at all."""

import base64
import os
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Callable

from answering import Answering
from patience import PATIENCE


def new_secret() -> str:
    return "whsec_" + base64.b64encode(os.urandom(32)).decode()


@dataclass
class Arrival:
    headers: dict[str, str]
    body: bytes
    path: str
    time: float
    accepted: bool = False

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Answer:
    """What to send back, in pieces; then the connection is closed unless it may be kept."""

    pieces: list[bytes]
    accepts: bool = False
    pause: float = 0.0
    keeps: bool = False


def status(code: int, *fields: str, body: bytes = b"", keeps: bool = True) -> Answer:
    """A plain answer. 2xx accepts the event."""
    lines = [f"HTTP/1.1 {code} Whatever", f"Content-Length: {len(body)}", *fields]
    if not keeps:
        lines.append("Connection: close")
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    return Answer([head + body], accepts=200 <= code < 300, keeps=keeps)


@dataclass
class Receiver:
    """Listens until `close`. `answer` decides on each request; None leaves it without an answer until `close`."""

    answer: Callable[[Arrival], Answer | None] = lambda arrival: status(204)
    tls: ssl.SSLContext | None = None
    address: str = "127.0.0.1"
    arrivals: list[Arrival] = field(default_factory=list)

    def __post_init__(self):
        self.changed = threading.Condition()
        self.ended = threading.Event()
        self.server = Answering(self.take, address=self.address, tls=self.tls, keeps=True)
        self.port = self.server.port

    def url(self, path: str = "/hook") -> str:
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}{path}"

    def take(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple | None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        if len(body) != int(headers.get("content-length", -1)):
            # Who sent it went away, or was killed.
            return None
        arrival = Arrival(headers, body, request.path, time.monotonic())
        assert request.command == "POST"
        with self.changed:
            self.arrivals.append(arrival)
            answer = self.answer(arrival)
            # Before it is said: whoever hears it may act on it at once.
            arrival.accepted = answer is not None and answer.accepts
            self.changed.notify_all()
        if answer is None:
            self.ended.wait()
            return None
        for piece in answer.pieces:
            request.wfile.write(piece)
            if answer.pause and self.ended.wait(answer.pause):
                return None
        return () if answer.keeps else None

    def wait_for(self, condition: Callable[[list[Arrival]], object], what: str, seconds: float = PATIENCE) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self.arrivals), seconds), f"waited in vain for {what}"

    def accepted(self) -> list[str]:
        with self.changed:
            return [arrival.id for arrival in self.arrivals if arrival.accepted]

    def close(self) -> None:
        self.ended.set()
        self.server.stop()
