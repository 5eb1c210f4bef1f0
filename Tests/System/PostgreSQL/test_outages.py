"""PostgreSQL away, wrong, hanging or without writes: what is answered, and that nobody is needed afterwards."""

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from patience import PATIENCE, eventually, guarded
from postgres import as_postgres
from programs import Program, free_port
from web import bearer


def test_without_postgresql_no_session_is_accepted(own_cluster, build):
    a, b = build(2, {"assertion.audience": "https://api.example.com"}, own=own_cluster).nodes
    session = a.sign_in("ada")
    assert a.verify(session) == b.verify(session) == 204
    keys = {node: node.call("GET", "/.well-known/jwks.json").body for node in (a, b)}
    assert json.loads(keys[a])["keys"]
    own_cluster.stop()
    for node in (a, b):
        # For a second from its memory; then it fails closed.
        eventually(lambda: node.verify(session) == 503, "503")
        assert node.verify(session) == 503
        assert node.call("GET", "/login/apple").status == 303
        assert node.call("GET", "/.well-known/jwks.json").must(200).body == keys[node]
    own_cluster.start()
    for node in (a, b):
        eventually(lambda: node.verify(session) == 204, "the session after the outage")
    assert b.sign_in("boris")
    assert "database reachable again" in a.log.read_text()


def test_a_session_that_ended_while_a_server_slept_is_refused_when_it_wakes(build):
    a, b = build(2).nodes
    session = a.sign_in("ada")
    assert b.verify(session) == 204
    b.pause()
    a.sign_out(session)
    # Longer than b may trust what it knows.
    eventually(lambda: a.verify(session) == 401, "the end of the session")
    ended = time.monotonic()
    eventually(lambda: time.monotonic() > ended + 1, "the end of b's trust")
    b.go_on()
    assert b.verify(session) == 401


def test_a_stopped_server_does_not_delay_the_others(build):
    a, b = build(2).nodes
    a.sign_in("ada")
    # Somebody takes the lock and goes silent: PostgreSQL ends that transaction after a second.
    a.pause()
    assert b.sign_in("boris")
    a.go_on()
    assert a.sign_in("chie")


def test_a_restart_of_postgresql_needs_no_operator(own_cluster, build):
    a = build(1, own=own_cluster).nodes[0]
    for _ in range(3):
        own_cluster.stop("fast")
        own_cluster.start()
        assert a.sign_in("ada")


def test_a_refused_connection_string_shows_no_password(build):
    url = "host=/nowhere user=bramley password=word dbname=bramley"
    answer = build(1, {"storage.postgres.url": url}, starts=False).nodes[0].bramley("serve", code=1)
    assert "cannot be used" in answer and "word" not in answer.replace("password", ""), answer


@pytest.fixture
def pooler(cluster, tmp_path):
    """The port of a pgbouncer in front of the cluster."""
    port, settings = free_port(), cluster.folder / "pgbouncer.ini"
    settings.write_text(f"""
        [databases]
        * = host={cluster.folder} user=postgres
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {port}
        unix_socket_dir =
        auth_type = any
        pool_mode = transaction
        """.replace("\n        ", "\n"))
    command = as_postgres("env", "--chdir=/", "/usr/sbin/pgbouncer", str(settings))
    program = Program(command, tmp_path / "pgbouncer.log")
    program.wait_for(port)
    yield port
    program.stop()


def test_a_pooler_is_refused_in_plain_words(build, pooler):
    house = build(1, starts=False)
    house.reach(house.nodes[0], f"host=127.0.0.1 port={pooler}")
    said = house.nodes[0].bramley("serve", code=1)
    assert "a pooler such as pgbouncer answers instead" in said, said


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
        assert node.come_back(*post).must(303).session
