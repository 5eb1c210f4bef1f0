"""PostgreSQL accepts connections and says nothing, or takes no writes: everybody is answered, and no code is spent."""

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter

import pytest

from patience import PATIENCE, eventually
from postgres import as_postgres

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
    key = json.loads(node.bramley("api-keys", "create", "test", "--scopes", "users:read", "--json").splitlines()[0])["key"]
    session = node.sign_in("ada")
    # At most so many seconds, and what may be answered.
    kinds = {
        "check": (lambda: node.verify(session), 2, {204, 503}),
        "page": (lambda: node.call("GET", "/account", {"Cookie": session}).status, 12, {200, 503}),
        "API": (lambda: node.call("GET", "/api/v1/users?limit=1", {"Authorization": f"Bearer {key}"}).status, 12, {200, 503}),
        "readyz": (lambda: node.admin("/readyz").status, 2, {200, 503}),
        "metrics": (lambda: node.admin("/metrics").status, 5, {200}),
        "healthz": (lambda: node.admin("/healthz").status, 1, {200}),
    }
    seen = []
    is_over = threading.Event()

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
        threads = [threading.Thread(target=ask, args=(name,)) for name in kinds for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        begun = time.monotonic()
        node.bramley("doctor", code=1)
        doctor = time.monotonic() - begun
        time.sleep(max(0, 20 - doctor))
        is_over.set()
        for thread in threads:
            thread.join(PATIENCE)
    finally:
        go_on()
    for name, (_, longest, answers) in kinds.items():
        took = [seconds for kind, seconds, _ in seen if kind == name]
        statuses = Counter(status for kind, _, status in seen if kind == name)
        assert max(took) < longest + BUSY and set(statuses) <= answers, (name, max(took), statuses)
    # Once the silence has lasted, nobody waits in vain for long.
    assert doctor < 10, doctor
    eventually(lambda: node.verify(session) == 204, "the session")
    eventually(lambda: node.admin("/readyz").status == 200, "a ready server")
    assert node.sign_in("boris")


class Lock:
    """Somebody holds the row that every write takes."""

    def __init__(self, house):
        self.cluster = house.cluster
        self.program = subprocess.Popen(
            as_postgres(str(self.cluster.programs / "psql"), "-h", str(self.cluster.folder), "-U", "postgres", "-qAt",
                        "-d", f"dbname={house.database} application_name=holder options='-c search_path=bramley,public'",
                        "-c", "BEGIN; SELECT id FROM store_lock FOR UPDATE", "-c", "SELECT pg_sleep(60)"),
            stdout=subprocess.PIPE, cwd="/")
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
