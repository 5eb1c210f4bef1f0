"""Signing in by redirect, as each of the people, and again."""

import pytest

from web import SESSION

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
