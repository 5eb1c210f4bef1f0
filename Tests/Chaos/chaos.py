"""Minutes of everything at once: people, Apple failing at random, the server killed and restarted. docs/chaos.md.

    python3 Tests/Chaos/chaos.py BIN_DIRECTORY [SECONDS] [PEOPLE] [SEED]

Every two minutes Apple is well, what was under way is finished, and Bramley must know of each person what the simulated
Apple knows of them. Exits with 1 and says of whom it does not.
"""

import collections
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Browser"))
from patience import eventually  # noqa: E402
from people import GONE, SESSION, Person  # noqa: E402
from programs import TEAM_ID, Site  # noqa: E402
from weather import Courier, Weather  # noqa: E402

WORKERS = 6
# Seconds between two ends.
ROUND = 120
# Until somebody is signed in whose revocation was under way when the server was killed: it waits 30 s.
TRIES = 120
# What must not be in the log: the tokens of the simulated Apple, and addresses.
SECRETS = [".0.sim.", "@example.com", "@privaterelay", "Grace"]


class Run:
    def __init__(self, binaries: Path, folder: Path, people: int, seed: int):
        self.seed, self.folder = seed, folder
        self.roll = random.Random(seed)
        self.site = Site(binaries, folder, {
            "log.level": "info", "server.trustedProxies": ["127.0.0.1"], "server.limits.credentialChecks": 200})
        self.apple = self.site.apple
        self.stop, self.settling, self.round = threading.Event(), False, 0
        self.counts: collections.Counter[str] = collections.Counter()
        self.errors: list[BaseException] = []
        self.site.start()
        self.key = json.loads(self.bramley("api-keys", "create", "chaos", "--scopes", "users:delete", "--json"))["key"]
        self.courier = Courier(self.deliver, random.Random(f"{seed}/courier"))
        self.weather = Weather(self.apple, random.Random(f"{seed}/weather"))
        self.people = [Person(self, number) for number in range(people)]

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def bramley(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(self.site.binaries / "bramley"), *arguments, "--config", str(self.folder / "config.json")],
            capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def database(self, sql: str, *values) -> list[tuple]:
        connection = sqlite3.connect(self.folder / "data/bramley.db", timeout=30)
        try:
            with connection:
                return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def deliver(self, notification: dict) -> bool:
        try:
            answer = notification["person"].ask(
                "POST", "/apple/notifications", {"Content-Type": "application/json"},
                json.dumps({"payload": notification["payload"]}))
        except GONE:
            return False
        return answer.status == 200

    # What happens at the same time

    def live(self, people: list[Person]) -> None:
        roll = random.Random(f"{self.seed}/{self.round}/{people[0].id}")
        while not self.stop.is_set():
            roll.choice(people).acts()

    def operate(self) -> None:
        """Days pass for some credentials; the operator decides about what the daily checks stopped for."""
        roll = random.Random(f"{self.seed}/{self.round}/operator")
        while not self.stop.wait(roll.uniform(3, 6)):
            self.database(
                "UPDATE apple_credential SET next_check_at = 1, checked_at = NULL"
                " WHERE sealed_refresh_token IS NOT NULL AND abs(random()) % 3 = 0")
            self.decide(["--accept", "--yes"] if roll.random() < 0.5 else [])

    def decide(self, how: list[str]) -> None:
        state = json.loads(self.bramley("credentials", "status", "--json"))["checks"]
        if state != "running":
            self.count(f"daily checks {state}")
            self.bramley("credentials", "resume", *how)

    def kill(self) -> None:
        server = self.site.server.process
        assert server.poll() is None, f"the server ended by itself:\n{self.site.server.text()[-3000:]}"
        if self.roll.random() < 0.8:
            server.kill()
            server.wait()
            self.count("kills")
        else:
            assert self.site.stop() == 0, self.site.server.text()[-3000:]
            self.count("stops")
        time.sleep(self.roll.choice([0, 0, 0.5, 2]))
        self.site.start()

    def guarded(self, work, *arguments) -> threading.Thread:
        def run():
            try:
                work(*arguments)
            except BaseException as error:
                self.errors.append(error)
                self.stop.set()

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def rage(self, seconds: float) -> None:
        self.round += 1
        self.stop.clear()
        self.settling = False
        groups = [self.people[index::WORKERS] for index in range(WORKERS)]
        threads = [self.guarded(self.live, group) for group in groups if group]
        threads += [self.guarded(self.operate), self.guarded(self.weather.run, self.stop),
                    self.guarded(self.courier.run, self.stop)]
        end = time.monotonic() + seconds
        try:
            # The moments of the kills are the run's own choice.
            while not self.stop.wait(min(self.roll.uniform(2, 7), max(0, end - time.monotonic()))):
                if time.monotonic() >= end:
                    break
                self.kill()
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()
        if self.errors:
            raise self.errors[0]

    # The end

    def settle(self) -> None:
        """Apple is well; everybody finishes what they began, and a day passes."""
        self.settling = True
        self.weather.clear()
        # Pauses and back-offs, too, are over.
        assert self.site.stop() == 0, self.site.server.text()[-3000:]
        self.decide([])
        self.site.start()

        def all_delivered() -> bool:
            self.courier.carry(everything=True)
            return not self.courier.bag

        eventually(all_delivered, "the notifications", lambda: self.site.server.text()[-2000:])
        for person in self.people:
            for _ in range(TRIES):
                if not person.unfinished or person.signs_in():
                    break
                time.sleep(0.5)
            assert not person.unfinished, f"{person.id} cannot sign in\n{self.site.server.text()[-3000:]}"
        # Those that were under way at a kill wait until their half minute is over.
        eventually(self.has_revoked, "the revocations", lambda: self.bramley("credentials", "revocations"))
        self.check_everybody()
        dead = self.database("SELECT count(*) FROM apple_credential WHERE cause = 'token_dead'")
        # And again: what Apple said once it says twice.
        self.check_everybody()
        assert dead == self.database("SELECT count(*) FROM apple_credential WHERE cause = 'token_dead'")

    def has_revoked(self) -> bool:
        self.bramley("credentials", "revocations", "--retry")
        return not json.loads(self.bramley("credentials", "revocations", "--json"))["items"]

    def check_everybody(self) -> None:
        self.database(
            "UPDATE apple_credential SET next_check_at = 1, checked_at = NULL WHERE sealed_refresh_token IS NOT NULL")

        def done() -> bool:
            self.decide(["--accept", "--yes"])
            return not self.database(
                "SELECT 1 FROM apple_credential WHERE sealed_refresh_token IS NOT NULL AND checked_at IS NULL LIMIT 1")

        eventually(done, "the daily checks", lambda: self.bramley("credentials", "status"))
        # A check is marked before it is made: those still under way are answered before the process ends.
        assert self.site.stop() == 0, self.site.server.text()[-3000:]
        self.site.start()

    def differences(self) -> list[str]:
        """Of each person: what Apple knows, what Bramley has, and what their browser is told."""
        found: list[str] = []
        apple = {}
        for item in self.apple.call("GET", "people")["items"]:
            team = next(team for team in item["teams"] if team["team"] == TEAM_ID)
            apple[item["id"]] = team
        for person in self.people:
            team = apple[person.id]
            for difference in self.of(person, team):
                found.append("\n    ".join([f"{person.id} ({person.user}): {difference}", *person.diary[-12:]]))
        subjects = {team["sub"] for team in apple.values()}
        strangers = [row for row in self.database("SELECT subject FROM apple_identity") if row[0] not in subjects]
        found += [f"an identity Apple does not know: {row[0]}" for row in strangers]
        found += [f"user {user} has {count} identities" for user, count in self.database(
            "SELECT u.id, count(i.id) FROM user u LEFT JOIN apple_identity i ON i.user = u.id GROUP BY u.id"
            " HAVING count(i.id) <> 1")]
        found += [f"integrity: {row[0]}" for row in self.database("PRAGMA integrity_check") if row[0] != "ok"]
        log = self.site.server.text()
        found += [f"the log has {secret!r}" for secret in SECRETS if secret in log]
        return found

    def of(self, person: Person, team: dict) -> list[str]:
        found = []
        rows = self.database(
            "SELECT i.id, i.credential_state, u.given_name, u.family_name, u.email_forwarding, i.credential_cause"
            " FROM apple_identity i JOIN user u ON u.id = i.user WHERE i.team = ? AND i.subject = ?", TEAM_ID, team["sub"])
        identity, state, given, family, forwarding, cause = rows[0] if rows else (None, "none", None, None, None, None)
        tokens, sessions = self.database(
            "SELECT (SELECT count(*) FROM apple_credential WHERE identity = ?1 AND sealed_refresh_token IS NOT NULL),"
            " (SELECT count(*) FROM session WHERE identity = ?1)", identity)[0]
        shown = f"state {state} ({cause}), {tokens} tokens, {sessions} sessions"
        if team["consented"]:
            self.count("people: allowed")
            if state != "authorized" or tokens != 1 or team["refreshTokens"] < 1:
                found.append(f"Apple: allowed, {team['refreshTokens']} tokens; Bramley: {shown}")
            if person.named and (given, family) != person.name:
                found.append(f"the name is {given} {family}")
            email = person.forwarding
            if email and email["arrived"] and email["epoch"] == person.epoch and forwarding != team["forwarding"]:
                found.append(f"forwarding: Apple {team['forwarding']}, Bramley {forwarding}")
        else:
            self.count("people: not allowed, " + ("known" if rows else "unknown"))
            if state not in ("none", "revoked") or tokens or sessions:
                found.append(f"Apple: not allowed; Bramley: {shown}")
        for held in list(person.held):
            is_in = person.is_let_in(held)
            expected = self.expected(held, person, team)
            self.count({True: "sessions: alive", False: "sessions: ended", None: "sessions: either"}[expected])
            if is_in is None or expected not in (is_in, None):
                found.append(
                    f"a session of time {held.epoch} of {person.epoch} is {'alive' if is_in else 'dead'}; {shown}")
            if expected is False:
                person.held.remove(held)
        return found

    @staticmethod
    def expected(held, person: Person, team: dict) -> bool | None:
        if not team["consented"] or held.must_have_ended:
            return False
        # Apple never told of the end, and the person was back before the day was over: nobody can know.
        return True if held.epoch == person.epoch else None

    def report(self) -> str:
        counts = self.counts | {
            "notifications lost": self.courier.lost, "notifications repeated": self.courier.repeated,
            "faults at Apple": self.weather.faults, "key rotations at Apple": self.weather.rotations}
        counters = self.apple.call("GET", "counters")
        for endpoint in ("token", "revoke", "keys"):
            statuses = counters[endpoint]["statuses"]
            counts[f"requests to {endpoint}"] = counters[endpoint]["requests"]
            counts[f"requests to {endpoint}: not 200"] = sum(n for status, n in statuses.items() if status != "200")
        reasons = re.findall(r"reason=(\w+) route=/apple/callback", self.site.server.text())
        counts |= {f"  in the log: {reason}": n for reason, n in collections.Counter(reasons).items()}
        return "\n".join(f"{name:40} {counts[name]:>8,}" for name in sorted(counts))


