"""What hostile clients do, one visit at a time. Their answers do not matter, only that others are served."""

import contextlib
import random
import socket
import ssl
import struct

from frames import PREFACE, frame

WAIT = 12


class Target:
    """Where to, plain or TLS, and how to get there."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None, host: str = "localhost"):
        self.port, self.tls, self.host = port, tls, host

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)

    def open(self, protocol: str | None = None):
        stream = self.raw()
        if self.tls is None:
            return stream
        try:
            return self.tls[protocol].wrap_socket(stream, server_hostname=self.host)
        except BaseException:
            stream.close()
            raise

    def head(self, method: str, path: str, *fields: str) -> bytes:
        return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", *fields, "", ""]).encode()


def drain(stream, most: int = 1 << 22) -> None:
    while most > 0 and (got := len(stream.recv(65_536))):
        most -= got


def reset(stream) -> None:
    """RST instead of FIN."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


def slow_head(target: Target, roll: random.Random, over) -> None:
    with target.open() as stream:
        for byte in target.head("GET", "/", "X-Slow: " + "a" * 100)[:-4]:
            stream.sendall(bytes([byte]))
            if over.wait(0.1):
                return
        drain(stream)


def slow_body(target: Target, roll: random.Random, over) -> None:
    with target.open() as stream:
        stream.sendall(target.head("POST", "/apple/callback", "Content-Length: 5000",
                                   "Content-Type: application/x-www-form-urlencoded"))
        for _ in range(200):
            stream.sendall(b"a")
            if over.wait(0.1):
                return
        drain(stream)


def slow_reader(target: Target, roll: random.Random, over) -> None:
    """Thousands of requests, and a byte of the answers now and then."""
    with target.open() as stream:
        stream.settimeout(3)
        with contextlib.suppress(TimeoutError):
            stream.sendall(target.head("GET", "/login") * 3000)
        for _ in range(100):
            if over.wait(0.1) or not stream.recv(1):
                return


def silent(target: Target, roll: random.Random, over) -> None:
    with target.raw() as stream:
        drain(stream)


def vanishing(target: Target, roll: random.Random, over) -> None:
    """Goes with a reset in the middle of a head, of content, or of an answer."""
    stream = target.open()
    request = roll.choice([
        target.head("GET", "/login"), target.head("GET", "/login")[:-5],
        target.head("POST", "/apple/callback", "Content-Length: 100") + b"half", b""]) * roll.choice([1, 1, 50])
    stream.sendall(request)
    if roll.random() < 0.5 and request.endswith(b"\r\n\r\n"):
        stream.recv(roll.choice([1, 1000]))
    reset(stream)


def garbage(target: Target, roll: random.Random, over) -> None:
    with roll.choice([target.open, target.raw])() as stream:
        stream.sendall(roll.choice([
            roll.randbytes(roll.randrange(1, 20_000)), b"\x16\x03\x01" + roll.randbytes(500), b"\0" * 5000, b"\r\n" * 3000,
            b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"]))
        drain(stream)


def oversize(target: Target, roll: random.Random, over) -> None:
    """Too much of everything; the answer must be readable while it is still being sent."""
    with target.open() as stream:
        head, piece = roll.choice([
            (target.head("GET", "/" + "a" * 20_000), b""), (target.head("GET", "/", "X: " + "a" * 100_000), b""),
            (target.head("GET", "/", *["X: y"] * 2000), b""),
            (target.head("POST", "/apple/callback", "Content-Length: 10000000"), b"a" * 100_000),
            (target.head("POST", "/apple/callback", "Transfer-Encoding: chunked"),
             b"186a0\r\n" + b"a" * 100_000 + b"\r\n")])
        stream.sendall(head)
        for _ in range(100 if piece else 0):
            stream.sendall(piece)
        answer = stream.recv(100)
        assert not answer or answer.startswith(b"HTTP/1.1 4"), answer
        drain(stream)


def crowd(target: Target, roll: random.Random, over) -> None:
    """A hundred connections that want nothing."""
    streams = [target.raw() for _ in range(100)]
    over.wait(roll.uniform(0.1, 2))
    for stream in streams:
        roll.choice([reset, socket.socket.close])(stream)


def aborted_handshake(target: Target, roll: random.Random, over) -> None:
    """Part of a ClientHello, then nothing, the end, or a reset."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=target.host)
    with contextlib.suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    content = outgoing.read()
    stream = target.raw()
    stream.sendall(content[:roll.randrange(1, len(content) + 1)])
    how = roll.random()
    if how < 0.3:
        return reset(stream)
    with stream:
        if how < 0.6:
            return
        if how < 0.8:
            stream.sendall(roll.randbytes(300))
        drain(stream)


# :method GET, :scheme https, :path / of HPACK's table, :authority "localhost" as it is.
REQUEST = b"\x82\x87\x84\x41\x09localhost"


def ping(_: int) -> bytes:
    return frame(6, 0, 0, b"12345678")


# What is sent first, and then again and again, with the number of a new stream.
FLOODS = [
    # Rapid reset, and a server that is made to reset.
    (b"", lambda number: frame(1, 5, number, REQUEST) + frame(3, 0, number, struct.pack(">I", 8))),
    (b"", lambda number: frame(1, 5, number, REQUEST) + frame(8, 0, number, struct.pack(">I", 0))),
    (frame(1, 1, 1, REQUEST), lambda _: frame(9, 0, 1, b"\x00\x01a\x01b" * 10)),
    (b"", ping),
    (b"", lambda _: frame(4, 0, 0)),
    # Empty content.
    (frame(1, 4, 1, b"\x83" + REQUEST[1:]), lambda _: frame(0, 0, 1)),
    # A window that never opens.
    (frame(4, 0, 0, struct.pack(">HI", 4, 0)), lambda number: frame(1, 5, number, REQUEST)),
]


def flood(target: Target, roll: random.Random, over) -> None:
    """The floods of HTTP/2: rapid reset, CONTINUATION, PING, SETTINGS, empty DATA, a window that never opens."""
    with target.open("h2") as stream:
        if stream.selected_alpn_protocol() != "h2":
            return
        stream.sendall(PREFACE + frame(4, 0, 0))
        before, piece = roll.choice(FLOODS)
        stream.sendall(before)
        for number in range(1, 6000, 2):
            stream.sendall(piece(number))
            if over.is_set():
                return
        if piece is ping:
            # Who has flooded may still ask.
            stream.sendall(frame(1, 5, 1, REQUEST))
        drain(stream)


PLAIN = [slow_head, slow_body, slow_reader, silent, vanishing, vanishing, garbage, garbage, oversize, crowd]
SECURE = [slow_head, slow_body, vanishing, garbage, oversize, silent, aborted_handshake, aborted_handshake, flood, flood]
