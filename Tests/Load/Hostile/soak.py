"""Minutes of sign-ins, session checks and everything of rude.py against Bramley and, over TLS and HTTP/2, http-echo. No
server crashes, and memory and descriptors do not grow after the warm-up.

    python3 Tests/Load/Hostile/soak.py BIN_DIRECTORY [SECONDS] [SEED]
"""

import collections
import contextlib
import http.client
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("Support", "Load/Chaos")]
from people import APP_ID, Person  # noqa: E402
from processes import cpu_seconds, descriptors  # noqa: E402
from programs import Program, Site  # noqa: E402
import echoes  # noqa: E402
import rude  # noqa: E402
from watch import GONE, Probe, held, pages, resident  # noqa: E402

# Seconds: short, so that many slow clients have their turn.
LIMITS = {"headerTimeout": 3, "bodyTimeout": 5, "writeTimeout": 5, "idleTimeout": 10, "connections": 2000}
PEOPLE, CHECKERS, RUDE = 20, 3, 12
# KiB that a server may have more at the end than after the warm-up: what the allocator keeps of one crowd and not of
# another.
TOLERANCE = 6 * 1024


class Server:
    def __init__(self, name: str, program: Program, target: rude.Target, visits: list):
        self.name, self.program, self.target, self.visits = name, program, target, visits
        self.pid = program.process.pid
        # After the warm-up: what is opened once, at the first need, is open by then.
        self.warm = self.warm_descriptors = self.warm_pages = self.memory = 0

    def settle(self) -> bool:
        """Without traffic every connection ends by itself; those to Apple that are kept, after twenty seconds."""
        deadline = time.monotonic() + 60
        while held(self.target.port) and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(25)
        self.memory = resident(self.pid)
        return held(self.target.port) == 0


