"""A person with a real browser, straight at Bramley: no proxy anywhere."""

import pytest

from visitor import Visitor, start_browser
from web import SESSION


@pytest.fixture
def visitor(site, issued):
    # A profile of its own: what it learns by Strict-Transport-Security holds for localhost on every port.
    browser = start_browser(arguments=(f"--ignore-certificate-errors-spki-list={issued.spki}",))
    visitor = Visitor(browser, site)
    # The simulated Apple speaks http, the pages here https.
    visitor.allow_complaint(r"Mixed Content: .* requested an insecure element 'http://127\.0\.0\.1:")
    yield visitor
    try:
        visitor.check()
    finally:
        browser.quit()


def test_signing_in_and_out_and_a_notification_from_apple(site, visitor):
    visitor.signs_in("ada")
    assert visitor.driver.current_url.startswith("https://localhost:")
    assert visitor.heading() == "Ada Byron"
    cookie = visitor.cookies()[SESSION]
    assert cookie["secure"] and cookie["httpOnly"] and visitor.is_signed_in()
    # Apple's servers come by TLS as well, and believe the certificate.
    site.apple.notify("consent-revoked", "ada")
    assert not visitor.is_signed_in()


def test_from_the_plain_port_to_the_login_page(site, visitor):
    visitor.open(f"http://localhost:{site.redirect_port}/login?return_to=%2Faccount")
    visitor.arrives("/login")
    assert visitor.driver.current_url == site.url("/login?return_to=%2Faccount")
