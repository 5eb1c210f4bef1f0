"""Links and upgrades in Chromium: the application's pages, Bramley's and Apple's, as a person goes through them."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from app import send
from demo import PASSWORD, Person
from gate import DOWN, LATE, LOST
from orchard import Orchard, problem
from patience import eventually
from people import somebody


@pytest.fixture
def visitor(orchard, make_visitor):
    return make_visitor(orchard)


@pytest.fixture
def ada(orchard):
    return somebody(orchard)


# What people do

def at(visitor, path: str) -> None:
    """Waits for a page of the application's."""
    visitor.wait(lambda driver: driver.current_url.startswith(visitor.site.demo.origin + path)
                 and driver.execute_script("return document.readyState") == "complete", path)


def fill(visitor, **fields: str) -> None:
    for name, value in fields.items():
        field = visitor.find(f"input[name={name}]")
        field.clear()
        field.send_keys(value)


def signs_up(visitor, name: str) -> str:
    """The account's ID."""
    visitor.open(visitor.site.demo.origin + "/sign-up")
    fill(visitor, name=name, password=PASSWORD)
    visitor.press("button")
    at(visitor, "/account")
    return visitor.site.demo.account(name)["id"]


def sets_up_second_factor(visitor, name: str) -> Person:
    """In the browser; the person who knows the codes then."""
    visitor.press("#second-factor")
    person = Person(visitor.site.demo, name)
    person.secret = visitor.find("#secret").text
    fill(visitor, code=person.code())
    visitor.press("button")
    visitor.find("#done")
    return person


def signs_out(visitor) -> None:
    visitor.press("#sign-out")
    visitor.wait(lambda driver: "/logout" in driver.current_url or driver.current_url.endswith("/sign-in"), "the way out")
    if "/logout" in visitor.driver.current_url:
        visitor.press("form[action*='/logout'] button")
    at(visitor, "/sign-in")


def signs_in_by_apple(visitor, person: str) -> None:
    visitor.open(visitor.site.demo.origin + "/sign-in")
    visitor.press("#apple")
    visitor.goes_through_apple(person)
    at(visitor, "/account")


def facts(visitor) -> tuple[str, str, str]:
    return tuple(visitor.find(name).text for name in ("#person", "#password", "#connection"))


# By ticket

@pytest.mark.parametrize("button,kind,said", [
    ("#connect", "link", "now opens this account too"), ("#replace", "upgrade", "has replaced your password")])
def test_a_browser_connects_and_replaces_by_ticket(orchard, visitor, ada, button, kind, said):
    name = f"ticket-{kind}"
    account = signs_up(visitor, name)
    visitor.press(button)
    visitor.arrives(visitor.path())
    assert re.fullmatch(r"/link/lnk_[0-9a-z]{26}", visitor.path())
    # The page names the account.
    assert name in visitor.text()
    visitor.goes_through_apple(ada)
    at(visitor, f"/account?done={kind}")
    assert said in visitor.find("#done").text
    person, password, connection = facts(visitor)
    assert person == name and connection == "Sign in with Apple opens it."
    assert password == ("It has a password." if kind == "link" else "It has no password.")
    assert orchard.owner(account) and orchard.password_works(name) == (kind == "link")
    # No session of Bramley's came of it.
    assert "__Host-bramley" not in visitor.cookies()
    signs_out(visitor)
    signs_in_by_apple(visitor, ada)
    assert visitor.find("#person").text == name
    signs_out(visitor)


def test_the_page_names_who_is_signed_in_by_apple_already(orchard, visitor, ada):
    account = orchard.person("named") and orchard.demo.account("named")["id"]
    assert orchard.tie(account, ada).status == 200
    signs_in_by_apple(visitor, ada)
    visitor.open(orchard.begin("somebody else's")["url"])
    assert "Pat" in visitor.text()


def test_cancelled_at_apple_by_ticket(orchard, visitor, ada):
    account = signs_up(visitor, "cancels")
    visitor.press("#replace")
    visitor.presses_apple_button()
    visitor.chooses(ada)
    visitor.press("button[value=cancel]")
    visitor.wait(lambda driver: driver.current_url.startswith(orchard.origin), "Bramley's page")
    assert orchard.owner(account) is None and orchard.password_works("cancels")
    # Back to the account, and once more.
    visitor.open(orchard.demo.origin + "/account")
    visitor.press("#replace")
    visitor.goes_through_apple(ada)
    at(visitor, "/account?done=upgrade")
    assert not orchard.password_works("cancels")