class Soak:
    def __init__(self, binaries: Path, folder: Path, seed: int):
        self.seed = seed
        self.stop, self.settling = threading.Event(), True
        self.counts: collections.Counter[str] = collections.Counter()
        self.errors: list[str] = []
        self.site = Site(binaries, folder, {
            "log.level": "warning", "server.trustedProxies": ["127.0.0.1"], "apple.bundleIDs": [APP_ID],
            **{f"server.limits.{key}": value for key, value in LIMITS.items()}})
        self.apple = self.site.apple
        self.site.start()
        self.people = [Person(self, number) for number in range(PEOPLE)]
        self.servers = [Server("bramley", self.site.server, rude.Target(self.site.port), rude.PLAIN)]
        self.echo = None
        if (binaries / "http-echo").exists():
            self.echo = Server("http-echo (TLS)", *echoes.start(
                binaries, folder, "--header-timeout", "3000", "--body-timeout", "5000", "--write-timeout", "5000",
                "--idle-timeout", "10000"), rude.SECURE)
            self.servers.append(self.echo)

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def live(self, person: Person, over: threading.Event) -> None:
        while not over.wait(person.roll.uniform(0.2, 1)):
            if person.held and person.roll.random() < 0.6:
                held = person.held.pop(0)
                if person.is_let_in(held) is False:
                    self.errors.append(f"{person.id}: a session that nobody ended is refused")
                person.held.append(held)
                del person.held[:-3]
                self.count("sessions found alive")
            else:
                person.signs_in()

    def check(self, over: threading.Event) -> None:
        """A proxy's questions over one connection, two hundred a second."""
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=10)
        while not over.wait(0.005):
            try:
                connection.request("GET", "/auth/verify", headers={"Host": f"localhost:{self.site.port}"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != 401:
                    self.errors.append(f"/auth/verify: {answer.status}")
                self.count("questions of a proxy")
            except GONE:
                # In a crowd a connection without a request makes room: a proxy opens another.
                self.count("questions asked again")
                connection.close()

    def be_rude(self, server: Server, number: int, over: threading.Event) -> None:
        roll = random.Random(f"{self.seed}/{server.name}/{number}")
        while not over.is_set():
            visit = roll.choice(server.visits)
            try:
                with contextlib.suppress(OSError):
                    visit(server.target, roll, over)
            except AssertionError as error:
                self.errors.append(f"{visit.__name__}: {error}")
            self.count(f"{server.name}: {visit.__name__}")

    def rage(self, seconds: float) -> Probe:
        over = threading.Event()
        threads = [threading.Thread(target=self.live, args=(person, over)) for person in self.people]
        threads += [threading.Thread(target=self.check, args=(over,)) for _ in range(CHECKERS)]
        threads += [threading.Thread(target=self.be_rude, args=(server, number, over))
                    for server in self.servers for number in range(RUDE)]
        probe = Probe(self.site)
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(1, max(0, end - time.monotonic())))
            for server in self.servers:
                if server.program.process.poll() is not None:
                    self.errors.append(f"{server.name} ended: {server.program.text()[-2000:]}")
                    end = 0
        over.set()
        for thread in threads:
            thread.join()
        probe.end()
        return probe

    def run(self, seconds: float) -> None:
        begun = time.monotonic()
        self.rage(max(20, seconds * 0.25))
        for server in self.servers:
            if not server.settle():
                self.errors.append(f"{server.name}: connections are left after the warm-up")
            server.warm, server.warm_descriptors = server.memory, descriptors(server.pid)
            server.warm_pages = pages(server.pid)
        busy = {server.name: cpu_seconds(server.pid) for server in self.servers}
        probe = self.rage(max(20, seconds - (time.monotonic() - begun)))
        print("| Server | Descriptors after the warm-up, at the end | Memory after the warm-up, at the end | CPU | |")
        print("|---|---|---|---|---|")
        for server in self.servers:
            settled = server.settle()
            # People who sign in make the database larger, and what is kept of its pages, up to a bound.
            most = server.warm + TOLERANCE + pages(server.pid) - server.warm_pages
            mistakes = [text for is_so, text in (
                (not settled, "connections are left"),
                (descriptors(server.pid) > server.warm_descriptors, "descriptors are left"),
                (server.memory > most, "memory has grown"),
                (server.program.process.poll() is not None, "it ended")) if is_so]
            self.errors += [f"{server.name}: {mistake}" for mistake in mistakes]
            print(f"| {server.name} | {server.warm_descriptors}, {descriptors(server.pid)} | {server.warm / 1024:.1f} MiB,"
                  f" {server.memory / 1024:.1f} MiB | {cpu_seconds(server.pid) - busy[server.name]:.0f} s |"
                  f" {'; '.join(mistakes) or 'passed'} |")
        late = sum(second > 1 for second in probe.seconds)
        print(f"\nhonest requests: {len(probe.seconds)}, failed {len(probe.failures)}, longest {probe.longest * 1000:.0f} ms,"
              f" {late} above a second")
        if len(probe.failures) > len(probe.seconds) / 1000:
            self.errors.append(f"honest requests failed: {collections.Counter(probe.failures).most_common(3)}")
        for name in sorted(self.counts):
            print(f"{name:40} {self.counts[name]:>9,}")

    def end(self) -> None:
        self.stop.set()
        if (code := self.site.stop()) != 0:
            self.errors.append(f"bramley: exit {code}")
        if self.echo and (code := self.echo.program.stop()) != 0:
            self.errors.append(f"http-echo: exit {code}")
        self.site.end()
        for program in (server.program for server in self.servers):
            for word in ("Fatal error", "Crash", "Assertion"):
                if word in program.text():
                    self.errors.append(f"{word} in a log: {program.text()[-2000:]}")


def main(binaries: str, seconds: str = "600", seed: str = "") -> int:
    with tempfile.TemporaryDirectory() as name:
        seed_number = int(seed or random.randrange(1_000_000))
        print(f"seed {seed_number}, {seconds} s", flush=True)
        soak = Soak(Path(binaries).resolve(), Path(name), seed_number)
        try:
            soak.run(float(seconds))
        finally:
            soak.end()
        print("\n".join(dict.fromkeys(soak.errors)) or "No difference, no crash.")
        return 1 if soak.errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
