"""A primary and its synchronous standby: one takes over from the other, and nothing that was answered is lost."""

import json
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from nodes import CREATED_TWICE, Node
from patience import eventually, guarded
from postgres import Cluster


@pytest.fixture
def pair():
    cluster = Cluster("--standby")
    yield cluster
    cluster.end()


class Visitors:
    """People who sign in at all nodes, one after another, until the end; and who is signed in."""

    def __init__(self, *nodes: Node):
        self.sessions: list[str] = []
        self.odd: list[str] = []
        self.is_over = threading.Event()
        self.threads = [guarded(self.odd, self.is_over, self.visit, node) for node in nodes]

    def visit(self, node: Node) -> None:
        while not self.is_over.is_set():
            done = node.come_back(*node.begin("ada"))
            if done.session:
                self.sessions.append(done.session)
                # Whoever is signed in is told so, or to try again; never that they are not.
                status = node.verify(done.session)
                if status not in (204, 503):
                    self.odd.append(f"verify: {status}")
            elif done.status != 503:
                self.odd.append(f"callback: {done.status} {done.body}")

    def end(self) -> list[str]:
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        assert self.sessions and not self.odd, self.odd
        return self.sessions


def take_over(pair: Cluster) -> None:
    """The standby becomes the primary, and waits for no standby of its own."""
    pair.standby.promote()
    pair.standby.configure(synchronous_standby_names="")


def no_longer_accepts(node: Node, session: str, ended: float | None = None) -> None:
    """A second after it ended at another server."""
    ended = ended or time.monotonic()
    late = []
    while time.monotonic() < ended + 3:
        asked = time.monotonic()
        if node.verify(session) == 204:
            late.append(asked - ended)
    assert max(late, default=0) < 1, late


@pytest.mark.parametrize("is_announced", [True, False], ids=["a switch-over", "a dead primary"])
def test_a_standby_takes_over(pair, build, is_announced):
    house = build(2, own=pair)
    a, b = house.nodes
    visitors = Visitors(a, b)
    eventually(lambda: len(visitors.sessions) > 5, "visitors")
    if is_announced:
        # The old primary continues, answers reads and refuses writes: connections to it must not be kept.
        pair.configure(default_transaction_read_only="on")
    else:
        pair.signal(signal.SIGKILL)
    take_over(pair)
    after = len(visitors.sessions)
    eventually(lambda: len(visitors.sessions) > after + 5, "visitors after the standby took over")
    sessions = visitors.end()
    for node in (a, b):
        assert [node.verify(session) for session in sessions] == [204] * len(sessions)
    assert pair.standby.sql('SELECT count(*) FROM "user"', house.database) == "1"
    assert pair.standby.sql(CREATED_TWICE, house.database) == "0"


def test_doctor_says_what_postgresql_may_lose(pair, build):
    node = build(1, own=pair).nodes[0]

    def findings() -> set[str]:
        return {item["finding"] for item in json.loads(node.bramley("doctor", "--json", code=1))["items"]}

    # The cluster of the tests does without fsync.
    assert "database_not_durable" in (found := findings())
    assert not {"replication_asynchronous", "database_clock"} & found
    pair.configure(synchronous_standby_names="")
    assert "replication_asynchronous" in findings()


def test_with_two_primaries_signed_out_people_stay_signed_out(pair, build):
    """Split brain: one server still reaches the old primary, which is still running."""
    house = build(1, own=pair)
    old, new = house.nodes[0], Node("new", house.site, house.settings)
    house.nodes.append(new)
    session = old.sign_in("ada")
    assert old.verify(session) == 204
    take_over(pair)
    house.reach(new, f"host={pair.folder} port={pair.standby.port}")
    new.start()
    assert new.verify(session) == 204
    new.sign_out(session)
    no_longer_accepts(old, session)
    assert old.verify(session) == 503
    # Nobody signs in by the old one: nothing commits there.
    assert pair.sql("SELECT count(*) FROM session", house.database) == "1"
    old.kill()


def test_a_look_up_does_not_trust_a_replaced_primary(pair, build, make_wire):
    """Split brain: a server polls the new primary, and its look-ups, connected later, go to the old one."""
    way, new_way = make_wire(pair), make_wire(pair, pair.standby.port)
    house = build(0, own=pair)
    torn, other = (Node(name, house.site, house.settings) for name in ("torn", "other"))
    house.nodes += [torn, other]
    house.reach(torn, f"host=127.0.0.1,127.0.0.1 port={way.port},{new_way.port}")
    torn.start()
    assert torn.verify(torn.sign_in("ada")) == 204
    take_over(pair)
    way.refuse()

    def polls() -> int:
        return int(pair.standby.sql("SELECT max(number) FROM store_poll", house.database))

    # Before that, what it heard of the old one counts for a second. The second began after the first was believed.
    before = polls()
    eventually(lambda: polls() > before + 1, "two polls of the new primary")
    way.listen()
    house.reach(other, f"host={pair.folder} port={pair.standby.port}")
    other.start()
    # One look-up after another, on each of its connections.
    for person in ("boris", "chie", "dana"):
        begun = other.sign_in(person)
        assert torn.verify(begun) in (204, 503), "of a session that was just begun"
        other.sign_out(begun)
        no_longer_accepts(torn, begun)
    for node in (torn, other):
        node.kill()


def test_reused_event_numbers_are_noticed(build, wire):
    """As by a standby that had not received the last events when it took over. One server is late to learn of it."""
    house = build(2, behind=wire)
    late, other = house.nodes
    session = other.sign_in("ada")
    assert late.verify(session) == 204
    before = int(house.sql("SELECT max(sequence) FROM event"))
    for _ in range(5):
        other.sign_out(other.sign_in("boris"))
    time.sleep(1)
    assert late.verify(session) == 204
    wire.flows.clear()
    house.sql(f"DELETE FROM event WHERE sequence > {before}")
    house.sql(f"SELECT setval(pg_get_serial_sequence('event', 'sequence'), {before})")
    other.sign_out(session)
    ended = time.monotonic()
    for _ in range(8):
        other.sign_out(other.sign_in("boris"))
    wire.flows.set()
    no_longer_accepts(late, session, ended)
    eventually(lambda: late.verify(session) == 401, "the late server")


def test_without_its_synchronous_standby_a_sign_in_waits(pair, build):
    node = build(1, own=pair).nodes[0]
    session = node.sign_in("ada")
    pair.standby.stop()
    # A poll that does not commit gives no trust.
    eventually(lambda: node.verify(session) == 503, "503 without the standby")
    binding, form = node.begin("boris")
    waiting_commits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(node.come_back, binding, form)
        eventually(lambda: pair.sql(waiting_commits) not in ("", "0"), "a COMMIT that waits")
        pair.standby.start()
    answer = waiting.result()
    assert answer.session, answer.body
    for one in (session, answer.session):
        eventually(lambda: node.verify(one) == 204, "the session")
