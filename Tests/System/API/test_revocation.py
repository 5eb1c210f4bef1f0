"""From each of six places, a session is ended, and the next `/auth/verify` on every connection refuses it."""

import http.client
import re
from urllib.parse import urlencode, urlsplit

import pytest

from inhabited import Inhabited
from patience import PATIENCE, eventually
from web import call, sign_in

# Over two loops, so that each loop's cache holds the session before it ends.
CONNECTIONS = 8
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def site(make_site):
    return make_site({
        "log.level": "info", "server.threads": 2, "server.trustedProxies": ["127.0.0.1"]})


class Proxy:
    """Asks `/auth/verify` over connections that stay open, as a reverse proxy does."""

    def __init__(self, site, token):
        self.host = urlsplit(site.origin).netloc
        self.cookie = f"__Host-bramley={token}"
        self.connections = [http.client.HTTPConnection("127.0.0.1", site.port, timeout=PATIENCE) for _ in range(CONNECTIONS)]

    def ask(self) -> list[int]:
        answers = []
        for connection in self.connections:
            connection.request("GET", "/auth/verify", headers={"Host": self.host, "Cookie": self.cookie})
            response = connection.getresponse()
            response.read()
            answers.append(response.status)
        return answers

    def close(self) -> None:
        for connection in self.connections:
            connection.close()


def who(site, token) -> dict:
    return call(site, "GET", "/api/v1/session", {"Cookie": f"__Host-bramley={token}"}).json()


def post(site, token, path, **form):
    return call(site, "POST", path, FORM | {"Cookie": f"__Host-bramley={token}"}, urlencode(form))


def from_the_account_page(site, token):
    answer = post(site, token, "/account/sessions/revoke", session=who(site, token)["session"]["id"])
    assert answer.status == 303, answer.body


def from_another_device(site, token):
    session = who(site, token)["session"]["id"]
    other = sign_in(site, "ada")
    answer = post(site, other, "/account/sessions/revoke", session=session)
    assert answer.status == 303, answer.body
    assert call(site, "GET", "/api/v1/session", {"Cookie": f"__Host-bramley={other}"}).status == 200


def by_command(site, token):
    site.operator.bramley("sessions", "revoke", who(site, token)["session"]["id"])


def by_api(site, token):
    key = Inhabited(site).make_key("users:write")
    answer = call(site, "DELETE", f"/api/v1/users/{who(site, token)['user']['id']}/sessions",
                  {"Authorization": f"Bearer {key}"})
    assert answer.status in (200, 204), answer.body


def by_notification(site, token):
    site.apple.notify("consent-revoked", "ada")


def by_deletion(site, token):
    page = call(site, "GET", "/account/delete", {"Cookie": f"__Host-bramley={token}", "Accept-Language": "en"})
    fields = dict(re.findall(r'name="([a-z_]+)"[^>]*value="([^"]*)"', page.body.decode()))
    assert "confirm" in fields, page.body.decode()
    answer = post(site, token, "/account/delete", **fields)
    assert answer.status in (200, 303), answer.body


HERE = [from_the_account_page, from_another_device, by_api, by_notification, by_deletion]


@pytest.mark.parametrize("end", HERE, ids=lambda end: end.__name__)
def test_a_session_ended_by_the_server_is_refused_at_the_next_check(site, end):
    token = sign_in(site, "ada")
    proxy = Proxy(site, token)
    assert proxy.ask() == [204] * CONNECTIONS
    assert proxy.ask() == [204] * CONNECTIONS
    end(site, token)
    assert proxy.ask() == [401] * CONNECTIONS
    proxy.close()


def test_a_session_ended_by_a_command_is_refused_soon(site):
    token = sign_in(site, "ada")
    proxy = Proxy(site, token)
    assert proxy.ask() == [204] * CONNECTIONS
    by_command(site, token)
    # Within a second on a machine that is not busy; SessionCacheTests hold that second, by a clock of their own.
    eventually(lambda: proxy.ask() == [401] * CONNECTIONS, "the end on every connection")
    proxy.close()


def test_a_session_that_ended_stays_ended_after_a_restart(site):
    tokens = [sign_in(site, "ada") for _ in HERE[:2]]
    for end, token in zip(HERE, tokens):
        end(site, token)
    site.restart()
    for token in tokens:
        assert call(site, "GET", "/auth/verify", {"Cookie": f"__Host-bramley={token}"}).status == 401
