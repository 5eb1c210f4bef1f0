"""One address that makes the server keep what it sends: memory stays bounded, people sign in, and all of it comes back.

At the default limits, by TLS. One server for all cases, so that what one leaves behind counts for the next. At the end
all of it has to come back; the attack that was found first has a server of its own for that."""

import contextlib
import socket
from functools import cache
from pathlib import Path

import pytest

import hoarders
from crowd import Crowd
from frames import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, RESET, frame
from hoarders import Stranger, drive, fields, hello, requests
from patience import PATIENCE, eventually
from place import Place
from processes import memory
from test_memory import MEBIBYTE

# server.limits.connectionsPerAddress, and SETTINGS_MAX_CONCURRENT_STREAMS.
CONNECTIONS, STREAMS = 256, 128
MOST = 64 * MEBIBYTE
# Long heads for as many streams as there may be come by the first connections, which take all that one address may
# have; what the others send is refused, and still nearly twice MOST if it were kept.
FIRST, FEWER = 8, 32

# 15 KB of fields, of which HPACK has to name one entry of its table four times.
LONG = fields("POST", "/apple/callback", [("x", "v" * 3700)] * 4)
# A hundred fields of two letters: what we keep of them is many times what they are.
MANY = fields("POST", "/apple/callback", [(chr(97 + index % 20), "v") for index in range(95)])
HTTP1 = b"POST /apple/callback HTTP/1.1\r\nHost: localhost\r\n"


def heads(one: Stranger) -> int:
    return STREAMS if one.number < FIRST else FEWER


def unfinished_heads(one: Stranger) -> None:
    one.queue(hello() + requests(heads(one), LONG, 0))


def content_for_what_was_taken(strangers: list[Stranger]) -> None:
    for one in strangers:
        refused = {stream for kind, _, stream, _ in one.frames() if kind == RESET}
        one.queue(b"".join(
            frame(DATA, 0, stream, b"a" * 7900)
            for stream in range(1, 2 * heads(one), 2) if stream not in refused))


@cache
def unfinished_field_block() -> bytes:
    head = hoarders.Encoder().encode(fields("POST", "/apple/callback", [("y", "v" * 16_000)]))
    # A literal that goes on for 64 KiB: name "x", and of its value all but the end.
    block = head + b"\x00\x01x" + b"\x7f" + b"\x80\xfe\x03" + b"v" * 65_000
    parts = [block[index:index + 16_384] for index in range(0, len(block), 16_384)]
    return hello() + frame(HEADERS, 0, 1, parts[0]) + b"".join(frame(CONTINUATION, 0, 1, part) for part in parts[1:])


def unfinished_trailers(one: Stranger) -> None:
    encoder = hoarders.Encoder()
    one.queue(hello() + b"".join(
        frame(HEADERS, END_HEADERS, stream, encoder.encode(fields("POST", "/apple/callback")))
        + frame(DATA, 0, stream, b"a" * 100) for stream in range(1, 2 * STREAMS, 2)))
    one.queue(frame(HEADERS, END_STREAM, 1, encoder.encode([("x", "v" * 3900)])))


def heads_and_contents_by_http1(one: Stranger) -> None:
    if one.socket.fileno() % 2:
        one.queue((HTTP1 + b"X: " + b"v" * 20_000)[:16_300])
    else:
        one.queue(HTTP1 + b"Content-Length: 524288\r\n\r\n" + b"a" * 524_287)


