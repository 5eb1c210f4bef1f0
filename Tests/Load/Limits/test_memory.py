"""The machine gives little memory, or few open files, from the start or from one moment on: people are served."""

import contextlib
import socket
import subprocess
import time

import pytest

from outage import finish
from place import RECOVERY, within
from processes import descriptors, memory
from web import SESSION

MEBIBYTE = 1 << 20
# What docs/operate/limits.md tells for so many connections, and what the unit allows for 10,000.
CONNECTIONS = 1000
LIMIT = 256 * MEBIBYTE
# The longest there may be by default.
LENGTH = 524_288


class Hoarder:
    """Sends all of a long request but its end, as fast as it is taken."""

    def __init__(self, place, address: str, head: bytes, rest: int):
        self.socket = socket.create_connection(("127.0.0.1", place.site.port), timeout=10, source_address=(address, 0))
        self.socket.setblocking(False)
        self.head, self.rest = head, rest
        self.answer = b""
        self.is_closed = False

    def go_on(self) -> None:
        if self.is_closed:
            return
        try:
            if self.head:
                self.head = self.head[self.socket.send(self.head):]
            while not self.head and self.rest > 0:
                self.rest -= self.socket.send(b"a" * min(self.rest, 65_536))
        except BlockingIOError:
            pass
        except OSError:
            self.is_closed = True
        try:
            received = self.socket.recv(4096)
            self.answer += received
            self.is_closed = self.is_closed or not received
        except BlockingIOError:
            pass
        except OSError:
            self.is_closed = True


def hoard(place, count: int) -> list[Hoarder]:
    """Half of them long contents, half long heads."""
    content = (
        b"POST /apple/callback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: %d\r\n\r\n" % LENGTH)
    head = b"GET /login HTTP/1.1\r\nHost: localhost\r\n" + b"".join(
        b"X-%d: %s\r\n" % (index, b"a" * 490) for index in range(32))
    kinds = [(content, LENGTH - 1), (head[:16_000], 0)]
    return [Hoarder(place, f"127.0.1.{index % 200 + 1}", *kinds[index % 2]) for index in range(count)]


