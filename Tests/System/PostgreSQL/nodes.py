"""Several Bramleys over one PostgreSQL, and the simulated Apple."""

import json
import secrets
import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

from operating import Operator
from patience import PATIENCE
from postgres import Cluster
from programs import ROOT, Program, Site, free_port, preloaded, write_private
from web import FORM, Answer, Browser, call, cookie_field


# Sessions that were told of more than once.
CREATED_TWICE = ("SELECT count(*) FROM (SELECT session FROM event WHERE type = 'session.created' GROUP BY session"
                 " HAVING count(*) > 1) AS twice")


def wrong_clock(folder: Path) -> Path:
    """A library for servers whose clock is wrong. (After Debian's faketime, Swift no longer finds its arguments.)"""
    library = folder / "skew.so"
    return library if library.exists() else preloaded(ROOT / "Tests/Load/Chaos/skew.c", library)


class Node:
    """One server of several. All have the visitors' address, the sealing key and the database in common."""

    def __init__(self, name: str, site: Site, settings: dict):
        self.site, self.origin, self.apple = site, site.origin, site.apple
        self.port, self.admin_port = free_port(), free_port()
        self.folder = site.folder / name
        self.folder.mkdir()
        self.log = self.folder / "bramley.log"
        self.settings = settings | {
            "server.port": self.port, "admin.port": self.admin_port, "storage.directory": str(self.folder / "data")}
        self.program: Program | None = None
        # Seconds by which its clock is ahead of this machine's, from its next start on.
        self.skew = 0.0
        self.change({})

    def change(self, settings: dict) -> None:
        """Before it starts."""
        self.settings |= settings
        write_private(self.folder / "config.json", json.dumps(self.site.configuration(self.settings)).encode())

    def start(self, environment: dict[str, str] | None = None) -> "Node":
        clock = {"LD_PRELOAD": str(wrong_clock(self.site.folder)), "CLOCK_SKEW": f"{self.skew * 1000:.0f}"}
        self.program = Program(
            [str(self.site.binaries / "bramley"), "serve", "--config", str(self.folder / "config.json")], self.log,
            (clock if self.skew else {}) | (environment or {}))
        self.program.wait_for(self.port)
        return self

    def kill(self) -> None:
        self.program.kill()

    def pause(self) -> None:
        self.program.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.program.process.send_signal(signal.SIGCONT)

    def bramley(self, *arguments: str, code: int | None = 0) -> str:
        """- code: None: any."""
        done = Operator(self.site.binaries, self.folder).run(*arguments, timeout=PATIENCE)
        assert code is None or done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def json(self, *arguments: str):
        return json.loads(self.bramley(*arguments, "--json").splitlines()[0])

    def admin(self, path: str) -> Answer:
        return call(self.admin_port, "GET", path)

    def call(self, method: str, path: str, headers: dict | None = None, body: str | None = None) -> Answer:
        return call(self, method, path, headers, body)

    def give_up(self, path: str, headers: dict, seconds: float) -> None:
        """Asks, and leaves before the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            fields = {"Host": urlsplit(self.site.origin).netloc} | headers
            connection.sendall("\r\n".join(
                [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]).encode())
            time.sleep(seconds)

    def begin(self, person: str) -> tuple[str, str]:
        """To Apple: the browser's cookie, and the form that comes back."""
        browser = Browser(self)
        form = browser.goes_to_apple(person)
        return cookie_field(browser.cookies)["Cookie"], form

    def come_back(self, binding: str, form: str) -> Answer:
        return self.call("POST", "/apple/callback", FORM | {"Cookie": binding, "Origin": self.apple.origin}, form)

    def sign_in(self, person: str) -> str:
        done = self.come_back(*self.begin(person))
        assert done.status == 303 and done.session, done.body
        return done.session

    def verify(self, session: str) -> int:
        return self.call("GET", "/auth/verify", {"Cookie": session}).status

    def sign_out(self, session: str) -> None:
        self.call("POST", "/logout", {"Cookie": session, "Origin": self.site.origin}, "").must(303)


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
