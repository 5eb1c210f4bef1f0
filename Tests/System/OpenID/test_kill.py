"""The server is killed while a program signs somebody in, and thousands ask who never sign in."""

import http.client
import threading
from urllib.parse import urlsplit

import pytest

from party import Browser
from patience import PATIENCE
from processes import memory


def kill(site) -> None:
    site.server.kill()


def test_a_kill_between_code_and_token_loses_nothing(site, grafana, browser):
    code = grafana.code(browser)
    kill(site)
    site.start()
    answer = grafana.redeem(code)
    assert answer.status == 200
    kill(site)
    site.start()
    assert grafana.userinfo(answer.json()["access_token"]).status == 200
    assert grafana.redeem(code).json()["error"] == "invalid_grant", "it was used before"
    assert grafana.userinfo(answer.json()["access_token"]).status == 401, "somebody else has the code"


def attempt(ask) -> list:
    """Asks in another thread, and what came of it: an answer, or nothing from a server that was killed."""
    answers = []

    def run() -> None:
        try:
            answers.append(ask())
        except (OSError, http.client.HTTPException):
            pass

    thread = threading.Thread(target=run)
    thread.start()
    answers.append(thread)
    return answers


@pytest.mark.parametrize("number", range(3))
def test_a_kill_within_an_exchange_gives_no_second_token(site, grafana, browser, number):
    code = grafana.code(browser, scope="openid offline_access")
    answers = attempt(lambda: grafana.redeem(code))
    kill(site)
    answers[0].join()
    site.start()
    first = [answer for answer in answers[1:] if answer.status == 200]
    again = grafana.redeem(code)
    assert len(first) + (again.status == 200) <= 1
    # What a program cannot redeem, it asks for again: the person is still signed in.
    tokens = (first or [again])[0].json() if first or again.status == 200 else grafana.redeem(
        grafana.code(browser, scope="openid offline_access")).json()
    if first:
        # A code used twice is in two hands: its tokens have ended.
        tokens = grafana.tokens(browser, scope="openid offline_access")
    # A refresh whose answer was lost is repeated, and gets one.
    answers = attempt(lambda: grafana.refresh(tokens["refresh_token"]))
    kill(site)
    answers[0].join()
    site.start()
    again = grafana.refresh(tokens["refresh_token"])
    assert again.status == 200
    if len(answers) > 1 and answers[1].status == 200:
        assert answers[1].json()["refresh_token"] == again.json()["refresh_token"]


@pytest.mark.long
def test_ten_thousand_requests_store_nothing(site, grafana):
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
    ask(10_000)
    assert rows() == before
    assert memory(process) - used < 20_000 * 1024
    assert grafana.tokens(Browser(site))
