"""Memory is limited: strangers cannot make the server need more, and one that gets none loses nothing."""

import socket
import subprocess
import time

from outage import finish
from place import RECOVERY, within
from processes import memory

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
