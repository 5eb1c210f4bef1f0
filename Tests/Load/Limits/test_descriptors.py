"""The process may open few files: from the start, or from one moment on."""

import contextlib
import socket
import subprocess
import time

import pytest

from outage import finish
from place import RECOVERY, within
from processes import descriptors
from web import SESSION

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
