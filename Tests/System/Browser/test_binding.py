"""The cookie that ties a sign-in to its browser: lost, foreign, blocked, or on another host."""

import pytest

from web import BINDING, SESSION


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
