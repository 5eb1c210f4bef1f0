"""slowhttptest with 1,000 connections at a time: the server must answer throughout, and close each by its limit.

    python3 Tests/Load/Hostile/slow_clients.py BIN_DIRECTORY [CONNECTIONS]
"""

import csv
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Support"))
from processes import descriptors  # noqa: E402
from programs import Site  # noqa: E402
from watch import Probe, Watch, resident  # noqa: E402
from web import call  # noqa: E402

# Seconds, as the server under attack has them.
LIMITS = {"headerTimeout": 10, "bodyTimeout": 20, "writeTimeout": 20, "idleTimeout": 15}
# From the end of a limit to the last close: the server lingers.
MARGIN = 12
# Connections a second.
RATE = 200


@dataclass
class Attack:
    name: str
    options: list[str]
    path: str
    # What ends each connection.
    limit: str


def attacks(asset: str) -> list[Attack]:
    return [
        Attack("slow headers (-H)", ["-H", "-i", "3", "-x", "24", "-t", "GET"], "/login", "headerTimeout"),
        Attack("slow body (-B)", ["-B", "-i", "3", "-s", "8192", "-x", "10", "-t", "POST"], "/apple/callback",
               "bodyTimeout"),
        Attack("ranges (-R)", ["-R", "-a", "5", "-b", "1500", "-t", "GET"], asset, "idleTimeout"),
        Attack("slow read (-X)", ["-X", "-w", "512", "-y", "1024", "-n", "5", "-z", "32", "-k", "10"], asset,
               "writeTimeout"),
    ]


def outcome(prefix: Path) -> tuple[int, int]:
    """Connections that stood at one time or other, and seconds without service, as slowhttptest saw it."""
    with prefix.with_suffix(".csv").open() as file:
        rows = [[int(cell) for cell in row] for row in list(csv.reader(file))[1:] if len(row) == 5]
    return max(row[1] + row[3] for row in rows), sum(1 for row in rows if row[4] == 0)


def run(site: Site, folder: Path, attack: Attack, connections: int) -> list[str]:
    pid = site.server.process.pid
    before, memory = descriptors(pid), resident(pid)
    probe, watch = Probe(site), Watch(site.port)
    prefix = folder / "report"
    length = LIMITS[attack.limit] + connections // RATE + MARGIN + 10
    subprocess.run(
        ["slowhttptest", "-c", str(connections), "-r", str(RATE), "-l", str(length), "-p", "3", "-g", "-o", str(prefix),
         "-u", f"http://localhost:{site.port}{attack.path}", *attack.options],
        capture_output=True, check=False)
    probe.end()
    # When a client is reset is not for slowhttptest to say: it reads what it had received first, a few bytes a second.
    watch.end()
    connected, unavailable = outcome(prefix)
    highest = resident(pid)
    deadline = time.monotonic() + MARGIN
    while descriptors(pid) > before and time.monotonic() < deadline:
        time.sleep(0.1)
    latest = LIMITS[attack.limit] + connections // RATE + MARGIN
    left = descriptors(pid) - before
    mistakes = [text for is_so, text in (
        # Those that were served and gone between two looks are not in its report.
        (connected < connections * 0.9, f"only {connected} connections stood"),
        (unavailable, f"unavailable for {unavailable} s, says slowhttptest"),
        (probe.failures, f"{len(probe.failures)} of {len(probe.seconds)} honest requests failed: {probe.failures[:3]}"),
        (watch.last > latest, f"the last was closed after {watch.last:.0f} s"),
        (left > 0, f"{left} descriptors more than before"),
        (site.server.process.poll() is not None, "the server ended")) if is_so]
    print(f"| {attack.name} | {connected:,} | {'NO' if unavailable else 'YES'} | {len(probe.seconds)} | "
          f"{probe.longest * 1000:.0f} ms | `{attack.limit}` {LIMITS[attack.limit]} s | {watch.last:.0f} s | "
          f"{(highest - memory) / 1024:+.1f} MiB | {'; '.join(mistakes) or 'passed'} |", flush=True)
    return mistakes


def main(binaries: str, connections: str = "1000") -> int:
    assert shutil.which("slowhttptest"), "slowhttptest is not installed: scripts/packages.sh test slowhttptest"
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536), most))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = Site(Path(binaries).resolve(), folder, {
            "log.level": "warning", "server.limits.connectionsPerAddress": 100_000,
            **{f"server.limits.{key}": value for key, value in LIMITS.items()}})
        try:
            site.start()
            asset = re.search(r'"(/assets/[^"]+\.css[^"]*)"', call(site, "GET", "/login", timeout=10).text).group(1)
            print("| Attack | Connections | Available | Honest requests | Longest answer | Limit | Last close | Memory | |")
            print("|---|---|---|---|---|---|---|---|---|")
            mistakes = [mistake for attack in attacks(asset) for mistake in run(site, folder, attack, int(connections))]
            if (code := site.stop()) != 0:
                mistakes.append(f"exit {code}")
        finally:
            site.end()
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
