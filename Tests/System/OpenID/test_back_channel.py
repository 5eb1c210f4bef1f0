"""Programs learn that a session has ended, by Back-Channel Logout §2.6: demands 41 and 42 of an OpenID provider."""

import time
from urllib.parse import parse_qs, urlencode

import pytest

from party import Browser, call, register
from patience import eventually
from receiver import Arrival, Receiver, status


class Listener:
    def __init__(self, site, client_id: str, *options: str):
        self.receiver = Receiver()
        self.party = register(
            site, client_id, "--back-channel-logout-uri", self.receiver.url(f"/{client_id}?from=bramley"), *options)

    def tokens(self) -> list[str]:
        with self.receiver.changed:
            return [token(arrival) for arrival in self.receiver.arrivals]

    def wait_for(self, count: int) -> list[str]:
        self.receiver.wait_for(lambda arrivals: len(arrivals) >= count, f"{count} logout tokens")
        return self.tokens()

    def claims(self, token: str) -> dict:
        decoded = self.party.verified(token, "jti")
        assert decoded.header["typ"] == "logout+jwt"
        assert decoded.claims["events"] == {"http://schemas.openid.net/event/backchannel-logout": {}}
        assert "nonce" not in decoded.claims
        assert 0 < decoded.claims["exp"] - decoded.claims["iat"] <= 120
        return decoded.claims


def token(arrival: Arrival) -> str:
    assert arrival.headers["content-type"] == "application/x-www-form-urlencoded"
    assert not [name for name in arrival.headers if name.startswith("webhook-")]
    fields = parse_qs(arrival.body.decode(), strict_parsing=True)
    assert list(fields) == ["logout_token"] and len(fields["logout_token"]) == 1
    return fields["logout_token"][0]


@pytest.fixture
def listener(site):
    made = []

    def make(client_id: str, *options: str) -> Listener:
        made.append(Listener(site, client_id, *options))
        return made[-1]

    yield make
    for one in made:
        one.receiver.close()
        site.operator.bramley("clients", "delete", one.party.client_id, "--yes")


ENDS = {
    "sign-out": lambda site, browser, session, hint: browser.sign_out(),
    "by-the-program": lambda site, browser, session, hint: browser.get(f"/oidc/logout?id_token_hint={hint}"),
    "another-person": lambda site, browser, session, hint: browser.sign_in("boris"),
    "operator": lambda site, browser, session, hint: site.operator.bramley("sessions", "revoke", session, "--yes"),
    "disabled": lambda site, browser, session, hint: site.operator.bramley("users", "disable", browser.user(), "--yes"),
    "deleted": lambda site, browser, session, hint: site.operator.bramley("users", "delete", browser.user(), "--yes"),
    "consent-revoked": lambda site, browser, session, hint: site.apple.notify("consent-revoked", "chie"),
    "account-deleted": lambda site, browser, session, hint: site.apple.notify("account-deleted", "dana"),
}
PEOPLE = {"consent-revoked": "chie", "account-deleted": "dana", "disabled": "erin", "deleted": "erin"}


@pytest.mark.parametrize("way", ENDS)
def test_every_end_of_a_session_reaches_its_applications(site, listener, browser, way):
    first, second, other = listener("first"), listener("second"), listener("other")
    person = PEOPLE.get(way, "ada")
    tokens = first.party.tokens(browser, person)
    second.party.tokens(browser, person)
    user, session = browser.user(), first.party.claims(tokens["id_token"])["sid"]
    began = int(time.time())
    ENDS[way](site, browser, session, tokens["id_token"])
    for one in (first, second):
        claims = one.claims(one.wait_for(1)[0])
        assert (claims["sub"], claims["sid"]) == (user, session) and claims["iat"] >= began
        assert one.receiver.arrivals[0].path == f"/{one.party.client_id}?from=bramley"
    assert first.tokens() != second.tokens()
    assert not other.tokens(), "a program that took no part is told nothing"
    empties(site, "first")
    assert len(first.tokens()) == len(second.tokens()) == 1
    if way == "disabled":
        site.operator.bramley("users", "enable", user)


def endpoint(site, client_id: str) -> dict:
    items = site.operator.json("webhooks", "list", "--all")["items"]
    return next(item for item in items if item["url"] == f"client:{client_id}")


def empties(site, client_id: str) -> None:
    eventually(lambda: endpoint(site, client_id)["waiting"] == 0, "the queue to be empty")


def test_a_client_with_an_unredeemed_code_is_notified(site, listener, browser):
    one = listener("impatient")
    one.party.code(browser)
    browser.sign_out()
    assert one.claims(one.wait_for(1)[0])["sid"].startswith("ses_")


def test_only_the_ended_session_is_reported(site, listener):
    one = listener("two-sessions")
    browsers = [Browser(site), Browser(site)]
    sids = [one.party.claims(one.party.tokens(browser)["id_token"])["sid"] for browser in browsers]
    browsers[0].sign_out()
    assert one.claims(one.wait_for(1)[0])["sid"] == sids[0]
    assert one.party.userinfo(one.party.tokens(browsers[1])["access_token"]).status == 200
    browsers[1].sign_out()
    assert one.claims(one.wait_for(2)[1])["sid"] == sids[1]


