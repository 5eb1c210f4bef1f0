"""Strangers over TLS who make the server keep what they send, and never let it end. Frames and records by hand."""

import selectors
import socket
import ssl
import struct
import time
from pathlib import Path

from hpack import Encoder

from authority import self_signed
from frames import ACKNOWLEDGE, END_HEADERS, HEADERS, PREFACE, SETTINGS, frame
from patience import PATIENCE

# One address, which is not that of the honest.
STRANGER = "127.0.0.2"


def write_certificate(folder: Path) -> dict[str, str]:
    """Settings for a server with a certificate for localhost."""
    chain, key = self_signed("localhost", days=31).write(folder, "own")
    return {"server.certificateFile": chain, "server.privateKeyFile": key}


def trusting(file: str, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=file)
    context.set_alpn_protocols(list(protocols))
    return context


class Stranger:
    """One connection, which sends as fast as it is let, and reads or not. `number`: which of its crowd, from 0."""

    def __init__(self, port: int, context: ssl.SSLContext, reads: bool = True, number: int = 0):
        self.reads, self.number = reads, number
        self.socket = socket.socket()
        if not reads:
            # So that the server's kernel keeps little for it: its buffer grows with the size of a segment.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        self.socket.settimeout(PATIENCE)
        self.socket.bind((STRANGER, 0))
        self.socket.connect(("127.0.0.1", port))
        # The records are ours to cut.
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.pending, self.received, self.is_closed = b"", b"", False
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.socket.sendall(self.outgoing.read())
                answer = self.socket.recv(65_536)
                if not answer:
                    raise ConnectionResetError("closed within the handshake") from None
                self.incoming.write(answer)
        self.socket.sendall(self.outgoing.read())
        self.socket.setblocking(False)

    def queue(self, content: bytes, cut: int = 0) -> None:
        """- cut: bytes of the last record that are never sent."""
        if self.is_closed:
            return
        self.tls.write(content)
        records = self.outgoing.read()
        self.pending += records[:len(records) - cut]

    def go_on(self) -> None:
        try:
            while self.pending:
                self.pending = self.pending[self.socket.send(self.pending[:262_144]):]
        except BlockingIOError:
            pass
        except OSError:
            self.is_closed = True
        if self.reads and not self.is_closed:
            self.read()
        if self.is_closed:
            self.pending = b""

    def read(self) -> None:
        try:
            while more := self.socket.recv(65_536):
                self.incoming.write(more)
            self.is_closed = True
        except BlockingIOError:
            pass
        except OSError:
            self.is_closed = True
        try:
            while more := self.tls.read(65_536):
                self.received += more
        except ssl.SSLError:
            pass

    def frames(self) -> list[tuple[int, int, int, bytes]]:
        """Type, flags, stream and payload of each that has come whole."""
        found, index = [], 0
        while index + 9 <= len(self.received):
            length = int.from_bytes(self.received[index:index + 3], "big")
            kind, flags, stream = struct.unpack("!BBI", self.received[index + 3:index + 9])
            if index + 9 + length > len(self.received):
                break
            found.append((kind, flags, stream, self.received[index + 9:index + 9 + length]))
            index += 9 + length
        return found

    def close(self) -> None:
        self.socket.close()


def drive(strangers: list[Stranger], is_quiet) -> None:
    """Until everything has been taken, or nothing is for a while and the server `is_quiet`."""
    chosen, deadline = selectors.DefaultSelector(), time.monotonic() + PATIENCE
    for one in strangers:
        # Who does not read would be woken for ever by what there is to read.
        chosen.register(one.socket, selectors.EVENT_WRITE | (selectors.EVENT_READ if one.reads else 0), one)
    while any(one.pending for one in strangers) and time.monotonic() < deadline:
        found = chosen.select(0.05)
        for key, _ in found:
            key.data.go_on()
            if key.data.is_closed or not key.data.pending and not key.data.reads:
                chosen.unregister(key.data.socket)
            elif not key.data.pending and key.events & selectors.EVENT_WRITE:
                # Writable for ever: it would wake us all the time.
                chosen.modify(key.data.socket, selectors.EVENT_READ, key.data)
        if not found and is_quiet():
            break
    chosen.close()


def hello(*settings: tuple[int, int]) -> bytes:
    return PREFACE + frame(SETTINGS, 0, 0, b"".join(struct.pack("!HI", *one) for one in settings)) + frame(
        SETTINGS, ACKNOWLEDGE, 0)


def fields(method: str, path: str, more: list[tuple[str, str]] = ()) -> list[tuple[str, str]]:
    return [(":method", method), (":scheme", "https"), (":path", path), (":authority", "localhost"), *more]


def requests(count: int, list_of_fields: list[tuple[str, str]], flags: int) -> bytes:
    """The same head on every stream, which HPACK makes short from the second on."""
    encoder = Encoder()
    return b"".join(frame(HEADERS, flags | END_HEADERS, 2 * index + 1, encoder.encode(list_of_fields))
                    for index in range(count))
