"""The two programs as an operator starts them: built binaries, a configuration file, ports of their own."""

import atexit
import json
import os
import random
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

import postgres
from operating import Operator
from patience import PATIENCE, eventually
from web import Answer, call

SERVICES_ID = "com.example.web"
TEAM_ID = "TEAM123456"
KEY_ID = "TESTKEY001"
# Below the ports the kernel gives to clients, and counted up, so that no two calls give the same one.
PORTS = range(20_000, 30_000)
ROOT = Path(__file__).resolve().parents[2]
_last_port = random.choice(PORTS)
_claims: list[socket.socket] = []


def claim(port: int) -> bool:
    """Whether nobody listens there, and no other suite that runs meanwhile has claimed it."""
    name = socket.socket(socket.AF_UNIX)
    with socket.socket() as probe:
        try:
            # A name without a file, which is ours until this process ends.
            name.bind(f"\0bramley-test-port-{port}")
            probe.bind(("127.0.0.1", port))
        except OSError:
            name.close()
            return False
    _claims.append(name)
    return True


def free_port() -> int:
    """A port nobody listens on, and that no other call gives: in no other suite that runs meanwhile either."""
    global _last_port
    for _ in PORTS:
        _last_port = _last_port + 1 if _last_port + 1 in PORTS else PORTS.start
        if claim(_last_port):
            return _last_port
    raise RuntimeError("every port is taken")


def free_base() -> int:
    """For scripts/demo.sh and scripts/example.sh, which count their ports from one: above those of `free_port`."""
    for base in random.sample(range(30_000, 31_000), 1_000):
        if all([claim(base + more) for more in (0, 10, 1010, 1620)]):
            return base
    raise RuntimeError("every port is taken")


def listens(port: int, host: str = "127.0.0.1") -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
        return True
    except OSError:
        return False


class Program:
    def __init__(self, arguments: list[str], log: Path, environment: dict[str, str] | None = None):
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                arguments, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                env=os.environ | (environment or {}))

    def wait_for(self, port: int, host: str = "127.0.0.1") -> None:
        """Until something accepts on the port; says what the program wrote if it ended instead."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            if listens(port, host):
                return
            # Nobody tells us when a port opens: ask again in a moment.
            time.sleep(0.02)
        raise RuntimeError(f"{self.process.args[0]} did not start:\n{self.text()}")

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def text(self) -> str:
        return self.log.read_text(errors="replace")


class Simulator:
    """The simulated Apple, and its JSON interface (docs/reference/simulator.md)."""

    def __init__(self, binaries: Path, folder: Path, server_url: str, bundle_ids: list[str] = ()):
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.program = Program([
            str(binaries / "apple-simulator"), "--host", "127.0.0.1", "--port", str(self.port),
            "--server-url", server_url, "--services-id", SERVICES_ID, "--team-id", TEAM_ID,
            "--key-id", KEY_ID, "--key", str(folder / "AuthKey.p8"),
            *[word for app in bundle_ids for word in ("--bundle-id", app)]], folder / "apple-simulator.log")
        self.program.wait_for(self.port)

    def call(self, method: str, path: str, body: dict | None = None) -> dict:
        answer = call(self.origin, method, f"/simulator/api/{path}", {"Content-Type": "application/json"}, body)
        assert answer.status < 400, f"{method} {path}: {answer.status} {answer.text}"
        return answer.json()

    def add_person(self, person: str, given: str = "Ada", family: str = "Orchard", **more) -> None:
        self.call("POST", "people", {
            "id": person, "givenName": given, "familyName": family, "email": f"{person}@example.com"} | more)

    def has_consent(self, person: str) -> bool:
        people = self.call("GET", "people")["items"]
        return any(team["consented"] for entry in people if entry["id"] == person for team in entry["teams"])

    def notify(self, kind: str, person: str) -> None:
        sent = self.call("POST", "notifications", {"type": kind, "person": person})
        assert [delivery.get("status") for delivery in sent["deliveries"]] == [200], sent


class RunningSimulator(Simulator):
    def __init__(self, origin: str):
        self.origin = origin


class KeptSimulators:
    """Simulators of ended sites, with their server's port and key, for later sites: making RSA keys is slow."""

    def __init__(self):
        self.kept: dict[tuple, list[tuple[Simulator, int, bytes]]] = {}
        atexit.register(self.stop)

    def take(self, kind: tuple | None) -> tuple[Simulator, int, bytes] | None:
        while kept := self.kept.get(kind):
            simulator, port, key = kept.pop()
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                    simulator.call("POST", "reset")
                    return simulator, port, key
                except OSError:
                    # The port is not free, or the simulator is gone.
                    simulator.program.stop()
        return None

    def keep(self, site: "Site") -> None:
        self.kept.setdefault(site.kind, []).append((site.apple, site.port, site.apple_key))

    def stop(self) -> None:
        for simulators in self.kept.values():
            for simulator, _, _ in simulators:
                simulator.program.stop()
        self.kept.clear()


KEPT = KeptSimulators()


