"""Back, forward and reload, with and without the back-forward cache."""

from web import SESSION


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