@pytest.mark.parametrize("name", ["members", "members-without-tokens"])
def test_leaving_the_groups_notifies_the_client(site, listener, browser, name):
    one = listener(name, "--group", "members")
    browser.sign_in("chie")
    user = browser.user()
    site.operator.bramley("users", "groups", user, "--add", "members")
    eventually(lambda: browser.get(one.party.path()).status == 303, "the group")
    tokens = one.party.tokens(browser, "chie")
    if name != "members":
        site.operator.database("DELETE FROM openid_grant WHERE user = ?", user)
    site.operator.bramley("users", "groups", user, "--remove", "members")
    assert one.party.userinfo(tokens["access_token"]).status == 401
    claims = one.claims(one.wait_for(1)[0])
    assert claims["sub"] == user and "sid" not in claims


def test_a_refused_logout_is_repeated_later_and_holds_back_no_other_session(site, listener, browser):
    one = listener("down")
    one.receiver.answer = lambda arrival: status(500)
    other = Browser(site)
    sids = [one.party.claims(one.party.tokens(each)["id_token"])["sid"] for each in (browser, other)]
    browser.sign_out()
    first = one.wait_for(1)[0]
    other.sign_out()
    one.wait_for(2)
    eventually(lambda: endpoint(site, "down")["waiting"] == 2, "both to wait")
    state = endpoint(site, "down")
    assert (state["state"], state["lastFailure"], state["events"]) == ("failing", "status 500", ["session.ended"])
    one.receiver.answer = lambda arrival: status(200)
    site.operator.bramley("webhooks", "retry", "--endpoint", "client:down")
    empties(site, "down")
    heard = [one.claims(token) for token in one.tokens()]
    assert {claims["sid"] for claims in heard[-2:]} == set(sids)
    assert first not in one.tokens()[1:] and len({claims["jti"] for claims in heard}) == len(heard)
    log = site.server.text()
    assert log.count("webhook endpoint failing") == 1 and "endpoint=client:down" in log


def test_nothing_is_lost_when_the_server_is_killed(site, listener, browser):
    one = listener("killed")
    # It hangs.
    one.receiver.answer = lambda arrival: None
    one.party.tokens(browser)
    browser.sign_out()
    one.wait_for(1)
    site.server.kill()
    one.receiver.answer = lambda arrival: status(200)
    site.start()
    one.wait_for(2)
    empties(site, "killed")


def test_a_changed_address_applies_to_waiting_deliveries(site, listener, browser):
    one, other = listener("moving"), Receiver()
    one.receiver.answer = lambda arrival: status(503)
    one.party.tokens(browser)
    browser.sign_out()
    one.wait_for(1)
    site.operator.bramley("clients", "update", "moving", "--back-channel-logout-uri", other.url("/new"))
    site.operator.bramley("webhooks", "retry", "--endpoint", "client:moving")
    other.wait_for(lambda arrivals: arrivals, "the token at the new address")
    assert one.claims(token(other.arrivals[0]))["aud"] == "moving"
    other.close()


def test_a_logout_token_is_not_accepted_as_another_token(site, listener, browser):
    """Demand 6: nor as a hint of who signs out or in."""
    one = listener("strict")
    one.party.tokens(browser)
    browser.sign_out()
    told = one.wait_for(1)[0]
    browser.sign_in()
    assert browser.get("/oidc/logout?" + urlencode({"id_token_hint": told})).status == 303
    assert browser.get("/account").status == 200, "still signed in"
    assert browser.get(one.party.path(id_token_hint=told, prompt="none")).parameters()["error"] == "login_required"
    assert one.party.userinfo(told).status == 401


def test_the_api_lists_and_retries_but_does_not_test(site, listener, browser):
    key = site.operator.key("webhooks:read", "webhooks:write")

    def ask(method: str, path: str, content: dict | None = None):
        return call(site, method, "/api/v1/webhooks" + path, body=content, token=key)

    one = listener("by-api")
    one.receiver.answer = lambda arrival: status(500)
    one.party.tokens(browser)
    browser.sign_out()
    eventually(lambda: endpoint(site, "by-api")["state"] == "failing", "the failure")
    listed = {item["url"]: item for item in ask("GET", "").json()["items"]}
    assert (listed["client:by-api"]["waiting"], listed["client:by-api"]["lastFailure"]) == (1, "status 500")
    assert ask("POST", "/test", {"endpoint": "client:by-api"}).status == 404
    assert ask("POST", "/retry", {"endpoint": "client:nobody"}).status == 404
    one.receiver.answer = lambda arrival: status(200)
    assert ask("POST", "/retry", {"endpoint": "client:by-api"}).json() == {"retried": 1}
    empties(site, "by-api")
