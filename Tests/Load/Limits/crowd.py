"""People who sign in and proxies that ask who is signed in, all the time, whatever happens to the server."""

import http.client
import threading
import time
from collections import Counter
from dataclasses import dataclass
from http.cookies import SimpleCookie

SESSION = "__Host-bramley"
BROKEN = (OSError, http.client.HTTPException)
FORM = "application/x-www-form-urlencoded"


@dataclass
class Answer:
    """What somebody was answered; status 0: nobody answered."""
    what: str
    status: int
    headers: http.client.HTTPMessage | None = None
    text: str = ""
    seconds: float = 0


class Crowd:
    """- signers: threads of new people who sign in, one after another; every third signs out again.
    - kept, fresh: proxies on connections that stay, and on one for each question, who ask for those who stayed.
    - pause: between two of a signer's sign-ins, in seconds."""

    def __init__(
            self, place, signers: int = 2, kept: int = 2, fresh: int = 1, pause: float = 0.05, timeout: float = 30):
        self.place, self.site, self.timeout, self.pause = place, place.site, timeout, pause
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.answers: list[Answer] = []
        # Who was told to be signed in and did not ask to be signed out, in order.
        self.signed_in: list[str] = []
        # Who was told to be signed out.
        self.signed_out: list[str] = []
        self.failures: list[str] = []
        self.count = 0
        self.threads = [threading.Thread(target=self.run, args=(work, index), daemon=True) for work, index in [
            *((self.sign_in_and_out, index) for index in range(signers)),
            *((self.ask_on_one_connection, index) for index in range(kept)),
            *((self.ask_on_fresh_connections, index) for index in range(fresh))]]

    def start(self, patience: float) -> None:
        """Begins with somebody whom the proxies can ask for, and who may try for so many seconds."""
        begun, count = time.monotonic(), 0
        while True:
            count += 1
            token, answer = self.sign_in(self.name(), f"10.1.0.{count % 250 + 1}")
            if token:
                break
            assert time.monotonic() - begun < patience, answer
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

    def note(self, answer: Answer) -> Answer:
        with self.lock:
            self.answers.append(answer)
        return answer

    # What happened

    def mark(self) -> int:
        with self.lock:
            return len(self.answers)

    def since(self, mark: int, what: str) -> list[Answer]:
        with self.lock:
            return [answer for answer in self.answers[mark:] if answer.what == what]

    def statuses(self, mark: int, what: str) -> Counter:
        return Counter(answer.status for answer in self.since(mark, what))

    def tokens(self) -> list[str]:
        with self.lock:
            return list(self.signed_in)

    # One request

    def connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=self.timeout)
        connection.connect()
        # http.client would connect anew, in silence, when the server has closed.
        connection.auto_open = 0
        return connection

    def ask(self, connection, method: str, path: str, headers: dict, body: str | None = None) -> Answer:
        start = time.monotonic()
        connection.request(method, path, body, {"Host": f"localhost:{self.site.port}"} | headers)
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
        return Answer(path, response.status, response.headers, text, time.monotonic() - start)

    def verify(self, connection, token: str) -> Answer:
        return self.ask(connection, "GET", "/auth/verify", {"Cookie": f"{SESSION}={token}"})

    def name(self) -> str:
        with self.lock:
            self.count += 1
            return f"person{self.count}"

    def sign_in(self, person: str, address: str) -> tuple[str | None, Answer]:
        """The session's token, if the answer has one, and the answer that ended the sign-in."""
        self.site.apple.call("POST", "people", {
            "id": person, "givenName": "Ada", "familyName": "Orchard", "email": f"{person}@example.com"})
        jar: dict[str, str] = {}

        def browse(method: str, path: str, headers: dict, body: str | None = None) -> Answer:
            try:
                connection = self.connect()
                try:
                    answer = self.ask(connection, method, path, headers | {
                        "X-Forwarded-For": address,
                        "Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())}, body)
                finally:
                    connection.close()
            except BROKEN as error:
                return Answer(path, 0, text=repr(error))
            for line in answer.headers.get_all("Set-Cookie") or []:
                jar.update({name: morsel.value for name, morsel in SimpleCookie(line).items()})
            return answer

        start = browse("GET", "/login/apple", {})
        if start.status != 303:
            return None, start
        form = self.site.apple.call(
            "POST", "authorize", {"person": person, "authorize_url": start.headers["Location"]})["form"]
        answer = browse("POST", "/apple/callback", {
            "Content-Type": FORM, "Origin": self.site.apple.origin, "Sec-Fetch-Site": "cross-site"}, form)
        return (jar.get(SESSION) if answer.status == 303 else None), answer

    def sign_out(self, token: str) -> Answer:
        connection = self.connect()
        try:
            return self.ask(connection, "DELETE", "/api/v1/session", {
                "Cookie": f"{SESSION}={token}", "Sec-Fetch-Site": "same-origin"})
        finally:
            connection.close()

    # What each does

    def sign_in_and_out(self, index: int) -> None:
        turn = 0
        while not self.stopping.wait(self.pause):
            turn += 1
            token, answer = self.sign_in(self.name(), f"10.2.{index}.{turn % 250 + 1}")
            if token and turn % 3 == 0:
                try:
                    gone = self.note(self.named("sign-out", self.sign_out(token)))
                except BROKEN:
                    gone = Answer("sign-out", 0)
                with self.lock:
                    # Without an answer nobody knows.
                    if gone.status == 204:
                        self.signed_out.append(token)
                    elif gone.status == 503:
                        self.signed_in.append(token)
            elif token:
                with self.lock:
                    self.signed_in.append(token)
            self.note(self.named("sign-in", answer))

    @staticmethod
    def named(what: str, answer: Answer) -> Answer:
        answer.what = what
        return answer

    def pick(self, turn: int) -> str:
        with self.lock:
            return self.signed_in[turn % len(self.signed_in)]

    def ask_on_one_connection(self, index: int) -> None:
        turn = 0
        while not self.stopping.is_set():
            try:
                connection = self.connect()
                while not self.stopping.wait(0.005):
                    turn += 1
                    answer = self.note(self.named("kept", self.verify(connection, self.pick(turn))))
                    if answer.headers.get("Connection") == "close":
                        break
                connection.close()
            except BROKEN as error:
                self.note(Answer("kept", 0, text=repr(error)))
                self.stopping.wait(0.05)

    def ask_on_fresh_connections(self, index: int) -> None:
        turn = 0
        while not self.stopping.wait(0.02):
            turn += 1
            try:
                connection = self.connect()
                try:
                    self.note(self.named("fresh", self.verify(connection, self.pick(turn))))
                finally:
                    connection.close()
            except BROKEN as error:
                self.note(Answer("fresh", 0, text=repr(error)))

    # What must be true at last

    def check_sessions(self, comment: str) -> None:
        """Who was told to be signed in is, and who was told to be signed out is not."""
        connection = self.connect()
        wrong = Counter()
        try:
            for token, wanted in [(token, 204) for token in self.tokens()] + [
                    (token, 401) for token in self.signed_out]:
                status = self.verify(connection, token).status
                if status != wanted:
                    wrong[f"{status} instead of {wanted}"] += 1
        finally:
            connection.close()
        assert not wrong, f"{comment}: {dict(wrong)} of {len(self.signed_in)} and {len(self.signed_out)}"
