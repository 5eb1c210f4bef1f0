"""Half of what a server can carry, or another share, while operator and Apple do all they do: keys change, backups,
reloads, hand-overs, a restart, notifications, deletions. No request may fail, and memory, descriptors and the file must
not grow from the middle third of the time to the last.

    python3 Tests/Load/Hostile/operations_soak.py BIN_DIRECTORY [SECONDS] [SHARE]

The processes change in the first third, so that the other two are those of one process.
"""

import collections
import contextlib
import json
import os
import re
import secrets
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("Support", "System/Deployment")]
from offered import Load, Tally  # noqa: E402
from patience import eventually  # noqa: E402
from processes import cpu_seconds, is_running  # noqa: E402
from programs import Site, write_private  # noqa: E402
from service import Service  # noqa: E402
from watch import Repeated, lasting, pages, resident  # noqa: E402

PEOPLE, KEEPERS, PARALLEL = 400, 10, 16
# Seconds: how long the capacity is measured; how long after a fetch of Apple's keys another one is not made.
CAPACITY, COOL_DOWN = 20, 62
# Questions of a proxy for each sign-in, and at most so many a second: this machine's client shares its cores.
QUESTIONS, MOST_QUESTIONS = 4, 500
# What is kept for a time that no run is as long as (retention.*, 90 days of a deletion, a day of a used attempt): it
# grows with the traffic.
KEPT = ("event", "audit", "notification", "revocation", "used_attempt", "sqlite_sequence")
# KiB that memory may differ by: what an allocator keeps of one crowd and not of another. Forty bytes lost at each of two
# hundred thousand sign-ins would be as much.
TOLERANCE = 8 * 1024
# Seconds: below, too little is deleted for the file to be judged.
LONG = 600


class Sample:
    def __init__(self, process: int, folder: Path):
        self.at = time.monotonic()
        self.memory, self.pages = resident(process), pages(process)
        self.descriptors = lasting(process)
        self.file = os.path.getsize(folder / "bramley.db")
        self.log = os.path.getsize(folder / "bramley.db-wal")


class Watcher(Repeated):
    """Looks at whoever serves, every second, and at when Apple's keys were fetched last."""

    def __init__(self, soak: "OperationsSoak"):
        self.soak = soak
        self.samples: list[Sample] = []
        self.fetches, self.fetched_at = 0, time.monotonic()
        super().__init__(1)

    def act(self) -> None:
        # Perhaps nobody serves at this moment.
        with contextlib.suppress(OSError):
            self.samples.append(Sample(self.soak.service.process, self.soak.data))
        fetches = self.soak.site.apple.call("GET", "counters")["keys"]["requests"]
        if fetches != self.fetches:
            self.fetches, self.fetched_at = fetches, time.monotonic()


class Notifier(Repeated):
    """Apple's word on somebody's address, again and again."""

    def __init__(self, soak: "OperationsSoak", pause: float):
        self.soak, self.number = soak, 0
        self.taken: list[float] = []
        self.lost: list[tuple[float, str]] = []
        super().__init__(pause)

    def act(self) -> None:
        self.number += 1
        sent = self.soak.site.apple.call("POST", "notifications", {
            "type": ("email-disabled", "email-enabled")[self.number % 2], "person": f"person{self.number % PEOPLE}"})
        for delivery in sent["deliveries"]:
            if delivery.get("status") == 200:
                self.taken.append(time.monotonic())
            else:
                self.lost.append((time.monotonic(), str(delivery)))


