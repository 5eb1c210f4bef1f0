"""The sample's extension, compiled as it is, with a script in place of the system and the person."""

import json
import queue
import subprocess
import threading
from pathlib import Path

from patience import PATIENCE
from programs import ROOT

SAMPLE = ROOT / "docs/examples/ios"
PLATFORM = Path(__file__).resolve().parent / "Platform"
# In the order in which they import each other.
FRAMEWORKS = ("UIKit", "CryptoKit", "AuthenticationServices")


def compile_device(folder: Path) -> Path:
    strict = ["swiftc", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library", "-I", str(folder)]

    def run(*words) -> None:
        subprocess.run([*strict, *map(str, words)], check=True, timeout=300)

    for name in FRAMEWORKS:
        run("-module-name", name, "-emit-module", "-emit-module-path", folder / f"{name}.swiftmodule",
            "-c", PLATFORM / f"{name}.swift", "-o", folder / f"{name}.o")
    run(*sorted((SAMPLE / "Upgrade").glob("*.swift")), SAMPLE / "BramleyClient.swift",
        ROOT / "Tests/System/Linking/device.swift", *sorted(folder.glob("*.o")), "-o", folder / "device")
    return folder / "device"


class Device:
    def __init__(self, program: Path, application: str, server: str):
        self.process = subprocess.Popen(
            [str(program), application, server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def say(self, *words: str) -> None:
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def ask(self, *words: str) -> str:
        self.say(*words)
        return self.lines.get(timeout=PATIENCE)

    def sheet(self, *words: str) -> str:
        kind, _, nonce = self.ask(*words).partition(" ")
        assert kind == "sheet", kind
        return nonce

    def gives(self, answer: dict | str) -> str:
        """What Apple's sheet answers; what happens then."""
        return self.ask("apple", answer if isinstance(answer, str) else json.dumps(answer))

    def end(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(timeout=PATIENCE) == 0
        # Nothing was said to the system that no test expected: it may be answered once.
        assert self.lines.empty(), self.lines.get()