def test_a_reload_and_the_way_back_change_nothing(orchard, visitor, ada):
    account = signs_up(visitor, "reloads")
    visitor.press("#connect")
    visitor.goes_through_apple(ada)
    at(visitor, "/account?done=link")
    users = orchard.users()
    visitor.driver.refresh()
    at(visitor, "/account?done=link")
    visitor.driver.back()
    visitor.driver.back()
    visitor.open(orchard.demo.origin + "/account")
    assert facts(visitor)[2] == "Sign in with Apple opens it."
    assert orchard.users() == users and orchard.events(orchard.owner(account)).count("account.linked") == 1


def test_two_refusals_and_their_words(orchard, visitor, ada):
    first = orchard.person("first-here") and orchard.demo.account("first-here")["id"]
    assert orchard.tie(first, ada).status == 200
    signs_up(visitor, "second-here")
    visitor.press("#connect")
    visitor.goes_through_apple(ada)
    at(visitor, "/connected")
    assert "already opens another account" in visitor.find("#message").text
    assert orchard.password_works("second-here")


def test_a_completion_that_was_not_answered_is_finished_by_trying_again(orchard, visitor, ada):
    account = signs_up(visitor, "waits")
    orchard.gate.once("complete", LOST, DOWN)
    visitor.press("#replace")
    visitor.goes_through_apple(ada)
    at(visitor, "/connected")
    assert "try again" in visitor.find("#message").text
    assert orchard.owner(account)
    # The application asks again when the event arrives, and does not get through either.
    eventually(lambda: orchard.gate.count("complete") == 2, "the second try")
    visitor.press("#again")
    at(visitor, "/account?done=upgrade")
    assert not orchard.password_works("waits")


def test_the_application_killed_while_a_browser_completes(orchard, visitor, ada):
    """A reload of the address finishes it, in the session that began it."""
    account = signs_up(visitor, "killed-page")
    orchard.gate.once("complete", LATE)
    visitor.press("#replace")
    visitor.goes_through_apple(ada)
    eventually(lambda: orchard.owner(account), "the completed link")
    address = visitor.driver.current_url
    orchard.demo.kill()
    orchard.gate.heal()
    orchard.demo.starts()
    visitor.open(address) if "/connected" in address else visitor.driver.refresh()
    visitor.wait(lambda driver: "done=upgrade" in driver.current_url or orchard.demo.account("killed-page")["password"] is None,
                 "the end of the password")
    assert not orchard.password_works("killed-page")


def test_attack_forced_linking_in_the_victims_browser(orchard, visitor, ada):
    mallory = orchard.person("mallory-2")
    started = mallory.post("/account/connect", {"kind": "link"}).location.rpartition("/")[2]
    own = orchard.begin(orchard.demo.account("mallory-2")["id"])
    code = orchard.authorize(own, ada).json()["code"]
    victim = signs_up(visitor, "victim-2")
    for link in (own["id"], started):
        visitor.open(f"{orchard.demo.origin}/connected?link={link}&code={code}")
        assert "Nothing was changed" in visitor.find("#message").text
    assert orchard.owner(victim) is None


# Already have an account?

@pytest.fixture(scope="module")
def asking(make_shared_site):
    return make_shared_site({"login.askExistingAccount": True}, Orchard)


@pytest.fixture
def stranger(asking, make_visitor):
    return make_visitor(asking)


def is_asked(visitor, person: str) -> None:
    visitor.open(visitor.site.demo.origin + "/sign-in")
    visitor.press("#apple")
    visitor.goes_through_apple(person)
    visitor.find("input[name=choice][value=new]")


def chooses(visitor, choice: str) -> None:
    visitor.press(f"form:has(input[name=choice][value={choice}]) button")


@pytest.mark.parametrize("careful", [False, True], ids=["by password", "with a second factor"])
def test_asked_and_connected_without_a_second_trip_to_apple(asking, stranger, careful):
    name, person = f"had-one-{careful}".lower(), somebody(asking)
    had = asking.person(name)
    if careful:
        had.sets_up_second_factor()
    account, users = asking.demo.account(name)["id"], asking.users()
    is_asked(stranger, person)
    assert asking.users() == users, "somebody who is asked is no user yet"
    chooses(stranger, "connect")
    at(stranger, "/sign-in?ticket=brt_")
    requests = asking.apple.call("GET", "counters")["authorize"]["requests"]
    fill(stranger, name=name, password=PASSWORD)
    stranger.press("button")
    if careful:
        fill(stranger, code=had.code())
        stranger.press("button")
    stranger.wait(lambda driver: "/link/lnk_" in driver.current_url, "the page that connects")
    assert name in stranger.text() and "Pat" in stranger.text()
    assert not stranger.all("#appleid-signin")
    stranger.press("main form button, form button")
    at(stranger, "/account?done=link")
    assert asking.apple.call("GET", "counters")["authorize"]["requests"] == requests
    assert asking.owner(account) and asking.users() == users + 1
    signs_out(stranger)
    # Never asked again.
    signs_in_by_apple(stranger, person)
    assert stranger.find("#person").text == name
    signs_out(stranger)


