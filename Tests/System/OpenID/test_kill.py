"""The server is killed while a program signs somebody in; thousands ask and never do; windows sign in at once."""

import http.client
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl, urlsplit

import pytest

from party import Answer, Browser, register
from patience import PATIENCE, at_once
from processes import memory
from receiver import Receiver
from web import SESSION, start_of


def test_a_kill_between_code_and_token_loses_nothing(site, grafana, browser):
    code = grafana.code(browser)
    site.kill()
    site.start()
    answer = grafana.redeem(code).must(200)
    site.kill()
    site.start()
    assert grafana.userinfo(answer.json()["access_token"]).status == 200
    assert grafana.redeem(code).json()["error"] == "invalid_grant", "it was used before"
    assert grafana.userinfo(answer.json()["access_token"]).status == 401, "somebody else has the code"


def killed(site, ask) -> Answer | None:
    """The answer to a request while the server is killed, if there was one. Then the server runs again."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        site.kill()
        failure = asked.exception()
    assert failure is None or isinstance(failure, (OSError, http.client.HTTPException)), failure
    site.start()
    return None if failure else asked.result()


@pytest.mark.parametrize("number", range(3))
def test_a_kill_within_an_exchange_gives_no_second_token(site, grafana, browser, number):
    code = grafana.code(browser, scope="openid offline_access")
    first, again = killed(site, lambda: grafana.redeem(code)), grafana.redeem(code)
    assert not (first and first.status == again.status == 200)
    # The person is still signed in: the program asks again, as after a code that was used twice, which ends its tokens.
    tokens = again.json() if again.status == 200 else grafana.tokens(browser, scope="openid offline_access")
    # A refresh whose answer was lost is repeated, and gets one.
    first = killed(site, lambda: grafana.refresh(tokens["refresh_token"]))
    again = grafana.refresh(tokens["refresh_token"]).must(200)
    if first and first.status == 200:
        assert first.json()["refresh_token"] == again.json()["refresh_token"]


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_requests_without_a_sign_in_store_nothing(site, grafana, count):
    tables = ("openid_grant", "used_attempt", "code_exchange", "session", "event", "audit")

    def rows() -> list:
        return [site.operator.database(f"SELECT count(*) FROM {table}") for table in tables]

    def ask(count: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=PATIENCE)
        for number in range(count):
            connection.request("GET", grafana.path(state=f"s{number}"), headers={"Host": urlsplit(site.origin).netloc})
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read()
        connection.close()

    ask(500)
    process = site.server.process.pid
    before, used = rows(), memory(process)
    ask(count)
    assert rows() == before and memory(process) - used < 20_000 * 1024
    assert grafana.tokens(Browser(site))


WINDOWS = 5


def together(site) -> list[Browser]:
    """What the browser may be afterwards: its windows wait at Apple, and their answers are sent together."""
    browser = Browser(site)
    forms = [browser.goes_to_apple(path=start_of(f"/account?window={number}")) for number in range(WINDOWS)]

    def answered(number: int) -> Browser:
        window = Browser(site, cookies=browser.cookies)
        assert window.comes_back(forms[number]).status == 303
        return window

    return at_once(WINDOWS, answered)


def test_concurrent_sign_ins_in_one_browser_all_get_a_valid_cookie(site):
    for _ in range(5):
        windows = together(site)
        assert len({window.cookies[SESSION] for window in windows}) == 1
        assert [window.get("/account").status for window in windows] == [200] * WINDOWS


def test_signing_out_with_the_last_answer_ends_the_session_and_notifies_all(site):
    receiver, (first, *others) = Receiver(), together(site)
    paths = {f"/{number}" for number in range(WINDOWS)}
    for path in paths:
        party = register(site, f"window-{path[1:]}", "--back-channel-logout-uri", receiver.url(path))
        assert "code" in first.get(party.path(prompt="none")).parameters(), party.client_id
        party.tokens(first)
    first.sign_out()
    receiver.wait_for(lambda arrivals: {arrival.path for arrival in arrivals} == paths, "a logout token for each")
    assert all(window.get("/account").status != 200 for window in (first, *others))
    receiver.close()


@pytest.mark.parametrize("strip", [("id_token",), ("code",), ("id_token", "code"), ("forged",)])
def test_the_browsers_binding_is_not_enough_for_a_token(site, strip):
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
