"""People who sign in and out on the web and in an app, change passwords, withdraw consent and delete their accounts."""

import hashlib
import http.client
import json
import random
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from programs import SERVICES_ID
from web import BINDING, FORM, SESSION, Answer, bearer, call, cookie_field

# Killed, or cut on the way: what was asked may have happened or not.
GONE = (OSError, http.client.HTTPException)
APP_ID = "com.example.chaos"
# How often a person reloads a page that does not answer before they give up, a third of a second apart.
RELOADS = 60
ENDS = ["consent-revoked", "consent-revoked", "account-delete", "account-deleted"]


@dataclass
class Held:
    """A session as its browser or its app knows it."""
    token: str
    client: str
    generation: int
    signed_out: bool = False
    # Ends of which the server certainly knows.
    ends: list[dict] = field(default_factory=list)

    @property
    def must_have_ended(self) -> bool:
        return self.signed_out or any(end["arrived"] for end in self.ends)

    @property
    def credential(self) -> dict:
        if self.client == APP_ID:
            return bearer(self.token)
        return {"Cookie": f"{SESSION}={self.token}", "Sec-Fetch-Site": "same-origin"}


class Person:
    def __init__(self, run, number: int):
        self.run, self.id = run, f"chaos{number}"
        self.roll = random.Random(f"{run.seed}/{number}")
        self.name = (f"Grace{number}", "Hopper")
        self.address = f"10.7.{number // 250}.{number % 250 + 1}"
        self.jar: dict[str, str] = {}
        # Counts the ends of what they allowed, and the new passwords besides: what was made before the last of them is
        # told from what was made since.
        self.epoch = self.generation = 0
        # The generation of the last sign-in that came to an end, by client: that of the refresh token the server has.
        self.signed: dict[str, int] = {}
        # Whether Apple has their consent, as it follows from what they did.
        self.consents = False
        # Whether the server keeps a user for them, and lets that user in; as it last told them.
        self.is_known = self.is_disabled = False
        # How the last consent ended, while no sign-in came after it.
        self.last_end: dict | None = None
        self.held: list[Held] = []
        self.user: str | None = None
        # Clients of which Apple knows a sign-in that the server may not know of.
        self.unfinished: set[str] = set()
        # What they asked for and do not know the answer to.
        self.pending = None
        # The server has had the name of the present consent, or who will bring it has.
        self.named = False
        self.app_has_name = False
        self.forwarding: dict | None = None
        # What they did and what came of it, for whoever looks into a difference.
        self.diary: list[str] = []
        run.apple.add_person(self.id, *self.name, hidesEmail=True)

    def notes(self, what: str) -> None:
        self.diary.append(time.strftime("%H:%M:%S ", time.gmtime()) + what)

    # One request

    def ask(self, method: str, path: str, headers: dict | None = None, body: str | dict | None = None) -> Answer:
        return call(self.run.site, method, path, {"X-Forwarded-For": self.address} | (headers or {}), body, timeout=30)

    def persist(self, method: str, path: str, headers: dict | None = None, body: str | dict | None = None):
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
        answer = self.persist(method, path, (headers or {}) | cookie_field(self.jar), body)
        cookies = answer.cookies() if answer else {}
        session = cookies.pop(SESSION, None)
        for name, value in cookies.items():
            self.jar.pop(name, None)
            if value:
                self.jar[name] = value
        return answer, session

    # Signing in

    def signs_in(self, gives_up: bool = False) -> bool:
        # Who began with one of the two continues with it.
        clients = sorted(self.unfinished) or [SERVICES_ID, SERVICES_ID, APP_ID]
        way = self.signs_in_on_the_web if self.roll.choice(clients) == SERVICES_ID else self.signs_in_from_the_app
        return way(gives_up)

    def is_at_apple(self, client: str, has_name: bool) -> None:
        """From now on Apple has their consent, and the server does not know."""
        self.unfinished.add(client)
        self.consents = True
        self.notes(f"at Apple for {client}" + (", with the name" if has_name else ""))

    def signs_in_on_the_web(self, gives_up: bool = False) -> bool:
        # In a browser of its own: in the same one, the session before would go on under the new token.
        self.jar.pop(BINDING, None)
        start, _ = self.browse("GET", "/login/apple")
        if start is None or start.status != 303:
            return False
        form = self.run.apple.call("POST", "authorize", {"person": self.id, "authorize_url": start.location})["form"]
        has_name = "user" in dict(parse_qsl(form))
        self.is_at_apple(SERVICES_ID, has_name)
        if has_name:
            self.named = self.app_has_name = False
        if gives_up:
            self.run.count("sign-ins abandoned at Apple")
            return False
        answer, session = self.browse(
            "POST", "/apple/callback", FORM | {"Origin": self.run.apple.origin, "Sec-Fetch-Site": "cross-site"}, form)
        self.notes(f"back: {answer.status if answer else 'no answer'}, {'a session' if session else 'no session'}")
        if answer is None:
            return False
        # From now on the name is the server's to keep, in its database or in this browser.
        self.named = self.named or has_name
        if answer.status not in (303, 403):
            self.run.count("sign-ins failed")
            self.run.stop.wait(self.roll.uniform(0.2, 1))
            return False
        self.has_signed_in(SERVICES_ID, is_disabled=answer.status == 403)
        self.run.count("sign-ins refused: disabled" if self.is_disabled else "sign-ins")
        if session:
            self.held.append(Held(session, SERVICES_ID, self.generation))
            self.learns_who_they_are(self.held[-1])
        return True

    def signs_in_from_the_app(self, gives_up: bool = False) -> bool:
        start = self.persist("POST", "/api/v1/native/challenge")
        if start is None or start.status != 200:
            return False
        given = self.taps(start.json()["nonce"])
        has_name = given.pop("hasName")
        self.is_at_apple(APP_ID, has_name)
        if has_name:
            # It writes down what it is going to send before it sends it.
            self.named = self.app_has_name = True
        if gives_up:
            self.run.count("sign-ins abandoned at Apple")
            return False
        if self.app_has_name:
            given["user"] = {"givenName": self.name[0], "familyName": self.name[1]}
        body = json.dumps(given)
        for _ in range(3):
            # The very same content, for the same session.
            answer = self.persist("POST", "/api/v1/native/sessions", {"Content-Type": "application/json"}, body)
            if answer is None or answer.status != 503 or self.run.stop.wait(0.2):
                break
        code = "no answer" if answer is None else answer.status if answer.status == 200 else answer.json()["code"]
        self.notes(f"the app: {code}")
        if code not in (200, "user_disabled"):
            self.run.count("sign-ins from the app failed")
            self.run.stop.wait(self.roll.uniform(0.2, 1))
            return False
        self.app_has_name = False
        self.has_signed_in(APP_ID, is_disabled=code != 200)
        self.run.count("sign-ins refused: disabled" if self.is_disabled else "sign-ins from the app")
        if code == 200:
            found = answer.json()
            self.user = found["user"]["id"]
            self.held.append(Held(found["token"], APP_ID, self.generation))
        return True

    def taps(self, nonce: str) -> dict:
        """What the system gives the app: Apple is told the nonce's hash."""
        given = self.run.apple.call("POST", "native", {
            "person": self.id, "client_id": APP_ID, "nonce": hashlib.sha256(nonce.encode()).hexdigest()})
        return {"identityToken": given["identityToken"], "authorizationCode": given["authorizationCode"], "nonce": nonce,
                "hasName": "fullName" in given}

    def has_signed_in(self, client: str, is_disabled: bool) -> None:
        self.unfinished.discard(client)
        self.signed[client] = self.generation
        self.is_known, self.is_disabled, self.last_end = True, is_disabled, None
        # Who is disabled is who they were; else a page tells them in a moment.
        if not is_disabled:
            self.user = None

    def learns_who_they_are(self, held: Held) -> None:
        answer = self.persist("GET", "/api/v1/session", held.credential)
        if answer is not None and answer.status == 200:
            self.user = answer.json()["user"]["id"]

    # What must be so by now

    def live_clients(self) -> set[str]:
        """Whose refresh token Apple takes."""
        return {client for client, generation in self.signed.items() if generation == self.generation}

    def current(self) -> Held | None:
        return next((held for held in reversed(self.held) if held.generation == self.generation and not held.signed_out), None)

    # Being signed in

    def is_let_in(self, held: Held) -> bool | None:
        answer = self.persist("GET", "/auth/verify", held.credential)
        return None if answer is None else answer.status == 204

    def looks(self) -> None:
        if held := self.roll.choice(self.held) if self.held else None:
            self.is_let_in(held)
            self.run.count("looks")

    def signs_out(self) -> None:
        if held := self.current():
            self.tries(lambda: self.ends_session(held))

    def ends_session(self, held: Held) -> bool:
        answer = self.persist("DELETE", "/api/v1/session", held.credential)
        if answer is None:
            return False
        # 401 when it had ended: by the request before, whose answer was lost.
        assert answer.status in (204, 401), (answer.status, answer.text)
        held.signed_out = True
        self.run.count("sign-outs")
        return True

    def tries(self, attempt) -> None:
        """Until they know what became of it, they do nothing else: the attempt says whether they do."""
        self.pending = attempt
        if attempt():
            self.pending = None

    # At Apple

    def withdraws(self) -> None:
        """In the settings of their Apple Account, or with the whole account."""
        if not self.consents:
            return
        told = self.notification(self.roll.choice(ENDS))
        self.withdrew(told)
        self.run.courier.take(told)
        self.waits_for_the_next_second()

    def withdrew(self, told: dict) -> None:
        self.run.count("consents withdrawn" if told["type"] == "consent-revoked" else "Apple Accounts deleted")
        self.last_end = told | {"policy": self.run.policy, "wasLive": bool(self.live_clients()), "word": told}
        self.consents = False
        self.ends(told)

    def ends(self, end: dict) -> None:
        self.epoch += 1
        self.generation += 1
        self.notes(f"the end: {end.get('type', 'account deleted here')}")
        for held in self.held:
            held.ends.append(end)

    def waits_for_the_next_second(self) -> None:
        """`iat` has whole seconds. Who is back within the second of the end is taken for somebody who was there before."""
        time.sleep(1.02 - time.time() % 1)

    def notification(self, kind: str) -> dict:
        """What Apple says, and holds to from now on; not delivered yet."""
        made = self.run.apple.call("POST", "notifications", {"type": kind, "person": self.id, "deliver": False})
        return {"payload": made["payload"], "type": kind, "arrived": False, "epoch": self.epoch, "person": self}

    def changes_password(self) -> None:
        """Every refresh token dies, and nobody is told: only the daily check can find it. The consent stands."""
        self.run.apple.call("POST", "passwords", {"person": self.id})
        self.generation += 1
        self.notes("a new password")
        self.run.count("passwords changed")

    def stops_forwarding(self) -> None:
        # Later words about an address overtake earlier ones; of what Apple never says nobody knows.
        if not self.unfinished and self.current():
            self.forwarding = self.notification(self.roll.choice(["email-disabled", "email-enabled"]))
            self.run.courier.take(self.forwarding, may_be_lost=False)
            self.run.count("e-mail notifications")

    # Leaving

    def deletes_account(self) -> None:
        if self.user is None and (held := self.current()):
            self.learns_who_they_are(held)
        # Who came back without finishing has a token at Apple that the server cannot know of.
        if self.unfinished or self.user is None or not self.is_known:
            return
        ways = [self.deleted_by_backend, self.deleted_by_command]
        if held := self.current():
            ways += [lambda: self.deleted_here(held)] * 2
            if held.client == APP_ID:
                ways += [self.with_a_fresh_code(held)] * 2
        way = self.roll.choice(ways)
        self.tries(lambda: self.deletes(way))

    def deletes(self, way) -> bool:
        is_gone = way()
        if is_gone:
            self.run.count("accounts deleted")
            # Apple is told with the tokens that there were. Of dead ones it says nothing, and the consent stands.
            self.consents = self.consents and not self.live_clients()
            self.ends({"arrived": True})
            self.is_known = self.is_disabled = self.named = False
            self.user = self.last_end = None
            if self.roll.random() < 0.5:
                self.waits_for_the_next_second()
        return is_gone is not None

    @staticmethod
    def became(answer, *gone: int) -> bool | None:
        """None: nobody knows."""
        return None if answer is None else answer.status in gone

    def deleted_here(self, held: Held) -> bool | None:
        # 403: signed in too long ago; 401: gone by the request before.
        return self.became(self.persist("DELETE", "/api/v1/account", held.credential), 202, 401)

    def with_a_fresh_code(self, held: Held):
        """The app shows Apple's sheet once more, and sends the very same content until it has an answer."""
        body: list[str] = []

        def way() -> bool | None:
            if not body:
                start = self.persist("POST", "/api/v1/native/challenge")
                if start is None or start.status != 200:
                    return False
                given = self.taps(start.json()["nonce"])
                body.append(json.dumps({name: given[name] for name in ("authorizationCode", "nonce")}))
            gone = self.became(self.persist(
                "DELETE", "/api/v1/account", held.credential | {"Content-Type": "application/json"}, body[0]), 202, 401)
            if gone:
                self.run.count("accounts deleted with a fresh code")
            return gone

        return way

    def deleted_by_backend(self) -> bool | None:
        return self.became(self.persist("DELETE", f"/api/v1/users/{self.user}", bearer(self.run.key)), 202, 404)

    def deleted_by_command(self) -> bool:
        done = self.run.run("users", "delete", self.user, "--yes")
        assert done.returncode == 0 or "There is no user" in done.stderr, done.stderr
        return True

    def asks_to_be_let_in(self) -> None:
        """Whom Apple said to be gone is back, and the backend enables them."""
        self.run.stop.wait(0.2) if self.user is None else self.tries(self.enabled)

    def enabled(self) -> bool:
        answer = self.persist("PATCH", f"/api/v1/users/{self.user}", bearer(self.run.key), {"state": "active"})
        if answer is None:
            return False
        # The key may not read people: nothing of them comes back.
        assert answer.status in (204, 503), (answer.status, answer.text)
        if answer.status == 204:
            self.is_disabled = False
            self.notes("enabled")
            self.run.count("people enabled")
        return answer.status == 204

    def acts(self) -> None:
        if self.pending is not None:
            self.tries(self.pending)
            return
        if self.is_disabled and self.roll.random() < 0.5:
            self.asks_to_be_let_in()
            return
        if self.current() is None and not self.unfinished:
            dice = self.roll.random()
            if dice < 0.4:
                self.signs_in()
            elif dice < 0.44:
                self.deletes_account()
            elif dice < 0.48:
                self.withdraws()
            else:
                # Some stay away for a while, and some for good.
                self.run.stop.wait(0.2)
            return
        if self.unfinished and self.roll.random() < 0.8:
            self.signs_in()
            return
        self.roll.choices(
            [self.signs_in, lambda: self.signs_in(gives_up=True), self.looks, self.signs_out, self.stops_forwarding,
             self.changes_password, self.withdraws, self.deletes_account],
            [26, 4, 20, 6, 10, 8, 18, 18])[0]()
