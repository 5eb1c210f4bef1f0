"""Every other page a visitor can meet: what it says, and a picture of it."""

from urllib.parse import parse_qs, urlsplit

import pytest

from answering import Answering
from test_operator import inspect
from web import call

NOT_REACHED = "Apple cannot be reached"
# What goes wrong at Apple, and what the visitor reads.
MISTAKES = {
    "signature": ("tokens", {"wrong": ["signature"], "on": "authorize"}, "The answer did not pass our checks"),
    "audience": ("tokens", {"wrong": ["aud"], "on": "authorize"}, "The answer did not pass our checks"),
    "mismatch": ("tokens", {"wrong": ["sub"], "on": "token"}, "The answer did not pass our checks"),
    "clock": ("clock", {"offset": 7200}, "A clock is wrong"),
    "code-refused": ("faults/token", {"error": "invalid_grant"}, "Apple did not accept this sign-in"),
    "client-refused": ("faults/token", {"error": "invalid_client"}, "Sign in with Apple is not set up here"),
    "token-503": ("faults/token", {"status": 503}, NOT_REACHED),
    "token-html": ("faults/token", {"body": "html"}, NOT_REACHED),
    "token-cut": ("faults/token", {"close": "half"}, NOT_REACHED),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_of_apple_are_explained(visitor, site, gallery, name):
    endpoint, fault, heading = MISTAKES[name]
    site.apple.call("PUT", endpoint, fault)
    visitor.signs_in("ada", until="/apple/callback")
    assert visitor.heading() == heading and not visitor.is_signed_in()
    assert visitor.find(".error-id code").text in site.server.text()
    gallery.shoot(visitor, f"error-{name}")
    site.apple.call("POST", "reset")
    visitor.press("a.button", "/login")
    visitor.goes_through_apple("ada", "/account")
    # The name of the first consent was kept through the failed exchange, or comes again.
    assert visitor.heading() == "Ada Byron"


@pytest.mark.parametrize("policy, heading, name", [
    ("approval", "Waiting for approval", "pending"), ("closed", "No new accounts at the moment", "closed")])
def test_sign_up_policy_has_a_page(make_site, make_visitor, gallery, policy, heading, name):
    site = make_site({"access.signUp": policy})
    visitor = make_visitor(site)
    visitor.signs_in("ada", until=None)
    visitor.reads(heading)
    assert not visitor.is_signed_in()
    assert ("Apple Account: Ada Byron (ada@" in visitor.text()) == (policy == "approval")
    assert visitor.find(".error-id code").text in site.server.text()
    gallery.shoot(visitor, f"page-{name}")
    visitor.press("a.button", "/login")


def test_disabled_account_has_a_page(make_site, make_visitor, gallery):
    site = make_site({"apple.onAccountDeleted": "disable"})
    visitor = make_visitor(site)
    visitor.signs_in("ada")
    site.apple.notify("account-deleted", "ada")
    visitor.signs_in("ada", until=None)
    visitor.reads("This account is switched off")
    gallery.shoot(visitor, "page-disabled")


@pytest.mark.parametrize("path, heading, name", [
    ("/nowhere", "There is no page here", "not-found"),
    ("/apple/callback", "This page cannot be opened that way", "method"),
    ("/login?return_to=https%3A%2F%2Fevil.example%2F", "This link leads somewhere else", "return-to"),
    ("/login?return_to=a&return_to=b", "We did not understand the request", "bad-request"),
])
def test_wrong_addresses_have_a_page(visitor, gallery, path, heading, name):
    visitor.open(path)
    visitor.reads(heading)
    gallery.shoot(visitor, f"error-{name}")
    visitor.press("a.button", "/login")


def test_callback_that_belongs_to_no_attempt_is_explained(visitor, gallery):
    visitor.posts_from_apple({"state": "A" * 200, "code": "c", "id_token": "t"})
    visitor.reads("This sign-in does not match")
    gallery.shoot(visitor, "error-invalid-state")


def test_unknown_answer_of_apple_is_explained(visitor, gallery):
    visitor.open("/login")
    visitor.posts_from_apple({"state": visitor.state(), "error": "server_error"})
    visitor.reads("Apple could not sign you in")
    gallery.shoot(visitor, "error-provider")


def test_too_many_requests_have_a_page(visitor, gallery):
    visitor.open("/login")
    hurry = "return Promise.all(Array.from({length: arguments[0]}, () => fetch('/login/attempt').then(() => 0)));"

    def is_held_back(_) -> bool:
        """Two requests a second are forgiven: a slow machine may need another round."""
        visitor.script(hurry, 30)
        visitor.open("/login")
        return visitor.heading() == "One moment, please"

    visitor.script(hurry, 120)
    visitor.wait(is_held_back, "the limit")
    gallery.shoot(visitor, "error-too-many")


def test_an_application_that_always_redirects_back_gets_an_explanation(request, make_site, make_visitor, gallery):
    def answer(asked, body: bytes) -> tuple:
        """A site in front of Bramley whose /app never sees a sign-in, and sends everybody back to log in."""
        if urlsplit(asked.path).path == "/app":
            return 302, {"Location": "/login?return_to=%2Fapp"}
        answer = call(site.port, asked.command, asked.path, dict(asked.headers), body or None)
        return answer.status, [field for field in answer.headers.items()
                               if field[0].lower() not in ("connection", "content-length", "date")], answer.body

    front = Answering(answer)
    request.addfinalizer(front.stop)
    site = make_site(public_port=front.port)
    visitor = make_visitor(site)
    visitor.goes_to_apple("/app")
    assert visitor.all("button[value=ada]")
    visitor.agrees("ada")
    # /apple/callback → /app → /login: the second time round it stops.
    visitor.reads("Sign in to Orchard Club")
    visitor.arrives("/login")
    assert "You came straight back" in visitor.text()
    gallery.shoot(visitor, "login-loop")
    # Trying again goes round once more, and stops again.
    visitor.press(".notice a")
    visitor.wait(lambda driver: "You came straight back" in visitor.text() or visitor.path() == "/login")
    assert parse_qs(urlsplit(visitor.driver.current_url).query)["return_to"] == ["/app"]


def test_links_of_the_site_are_on_the_login_page(make_site, make_visitor, gallery):
    site = make_site({
        "site.privacyURL": "/privacy", "site.termsURL": "/terms", "login.passwordURL": "/password",
        "login.allowedReturnOrigins": ["https://app.example.com"], "button.type": "continue"})
    visitor = make_visitor(site)
    visitor.opens_login("/login?return_to=https%3A%2F%2Fapp.example.com%2Fx")
    for words in ("Privacy", "Terms", "Sign in with a password instead", "https://app.example.com"):
        assert words in visitor.text(), words
    gallery.shoot(visitor, "login-links")


def test_help_and_home_are_on_the_pages_that_need_them(make_site, make_visitor, gallery):
    help_page, home = "mailto:help@example.com?subject=Orchard", "https://www.example.com/start"
    site = make_site({"site.supportURL": help_page, "site.homeURL": home, "access.signUp": "approval"})
    visitor = make_visitor(site)

    def links(selector: str) -> list[str]:
        return [link.get_attribute("href") for link in visitor.all(selector)]

    visitor.opens_login()
    assert links("header a") == [home] and links("footer a") == [help_page]
    visitor.open("/nowhere")
    assert links("a.button") == [home]
    visitor.open("/login?return_to=https%3A%2F%2Fevil.example%2F")
    assert links("a.button")[1:] == [help_page]
    gallery.shoot(visitor, "error-help")
    # Nothing more can be done here: neither is this page a dead end.
    visitor.signs_in("ada", until=None)
    visitor.reads("Waiting for approval")
    assert links("a.button") == [home, help_page]
    gallery.shoot(visitor, "page-pending-help")


def test_a_logo_and_a_colour_of_the_site(make_site, make_visitor, gallery, tmp_path):
    logo = tmp_path / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 20"><style>rect { fill: #b00020; }</style>'
                    '<rect width="80" height="20"/><script>document.title = "caught"</script></svg>')
    visitor = make_visitor(make_site({"site.logoFile": str(logo), "site.accentColor": "#b00020"}))
    visitor.open("/nowhere")
    picture = visitor.find("header img")
    assert picture.get_attribute("naturalWidth") != "0" and picture.get_attribute("alt") == "Orchard Club"
    assert visitor.find("header").text == ""
    assert visitor.find("a.button.primary").value_of_css_property("background-color") == "rgba(176, 0, 32, 1)"
    inspect(visitor, gallery, "brand")
    # By itself, it is a picture all the same.
    visitor.open(picture.get_attribute("src"))
    assert "caught" not in visitor.driver.title
    visitor.allow_complaint("Blocked script execution|Content Security Policy")


def test_simulator_control_page(visitor, site, gallery):
    visitor.signs_in("ada")
    visitor.open(site.apple.origin + "/simulator")
    visitor.wait(lambda driver: "Ada Byron" in visitor.text(), "the people")
    gallery.shoot(visitor, "simulator-control")
