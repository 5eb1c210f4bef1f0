"""Apple sends a person's name once, ever. Whatever fails after that, at Apple or here, the name is there at the end."""

import contextlib
import http.client
import itertools
import threading
from urllib.parse import parse_qsl

import pytest

from patience import PATIENCE, eventually
from web import Browser, new_address

numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared_site(make_shared_site):
    return make_shared_site({"log.level": "info", "server.trustedProxies": ["127.0.0.1"]})


def heal(apple) -> None:
    """Ends whatever was wrong with Apple."""
    apple.call("POST", "faults/reset")
    apple.call("DELETE", "tokens")
    apple.call("PUT", "keys", {"mode": "normal"})
    apple.call("PUT", "clock", {"offset": 0})


@pytest.fixture
def site(shared_site):
    """The server as it is, and an Apple that is well."""
    yield shared_site
    heal(shared_site.apple)
    if shared_site.server.process.poll() is not None:
        shared_site.start()


class Visit(Browser):
    """The browser of somebody new to Apple, with what it keeps between two tries."""

    def __init__(self, site):
        # From an address of its own, so that one test's tries do not count against the next.
        super().__init__(site, new_address())
        number = next(numbers)
        self.person = f"person{number}"
        self.name = {"given": f"Grace{number}", "family": "Hopper"}
        site.apple.call("POST", "people", {
            "id": self.person, "givenName": self.name["given"], "familyName": self.name["family"],
            "email": f"{self.person}@example.com"})

    def leaves(self) -> str:
        return self.goes_to_apple(self.person)

    def signs_in_anew(self) -> None:
        form = self.leaves()
        # Otherwise this would show nothing.
        assert not has_name(form), "Apple sent the name a second time"
        done = self.comes_back(form)
        assert done.status == 303, done.body

    def is_named(self) -> bool:
        return self.session()["user"]["name"] == self.name


def has_name(form: str) -> bool:
    return "user" in dict(parse_qsl(form))


@pytest.fixture
def browser(site) -> Visit:
    return Visit(site)


def restart(site) -> None:
    """As an operator does; it also ends the wait before an unknown key is asked for again."""
    if site.server.process.poll() is None:
        assert site.stop() == 0
    site.start()


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


def is_written(browser: Visit) -> bool:
    """Whether the database holds the name, before there is a user."""
    return bool(browser.site.operator.database(
        "SELECT 1 FROM first_consent WHERE given_name = ?", browser.name["given"]))


@pytest.mark.parametrize("name", NEEDS_KEYS)
@pytest.mark.parametrize("again", ["anew", "reload"])
def test_the_name_survives_when_apples_keys_cannot_be_fetched(site, browser, name, again):
    # In this order: a server that has just started may still be fetching keys.
    site.apple.call("PUT", *NEEDS_KEYS[name])
    site.apple.call("POST", "keys/rotate", {"dropOld": True})
    form = browser.leaves()
    fails(browser, form)
    # Nobody vouched for it: nothing was written.
    assert not is_written(browser)
    heal(site.apple)
    restart(site)
    if again == "anew":
        browser.signs_in_anew()
    else:
        assert browser.comes_back(form).status == 303
    assert browser.is_named()
    assert "__Host-bramley-name" not in browser.cookies


@pytest.mark.parametrize("name", FRONT | EXCHANGE)
def test_the_name_survives_an_invalid_token_and_a_failed_code_exchange(site, browser, name):
    site.apple.call("PUT", *(FRONT | EXCHANGE)[name])
    fails(browser, browser.leaves())
    # The token beside the code vouches for the name.
    assert is_written(browser) == (name in EXCHANGE)
    heal(site.apple)
    if name in EXCHANGE:
        # In another browser: the name is here by now.
        browser.cookies.clear()
    browser.signs_in_anew()
    assert browser.is_named()


class Post:
    """A callback that is under way while the test goes on."""

    def __init__(self, browser: Visit, form: str):
        self.browser, self.form, self.answer = browser, form, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        # The server is killed meanwhile: nothing comes, or half of it.
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.answer = self.browser.comes_back(self.form)

    def is_killed(self) -> None:
        self.browser.site.server.kill()
        self.thread.join(PATIENCE)
        # A machine that is slow enough lets the server give up first: then it has said so.
        assert self.answer is None or self.answer.status == 503, self.answer.body


def hung(browser: Visit, form: str, endpoint: str) -> Post:
    """One that waits for Apple."""
    apple = browser.site.apple

    def asked() -> int:
        return apple.call("GET", "counters").get(endpoint, {}).get("requests", 0)

    apple.call("PUT", f"faults/{endpoint}", {"hang": True})
    before = asked()
    post = Post(browser, form)
    eventually(lambda: asked() > before, f"the request to {endpoint}")
    return post


def wait_for_the_exchange(browser: Visit) -> None:
    eventually(lambda: "authorization_code" in str(browser.site.apple.call("GET", "journal")), "the exchange")


def is_connected_to(site) -> bool:
    port = f":{site.port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as lines:
        return any(line.split()[1].endswith(port) and line.split()[3] == "01" for line in lines)


def kill_while_the_name_is_written(browser: Visit, form: str) -> None:
    with browser.site.operator.locked():
        post = Post(browser, form)
        # Whenever the kill comes while the lock is held, the name cannot have been written.
        eventually(lambda: is_connected_to(browser.site), "the connection")
        post.is_killed()


def kill_after_apple_took_the_code(browser: Visit, form: str) -> None:
    browser.site.apple.call("PUT", "faults/token", {"stall": True})
    post = Post(browser, form)
    wait_for_the_exchange(browser)
    post.is_killed()


def kill_while_the_session_is_written(browser: Visit, form: str) -> None:
    post = hung(browser, form, "token")
    with browser.site.operator.locked():
        browser.site.apple.call("POST", "faults/reset")
        wait_for_the_exchange(browser)
        post.is_killed()


def kill_after_the_answer(browser: Visit, form: str) -> None:
    assert browser.comes_back(form).status == 303
    browser.site.server.kill()


# Each with what becomes of the same form when the browser, which had no answer, sends it again.
KILLS = {
    "while Apple's keys are fetched": (lambda browser, form: hung(browser, form, "keys").is_killed(), "sign-in"),
    "while the name is written": (kill_while_the_name_is_written, "sign-in"),
    "before Apple took the code": (lambda browser, form: hung(browser, form, "token").is_killed(), "untried"),
    "after Apple took the code": (kill_after_apple_took_the_code, "refusal"),
    "while the session is written": (kill_while_the_session_is_written, "refusal"),
    "after the answer": (kill_after_the_answer, "signed in"),
}


@pytest.mark.parametrize("moment", KILLS)
def test_the_name_survives_a_kill_at_each_step(site, moment):
    kill, then = KILLS[moment]
    site.apple.call("POST", "reset")
    restart(site)
    browser = Visit(site)
    if moment == "while Apple's keys are fetched":
        # A key the server has not seen.
        site.apple.call("POST", "keys/rotate", {"dropOld": True})
    form = browser.leaves()
    assert has_name(form)
    kill(browser, form)
    site.apple.call("POST", "faults/reset")
    site.start()
    if then == "sign-in":
        assert browser.comes_back(form).status == 303
    elif then == "refusal":
        # Apple takes a code once.
        assert browser.comes_back(form).status == 400
        browser.signs_in_anew()
    elif then == "untried":
        browser.cookies.clear()
        browser.signs_in_anew()
    assert browser.is_named()
