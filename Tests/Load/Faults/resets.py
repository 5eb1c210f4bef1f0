"""Servers whose clients go away all the time: sends and receives find ECONNRESET or EPIPE in the middle of answers.
Each answer is whole or its connection ends; no descriptor, memory or processor time is lost; later clients are served.

    python3 Tests/Load/Faults/resets.py BIN_DIRECTORY FAULTS_LIBRARY
"""

import base64
import collections
import contextlib
import json
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

import h2.config
import h2.connection
import h2.events

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("Support", "Load/Hostile")]
from processes import cpu_seconds, descriptors  # noqa: E402
from programs import Program, Site  # noqa: E402
import echoes  # noqa: E402
from rude import Target  # noqa: E402
from watch import held, resident  # noqa: E402

# One transfer in so many; an answer takes from four on, since most of them move a byte.
EVERY = 23
CLIENTS, CONNECTIONS, REQUESTS = 6, 60, 12
# KiB that the second half may add to what the first has left; what is lost with each of its connections would be more.
TOLERANCE = 2048


class Wrong(Exception):
    """An answer that is neither whole and right nor cut."""


class Cut(Exception):
    """The connection ended, with so many bytes of an answer read."""


def receive(stream, begun: int) -> bytes:
    """- begun: bytes of an answer that have been read."""
    try:
        more = stream.recv(65_536)
    except OSError:
        more = b""
    if not more:
        raise Cut(begun)
    return more


def answer(stream) -> tuple[int, bytes]:
    """One answer of HTTP/1.1, its status and content, and not a byte more."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += receive(stream, len(read))
    head, _, rest = read.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    length = re.search(rb"(?im)^content-length: (\d+)\r?$", head)
    count = 0 if status and status[1] in (b"204", b"304") else length and int(length[1])
    if not status or count is None:
        raise Wrong(f"a head that is none: {head!r}")
    while len(rest) < count:
        rest += receive(stream, len(read))
    if len(rest) > count:
        raise Wrong("more than one answer to one request")
    return int(status[1]), rest


def check_echo(status: int, content: bytes, path: str, body: bytes) -> None:
    told = json.loads(content) if status == 200 else {}
    if told.get("target") != path or told.get("bodyBase64") != base64.b64encode(body).decode():
        raise Wrong(f"{path}: {status}, and not what was sent")


class Traffic:
    """What one client does over one connection; returns when it has had enough, or raises `Cut`."""

    def __init__(self, target: Target, counts: collections.Counter, seed: int):
        self.target, self.counts, self.roll = target, counts, random.Random(seed)

    def connection(self) -> None:
        try:
            stream = self.open()
        except OSError:
            raise Cut(0) from None
        with stream:
            self.talk(stream)

    def open(self):
        return self.target.open()

    def body(self) -> bytes:
        return self.roll.randbytes(self.roll.choice((0, 1, 900, 20_000, 60_000)))

    def send(self, stream, data: bytes) -> None:
        # Whether it has answered shows in what there is to read.
        with contextlib.suppress(OSError):
            stream.sendall(data)

    def talk(self, stream) -> None:
        for number in range(REQUESTS):
            path, body = f"/{number}/{self.roll.randrange(1 << 30)}", self.body()
            self.send(stream, self.target.head("POST", path, f"Content-Length: {len(body)}") + body)
            check_echo(*answer(stream), path, body)
            self.counts["whole"] += 1


class Pages(Traffic):
    """Bramley's: a page, a question of a proxy, nothing, and the beginning of a sign-in, which is stored."""

    ASKED = [("/login", 200), ("/auth/verify", 401), ("/nothing", 404), ("/login/apple", 303)]

    def talk(self, stream) -> None:
        for _ in range(REQUESTS):
            path, wanted = self.roll.choice(self.ASKED)
            # As from a proxy, for many: one visitor may not begin so many sign-ins.
            visitor = f"10.{self.roll.randrange(256)}.{self.roll.randrange(256)}.{self.roll.randrange(256)}"
            self.send(stream, self.target.head("GET", path, f"X-Forwarded-For: {visitor}"))
            status, content = answer(stream)
            if status != wanted or path == "/login" and not content.rstrip().endswith(b"</html>"):
                raise Wrong(f"{path}: {status} {content[-100:]!r}")
            self.counts["whole"] += 1


