"""Rounds of disaster over three servers, a primary and its synchronous standby. docs/contribute/testing.md.

    python3 Tests/Load/Chaos/cluster.py BIN_DIRECTORY [ROUNDS] [PEOPLE] [SEED] [DISASTER...]

Each round, something dies, stops or is cut while people sign in and out at all servers. What was answered must be true
by rules.py, then and at the end. Exits with 1 and says what was not.
"""

import contextlib
import itertools
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "Load/Chaos"), str(TESTS / "Support"), str(TESTS / "System/PostgreSQL")]
import crowd  # noqa: E402
import visits  # noqa: E402
from disasters import DISASTERS, SKEWS, prepare  # noqa: E402
from nodes import House, Node  # noqa: E402
from operating import event_id  # noqa: E402
from patience import eventually, guarded  # noqa: E402
from postgres import Cluster, Server  # noqa: E402
from program import Program  # noqa: E402
from relay import Relay  # noqa: E402
from rules import Book  # noqa: E402
from web import bearer  # noqa: E402
from wire import Wire  # noqa: E402

VISITORS = 5


class Person:
    """Somebody who alone uses one account, and may leave."""

    def __init__(self, name: str):
        self.name = name
        self.sessions: list[str] = []
        # What Bramley knows of their consent may have been lost with a primary.
        self.is_lost = False
        # Bramley may not know of their last sign-in, of which Apple does.
        self.is_unfinished = False


