"""Sign-ins over PostgreSQL: with one and three servers, beside the database and a millisecond away from it.

Everything shares the cores here: servers, PostgreSQL, the stand-in for Apple and the load. So the figures say how
configurations compare, and how much CPU each side takes, rather than what a machine can do.
"""

import concurrent.futures
import contextlib
import os
import secrets
import subprocess
import time

import measuring
import peers
import signins
import wire

COUNT = int(os.environ.get("BENCH_SIGN_INS", "2000"))
CORES = ",".join(map(str, range(os.cpu_count())))


class Postgres:
    """A server in a temporary folder, that syncs as its settings say."""

    def __init__(self, **settings):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scripts/postgres.sh")
        given = [f"{name}={value}" for name, value in settings.items()]
        self.program = subprocess.Popen([script, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.folder = self.program.stdout.readline().strip()
        if not self.folder:
            raise SystemExit("PostgreSQL does not start")
        with open(os.path.join(self.folder, "data/postmaster.pid")) as file:
            self.pid = int(file.readline())

    def make_schema(self):
        name = "bench" + secrets.token_hex(4)
        program = sorted(os.listdir("/usr/lib/postgresql"), key=int)[-1]
        subprocess.run(
            [f"/usr/lib/postgresql/{program}/bin/psql", "-h", self.folder, "-U", "postgres", "-qc",
             f"CREATE DATABASE {name}"], check=True)
        return name

    def cpu_seconds(self):
        """Of all its processes, those that have ended too."""
        children = subprocess.run(["pgrep", "-P", str(self.pid)], capture_output=True, text=True).stdout.split()
        return sum(peers.cpu_seconds(int(pid)) for pid in children)

    def stop(self):
        self.program.stdin.close()
        self.program.wait(60)


class Delay:
    """The way to PostgreSQL, 0.45 ms longer in each direction."""

    def __init__(self, postgres):
        self.port = peers.free_port()
        self.process = subprocess.Popen(
            [os.path.join(os.environ["BENCH_PROGRAMS"], "delay"), str(self.port), f"{postgres.folder}/.s.PGSQL.5432", "450"])
        peers.wait_for_port(self.port, self.process)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def sign_ins(binary, folder, postgres, nodes, is_far):
    """Sign-ins a second of people who are known, the CPU of servers and PostgreSQL for each in µs, and the 99th percentile
    of their times at half that rate, in ms."""
    with contextlib.ExitStack() as stack:
        apple = signins.StandIn.start(CORES)
        stack.callback(apple.stop)
        place = f"host={postgres.folder} port=5432"
        if is_far:
            delay = Delay(postgres)
            stack.callback(delay.stop)
            place = f"host=127.0.0.1 port={delay.port}"
        url = f"{place} user=postgres dbname={postgres.make_schema()}"
        servers = []
        key = sealing_key(folder)
        for number in range(nodes):
            own = os.path.join(folder, secrets.token_hex(4))
            server = peers.Bramley(binary, own, CORES, apple=apple.url, postgres=url, sealing_key=key)
            stack.callback(server.stop)
            servers.append(server)

        def prepared(server, count, first, returning):
            items = signins.prepare(server.port, apple.signer, count, first, returning)
            apple.learn({item.code: item.answer for item in items})
            return items

        share = COUNT // nodes
        for number, server in enumerate(servers):
            signins.post_all(server.port, prepared(server, share, 10_000 * (number + 1), False))
        batches = [prepared(server, share, 10_000 * (number + 1), True) for number, server in enumerate(servers)]
        before = [peers.cpu_seconds(server.pid) for server in servers], postgres.cpu_seconds()
        began = time.monotonic()
        with concurrent.futures.ProcessPoolExecutor(nodes) as pool:
            list(pool.map(signins.post_all, [server.port for server in servers], batches))
        elapsed = time.monotonic() - began
        ours = sum(peers.cpu_seconds(server.pid) - start for server, start in zip(servers, before[0]))
        theirs = postgres.cpu_seconds() - before[1]
        total = share * nodes
        batches = [[item.request for item in prepared(server, share, 10_000 * (number + 1), True)]
                   for number, server in enumerate(servers)]
        rate = share / elapsed / 2
        with concurrent.futures.ProcessPoolExecutor(nodes) as pool:
            times = sorted(one for part in pool.map(
                wire.post_at, [server.port for server in servers], batches, [rate] * nodes, [64] * nodes) for one in part)
        return total / elapsed, ours / total * 1e6, theirs / total * 1e6, times[len(times) * 99 // 100] * 1e3


def sealing_key(folder):
    key = os.path.join(folder, "sealing.key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return key


def checks(binary, folder, postgres):
    """`/auth/verify` from the cache, on either engine."""
    headers = {"User-Agent": "Mozilla/5.0", "Accept": "*/*", "X-Forwarded-Proto": "https"}
    url = f"host={postgres.folder} port=5432 user=postgres dbname={postgres.make_schema()}"
    with contextlib.ExitStack() as stack:
        measures = {}
        for name, options in (("ours", {"postgres": url, "sealing_key": sealing_key(folder)}), ("sqlite", {})):
            apple = signins.StandIn.start(measuring.LOAD_CORE)
            stack.callback(apple.stop)
            server = peers.Bramley(
                binary, os.path.join(folder, "checks-" + name), measuring.SERVER_CORE, apple=apple.url, **options)
            stack.callback(server.stop)
            cookie = signins.sign_in_once(server, apple)

            def load(server=server, cookie=cookie):
                return measuring.wrk(server.url + "/auth/verify", {**headers, "Cookie": cookie})
            measures[name] = lambda server=server, load=load: measuring.rate_and_cost(server.pid, load)
        results = measuring.in_turn(measures)
    costs = {name: [cost for _, cost in results[name]] for name in results}
    return ("`/auth/verify` from the cache on PostgreSQL: CPU per request, ÷ on SQLite",
            measuring.spread(measuring.ratios(costs["ours"], costs["sqlite"])), "≤ 1.03",
            f"{sorted(costs['ours'])[len(costs['ours']) // 2]:.2f} µs")


def rows(binary, folder):
    os.makedirs(folder, exist_ok=True)
    postgres = Postgres()
    try:
        table = [checks(binary, folder, postgres)]
    finally:
        postgres.stop()
    for commit in ("on", "off"):
        postgres = Postgres(fsync="on", synchronous_commit=commit)
        try:
            for nodes in (1, 3):
                for is_far in (False, True):
                    results = [
                        sign_ins(binary, folder, postgres, nodes, is_far) for _ in range(max(3, measuring.ROUNDS // 3))]
                    middle = sorted(results)[len(results) // 2]
                    where = "1 ms away" if is_far else "beside it"
                    table.append((
                        f"sign-ins a second, PostgreSQL, {nodes} server{'s' if nodes > 1 else ''} {where}, "
                        f"synchronous_commit {commit}", measuring.spread([result[0] for result in results], 0),
                        "≥ 2000" if nodes == 3 and is_far and commit == "on" else "",
                        f"CPU a sign-in: servers {middle[1]:.0f} µs, PostgreSQL {middle[2]:.0f} µs; "
                        f"p99 at half load {sorted(result[3] for result in results)[len(results) // 2]:.0f} ms"))
        finally:
            postgres.stop()
    return table
