"""The network to PostgreSQL is cut or stops: what was answered is true, and what was not is known."""

import random
import threading

import pytest

from nodes import CREATED_TWICE
from patience import eventually
from wire import Wire


@pytest.fixture
def house(build, cluster, wire):
    """One server behind the wire, and one that reaches PostgreSQL without it."""
    return build(2, behind=wire)


def once(wire: Wire, what: str) -> threading.Event:
    """Does it to the next COMMIT of a transaction with the lock."""
    done = threading.Event()

    def decide(content: bytes, writes: bool) -> str:
        if writes and b"COMMIT" in content and not done.is_set():
            done.set()
            return what
        return "pass"

    wire.decide = decide
    return done


@pytest.mark.parametrize("what", ["cut before", "cut after"])
def test_a_commit_whose_answer_was_lost_is_looked_up(house, wire, what):
    a, b = house.nodes
    binding, form = a.begin("ada")
    done = once(wire, what)
    session = a.come_back(binding, form).session
    assert done.is_set()
    assert session and b.verify(session) == 204
    for rows in ('"user"', "session", "event WHERE type = 'session.created'"):
        assert house.sql(f"SELECT count(*) FROM {rows}") == "1"


def test_connections_cut_at_random_lose_nothing_that_was_answered(house, wire):
    a, b = house.nodes
    numbers = random.Random(20)
    lock = threading.Lock()

    def decide(content: bytes, writes: bool) -> str:
        with lock:
            return numbers.choices(["pass", "cut before", "cut after"], [60, 1, 1])[0]

    wire.decide = decide
    sessions = []
    for index in range(40):
        done = a.come_back(*a.begin(("ada", "boris", "chie")[index % 3]))
        assert done.status in (303, 503), done.body
        if done.session:
            sessions.append(done.session)
    wire.decide = lambda content, writes: "pass"
    assert sessions
    assert [b.verify(session) for session in sessions] == [204] * len(sessions)
    assert int(house.sql('SELECT count(*) FROM "user"')) == 3
    # No transaction was done twice.
    assert house.sql("SELECT count(*) FROM event WHERE type = 'user.created'") == "3"
    assert house.sql(CREATED_TWICE) == "0"


def test_a_network_that_drops_everything_is_noticed(house, wire):
    a, b = house.nodes
    session = b.sign_in("ada")
    assert a.verify(session) == 204
    wire.flows.clear()
    # Its memory is trusted for a second; then it asks, and says that it cannot know.
    eventually(lambda: a.verify(session) == 503, "503 from the server that hears nothing")
    assert b.verify(session) == 204
    b.sign_out(session)
    wire.flows.set()
    eventually(lambda: a.verify(session) == 401, "the end of the session")
    assert a.sign_in("boris")
