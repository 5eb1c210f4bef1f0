"""Sign-out by a program: demands 39 and 40 of an OpenID provider."""

from urllib.parse import urlencode

import pytest

from party import Browser, Party, register, signed_in

BACK = "https://grafana.example.com/signed-out?from=bramley"


@pytest.fixture(scope="module")
def party(site) -> Party:
    return register(site, "leaving", "--logout-uri", BACK)


@pytest.fixture
def token(party, browser) -> str:
    return party.tokens(browser)["id_token"]


def path(**parameters) -> str:
    return "/oidc/logout?" + urlencode(parameters)


def is_signed_in(browser: Browser) -> bool:
    return browser.get("/account").status == 200


def test_the_person_of_the_id_token_is_signed_out(browser, token):
    answer = browser.get(path(id_token_hint=token, post_logout_redirect_uri=BACK, state="a b&c"))
    assert (answer.status, answer.location) == (303, BACK + "&state=a%20b%26c")
    assert not is_signed_in(browser)


def test_a_post_is_redirected_as_a_get(browser, token):
    posted = browser.send("POST", "/oidc/logout", {"id_token_hint": token, "post_logout_redirect_uri": BACK})
    assert posted.status == 303 and is_signed_in(browser)
    assert browser.follow(posted).location == BACK
    assert not is_signed_in(browser)


def test_an_id_token_of_an_ended_session_leads_back(browser, token):
    browser.get(path(id_token_hint=token))
    assert browser.get(path(id_token_hint=token, post_logout_redirect_uri=BACK)).location == BACK


@pytest.mark.parametrize("hint", [None, "nonsense", "eyJhbGciOiJub25lIn0.e30."])
def test_sign_out_without_a_hint_asks_for_confirmation(browser, hint):
    browser.sign_in()
    answer = browser.get(path(**({"id_token_hint": hint} if hint else {}), post_logout_redirect_uri=BACK))
    assert (answer.status, browser.own(answer.location)) == (303, "/logout")
    assert is_signed_in(browser)


def test_a_hint_for_another_person_asks_for_confirmation(site, browser, token):
    other = signed_in(site, "boris")
    assert other.own(other.get(path(id_token_hint=token, post_logout_redirect_uri=BACK)).location) == "/logout"
    assert is_signed_in(other) and is_signed_in(browser)


@pytest.mark.parametrize("uri", [
    BACK + "/", BACK[:-1], "https://evil.example", "//evil.example", BACK.upper(), "javascript:alert(1)"])
def test_only_registered_addresses_are_redirected_to(browser, token, uri):
    before = browser.site.server.text()
    assert "Location" not in browser.get(path(id_token_hint=token, post_logout_redirect_uri=uri)).must(400).headers
    assert is_signed_in(browser), "nobody is signed out on the way to nowhere"
    assert f"post_logout_redirect_uri is {uri}, registered: {BACK}" in browser.site.server.text()[len(before):]


def test_another_clients_address_is_not_redirected_to(site, browser):
    token = register(site, "staying").tokens(browser)["id_token"]
    assert browser.get(path(id_token_hint=token, post_logout_redirect_uri=BACK)).status == 400
    assert is_signed_in(browser)


@pytest.mark.parametrize("name", ["client_id", "id_token_hint", "post_logout_redirect_uri", "state"])
def test_a_parameter_twice_is_an_error(browser, token, name):
    query = path(id_token_hint=token, client_id="leaving", post_logout_redirect_uri=BACK, state="x") + f"&{name}=x"
    assert browser.get(query).status == 400 and is_signed_in(browser)


def test_a_client_id_must_be_the_token_s(browser, token):
    answer = browser.get(path(id_token_hint=token, client_id="grafana", post_logout_redirect_uri=BACK))
    assert browser.own(answer.location) == "/logout" and is_signed_in(browser)
