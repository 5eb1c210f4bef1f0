"""What the tests of `bramley doctor` share: what it printed, and the place it looks at."""

import contextlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from authority import Authority, Issued
from front import Front
from processes import finished
from programs import ROOT, Program, Site, free_port

DOCUMENT = ROOT / "docs/reference/doctor.md"
DOCUMENTED = set(re.findall(r"^  - `([a-z_]+)`", DOCUMENT.read_text(), re.MULTILINE))
# Met by Tests/System/PostgreSQL and by DoctorStoreTests.
ON_POSTGRESQL = {"database_clock", "database_not_durable", "replication_asynchronous"}
# What a test met; the last test holds it against the page.
met: set[str] = set()
# Answers whoever connects with a line that is no HTTP.
NO_HTTP = """
import socket, ssl, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
if sys.argv[2:]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[2:])
while True:
    asking, _ = server.accept()
    try:
        asking = context.wrap_socket(asking, server_side=True) if sys.argv[2:] else asking
    except OSError:
        # Whoever only looked whether the port is open.
        continue
    with asking:
        if asking.recv(4096):
            asking.sendall(b"220 mail.example.com ESMTP\\r\\n")
"""


class Report:
    def __init__(self, run: subprocess.CompletedProcess, secrets: list[str]):
        assert run.stderr == "", run.stderr
        document = json.loads(run.stdout)
        self.items = document["items"]
        for item in self.items:
            assert item["state"] in ("good", "unsure", "wrong") and item["detail"]
            # Each finding has a next step, and what is good has neither.
            assert (item["state"] == "good") == (item["finding"] is None) == (item["nextStep"] is None), item
            # Words, and no case of an enumeration with what it holds: `broken(111)`, `timeout`.
            assert not re.search(r"\b[a-z]+[A-Za-z]*\(", f"{item['detail']} {item['nextStep']}"), item
        assert document["isHealthy"] == (not self.wrong)
        assert run.returncode == (1 if self.wrong else 0)
        assert not [secret for secret in secrets if secret in run.stdout]
        met.update(self.kinds)

    @property
    def kinds(self) -> set[str]:
        return {item["finding"] for item in self.items if item["finding"]}

    @property
    def wrong(self) -> list[str]:
        return sorted(item["finding"] for item in self.items if item["state"] == "wrong")

    def one(self, finding: str) -> dict:
        items = [item for item in self.items if item["finding"] == finding]
        assert len(items) == 1, f"{finding}: {json.dumps(self.items, indent=1)}"
        return items[0]

    def only(self, finding: str) -> dict:
        """The same, where nothing else is wrong."""
        assert self.wrong == [finding], json.dumps(self.items, indent=1)
        return self.one(finding)

    def doubt(self, finding: str) -> dict:
        """The same, where nothing is wrong."""
        assert self.wrong == [], json.dumps(self.items, indent=1)
        return self.one(finding)

    def about(self, check: str, state: str | None = None) -> list[dict]:
        """What looks of this kind brought, or those of them with this state."""
        return [item for item in self.items if item["check"] == check and state in (None, item["state"])]

    def check(self, name: str) -> str:
        """The state of the only look at something."""
        item, = self.about(name)
        return item["state"]


@contextlib.contextmanager
def listening(folder: Path, *command: str, port: int | None = None):
    """The port of a program that listens; it stands for PORT in its command."""
    port = port or free_port()
    program = Program([str(port) if part == "PORT" else part for part in command], folder / "listening.log")
    try:
        program.wait_for(port)
        yield port
    finally:
        program.stop()


class Place:
    """Bramley behind a proxy with TLS, and the simulated Apple."""

    def __init__(self, binaries: Path, folder: Path):
        self.folder = folder
        self.bramley = binaries / "bramley"
        self.authority = Authority()
        self.certificate = self.authority.issue("localhost").write(folder, "good")
        self.front = Front(self.certificate)
        # The simulator posts notifications to publicURL, so it needs the trust as well.
        self.environment = pytest.MonkeyPatch()
        self.environment.setenv("SSL_CERT_FILE", str(self.authority.write_root(folder / "root.pem")))
        self.environment.setenv("SSL_CERT_DIR", str(folder / "none"))
        self.site = Site(
            binaries, folder, {"server.trustedProxies": ["127.0.0.2"], "apple.bundleIDs": ["com.example.app"]},
            origin=f"https://localhost:{self.front.port}")
        self.front.target = self.site.port
        self.site.start()

    def run(self, *arguments: str, prefix: list[str] = (), **environment) -> subprocess.CompletedProcess:
        return finished(
            *prefix, self.bramley, "doctor", "--config", self.folder / "config.json", *arguments,
            env=os.environ | {f"BRAMLEY_{name}": str(value) for name, value in environment.items()})

    def doctor(self, *arguments: str, prefix: list[str] = (), **environment) -> Report:
        secrets = [self.folder / "AuthKey.p8", self.folder / "data/sealing.key"]
        lines = [line for file in secrets for line in file.read_text().splitlines() if not line.startswith("-----")]
        return Report(self.run("--json", *arguments, prefix=prefix, **environment), lines)

    def at(self, port: int, **environment) -> Report:
        """With publicURL at another port of this machine."""
        return self.doctor(PUBLIC_URL=f"https://localhost:{port}", **environment)

    def fault(self, endpoint: str, fault: dict) -> None:
        self.site.apple.call("PUT", f"faults/{endpoint}", fault)

    def shown(self, issued: Issued, key: str = "PUBLIC_URL") -> Report:
        """With this certificate at the address of that key."""
        front = Front(issued.write(self.folder, "shown"), self.site.port)
        try:
            return self.doctor(**{key: f"https://localhost:{front.port}"})
        finally:
            front.stop()

    def end(self) -> None:
        self.site.end()
        self.front.stop()
        self.environment.undo()
