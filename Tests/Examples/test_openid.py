"""docs/examples/openid: a program with its own sessions, signed in and out by OpenID Connect."""

import sqlite3
import urllib.error
import urllib.parse
import urllib.request

import pytest

from patience import PATIENCE


@pytest.fixture
def program(start):
    return start("openid")


def signs_in(visitor, program, person: str) -> None:
    visitor.open(f"{program.address}/")
    visitor.press("#sign-in")
    visitor.wait(lambda _: "Reading list asks who you are" in visitor.text(), "the program's name")
    visitor.presses_apple_button()
    visitor.chooses(person)
    visitor.consents()
    visitor.find("#person")
    assert visitor.driver.current_url == f"{program.address}/"


def test_somebody_signs_in_and_out(program, make_visitor):
    visitor = make_visitor(program)
    signs_in(visitor, program, "ada")
    assert visitor.find("#person").text == "Ada"
    visitor.press("#sign-out")
    visitor.find("#sign-in")
    assert visitor.driver.current_url == f"{program.address}/"
    visitor.open(f"{program.origin}/account")
    visitor.wait(lambda _: visitor.path() == "/login", "Bramley to ask again")


def test_consent_withdrawn_at_apple_signs_the_program_out(program, make_visitor):
    visitor = make_visitor(program)
    signs_in(visitor, program, "boris")
    program.apple.notify("consent-revoked", "boris")

    def is_out(driver) -> bool:
        visitor.open(f"{program.address}/")
        return bool(visitor.all("#sign-in"))

    visitor.wait(is_out, "the program to ask again")


def test_whoever_cancels_at_apple_is_told(program, make_visitor):
    visitor = make_visitor(program)
    visitor.open(f"{program.address}/")
    visitor.press("#sign-in")
    visitor.presses_apple_button()
    visitor.press("button[value=cancel]")
    assert "access_denied" in visitor.find("#failure").text


@pytest.mark.parametrize("token", ["", "nonsense", "eyJhbGciOiJub25lIn0.e30."])
def test_what_is_no_logout_token_ends_nothing(program, token):
    body = urllib.parse.urlencode({"logout_token": token}).encode()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{program.address}/backchannel-logout", body, timeout=PATIENCE)
    assert refused.value.code == 400
    with sqlite3.connect(program.data / "program.db") as database:
        tables = database.execute("SELECT name FROM sqlite_schema WHERE name = 'ended'").fetchall()
        assert not tables or not database.execute("SELECT 1 FROM ended WHERE sid = ''").fetchall()
