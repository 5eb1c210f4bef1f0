"""Rounds of disaster over three servers, a primary and its synchronous standby. docs/chaos.md.

    python3 Tests/Chaos/cluster.py BIN_DIRECTORY [ROUNDS] [SEED]

Each round, something dies, stops or is cut while people sign in and out at all servers. What was answered must be true,
then and at the end. Exits with 1 and says what was not.
"""

import collections
import json
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "Browser"), str(TESTS / "PostgreSQL")]
from nodes import House, Node  # noqa: E402
from operating import event_id  # noqa: E402
from patience import eventually, guarded  # noqa: E402
from postgres import Cluster, Server  # noqa: E402
from wire import Wire  # noqa: E402

NODES = 3
VISITORS = 5
PEOPLE = [f"person{number}" for number in range(12)]
# Seconds from the end of a session on one server to its end on all (storage.postgres.trust).
TRUST = 1.0
# What a visitor may get while something is broken.
GONE = (OSError, ConnectionError)


class Person:
    """Somebody who alone uses one account, and may leave."""

    def __init__(self, name: str):
        self.name = name
        self.sessions: list[str] = []


class Book:
    """What was answered. A session is live, ended at a time, or of unknown state, and then in neither list."""

    def __init__(self):
        self.guard = threading.Lock()
        self.live: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.wrong: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()

    def count(self, what: str) -> None:
        with self.guard:
            self.counts[what] += 1

    def begins(self, session: str) -> None:
        with self.guard:
            self.live[session] = time.monotonic()
            self.counts["sign-ins"] += 1

    def may_end(self, session: str) -> None:
        with self.guard:
            self.live.pop(session, None)

    def ends(self, session: str) -> None:
        with self.guard:
            self.ended[session] = time.monotonic()
            self.counts["ends"] += 1

    def checked(self, session: str, node: str, asked: float, status: int) -> None:
        with self.guard:
            self.counts[f"checks: {status}"] += 1
            if session in self.live and status not in (204, 503):
                self.wrong.append(f"{node}: {status} for a live session, {asked - self.live[session]:.2f} s old")
            ended = self.ended.get(session)
            if ended is not None and asked > ended + TRUST and status == 204:
                self.wrong.append(f"{node}: accepted a session {asked - ended:.2f} s after its end")


