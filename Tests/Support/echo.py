"""http-echo as a program, and two ways to talk to it: raw bytes, and h11 as the other end."""

import json
import signal
import socket
import subprocess
from pathlib import Path

import h11

from patience import PATIENCE


class Echo:
    """One http-echo; `options` as on its command line."""

    def __init__(self, binaries: Path, *options: str):
        self.process = subprocess.Popen([binaries / "http-echo", *options], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith(("http://", "https://")), f"the first line is no address: {self.url!r}"
        host, _, port = self.url.partition("://")[2].rpartition(":")
        self.address = (host.strip("[]"), int(port))

    def connect(self) -> socket.socket:
        return connect(self.address)

    def exchange(self, *pieces: bytes) -> bytes:
        return exchange(self.address, *pieces)

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)


def connect(address: tuple[str, int]) -> socket.socket:
    connection = socket.create_connection(address, timeout=PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def exchange(address: tuple[str, int], *pieces: bytes) -> bytes:
    with connect(address) as connection:
        for piece in pieces:
            try:
                connection.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                break
        return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


class Answers:
    """The responses in what a server sent, as h11 reads them."""

    def __init__(self, received: bytes, methods: list[str]):
        self.statuses: list[int] = []
        self.bodies: list[bytes] = []
        self.closes, self.rest = False, received
        for method in methods:
            if not self.rest:
                break
            client = h11.Connection(h11.CLIENT)
            # h11 reads a response only to a request it sent.
            client.send(h11.Request(method=method, target="/", headers=[("Host", "h")]))
            client.send(h11.EndOfMessage())
            client.receive_data(self.rest)
            event = client.next_event()
            while isinstance(event, h11.InformationalResponse):
                event = client.next_event()
            if not isinstance(event, h11.Response):
                break
            self.statuses.append(event.status_code)
            self.closes = (b"connection", b"close") in event.headers
            body = b""
            while isinstance(event := client.next_event(), h11.Data):
                body += bytes(event.data)
            assert isinstance(event, h11.EndOfMessage), event
            self.bodies.append(body)
            self.rest = client.trailing_data[0]

    def understood(self) -> list[dict]:
        """What http-echo made of each request it answered with 200."""
        return [json.loads(body) for status, body in zip(self.statuses, self.bodies) if status == 200]
