"""docs/examples as somebody starts them, with `make example` or its script."""

import json
import shutil
import sqlite3

import pytest

from example import ROOT, Example
from processes import finished, output
from programs import listens, new_key, write_private
from web import call

EXAMPLE = ROOT / "docs/examples/accounts"


def fill(visitor, **fields: str) -> None:
    for name, value in fields.items():
        visitor.find(f"input[name={name}]").send_keys(value)


def test_signing_up_replacing_the_password_and_signing_in(start, make_visitor):
    accounts = start("accounts")
    visitor = make_visitor(accounts)
    visitor.open(f"{accounts.address}/sign-up")
    fill(visitor, name="ada", password="correct horse battery")
    visitor.press("button")
    visitor.press("#replace")
    assert "ada" in visitor.text()
    visitor.goes_through_apple("ada")
    assert "has replaced your password" in visitor.find("#done").text
    visitor.press("#sign-out")
    fill(visitor, name="ada", password="correct horse battery")
    visitor.press("button")
    assert "wrong" in visitor.find(".problem").text
    visitor.press("#apple")
    visitor.goes_through_apple("ada")
    assert visitor.find("#person").text == "ada"
    assert visitor.find("#password").text == "It has no password."


def test_the_configuration_is_valid(binaries, tmp_path):
    """config.json with this machine's files instead of the ones it names: nothing else is wrong with it."""
    settings = json.loads((EXAMPLE / "config.json").read_text())
    write_private(tmp_path / "webhook.secret", b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    write_private(tmp_path / settings["apple"]["privateKeyFile"], new_key())
    shutil.copy(EXAMPLE / "config.json", tmp_path)
    output(binaries / "bramley", "check", "--config", "config.json", cwd=tmp_path)


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


PAGE = "/members/harvest.html?year=2026&note=a%26b%20c"


@pytest.fixture
def orchard(start):
    return start("nginx-static")


def test_a_visitor_signs_in_and_arrives_at_the_requested_page(orchard, make_visitor):
    visitor = make_visitor(orchard)
    visitor.open("/")
    visitor.press("a[href='/members/']", "/login")
    visitor.open(PAGE)
    visitor.arrives("/login")
    visitor.goes_through_apple("ada", "/members/harvest.html")
    assert visitor.driver.current_url == orchard.url(PAGE)
    assert visitor.find("#person").text == "ada@example.com"
    visitor.press("a[href='./']", "/members/")
    assert visitor.find("#person").text == "ada@example.com"


def test_a_signed_out_visitor_is_sent_to_the_login(orchard, make_visitor):
    visitor = make_visitor(orchard)
    visitor.signs_in("chie", "/members/", until="/members/")
    visitor.press("a[href^='/logout']")
    visitor.press("form[action$='/logout'] button", "/")
    visitor.open("/members/")
    visitor.arrives("/login")


@pytest.mark.parametrize("path", ["/members/", "/members/harvest.html", "/members/index.html", "/members/none.html"])
def test_nothing_is_shown_to_strangers(orchard, path):
    answer = orchard.ask(path, {"X-Auth-Request-User": "usr_forged", "Cookie": "__Host-bramley=brs_forged"}).must(302)
    assert answer.location.startswith(orchard.url("/login?return_to="))
    assert "Members" not in answer.text and "Harvest" not in answer.text


@pytest.mark.parametrize("path", ["/bramley", "/auth/verify", "/members/../../nginx.conf", "/healthz"])
def test_internal_locations_are_not_reachable(orchard, path):
    assert orchard.ask(path).status in (400, 404)


@pytest.mark.parametrize("path", ["/members%2findex.html", "//members/index.html", "/x/../members/index.html", "/%6dembers/"])
def test_other_spellings_of_a_path_open_nothing(orchard, path):
    answer = orchard.ask(path)
    assert answer.status in (302, 403)
    assert "Welcome" not in answer.text


def test_public_pages_need_no_sign_in(orchard):
    answer = orchard.ask("/")
    assert (answer.status, answer.headers["Cache-Control"]) == (200, None)
    assert "Anybody may read this page." in answer.text


EXAMPLES = sorted(file.parent.name for file in (ROOT / "docs/examples").glob("*/start.sh"))


@pytest.mark.parametrize("name", ["", "none", "../examples/flask", "flask/", "FLASK", "."])
def test_an_unknown_example_lists_the_examples(name):
    run = finished(ROOT / "scripts/example.sh", name)
    assert run.returncode == 2
    assert run.stderr.split()[-len(EXAMPLES):] == EXAMPLES
    assert EXAMPLES == ["accounts", "agent", "cluster", "flask", "nginx-static", "node", "openid", "spa"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_control_c_ends_everything_and_a_second_start_finds_its_data(binaries, tmp_path, name):
    key = None
    for _ in range(2):
        example = Example(name, binaries, tmp_path)
        # Who is not signed in is led to where they can.
        assert example.ask("/").status == (303 if name in ("accounts", "agent", "cluster") else 200)
        ports = {int(address.rpartition(":")[2]) for address in (example.address, example.origin, example.apple.origin)}
        assert example.stop() == 0
        assert not any(map(listens, ports))
        assert "Stopping." in (tmp_path / "example.log").read_text()
        secret = next((tmp_path / "data").rglob("sealing.key")).read_text()
        assert key in (None, secret)
        key = secret


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_a_guide(name):
    text = (ROOT / "docs/examples" / name / "README.md").read_text()
    assert f"make example NAME={name}" in text
    assert "production" in text or "Your own site" in text
    assert f"[{name}]({name}/README.md)" in (ROOT / "docs/examples/README.md").read_text()
