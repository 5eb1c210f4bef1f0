"""What happens to several servers and to PostgreSQL: each disaster ends with everything in its place again."""

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import visits
from patience import eventually
from postgres import as_postgres

if TYPE_CHECKING:
    from cluster import Run
    from nodes import Node

# Seconds by which a server's clock differs from this machine's.
SKEWS = [0, 0, 0.8, -0.7]


def kill_a_server(run: "Run") -> None:
    """It starts again with another clock."""
    node = run.roll.choice(run.nodes)
    with standing_still(run, node):
        node.kill()
        time.sleep(run.roll.choice([0, 0.3, 1]))
        node.skew = run.roll.choice(SKEWS)
        eventually(lambda: starts(node), "a server that starts", run.logs)


def starts(node: "Node") -> bool:
    try:
        node.start()
        return True
    except RuntimeError:
        return False


def stop_a_server_for_a_while(run: "Run") -> None:
    node = run.roll.choice(run.nodes)
    with standing_still(run, node):
        node.pause()
        time.sleep(run.roll.uniform(0.2, 2.5))
        node.go_on()


@contextlib.contextmanager
def standing_still(run: "Run", node: "Node"):
    run.book.stands_still(node.folder.name)
    try:
        yield
    finally:
        run.book.goes_on(node.folder.name)


def cut_connections(run: "Run") -> None:
    for wire in run.wires[run.roll.choice(run.nodes).folder.name]:
        wire.cut()


def cut_at_random(run: "Run") -> None:
    """Before, during and after whatever is sent, commits among it."""
    roll, guard = random.Random(run.roll.random()), threading.Lock()

    def decide(content: bytes, writes: bool) -> str:
        with guard:
            return roll.choices(["pass", "cut before", "cut after"], [40, 1, 1])[0]

    wires = list(itertools.chain(*run.wires.values()))
    for wire in wires:
        wire.decide = decide
    time.sleep(run.roll.uniform(0.5, 2))
    for wire in wires:
        wire.decide = lambda content, writes: "pass"


def stop_the_network_of_a_server(run: "Run") -> None:
    wires = run.wires[run.roll.choice(run.nodes).folder.name]
    for wire in wires:
        wire.flows.clear()
    time.sleep(run.roll.uniform(0.5, 2.5))
    for wire in wires:
        wire.flows.set()


def terminate_connections(run: "Run") -> None:
    """As an administrator does, at any moment of what they do."""
    for _ in range(run.roll.randrange(1, 6)):
        run.primary.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            f"WHERE application_name = 'bramley' AND random() < {run.roll.choice([0.2, 0.5, 1])}")
        time.sleep(run.roll.uniform(0, 0.5))


def hang_the_primary(run: "Run") -> None:
    run.primary.signal(signal.SIGSTOP)
    time.sleep(run.roll.choice([0.3, 4, 9]))
    run.primary.signal(signal.SIGCONT)


def kill_the_standby(run: "Run") -> None:
    run.standby.kill()
    time.sleep(run.roll.uniform(0, 1.5))
    run.standby.start()


def kill_the_primary(run: "Run") -> None:
    run.primary.kill()
    time.sleep(run.roll.choice([0, 0.5]))
    run.standby.promote()
    trade_places(run)


def trade_places(run: "Run") -> None:
    """The one that took over waits for a standby, which is made from it: what is answered is on both again."""
    old, new = run.primary, run.standby
    run.primary, run.standby = new, old
    new.configure(synchronous_standby_names="*")
    shutil.rmtree(old.data)
    old.run("pg_basebackup", "-h", str(new.folder), "-p", str(new.port), "-U", "postgres", "-D", str(old.data), "-R",
            "-c", "fast", "--no-sync")
    old.start()


def leave_the_old_primary_alive(run: "Run") -> None:
    """Split brain: some servers reach the old one alone, others the new one, and some connections of each another."""
    old, new = run.primary, run.standby
    new.promote()
    run.book.divides()
    new.configure(synchronous_standby_names="")
    ways = ways_to(run, old)
    moved = run.roll.sample(ways, run.roll.randrange(1, len(ways) + 1))
    for way in moved:
        way.refuse()
    time.sleep(run.roll.uniform(0.3, 2))
    # What connects from now on may reach the old one again.
    for way in moved:
        way.listen()
    for _ in range(run.roll.randrange(3)):
        time.sleep(run.roll.uniform(0.3, 1))
        for way in run.roll.sample(ways, 1):
            way.cut()
    time.sleep(run.roll.uniform(0, 2))
    old.kill()
    trade_places(run)


def ways_to(run: "Run", server) -> list:
    """Of each Bramley."""
    return [wires[[5432, 5433].index(server.port)] for wires in run.wires.values()]


