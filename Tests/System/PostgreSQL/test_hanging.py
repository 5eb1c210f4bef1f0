"""PostgreSQL hangs, or refuses writes: every request is answered, and no code is spent."""

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from patience import PATIENCE, eventually, guarded
from web import bearer

# What a machine that is busy with other tests may add to what is promised.
BUSY = 1


def stand_still(cluster):
    """All of PostgreSQL's processes; the kernel still accepts connections for them."""
    processes = cluster.processes()
    cluster.signal(signal.SIGSTOP)

    def go_on():
        for process in processes:
            os.kill(process, signal.SIGCONT)

    return go_on


def test_nobody_waits_for_as_long_as_postgresql_hangs(own_cluster, build):
    node = build(1, own=own_cluster).nodes[0]
    key = bearer(node.json("api-keys", "create", "test", "--scopes", "users:read")["key"])
    session = node.sign_in("ada")
    # At most so many seconds, and what may be answered.
    kinds = {
        "check": (lambda: node.verify(session), 2, {204, 503}),
        "page": (lambda: node.call("GET", "/account", {"Cookie": session}).status, 12, {200, 503}),
        "API": (lambda: node.call("GET", "/api/v1/users?limit=1", key).status, 12, {200, 503}),
        "readyz": (lambda: node.admin("/readyz").status, 2, {200, 503}),
        "metrics": (lambda: node.admin("/metrics").status, 5, {200}),
        "healthz": (lambda: node.admin("/healthz").status, 1, {200}),
    }
    seen, errors, is_over = [], [], threading.Event()

    def ask(name: str) -> None:
        while not is_over.is_set():
            begun = time.monotonic()
            status = kinds[name][0]()
            seen.append((name, time.monotonic() - begun, status))
            time.sleep(0.1)

    for call, _, answers in kinds.values():
        assert call() in answers
    go_on = stand_still(own_cluster)
    try:
        threads = [guarded(errors, is_over, ask, name) for name in kinds for _ in range(4)]
        time.sleep(2)
        begun = time.monotonic()
        # Many who ask at once do not wait for each other.
        with ThreadPoolExecutor(20) as pool:
            answered = list(pool.map(lambda _: node.verify(session), range(20)))
        crowd = time.monotonic() - begun
        answered.append(node.come_back(*node.begin("boris")).status)
        callback = time.monotonic() - begun - crowd
        node.bramley("doctor", code=1)
        doctor = time.monotonic() - begun - crowd - callback
        time.sleep(max(0, 20 - (time.monotonic() - begun)))
        is_over.set()
        for thread in threads:
            thread.join(PATIENCE)
    finally:
        go_on()
    assert not errors
    for name, (_, longest, answers) in kinds.items():
        took = [seconds for kind, seconds, _ in seen if kind == name]
        statuses = Counter(status for kind, _, status in seen if kind == name)
        assert max(took) < longest + BUSY and set(statuses) <= answers, (name, max(took), statuses)
    assert answered == [503] * 21
    # Once the silence has lasted, nobody waits in vain for long.
    assert crowd < 10 and callback < 30 and doctor < 10, (crowd, callback, doctor)
    eventually(lambda: node.verify(session) == 204, "the session")
    eventually(lambda: node.admin("/readyz").status == 200, "a ready server")
    assert node.sign_in("boris")


class Lock:
    """Another client holds the lock that every write needs."""

    def __init__(self, house):
        self.cluster = house.cluster
        self.program = subprocess.Popen(
            self.cluster.psql(
                "postgres", f"dbname={house.database} application_name=holder options='-c search_path=bramley,public'",
                "BEGIN; SELECT id FROM store_lock FOR UPDATE", "SELECT pg_sleep(60)"), stdout=subprocess.PIPE, cwd="/")
        assert self.program.stdout.readline() == b"1\n"

    def end(self):
        self.cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'")
        self.program.wait(PATIENCE)


class NoStandby:
    """A COMMIT waits for a standby that is not there."""

    def __init__(self, house):
        self.cluster = house.cluster
        self.cluster.configure(synchronous_standby_names="nobody")

    def end(self):
        self.cluster.configure(synchronous_standby_names="")


@pytest.mark.parametrize("trouble", [Lock, NoStandby])
def test_a_code_is_not_spent_while_nothing_can_be_written(own_cluster, build, trouble):
    house = build(2, own=own_cluster)
    a, b = house.nodes
    # Their names are known: nothing is written before Apple is asked.
    for person in ("ada", "boris"):
        a.sign_in(person)
    time.sleep(1.5)
    held = trouble(house)
    try:
        time.sleep(1.5)
        posts = [a.begin(person) for person in ("ada", "boris")]
        assert [a.come_back(*post).status for post in posts] == [503, 503]
    finally:
        held.end()
    eventually(lambda: a.admin("/readyz").status == b.admin("/readyz").status == 200, "ready servers")
    # The same posts, as a reload or a load balancer repeats them.
    for node, post in zip((a, b), posts):
        done = node.come_back(*post)
        assert done.status == 303 and done.session, (done.status, done.body)
