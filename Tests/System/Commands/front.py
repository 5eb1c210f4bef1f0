"""A misbehaving proxy with TLS between publicURL and Bramley, for the tests of `bramley doctor`."""

import http.client
import ssl
import time
from dataclasses import dataclass
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Callable

from answering import Answering
from programs import free_port

# Hop by hop (RFC 9110 §7.6.1), or made again by who forwards.
DROPPED = {"connection", "keep-alive", "transfer-encoding", "content-length", "x-forwarded-for"}


@dataclass
class Habits:
    """What the proxy does to requests and answers; by default exactly what Bramley needs."""

    # Where Bramley sees it come from; 127.0.0.2 is the one it trusts.
    source: str = "127.0.0.2"
    # What it says about its client: that one's address, these words, or (None) nothing.
    forwarded_for: str | None = "{client}"
    passes_forwarded_for: bool = False
    host: str | None = None
    # The path it asks Bramley for.
    path: Callable[[str], str] = lambda path: path
    # Fields of requests and answers, as lists of pairs, changed on their way.
    request: Callable[[list], list] = lambda fields: fields
    answer: Callable[[list], list] = lambda fields: fields
    # (status, fields) instead of asking Bramley; None asks.
    instead: Callable[[str, str], tuple[int, dict] | None] = lambda method, path: None
    method: Callable[[str, str], str] = lambda method, path: method


class Front(Answering):
    def __init__(self, certificate: tuple[str, str], target: int = 0, address: str = "127.0.0.1"):
        """`certificate`: its file, and that of its key."""
        self.target, self.habits = target, Habits()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        super().__init__(self.handle, free_port(), address, context)

    def handle(self, asked: BaseHTTPRequestHandler, body: bytes) -> tuple:
        return self.habits.instead(asked.command, asked.path) or self.forward(asked, self.habits, body)

    def forward(self, asked, habits: Habits, body: bytes):
        claimed = asked.headers.get_all("X-Forwarded-For", []) if habits.passes_forwarded_for else []
        fields = [pair for pair in asked.headers.items() if pair[0].lower() not in DROPPED | {"host"}]
        if claimed:
            fields += [("X-Forwarded-For", value) for value in claimed]
        elif habits.forwarded_for is not None:
            fields.append(("X-Forwarded-For", habits.forwarded_for.format(client=asked.client_address[0])))
        method = habits.method(asked.command, asked.path)
        if method == "POST":
            fields.append(("Content-Length", str(len(body))))
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=60, source_address=(habits.source, 0))
        connection.putrequest(method, habits.path(asked.path), skip_host=True, skip_accept_encoding=True)
        for name, value in [("Host", habits.host or asked.headers["Host"]), *habits.request(fields)]:
            connection.putheader(name, value)
        connection.endheaders(body if method == "POST" else None)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        passed = [pair for pair in response.getheaders() if pair[0].lower() not in DROPPED]
        return response.status, habits.answer(passed), content


class AppleAnswers(Answering):
    """An Apple without TLS whose answers a test writes, `Date` included."""

    def __init__(self, keys: bytes):
        self.keys = keys
        # Seconds its clock is off; None leaves the field out.
        self.date_offset: float | None = 0.0
        # (status, content) of the token endpoint, one for each request; then the made-up code is refused.
        self.token: list[tuple[int, bytes]] = []
        self.seen: list[str] = []
        super().__init__(self.say)

    def say(self, asked: BaseHTTPRequestHandler, body: bytes) -> tuple:
        status, content = 200, self.keys
        if asked.command == "POST":
            self.seen.append(body.decode())
            status, content = self.token.pop(0) if self.token else (400, b'{"error":"invalid_grant"}')
        date = {} if self.date_offset is None else {"Date": formatdate(time.time() + self.date_offset, usegmt=True)}
        return status, date | {"Content-Type": "application/json"}, content
