"""Apple sends a person's name once, ever. Whatever fails after that, at Apple or here, the name is there at the end."""

import contextlib
import http.client
import itertools
import sqlite3
import threading
from urllib.parse import parse_qsl

import pytest

import postgres
from patience import PATIENCE, eventually
from web import Browser, new_address

numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared_site(make_shared_site):
    return make_shared_site({"log.level": "info", "server.trustedProxies": ["127.0.0.1"]})


@pytest.fixture
def site(shared_site):
    """The server as it is, and an Apple that is well."""
    yield shared_site
    shared_site.apple.call("POST", "faults/reset")
    shared_site.apple.call("DELETE", "tokens")
    shared_site.apple.call("PUT", "keys", {"mode": "normal"})
    shared_site.apple.call("PUT", "clock", {"offset": 0})
    if shared_site.server.process.poll() is not None:
        shared_site.start()


class Person:
    def __init__(self, site):
        self.number = next(numbers)
        self.id = f"person{self.number}"
        self.name = {"given": f"Grace{self.number}", "family": "Hopper"}
        site.apple.call("POST", "people", {
            "id": self.id, "givenName": self.name["given"], "familyName": self.name["family"],
            "email": f"{self.id}@example.com"})


class Visit(Browser):
    """A browser without a window: what a person's keeps between two tries."""

    def __init__(self, site, person: Person):
        # From an address of its own, so that one test's tries do not count against the next.
        super().__init__(site, new_address())
        self.person = person

    def leaves(self, **changes) -> str:
        return self.goes_to_apple(self.person.id, **changes)

    def signs_in_anew(self) -> None:
        form = self.leaves()
        # Otherwise this would show nothing.
        assert not has_name(form), "Apple sent the name a second time"
        done = self.comes_back(form)
        assert done.status == 303, done.body

    def is_named(self) -> bool:
        return self.session()["user"]["name"] == self.person.name


def has_name(form: str) -> bool:
    return "user" in dict(parse_qsl(form))


@pytest.fixture
def browser(site) -> Visit:
    return Visit(site, Person(site))


def restart(site) -> None:
    """As an operator does; it also ends the wait before an unknown key is asked for again."""
    if site.server.process.poll() is None:
        assert site.stop() == 0
    site.start()


# Apple fails at each step in turn