def lose_what_was_confirmed_alone(run: "Run") -> None:
    """The standby lacks the last writes. One server learns of it only when the lost events' numbers are given again."""
    old, new = run.primary, run.standby
    *others, late = run.roll.sample(run.nodes, len(run.nodes))
    run.settle()
    witness = late.sign_in(visits.PEOPLE[0])
    run.book.begins(witness, time.monotonic())
    run.book.may_lose()
    old.configure(synchronous_standby_names="")
    # Whoever waits for it is confirmed now.
    receiver = int(new.sql("SELECT pid FROM pg_stat_wal_receiver"))
    os.kill(receiver, signal.SIGSTOP)
    time.sleep(run.roll.uniform(0.2, 1))
    late.verify(witness)
    for wire in run.wires[late.folder.name]:
        wire.flows.clear()
    last = newest(run, old)
    old.kill()
    # As a machine that is gone: libpq takes no second host after one that listens and hangs up.
    for way in ways_to(run, old):
        way.refuse()
    # It ends before it reads what still came.
    os.kill(receiver, signal.SIGTERM)
    os.kill(receiver, signal.SIGCONT)
    new.promote()
    run.book.loses()
    new.configure(synchronous_standby_names="")
    run.book.may_end(witness)
    asked = time.monotonic()
    eventually(lambda: visits.ask(lambda: (run.roll.choice(others).sign_out(witness), True)), "the end of a session", run.logs)
    run.book.ends(witness, asked)
    eventually(lambda: newest(run, new) > last, "the lost numbers", run.logs)
    for wire in run.wires[late.folder.name]:
        wire.flows.set()
    over = time.monotonic() + 2.5
    while time.monotonic() < over:
        visits.checks(run, witness, late)
    trade_places(run)
    for way in ways_to(run, run.standby):
        way.listen()


def newest(run: "Run", server) -> int:
    return int(server.sql("SELECT max(sequence) FROM event", run.house.database))


# Called for every row that is written.
FULL_DISK = "CREATE OR REPLACE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {}; END $$"


def prepare(run: "Run") -> None:
    run.sql(FULL_DISK.format("RETURN coalesce(NEW, OLD)"))
    tables = run.sql("SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN "
                     "('bramley', 'public') AND tablename NOT LIKE 'store\\_%'").splitlines()
    for table in tables:
        run.sql(f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION public.full_disk()")


def refuse_writes(run: "Run") -> None:
    """Reads work, and so do polls. A callback that gets 503 meanwhile is posted again afterwards."""
    run.sql(FULL_DISK.format("RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'"))
    try:
        # The first learn of it by failing.
        time.sleep(2.5)
        kept = [post for node in run.nodes if (post := run.posts_in_vain(node))]
    finally:
        run.sql(FULL_DISK.format("RETURN coalesce(NEW, OLD)"))
    for post in kept:
        run.posts_again(*post)


def fill_the_disk(run: "Run") -> None:
    """No file of the primary's grows: tables at first, then its log, which ends it."""
    limit(run, 16 << 20)
    time.sleep(run.roll.uniform(0.5, 2))
    limit(run, 1 << 20)
    time.sleep(run.roll.uniform(0.5, 3))
    try:
        limit(run, "unlimited")
        eventually(lambda: run.primary.answers(), "a primary with a disk")
    except OSError:
        # It has ended, and with it its file of processes.
        with contextlib.suppress(OSError):
            run.primary.kill()
        run.primary.start()


def limit(run: "Run", size: int | str) -> None:
    for process in run.primary.processes():
        # Its owner may, who is not always the one who tests. One that served a connection may have ended.
        subprocess.run(as_postgres("prlimit", "--pid", str(process), f"--fsize={size}:"), stderr=subprocess.DEVNULL)


def search_among_many(run: "Run") -> None:
    """Operators look for people and do not wait for the answer. Nothing is broken: nobody else gets a 503."""
    run.settle()
    run.book.becomes_calm()
    over = time.monotonic() + run.roll.uniform(2, 4)

    def look(number: int) -> None:
        roll = random.Random(f"{run.seed}/operator/{number}/{run.book.calms}")
        while time.monotonic() < over:
            visits.looks(run, roll)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(look, range(4)))
    run.book.stops_being_calm()


DISASTERS = {
    kill_a_server: 5, stop_a_server_for_a_while: 4, cut_connections: 3, cut_at_random: 4,
    stop_the_network_of_a_server: 3, terminate_connections: 3, hang_the_primary: 2, kill_the_standby: 1,
    kill_the_primary: 3, leave_the_old_primary_alive: 3, lose_what_was_confirmed_alone: 3, refuse_writes: 2,
    fill_the_disk: 2, search_among_many: 2}