def test_somebody_new_is_asked_and_gets_an_account(asking, stranger):
    person = somebody(asking)
    is_asked(stranger, person)
    chooses(stranger, "new")
    at(stranger, "/account")
    stranger.press("#new")
    at(stranger, "/account")
    assert facts(stranger) == ("Pat", "It has no password.", "Sign in with Apple opens it.")
    signs_out(stranger)
    signs_in_by_apple(stranger, person)
    assert facts(stranger)[0] == "Pat"
    signs_out(stranger)


def test_somebody_undecided_is_asked_again(asking, stranger):
    person, users = somebody(asking), asking.users()
    is_asked(stranger, person)
    is_asked(stranger, person)
    assert asking.users() == users


def test_attack_a_ticket_in_another_browser(asking, stranger):
    """Mallory has the victim sign in with the ticket of Mallory's Apple Account."""
    mallory, victim = somebody(asking), asking.person("ticketed")
    account = asking.demo.account("ticketed")["id"]
    is_asked(stranger, mallory)
    chooses(stranger, "connect")
    at(stranger, "/sign-in?ticket=brt_")
    (ticket,) = parse_qs(urlsplit(stranger.driver.current_url).query)["ticket"]
    place = victim.signs_in(ticket=ticket).location
    assert "/link/lnk_" in place
    path = urlsplit(place).path
    # The victim's browser is shown Apple's button, and the shortcut is not there for it.
    page = send(asking, "GET", place.removeprefix(asking.origin))
    assert page.status == 200 and b"appleid-signin" in page.body and b"Pat" not in page.body
    binding = next(value.split(";")[0] for value in page.headers.get_all("Set-Cookie"))
    for cookie in ({}, {"Cookie": binding}, {"Cookie": "__Host-bramley-login=" + "A" * 43}):
        refused = send(asking, "POST", path, b"", kind="application/x-www-form-urlencoded",
                       headers={"Sec-Fetch-Site": "same-origin"} | cookie)
        # Back to the page with Apple's button, and no code.
        assert refused.status == 303 and refused.headers["Location"] == path, refused.headers["Location"]
    assert asking.state(path.rpartition("/")[2]) == "open"
    assert asking.owner(account) is None


def test_attack_somebody_elses_choice(asking, stranger):
    """What the page posts is worth nothing in another browser, and from another site."""
    person, users = somebody(asking), asking.users()
    is_asked(stranger, person)
    waiting = stranger.find("input[name=waiting]").get_attribute("value")
    binding = stranger.cookies()["__Host-bramley-login"]["value"]
    for choice in ("new", "connect"):
        body = f"waiting={waiting}&choice={choice}".encode()
        for fields in ({"Sec-Fetch-Site": "same-origin"},
                       {"Sec-Fetch-Site": "same-origin", "Cookie": "__Host-bramley-login=" + "A" * 43},
                       {"Sec-Fetch-Site": "cross-site", "Cookie": f"__Host-bramley-login={binding}"}):
            answer = send(asking, "POST", "/login/existing", body, kind="application/x-www-form-urlencoded", headers=fields)
            assert answer.status in (400, 403, 404, 410) and "Set-Cookie" not in answer.headers, answer.status
    assert asking.users() == users
    chooses(stranger, "new")
    at(stranger, "/account")
    signs_out(stranger)


def test_the_identity_that_waits_is_sealed_and_short_lived(asking, stranger):
    person = somebody(asking)
    is_asked(stranger, person)
    ((sealed, subject),) = asking.sql(
        "SELECT sealed_identity, subject FROM waiting_identity ORDER BY expires_at DESC LIMIT 1")
    assert b"Pat" not in sealed and subject.encode() not in sealed
    asking.sql("UPDATE waiting_identity SET expires_at = expires_at - 600000")
    chooses(stranger, "new")
    assert not stranger.is_signed_in()
    stranger.open(asking.demo.origin + "/sign-in")


def test_a_deleted_person_takes_an_account_without_a_password_along(orchard, visitor, ada):
    account = signs_up(visitor, "leaves-all")
    visitor.press("#replace")
    visitor.goes_through_apple(ada)
    at(visitor, "/account?done=upgrade")
    assert problem(send(orchard, "DELETE", f"/api/v1/users/{orchard.owner(account)}",
                        token=orchard.key("users:delete")))[0] == 202
    eventually(lambda: not orchard.demo.sql("SELECT 1 FROM account WHERE id = ?", account), "the webhook")
    visitor.open(orchard.demo.origin + "/account")
    at(visitor, "/sign-in")
