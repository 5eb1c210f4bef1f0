"""A login page that stays open longer than the attempt it came with."""

import pytest


@pytest.fixture
def site(make_site):
    return make_site({"login.attemptLifetime": 6})


def wait_past_its_life(visitor) -> None:
    visitor.wait(lambda _: visitor.script("return performance.now() > 6300"), "the attempt to grow old")


def test_open_login_page_renews_its_attempt(visitor):
    visitor.open("/login")
    first = visitor.state()
    wait_past_its_life(visitor)
    visitor.wait(lambda _: visitor.state() != first, "a renewal")
    # Right after the next one, so that a slow machine has all of the attempt's life.
    last = visitor.state()
    visitor.wait(lambda _: visitor.state() != last, "another renewal")
    visitor.goes_through_apple("ada", "/account")


def test_login_page_that_cannot_renew_falls_back_to_the_link(visitor):
    visitor.allow_complaint("/login/attempt")
    visitor.blocks("*/login/attempt*")
    visitor.opens_login()
    wait_past_its_life(visitor)
    visitor.wait(lambda driver: not visitor.all(".apple.ready"), "the link to take over")
    visitor.press("#apple-link")
    visitor.agrees("ada", "/account")


def test_sign_in_that_took_too_long_explains_and_starts_again(visitor, gallery):
    visitor.goes_to_apple("/login?return_to=%2Flogout")
    wait_past_its_life(visitor)
    visitor.agrees("ada", "/apple/callback")
    assert visitor.heading() == "This sign-in took too long"
    assert "6 seconds" in visitor.text() and not visitor.is_signed_in()
    gallery.shoot(visitor, "error-stale")
    visitor.press("a.button")
    visitor.goes_through_apple("ada", "/logout")
    # Apple sent the name with the answer that came too late, and sends it once only: the browser kept it.
    assert "You are signed in as Ada Byron" in visitor.text()