NEEDS_KEYS = {
    "503": ("faults/keys", {"status": 503}),
    "html": ("faults/keys", {"body": "html"}),
    "garbage": ("faults/keys", {"body": "garbage"}),
    "cut": ("faults/keys", {"close": "half"}),
    "closed": ("faults/keys", {"close": "start"}),
    "empty": ("keys", {"mode": "empty"}),
    "unknown": ("keys", {"mode": "withoutSigningKey"}),
}
FRONT = {
    wrong: ("tokens", {"wrong": [wrong], "on": "authorize"})
    for wrong in ("iss", "aud", "exp", "iat", "nonce", "cHash", "noCHash", "signature", "noKid")
} | {"clock": ("clock", {"offset": 7200})}
EXCHANGE = {
    **{f"{status}": ("faults/token", {"status": status}) for status in (403, 429, 500, 503)},
    **{error: ("faults/token", {"error": error}) for error in (
        "invalid_client", "invalid_grant", "invalid_request", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope", "unheard_of")},
    **{body: ("faults/token", {"body": body}) for body in ("html", "garbage", "empty", "huge")},
    "cut": ("faults/token", {"close": "half"}),
    "closed": ("faults/token", {"close": "start"}),
    **{f"token-{wrong}": ("tokens", {"wrong": [wrong], "on": "token"}) for wrong in (
        "iss", "aud", "sub", "exp", "nonce", "atHash", "signature", "algNone")},
}


def fails(browser: Visit, form: str) -> None:
    assert has_name(form), "Apple did not send the name the first time"
    failed = browser.comes_back(form)
    assert failed.status in (400, 503), failed.body
    assert not browser.is_signed_in()


def is_written(site, person: Person) -> bool:
    """Whether the database holds the name, before there is a user."""
    return bool(site.operator.database("SELECT 1 FROM first_consent WHERE given_name = ?", person.name["given"]))


@pytest.mark.parametrize("name", NEEDS_KEYS)
@pytest.mark.parametrize("again", ["anew", "reload"])
def test_the_name_survives_when_apples_keys_cannot_be_fetched(site, browser, name, again):
    # In this order: a server that has just started may still be fetching keys.
    site.apple.call("PUT", *NEEDS_KEYS[name])
    site.apple.call("POST", "keys/rotate", {"dropOld": True})
    form = browser.leaves()
    fails(browser, form)
    # Nobody vouched for it: nothing was written.
    assert not is_written(site, browser.person)
    site.apple.call("POST", "faults/reset")
    site.apple.call("PUT", "keys", {"mode": "normal"})
    restart(site)
    if again == "anew":
        browser.signs_in_anew()
    else:
        assert browser.comes_back(form).status == 303
    assert browser.is_named()
    assert "__Host-bramley-name" not in browser.cookies


@pytest.mark.parametrize("name", FRONT)
def test_an_invalid_token_beside_the_code_stores_no_name(site, browser, name):
    site.apple.call("PUT", *FRONT[name])
    fails(browser, browser.leaves())
    assert not is_written(site, browser.person)
    site.apple.call("DELETE", "tokens")
    site.apple.call("PUT", "clock", {"offset": 0})
    browser.signs_in_anew()
    assert browser.is_named()


@pytest.mark.parametrize("name", EXCHANGE)
def test_the_name_survives_a_failed_code_exchange(site, browser, name):
    site.apple.call("PUT", *EXCHANGE[name])
    fails(browser, browser.leaves())
    assert is_written(site, browser.person)
    site.apple.call("POST", "faults/reset")
    site.apple.call("DELETE", "tokens")
    # In another browser: the name is here by now.
    browser.cookies.clear()
    browser.signs_in_anew()
    assert browser.is_named()


# The process is killed at each step

class Post:
    """A callback that is under way while the test goes on."""

    def __init__(self, browser: Visit, form: str):
        self.answer = None
        self.thread = threading.Thread(target=self.run, args=(browser, form))
        self.thread.start()

    def run(self, browser: Visit, form: str) -> None:
        # The server is killed meanwhile: nothing comes, or half of it.
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.answer = browser.comes_back(form)

    def is_killed(self, site) -> None:
        site.server.kill()
        self.thread.join(PATIENCE)
        # A machine that is slow enough lets the server give up first: then it has said so.
        assert self.answer is None or self.answer.status == 503, self.answer.body


def asked(site, endpoint: str) -> int:
    return site.apple.call("GET", "counters").get(endpoint, {}).get("requests", 0)


class Lock:
    """Holds the database's one place for writers, as a slow disk would."""

    def __init__(self, site):
        if url := site.operator.url:
            self.connection = postgres.connect(url)
            self.connection.cursor().execute("SELECT id FROM store_lock FOR UPDATE")
        else:
            self.connection = sqlite3.connect(
                site.folder / "data" / "bramley.db", timeout=PATIENCE, isolation_level=None)
            self.connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self.connection.rollback()
        self.connection.close()


def killed_while_keys_are_fetched(site, browser, form) -> str:
    site.apple.call("PUT", "faults/keys", {"hang": True})
    before = asked(site, "keys")
    post = Post(browser, form)
    eventually(lambda: asked(site, "keys") > before, "the request for the keys")
    post.is_killed(site)
    return "reload"


def killed_while_the_name_is_written(site, browser, form) -> str:
    lock = Lock(site)
    post = Post(browser, form)
    # Whenever the kill comes while the lock is held, the name cannot have been written.
    eventually(lambda: established(site), "the connection")
    post.is_killed(site)
    lock.release()
    return "reload"


def killed_before_apple_took_the_code(site, browser, form) -> str:
    site.apple.call("PUT", "faults/token", {"hang": True})
    before = asked(site, "token")
    post = Post(browser, form)
    eventually(lambda: asked(site, "token") > before, "the exchange")
    post.is_killed(site)
    return "anew"


def killed_after_apple_took_the_code(site, browser, form) -> str:
    site.apple.call("PUT", "faults/token", {"stall": True})
    post = Post(browser, form)
    eventually(lambda: "authorization_code" in str(site.apple.call("GET", "journal")), "the exchange")
    post.is_killed(site)
    return "refused"


def killed_while_the_session_is_written(site, browser, form) -> str:
    site.apple.call("PUT", "faults/token", {"hang": True})
    before = asked(site, "token")
    post = Post(browser, form)
    eventually(lambda: asked(site, "token") > before, "the exchange")
    lock = Lock(site)
    site.apple.call("POST", "faults/reset")
    eventually(lambda: "authorization_code" in str(site.apple.call("GET", "journal")), "the exchange's end")
    post.is_killed(site)
    lock.release()
    return "refused"


def killed_after_the_answer(site, browser, form) -> str:
    assert browser.comes_back(form).status == 303
    site.server.kill()
    return "signed in"


def established(site) -> bool:
    """Whether somebody is connected to the server."""
    port = f":{site.port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as lines:
        return any(line.split()[1].endswith(port) and line.split()[3] == "01" for line in lines)


@pytest.mark.parametrize("kill", [
    killed_while_keys_are_fetched, killed_while_the_name_is_written, killed_before_apple_took_the_code,
    killed_after_apple_took_the_code, killed_while_the_session_is_written, killed_after_the_answer,
], ids=lambda kill: kill.__name__)
def test_the_name_survives_a_kill_at_each_step(site, browser, kill):
    site.apple.call("POST", "reset")
    restart(site)
    browser = Visit(site, Person(site))
    if kill is killed_while_keys_are_fetched:
        # A key the server has not seen.
        site.apple.call("POST", "keys/rotate", {"dropOld": True})
    form = browser.leaves()
    assert has_name(form)
    then = kill(site, browser, form)
    site.apple.call("POST", "faults/reset")
    site.start()
    if then == "reload":
        # What a browser offers that was given no answer.
        assert browser.comes_back(form).status == 303
    elif then == "refused":
        # Apple takes a code once.
        assert browser.comes_back(form).status == 400
        browser.signs_in_anew()
    elif then == "anew":
        browser.cookies.clear()
        browser.signs_in_anew()
    assert browser.is_named()
