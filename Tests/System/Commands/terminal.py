"""A command in a terminal of its own, as an operator watches it."""

import os
import pty
import re
import select
import signal
import termios
import time
from pathlib import Path

from patience import PATIENCE, eventually
from processes import fields


class Terminal:
    """Keeps all the command writes to its terminal. `piped`: a file for standard output, as with `… > file`."""

    def __init__(self, command: list[str], columns: int = 80, piped: Path | None = None):
        # Its session and its terminal are its own, so that Ctrl-C typed there reaches it and nobody else.
        self.process, self.number = pty.fork()
        if self.process == 0:
            try:
                if piped:
                    os.dup2(os.open(piped, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                os.execv(command[0], command)
            finally:
                os._exit(127)
        termios.tcsetwinsize(self.number, (24, columns))
        self.started = time.monotonic()
        self.written = b""
        self.code: int | None = None

    def read(self, seconds: float = 0.0) -> None:
        deadline = time.monotonic() + seconds
        while True:
            if select.select([self.number], [], [], max(0, min(0.02, deadline - time.monotonic())))[0]:
                try:
                    self.written += os.read(self.number, 65_536)
                except OSError:
                    # Its side is closed.
                    return
            elif time.monotonic() >= deadline:
                return

    def wait_for(self, text: str) -> None:
        def is_there() -> bool:
            self.read()
            return text.encode() in self.written

        eventually(is_there, f"“{text}”", lambda: self.written.decode())

    def type(self, text: str) -> None:
        os.write(self.number, text.encode())

    def signal(self, number: int) -> None:
        os.kill(self.process, number)

    @property
    def was_quiet(self) -> bool:
        """Whether no progress is shown, as for work of less than a second."""
        self.read()
        return self.written == b"" or time.monotonic() - self.started > 1

    @property
    def has_ended(self) -> bool:
        self.read()
        if self.code is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def end(self) -> "Terminal":
        eventually(lambda: self.has_ended, "its end", lambda: self.written.decode())
        self.read(0.05)
        return self

    def close(self) -> None:
        if not self.has_ended:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.number)

    @property
    def screen(self) -> str:
        """The lines shown at the end, without overwritten ones."""
        lines = []
        for line in self.written.decode().split("\n"):
            shown = ""
            for piece in line.split("\r"):
                column = 0
                for number, part in enumerate(piece.split("\x1b[K")):
                    assert min(part, default=" ") >= " ", repr(part)
                    shown = shown[:column] + part + ("" if number else shown[column + len(part):])
                    column += len(part)
            lines.append(shown.rstrip())
        return "\n".join(lines)


def stop_when(terminal: Terminal, condition) -> bool:
    """Stops it in the middle of its work, as the machine may at any moment. Whether the moment was met."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not terminal.has_ended:
        if condition():
            terminal.signal(signal.SIGSTOP)
            eventually(lambda: fields(terminal.process)[0] == "T", "its stop")
            return condition()
    return False


def open_files(process: int, for_reading_alone: bool = False) -> set[str]:
    found = set()
    for link in Path(f"/proc/{process}/fd").glob("*"):
        try:
            flags = int(re.search(r"flags:\s+(\d+)", Path(f"/proc/{process}/fdinfo/{link.name}").read_text())[1], 8)
            if not for_reading_alone or flags & os.O_ACCMODE == os.O_RDONLY:
                found.add(os.readlink(link))
        except OSError:
            # Closed meanwhile.
            pass
    return found
