"""The log takes no lines: its disk is full, or nobody reads its pipe. Lines are lost and counted, nothing else."""

import fcntl
import json
import os
import re
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

from namespace import mount
from outage import finish
from patience import PATIENCE, eventually
from place import RECOVERY, Disk, within


def test_a_full_log_disk_stops_no_request_and_lost_lines_are_counted(make_place, make_crowd):
    place = make_place({"log.level": "debug"})
    folder = place.folder / "log"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder))
    place.log = folder / "bramley.log"
    disk = Disk(folder)
    place.start()
    crowd = make_crowd(place)
    crowd.gets(10)

    disk.fill()
    full, mark = place.log.stat().st_size, crowd.mark()
    crowd.gets(40, since=mark)
    crowd.check_undisturbed(mark)
    assert place.is_alive_and_ready()
    # At most the rest of the last page.
    assert place.log.stat().st_size - full < 8192

    disk.free()
    lost = "log lines dropped"
    within(RECOVERY, lambda: lost in place.text(), "the line that tells of it")
    crowd.stop()
    # Each line is whole, but for the one that the end of the disk cut.
    broken = []
    for line in place.text().splitlines():
        try:
            json.loads(line)
        except json.JSONDecodeError:
            broken.append(line)
    assert len(broken) <= 1, broken
    told = [json.loads(line) for line in place.text().splitlines() if lost in line]
    assert len(told) == 1 and told[0]["level"] == "warning" and int(told[0]["count"]) >= 20, told
    # The rest of the test reads the log of a server that has room for it.
    place.log = place.folder / "bramley.log"
    finish(place, crowd)


LOST = "log lines dropped"


class Reader:
    """The reading end of a pipe, which reads only when it is told to."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self.content = path, b""
        self.number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(self.number, fcntl.F_SETPIPE_SZ, 4096)
        self.thread = None

    @property
    def is_full(self) -> bool:
        waiting = bytearray(4)
        fcntl.ioctl(self.number, 0x541B, waiting)
        return int.from_bytes(waiting, "little") > 2500

    def read(self) -> None:
        """From now on, all there is, up to the end of those who write."""
        def work():
            os.set_blocking(self.number, True)
            while chunk := os.read(self.number, 65_536):
                self.content += chunk

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.content[:self.content.rfind(b"\n") + 1].decode().splitlines()]


@pytest.fixture
def reader(tmp_path):
    reader = Reader(tmp_path / "log-pipe")
    yield reader
    if reader.thread is None:
        os.close(reader.number)


def ask(place, count: int) -> None:
    """So many requests on one connection, each of which is answered, and a line at `debug`."""
    request = b"GET /auth/verify HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", place.site.port), timeout=PATIENCE) as connection:
        for _ in range(count // 100):
            connection.sendall(request * 100)
            found = b""
            while found.count(b"HTTP/1.1 401") < 100:
                chunk = connection.recv(1 << 20)
                assert chunk, found[-500:]
                found += chunk


def test_a_blocked_log_pipe_stops_no_request_and_lost_lines_are_counted(make_place, make_crowd, reader):
    place = make_place({"log.level": "debug"})
    place.start(log=reader.path)
    crowd = make_crowd(place)
    eventually(lambda: reader.is_full, "a full pipe")
    mark = crowd.mark()
    crowd.gets(10, since=mark)
    # More than fits into memory.
    while place.metric("bramley_log_lines_lost_total") < 100:
        ask(place, 2000)
    crowd.check_undisturbed(mark)
    assert place.is_alive_and_ready()
    crowd.stop()

    reader.read()
    within(RECOVERY, lambda: LOST.encode() in reader.content, "the line that tells of it")
    within(RECOVERY, lambda: place.metric("bramley_log_lines_lost_total") == told(reader), "every loss is told")
    # What comes now is written as ever.
    before = len(reader.lines())
    ask(place, 100)
    within(RECOVERY, lambda: len(reader.lines()) >= before + 100, "lines as ever")
    assert all(line["level"] == "warning" for line in reader.lines() if line["message"] == LOST)
    assert place.stop() == 0
    reader.thread.join(PATIENCE)
    assert reader.lines()[-1]["message"] == "stopped"
    # The rest of the test reads the log of a server whose log is a file.
    place.start()
    finish(place, crowd)


def told(reader) -> int:
    return sum(int(line["count"]) for line in reader.lines() if line["message"] == LOST)


@contextmanager
def taken(place):
    """Somebody else listens on the server's port: it cannot serve."""
    with socket.create_server(("127.0.0.1", place.site.port)):
        yield


def test_a_blocked_log_pipe_does_not_delay_the_stop(make_place, reader):
    place = make_place({"log.level": "debug", "server.drainTimeout": 1})
    place.start(log=reader.path)
    while not reader.is_full:
        ask(place, 100)
    ask(place, 100)
    begun = time.monotonic()
    assert place.stop() == 0
    assert time.monotonic() - begun < 5 + PATIENCE / 4
    # Nor that of one that cannot serve.
    with reader.path.open("ab") as output, taken(place):
        done = subprocess.run(
            [place.binaries / "bramley", "serve", "--config", place.folder / "config.json"], stderr=output,
            stdin=subprocess.DEVNULL, timeout=PATIENCE)
    assert done.returncode == 1


def test_a_server_that_cannot_start_still_logs_why(make_place):
    place = make_place()
    with taken(place):
        done = place.site.operator.run("serve", timeout=PATIENCE)
    assert done.returncode == 1
    assert re.search(r'"level":"critical".*"message":"bramley cannot serve"', done.stderr), done.stderr