class OperationsSoak:
    def __init__(self, binaries: Path, folder: Path, seconds: float, share: float):
        self.folder, self.seconds, self.share = folder, seconds, share
        self.data = folder / "data"
        self.site = Site(binaries, folder, {
            "server.trustedProxies": ["127.0.0.1"], "server.threads": 0, "log.level": "info", "log.requests": "none",
            "assertion.audience": "soak", "login.attemptLifetime": 60, "retention.events": 3600,
            "retention.notifications": 3600})
        self.service = Service(self.site)
        self.mistakes: list[str] = []
        # When nobody listened, and since when the process of now has served.
        self.away: list[tuple[float, float]] = []
        self.since = 0.0
        self.done: list[tuple[float, str]] = []
        self.sizes: list[tuple[float, int, int]] = []

    def command(self, *arguments: str) -> str:
        done = self.site.operator.run(*arguments, timeout=300)
        if done.returncode != 0:
            self.mistakes.append(f"bramley {' '.join(arguments)}: exit {done.returncode} {done.stderr[-300:]}")
        return done.stdout

    def back_up(self) -> str:
        told = json.loads(self.command("backup", "--force", "--json", str(self.folder / "backup.db")) or "{}")
        return f"{told.get('bytes', 0) / 1e6:.0f} MB in {told.get('milliseconds', 0)} ms"

    def reload(self) -> str:
        before = self.service.text().count("Apple client keys reloaded")
        self.service.signal(signal.SIGHUP)
        eventually(lambda: self.service.text().count("Apple client keys reloaded") > before, "the reload")
        return ""

    def hand_over(self) -> str:
        old = self.service.process
        begun = time.monotonic()
        self.service.hand_over()
        took = time.monotonic() - begun
        eventually(lambda: not is_running(old), "the end of the one before")
        return f"{took * 1000:.0f} ms until the successor served"

    def restart_with_a_new_sealing_key(self) -> str:
        """As docs/operate/keys.md says: stop, move the file, name it, write a new one, start."""
        old = self.service.process
        begun = time.monotonic()
        self.service.signal(signal.SIGTERM)
        eventually(lambda: not is_running(old), "the stop", self.service.text)
        self.since = time.monotonic()
        before = self.data / "sealing.key.before"
        (self.data / "sealing.key").rename(before)
        write_private(self.data / "sealing.key", (secrets.token_hex(32) + "\n").encode())
        self.site.configure({"secrets.previousSealingKeyFiles": [str(before)]})
        self.service.start().wait()
        self.away.append((begun, time.monotonic()))
        return f"away for {self.away[-1][1] - begun:.2f} s"

    def reseal(self) -> str:
        return self.command("credentials", "reseal").strip().splitlines()[0]

    def rotate_assertions(self) -> str:
        self.command("assertion", "rotate")
        return ""

    def rotate_apple(self) -> str:
        """Not while the server may not fetch: one fetch a minute is the rule, and Apple rotates every few weeks."""
        wait = self.watcher.fetched_at + COOL_DOWN - time.monotonic()
        if time.monotonic() + wait > self.end - 2:
            return "left out: the run ends within the minute after a fetch"
        time.sleep(max(0, wait))
        fetches = self.watcher.fetches
        self.site.apple.call("POST", "keys/rotate")
        eventually(lambda: self.watcher.fetches > fetches, "the fetch of the new key")
        return "fetched"

    def measure_file(self) -> str:
        """Pages of what is deleted again, and of what is kept for a time."""
        file = f"file:{self.data}/bramley.db?mode=ro"
        with contextlib.closing(sqlite3.connect(file, uri=True, timeout=30)) as connection:
            owners = dict(connection.execute("SELECT name, tbl_name FROM sqlite_schema").fetchall())
            tables: collections.Counter[str] = collections.Counter()
            for name, pages in connection.execute("SELECT name, count(*) FROM dbstat GROUP BY name"):
                tables[owners.get(name, name)] += pages
            kept = sum(pages for table, pages in tables.items() if table.startswith(KEPT))
            others = sum(tables.values()) - kept
            self.sizes.append((time.monotonic(), others, kept))
        largest = ", ".join(f"{table} {pages}" for table, pages in tables.most_common() if not table.startswith(KEPT))
        return f"{others} pages, and {kept} of what is kept; {largest[:80]}"

    SCHEDULE = [
        (0.03, "SIGHUP", reload), (0.06, "hand-over", hand_over), (0.09, "backup", back_up),
        (0.12, "assertion rotate", rotate_assertions), (0.15, "hand-over", hand_over),
        (0.20, "restart, new sealing key", restart_with_a_new_sealing_key), (0.25, "credentials reseal", reseal),
        (0.28, "SIGHUP", reload), (0.36, "file", measure_file), (0.40, "Apple's keys rotate", rotate_apple),
        (0.46, "file", measure_file), (0.50, "backup", back_up), (0.56, "file", measure_file),
        (0.60, "assertion rotate", rotate_assertions), (0.64, "file", measure_file), (0.70, "file", measure_file),
        (0.74, "Apple's keys rotate", rotate_apple), (0.79, "SIGHUP", reload), (0.82, "file", measure_file),
        (0.86, "backup", back_up), (0.90, "file", measure_file), (0.96, "file", measure_file),
    ]

    def metrics(self) -> dict[str, float]:
        lines = self.site.admin("/metrics").text.splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}

    def journal(self) -> int:
        return self.site.operator.database("SELECT count(*) FROM event WHERE type = 'session.created'")[0][0]

    def run(self) -> None:
        people = [f"person{number}" for number in range(PEOPLE)]
        for name in [*people, *(f"leaver{number}" for number in range(5))]:
            self.site.apple.add_person(name)
        load = Load(self.site.origin, self.site.apple.origin, people)
        load.start()
        self.service.start().wait()
        self.watcher = Watcher(self)
        load.tell("keepers", KEEPERS)
        cookies = load.hear(KEEPERS)
        used = cpu_seconds(self.service.process)
        load.tell("capacity", CAPACITY, PARALLEL)
        capacity = load.hear(CAPACITY)
        used = (cpu_seconds(self.service.process) - used) / CAPACITY / max(capacity, 1)
        rate = capacity * self.share
        questions = min(QUESTIONS * rate, MOST_QUESTIONS)
        print(f"capacity {capacity:.0f} sign-ins a second in a closed loop of {PARALLEL}, Apple's stand-in and the load"
              f" on the same machine; {used * 1000:.2f} ms of the server's processor time each.\n"
              f"offered {rate:.0f} a second, and {questions:.0f} questions of a proxy, for {self.seconds:.0f} s",
              flush=True)
        self.before = self.journal()
        begun = time.monotonic()
        self.begun, self.end = begun, begun + self.seconds
        notifier = Notifier(self, max(0.5, self.seconds / 900))
        load.tell("offer", self.seconds, rate, cookies, questions)
        for fraction, name, act in self.SCHEDULE:
            time.sleep(max(0, begun + fraction * self.seconds - time.monotonic()))
            at = time.monotonic() - begun
            try:
                said = act(self)
            except (AssertionError, OSError, sqlite3.Error) as error:
                said = f"FAILED: {error!r}"[:400]
                self.mistakes.append(f"{name}: {said}")
            print(f"{at:7.1f} s  {name:26} {said}", flush=True)
        tally: Tally = load.hear(max(0, self.end - time.monotonic()))
        notifier.end()
        self.watcher.end()
        load.tell("stop")
        load.join()
        self.judge(tally, notifier)

    def is_away(self, at: float) -> bool:
        return any(begun <= at <= end + 0.1 for begun, end in self.away)

    def third(self, number: int, of: list, at) -> list:
        first, last = (self.begun + part / 3 * self.seconds for part in (number, number + 1))
        return [one for one in of if first <= at(one) < last]

    def judge(self, tally: Tally, notifier: Notifier) -> None:
        metrics = self.metrics()
        rows: list[tuple[str, object]] = []

        def agree(name: str, ours: int, theirs: float) -> None:
            rows.append((f"{name}: counted by the client, by /metrics since the restart", f"{ours:,}, {theirs:,.0f}"))
            if ours != theirs:
                self.mistakes.append(f"{name}: the client counted {ours}, the server {theirs:.0f}")

        not_offered = tally.counts["not offered"] + tally.counts["questions not asked"]
        if not_offered > len(tally.signed_in) / 100:
            self.mistakes.append(f"{not_offered} sign-ins and questions were not begun, since too many still"
                                 " waited: the machine has other things to do, and the run says little")
        for what, count in collections.Counter(what for _, what in tally.failures).most_common(10):
            self.mistakes.append(f"{count} × {what}, first after"
                                 f" {min(at for at, this in tally.failures if this == what) - self.begun:.1f} s")
        strangers = [at for at in tally.refused if not self.is_away(at)]
        if strangers:
            self.mistakes.append(f"{len(strangers)} refused connections while a server should have listened, first after"
                                 f" {strangers[0] - self.begun:.1f} s")
        lost = [entry for entry in notifier.lost if not self.is_away(entry[0])]
        if lost:
            self.mistakes.append(f"{len(lost)} notifications were not taken: {lost[0][1]}")
        waited = sorted(tally.waited)
        rows += [("sign-ins", f"{len(tally.signed_in):,}"), ("questions of a proxy", f"{len(tally.verified):,}"),
                 ("failed", len(tally.failures)), ("not begun, since too many still waited", not_offered),
                 ("refused in the restart", len(tally.refused) - len(strangers)),
                 ("kept connections found closed, and opened anew", tally.counts["kept connections found closed"]),
                 ("accounts deleted", tally.counts["accounts deleted"]),
                 ("notifications taken, missed in the restart", f"{len(notifier.taken)}, {len(notifier.lost)}")]
        if waited:
            rows.append(("sign-in from when it was due: median, 99 of 100, longest", ", ".join(
                f"{waited[min(len(waited) - 1, int(len(waited) * part))]:.0f} ms" for part in (0.5, 0.99, 1))))
        agree("sign-ins", sum(at > self.since for at in tally.signed_in),
              metrics['bramley_sign_ins_total{flow="web",outcome="signed_in",reason=""}'])
        agree("questions", sum(at > self.since for at in tally.verified), sum(
            value for name, value in metrics.items() if name.startswith("bramley_http_requests_total{")
            and 'route="/auth/verify"' in name and 'status="204"' in name))
        agree("notifications", sum(at > self.since for at in notifier.taken), sum(
            value for name, value in metrics.items() if name.startswith("bramley_apple_notifications_total{")
            and re.search('outcome="(applied|stale|duplicate)"', name)))
        rows.append(("sessions begun, by the journal, over all processes", f"{self.journal() - self.before:,}"))
        if self.journal() - self.before != len(tally.signed_in):
            self.mistakes.append("the journal has another number of sessions than the client")
        self.compare(rows)
        print("\n| | |\n|---|---|")
        for name, value in rows:
            print(f"| {name} | {value} |")

    def compare(self, rows: list) -> None:
        """The middle third of the time with the last."""
        middle, last = (self.third(number, self.watcher.samples, lambda sample: sample.at) for number in (1, 2))

        def medians(of) -> tuple[float, float]:
            return statistics.median(map(of, middle)), statistics.median(map(of, last))

        memory, open_ = medians(lambda sample: sample.memory), medians(lambda sample: sample.descriptors)
        rows.append(("memory, median of the middle third, of the last",
                     f"{memory[0] / 1024:.1f} MiB, {memory[1] / 1024:.1f} MiB"))
        rows.append(("descriptors, without open connections", f"{open_[0]:.0f}, {open_[1]:.0f}"))
        # What SQLite keeps of the file's pages is bounded, and fills while the file is small.
        cached = medians(lambda sample: sample.pages)
        if memory[1] > memory[0] + max(TOLERANCE, memory[0] * 0.05) + cached[1] - cached[0]:
            self.mistakes.append("memory has grown")
        if open_[1] > open_[0] + 10:
            self.mistakes.append("descriptors have grown")
        logs = [max(sample.log for sample in samples) / 2**20 for samples in (middle, last)]
        rows.append(("longest log (bramley.db-wal)", f"{logs[0]:.1f} MiB, {logs[1]:.1f} MiB"))
        sizes = [self.third(number, self.sizes, lambda size: size[0]) for number in (1, 2)]
        others, kept = ([statistics.mean(size[index] for size in part) for part in sizes] for index in (1, 2))
        rows.append(("pages of what is deleted again", f"{others[0]:,.0f}, {others[1]:,.0f}"))
        rows.append(("pages of what is kept for days", f"{kept[0]:,.0f}, {kept[1]:,.0f}"))
        rows.append(("size of the file at the end", f"{last[-1].file / 1e6:.0f} MB"))
        if self.seconds >= LONG and others[1] > others[0] * 1.05 + 64:
            self.mistakes.append("the file has grown by more than what is kept for a time")

    def close(self) -> None:
        self.service.end()
        self.site.apple.program.stop()
        for word in ("Fatal error", "Crash", "Assertion failed"):
            if word in self.service.text():
                self.mistakes.append(f"{word} in the log: {self.service.text()[-2000:]}")


def main(binaries: str, seconds: str = "1800", share: str = "0.5") -> int:
    with tempfile.TemporaryDirectory() as name:
        soak = OperationsSoak(Path(binaries).resolve(), Path(name), float(seconds), float(share))
        with contextlib.closing(soak):
            soak.run()
        print("\n" + ("\n".join(dict.fromkeys(soak.mistakes)) or "Nobody was failed, and nothing has grown."))
        return 1 if soak.mistakes else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
