"""Signing in by redirect: each of the people, the cookie that ties it to its browser, back and forward, no scripts."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from visitor import NO_SCRIPTS
from web import BINDING, SESSION

RELAY = "A private relay address: Apple passes on what Orchard Club writes to you"

PEOPLE = {
    "ada": ("Ada Byron", "ada@example.com"),
    "boris": ("Boris Novák", "@privaterelay.appleid.com"),
    "chie": ("千絵 山田", "chie@example.net"),
    "dana": ("Dana O’Neil", "Not shared"),
    "erin": ("Erin Okafor", "erin@school.example not verified"),
}


@pytest.mark.parametrize("person", PEOPLE)
def test_account_page_names_the_person(visitor, gallery, person):
    name, address = PEOPLE[person]
    visitor.open("/")
    visitor.arrives("/login")
    if person == "ada":
        visitor.find(".apple.ready")
        gallery.shoot(visitor, "login")
    visitor.presses_apple_button()
    if person == "ada":
        gallery.shoot(visitor, "simulator")
    visitor.chooses(person)
    gallery.shoot(visitor, f"consent-{person}")
    visitor.consents("/account")
    facts = visitor.facts()
    assert visitor.heading() == facts["Name"] == name
    assert address in facts["E-mail"].replace("\n", " ")
    assert (RELAY in facts["E-mail"]) == (person == "boris")
    assert ("not verified" in facts["E-mail"]) == (person == "erin")
    assert visitor.script("return document.referrer") in ("", visitor.site.apple.origin + "/")
    gallery.shoot(visitor, f"account-{person}")


def test_a_person_decides_what_is_shared(visitor):
    visitor.goes_to_apple()
    visitor.chooses("ada")
    for field, text in (("given_name", "Augusta"), ("family_name", "King-Noel")):
        box = visitor.find(f"input[name={field}]")
        box.clear()
        box.send_keys(text)
    visitor.find("input[name=address][value=hide]").click()
    visitor.consents("/account")
    assert visitor.heading() == "Augusta King-Noel"
    assert "@privaterelay.appleid.com" in visitor.facts()["E-mail"]


def test_signing_out_ends_the_session(visitor, gallery):
    visitor.signs_in("ada")
    visitor.open("/logout")
    gallery.shoot(visitor, "logout")
    visitor.open("/account")
    visitor.press("form[action$='/logout'] button", "/logout")
    assert visitor.heading() == "You are signed out"
    gallery.shoot(visitor, "signed-out")
    assert SESSION not in visitor.cookies() and not visitor.is_signed_in()
    visitor.open("/account")
    visitor.arrives("/login")


def test_signing_in_again_keeps_the_name_that_apple_sends_only_once(visitor):
    visitor.signs_in("ada")
    since = visitor.facts()["Member since"]
    visitor.press("form[action$='/logout'] button")
    visitor.press("a.button", "/login")
    visitor.presses_apple_button()
    visitor.chooses("ada")
    # Apple asks for nothing this time, and sends no `user`.
    assert not visitor.all("input[name=given_name]")
    visitor.consents("/account")
    assert (visitor.facts()["Name"], visitor.facts()["Member since"]) == ("Ada Byron", since)
    assert len(visitor.all(".sessions li")) == 1


def test_another_person_signs_in_over_the_first(visitor, gallery):
    visitor.signs_in("ada")
    visitor.open("/login")
    assert "You are already signed in as Ada Byron" in visitor.text()
    visitor.find(".apple.ready")
    gallery.shoot(visitor, "login-already")
    visitor.goes_through_apple("boris", "/account")
    assert visitor.heading() == "Boris Novák"
    assert len(visitor.all(".sessions li")) == 1


@pytest.mark.parametrize("step", ["choosing", "consent"])
def test_cancelling_at_apple_explains_and_offers_another_try_to_the_same_page(visitor, gallery, step):
    visitor.goes_to_apple("/login?return_to=%2Flogout")
    if step == "consent":
        visitor.chooses("ada")
    visitor.press("button[value=cancel]", "/apple/callback")
    assert visitor.heading() == "You cancelled the sign-in"
    assert not visitor.is_signed_in()
    gallery.shoot(visitor, "error-cancelled")
    visitor.press("a.button", "/login")
    visitor.goes_through_apple("ada", "/logout")
    assert "Ada Byron" in visitor.text()


def test_cancelling_returns_to_an_application_with_error_return(visitor):
    visitor.goes_to_apple("/login?return_to=%2Faccount&error_return=%2Flogout%3Ffrom%3Dapp")
    visitor.press("button[value=cancel]", "/logout")
    assert visitor.driver.current_url.endswith("/logout?from=app&error=user_cancelled_authorize")


def test_two_tabs_sign_in_at_once(visitor):
    driver = visitor.driver
    first = driver.current_window_handle
    visitor.goes_to_apple()
    driver.switch_to.new_window("tab")
    second = driver.current_window_handle
    visitor.goes_to_apple()
    for step in (lambda: visitor.chooses("ada"), lambda: visitor.consents("/account"), driver.refresh):
        for tab in (first, second):
            driver.switch_to.window(tab)
            step()
    for tab in (first, second):
        driver.switch_to.window(tab)
        visitor.arrives("/account")
        assert visitor.heading() == "Ada Byron"


def test_cookies_have_strict_attributes(visitor):
    visitor.goes_to_apple()
    # Apple's form comes from another site: only SameSite=None arrives with it.
    expected = {"secure": True, "httpOnly": True, "domain": "localhost", "path": "/", "session": False}
    assert visitor.cookies()[BINDING].items() >= (expected | {"sameSite": "None"}).items()
    assert visitor.script("return document.cookie") == ""
    visitor.agrees("ada", "/account")
    assert set(visitor.cookies()) == {BINDING, SESSION}
    session = visitor.cookies()[SESSION]
    assert session.items() >= (expected | {"sameSite": "Lax"}).items() and session["value"].startswith("brs_")
    assert visitor.script("return document.cookie") == ""
    assert visitor.script("return localStorage.length + sessionStorage.length") == 0


def test_a_binding_cookie_missing_from_apples_post_is_sent_by_the_repost(visitor):
    """A browser that keeps the cookie from another site's post still sends it with ours."""
    visitor.goes_to_apple()
    visitor.chooses("ada")
    kept = visitor.cookies()[BINDING]
    # What such browsers make of SameSite=None.
    visitor.keep_cookie(BINDING, kept["value"], same_site="Strict")
    visitor.consents("/account")
    assert visitor.heading() == "Ada Byron"
    assert "posting it again" in visitor.site.server.text()


