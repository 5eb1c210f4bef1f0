"""One server with limits around it: how it is started, what it says of itself, and what it kept."""

import contextlib
import hashlib
import json
import sqlite3
import subprocess
import time
from pathlib import Path

from namespace import mount
from patience import eventually
from processes import cpu_seconds
from programs import Program, Site

# How soon all is well again when the cause has gone, in seconds. Nearly all of it is for a busy machine.
RECOVERY = 120


class Place:
    """A server whose log is a file, and whose data directory is a file system of its own, if `disk` is given.

    - disk: its size, as mount(8) takes it.
    - scheme: `https` where the settings name a certificate."""

    def __init__(self, binaries: Path, folder: Path, settings: dict, disk: str | None = None, scheme: str = "http"):
        self.binaries, self.folder = binaries, folder
        self.data = folder / "data"
        if disk:
            self.data.mkdir(mode=0o700)
            mount("-t", "tmpfs", "-o", f"size={disk},mode=700", "tmpfs", str(self.data))
        self.site = Site(binaries, folder, {
            "server.trustedProxies": ["127.0.0.0/8"], "server.threads": 2, "log.level": "info", "log.format": "json",
            "log.requests": "failures"} | settings, scheme=scheme)
        self.log = folder / "bramley.log"
        self.program: Program | None = None

    def start(self, prefix: list[str] = (), environment: dict[str, str] | None = None,
              log: Path | None = None) -> "Place":
        self.program = Program(
            [*prefix, str(self.binaries / "bramley"), "serve", "--config", str(self.folder / "config.json")],
            log or self.log, environment)

        def serves() -> bool:
            assert self.lives, self.text()[-3000:]
            return self.health("/readyz")[0] is not None

        eventually(serves, "the server", self.text)
        return self

    @property
    def process(self) -> subprocess.Popen:
        return self.program.process

    @property
    def lives(self) -> bool:
        return self.program is not None and self.process.poll() is None

    def stop(self) -> int:
        return self.program.stop()

    def kill(self) -> None:
        self.program.kill()

    def end(self) -> None:
        if self.lives:
            self.kill()
        self.site.apple.program.stop()

    def health(self, path: str, kind: str = "application/json") -> tuple[int | None, dict | str]:
        """Status and content; no status when nobody answers."""
        try:
            answer = self.site.admin(path, kind)
            return answer.status, answer.json() if kind == "application/json" else answer.text
        except OSError as error:
            return None, str(error)

    def problems(self) -> dict[str, str]:
        status, document = self.health("/readyz")
        found = {check["name"]: check["problem"] for check in document["checks"] if not check["ok"]}
        assert status == (503 if found else 200), (status, document)
        return found

    def is_alive_and_ready(self) -> bool:
        return self.health("/healthz")[0] == 200 and self.health("/readyz")[0] == 200

    def metric(self, name: str) -> float:
        _, text = self.health("/metrics", kind="text/plain")
        return sum(
            float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
            if line.startswith((name + " ", name + "{")))

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def lines(self, message: str | None = None, after: int = 0) -> list[dict]:
        """The lines of the log from a size of it on; those with a message alone."""
        content = self.log.read_bytes()
        # A line that lies across two pages may be seen half, at its beginning or at its end.
        end = content.rfind(b"\n") + 1
        begin = after if content[:after].endswith(b"\n") or not after else content.find(b"\n", after) + 1 or end
        found = [json.loads(line) for line in content[begin:end].decode().splitlines()]
        return found if message is None else [line for line in found if line["message"] == message]

    def processor_time(self) -> float:
        """Seconds, of user and system together."""
        return cpu_seconds(self.process.pid)

    def check_kept(self, tokens: list[str]) -> None:
        """Each of these sessions is in the database, with its event and its audit line. After the server's end."""
        with contextlib.closing(sqlite3.connect(self.data / "bramley.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            sessions = dict(connection.execute("SELECT token_hash, id FROM session"))
            events = {row[0] for row in connection.execute("SELECT session FROM event WHERE type = 'session.created'")}
            told = connection.execute("SELECT count(*) FROM audit WHERE type = 'sign_in'").fetchone()[0]
        kept = [sessions.get(hashlib.sha256(token.encode()).digest()) for token in tokens]
        assert None not in kept, f"{kept.count(None)} of {len(kept)} sessions are not in the database"
        assert not set(kept) - events, f"{len(set(kept) - events)} of {len(kept)} sessions have no event"
        assert told >= len(tokens), (told, len(tokens))


class Disk:
    """The file system a directory is, filled by one file."""

    def __init__(self, folder: Path):
        self.ballast = folder / "ballast"

    def fill(self) -> None:
        # Until nothing more fits: a server that frees a page in between shall not find it.
        with self.ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def free(self) -> None:
        self.ballast.unlink()


def within(seconds: float, condition, what: str, more=lambda: "") -> float:
    """How long it took until the condition held; fails when it takes longer."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, f"not within {seconds} s: {what}\n{more()}"
        time.sleep(0.05)
    return time.monotonic() - start