def chaos(binaries: Path, folder: Path, seconds: float, people: int, seed: int) -> list[str]:
    """A whole run; prints what there was, returns what differs."""
    begun = time.monotonic()
    # What one end hides the next may show: who is deleted at one is back at the other.
    rounds = max(1, round(seconds / ROUND))
    print(f"seed {seed}, {people} people, {seconds:g} s in {rounds} rounds", flush=True)
    run = Run(binaries, folder, people, seed)
    found: list[str] = []
    try:
        while run.round < rounds and not found:
            run.rage(seconds / rounds)
            run.settle()
            found = run.differences()
        print(run.report())
        print(f"{'seconds, with the settling':40} {time.monotonic() - begun:>8.0f}")
    finally:
        run.stop.set()
        run.site.end()
    if found:
        print(f"after round {run.round}:")
    print("\n".join(found) or f"Bramley and Apple agree about all {people} people, after each round.", flush=True)
    return found


def main(binaries: str, seconds: str = "600", people: str = "60", seed: str = "") -> int:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o700)
        found = chaos(
            Path(binaries).resolve(), Path(name), float(seconds), int(people), int(seed or random.randrange(1_000_000)))
        if keep := os.environ.get("CHAOS_LOG"):
            Path(keep).write_bytes((Path(name) / "bramley.log").read_bytes())
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
