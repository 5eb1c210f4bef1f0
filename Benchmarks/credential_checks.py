"""The daily checks against the simulated Apple: how long a crowd takes, and that nobody is asked about twice.

    python3 Benchmarks/credential_checks.py BIN_DIRECTORY [PEOPLE] [RATE]

Makes PEOPLE (100,000) at the simulator, imports them with their refresh tokens, makes all of them due at once, and lets
the server check them at RATE (1,000) a second. At a third of the way it is killed with SIGKILL and started again. At the
end each token was asked about once, as the simulator counts; those whose answer died with the process are not asked
about again.
"""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Tests/Support"))
from operating import Operator  # noqa: E402
from programs import SERVICES_ID, Site  # noqa: E402

BATCH = 5_000
# Far above what any machine needs for one more check; only a server that has stopped checking waits as long.
STALLED = 120


class Run(Operator):
    def __init__(self, binaries: Path, folder: Path, people: int, rate: int):
        super().__init__(binaries, folder)
        self.people = people
        self.site = Site(binaries, folder, {
            "server.limits.credentialChecks": rate, "log.level": "info", "access.signUp": "closed"})

    def move_in(self) -> None:
        """The crowd, imported while no server runs, and due before it starts."""
        self.site.start()
        self.site.stop()
        lines = self.folder / "people.jsonl"
        with lines.open("w") as output:
            for start in range(0, self.people, BATCH):
                count = min(BATCH, self.people - start)
                for member in self.site.apple.call("POST", "crowd", {"count": count})["items"]:
                    output.write(json.dumps({
                        "appleSubject": member["sub"], "clientID": SERVICES_ID,
                        "refreshToken": member["refresh_token"]}) + "\n")
        self.bramley("users", "import", str(lines))
        self.database("UPDATE apple_credential SET next_check_at = 1")

    def waiting(self) -> int:
        return self.database("SELECT count(*) FROM apple_credential WHERE checked_at IS NULL")[0][0]

    def check_until(self, left: int) -> None:
        last, since = self.waiting(), time.monotonic()
        while last > left:
            time.sleep(0.2)
            now = self.waiting()
            if now < last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > STALLED:
                raise AssertionError(f"no check for {STALLED} s, {now} wait:\n{self.site.server.text()[-2000:]}")

    def asked(self) -> int:
        return self.site.apple.call("GET", "counters")["token"]["requests"]

    def measure(self) -> dict:
        begin = time.monotonic()
        self.site.start()
        self.check_until(self.people * 2 // 3)
        self.site.server.process.kill()
        self.site.server.process.wait()
        marked = self.people - self.waiting()
        at_kill = self.asked()
        self.site.start()
        self.check_until(0)
        seconds = time.monotonic() - begin
        # What is in flight now is answered before the process ends.
        assert self.site.stop() == 0, self.site.server.text()[-2000:]
        # Of those started here only the server and the commands have ended: the simulator runs on.
        processor = resource.getrusage(resource.RUSAGE_CHILDREN)
        alive, dead = self.database("SELECT coalesce(sum(alive), 0), coalesce(sum(dead), 0) FROM credential_check")[0]
        return {
            "people": self.people, "seconds": seconds, "asked": self.asked(), "marked at the kill": marked,
            "asked at the kill": at_kill, "answered": alive, "dead": dead,
            "server's CPU, import included": processor.ru_utime + processor.ru_stime,
        }


def judge(found: dict, people: int, concurrency: int = 16) -> None:
    """What must hold at any size and on any machine."""
    lost = found["marked at the kill"] - found["asked at the kill"]
    assert 0 <= lost <= concurrency, f"{lost} marked and not asked"
    assert found["asked"] == people - lost, "somebody was asked about twice, or not at all"
    assert people - concurrency <= found["answered"] <= people
    assert found["dead"] == 0


def main(binaries: str, people: int = 100_000, rate: int = 1_000) -> None:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o700)
        run = Run(Path(binaries).resolve(), Path(name), people, rate)
        try:
            run.move_in()
            found = run.measure()
        finally:
            run.site.end()
    judge(found, people)
    for label, value in found.items():
        print(f"{label:32} {value:>12,.1f}" if isinstance(value, float) else f"{label:32} {value:>12,}")
    print(f"{'checks a second':32} {people / found['seconds']:>12,.0f}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
