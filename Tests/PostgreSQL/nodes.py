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

from patience import PATIENCE
from programs import Program, Site, free_port, write_private

HERE = Path(__file__).resolve().parent


class Cluster:
    """PostgreSQL in a folder of its own."""

    def __init__(self, *settings: str):
        self.program = subprocess.Popen(
            [HERE / "cluster", *settings], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.folder = Path(self.program.stdout.readline().strip())
        assert self.folder.name, "PostgreSQL does not start"
        self.programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))

    def run(self, program: str, *arguments: str) -> str:
        command = [str(self.programs / program), *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=PATIENCE, cwd="/", stdin=subprocess.DEVNULL).stdout

    def sql(self, text: str, database: str = "postgres") -> str:
        return self.run("psql", "-h", str(self.folder), "-U", "postgres", "-d", database, "-qAtc", text).strip()

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", mode, "-w", "stop")

    def start(self) -> None:
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-w", "start")

    def make_database(self) -> str:
        """An empty one; its connection string."""
        name = "bramley_" + secrets.token_hex(4)
        self.sql(f"CREATE DATABASE {name}")
        return f"host={self.folder} user=postgres dbname={name}"

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
        self.url = cluster.make_database()
        self.database = self.url.rpartition("=")[2]
        write_private(folder / "sealing.key", secrets.token_hex(32).encode())
        self.settings = {
            "storage.postgres.url": self.url, "secrets.sealingKeyFile": str(folder / "sealing.key"),
        } | (settings or {})
        self.site = Site(binaries, folder, self.settings)
        self.nodes = [Node(f"node{index}", self.site, self.settings) for index in range(count)]
        if wire:
            # The first of them.
            self.nodes[0].change({"storage.postgres.url": self.url.replace(
                f"host={cluster.folder}", f"host=127.0.0.1 port={wire.port}")})

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
