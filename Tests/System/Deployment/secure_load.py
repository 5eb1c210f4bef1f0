"""People and browsers that speak TLS, HTTP/2 among them, while servers come and go."""

import http.client
import socket
import struct

import hpack

from frames import ACKNOWLEDGE, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RESET, SETTINGS, frame
from load import SESSION, Load
from patience import PATIENCE

REFUSED_STREAM = 7
# Requests under way at once on one connection.
AT_ONCE = 8


class HTTP2:
    """Enough of HTTP/2 to send requests and count answers. h2 accepts nothing after a GOAWAY."""

    def __init__(self, site):
        self.socket = site.context("h2").wrap_socket(
            socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE), server_hostname="localhost")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.authority = f"localhost:{site.port}"
        self.next_stream = 1
        self.answers: dict[int, str] = {}
        self.refused: set[int] = set()
        # The last stream that the server takes; None while it takes all.
        self.last: int | None = None
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0))

    def write(self, *parts) -> None:
        self.socket.sendall(frame(*parts))

    def ask(self, path: str, cookie: str) -> int:
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.write(HEADERS, END_HEADERS | END_STREAM, stream, self.encoder.encode([
            (":method", "GET"), (":scheme", "https"), (":authority", self.authority), (":path", path),
            ("cookie", cookie)]))
        return stream

    def exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            assert part, "the connection has ended"
            found += part
        return found

    def read(self) -> None:
        head = self.exactly(9)
        content = self.exactly(int.from_bytes(head[:3], "big"))
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        if kind == HEADERS:
            self.answers[stream] = dict(self.decoder.decode(content))[":status"]
        elif kind == SETTINGS and not flags & ACKNOWLEDGE:
            self.write(SETTINGS, ACKNOWLEDGE, 0)
        elif kind == PING and not flags & ACKNOWLEDGE:
            self.write(PING, ACKNOWLEDGE, 0, content)
        elif kind == RESET:
            # Of which nothing was done.
            assert int.from_bytes(content, "big") == REFUSED_STREAM, content
            self.refused.add(stream)
        elif kind == GOAWAY:
            last, code = struct.unpack(">II", content[:8])
            assert code == 0, (code, content)
            self.last = last if self.last is None else min(last, self.last)

    def finish(self, streams: list[int]) -> int:
        """Until each has its answer or may be asked again elsewhere; how many have one."""
        def is_open(stream: int) -> bool:
            taken = self.last is None or stream <= self.last
            return taken and stream not in self.answers and stream not in self.refused

        while any(is_open(stream) for stream in streams):
            self.read()
        statuses = [self.answers[stream] for stream in streams if stream in self.answers]
        assert set(statuses) <= {"204"}, statuses
        return len(statuses)

    def close(self) -> None:
        self.socket.close()


class SecureLoad(Load):
    def __enter__(self) -> "SecureLoad":
        super().__enter__()
        for _ in range(3):
            self.begin("http2", self.ask_on_streams())
        return self

    def connect(self) -> http.client.HTTPSConnection:
        connection = self.site.connect(timeout=PATIENCE)
        connection.auto_open = 0
        return connection

    def ask_on_streams(self):
        while True:
            connection = HTTP2(self.site)
            while connection.last is None:
                streams = [connection.ask("/auth/verify", f"{SESSION}={self.session}") for _ in range(AT_ONCE)]
                for _ in range(connection.finish(streams)):
                    yield
            connection.close()
