"""What docs/operate/several-machines.md and docs/apps/openid.md promise of several servers; nothing of our code."""

import collections
import threading
import time

# Seconds from the end of a session on one server to its end on all (storage.postgres.trust).
TRUST = 1.0
# Seconds to an answer: what is documented (2, and 12 for reads), and as much again for a busy machine.
DECIDED = 4.0
READ = 24.0
# A refresh that is repeated within this gets the same answer (documented: 10 s); on clocks that differ.
REPEATED = 8.0


class Grant:
    """What a program holds for somebody who stays signed in."""

    def __init__(self, refresh_token: str, access_token: str):
        self.refresh_token, self.access_token = refresh_token, access_token
        self.given = time.monotonic()
        # When the refresh token was first sent.
        self.sent: float | None = None


class Book:
    """What was answered. A session is live, ended at a time, or of unknown state, and then in neither list."""

    def __init__(self):
        self.guard = threading.Lock()
        self.live: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.grants: list[Grant] = []
        self.wrong: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()
        # Servers that do not run, and until when they did not: nobody else answers for them.
        self.still: dict[str, float] = {}
        # While nothing is broken, its number.
        self.calm: int | None = None
        self.calms = 0
        # Another primary took over then, while the old one was alive.
        self.divided = float("-inf")
        # A primary that confirmed alone was lost until then, and with it something that had been answered.
        self.lost = float("-inf")
        # One confirms alone since then, and may be lost.
        self.losing = float("inf")

    def count(self, what: str) -> None:
        with self.guard:
            self.counts[what] += 1

    def blame(self, text: str) -> None:
        with self.guard:
            self.wrong.append(text)

    def stands_still(self, node: str) -> None:
        with self.guard:
            self.still[node] = float("inf")

    def goes_on(self, node: str) -> None:
        with self.guard:
            self.still[node] = time.monotonic()

    def becomes_calm(self) -> None:
        with self.guard:
            self.calms += 1
            self.calm = self.calms

    def stops_being_calm(self) -> None:
        with self.guard:
            self.calm = None

    def divides(self) -> None:
        with self.guard:
            self.divided = time.monotonic()

    def may_lose(self) -> None:
        """What is answered from now on may be known to nobody, until `loses`."""
        with self.guard:
            self.losing = time.monotonic()

    def loses(self) -> None:
        with self.guard:
            self.live = {session: begun for session, begun in self.live.items() if begun < self.losing}
            self.ended = {session: ended for session, ended in self.ended.items() if ended < self.losing}
            self.grants = [grant for grant in self.grants if max(grant.given, grant.sent or 0) < self.losing]
            self.lost, self.losing = time.monotonic(), float("inf")

    def is_kept(self, asked: float) -> bool:
        """Whether what was asked for then, and was just answered, cannot have been lost."""
        return self.losing == float("inf") and asked > self.lost

    def begins(self, session: str, asked: float) -> None:
        with self.guard:
            if self.is_kept(asked):
                self.live[session] = time.monotonic()
            self.counts["sign-ins"] += 1

    def may_end(self, session: str) -> None:
        with self.guard:
            self.live.pop(session, None)

    def ends(self, session: str, asked: float) -> None:
        with self.guard:
            if self.is_kept(asked):
                self.ended[session] = time.monotonic()
            self.counts["ends"] += 1

    def checked(self, session: str, node: str, asked: float, status: int, calm: int | None = None) -> None:
        """- calm: the number of the calm when it was asked."""
        with self.guard:
            self.counts[f"checks: {status}"] += 1
            begun, ended = (
                moment if moment is not None and moment < self.losing else None
                for moment in (self.live.get(session), self.ended.get(session)))
            # The last poll before the division counts for as long: then nobody can know what began on the other side.
            is_divided = begun is not None and begun > self.divided and asked < self.divided + 2 * TRUST
            if begun is not None and status not in (204, 503) and not is_divided:
                self.wrong.append(f"{node}: {status} for a live session, {asked - begun:.2f} s old")
            if begun is not None and status == 503 and calm is not None and calm == self.calm:
                self.wrong.append(f"{node}: 503 for a live session while nothing was broken")
            if ended is not None and asked > ended + TRUST and status == 204:
                self.wrong.append(f"{node}: accepted a session {asked - ended:.2f} s after its end")

    def took(self, what: str, node: str, asked: float, limit: float) -> None:
        with self.guard:
            seconds = time.monotonic() - asked
            if seconds > limit and asked > self.still.get(node, 0):
                self.wrong.append(f"{node}: {what} took {seconds:.1f} s")

    def granted(self, refresh_token: str, access_token: str, asked: float) -> None:
        with self.guard:
            if self.is_kept(asked):
                self.grants.append(Grant(refresh_token, access_token))
            self.counts["grants"] += 1

    def take_grant(self, roll) -> Grant | None:
        """For one at a time."""
        with self.guard:
            return self.grants.pop(roll.randrange(len(self.grants))) if self.grants else None

    def refreshed(self, grant: Grant, answers: list[tuple[int, dict]]) -> None:
        """One refresh token, sent to several servers at about the same time: every answer that came."""
        with self.guard:
            for status, _ in answers:
                self.counts[f"refreshes: {status}"] += 1
            if not self.is_kept(grant.sent) or time.monotonic() - grant.sent > REPEATED:
                return
            given = {body["refresh_token"]: body["access_token"] for status, body in answers if status == 200}
            self.wrong += [
                f"a refresh: {status} {body}, of a token given {time.monotonic() - grant.given:.1f} s ago and first sent "
                f"{time.monotonic() - grant.sent:.1f} s ago" for status, body in answers if status not in (200, 429, 503)]
            if len(given) > 1:
                self.wrong.append("a refresh token that was sent twice gave two")
            self.grants += [Grant(*tokens) for tokens in list(given.items())[:1]] or [grant]

    def used(self, access_token: str, node: str, status: int) -> None:
        with self.guard:
            self.counts[f"userinfo: {status}"] += 1
            is_held = any(
                grant.access_token == access_token and time.monotonic() - 60 < grant.given < self.losing
                for grant in self.grants)
            if is_held and status not in (200, 429, 503):
                self.wrong.append(f"{node}: {status} for an access token that was just given")

    def posted_again(self, node: str, status: int) -> None:
        """A callback that got 503 while nothing could be written, sent once more when it could."""
        with self.guard:
            self.counts[f"callbacks sent again: {status}"] += 1
            if status not in (303, 503):
                self.wrong.append(f"{node}: {status} for a callback sent again: its code was spent in vain")
