"""An application that receives webhooks, on a bare socket: it can answer well, badly, slowly, or not at all."""

import base64
import os
import socket
import socketserver
import ssl
import threading
import time
from dataclasses import dataclass, field
from typing import Callable

from patience import PATIENCE


def new_secret() -> str:
    return "whsec_" + base64.b64encode(os.urandom(32)).decode()


@dataclass
class Arrival:
    """One request, as it came."""

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
        receiver = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                try:
                    receiver.serve(self.request)
                except (OSError, ValueError):
                    pass  # The other side went away, or was killed.

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            address_family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
            request_queue_size = 128

            def handle_error(self, request, address):
                pass

        self.server = Server((self.address, 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def url(self, path: str = "/hook") -> str:
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}{path}"

    def serve(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        if self.tls:
            connection = self.tls.wrap_socket(connection, server_side=True)
        buffer = b""
        while True:
            while b"\r\n\r\n" not in buffer:
                more = connection.recv(65536)
                if not more:
                    return
                buffer += more
            head, buffer = buffer.split(b"\r\n\r\n", 1)
            first, *lines = head.decode("ascii").split("\r\n")
            method, path, _ = first.split(" ")
            headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
            while len(buffer) < int(headers["content-length"]):
                more = connection.recv(65536)
                if not more:
                    return
                buffer += more
            body, buffer = buffer[:int(headers["content-length"])], buffer[int(headers["content-length"]):]
            arrival = Arrival(headers, body, path, time.monotonic())
            assert method == "POST"
            with self.changed:
                self.arrivals.append(arrival)
                answer = self.answer(arrival)
                # Before it is said: whoever hears it may act on it at once.
                arrival.accepted = answer is not None and answer.accepts
                self.changed.notify_all()
            if answer is None:
                self.ended.wait()
                return
            for piece in answer.pieces:
                connection.sendall(piece)
                if answer.pause and self.ended.wait(answer.pause):
                    return
            if not answer.keeps:
                return

    def wait_for(self, condition: Callable[[list[Arrival]], object], what: str, seconds: float = PATIENCE) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self.arrivals), seconds), f"waited in vain for {what}"

    def accepted(self) -> list[str]:
        with self.changed:
            return [arrival.id for arrival in self.arrivals if arrival.accepted]

    def close(self) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
