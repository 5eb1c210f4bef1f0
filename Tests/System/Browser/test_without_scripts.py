"""Without JavaScript, without Apple's script, without a mouse."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from visitor import NO_SCRIPTS
from web import BINDING


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
