"""A primary and its synchronous standby: one takes over from the other, and nothing that was answered is lost."""

import json
import signal
import threading
import time

import pytest

from nodes import Node
from patience import eventually
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
        self.threads = [threading.Thread(target=self.visit, args=(node,)) for node in nodes]
        for thread in self.threads:
            thread.start()

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
        assert not self.odd, self.odd
        assert self.sessions
        return self.sessions


@pytest.mark.parametrize("is_announced", [True, False], ids=["a switch-over", "a dead primary"])
def test_a_standby_takes_over(pair, build, is_announced):
    house = build(2, own=pair)
    a, b = house.nodes
    visitors = Visitors(a, b)
    eventually(lambda: len(visitors.sessions) > 5, "visitors")
    if is_announced:
        # The old primary goes on, answers reads and refuses writes: connections to it must not be kept.
        pair.configure(default_transaction_read_only="on")
    else:
        pair.signal(signal.SIGKILL)
    pair.standby.promote()
    pair.standby.configure(synchronous_standby_names="")
    after = len(visitors.sessions)
    eventually(lambda: len(visitors.sessions) > after + 5, "visitors after the standby took over")
    sessions = visitors.end()
    for node in (a, b):
        assert [node.verify(session) for session in sessions] == [204] * len(sessions)
    assert pair.standby.sql('SELECT count(*) FROM "user"', house.database) == "1"
    twice = pair.standby.sql(
        "SELECT count(*) FROM (SELECT session FROM event WHERE type = 'session.created' GROUP BY session "
        "HAVING count(*) > 1) AS twice", house.database)
    assert twice == "0"


def test_doctor_says_what_postgresql_may_lose(pair, build):
    node = build(1, own=pair).nodes[0]

    def findings() -> set[str]:
        return {item["finding"] for item in json.loads(node.bramley("doctor", "--json", code=1))["items"]}

    # The cluster of the tests does without fsync.
    assert "database_not_durable" in (found := findings())
    assert not {"replication_asynchronous", "database_clock"} & found
    pair.configure(synchronous_standby_names="")
    assert "replication_asynchronous" in findings()


def test_two_primaries_do_not_let_in_whoever_signed_out(pair, build):
    """Split brain: one server still reaches the old primary, which is alive, and nobody told it."""
    house = build(1, own=pair)
    old, new = house.nodes[0], Node("new", house.site, house.settings)
    house.nodes.append(new)
    session = old.sign_in("ada")
    assert old.verify(session) == 204
    pair.standby.promote()
    pair.standby.configure(synchronous_standby_names="")
    house.reach(new, f"host={pair.folder} port={pair.standby.port}")
    new.start()
    assert new.verify(session) == 204
    new.sign_out(session)
    ended = time.monotonic()
    late = []
    while time.monotonic() < ended + 3:
        asked = time.monotonic()
        if old.verify(session) == 204:
            late.append(asked - ended)
    assert max(late, default=0) < 1, late
    assert old.verify(session) == 503
    # Nobody signs in by the old one: nothing commits there.
    assert pair.sql("SELECT count(*) FROM session", house.database) == "1"
    old.kill()


def test_without_its_synchronous_standby_a_sign_in_waits(pair, build):
    node = build(1, own=pair).nodes[0]
    session = node.sign_in("ada")
    pair.standby.stop()
    # A poll that does not commit gives no trust.
    eventually(lambda: node.verify(session) == 503, "503 without the standby")
    binding, form = node.begin("boris")
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(node.come_back(binding, form)))
    waiting.start()
    eventually(
        lambda: pair.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") not in ("", "0"),
        "a COMMIT that waits")
    pair.standby.start()
    waiting.join()
    assert answers[0].session, answers[0].body
    for one in (session, answers[0].session):
        eventually(lambda: node.verify(one) == 204, "the session")


def test_a_database_that_hangs_is_answered_for_in_time(own_cluster, build):
    node = build(1, own=own_cluster).nodes[0]
    session = node.sign_in("ada")
    own_cluster.signal(signal.SIGSTOP)
    try:
        eventually(lambda: node.verify(session) == 503, "503")
        # Many who ask at once do not wait for each other.
        statuses, slowest = [], []

        def ask() -> None:
            begun = time.monotonic()
            statuses.append(node.verify(session))
            slowest.append(time.monotonic() - begun)

        threads = [threading.Thread(target=ask) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [503] * 20
        assert max(slowest) < 10, slowest
        begun = time.monotonic()
        assert node.come_back(*node.begin("boris")).status == 503
        assert time.monotonic() - begun < 30
    finally:
        own_cluster.signal(signal.SIGCONT)
    eventually(lambda: node.verify(session) == 204, "the session")
    assert node.sign_in("chie")