class Site:
    """Bramley on http://localhost and the simulated Apple on http://127.0.0.1, so that they are two sites."""

    # What its simulator can be taken over for; None: for nothing.
    kind: tuple | None = None
    has_ended = False

    def __init__(self, binaries: Path, folder: Path, settings: dict, public_port: int | None = None,
                 origin: str | None = None, scheme: str = "http"):
        self.binaries, self.folder, self.scheme = binaries, folder, scheme
        apps = settings.get("apple.bundleIDs", [])
        if not public_port and not origin:
            self.kind = self.kind_of(apps)
        kept, self.port, self.apple_key = KEPT.take(self.kind) or (None, free_port(), new_key())
        self.origin = origin or f"{scheme}://localhost:{public_port or self.port}"
        self.server: Program | None = None
        write_private(folder / "AuthKey.p8", self.apple_key)
        self.store = {}
        if postgres.IS_STORE:
            # Where SQLite's would be: servers over PostgreSQL make none.
            (folder / "data").mkdir(mode=0o700, exist_ok=True)
            write_private(folder / "data/sealing.key", secrets.token_hex(32).encode())
            self.store = {"storage.postgres.url": postgres.STORE.make(),
                          "secrets.sealingKeyFile": str(folder / "data/sealing.key")}
        self.apple = kept or self.make_apple(apps)
        self.admin_port = free_port()
        self.settings: dict = {}
        self.configure(settings)

    def configure(self, settings: dict) -> None:
        """Besides the settings it has; for its next start or reload."""
        self.settings |= settings
        write_private(self.folder / "config.json", json.dumps(self.configuration(self.settings), indent=4).encode())

    def kind_of(self, apps: list[str]) -> tuple | None:
        trusted = os.environ.get("SSL_CERT_FILE")
        return (self.binaries, self.scheme, Path(trusted).read_bytes() if trusted else None, *apps)

    def make_apple(self, apps: list[str]):
        return Simulator(self.binaries, self.folder, self.origin, apps)

    def configuration(self, settings: dict) -> dict:
        """The smallest useful configuration; `settings` are `section.key` and win. One that is None is left away."""
        apple = self.apple.origin
        values = {
            "publicURL": self.origin,
            "access.signUp": "open",
            "server.host": "127.0.0.1",
            "server.port": self.port,
            "server.threads": 1,
            "admin.port": self.admin_port,
            "apple.servicesID": SERVICES_ID,
            "apple.teamID": TEAM_ID,
            "apple.keyID": KEY_ID,
            "apple.privateKeyFile": str(self.folder / "AuthKey.p8"),
            "apple.scopes": ["name", "email"],
            "apple.endpoint": apple,
            "apple.scriptURL": f"{apple}/appleauth/static/jsapi/appleid/1/{{locale}}/appleid.auth.js",
            "site.name": "Orchard Club",
            "storage.directory": str(self.folder / "data"),
            "log.level": "debug",
            "log.format": "text",
        } | self.store | settings
        tree: dict = {}
        for name, value in values.items():
            if value is None:
                continue
            *sections, key = name.split(".")
            place = tree
            for section in sections:
                place = place.setdefault(section, {})
            place[key] = value
        return tree

    @property
    def operator(self) -> Operator:
        return Operator(self.binaries, self.folder)

    def start(self, environment: dict[str, str] | None = None) -> "Site":
        self.server = Program(
            [str(self.binaries / "bramley"), "serve", "--config", str(self.folder / "config.json")],
            self.folder / "bramley.log", environment)
        self.server.wait_for(self.port)
        return self

    def stop(self) -> int:
        return self.server.stop()

    def restart(self) -> None:
        assert self.stop() == 0
        self.start()

    def rest(self) -> Operator:
        """Runs once, so that there is a database; who works at it then."""
        self.start()
        eventually(lambda: "listening" in self.server.text(), "the server", self.server.text)
        self.stop()
        operator = self.operator
        operator.site = self
        return operator

    def kill(self) -> None:
        self.server.kill()

    def admin(self, path: str, kind: str = "*/*") -> Answer:
        return call(self.admin_port, "GET", path, {"Accept": kind})

    def end(self) -> None:
        if self.server:
            self.server.stop()
        if not self.has_ended:
            self.has_ended = True
            KEPT.keep(self) if self.kind else self.end_apple()

    def end_apple(self) -> None:
        self.apple.program.stop()

    def url(self, path: str) -> str:
        return self.origin + path


def preloaded(source: Path | str, library: Path) -> Path:
    """Compiles a C file, or its text, to a library for LD_PRELOAD."""
    if isinstance(source, str):
        text, source = source, library.with_suffix(".c")
        source.write_text(text)
    # Swift brings the first along.
    compiler = shutil.which("clang") or "cc"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(library), str(source), "-ldl"],
        check=True)
    return library


def pem(key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def new_key() -> bytes:
    """A P-256 key as Apple gives it out."""
    return pem(ec.generate_private_key(ec.SECP256R1()))


def write_private(file: Path, content: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        output.write(content)