# What each sends, and by which protocol.
CASES = {
    "unfinished heads": (unfinished_heads, "h2"),
    "unfinished heads of many fields": (lambda one: one.queue(hello() + requests(heads(one), MANY, 0)), "h2"),
    "unfinished field blocks": (lambda one: one.queue(unfinished_field_block()), "h2"),
    "unfinished trailers": (unfinished_trailers, "h2"),
    "heads and contents by HTTP/1.1": (heads_and_contents_by_http1, "http/1.1"),
    "answers behind a shut window": (
        lambda one: one.queue(hello((4, 0)) + requests(STREAMS, fields("GET", "/login"), END_STREAM)), "h2"),
    # More than the kernel keeps.
    "answers nobody reads": (
        lambda one: one.queue(b"GET /assets/bramley.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40), "http/1.1"),
    "unfinished records": (lambda one: one.queue(b"G" * 16_384, cut=1), "h2"),
}


class Honest(Crowd):
    def __init__(self, place: Place, chain: str):
        super().__init__(place, signers=0, kept=0, fresh=0, timeout=PATIENCE)
        self.context = hoarders.trusting(chain, "http/1.1")

    def connect(self):
        connection = super().connect()
        connection.sock = self.context.wrap_socket(connection.sock, server_hostname="localhost")
        return connection

    def signs_in(self) -> None:
        token, answer = self.sign_in("10.0.0.1")
        assert token, answer and (answer.status, answer.text)
        with contextlib.closing(self.connect()) as connection:
            assert self.verify(connection, token).status == 204


def served(binaries, folder: Path):
    certificate = hoarders.write_certificate(folder)
    place = Place(binaries, folder, certificate | {"server.trustedProxies": []}, scheme="https").start()
    chain = certificate["server.certificateFile"]
    honest = Honest(place, chain)
    honest.signs_in()
    # What the first connection of a kind brings into memory for good is no growth.
    for protocol in ("h2", "http/1.1"):
        first = Stranger(place.site.port, hoarders.trusting(chain, protocol))
        first.queue(hello() + requests(1, fields("GET", "/login"), END_STREAM))
        first.go_on()
        first.close()
    eventually(is_quiet(place), "a server at rest", place.text)
    yield place, honest, chain, memory(place.process.pid, "VmRSS")
    place.end()


@pytest.fixture(scope="module")
def secure(binaries, tmp_path_factory):
    yield from served(binaries, tmp_path_factory.mktemp("hoarding"))


@pytest.fixture
def fresh(binaries, tmp_path):
    yield from served(binaries, tmp_path)


def is_quiet(place: Place):
    """Whether the server has done all it was given to do: it uses no time any more."""
    used = [place.processor_time(), 0]

    def look() -> bool:
        now = place.processor_time()
        used[1] = used[1] + 1 if now - used[0] < 0.02 else 0
        used[0] = now
        return used[1] >= 6

    return look


def reset_peak(place: Place) -> None:
    """From now on the most of resident memory is counted (proc(5), clear_refs)."""
    Path(f"/proc/{place.process.pid}/clear_refs").write_text("5")


def attack(secure, protocol: str, send, then=None, reads: bool = True) -> None:
    place, honest, chain, start = secure
    context = hoarders.trusting(chain, protocol)
    strangers: list[Stranger] = []
    reset_peak(place)

    def all_are_in() -> bool:
        # Those of the attack before may not all be gone yet.
        try:
            while len(strangers) < CONNECTIONS:
                strangers.append(Stranger(place.site.port, context, reads, len(strangers)))
        except OSError:
            return False
        return True

    def all_is_read() -> None:
        drive(strangers, is_quiet(place))
        eventually(is_quiet(place), "a server that has read it", lambda: place.text()[-2000:])

    try:
        eventually(all_are_in, "as many connections as one address may have", lambda: place.text()[-2000:])
        for one in strangers:
            send(one)
        all_is_read()
        if then:
            for one in strangers:
                one.go_on()
            then(strangers)
            all_is_read()
        honest.signs_in()
        most = memory(place.process.pid, "VmHWM")
    finally:
        for one in strangers:
            one.close()
    print(f"from {start / MEBIBYTE:.1f} to {most / MEBIBYTE:.1f} MiB")
    assert most - start <= MOST, f"{(most - start) / MEBIBYTE:.1f} MiB more"
    honest.signs_in()
    assert place.is_alive_and_ready()


@pytest.mark.parametrize("case", CASES)
def test_memory_that_one_address_can_occupy_is_bounded(secure, case):
    send, protocol = CASES[case]
    attack(secure, protocol, send, reads=case != "answers nobody reads")


def test_a_client_hello_that_announces_too_much_takes_no_memory(fresh):
    """Regression: 25 bytes that announce a ClientHello of 131,000 took 147 KB of each connection."""
    place, honest, _, start = fresh
    hello = b"\x01" + (131_000).to_bytes(3) + b"\x03\x03" + bytes(14)
    record = b"\x16\x03\x01" + len(hello).to_bytes(2) + hello
    reset_peak(place)
    address, own = ("127.0.0.1", place.site.port), (hoarders.STRANGER, 0)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(address, timeout=PATIENCE, source_address=own))
                       for _ in range(200)]
        for connection in connections:
            connection.sendall(record)
        # A fatal alert (RFC 8446 §6).
        assert {connection.recv(7)[:1] for connection in connections} == {b"\x15"}
        honest.signs_in()
        growth = memory(place.process.pid, "VmHWM") - start
        print(f"{growth / MEBIBYTE:.1f} MiB more")
    assert growth <= 16 * MEBIBYTE, f"{growth / MEBIBYTE:.1f} MiB more"


def comes_back(secure, more: int = 0) -> None:
    """Within a tenth of the start, and `more` bytes."""
    place, _, _, start = secure
    eventually(
        lambda: memory(place.process.pid, "VmRSS") <= start * 1.1 + more, "the memory given back",
        lambda: f"{start / MEBIBYTE:.1f} MiB before, now {memory(place.process.pid, 'VmRSS') / MEBIBYTE:.1f} MiB")
    print(f"back to {memory(place.process.pid, 'VmRSS') / MEBIBYTE:.1f} MiB")


def test_memory_is_returned_after_all_hoarders(secure):
    attack(secure, "h2", unfinished_heads, then=content_for_what_was_taken)
    # What was allocated between what is in use keeps its pages.
    comes_back(secure, 4 * MEBIBYTE)


def test_unfinished_http2_streams_are_bounded_and_their_memory_is_returned(fresh):
    attack(fresh, "h2", unfinished_heads, then=content_for_what_was_taken)
    comes_back(fresh)
