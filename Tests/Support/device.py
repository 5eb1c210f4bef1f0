"""docs/examples/ios on a device: the package compiled as it is, with a script in place of the system and the person."""

import json
import os
import queue
import subprocess
import threading
from pathlib import Path

from patience import PATIENCE
from programs import ROOT

SAMPLE = ROOT / "docs/examples/ios"
PLATFORM = ROOT / "Tests/Support/Platform"
# In the order in which they import each other.
FRAMEWORKS = ("UIKit", "CryptoKit", "Security", "AuthenticationServices", "SwiftUI", "Script")


def swiftc(folder: Path, *words) -> None:
    subprocess.run(["swiftc", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library", "-I", folder,
                    *map(str, words)], check=True, timeout=300)


def compile_package(folder: Path, frameworks: tuple[str, ...] = FRAMEWORKS) -> Path:
    """The package as a module in this folder; with Apple's frameworks, or as far as Foundation goes."""
    modules = {name: [PLATFORM / f"{name}.swift"] for name in frameworks}
    for name, files in (modules | {"BramleyKit": sorted((SAMPLE / "Sources").rglob("*.swift"))}).items():
        swiftc(folder, "-wmo", "-module-name", name, "-emit-module", "-emit-module-path", folder / f"{name}.swiftmodule",
               "-c", *files, "-o", folder / f"{name}.o")
    return folder


def compile_program(package: Path, file: Path) -> Path:
    swiftc(package, file, *sorted(package.glob("*.o")), "-o", package / file.stem)
    return package / file.stem


class Device:
    def __init__(self, program: Path, *arguments: str, **environment: str):
        self.process = subprocess.Popen(
            [str(program), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | environment)
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
        """The nonce, and what else the sheet is asked for."""
        kind, _, asked = self.ask(*words).partition(" ")
        assert kind == "sheet", f"{kind} {asked}"
        return asked

    def gives(self, answer: dict | str) -> str:
        """What Apple's sheet answers; what happens then."""
        return self.ask("apple", answer if isinstance(answer, str) else json.dumps(answer))

    def end(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(timeout=PATIENCE) == 0
        # Nothing was said to the system that no test expected: it may be answered once.
        assert self.lines.empty(), self.lines.get()
