"""Several Bramleys over one PostgreSQL, and the simulated Apple."""

import http.client
import json
import os
import re
import secrets
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from patience import PATIENCE, eventually
from programs import Program, Site, free_port, write_private

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/postgres.sh"


class Server:
    """One server of PostgreSQL, primary or standby."""

    def __init__(self, folder: Path, data: str, port: int):
        # Of its socket.
        self.folder = folder
        self.data = folder / data
        self.port = port
        self.programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))

    def run(self, program: str, *arguments: str) -> str:
        return subprocess.run(
            as_postgres(str(self.programs / program), *arguments), check=True, capture_output=True, text=True,
            timeout=PATIENCE, cwd="/", stdin=subprocess.DEVNULL).stdout

    def control(self, what: str, *arguments: str) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", *arguments, what)

    def sql(self, text: str, database: str = "postgres") -> str:
        return self.run(
            "psql", "-h", str(self.folder), "-p", str(self.port), "-U", "postgres", "-d", database, "-qAtc", text).strip()

    def configure(self, **settings: str) -> None:
        """While it runs."""
        for name, value in settings.items():
            self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")

    def stop(self, mode: str = "immediate") -> None:
        self.control("stop", "-m", mode)

    def start(self) -> None:
        self.control("start", "-l", f"{self.data}.log", "-o", f"-p {self.port}")

    def promote(self) -> None:
        self.control("promote")

    def processes(self) -> list[int]:
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        others = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True).stdout.split()
        return [first, *map(int, others)]

    def signal(self, number: signal.Signals) -> None:
        """To all of its processes."""
        for process in self.processes():
            os.kill(process, number)


def as_postgres(*command: str) -> list[str]:
    """What runs it as an ordinary user: PostgreSQL's programs refuse to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else list(command)


class Cluster(Server):
    """PostgreSQL in a folder of its own: a primary, and perhaps a standby."""

    def __init__(self, *arguments: str):
        """Of scripts/postgres.sh."""
        self.program = subprocess.Popen([SCRIPT, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        folder = Path(self.program.stdout.readline().strip())
        assert folder.name, "PostgreSQL does not start"
        super().__init__(folder, "data", 5432)
        self.standby = Server(folder, "standby", 5433) if "--standby" in arguments else None
        if self.standby:
            eventually(
                lambda: self.sql("SELECT sync_state FROM pg_stat_replication") == "sync", "a synchronous standby")

    @property
    def hosts(self) -> str:
        servers = [self] + ([self.standby] if self.standby else [])
        return "host={} port={}".format(
            ",".join(str(server.folder) for server in servers), ",".join(str(server.port) for server in servers))

    def make_database(self) -> str:
        """The name of an empty one."""
        name = "bramley_" + secrets.token_hex(4)
        self.sql(f"CREATE DATABASE {name}")
        return name

    def url(self, database: str, place: str | None = None) -> str:
        """Its connection string, by default with all hosts."""
        return f"{place or self.hosts} user=postgres dbname={database}"

    def end(self) -> None:
        self.program.stdin.close()
        self.program.wait(timeout=PATIENCE)


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def session(self) -> str | None:
        """The cookie of a session that was begun."""
        cookies = [value.split(";")[0] for value in self.headers.get_all("Set-Cookie") or []]
        return next((cookie for cookie in cookies if re.match(r"(__Host-)?bramley=.", cookie)), None)


class Node:
    """One server of several. All have the visitors' address, the sealing key and the database in common."""

    def __init__(self, name: str, site: Site, settings: dict):
        self.site = site
        self.port = free_port()
        self.folder = site.folder / name
        self.folder.mkdir()
        self.log = self.folder / "bramley.log"
        self.settings = settings | {"server.port": self.port, "storage.directory": str(self.folder / "data")}
        self.program: Program | None = None
        self.change({})

    def change(self, settings: dict) -> None:
        """Before it starts."""
        self.settings |= settings
        write_private(self.folder / "config.json", json.dumps(self.site.configuration(self.settings)).encode())

    def start(self) -> "Node":
        self.program = Program([str(self.site.binaries / "bramley"), "serve", "--config", str(self.folder / "config.json")], self.log)
        self.program.wait_for(self.port)
        return self

    def kill(self) -> None:
        self.program.process.kill()
        self.program.process.wait()

    def pause(self) -> None:
        self.program.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.program.process.send_signal(signal.SIGCONT)

    def bramley(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [self.site.binaries / "bramley", *arguments, "--config", self.folder / "config.json"],
            capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def call(self, method: str, path: str, headers: dict | None = None, body: str | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {"Host": urlsplit(self.site.origin).netloc} | (headers or {}))
            return Answer(connection.getresponse())
        finally:
            connection.close()

    # A visitor's steps.

    def begin(self, person: str) -> tuple[str, str]:
        """To Apple: the browser's cookie, and the form that comes back."""
        start = self.call("GET", "/login/apple")
        assert start.status == 303, start.body
        binding = start.headers["Set-Cookie"].split(";")[0]
        apple = self.site.apple.call("POST", "authorize", {"person": person, "authorize_url": start.headers["Location"]})
        return binding, apple["form"]

    def come_back(self, binding: str, form: str) -> Answer:
        return self.call("POST", "/apple/callback", {
            "Cookie": binding, "Content-Type": "application/x-www-form-urlencoded", "Origin": self.site.apple.origin,
        }, form)

    def sign_in(self, person: str) -> str:
        """The cookie of the session."""
        done = self.come_back(*self.begin(person))
        assert done.status == 303 and done.session, done.body
        return done.session

    def verify(self, session: str) -> int:
        return self.call("GET", "/auth/verify", {"Cookie": session}).status

    def sign_out(self, session: str) -> None:
        done = self.call("POST", "/logout", {"Cookie": session, "Origin": self.site.origin}, "")
        assert done.status == 303, done.body


class House:
    """Nodes over one database."""

    def __init__(self, binaries: Path, folder: Path, cluster: Cluster, count: int, settings: dict | None = None,
                 wire=None):
        self.cluster = cluster
        self.database = cluster.make_database()
        write_private(folder / "sealing.key", secrets.token_hex(32).encode())
        self.settings = {
            "storage.postgres.url": cluster.url(self.database), "secrets.sealingKeyFile": str(folder / "sealing.key"),
        } | (settings or {})
        self.site = Site(binaries, folder, self.settings)
        self.nodes = [Node(f"node{index}", self.site, self.settings) for index in range(count)]
        if wire:
            # The first of them.
            self.reach(self.nodes[0], f"host=127.0.0.1 port={wire.port}")

    def reach(self, node: Node, place: str) -> None:
        """By another way. Before it starts."""
        node.change({"storage.postgres.url": self.cluster.url(self.database, place)})

    def start(self) -> "House":
        for node in self.nodes:
            node.start()
        return self

    def sql(self, text: str) -> str:
        return self.cluster.sql(text, self.database)

    def end(self) -> None:
        for node in self.nodes:
            if node.program:
                node.go_on()
                node.program.stop()
        self.site.end()
