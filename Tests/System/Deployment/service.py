"""Bramley as a service manager runs it: with a notify socket, inherited sockets and signals."""

import contextlib
import fcntl
import os
import re
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

from patience import PATIENCE, eventually
from processes import is_running
from programs import Site, listens


class Manager:
    """The service manager's end of NOTIFY_SOCKET."""

    def __init__(self, address: str):
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        # Who said what: the number of the process and its lines.
        self.heard: list[tuple[int, dict[str, str]]] = []

    def wait_for(self, condition, what: str, patience: float = PATIENCE) -> tuple[int, dict[str, str]]:
        """The first message, of those to come, that is meant; all are kept."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if select.select([self.socket], [], [], 0.2)[0] and condition(*self.receive()):
                return self.heard[-1]
        raise AssertionError(f"waited in vain for {what}; heard {self.heard}")

    def receive(self) -> tuple[int, dict[str, str]]:
        data, ancillary, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(12))
        process = next(
            int.from_bytes(value[:4], "little") for level, kind, value in ancillary
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS))
        self.heard.append((process, dict(line.split("=", 1) for line in data.decode().splitlines())))
        return self.heard[-1]

    def drain(self) -> None:
        while select.select([self.socket], [], [], 0)[0]:
            self.receive()

    def close(self) -> None:
        self.socket.close()


class Service:
    """One server, and those that took its place; `process` is who serves now."""

    def __init__(self, site: Site, program: Path | None = None):
        self.site = site
        self.program = program or site.binaries / "bramley"
        self.log = site.folder / "bramley.log"
        self.first: subprocess.Popen | None = None
        # Where in the log the last start begins.
        self.process = self.beginning = 0

    def start(self, environment: dict[str, str] | None = None, sockets: dict[str, list[socket.socket]] | None = None,
              left_open: tuple[int, ...] = ()):
        """- sockets: what it inherits, by name, as systemd passes it.
        - left_open: other descriptors that it inherits; not together with sockets."""
        arguments = [str(self.program), "serve", "--config", str(self.site.folder / "config.json")]
        names = [name for name, some in (sockets or {}).items() for _ in some]
        numbers = [one.fileno() for some in (sockets or {}).values() for one in some]
        variables = os.environ | (environment or {})

        def inherit() -> None:
            # Free ones, and none of those that hold what this process is told by.
            for index, number in enumerate([fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 500) for number in numbers]):
                os.dup2(number, 3 + index, inheritable=True)

        if sockets is not None:
            # A shell is who knows the number of the process that it becomes.
            variables |= {"LISTEN_FDS": str(len(numbers)), "LISTEN_FDNAMES": ":".join(names)}
            arguments = ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *arguments]
        self.beginning = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as output:
            self.first = subprocess.Popen(
                arguments, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=variables, close_fds=not numbers,
                pass_fds=left_open, preexec_fn=inherit if numbers else None, start_new_session=True)
        self.process = self.first.pid
        return self

    def wait(self) -> "Service":
        """Waits until it serves and handles signals; connections are accepted earlier."""
        def answers():
            assert self.first.poll() is None, self.text()
            return (re.search(rb"\blistening\b.*publicURL", self.log.read_bytes()[self.beginning:])
                    and listens(self.site.port))

        eventually(answers, "the server", self.text)
        return self

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def signal(self, number: int) -> None:
        os.kill(self.process, number)

    def line(self, words: str) -> str:
        """The first line of the log with these words, as soon as it is there."""
        eventually(lambda: words in self.text(), f"“{words}”", self.text)
        return next(line for line in self.text().splitlines() if words in line)

    def hand_over(self, until_first_ends: bool = False) -> int:
        """Asks for it, waits until another process serves, and returns its number."""
        first, before = self.process, self.text().count("handed over")
        self.signal(signal.SIGUSR2)
        eventually(lambda: self.text().count("handed over") > before, "the hand-over", lambda: self.text()[-3000:])
        self.process = int(re.findall(r"handed over.*process=(\d+)", self.text())[-1])
        if until_first_ends:
            eventually(lambda: not is_running(first), "the end of the first")
        return self.process

    def end(self) -> None:
        """Stops the serving process cleanly, then all others."""
        if not self.first:
            return
        if is_running(self.process):
            self.signal(signal.SIGTERM)
            eventually(lambda: not is_running(self.process), "the end", lambda: self.text()[-2000:])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.first.pid, signal.SIGKILL)
        self.first.wait()
