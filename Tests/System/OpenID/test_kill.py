"""The server is killed while a program signs somebody in, and thousands ask who never sign in."""

import http.client
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from party import Answer, Browser
from patience import PATIENCE
from processes import memory


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
