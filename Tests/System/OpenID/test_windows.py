"""Several windows of one browser sign in at the same moment: one session, whichever answer the browser gets last."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl

import pytest

from party import Browser, register
from receiver import Receiver
from web import SESSION, start_of

WINDOWS = 5


@pytest.fixture
def windows(site):
    """Programs of one visitor, each with a window that waits at Apple; the answers to their callbacks, sent together."""
    receiver = Receiver()
    parties = [
        register(site, f"window-{number}", "--back-channel-logout-uri", receiver.url(f"/{number}"))
        for number in range(WINDOWS)]
    yield parties, receiver
    for party in parties:
        site.operator.bramley("clients", "delete", party.client_id, "--yes")
    receiver.close()


def together(site, parties) -> tuple[list[dict], list[str], list]:
    """All that the browser may have afterwards: the cookies, and the session tokens among them, and the answers."""
    browser = Browser(site)
    forms = [browser.goes_to_apple(path=start_of(f"/account?window={number}")) for number, _ in enumerate(parties)]

    def answer(form):
        window = Browser(site, cookies=browser.cookies)
        return window.comes_back(form), window.cookies

    with ThreadPoolExecutor(len(forms)) as pool:
        answers = list(pool.map(answer, forms))
    tokens = [cookies[SESSION] for _, cookies in answers]
    return [cookies for _, cookies in answers], tokens, [answer for answer, _ in answers]


def test_windows_that_sign_in_at_once_all_get_a_cookie_that_works(site, windows):
    parties, _ = windows
    for _ in range(5):
        jars, tokens, answers = together(site, parties)
        assert [answer.status for answer in answers] == [303] * WINDOWS
        assert len(set(tokens)) == 1
        for jar in jars:
            assert Browser(site, cookies=jar).get("/account").status == 200


def test_whichever_answer_comes_last_its_sign_out_ends_the_session_and_all_are_told(site, windows):
    parties, receiver = windows
    jars, _, _ = together(site, parties)
    for kept, jar in enumerate(jars):
        browser = Browser(site, cookies=jar)
        if kept == 0:
            for party in parties:
                assert "code" in browser.get(party.path(prompt="none")).parameters(), party.client_id
                party.tokens(browser)
            assert browser.send("POST", "/logout", {}, {"Origin": site.origin}).status == 303
            paths = {f"/{number}" for number in range(WINDOWS)}
            receiver.wait_for(
                lambda arrivals: {arrival.path for arrival in arrivals} == paths, "a logout token for every program")
        assert browser.get("/account").status != 200


def test_a_later_sign_in_of_the_same_browser_gets_another_token(site, windows):
    parties, _ = windows
    jars, tokens, _ = together(site, parties)
    browser = Browser(site, cookies=jars[0])
    browser.sign_in()
    assert tokens[0] not in browser.cookies.values()
    assert Browser(site, cookies=jars[1]).get("/account").status != 200


@pytest.mark.parametrize("strip", [
    ("id_token",), ("code",), ("id_token", "code"), ("forged",)])
def test_the_browsers_binding_alone_gets_no_token(site, strip):
    """Who knows the state and the binding, but not what Apple signed, is given no session again."""
    browser = Browser(site)
    form = browser.goes_to_apple(path=start_of("/account"))
    thief = Browser(site, cookies=browser.cookies)
    assert browser.comes_back(form).status == 303
    changed = {name: value for name, value in dict(parse_qsl(form)).items() if name not in strip}
    if strip == ("forged",):
        changed["id_token"] = changed["id_token"][:-4] + "AAAA"
    thief.send("POST", "/apple/callback", changed, {"Origin": site.apple.origin})
    assert not [value for value in thief.cookies.values() if value.startswith("brs_")]
