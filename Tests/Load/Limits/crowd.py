"""People who sign in and proxies that ask who is signed in, all the time, whatever happens to the server."""

import contextlib
import http.client
import statistics
import threading
import time
from collections import Counter
from dataclasses import dataclass

from place import RECOVERY, within
from web import FORM, SAME_ORIGIN, SESSION, Answer, cookie_field

BROKEN = (OSError, http.client.HTTPException)
# What an answer is when all is well, by who asked.
WELL = {"sign-in": 303, "kept": 204, "fresh": 204}


@dataclass
class Noted:
    """What somebody was answered; status 0: nobody answered."""
    what: str
    answer: Answer | None
    seconds: float = 0

    @property
    def status(self) -> int:
        return self.answer.status if self.answer else 0


class Crowd:
    """- signers: threads of new people who sign in, one after another; every third signs out again.
    - kept, fresh: proxies on connections that stay, and on one for each question, who ask for those who stayed.
    - pause: between two of a signer's sign-ins, in seconds."""

    def __init__(self, place, signers: int = 2, kept: int = 2, fresh: int = 1, pause: float = 0.05,
                 timeout: float = 30):
        self.place, self.site, self.timeout, self.pause = place, place.site, timeout, pause
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.noted: list[Noted] = []
        # Who was told to be signed in and did not ask to be signed out, in order; and who was told to be signed out.
        self.signed_in: list[str] = []
        self.signed_out: list[str] = []
        self.failures: list[str] = []
        self.count = 0
        self.threads = [threading.Thread(target=self.run, args=(work, index), daemon=True) for work, index in [
            *((self.sign_in_and_out, index) for index in range(signers)),
            *((self.ask_on_one_connection, index) for index in range(kept)),
            *((self.ask_on_fresh_connections, index) for index in range(fresh))]]

    def start(self, patience: float) -> None:
        """Begins with somebody whom the proxies can ask for, and who may try for so many seconds."""
        begun, count, token = time.monotonic(), 0, None
        while not token:
            count += 1
            token, answer = self.sign_in(f"10.1.0.{count % 250 + 1}")
            assert token or time.monotonic() - begun < patience, answer and (answer.status, answer.text)
        self.signed_in.append(token)
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            # Nobody has begun when the first sign-in failed.
            if thread.ident:
                thread.join(timeout=60)

    def run(self, work, index: int) -> None:
        try:
            work(index)
        except Exception as error:  # a mistake of the test's own
            self.failures.append(f"{work.__name__}: {error!r}")

    def note(self, what: str, answer: Answer | None, seconds: float = 0) -> None:
        with self.lock:
            self.noted.append(Noted(what, answer, seconds))

    def mark(self) -> int:
        with self.lock:
            return len(self.noted)

    def since(self, mark: int, what: str) -> list[Noted]:
        with self.lock:
            return [noted for noted in self.noted[mark:] if noted.what == what]

    def statuses(self, mark: int, what: str) -> Counter:
        return Counter(noted.status for noted in self.since(mark, what))

    def tokens(self) -> list[str]:
        with self.lock:
            return list(self.signed_in)

    def gets(self, count: int, status: int = 303, since: int = 0) -> None:
        within(RECOVERY, lambda: self.statuses(since, "sign-in")[status] >= count, f"{count} sign-ins with {status}",
               lambda: f"{self.statuses(since, 'sign-in')}\n{self.place.text()[-2000:]}")

    def check_undisturbed(self, mark: int, *others: str, seconds: float = 10) -> None:
        """Who is signed in stayed so and did not wait for so long; and these others, too, found all well."""
        for what in ("kept", "fresh", *others):
            assert set(self.statuses(mark, what)) == {WELL[what]}, (what, self.statuses(mark, what))
            # The median: a busy machine holds up one or the other.
            assert statistics.median(noted.seconds for noted in self.since(mark, what)) < seconds, what

    def connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=self.timeout)
        connection.connect()
        # http.client would connect anew, in silence, when the server has closed.
        connection.auto_open = 0
        return connection

    def ask(self, connection, method: str, path: str, headers: dict, body: str | None = None) -> Answer:
        connection.request(method, path, body, {"Host": f"localhost:{self.site.port}"} | headers)
        return Answer(connection.getresponse())

    def ask_once(self, method: str, path: str, headers: dict, body: str | None = None) -> Answer | None:
        """On a connection of its own; None: nobody answered."""
        with contextlib.suppress(*BROKEN), contextlib.closing(self.connect()) as connection:
            return self.ask(connection, method, path, headers, body)

    def verify(self, connection, token: str) -> Answer:
        return self.ask(connection, "GET", "/auth/verify", cookie_field({SESSION: token}))

    def sign_in(self, address: str) -> tuple[str | None, Answer | None]:
        """Of somebody new: the session's token, if the answer has one, and the answer that ended the sign-in."""
        with self.lock:
            self.count += 1
            person = f"person{self.count}"
        apple = self.site.apple
        apple.add_person(person)
        start = self.ask_once("GET", "/login/apple", {"X-Forwarded-For": address})
        if not start or start.status != 303:
            return None, start
        form = apple.call("POST", "authorize", {"person": person, "authorize_url": start.location})["form"]
        done = self.ask_once("POST", "/apple/callback", FORM | cookie_field(start.cookies()) | {
            "X-Forwarded-For": address, "Origin": apple.origin, "Sec-Fetch-Site": "cross-site"}, form)
        return (done.cookies().get(SESSION) if done and done.status == 303 else None), done

    def sign_in_and_out(self, index: int) -> None:
        turn = 0
        while not self.stopping.wait(self.pause):
            turn += 1
            begun = time.monotonic()
            token, answer = self.sign_in(f"10.2.{index}.{turn % 250 + 1}")
            took = time.monotonic() - begun
            if token and turn % 3 == 0:
                gone = self.ask_once("DELETE", "/api/v1/session", SAME_ORIGIN | cookie_field({SESSION: token}))
                self.note("sign-out", gone)
                with self.lock:
                    # Without an answer nobody knows.
                    if gone and gone.status == 204:
                        self.signed_out.append(token)
                    elif gone and gone.status == 503:
                        self.signed_in.append(token)
            elif token:
                with self.lock:
                    self.signed_in.append(token)
            self.note("sign-in", answer, took)

    def ask_about(self, turn: int, what: str, connection) -> Answer:
        """Whether one of those who stayed is signed in."""
        with self.lock:
            token = self.signed_in[turn % len(self.signed_in)]
        begun = time.monotonic()
        answer = self.verify(connection, token)
        self.note(what, answer, time.monotonic() - begun)
        return answer

    def ask_on_one_connection(self, _) -> None:
        turn = 0
        while not self.stopping.is_set():
            try:
                connection = self.connect()
                while not self.stopping.wait(0.005):
                    turn += 1
                    if self.ask_about(turn, "kept", connection).headers.get("Connection") == "close":
                        break
                connection.close()
            except BROKEN:
                self.note("kept", None)
                self.stopping.wait(0.05)

    def ask_on_fresh_connections(self, _) -> None:
        turn = 0
        while not self.stopping.wait(0.02):
            turn += 1
            try:
                with contextlib.closing(self.connect()) as connection:
                    self.ask_about(turn, "fresh", connection)
            except BROKEN:
                self.note("fresh", None)

    def check_sessions(self, comment: str) -> None:
        """Who was told to be signed in is, and who was told to be signed out is not."""
        with contextlib.closing(self.connect()) as connection:
            wrong = Counter(
                f"{status} instead of {wanted}" for tokens, wanted in ((self.tokens(), 204), (self.signed_out, 401))
                for token in tokens if (status := self.verify(connection, token).status) != wanted)
        assert not wrong, f"{comment}: {dict(wrong)} of {len(self.signed_in)} and {len(self.signed_out)}"