def test_a_deleted_binding_cookie_ends_in_a_clear_page(visitor, gallery):
    visitor.goes_to_apple()
    visitor.chooses("ada")
    visitor.delete_cookie(BINDING)
    visitor.consents("/apple/callback")
    visitor.reads("A cookie is missing")
    assert "Allow cookies for localhost" in visitor.text()
    assert BINDING not in visitor.cookies()
    gallery.shoot(visitor, "error-missing-binding")
    assert visitor.site.server.text().count("posting it again") == 1
    visitor.press("a.button")
    visitor.goes_through_apple("ada", "/account")


def test_a_sign_in_of_another_browser_is_refused(visitor, gallery):
    visitor.goes_to_apple()
    visitor.chooses("ada")
    visitor.keep_cookie(BINDING, "B" * 42 + "A", same_site="None")
    visitor.consents()
    visitor.reads("Started in another browser")
    assert SESSION not in visitor.cookies()
    gallery.shoot(visitor, "error-wrong-browser")


def test_blocked_cookies_are_explained(make_own_visitor, site):
    visitor = make_own_visitor(site, {"profile.default_content_setting_values.cookies": 2})
    visitor.signs_in("ada", until=None)
    visitor.reads("A cookie is missing")
    assert visitor.cookies() == {}
    assert site.server.text().count("posting it again") == 1
    visitor.press("a.button", "/login")


