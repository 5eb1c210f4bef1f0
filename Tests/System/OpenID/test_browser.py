"""A person in Chromium before a program that speaks OpenID Connect, and what they see on the way."""


import pytest

from flask_program import flask_program
from gallery import Gallery
from programs import ROOT
from visitor import Visitor, use_fresh_tab


@pytest.fixture(scope="module")
def gallery() -> Gallery:
    return Gallery(ROOT / ".build/screenshots")


@pytest.fixture
def mode() -> str:
    return "redirect"


@pytest.fixture
def visitor(mode, make_site, shared_browser):
    use_fresh_tab(shared_browser)
    return Visitor(shared_browser, make_site({"login.mode": mode}))


def comes_to_the_program(visitor, program: str) -> str:
    def shown(driver) -> str | None:
        text = visitor.text()
        return text if driver.current_url.startswith(program) and "userinfo" in text else None

    return visitor.wait(shown, "the program")


def clicks(visitor, selector: str) -> None:
    """Once the page stands still."""
    visitor.wait(lambda driver: visitor.find(selector).click() or True, selector)


@pytest.mark.parametrize("mode", ["redirect", "popup"])
def test_one_tap_at_apple_opens_a_program(visitor, gallery, mode):
    driver = visitor.driver
    with flask_program(visitor.site) as program:
        driver.get(program)
        visitor.find(".apple.ready")
        visitor.wait(lambda _: "Orchard Reports asks who you are" in visitor.text(), "the program's name")
        gallery.shoot(visitor, "openid-login")
        page = driver.current_window_handle
        if mode == "popup":
            clicks(visitor, "#appleid-signin [role=button]")
            visitor.wait(lambda _: len(driver.window_handles) == 2, "Apple's window")
            driver.switch_to.window(next(window for window in driver.window_handles if window != page))
            visitor.chooses("ada")
            clicks(visitor, "button[value=continue]")
            visitor.wait(lambda _: driver.window_handles == [page], "the window to close")
            driver.switch_to.window(page)
        else:
            visitor.goes_through_apple("ada")
        assert "usr_" in comes_to_the_program(visitor, program)
        # And a second time without Apple.
        driver.delete_all_cookies()
        driver.get(program)
        comes_to_the_program(visitor, program)


def test_one_tap_opens_two_programs_and_signs_out_of_one_or_both(visitor):
    driver = visitor.driver
    with flask_program(visitor.site) as reports, flask_program(visitor.site, "wiki", "Orchard Wiki") as wiki:
        visitor.signs_in("ada")
        for program in (reports, wiki):
            driver.get(program)
            comes_to_the_program(visitor, program)
        # Of one: it knows nobody any more, until it asks Bramley, who does.
        driver.get(f"{reports}/sign-out")
        visitor.wait(lambda _: "Signed out here" in visitor.text(), "the end of one session")
        driver.get(reports)
        comes_to_the_program(visitor, reports)
        # Of both, and of Bramley.
        driver.get(f"{reports}/sign-out-everywhere")
        visitor.wait(lambda _: "Signed out everywhere" in visitor.text(), "the way back")
        assert driver.current_url == f"{reports}/bye" and not visitor.is_signed_in()

        def asks(name: str, program: str):
            def holds(_) -> bool:
                driver.get(program)
                return f"{name} asks who you are" in visitor.text()

            return holds

        visitor.wait(asks("Orchard Reports", reports), "the first program to ask again")
        visitor.wait(asks("Orchard Wiki", wiki), "the other, by its logout token")


def test_consent_withdrawn_at_apple_signs_a_program_out(visitor):
    driver = visitor.driver
    with flask_program(visitor.site) as program:
        visitor.signs_in("ada")
        driver.get(program)
        comes_to_the_program(visitor, program)
        visitor.site.apple.notify("consent-revoked", "ada")

        def is_out(_) -> bool:
            driver.get(program)
            return "Orchard Reports asks who you are" in visitor.text()

        visitor.wait(is_out, "the program to ask again")


def test_somebody_outside_the_groups_is_told(visitor, gallery):
    with flask_program(visitor.site) as program:
        visitor.site.operator.bramley("clients", "update", "flask", "--group", "staff")
        visitor.signs_in("ada")
        visitor.driver.get(program)
        visitor.reads("You cannot use Orchard Reports")
        gallery.shoot(visitor, "openid-not-allowed")
        assert "Ada" in visitor.text()
        # As somebody else: signed out here, and asked again by the same program.
        visitor.press("form .button")
        visitor.wait(lambda _: "Orchard Reports asks who you are" in visitor.text(), "the login page")


def test_an_unknown_program_is_a_page_with_a_number(visitor, gallery):
    with flask_program(visitor.site) as program:
        visitor.site.operator.bramley("clients", "update", "flask", "--redirect-uri", "http://127.0.0.1:1/other")
        visitor.driver.get(program)
        visitor.reads("This application is not set up correctly")
        assert visitor.find(".error-id code").text
        gallery.shoot(visitor, "openid-redirect-refused")
