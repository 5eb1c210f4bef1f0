"""People who sign in, sign out, withdraw their consent and delete their accounts, each in an order of their own."""

import http.client
import json
import random
import subprocess
import time
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl

# Killed, or cut on the way: what was asked may have happened or not.
GONE = (OSError, http.client.HTTPException)
SESSION = "__Host-bramley"
# How often a person reloads a page that does not answer before they give up, a third of a second apart.
RELOADS = 60
ENDS = ["consent-revoked", "consent-revoked", "account-delete", "account-deleted"]


@dataclass
class Held:
    """A session as its browser knows it."""
    cookie: str
    epoch: int
    signed_out: bool = False
    # Ends of which the server certainly knows.
    ends: list[dict] = field(default_factory=list)

    @property
    def must_have_ended(self) -> bool:
        return self.signed_out or any(end["arrived"] for end in self.ends)


class Person:
    def __init__(self, run, number: int):
        self.run, self.id = run, f"chaos{number}"
        self.roll = random.Random(f"{run.seed}/{number}")
        self.name = (f"Grace{number}", "Hopper")
        self.address = f"10.7.{number // 250}.{number % 250 + 1}"
        self.jar: dict[str, str] = {}
        # Counts the ends of what they allowed, so that an old session is told from one of now.
        self.epoch = 0
        self.held: list[Held] = []
        self.user: str | None = None
        # Apple knows a consent that the server may not know of.
        self.unfinished = False
        # The server has had the name of the present consent.
        self.named = False
        self.forwarding: dict | None = None
        # What they did and what came of it, for whoever looks into a difference.
        self.diary: list[str] = []
        run.apple.call("POST", "people", {
            "id": self.id, "givenName": self.name[0], "familyName": self.name[1],
            "email": f"{self.id}@example.com", "hidesEmail": True})

    def notes(self, what: str) -> None:
        self.diary.append(time.strftime("%H:%M:%S ", time.gmtime()) + what)

    # One request

    def ask(self, method: str, path: str, headers: dict | None = None, body: str | None = None):
        connection = http.client.HTTPConnection("127.0.0.1", self.run.site.port, timeout=30)
        try:
            connection.request(method, path, body, {
                "Host": f"localhost:{self.run.site.port}", "X-Forwarded-For": self.address, **(headers or {})})
            answer = connection.getresponse()
            answer.text = answer.read()
            return answer
        finally:
            connection.close()

    def persist(self, method: str, path: str, headers: dict | None = None, body: str | None = None):
        """Reloads until there is an answer; None when they give up."""
        for _ in range(RELOADS):
            try:
                answer = self.ask(method, path, headers, body)
                if answer.status != 429:
                    return answer
            except GONE:
                pass
            if self.run.stop.wait(0.3) and not self.run.settling:
                return None
        return None

    def browse(self, method: str, path: str, headers: dict | None = None, body: str | None = None):
        """The same with the cookies of a browser; the session's is kept apart, so that none replaces another."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        answer = self.persist(method, path, (headers or {}) | ({"Cookie": cookies} if cookies else {}), body)
        session = None
        for line in (answer.headers.get_all("Set-Cookie") or []) if answer else []:
            for name, morsel in SimpleCookie(line).items():
                if name == SESSION:
                    session = morsel.value
                elif morsel["max-age"] == "0":
                    self.jar.pop(name, None)
                else:
                    self.jar[name] = morsel.value
        return answer, session

    # What they do

    def signs_in(self, gives_up: bool = False) -> bool:
        start, _ = self.browse("GET", "/login/apple")
        if start is None or start.status != 303:
            return False
        self.unfinished = True
        form = self.run.apple.call(
            "POST", "authorize", {"person": self.id, "authorize_url": start.headers["Location"]})["form"]
        has_name = "user" in dict(parse_qsl(form))
        self.notes("at Apple, with the name" if has_name else "at Apple")
        if has_name:
            self.named = False
        if gives_up:
            self.run.count("sign-ins abandoned at Apple")
            return False
        answer, session = self.browse("POST", "/apple/callback", {
            "Content-Type": "application/x-www-form-urlencoded", "Origin": self.run.apple.origin,
            "Sec-Fetch-Site": "cross-site"}, form)
        self.notes(f"back: {answer.status if answer else 'no answer'}, {'a session' if session else 'no session'}")
        if answer is None:
            return False
        # From now on the name is the server's to keep, in its database or in this browser.
        self.named = self.named or has_name
        if answer.status != 303:
            self.run.count("sign-ins failed")
            self.run.stop.wait(self.roll.uniform(0.2, 1))
            return False
        self.unfinished = False
        self.run.count("sign-ins")
        if session:
            self.held.append(Held(session, self.epoch))
            self.learns_who_they_are(session)
        return True

    def learns_who_they_are(self, session: str) -> None:
        answer = self.persist("GET", "/api/v1/session", {"Cookie": f"{SESSION}={session}"})
        if answer is not None and answer.status == 200:
            self.user = json.loads(answer.text)["user"]["id"]

    def current(self) -> Held | None:
        return next((held for held in reversed(self.held) if held.epoch == self.epoch and not held.signed_out), None)

    def is_let_in(self, held: Held) -> bool | None:
        answer = self.persist("GET", "/auth/verify", {"Cookie": f"{SESSION}={held.cookie}"})
        return None if answer is None else answer.status == 204

    def looks(self) -> None:
        if held := self.roll.choice(self.held) if self.held else None:
            self.is_let_in(held)
            self.run.count("looks")

    def signs_out(self) -> None:
        if held := self.current():
            answer = self.persist("DELETE", "/api/v1/session", {
                "Cookie": f"{SESSION}={held.cookie}", "Sec-Fetch-Site": "same-origin"})
            if answer is not None:
                # 401 when it had ended: by the request before, whose answer was lost.
                assert answer.status in (204, 401), (answer.status, answer.text)
                held.signed_out = True
                self.run.count("sign-outs")

    def withdraws(self) -> None:
        """In the settings of their Apple Account, or with the whole account."""
        kind = self.roll.choice(ENDS)
        told = self.notification(kind)
        self.ends(told)
        self.run.count("consents withdrawn" if kind == "consent-revoked" else "Apple Accounts deleted")
        self.run.courier.take(told)
        self.waits_for_the_next_second()

    def ends(self, end: dict) -> None:
        self.epoch += 1
        self.notes(f"the end: {end.get('type', 'account deleted here')}")
        for held in self.held:
            held.ends.append(end)

    def waits_for_the_next_second(self) -> None:
        """`iat` has whole seconds. Who is back within the second of the end is taken for somebody who was there before."""
        time.sleep(1.02 - time.time() % 1)

    def notification(self, kind: str) -> dict:
        """What Apple says, and holds to from now on; not delivered yet."""
        made = self.run.apple.call(
            "POST", "notifications", {"type": kind, "person": self.id, "deliver": False})
        return {"payload": made["payload"], "type": kind, "arrived": False, "epoch": self.epoch, "person": self}

    def stops_forwarding(self) -> None:
        # Later words about an address overtake earlier ones; of what Apple never says nobody knows.
        if not self.unfinished and self.current():
            self.forwarding = self.notification(self.roll.choice(["email-disabled", "email-enabled"]))
            self.run.courier.take(self.forwarding, may_be_lost=False)
            self.run.count("e-mail notifications")

    def deletes_account(self) -> None:
        # Who came back without finishing has a token at Apple that the server cannot know of.
        held = self.current()
        if self.unfinished or held is None or self.user is None:
            return
        way = self.roll.choice([self.deleted_here, self.deleted_here, self.deleted_by_backend, self.deleted_by_command])
        if not way(held):
            return
        self.run.count("accounts deleted")
        self.ends({"arrived": True})
        self.user, self.named = None, False
        if self.roll.random() < 0.5:
            self.waits_for_the_next_second()

    def deleted_here(self, held: Held) -> bool:
        answer = self.persist("DELETE", "/api/v1/account", {
            "Cookie": f"{SESSION}={held.cookie}", "Sec-Fetch-Site": "same-origin"})
        # 403: signed in too long ago; 401: gone by the request before, or ended by a check.
        return answer is not None and answer.status in (202, 401)

    def deleted_by_backend(self, held: Held) -> bool:
        answer = self.persist(
            "DELETE", f"/api/v1/users/{self.user}", {"Authorization": f"Bearer {self.run.key}"})
        return answer is not None and answer.status in (202, 404)

    def deleted_by_command(self, held: Held) -> bool:
        done = subprocess.run(
            [str(self.run.site.binaries / "bramley"), "users", "delete", self.user, "--yes",
             "--config", str(self.run.site.folder / "config.json")],
            capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0 or "There is no user" in done.stderr, done.stderr
        return True

    def acts(self) -> None:
        if self.current() is None and not self.unfinished:
            # Some stay away for a while, and some for good.
            self.signs_in() if self.roll.random() < 0.4 else self.run.stop.wait(0.2)
            return
        if self.unfinished and self.roll.random() < 0.8:
            self.signs_in()
            return
        self.roll.choices(
            [self.signs_in, lambda: self.signs_in(gives_up=True), self.looks, self.signs_out, self.stops_forwarding,
             self.withdraws, self.deletes_account],
            [20, 4, 20, 6, 10, 20, 20])[0]()