class Front:
    """Listens where Apple's notifications go, and passes each connection on to a server that takes it."""

    def __init__(self, port: int, nodes: list[Node], roll: random.Random):
        self.nodes, self.roll = nodes, roll
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client: socket.socket) -> None:
        for node in self.roll.sample(self.nodes, len(self.nodes)):
            try:
                server = socket.create_connection(("127.0.0.1", node.port), timeout=5)
                break
            except OSError:
                continue
        else:
            client.close()
            return
        server.settimeout(30)
        threading.Thread(target=self.pipe, args=(client, server), daemon=True).start()
        self.pipe(server, client)

    @staticmethod
    def pipe(source: socket.socket, target: socket.socket) -> None:
        try:
            while content := source.recv(65_536):
                target.sendall(content)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Run:
    def __init__(self, binaries: Path, folder: Path, seed: int):
        self.roll = random.Random(seed)
        self.seed = seed
        self.cluster = Cluster("--standby")
        self.primary, self.standby = Server(self.cluster.folder, "data", 5432), self.cluster.standby
        self.house = House(binaries, folder, self.cluster, 0, {
            "log.level": "info", "server.limits.signInsPerMinute": 100_000, "apple.bundleIDs": ["com.example.app"], "apple.onAccountDeleted": "erase"})
        self.site = self.house.site
        self.wires: dict[str, list[Wire]] = {}
        for index in range(NODES):
            node = Node(f"node{index}", self.site, self.house.settings)
            wires = [Wire(self.cluster.folder, port) for port in (5432, 5433)]
            ports = ",".join(str(wire.port) for wire in wires)
            self.house.reach(node, f"host=127.0.0.1,127.0.0.1 port={ports}")
            self.wires[node.folder.name] = wires
            self.house.nodes.append(node)
        self.nodes = self.house.nodes
        self.front = Front(self.site.port, self.nodes, random.Random(f"{seed}/front"))
        self.leavers = [Person(f"leaver{number}") for number in range(VISITORS)]
        for name in [*PEOPLE, *(leaver.name for leaver in self.leavers)]:
            self.site.apple.call("POST", "people", {
                "id": name, "givenName": "Ada", "familyName": name, "email": f"{name}@example.com"})
        self.house.start()
        self.key = json.loads(self.nodes[0].bramley(
            "api-keys", "create", "chaos", "--scopes", "events:read", "--json").splitlines()[0])["key"]
        self.book = Book()
        self.heard: list[str] = []
        self.over, self.settled = threading.Event(), threading.Event()
        self.errors: list[BaseException] = []
        # A disaster that itself went wrong: nobody waits for what comes after it.
        self.is_abandoned = False

    # MARK: What people do

    def call(self, work):
        """Nil when nobody answered."""
        try:
            return work()
        except (*GONE, AssertionError):
            return None
        except Exception as error:  # noqa: BLE001: http.client's own, for answers that were cut
            if type(error).__module__ == "http.client":
                return None
            raise

    def signs_in(self, name: str, roll: random.Random) -> str | None:
        here, there = roll.choice(self.nodes), roll.choice(self.nodes)
        begun = self.call(lambda: here.begin(name))
        if not begun:
            return None
        # The browser posts again when it gets no answer, and reaches another server. Apple's code may be used up then, by
        # one that died before it could store what came of it: they begin again.
        for turn, node in enumerate((there, *roll.sample(self.nodes, 2))):
            done = self.call(lambda node=node: node.come_back(*begun))
            if done and done.session:
                self.book.begins(done.session)
                return done.session
            if done and done.status == 400 and turn > 0:
                self.book.count("sign-ins begun again")
                return None
            if done and done.status != 503:
                self.book.wrong.append(f"callback: {done.status} {done.body[-300:]!r}")
                return None
        return None

    def signs_out(self, session: str, roll: random.Random) -> None:
        self.book.may_end(session)
        done = self.call(lambda: (roll.choice(self.nodes).sign_out(session), True))
        if done:
            self.book.ends(session)

    def leaves(self, person: Person) -> None:
        """Withdraws consent at Apple, whose notification arrives sooner or later."""
        for session in person.sessions:
            self.book.may_end(session)
        sent = self.site.apple.call("POST", "notifications", {"type": "consent-revoked", "person": person.name})
        while not any(delivery.get("status") == 200 for delivery in sent["deliveries"]):
            if self.over.wait(0.3):
                return
            sent = self.site.apple.call("POST", f"notifications/{sent['id']}/deliver", {})
        for session in person.sessions:
            self.book.ends(session)
        person.sessions = []
        self.book.count("consents withdrawn")

    def checks(self, session: str, roll: random.Random) -> None:
        node = roll.choice(self.nodes)
        asked = time.monotonic()
        status = self.call(lambda: node.verify(session))
        if status:
            self.book.checked(session, node.folder.name, asked, status)

    def visit(self, number: int) -> None:
        roll, own = random.Random(f"{self.seed}/{number}"), self.leavers[number]
        while not self.over.is_set():
            chance = roll.random()
            with self.book.guard:
                live, ended = list(self.book.live), list(self.book.ended)
            if chance < 0.25:
                self.signs_in(roll.choice(PEOPLE), roll)
            elif chance < 0.30:
                if session := self.signs_in(own.name, roll):
                    own.sessions.append(session)
            elif chance < 0.32 and own.sessions:
                self.leaves(own)
            elif chance < 0.45 and len(live) > 20:
                session = roll.choice(live)
                if all(session not in leaver.sessions for leaver in self.leavers):
                    self.signs_out(session, roll)
            else:
                for session in [*roll.sample(live, min(2, len(live))), *ended[-2:]]:
                    self.checks(session, roll)

    def follow(self) -> None:
        """An application that reads the journal, at whichever server."""
        roll, last = random.Random(f"{self.seed}/follower"), None
        while not self.is_abandoned and (not self.settled.is_set() or last != self.newest()):
            path = "/api/v1/events?limit=200" + (f"&after={last}" if last else "")
            answer = self.call(
                lambda: roll.choice(self.nodes).call("GET", path, {"Authorization": f"Bearer {self.key}"}))
            if answer and answer.status == 200:
                items = json.loads(answer.body)["items"]
                self.heard += [item["id"] for item in items]
                last = items[-1]["id"] if items else last
            time.sleep(0.1)

    def newest(self) -> str:
        return self.journal("ORDER BY sequence DESC LIMIT 1")[0]

    def journal(self, order: str) -> list[str]:
        lines = self.primary.sql(f"SELECT sequence, encode(salt, 'hex') FROM event {order}", self.house.database).splitlines()
        return [event_id(int(sequence), bytes.fromhex(salt)) for sequence, salt in (line.split("|") for line in lines)]

    # MARK: What happens to them

    def kill_a_server(self) -> None:
        node = self.roll.choice(self.nodes)
        node.kill()
        time.sleep(self.roll.choice([0, 0.3, 1]))
        eventually(lambda: self.starts(node), "a server that starts", self.logs)

    def starts(self, node: Node) -> bool:
        try:
            node.start()
            return True
        except RuntimeError:
            return False

    def stop_a_server_for_a_while(self) -> None:
        node = self.roll.choice(self.nodes)
        node.pause()
        time.sleep(self.roll.uniform(0.2, 2.5))
        node.go_on()

    def cut_connections(self) -> None:
        for wire in self.wires[self.roll.choice(self.nodes).folder.name]:
            wire.cut()

    def cut_at_random(self) -> None:
        """Before, during and after whatever is sent, commits among it."""
        roll, guard = random.Random(self.roll.random()), threading.Lock()

        def decide(content: bytes, writes: bool) -> str:
            with guard:
                return roll.choices(["pass", "cut before", "cut after"], [40, 1, 1])[0]

        wires = [wire for wires in self.wires.values() for wire in wires]
        for wire in wires:
            wire.decide = decide
        time.sleep(self.roll.uniform(0.5, 2))
        for wire in wires:
            wire.decide = lambda content, writes: "pass"

    def stop_the_network_of_a_server(self) -> None:
        wires = self.wires[self.roll.choice(self.nodes).folder.name]
        for wire in wires:
            wire.flows.clear()
        time.sleep(self.roll.uniform(0.5, 2.5))
        for wire in wires:
            wire.flows.set()

    def stop_the_primary_for_a_while(self) -> None:
        self.primary.signal(signal.SIGSTOP)
        time.sleep(self.roll.uniform(0.3, 2.5))
        self.primary.signal(signal.SIGCONT)

    def kill_the_primary(self) -> None:
        old, new = self.primary, self.standby
        old.kill()
        time.sleep(self.roll.choice([0, 0.5]))
        new.promote()
        self.primary, self.standby = new, old
        # It waits for a standby, which is made from it: what is answered is on both again.
        new.configure(synchronous_standby_names="*")
        shutil.rmtree(old.data)
        old.run("pg_basebackup", "-h", str(new.folder), "-p", str(new.port), "-U", "postgres", "-D", str(old.data), "-R",
                "-c", "fast", "--no-sync")
        old.start()

    def kill_the_standby(self) -> None:
        self.standby.kill()
        time.sleep(self.roll.uniform(0, 1.5))
        self.standby.start()

    DISASTERS = [
        (kill_a_server, 5), (stop_a_server_for_a_while, 4), (cut_connections, 3), (cut_at_random, 4),
        (stop_the_network_of_a_server, 3), (stop_the_primary_for_a_while, 2), (kill_the_primary, 3),
        (kill_the_standby, 1),
    ]

    def rage(self, rounds: int) -> None:
        follower = guarded(self.errors, self.over, self.follow)
        threads = [guarded(self.errors, self.over, self.visit, number) for number in range(VISITORS)]
        try:
            for number in range(rounds):
                disaster, = self.roll.choices(
                    [work for work, _ in self.DISASTERS], [weight for _, weight in self.DISASTERS])
                disaster(self)
                # Recovery needs nobody.
                before = self.book.counts["sign-ins"]
                eventually(lambda: self.book.counts["sign-ins"] > before + 2 or self.over.is_set(),
                           f"people who sign in after round {number}: {disaster.__name__}", self.logs)
                self.book.count(f"rounds: {disaster.__name__}")
                if self.over.is_set() or self.book.wrong:
                    break
        except BaseException:
            self.is_abandoned = True
            raise
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
            self.settled.set()
            follower.join()
        if self.errors:
            raise self.errors[0]

    def logs(self) -> str:
        return "\n".join(f"== {node.folder.name}\n{node.log.read_text()[-1500:]}" for node in self.nodes)

    # MARK: The end

    def differences(self) -> list[str]:
        found = list(self.book.wrong)
        for node in self.nodes:
            eventually(lambda: node.call("GET", "/login").status == 200, "a server that answers")
            for session in self.book.live:
                if (status := node.verify(session)) != 204:
                    found.append(f"{node.folder.name}: {status} for a session that was answered and never ended")
            for session in self.book.ended:
                if (status := node.verify(session)) != 401:
                    found.append(f"{node.folder.name}: {status} for an ended session")

        def sql(text: str) -> str:
            return self.primary.sql(text, self.house.database)

        if twice := sql("SELECT family_name FROM \"user\" GROUP BY family_name HAVING count(*) > 1"):
            found.append(f"two accounts of one person: {twice}")
        if twice := sql("SELECT session, type FROM event WHERE type IN ('session.created', 'session.ended') "
                        "GROUP BY session, type HAVING count(*) > 1"):
            found.append(f"told twice: {twice}")
        journal = self.journal("ORDER BY sequence")
        if self.heard != journal:
            missed = [event for event in journal if event not in set(self.heard)]
            found.append(f"the application heard {len(self.heard)} of {len(journal)} events; missed {missed[:5]}, or not in order")
        apple = {item["id"]: item["teams"][0]["consented"] for item in self.site.apple.call("GET", "people")["items"]}
        rows = dict(line.split("|") for line in sql(
            'SELECT u.family_name, i.credential_state FROM "user" u JOIN apple_identity i ON i."user" = u.id').splitlines())
        for leaver in self.leavers:
            state = rows.get(leaver.name)
            if state and (state == "authorized") != apple[leaver.name]:
                found.append(f"{leaver.name}: Apple has consent {apple[leaver.name]}, Bramley {state}")
        return found

    def end(self) -> None:
        self.house.end()
        self.front.listener.close()
        for wires in self.wires.values():
            for wire in wires:
                wire.end()
        self.cluster.end()


def main() -> int:
    binaries = Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10_000)
    print(f"{rounds} rounds, seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="bramley-chaos-"))
    run = Run(binaries, folder, seed)
    try:
        run.rage(rounds)
        found = run.differences()
    finally:
        run.end()
    for name, count in sorted(run.book.counts.items()):
        print(f"{count:8} {name}")
    print(f"{len(run.heard):8} events heard by an application")
    print("\n".join(found) or "Nothing answered was untrue, and nothing was lost.")
    if not found:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