def test_login_opened_under_another_name_of_the_host_is_explained(visitor, site):
    """The cookie of 127.0.0.1 does not come to localhost, where Apple sends the answer."""
    visitor.open(f"http://127.0.0.1:{site.port}/login")
    visitor.goes_through_apple("ada")
    visitor.reads("A cookie is missing")
    visitor.press("a.button", "/login")
    visitor.goes_through_apple("ada", "/account")


@pytest.mark.parametrize("path", ["/logout", "/apple/callback"])
def test_another_site_can_neither_sign_out_nor_repost(visitor, gallery, path):
    visitor.signs_in("ada")
    visitor.posts_from_apple({"bramley_repost": "1", "state": "x"}, path)
    visitor.reads("That came from another site" if path == "/logout" else "The answer could not be read")
    gallery.shoot(visitor, "error-cross-site" if path == "/logout" else "error-malformed")
    assert visitor.is_signed_in()
    visitor.open("/account")
    visitor.arrives("/account")


def test_reloading_the_account_page_changes_nothing(visitor):
    visitor.signs_in("ada")
    before = visitor.cookies()[SESSION]["value"]
    visitor.driver.refresh()
    visitor.arrives("/account")
    assert visitor.heading() == "Ada Byron" and visitor.cookies()[SESSION]["value"] == before
    assert len(visitor.all(".sessions li")) == 1


def test_going_back_over_the_callback_never_ends_in_an_error(visitor):
    """Back meets Apple's page, which may post its form again: the duplicate gets the first one's answer."""
    visitor.signs_in("ada")
    for _ in range(4):
        visitor.driver.back()
        visitor.wait(lambda driver: driver.execute_script("return document.readyState") == "complete")
        assert visitor.path() != "/apple/callback"
        assert "error" not in visitor.driver.title.lower()
    visitor.open("/account")
    visitor.arrives("/account")
    assert visitor.heading() == "Ada Byron"
    assert len(visitor.all(".sessions li")) == 1


def test_a_used_sign_in_is_refused_once_its_session_has_ended(visitor, site, gallery):
    visitor.open("/login")
    nonce = visitor.find("meta[name=appleid-signin-nonce]").get_attribute("content")
    answer = site.apple.call("POST", "authorize", {"person": "ada", "state": visitor.state(), "nonce": nonce})
    # The fields of Apple's form_post.
    fields = {name: answer[name] for name in ("state", "code", "id_token", "user") if answer.get(name)}
    visitor.posts_from_apple(fields)
    visitor.arrives("/account")
    visitor.press("form[action$='/logout'] button")
    visitor.posts_from_apple(fields | {"code": "another"})
    visitor.reads("This sign-in was already used")
    gallery.shoot(visitor, "error-replayed")
    visitor.press("a.button", "/login")


def test_reloading_the_page_of_a_cancelled_sign_in_shows_it_again(visitor):
    visitor.goes_to_apple()
    visitor.press("button[value=cancel]")
    visitor.reads("You cancelled the sign-in")
    visitor.leaves_by(visitor.driver.refresh)
    visitor.reads("You cancelled the sign-in")


def test_login_page_from_the_back_forward_cache_renews_its_attempt(visitor):
    visitor.opens_login()
    first = visitor.state()
    visitor.presses_apple_button()
    visitor.driver.back()
    visitor.arrives("/login")
    # Chromium may also load the page again: either way its attempt is a fresh one.
    visitor.wait(lambda _: visitor.state() != first, "a renewal")
    visitor.goes_through_apple("ada", "/account")


