"""From each of eight places, a session is ended, and the next `/auth/verify` on every connection refuses it."""

import http.client
import re
from urllib.parse import urlsplit

import pytest

from patience import PATIENCE, eventually
from secure_site import get
from web import SAME_ORIGIN, SESSION, Browser, call, cookie_field

# Over two loops, so that each loop's cache holds the session before it ends.
CONNECTIONS = 8


@pytest.fixture
def site(make_site):
    return make_site({"log.level": "info", "server.threads": 2, "server.trustedProxies": ["127.0.0.1"]})


class Proxy:
    """Asks `/auth/verify` over connections that stay open, as a reverse proxy does."""

    def __init__(self, browser: Browser):
        self.fields = {"Host": urlsplit(browser.site.origin).netloc} | cookie_field({SESSION: browser.cookies[SESSION]})
        self.connections = [http.client.HTTPConnection("127.0.0.1", browser.site.port, timeout=PATIENCE)
                            for _ in range(CONNECTIONS)]

    def ask(self) -> list[int]:
        return [get(connection, "/auth/verify", **self.fields).status for connection in self.connections]

    def close(self) -> None:
        for connection in self.connections:
            connection.close()


def post(browser: Browser, path: str, **form: str) -> None:
    browser.send("POST", path, form, SAME_ORIGIN).must(303)


def from_the_account_page(browser):
    post(browser, "/account/sessions/revoke", session=browser.session()["session"]["id"])


def from_another_device(browser):
    other = Browser(browser.site)
    other.sign_in()
    post(other, "/account/sessions/revoke", session=browser.session()["session"]["id"])
    assert other.is_signed_in()


def by_command(browser):
    browser.site.operator.bramley("sessions", "revoke", browser.session()["session"]["id"])


def by_signing_out(browser):
    post(browser, "/logout")


def by_api(browser):
    key = browser.site.operator.key("users:write")
    path = f"/api/v1/users/{browser.session()['user']['id']}/sessions"
    assert call(browser.site, "DELETE", path, token=key).status in (200, 204)


def by_disabling(browser):
    key = browser.site.operator.key("users:write")
    path = f"/api/v1/users/{browser.session()['user']['id']}"
    patch = {"Content-Type": "application/merge-patch+json"}
    assert call(browser.site, "PATCH", path, patch, '{"state":"disabled"}', token=key).status in (200, 204)


def by_notification(browser):
    browser.site.apple.notify("consent-revoked", "ada")


def by_deletion(browser):
    page = browser.get("/account/delete", {"Accept-Language": "en"})
    fields = dict(re.findall(r'name="([a-z_]+)"[^>]*value="([^"]*)"', page.text))
    assert "confirm" in fields, page.text
    post(browser, "/account/delete", **fields)


@pytest.mark.parametrize("end", [
    from_the_account_page, from_another_device, by_signing_out, by_command, by_api, by_disabling, by_notification,
    by_deletion,
], ids=lambda end: end.__name__)
def test_a_session_that_ended_is_refused_at_the_next_check_and_after_a_restart(site, end):
    browser = Browser(site)
    browser.sign_in()
    proxy = Proxy(browser)
    for _ in range(2):
        assert proxy.ask() == [204] * CONNECTIONS
    end(browser)
    if end is by_command:
        # Within a second on a machine that is not busy; SessionCacheTests hold that second, by a clock of their own.
        eventually(lambda: proxy.ask() == [401] * CONNECTIONS, "the end on every connection")
    else:
        assert proxy.ask() == [401] * CONNECTIONS
    proxy.close()
    site.restart()
    assert proxy.ask() == [401] * CONNECTIONS
    proxy.close()