def test_unauthenticated_clients_cannot_exhaust_memory(make_place, make_crowd):
    place = make_place({
        "server.trustedProxies": ["127.0.0.1/32"], "server.limits.connections": CONNECTIONS,
        "server.limits.bodyTimeout": 60, "server.limits.headerTimeout": 60})
    place.start(prefix=["prlimit", f"--data={LIMIT}:{LIMIT}"])
    crowd = make_crowd(place)
    crowd.gets(20)
    mark = crowd.mark()
    hoarders = hoard(place, CONNECTIONS * 4 // 5)
    # Twice what there is, if it were taken.
    assert sum(one.rest for one in hoarders) > LIMIT * 3 // 4

    def is_refused() -> bool:
        for one in hoarders:
            one.go_on()
        return sum(one.answer.startswith(b"HTTP/1.1 503 ") for one in hoarders) >= 50

    within(RECOVERY, is_refused, "contents that find no room", place.text)
    refused = next(one for one in hoarders if one.answer)
    assert b"Retry-After: 30" in refused.answer and b"503 Service Unavailable" in refused.answer
    # Those whose request is small are served as ever.
    crowd.gets(20, since=mark)
    crowd.check_undisturbed(mark, "sign-in")
    assert place.is_alive_and_ready()
    print({name: memory(place.process.pid, name) // MEBIBYTE for name in ("VmHWM", "VmData")}, "MiB")
    assert memory(place.process.pid, "VmData") < LIMIT
    for one in hoarders:
        one.socket.close()

    # The room is given back.
    late = Hoarder(place, "127.0.0.9", (
        b"POST /apple/callback HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
        b"Content-Length: 300000\r\n\r\n"), 300_000)

    def is_answered() -> bool:
        late.go_on()
        return late.answer.startswith(b"HTTP/1.1 4")

    within(RECOVERY, is_answered, "a long content that is read", lambda: str(late.answer))
    late.socket.close()
    finish(place, crowd)


def test_a_server_out_of_memory_ends_and_the_next_one_lost_nothing(make_place, make_crowd):
    place = make_place({"server.limits.connectionsPerAddress": 1000})
    place.start()
    crowd = make_crowd(place)
    crowd.gets(20)
    # As when the kernel takes it away: nothing more, not even for what it does now.
    subprocess.run(["prlimit", "--pid", str(place.process.pid), f"--data={MEBIBYTE}:{MEBIBYTE}"], check=True)
    hoarders, begun = hoard(place, 200), time.monotonic()
    while place.lives and time.monotonic() - begun < RECOVERY:
        for one in hoarders:
            one.go_on()
    assert not place.lives, "it needs no memory"
    for one in hoarders:
        one.socket.close()
    assert place.process.wait() != 0
    # What the service manager does.
    place.start()
    crowd.gets(20, since=crowd.mark())
    finish(place, crowd)


FEW = "file descriptor limit too low for server.limits.connections"
CLOSED = "connections closed: limit reached"
MANY = "full connection limit restored"
# Whoever is in the middle of a request makes no room for others.
BEGUN = b"POST /apple/callback HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"


def limit(place, count: int) -> None:
    subprocess.run(["prlimit", "--pid", str(place.process.pid), f"--nofile={count}:4096"], check=True)


def start_with_few(place) -> None:
    place.start(prefix=["prlimit", "--nofile=64:64"])


def start_with_many_and_take_them(place) -> None:
    # What a shell allows at first is raised to what the configuration needs.
    place.start(prefix=["prlimit", "--nofile=256:4096"])
    assert place.is_alive_and_ready() and place.metric("bramley_process_max_fds") == 1012
    assert not place.lines(FEW)
    limit(place, 64)


class Flood:
    """Connections that begin a request and do not end it, from so many addresses."""

    def __init__(self, place):
        self.place, self.held = place, []

    def add(self, address: str) -> None:
        self.held.append(socket.create_connection(
            ("127.0.0.1", self.place.site.port), timeout=10, source_address=(address, 0)))
        with contextlib.suppress(OSError):
            self.held[-1].sendall(BEGUN)

    def end(self) -> None:
        for one in self.held:
            one.close()


@pytest.mark.parametrize("begin", [start_with_few, start_with_many_and_take_them])
def test_more_visitors_than_descriptors_end_no_session_and_service_recovers(make_place, make_crowd, begin):
    place = make_place({
        "server.trustedProxies": ["127.0.0.1/32"], "server.limits.connections": 500, "server.limits.bodyTimeout": 60,
        "server.limits.connectionsPerAddress": 4})
    begin(place)
    within(RECOVERY, lambda: place.lines(FEW), "the operator's line", place.text)
    told = place.lines(FEW)
    assert len(told) == 1 and told[0]["descriptors"] == 64 and "LimitNOFILE" in told[0]["do"], told
    crowd = make_crowd(place, signers=1, kept=1)
    crowd.gets(20)

    # One address cannot have them all.
    flood, mark, size = Flood(place), crowd.mark(), place.log.stat().st_size
    flooded = time.monotonic()
    for _ in range(100):
        flood.add("127.0.0.2")
    crowd.gets(20, since=mark)
    crowd.check_undisturbed(mark, "sign-in")
    crowd.stop()

    # Many can. Whoever is in the middle of a request has their answer anyway.
    token, connection = crowd.tokens()[0], crowd.connect()
    connection.sock.sendall((
        f"GET /auth/verify HTTP/1.1\r\nHost: localhost:{place.site.port}\r\nCookie: {SESSION}={token}\r\n"
        "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n").encode())
    assert connection.sock.recv(4096).startswith(b"HTTP/1.1 100 ")
    for index in range(100):
        flood.add(f"127.0.0.{10 + index % 50}")
    assert descriptors(place.process.pid) < 64
    connection.sock.sendall(b"abc")
    assert connection.sock.recv(4096).startswith(b"HTTP/1.1 204 ")

    # The operator is heard and told, and needs no ear for a flood.
    within(RECOVERY, lambda: place.lines(CLOSED, after=size), "the operator's line", place.text)
    assert place.is_alive_and_ready()
    assert place.metric("bramley_connections_closed_for_room_total") > 0
    time_before, begun = place.processor_time(), time.monotonic()
    while time.monotonic() - begun < 2:
        assert place.health("/healthz")[0] == 200
    # A spin would take all the time there is; health takes some.
    assert place.processor_time() - time_before < 0.7 * (time.monotonic() - begun)
    lines = place.lines(after=size)
    # One line a minute, however many were closed.
    minutes = 1 + (time.monotonic() - flooded) // 60
    assert len([line for line in lines if line["level"] in ("warning", "error", "critical")]) <= 1 + minutes, lines
    assert place.lives

    flood.end()
    after = make_crowd(place, patience=RECOVERY)
    mark = after.mark()
    after.gets(20, since=mark)
    assert set(after.statuses(mark, "fresh")) == {204}
    if begin is start_with_many_and_take_them:
        limit(place, 4096)
        within(RECOVERY, lambda: place.lines(MANY), "the line of its end", place.text)
    after.stop()
    after.signed_in += crowd.signed_in
    after.signed_out += crowd.signed_out
    finish(place, after)
