"""Bramley beside its peers: one run, one table.

Both sides of every ratio run in the same minute, the server pinned to one core and the load to another, in adjacent
pairs; the table shows the median of the pairs' ratios with its range. CPU time per request (user and system, as the
scheduler counts it) is the steadier figure: the machine's speed drifts by a third, and both sides drift together.

    bench.py BINARY           BENCH_ONLY=verify,idle names the parts; without it, all of them.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
import traceback

import applications
import handshakes
import idle
import latency
import measuring
import openid
import peers
import postgres
import sessions
import signins
import start
import verify
from measuring import LOAD_CORE, ROUNDS, SECONDS, SERVER_CORE


class Bench:
    """What the parts share: the program, a folder with one signed-in person, certificates."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.person = os.path.join(folder, "person")
        self.certificates = {
            "P-256": peers.Certificate(folder, "p256"), "RSA-2048": peers.Certificate(folder, "rsa2048")}
        apple = signins.StandIn.start(LOAD_CORE)
        try:
            bramley = peers.Bramley(binary, self.person, SERVER_CORE, apple=apple.url)
            try:
                self.cookie = signins.sign_in_once(bramley, apple)
            finally:
                bramley.stop()
        finally:
            apple.stop()

    @property
    def certificate(self):
        return self.certificates["P-256"]

    def with_server(self, measure, *arguments, **options):
        """`measure` of a server on the person's database."""
        bramley = peers.Bramley(self.binary, self.person, SERVER_CORE, **options)
        try:
            return measure(bramley, self.cookie, *arguments)
        finally:
            bramley.stop()

    # The parts, in the order of the table.

    def verify(self):
        return self.with_server(verify.plain_rows)

    def instructions(self):
        if not shutil.which("valgrind"):
            return [("`/auth/verify`: instructions per request", "valgrind is not installed", "", "")]
        return verify.instruction_rows(self.binary, self.person, self.cookie)

    def tls(self):
        return self.with_server(verify.tls_rows, self.certificate, certificate=self.certificate)

    def http2(self):
        return self.with_server(verify.http2_rows, self.certificate, certificate=self.certificate)

    def loops(self):
        return verify.loops_rows(self.binary, self.person, self.cookie)

    def latency(self):
        return self.with_server(latency.rows)

    def handshakes(self):
        return handshakes.rows(self.binary, os.path.join(self.folder, "handshakes"), self.certificates)

    def idle(self):
        return idle.rows(self.binary, os.path.join(self.folder, "idle"))

    def idle_tls(self):
        return idle.rows(self.binary, os.path.join(self.folder, "idle"), self.certificate)

    def start(self):
        return start.rows(self.binary, self.person)

    def signins(self):
        def stand_in(results):
            cost = statistics.median(result.stand_in_cpu for result in results)
            return f"; stand-in for Apple {cost:.0f} µs CPU a sign-in, on the other core"
        folder = os.path.join(self.folder, "signins")
        return against_rsa(
            "sign-ins", "≥ 0.10", lambda: signins.run(self.binary, folder, SERVER_CORE, LOAD_CORE), stand_in)

    def notifications(self):
        import notifications
        folder = os.path.join(self.folder, "notifications")
        return against_rsa(
            "notifications", "≥ 0.15", lambda: notifications.run(self.binary, folder, SERVER_CORE, LOAD_CORE),
            lambda results: "")

    def openid(self):
        return openid.rows(
            self.binary, os.path.join(self.folder, "openid"), SERVER_CORE, LOAD_CORE, max(3, ROUNDS // 3), measuring.spread)

    def postgres(self):
        return postgres.rows(self.binary, os.path.join(self.folder, "postgres"))

    def sessions(self):
        return sessions.rows(self.binary, os.path.join(self.folder, "sessions"))

    def applications(self):
        return applications.rows(
            self.binary, os.path.join(self.folder, "applications"), SERVER_CORE, LOAD_CORE, max(3, ROUNDS // 3),
            min(SECONDS, 1), measuring.spread, count=int(os.environ.get("BENCH_STORED", "1000000")))


PARTS = [
    "verify", "instructions", "tls", "http2", "loops", "latency", "handshakes", "idle", "idle_tls", "start", "signins",
    "notifications", "openid", "sessions", "applications", "postgres",
]


def against_rsa(label, goal, run, behind):
    """One row: what a core-second of the server does, by the RSA-2048 verifications of one.

    - run: returns a result with `per_core_second`.
    - behind: the rest of the row, made of all results.
    """
    ratios, results, verifications = [], [], []
    for _ in range(max(3, ROUNDS // 3)):
        before = peers.openssl_verifications(SERVER_CORE)
        results.append(run())
        reference = statistics.mean([before, peers.openssl_verifications(SERVER_CORE)])
        verifications.append(reference)
        ratios.append(results[-1].per_core_second / reference)
    ours = statistics.median(result.per_core_second for result in results)
    return [(f"{label} per core-second ÷ `openssl speed rsa2048` verifications", measuring.spread(ratios, 3), goal,
             f"{ours:,.0f} against {statistics.median(verifications):,.0f}{behind(results)}")]


def main():
    binary = os.path.abspath(sys.argv[1])
    parts = [name for name in os.environ.get("BENCH_ONLY", "").split(",") if name] or PARTS
    unknown = set(parts) - set(PARTS)
    if unknown:
        raise SystemExit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    rows, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(binary, folder)
        for name in parts:
            began = time.monotonic()
            # One part that fails leaves the others' figures standing; the exit status tells.
            try:
                rows += getattr(bench, name)()
            except (Exception, SystemExit):
                traceback.print_exc()
                failed.append(name)
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"{ROUNDS} pairs of {SECONDS:g} s; medians (range). "
          f"{peers.machine()}; one server core, one load core.\n")
    print("| Work | Measured | Goal | Behind it |\n|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
