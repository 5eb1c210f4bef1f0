"""A person in Chromium before a program that speaks OpenID Connect, and what they see on the way."""

import sys

import pytest

from party import Browser, register, register_here, return_target
from programs import ROOT, write_private


@pytest.fixture
def mode() -> str:
    return "redirect"


@pytest.fixture
def site(mode, make_site):
    return make_site({"login.mode": mode})


@pytest.fixture
def start(visitor, tmp_path, run):
    """Starts docs/examples/openid as a program; its address. Cookies know no ports: a second one has another host."""
    def start(client_id: str = "reports", name: str = "Orchard Reports", host: str = "127.0.0.1") -> str:
        party, port, origin = register_here(
            visitor.site, client_id, "/callback", "--name", name, "--logout-uri", "{}/", "--back-channel-logout-uri",
            "{}/backchannel-logout", host=host)
        secret = tmp_path / f"{client_id}.secret"
        write_private(secret, party.secret.encode())
        # The key for its cookies may be the same.
        run(port, sys.executable, "-B", "-m", "flask", "--app", ROOT / "docs/examples/openid/app.py", "run", "--port", port,
            PROGRAM_URL=origin, ISSUER=visitor.site.origin, CLIENT_ID=client_id, CLIENT_SECRET_FILE=str(secret),
            COOKIE_KEY_FILE=str(secret), PROGRAM_DATABASE=str(tmp_path / f"{client_id}.db"))
        return origin

    return start


def is_known_to(visitor, program: str) -> None:
    visitor.wait(lambda driver: driver.current_url == f"{program}/" and visitor.all("#person"), "the program")


def asks(visitor, name: str = "Orchard Reports") -> None:
    visitor.wait(lambda _: f"{name} asks who you are" in visitor.text(), "the program's name")


def clicks(visitor, selector: str) -> None:
    """When the page no longer moves."""
    visitor.wait(lambda driver: visitor.find(selector).click() or True, selector)


@pytest.mark.parametrize("mode", ["redirect", "popup"])
def test_one_tap_at_apple_opens_an_application(visitor, start, gallery, mode):
    driver, program = visitor.driver, start()
    driver.get(f"{program}/sign-in")
    visitor.find(".apple.ready")
    asks(visitor)
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
    is_known_to(visitor, program)
    driver.delete_all_cookies()
    driver.get(f"{program}/sign-in")
    is_known_to(visitor, program)


def test_one_tap_opens_two_applications_and_signs_out_of_one_or_both(visitor, start):
    driver = visitor.driver
    reports, wiki = start(), start("wiki", "Orchard Wiki", "localhost")
    visitor.signs_in("ada")
    for program in (wiki, reports):
        driver.get(f"{program}/sign-in")
        is_known_to(visitor, program)
    # Of one: it knows nobody any more, until it asks Bramley, who does.
    driver.delete_all_cookies()
    driver.get(reports)
    visitor.press("#sign-in")
    is_known_to(visitor, reports)
    visitor.press("#sign-out")
    visitor.find("#sign-in")
    assert driver.current_url == f"{reports}/" and not visitor.is_signed_in()

    def is_out(_) -> bool:
        driver.get(wiki)
        return bool(visitor.all("#sign-in"))

    visitor.wait(is_out, "the other program to end its session, by its logout token")
    visitor.press("#sign-in")
    asks(visitor, "Orchard Wiki")


def test_an_application_of_others_is_allowed_and_ended(visitor, gallery):
    """On the way through Apple, with what it may do at a service, and on the account page."""
    site, address = visitor.site, "https://notes.example.com/mcp"
    site.operator.bramley("services", "add", address, "--id", "notes", "--name", "Orchard Notes", "--scope",
                          "notes.read=Read your notes", "--scope", "notes.write=Change and delete your notes")
    party = register(site, "helper", "--consent", "--offline", "--name", "Reading Helper", "--scope",
                     "profile,email,notes.read,notes.write", redirect_uri="https://helper.example.net/callback")
    asked = party.path(scope="openid profile email offline_access notes.read notes.write", resource=address)
    visitor.open(asked)
    visitor.wait(lambda _: "You decide after you sign in" in visitor.text(), "the notice")
    gallery.shoot(visitor, "openid-login-foreign")
    visitor.goes_through_apple("ada", "/oidc/authorize")
    visitor.reads("Reading Helper asks for access to your account")
    for words in ("helper.example.net", "Not verified by", "Orchard Notes", "Change and delete your notes"):
        assert words in visitor.text()
    gallery.shoot(visitor, "openid-consent")
    # Without the browser, which would go on to a page of others.
    browser = Browser(site)
    assert "code" in browser.decide(browser.return_to(return_target(browser.get(asked)), "ada")).must(303).parameters()
    visitor.open("/account")
    visitor.wait(lambda _: "Reading Helper" in visitor.text(), "the application")
    gallery.shoot(visitor, "account-applications")


def test_a_person_outside_the_groups_gets_a_page(visitor, start, gallery):
    program = start()
    visitor.site.operator.bramley("clients", "update", "reports", "--group", "staff")
    visitor.signs_in("ada")
    visitor.driver.get(f"{program}/sign-in")
    visitor.reads("You cannot use Orchard Reports")
    gallery.shoot(visitor, "openid-not-allowed")
    assert "Ada" in visitor.text()
    # As somebody else: signed out here, and asked again by the same program.
    visitor.press("form .button")
    asks(visitor)


def test_an_unknown_application_gets_a_page_with_an_error_id(visitor, start, gallery):
    program = start()
    visitor.site.operator.bramley("clients", "update", "reports", "--redirect-uri", "http://127.0.0.1:1/other")
    visitor.driver.get(f"{program}/sign-in")
    visitor.reads("This application is not set up correctly")
    assert visitor.find(".error-id code").text
    gallery.shoot(visitor, "openid-redirect-refused")
