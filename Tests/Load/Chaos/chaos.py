"""Minutes of everything at once: people, Apple failing at random, the server killed and restarted. docs/contribute/testing.md.

    python3 Tests/Load/Chaos/chaos.py BIN_DIRECTORY [SECONDS] [PEOPLE] [SEED]

Every two minutes Apple is well, what was under way is finished, and Bramley must know of each person what the simulated
Apple knows of them. Exits with 1 and says of whom it does not.
"""

import collections
import os
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Support"))
from expectations import is_alive, kept  # noqa: E402
from operating import Operator  # noqa: E402
from patience import eventually, guarded  # noqa: E402
from people import APP_ID, GONE, Person  # noqa: E402
from programs import TEAM_ID, Site  # noqa: E402
from weather import Courier, Weather  # noqa: E402

WORKERS = 6
# Seconds between two ends.
ROUND = 120
# Until somebody is signed in whose revocation was under way when the server was killed: it waits 30 s.
TRIES = 120
# What must not be in the log: the tokens of the simulated Apple, sessions, and addresses.
SECRETS = [".0.sim.", "brs_", "@example.com", "@privaterelay", "Grace"]
# apple.onAccountDeleted, by round.
POLICIES = ["erase", "disable"]


class Run(Operator):
    def __init__(self, binaries: Path, folder: Path, people: int, seed: int):
        super().__init__(binaries, folder)
        self.seed = seed
        self.roll = random.Random(seed)
        self.site = Site(binaries, folder, {
            "log.level": "info", "server.trustedProxies": ["127.0.0.1"], "server.limits.credentialChecks": 200,
            "apple.bundleIDs": [APP_ID], "apple.onAccountDeleted": POLICIES[0]})
        self.apple, self.policy = self.site.apple, POLICIES[0]
        self.stop, self.settling, self.round = threading.Event(), False, 0
        self.counts: collections.Counter[str] = collections.Counter()
        self.errors: list[BaseException] = []
        self.site.start()
        self.key = self.json("api-keys", "create", "chaos", "--scopes", "users:write,users:delete")["key"]
        self.courier = Courier(self.deliver, random.Random(f"{seed}/courier"))
        self.weather = Weather(self.apple, random.Random(f"{seed}/weather"))
        self.people = [Person(self, number) for number in range(people)]

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def obey(self, policy: str) -> None:
        """The operator decides again about people whose Apple Account is gone."""
        if policy == self.policy:
            return
        self.policy = policy
        self.stops()
        self.site.configure({"apple.onAccountDeleted": policy})
        self.site.start()

    def stops(self) -> None:
        assert self.site.stop() == 0, self.site.server.text()[-3000:]

    def deliver(self, notification: dict) -> bool:
        try:
            return notification["person"].ask(
                "POST", "/apple/notifications", body={"payload": notification["payload"]}).status == 200
        except GONE:
            return False

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
            self.decide(believes=roll.random() < 0.5)

    def decide(self, believes: bool) -> None:
        """What the daily checks stopped for is so, or is a mistake; a client that Apple refused may try again."""
        state = self.json("credentials", "status")["checks"]
        if state != "running":
            self.count(f"daily checks {state}")
            self.bramley("credentials", "resume", *(["--accept", "--yes"] if believes and state == "stopped" else []))

    def kill(self) -> None:
        server = self.site.server
        assert server.process.poll() is None, f"the server ended by itself:\n{server.text()[-3000:]}"
        if self.roll.random() < 0.8:
            self.site.kill()
            self.count("kills")
        else:
            self.stops()
            self.count("stops")
        time.sleep(self.roll.choice([0, 0, 0.5, 2]))
        self.site.start()

    def rage(self, seconds: float) -> None:
        self.round += 1
        self.obey(POLICIES[(self.seed + self.round) % len(POLICIES)])
        self.count(f"rounds with {self.policy}")
        self.stop.clear()
        self.settling = False
        work = [(self.live, group) for group in [self.people[index::WORKERS] for index in range(WORKERS)] if group]
        work += [(self.operate,), (self.weather.run, self.stop), (self.courier.run, self.stop)]
        threads = [guarded(self.errors, self.stop, *one) for one in work]
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

    def settle(self) -> None:
        """Apple is well; everybody finishes what they began, and a day passes."""
        self.settling = True
        self.weather.clear()
        # Pauses and back-offs, too, are over.
        self.stops()
        self.decide(believes=False)
        self.site.start()

        def all_delivered() -> bool:
            self.courier.carry(everything=True)
            return not self.courier.bag

        eventually(all_delivered, "the notifications", lambda: self.site.server.text()[-2000:])
        for person in self.people:
            for _ in range(TRIES):
                if person.pending is not None:
                    person.tries(person.pending)
                elif not person.unfinished:
                    break
                elif not person.signs_in():
                    time.sleep(0.5)
            assert person.pending is None and not person.unfinished, "\n".join(
                [f"{person.id} cannot finish", *person.diary[-12:], self.site.server.text()[-3000:]])
        # Those that were under way at a kill wait until their half minute is over.
        eventually(self.has_revoked, "the revocations", lambda: self.bramley("credentials", "revocations"))
        self.check_everybody()
        dead = self.database("SELECT count(*) FROM apple_credential WHERE cause = 'token_dead'")
        # And again: what Apple said once it says twice.
        self.check_everybody()
        assert dead == self.database("SELECT count(*) FROM apple_credential WHERE cause = 'token_dead'")

    def has_revoked(self) -> bool:
        self.bramley("credentials", "revocations", "--retry")
        return not self.json("credentials", "revocations")["items"]

    def check_everybody(self) -> None:
        self.database(
            "UPDATE apple_credential SET next_check_at = 1, checked_at = NULL WHERE sealed_refresh_token IS NOT NULL")

        def done() -> bool:
            self.decide(believes=True)
            return self.are_all_asked_about()

        eventually(done, "the daily checks", lambda: self.bramley("credentials", "status"))
        # A check is marked before it is made: those still under way are answered before the process ends.
        self.stops()
        # One that was not made, and not one that is held back: then a token stays of which nobody knows.
        assert self.are_all_asked_about(), self.bramley("credentials", "status")
        self.site.start()

    def are_all_asked_about(self) -> bool:
        return not self.database(
            "SELECT 1 FROM apple_credential WHERE sealed_refresh_token IS NOT NULL"
            " AND (checked_at IS NULL OR held_back_at IS NOT NULL) LIMIT 1")

    def differences(self) -> list[str]:
        """Of each person: what they did, what Apple knows, what Bramley has, and what browser and app are told."""
        found: list[str] = []
        apple = {item["id"]: next(team for team in item["teams"] if team["team"] == TEAM_ID)
                 for item in self.apple.call("GET", "people")["items"]}
        for person in self.people:
            for difference in self.of(person, apple[person.id]):
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
        if team["consented"] != person.consents:
            found.append(f"Apple: {'allowed' if team['consented'] else 'not allowed'}, and that is not what came of it")
        if team.get("refreshTokens", 0) < len(person.live_clients()):
            found.append(f"Apple: {team.get('refreshTokens', 0)} live tokens; Bramley was given {person.live_clients()}")
        rows = self.database(
            "SELECT i.id, i.credential_state, i.credential_cause, u.state, u.given_name, u.family_name, u.email_forwarding"
            " FROM apple_identity i JOIN user u ON u.id = i.user WHERE i.team = ? AND i.subject = ?", TEAM_ID, team["sub"])
        expected = kept(person)
        self.count(f"people: {'allowed' if person.consents else 'not allowed'}, {expected.state if expected else 'not kept'}"
                   + (", disabled" if expected and expected.is_disabled else ""))
        if not rows or expected is None:
            if rows or expected:
                found.append(f"expected {expected}; Bramley: {rows[0][1:4] if rows else None}")
            rows = []
        for identity, state, cause, user_state, given, family, forwarding in rows:
            tokens = {client for client, in self.database(
                "SELECT client_id FROM apple_credential WHERE identity = ? AND sealed_refresh_token IS NOT NULL", identity)}
            has = (state, tokens, user_state)
            if has != (expected.state, expected.tokens, "disabled" if expected.is_disabled else "active") or (
                    expected.cause not in (None, cause)):
                found.append(f"expected {expected}; Bramley: {cause}, {has}")
            sessions = self.database("SELECT count(*) FROM session WHERE identity = ?", identity)[0][0]
            if sessions and (not expected.tokens or expected.is_disabled):
                found.append(f"{sessions} sessions of somebody who may have none")
            if person.consents and person.named and (given, family) != person.name:
                found.append(f"the name is {given} {family}")
            email = person.forwarding
            if (person.consents and email and email["arrived"] and email["epoch"] == person.epoch
                    and forwarding != team["forwarding"]):
                found.append(f"forwarding: Apple {team['forwarding']}, Bramley {forwarding}")
        for held in list(person.held):
            is_in, must_be = person.is_let_in(held), is_alive(held, person)
            self.count({True: "sessions: alive", False: "sessions: ended", None: "sessions: either"}[must_be])
            if is_in is None or must_be not in (is_in, None):
                found.append(f"a session at {held.client} of generation {held.generation} of {person.generation} is"
                             f" {'alive' if is_in else 'dead'}")
            if must_be is False:
                person.held.remove(held)
        return found

    def report(self) -> str:
        counts = self.counts | {
            "notifications lost": self.courier.lost, "notifications repeated": self.courier.repeated,
            "faults at Apple": self.weather.faults, "key rotations at Apple": self.weather.rotations}
        counters = self.apple.call("GET", "counters")
        for endpoint in ("token", "revoke", "keys"):
            statuses = counters[endpoint]["statuses"]
            counts[f"requests to {endpoint}"] = counters[endpoint]["requests"]
            counts[f"requests to {endpoint}: not 200"] = sum(n for status, n in statuses.items() if status != "200")
        reasons = re.findall(r"reason=(\w+) route=/(?:apple/callback|api/v1/native/sessions)", self.site.server.text())
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
        found = chaos(
            Path(binaries).resolve(), Path(name), float(seconds), int(people), int(seed or random.randrange(1_000_000)))
        if keep := os.environ.get("CHAOS_LOG"):
            Path(keep).write_bytes((Path(name) / "bramley.log").read_bytes())
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