class Run:
    def __init__(self, binaries: Path, folder: Path, seed: int, people: int = 0, disasters: list[str] = ()):
        """- people: stored besides those who visit."""
        names = {work.__name__ for work in DISASTERS}
        assert names.issuperset(disasters), f"disasters are {', '.join(sorted(names))}"
        self.disasters = {work: weight for work, weight in DISASTERS.items() if work.__name__ in (disasters or names)}
        self.seed, self.roll = seed, random.Random(seed)
        self.cluster = Cluster("--standby")
        self.primary, self.standby = Server(self.cluster.folder, "data", 5432), self.cluster.standby
        self.house = House(binaries, folder, self.cluster, 0, {
            "log.level": "info", "server.limits.signInsPerMinute": 100_000, "server.limits.operatorPerMinute": 100_000,
            "operator.groups": ["staff"], "apple.bundleIDs": ["com.example.app"], "apple.onAccountDeleted": "erase"})
        self.site = self.house.site
        self.wires: dict[str, list[Wire]] = {}
        for index in range(3):
            node = Node(f"node{index}", self.site, self.house.settings)
            node.skew = SKEWS[index + 1]
            wires = [Wire(self.cluster.folder, port) for port in (5432, 5433)]
            ports = ",".join(str(wire.port) for wire in wires)
            self.house.reach(node, f"host=127.0.0.1,127.0.0.1 port={ports}")
            self.wires[node.folder.name] = wires
            self.house.nodes.append(node)
        self.nodes = self.house.nodes
        roll = random.Random(f"{seed}/front")
        # Where Apple's notifications go.
        self.front = Relay(lambda _: self.to_a_server(roll), self.site.port)
        self.leavers = [Person(f"leaver{number}") for number in range(VISITORS)]
        for name in [*visits.PEOPLE, *visits.HOLDERS, *(leaver.name for leaver in self.leavers)]:
            self.site.apple.add_person(name, family=name)
        self.house.start()
        for statement in crowd.people(people) if people else []:
            self.sql(statement)
        prepare(self)
        first = self.nodes[0]
        self.key = bearer(first.json("api-keys", "create", "chaos", "--scopes", "events:read")["key"])
        self.program = Program(first)
        # The sessions of those whom nobody signs out, of whom the last is an operator.
        self.held = [first.sign_in(name) for name in visits.HOLDERS]
        self.operator = self.held[-1]
        first.bramley("users", "groups", f"{visits.HOLDERS[-1]}@example.com", "--add", "staff", "--yes")
        self.book = Book()
        for session in self.held:
            self.book.begins(session, time.monotonic())
        self.heard: list[str] = []
        self.over, self.settled = threading.Event(), threading.Event()
        self.errors: list[BaseException] = []
        # A disaster that itself went wrong: nobody waits for what comes after it.
        self.is_abandoned = False

    def to_a_server(self, roll: random.Random) -> socket.socket | None:
        for node in roll.sample(self.nodes, len(self.nodes)):
            with contextlib.suppress(OSError):
                server = socket.create_connection(("127.0.0.1", node.port), timeout=5)
                server.settimeout(30)
                return server
        return None

    def sql(self, text: str) -> str:
        return self.primary.sql(text, self.house.database)

    def settle(self) -> None:
        """Until every server is ready, and trusts what it knows."""
        for node in self.nodes:
            eventually(lambda node=node: node.admin("/readyz").status == 200, "a server that is ready", self.logs)
            eventually(lambda node=node: node.verify(self.operator) == 204, "a server that checks", self.logs)

    def posts_in_vain(self, node: Node) -> tuple[str, str] | None:
        """The browser's cookie and the form of a sign-in that got 503."""
        begun = visits.ask(lambda: node.begin(visits.PEOPLE[0]))
        done = begun and visits.ask(lambda: node.come_back(*begun))
        return begun if done and done.status == 503 else None

    def posts_again(self, binding: str, form: str) -> None:
        """Until it is not told to try again."""
        def post() -> bool:
            node = self.roll.choice(self.nodes)
            done = visits.ask(lambda: node.come_back(binding, form))
            if done:
                self.book.posted_again(node.folder.name, done.status)
            return done is not None and done.status != 503

        eventually(post, "an answer to a callback that was posted again", self.logs)

    def follow(self) -> None:
        """An application that reads the journal, at whichever server."""
        roll, last = random.Random(f"{self.seed}/follower"), None
        while not self.is_abandoned and (not self.settled.is_set() or last != self.newest()):
            path = "/api/v1/events?limit=200" + (f"&after={last}" if last else "")
            answer = visits.ask(lambda: roll.choice(self.nodes).call("GET", path, self.key))
            if answer and answer.status == 200:
                items = answer.json()["items"]
                self.heard += [item["id"] for item in items]
                last = items[-1]["id"] if items else last
            elif answer and answer.status == 410 and self.book.lost > 0:
                # Its last event was lost. It begins again, and must be told everything.
                self.heard, last = [], None
            time.sleep(0.1)

    def newest(self) -> str:
        return self.journal("ORDER BY sequence DESC LIMIT 1")[0]

    def journal(self, order: str) -> list[str]:
        lines = self.primary.sql(f"SELECT sequence, encode(salt, 'hex') FROM event {order}", self.house.database).splitlines()
        return [event_id(int(sequence), bytes.fromhex(salt)) for sequence, salt in (line.split("|") for line in lines)]

    def rage(self, rounds: int) -> None:
        follower = guarded(self.errors, self.over, self.follow)
        threads = [guarded(self.errors, self.over, visits.visit, self, number) for number in range(VISITORS)]
        threads += [guarded(self.errors, self.over, visits.watch, self, node) for node in self.nodes]
        try:
            try:
                self.bring_disasters(rounds)
            except BaseException:
                self.is_abandoned = True
                raise
            finally:
                self.over.set()
                for thread in threads:
                    thread.join()
            if not self.errors:
                self.finish()
        except BaseException:
            self.is_abandoned = True
            raise
        finally:
            self.settled.set()
            follower.join()
        if self.errors:
            raise self.errors[0]

    def bring_disasters(self, rounds: int) -> None:
        for number in range(rounds):
            disaster, = self.roll.choices(list(self.disasters), list(self.disasters.values()))
            disaster(self)
            # Recovery needs nobody.
            before = self.book.counts["sign-ins"]
            eventually(lambda: self.book.counts["sign-ins"] > before + 5 or self.over.is_set(),
                       f"people who sign in after round {number}: {disaster.__name__}", self.logs)
            self.book.count(f"rounds: {disaster.__name__}")
            if self.over.is_set() or self.book.wrong:
                break

    def finish(self) -> None:
        """Everybody finishes what they began: until then Apple may have a consent of which Bramley cannot know."""
        self.settle()
        for leaver in self.leavers:
            if leaver.is_unfinished:
                eventually(lambda: visits.signs_in_alone(self, leaver, self.roll), "a sign-in at the end", self.logs)

    def logs(self) -> str:
        return "\n".join(f"== {node.folder.name}\n{node.log.read_text()[-1500:]}" for node in self.nodes)

    def decided(self, node: Node, session: str) -> int:
        """503 is no lie: a server that has not heard of the database for a second says it, on a busy machine too."""
        return eventually(
            lambda: (status := node.verify(session)) != 503 and status, "a server that decides", self.logs)

    def differences(self) -> list[str]:
        found = list(self.book.wrong)
        self.settle()
        for node in self.nodes:
            for sessions, wanted, what in (
                    (self.book.live, 204, "a session that was answered and never ended"),
                    (self.book.ended, 401, "an ended session")):
                for session in sessions:
                    if (status := self.decided(node, session)) != wanted:
                        found.append(f"{node.folder.name}: {status} for {what}")
        if twice := self.sql("SELECT family_name FROM \"user\" WHERE id NOT LIKE 'usr\\_00000000%' GROUP BY family_name "
                             "HAVING count(*) > 1"):
            found.append(f"two accounts of one person: {twice}")
        if twice := self.sql("SELECT session, type FROM event WHERE type IN ('session.created', 'session.ended') "
                             "GROUP BY session, type HAVING count(*) > 1"):
            found.append(f"told twice: {twice}")
        journal = self.journal("ORDER BY sequence")
        if self.heard != journal:
            missed = [event for event in journal if event not in set(self.heard)]
            found.append(f"the application heard {len(self.heard)} of {len(journal)} events; missed {missed[:5]}, or not in order")
        apple = {item["id"]: item["teams"][0]["consented"] for item in self.site.apple.call("GET", "people")["items"]}
        rows = dict(line.split("|") for line in self.sql(
            'SELECT u.family_name, i.credential_state FROM "user" u JOIN apple_identity i ON i."user" = u.id').splitlines())
        for leaver in self.leavers:
            state = rows.get(leaver.name)
            if state and not leaver.is_lost and (state == "authorized") != apple[leaver.name]:
                found.append(f"{leaver.name}: Apple has consent {apple[leaver.name]}, Bramley {state}")
        return found

    def end(self) -> None:
        self.house.end()
        self.front.stop()
        for wire in itertools.chain(*self.wires.values()):
            wire.end()
        self.cluster.end()


def main() -> int:
    binaries = Path(sys.argv[1]).resolve()
    rounds, people, seed = [int(text) for text in sys.argv[2:5]] + [100, 0, random.randrange(10_000)][len(sys.argv[2:5]):]
    print(f"{rounds} rounds, {people} people, seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="bramley-chaos-"))
    run = Run(binaries, folder, seed, people, sys.argv[5:])
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