def test_login_page_restored_from_a_cache_renews_its_attempt(visitor):
    visitor.opens_login()
    first = visitor.state()
    visitor.script("window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    visitor.wait(lambda _: visitor.state() != first, "a renewal")


def test_going_back_after_signing_out_shows_no_account(visitor):
    visitor.signs_in("ada")
    visitor.press("form[action$='/logout'] button", "/logout")
    visitor.driver.back()
    visitor.arrives("/login")
    assert "Ada" not in visitor.text()


def test_account_page_from_the_back_forward_cache_notices_that_its_session_has_ended(visitor, site):
    visitor.signs_in("ada")
    visitor.open("/nowhere")
    site.apple.notify("consent-revoked", "ada")
    visitor.driver.back()
    visitor.arrives("/login")


def test_signing_in_works_without_javascript(make_own_visitor, site):
    visitor = make_own_visitor(site, NO_SCRIPTS)
    visitor.open("/")
    visitor.arrives("/login")
    assert not visitor.all("#appleid-signin *"), "scripts did run"
    link = visitor.find("#apple-link")
    assert link.is_displayed() and link.text == "Sign in with Apple"
    visitor.goes_by_the_link()
    # Apple's page cannot post by itself: it shows a button.
    visitor.press("#delivery button", "/account")
    assert visitor.facts()["Name"] == "Ada Byron"
    assert visitor.find("time[data-format=date]").text.startswith("20")
    visitor.press("form[action$='/logout'] button")
    visitor.reads("You are signed out")


def test_the_repost_works_without_javascript(make_own_visitor, site, gallery):
    visitor = make_own_visitor(site, NO_SCRIPTS)
    visitor.open("/login")
    visitor.goes_by_the_link()
    kept = visitor.cookies()[BINDING]
    visitor.delete_cookie(BINDING)
    visitor.press("#delivery button", "/apple/callback")
    assert visitor.find("#repost button").is_displayed()
    gallery.shoot(visitor, "repost")
    visitor.keep_cookie(BINDING, kept["value"], same_site="None")
    visitor.press("#repost button", "/account")


@pytest.mark.parametrize("fault, endpoints", [
    ({"close": "start"}, ["script"]), ({"body": "garbage"}, ["script"]), ({"status": 503}, ["script", "button"]),
], ids=str)
def test_signing_in_works_without_apples_script_and_picture(visitor, site, gallery, fault, endpoints):
    for endpoint in endpoints:
        site.apple.call("PUT", f"faults/{endpoint}", fault)
    visitor.allow_complaint("appleid.auth.js")
    visitor.open("/login?return_to=%2Flogout")
    visitor.wait(lambda driver: driver.execute_script("return document.readyState") == "complete")
    assert not visitor.all(".apple.ready")
    assert visitor.find("#apple-link").is_displayed()
    if "body" not in fault:
        gallery.shoot(visitor, "login-plain-link" if "button" in endpoints else "login-link")
    visitor.press("#apple-link")
    visitor.agrees("ada", "/logout")


def test_a_hanging_script_of_apple_delays_nobody(make_own_visitor, site):
    site.apple.call("PUT", "faults/script", {"hang": True})
    visitor = make_own_visitor(site, page_load_strategy="none")
    visitor.open("/login")
    visitor.wait(lambda driver: driver.find_element(By.ID, "apple-link").is_displayed(), "the link")
    visitor.press("#apple-link")
    visitor.agrees("ada", "/account")


def test_everything_works_by_keyboard(visitor):
    driver = visitor.driver

    def tab_to(selector: str) -> None:
        for _ in range(15):
            ActionChains(driver).send_keys(Keys.TAB).perform()
            if visitor.script("return document.activeElement.matches(arguments[0])", selector):
                outline = visitor.script("return getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", f"{selector} does not show that it has the focus"
                return
        raise AssertionError(f"Tab never reaches {selector}")

    def enter(selector: str | None = None) -> None:
        """At the next such place, or where the focus is."""
        if selector:
            tab_to(selector)
        visitor.leaves_by(ActionChains(driver).send_keys(Keys.ENTER).perform)

    visitor.opens_login()
    # Apple's button and the link in its place are one stop, not two.
    tab_to("#appleid-signin [role=button], #apple-link")
    assert visitor.script("return document.activeElement.matches('[role=button]')")
    enter()
    visitor.find("button[value=ada]")
    enter("button[value=ada]")
    visitor.find("button[value=continue]")
    assert visitor.script("return document.activeElement.value") == "continue"
    enter()
    visitor.arrives("/account")
    enter("form[action$='/logout'] button")
    visitor.reads("You are signed out")
    enter("a.button")
    visitor.arrives("/login")
