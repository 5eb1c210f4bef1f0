"""Links and upgrades in Chromium: the application's pages, Bramley's and Apple's, as a person goes through them."""

import re

import pytest

from demo import PASSWORD
from gate import LATE
from orchard import Orchard, somebody
from patience import eventually


@pytest.fixture
def visitor(orchard, make_visitor):
    return make_visitor(orchard)


def at(visitor, path: str) -> None:
    visitor.wait(lambda driver: driver.current_url.startswith(visitor.site.demo.origin + path)
                 and driver.execute_script("return document.readyState") == "complete", path)


def fill(visitor, **fields: str) -> None:
    for name, value in fields.items():
        field = visitor.find(f"input[name={name}]")
        field.clear()
        field.send_keys(value)


def signs_up(visitor, name: str) -> str:
    visitor.open(visitor.site.demo.origin + "/sign-up")
    fill(visitor, name=name, password=PASSWORD)
    visitor.press("button")
    at(visitor, "/account")
    return visitor.site.demo.account(name)["id"]


def signs_out(visitor) -> None:
    visitor.press("#sign-out")
    visitor.wait(lambda driver: "/logout" in driver.current_url or driver.current_url.endswith("/sign-in"), "the way out")
    if "/logout" in visitor.driver.current_url:
        visitor.press("form[action*='/logout'] button")
    at(visitor, "/sign-in")


def goes_by_apple(visitor, person: str) -> None:
    visitor.open(visitor.site.demo.origin + "/sign-in")
    visitor.press("#apple")
    visitor.goes_through_apple(person)


def signs_in_by_apple(visitor, person: str) -> None:
    goes_by_apple(visitor, person)
    at(visitor, "/account")


def facts(visitor) -> tuple[str, str, str]:
    return tuple(visitor.find(name).text for name in ("#person", "#password", "#connection"))


@pytest.mark.parametrize("button,kind,said", [
    ("#connect", "link", "now opens this account too"), ("#replace", "upgrade", "has replaced your password")])
def test_a_browser_connects_and_replaces_by_ticket(orchard, visitor, ada, button, kind, said):
    name = f"ticket-{kind}"
    account = signs_up(visitor, name)
    visitor.press(button)
    visitor.arrives(visitor.path())
    assert re.fullmatch(r"/link/lnk_[0-9a-z]{26}", visitor.path())
    assert name in visitor.text()
    visitor.goes_through_apple(ada)
    at(visitor, f"/account?done={kind}")
    assert said in visitor.find("#done").text
    person, password, connection = facts(visitor)
    assert person == name and connection == "Sign in with Apple opens it."
    assert password == ("It has a password." if kind == "link" else "It has no password.")
    assert orchard.owner(account) and orchard.password_works(name) == (kind == "link")
    assert "__Host-bramley" not in visitor.cookies()
    signs_out(visitor)
    signs_in_by_apple(visitor, ada)
    assert visitor.find("#person").text == name
    signs_out(visitor)


def test_the_page_names_the_signed_in_person(orchard, visitor, ada):
    assert orchard.tie(orchard.account("named"), ada).status == 200
    signs_in_by_apple(visitor, ada)
    visitor.open(orchard.begin("somebody else's")["url"])
    assert "Pat" in visitor.text()


def test_a_reload_and_going_back_change_nothing(orchard, visitor, ada):
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


def test_the_application_killed_while_a_browser_completes(orchard, visitor, ada):
    """A reload of the address finishes it, in the session that began it."""
    account = signs_up(visitor, "killed-page")
    orchard.gate.once("complete", LATE)
    visitor.press("#replace")
    visitor.goes_through_apple(ada)
    eventually(lambda: orchard.owner(account), "the completed link")
    address = visitor.driver.current_url
    orchard.demo.program.kill()
    orchard.gate.heal()
    orchard.demo.starts()
    visitor.open(address) if "/connected" in address else visitor.driver.refresh()
    visitor.wait(lambda driver: "done=upgrade" in driver.current_url or orchard.demo.account("killed-page")["password"] is None,
                 "the end of the password")
    assert not orchard.password_works("killed-page")


@pytest.fixture(scope="module")
def asking(make_shared_site):
    return make_shared_site({"login.askExistingAccount": True}, Orchard)


@pytest.fixture
def stranger(asking, make_visitor):
    return make_visitor(asking)


def is_asked(visitor, person: str) -> None:
    goes_by_apple(visitor, person)
    visitor.find("input[name=choice][value=new]")


def chooses(visitor, choice: str) -> None:
    visitor.press(f"form:has(input[name=choice][value={choice}]) button")


@pytest.mark.parametrize("careful", [False, True], ids=["by password", "with a second factor"])
def test_an_answered_question_connects_without_apple_again(asking, stranger, careful):
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
    signs_in_by_apple(stranger, person)
    assert stranger.find("#person").text == name
    signs_out(stranger)


def test_a_new_person_is_asked_and_gets_an_account(asking, stranger):
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


def test_an_undecided_person_is_asked_again(asking, stranger):
    person, users = somebody(asking), asking.users()
    is_asked(stranger, person)
    is_asked(stranger, person)
    assert asking.users() == users
