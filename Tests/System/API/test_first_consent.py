"""Apple sends a person's name once, ever. Whatever fails after that, at Apple or here, the name is there at the end."""

import http.client
import itertools
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl

import pytest

from patience import PATIENCE, eventually
from web import Browser, new_address

numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared_site(make_shared_site):
    return make_shared_site({"log.level": "info", "server.trustedProxies": ["127.0.0.1"]})


def heal(apple) -> None:
    for call in (("POST", "faults/reset"), ("DELETE", "tokens"), ("PUT", "keys", {"mode": "normal"}),
                 ("PUT", "clock", {"offset": 0})):
        apple.call(*call)


@pytest.fixture
def site(shared_site):
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
        site.apple.add_person(self.person, *self.name.values())

    def leaves(self, is_first: bool = True) -> str:
        form = self.goes_to_apple(self.person)
        # Otherwise a test would show nothing.
        assert ("user" in dict(parse_qsl(form))) == is_first, "Apple sends the name the first time alone"
        return form

    def fails(self, form: str) -> None:
        failed = self.comes_back(form)
        assert failed.status in (400, 503), failed.body
        assert not self.is_signed_in()

    def is_written(self) -> bool:
        sql = "SELECT 1 FROM first_consent WHERE given_name = ?"
        return bool(self.site.operator.database(sql, self.name["given"]))

    def signs_in_anew(self) -> None:
        self.comes_back(self.leaves(is_first=False)).must(303)

    def is_named(self) -> bool:
        return self.session()["user"]["name"] == self.name


@pytest.fixture
def browser(site) -> Visit:
    return Visit(site)


NEEDS_KEYS = {
    "503": ("faults/keys", {"status": 503}), "cut": ("faults/keys", {"close": "half"}),
    "closed": ("faults/keys", {"close": "start"}), "empty": ("keys", {"mode": "empty"}),
    "unknown": ("keys", {"mode": "withoutSigningKey"}),
    **{body: ("faults/keys", {"body": body}) for body in ("html", "garbage")},
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
    "cut": ("faults/token", {"close": "half"}), "closed": ("faults/token", {"close": "start"}),
    **{f"token-{wrong}": ("tokens", {"wrong": [wrong], "on": "token"}) for wrong in (
        "iss", "aud", "sub", "exp", "nonce", "atHash", "signature", "algNone")},
}


@pytest.mark.parametrize("name", NEEDS_KEYS)
@pytest.mark.parametrize("again", ["anew", "reload"])
def test_the_name_survives_when_apples_keys_cannot_be_fetched(site, browser, name, again):
    # In this order: a server that has just started may still be fetching keys.
    site.apple.call("PUT", *NEEDS_KEYS[name])
    site.apple.call("POST", "keys/rotate", {"dropOld": True})
    form = browser.leaves()
    browser.fails(form)
    # Nobody vouched for it: nothing was written.
    assert not browser.is_written()
    heal(site.apple)
    # It also ends the wait before an unknown key is asked for again.
    site.restart()
    if again == "anew":
        browser.signs_in_anew()
    else:
        assert browser.comes_back(form).status == 303
    assert browser.is_named() and "__Host-bramley-name" not in browser.cookies


@pytest.mark.parametrize("name", FRONT | EXCHANGE)
def test_the_name_survives_an_invalid_token_and_a_failed_code_exchange(site, browser, name):
    site.apple.call("PUT", *(FRONT | EXCHANGE)[name])
    browser.fails(browser.leaves())
    # The token beside the code vouches for the name.
    assert browser.is_written() == (name in EXCHANGE)
    heal(site.apple)
    if name in EXCHANGE:
        # In another browser: the name is here by now.
        browser.cookies.clear()
    browser.signs_in_anew()
    assert browser.is_named()


class Post:
    """A callback that is under way while the test continues."""

    def __init__(self, browser: Visit, form: str):
        self.site = browser.site
        self.answer = ThreadPoolExecutor(1).submit(browser.comes_back, form)

    def is_killed(self) -> None:
        self.site.kill()
        # Nothing comes, or half of it; or on a slow machine the server gave up first, and has said so.
        lost = self.answer.exception(PATIENCE)
        assert isinstance(lost, (OSError, http.client.HTTPException)) or self.answer.result().status == 503


def hung(browser: Visit, form: str, endpoint: str) -> Post:
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
    site.restart()
    browser = Visit(site)
    if moment == "while Apple's keys are fetched":
        # A key the server has not seen.
        site.apple.call("POST", "keys/rotate", {"dropOld": True})
    form = browser.leaves()
    kill(browser, form)
    site.apple.call("POST", "faults/reset")
    site.start()
    if then in ("sign-in", "refusal"):
        assert browser.comes_back(form).status == (303 if then == "sign-in" else 400)
    if then == "untried":
        browser.cookies.clear()
    if then in ("refusal", "untried"):
        browser.signs_in_anew()
    assert browser.is_named()
