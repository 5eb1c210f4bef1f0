"""docs/examples/openid: a program with its own sessions, signed in and out by OpenID Connect."""

import sqlite3

import pytest

from web import call


@pytest.fixture
def program(start):
    return start("openid")


def signs_in(visitor, program, person: str) -> None:
    visitor.open(f"{program.address}/")
    visitor.press("#sign-in")
    visitor.wait(lambda _: "Reading list asks who you are" in visitor.text(), "the program's name")
    visitor.goes_through_apple(person)
    visitor.find("#person")
    assert visitor.driver.current_url == f"{program.address}/"


def test_a_person_signs_in_and_out(program, make_visitor):
    visitor = make_visitor(program)
    signs_in(visitor, program, "ada")
    assert visitor.find("#person").text == "Ada"
    visitor.press("#sign-out")
    visitor.find("#sign-in")
    assert visitor.driver.current_url == f"{program.address}/"
    visitor.open(f"{program.origin}/account")
    visitor.wait(lambda _: visitor.path() == "/login", "Bramley to ask again")


def test_consent_withdrawn_at_apple_ends_the_applications_session(program, make_visitor):
    visitor = make_visitor(program)
    signs_in(visitor, program, "boris")
    program.apple.notify("consent-revoked", "boris")

    def is_out(driver) -> bool:
        visitor.open(f"{program.address}/")
        return bool(visitor.all("#sign-in"))

    visitor.wait(is_out, "the program to ask again")


def test_cancelling_at_apple_shows_a_message(program, make_visitor):
    visitor = make_visitor(program)
    visitor.open(f"{program.address}/")
    visitor.press("#sign-in")
    visitor.presses_apple_button()
    visitor.press("button[value=cancel]")
    assert "access_denied" in visitor.find("#failure").text


@pytest.mark.parametrize("token", ["", "nonsense", "eyJhbGciOiJub25lIn0.e30."])
def test_invalid_logout_tokens_end_nothing(program, token):
    assert call(program.address, "POST", "/backchannel-logout", form={"logout_token": token}).status == 400
    with sqlite3.connect(program.data / "program.db") as database:
        tables = database.execute("SELECT name FROM sqlite_schema WHERE name = 'ended'").fetchall()
        assert not tables or not database.execute("SELECT 1 FROM ended WHERE sid = ''").fetchall()
