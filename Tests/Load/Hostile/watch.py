"""What is seen of a running server from outside: memory, descriptors, and whether it answers."""

import http.client
import os
import threading
import time
from pathlib import Path

from processes import memory
from web import call

GONE = (OSError, http.client.HTTPException)


def resident(pid: int) -> int:
    """KiB: what is in memory and no file's."""
    return memory(pid, "RssAnon") // 1024


def what_is_open(pid: int) -> set[tuple[str, str]]:
    """Each descriptor, with what it is open to."""
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add((entry.name, os.readlink(entry)))
        except OSError:
            continue
    return found


def sockets() -> list[list[str]]:
    """Of the whole machine, by the fields of proc(5)'s tables."""
    return [line.split() for table in ("tcp", "tcp6") for line in Path("/proc/net", table).read_text().splitlines()[1:]]


def connected_sockets() -> set[str]:
    return {f"socket:[{fields[9]}]" for fields in sockets() if fields[3] != "0A"}


def lasting(pid: int) -> int:
    """Descriptors but those of open connections, whose number varies. Looked at twice, with the connections between:
    one that comes or goes meanwhile is in neither count."""
    before = what_is_open(pid)
    connected = connected_sockets()
    return sum(target not in connected for _, target in before & what_is_open(pid))


# KiB: of a database each connection keeps so many at most (cache_size in Connections.swift).
PAGE_CACHE = 8 * 1024


def pages(pid: int) -> int:
    """KiB that the page caches may hold of a server's database by now: they fill while it is small."""
    found = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if entry.readlink().name == "bramley.db":
                found += min(PAGE_CACHE, entry.stat().st_size // 1024)
        except OSError:
            continue
    return found


# Of /proc/net/tcp: ESTABLISHED and CLOSE_WAIT.
OPEN = {"01", "08"}


def held(port: int) -> int:
    """The server's sockets that are open, or of which the kernel still has something to send."""
    # TIME_WAIT (06) and LISTEN (0A) hold nothing of a client's.
    return sum(
        state in OPEN or int(queues.partition(":")[0], 16) > 0 for _, local, _, state, queues, *_ in sockets()
        if int(local.rpartition(":")[2], 16) == port and state not in ("06", "0A"))


class Repeated(threading.Thread):
    """Acts again and again, from now on, until the end."""

    def __init__(self, pause: float):
        super().__init__(daemon=True)
        self.pause, self.over = pause, threading.Event()
        self.start()

    def run(self) -> None:
        while not self.over.wait(self.pause):
            self.act()

    def act(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self.over.set()
        self.join()


class Watch(Repeated):
    """When the last connection but those of honest clients was let go, by the kernel too."""

    # Honest clients that may be there at any moment.
    HONEST = 5

    def __init__(self, port: int):
        self.port, self.begun, self.last = port, time.monotonic(), 0.0
        super().__init__(0.25)

    def act(self) -> None:
        if held(self.port) > self.HONEST:
            self.last = time.monotonic() - self.begun


class Probe(Repeated):
    """An honest client: a new connection and one request, ten times a second. Any answer counts, and how late it is."""

    def __init__(self, site):
        self.site = site
        self.seconds: list[float] = []
        self.failures: list[str] = []
        super().__init__(0.1)

    def act(self) -> None:
        begun = time.monotonic()
        try:
            status = call(self.site, "GET", "/auth/verify", timeout=5).status
            if status != 401:
                self.failures.append(f"status {status}")
        except GONE as error:
            self.failures.append(repr(error))
        self.seconds.append(time.monotonic() - begun)

    @property
    def longest(self) -> float:
        return max(self.seconds, default=0)
