"""A program on the visitor's own machine gets a code by a click in the browser only (RFC 8252 §8.6)."""

import re

import pytest

from party import Browser, register, return_target

LOOPBACK = "http://127.0.0.1:4711/callback"


@pytest.fixture(scope="module")
def desktop(site):
    return register(site, "at-home", "--public", "--offline", redirect_uri=LOOPBACK)


@pytest.fixture
def ada(site, desktop):
    browser = Browser(site)
    desktop.code(browser)
    return browser


@pytest.mark.parametrize("uri", [LOOPBACK, "http://127.0.0.1:4712/callback"])
def test_a_signed_in_person_is_asked_each_time(desktop, ada, uri):
    for _ in range(2):
        page = ada.get(desktop.path(redirect_uri=uri, scope="openid email offline_access")).must(200)
        assert "at-home on your device wants to know who you are" in page.text and "Ada Byron" in page.text
        assert "the e-mail address that Apple gave us" in page.text and "access until you end it" in page.text
        assert "your groups here" not in page.text
        told = ada.decide(page).must(303).parameters()
        assert told["state"] == "s-4711"
        assert desktop.redeem(told["code"], redirect_uri=uri).json()["refresh_token"]


def test_nothing_is_silent(desktop, ada):
    answer = ada.get(desktop.path(prompt="none")).must(303)
    assert answer.parameters()["error"] == "interaction_required"


def test_a_site_and_a_service_are_not_asked_about(site, ada):
    for party in (register(site, "page-app", "--public"), register(site, "box", redirect_uri=LOOPBACK)):
        assert ada.get(party.path(prompt="none")).must(303).parameters()["code"]


def test_not_now_is_access_denied(desktop, ada):
    answer = ada.decide(ada.get(desktop.path()), "deny").must(303)
    assert answer.location.startswith(LOOPBACK)
    assert (answer.parameters()["error"], answer.parameters()["state"]) == ("access_denied", "s-4711")


def test_an_app_with_its_own_scheme(site, ada):
    phone = register(site, "pocket", "--public", redirect_uri="com.example.pocket:/callback")
    page = ada.get(phone.path())
    assert "It runs on this device" in page.text
    # Browsers would apply it to where the app leads next.
    assert "form-action" not in page.headers["Content-Security-Policy"]
    assert ada.decide(page).must(303).location.startswith("com.example.pocket:/callback?code=")


def test_a_ticket_is_for_one_request_of_one_session(site, desktop, ada):
    page = ada.get(desktop.path())
    ticket = re.search(r'name="bramley_ticket" value="([^"]+)"', page.text)[1]
    # Another request: more scopes, another nonce, another address, another application.
    other = register(site, "stranger", "--public", redirect_uri=LOOPBACK)
    for changes in ({"scope": "openid email offline_access"}, {"nonce": "other"}, {"code_challenge": "A" * 43},
                    {"redirect_uri": "http://127.0.0.1:4712/callback"}, {"client_id": other.client_id}):
        assert "wants to know who you are" in ada.decide(page, **changes).must(200).text, changes
    # Another browser, of the same person and of somebody else.
    for person in ("ada", "chie"):
        browser = Browser(site)
        desktop.code(browser, person)
        assert "wants to know who you are" in browser.decide(page).must(200).text
    for forged in ("", ticket[:-2], ticket + "AA"):
        assert "wants to know who you are" in ada.decide(page, bramley_ticket=forged).must(200).text
    for decision in ("", "perhaps"):
        assert "wants to know who you are" in ada.decide(page, decision).must(200).text
    assert ada.decide(page, bramley_ticket=ticket).must(303).parameters()["code"]


def test_pressed_twice_is_harmless(desktop, ada):
    page = ada.get(desktop.path())
    codes = [ada.decide(page).must(303).parameters()["code"] for _ in range(2)]
    assert len(set(codes)) == 2 and all(desktop.redeem(code).status == 200 for code in codes)


def test_the_form_is_our_pages_alone(site, desktop, ada):
    page = ada.get(desktop.path())
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    for origin in ("https://evil.example", "null", LOOPBACK.rpartition("/")[0]):
        answer = ada.send("POST", "/oidc/consent", {"client_id": desktop.client_id}, {"Origin": origin})
        assert answer.status == 403 and "Location" not in answer.headers


def test_another_account_than_the_hint_names_gets_no_code(site, desktop, ada):
    hint = desktop.tokens(ada)["id_token"]
    page = ada.get(desktop.path(id_token_hint=hint))
    target = re.search(r'name="return_to" value="([^"]+)"', page.text)[1].replace("&amp;", "&")
    chie = Browser(site)
    desktop.code(chie, "chie")
    assert chie.get(chie.own(target)).must(303).parameters()["error"] == "login_required"
    assert chie.decide(page).must(303).parameters()["error"] == "login_required"


def test_signed_out_meanwhile_leads_to_the_login_page_and_asks_again(site, desktop, ada):
    page = ada.get(desktop.path())
    ada.sign_out()
    login = ada.decide(page).must(200)
    assert "wants to know who you are" in ada.return_to(return_target(login)).must(200).text


def test_a_sign_in_for_the_program_does_not_replace_the_click(site, desktop):
    browser = Browser(site)
    page = browser.return_to(return_target(browser.get(desktop.path(prompt="login"))))
    assert "wants to know who you are" in page.must(200).text
    assert browser.decide(page).must(303).parameters()["code"]


@pytest.mark.parametrize("signed_in", [True, False])
def test_the_longest_request_has_room_in_the_form_that_decides_on_it(site, desktop, signed_in):
    state, browser = "/" * 8_192, Browser(site)

    def asked(size: int) -> str:
        room = size - len(desktop.path(state=state, nonce="").partition("?")[2])
        return desktop.path(state=state, nonce="n" * room).partition("?")[2]

    if signed_in:
        browser.sign_in()
    page = browser.follow(browser.send("POST", "/oidc/authorize", asked(32_768)).must(303))
    if not signed_in:
        page = browser.return_to(return_target(page))
    told = browser.decide(page.must(200)).must(303).parameters()
    assert told["state"] == state and desktop.redeem(told["code"]).status == 200
    assert browser.send("POST", "/oidc/authorize", asked(32_769)).status == 413


def test_a_request_is_counted_as_the_form_escapes_it(desktop, ada):
    """A tilde has one byte in an address, and three in a form."""
    form = desktop.path(state="~" * 8_192, nonce="~" * 8_192).partition("?")[2]
    assert len(form) < 32_768 and "%7E" not in form
    assert ada.send("POST", "/oidc/authorize", form).status == 400
