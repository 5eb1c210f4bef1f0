"""One example as somebody starts it."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from patience import PATIENCE
from programs import ROOT, RunningSimulator, free_base
from web import FORM, Answer, call


class Example:
    def __init__(self, name: str, binaries: Path, folder: Path):
        self.folder, self.data, log = folder, folder / "data", folder / "example.log"
        # The ports it tries first are counted from this one.
        base = free_base()
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [ROOT / "scripts/example.sh", name], stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                env=os.environ | {
                    "EXAMPLE_BIN": str(binaries), "EXAMPLE_DATA": str(folder / "data"), "EXAMPLE_PORT": str(base),
                    "EXAMPLE_PYTHON": sys.executable})
        deadline = time.monotonic() + PATIENCE
        while "Stop with Ctrl-C." not in (text := log.read_text()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{name} did not start:\n{text}\n{self.logs()}")
            # Nobody tells us when a line is written: look again in a moment.
            time.sleep(0.05)
        self.address = re.search(r"in a browser:\s+(http://localhost:\d+)/", text)[1]
        self.apple = RunningSimulator(re.search(r"control page: (http://127\.0\.0\.1:\d+)/", text)[1])
        # Where Bramley's own pages are; in these tests a Visitor's site.
        self.origin = re.search(r'"publicURL": "([^"]+)"', (self.data / "config.json").read_text())[1]

    def url(self, path: str) -> str:
        return self.origin + path

    def logs(self) -> str:
        return "\n".join(f"== {file.name}\n{file.read_text(errors='replace')[-2000:]}"
                         for file in self.folder.rglob("*.log"))

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def ask(self, path: str, headers: dict | None = None, body: bytes | None = None, method: str | None = None) -> Answer:
        form = {} if body is None else FORM
        return call(self.address, method or ("POST" if form else "GET"), path, form | (headers or {}), body)
