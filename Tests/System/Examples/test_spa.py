"""docs/examples/spa: the popup, the redirect when it is blocked, and signing out."""

import pytest


@pytest.fixture
def app(start):
    return start("spa")


@pytest.fixture
def visitor(app, make_visitor):
    visitor = make_visitor(app)
    visitor.open("/")
    return visitor


def says(visitor, text: str) -> None:
    visitor.wait(lambda driver: driver.find_element("id", "state").text == text, text)


def opens_popup(visitor) -> str:
    """Goes to the one window beside the page, and answers the page's."""
    driver = visitor.driver
    page = driver.current_window_handle
    visitor.find("#sign-in").click()
    visitor.wait(lambda driver: len(driver.window_handles) == 2, "the popup")
    window, = set(driver.window_handles) - {page}
    driver.switch_to.window(window)
    visitor.find("button[value=ada]")
    return page


def signs_in_by_popup(visitor, person: str) -> None:
    page = opens_popup(visitor)
    visitor.press(f"button[value={person}]")
    visitor.find("button[value=continue]").click()
    visitor.driver.switch_to.window(page)
    visitor.wait(lambda driver: driver.window_handles == [page], "the popup to close")


def test_the_popup_signs_in_and_closes_and_the_page_stays(visitor):
    says(visitor, "You are signed out.")
    visitor.script("window.kept = 'what was typed'")
    signs_in_by_popup(visitor, "ada")
    says(visitor, "Signed in as Ada.")
    assert visitor.script("return window.kept") == "what was typed"
    assert not visitor.find("#sign-in").is_displayed()
    # No script can read the cookie.
    assert visitor.script("return document.cookie") == ""


def test_a_popup_that_is_closed_changes_nothing(visitor):
    page = opens_popup(visitor)
    visitor.driver.close()
    visitor.driver.switch_to.window(page)
    says(visitor, "You are signed out.")
    signs_in_by_popup(visitor, "chie")
    says(visitor, "Signed in as 千絵.")


def test_a_blocked_popup_falls_back_to_the_redirect(visitor):
    says(visitor, "You are signed out.")
    # What window.open answers where a popup is blocked.
    visitor.script("window.open = () => null")
    visitor.press("#sign-in")
    visitor.agrees("boris", "/")
    says(visitor, "Signed in as Boris.")
    assert len(visitor.driver.window_handles) == 1


def test_signing_out_reaches_every_page(visitor):
    signs_in_by_popup(visitor, "erin")
    says(visitor, "Signed in as Erin.")
    first = visitor.driver.current_window_handle
    visitor.driver.switch_to.new_window("tab")
    visitor.open("/")
    says(visitor, "Signed in as Erin.")
    visitor.find("#sign-out").click()
    says(visitor, "You are signed out.")
    assert not visitor.is_signed_in()
    visitor.driver.close()
    visitor.driver.switch_to.window(first)
    says(visitor, "You are signed out.")


def test_a_forged_message_signs_nobody_in(visitor):
    says(visitor, "You are signed out.")
    page = visitor.driver.current_window_handle
    visitor.script("const real = window.fetch; window.asked = 0;"
                   "window.fetch = (...rest) => real(...rest).finally(() => window.asked++)")
    visitor.driver.switch_to.new_window("tab")
    # Opened by hand, it stays: only what a script opened a script may close.
    visitor.allow_complaint("Scripts may close only the windows that were opened by them")
    visitor.open("/signed-in.html")
    visitor.driver.switch_to.window(page)
    visitor.wait(lambda driver: driver.execute_script("return window.asked") > 0, "the page to ask")
    says(visitor, "You are signed out.")


def test_a_session_that_ended_elsewhere_is_noticed_on_return(visitor):
    signs_in_by_popup(visitor, "dana")
    says(visitor, "Signed in as Dana.")
    visitor.site.apple.notify("consent-revoked", "dana")
    visitor.script("window.dispatchEvent(new Event('focus'))")
    says(visitor, "You are signed out.")


def test_the_api_is_only_for_this_origin(app):
    assert app.ask("/api/v1/session", {"Origin": "https://evil.example"}).headers["Access-Control-Allow-Origin"] is None
    fields = {"Cookie": "__Host-bramley=brs_x", "Sec-Fetch-Site": "cross-site"}
    assert app.ask("/api/v1/session", fields, method="DELETE").status in (401, 403)