class Streams(Traffic):
    """HTTP/2: a handful of requests at a time."""

    def open(self):
        return self.target.open("h2")

    def talk(self, stream) -> None:
        client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        client.initiate_connection()
        client.increment_flow_control_window(1 << 24)
        for _ in range(REQUESTS // 4):
            asked, read, begun = {}, collections.defaultdict(bytes), 0
            for _ in range(4):
                number = client.get_next_available_stream_id()
                path, body = f"/{number}/{self.roll.randrange(1 << 30)}", self.body()[:16_000]
                client.send_headers(number, [
                    (":method", "POST"), (":scheme", "https"), (":path", path),
                    (":authority", f"{self.target.host}:{self.target.port}")])
                client.send_data(number, body, end_stream=True)
                asked[number] = (path, body)
                self.send(stream, client.data_to_send())
            while asked:
                data = receive(stream, begun)
                begun += len(data)
                for event in client.receive_data(data):
                    if self.take(event, client, asked, read):
                        begun = 0
                self.send(stream, client.data_to_send())

    def take(self, event, client, asked: dict, read: dict) -> bool:
        """Whether nothing of an answer has been read yet."""
        match event:
            case h2.events.DataReceived():
                read[event.stream_id] += event.data
                client.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                check_echo(200, read.pop(event.stream_id), *asked.pop(event.stream_id))
                self.counts["whole"] += 1
            case h2.events.StreamReset() | h2.events.ConnectionTerminated():
                raise Wrong(f"{event}")
        return not read and not isinstance(event, h2.events.ResponseReceived)


class Server:
    def __init__(self, name: str, program: Program, target: Target, kinds: dict[str, type[Traffic]], switch: Path):
        self.name, self.program, self.target, self.kinds, self.switch = name, program, target, kinds, switch
        self.pid = program.process.pid
        self.errors: list[str] = []

    def run(self, kind: type[Traffic], seed: int, connections: int) -> collections.Counter:
        """Everything of one kind, by several clients at once."""
        counts: collections.Counter[str] = collections.Counter()

        def client(number: int) -> None:
            traffic = kind(self.target, counts, seed + number)
            for _ in range(connections):
                try:
                    traffic.connection()
                except Cut as cut:
                    counts["cut in an answer" if cut.args[0] else "cut before one"] += 1
                except Exception as error:
                    self.errors.append(f"{self.name}: {error!r}")
                    return

        threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            if thread.is_alive():
                self.errors.append(f"{self.name}: a client waits for ever")
        return counts

    def settle(self) -> int:
        """Waits until all connections have ended; the descriptors that are left."""
        deadline = time.monotonic() + 10
        while held(self.target.port) and time.monotonic() < deadline:
            time.sleep(0.02)
        return descriptors(self.pid)

    def round(self, seed: int) -> dict[str, collections.Counter]:
        """All kinds with faults, then all kinds without, which miss nothing."""
        self.switch.touch()
        rude = {name: self.run(kind, seed, CONNECTIONS) for name, kind in self.kinds.items()}
        self.switch.unlink()
        for name, kind in self.kinds.items():
            counts = self.run(kind, seed + 1000, 5)
            if counts != {"whole": CLIENTS * 5 * REQUESTS}:
                self.errors.append(f"{self.name}, {name}, without faults: {dict(counts)}")
        return rude

    def examine(self) -> bool:
        """Twice the same: what the first round leaves is the server's own, what the second adds was lost."""
        self.round(1)
        before, memory = self.settle(), resident(self.pid)
        rude = self.round(2)
        after, grown = self.settle(), resident(self.pid) - memory
        busy = cpu_seconds(self.pid)
        # Nobody asks anything now.
        time.sleep(1)
        busy = cpu_seconds(self.pid) - busy
        for name, counts in rude.items():
            if counts["cut in an answer"] < 10 or counts["whole"] < 10:
                self.errors.append(f"{self.name}, {name}: {dict(counts)} proves nothing")
        code = self.program.stop()
        self.errors += [f"{self.name}: {text}" for is_so, text in (
            (after > before, f"{after} descriptors, before {before}"),
            (grown > TOLERANCE, f"{grown} KiB more in memory"),
            (busy > 0.2, f"{busy:.0%} of a core with nobody there"),
            (code != 0, f"exit {code}\n{self.program.text()[-2000:]}")) if is_so]
        for name, counts in rude.items():
            print(f"{'reset':20} {'FAILED' if self.errors else 'passed':10} {self.name}, {name}: "
                  f"{counts['whole']} answers, {counts['cut in an answer']} cut, {counts['cut before one']} connections "
                  "cut before one")
        print(f"{'':31} {after} descriptors (before {before}), {grown:+} KiB, {busy:.0%} of a core at the end")
        for error in self.errors[:20]:
            print(f"    {error}")
        return not self.errors


def main(binaries: str, library: str) -> int:
    binaries = Path(binaries).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        switch = folder / "faults"
        environment = {
            "LD_PRELOAD": str(Path(library).resolve()), "FAULTS": "short,reset", "FAULTS_EVERY": str(EVERY),
            "FAULTS_SWITCH": str(switch)}
        plain = echoes.start(binaries, folder, environment=environment, secure=False)
        secure = echoes.start(binaries, folder, environment=environment)
        servers = [
            Server("http-echo", *plain, {"HTTP/1.1": Traffic}, switch),
            Server("http-echo", *secure, {"HTTP/1.1 over TLS": Traffic, "HTTP/2": Streams}, switch)]
        site = Site(binaries, folder, {"log.level": "warning", "server.trustedProxies": ["127.0.0.1"]})
        try:
            site.start(environment)
            servers.append(Server("bramley", site.server, Target(site.port), {"HTTP/1.1": Pages}, switch))
            return 0 if all([server.examine() for server in servers]) else 1
        finally:
            for server in servers:
                server.program.process.kill()
            site.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
