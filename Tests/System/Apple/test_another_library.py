"""The website of docs/examples/simulator with a library that is not ours, started as docs/reference/simulator.md says."""

import json
import re
import sys
from pathlib import Path

import pytest

from patience import eventually
from programs import ROOT, Program, RunningSimulator, free_port, new_key, write_private
from web import Answer, Browser

PAGE = (ROOT / "docs/reference/simulator.md").read_text()


class Walk:
    def __init__(self, binaries: Path, folder: Path):
        write_private(folder / "AuthKey.p8", new_key())
        apple, site = free_port(), free_port()
        self.apple, self.origin = RunningSimulator(f"http://127.0.0.1:{apple}"), f"http://localhost:{site}"
        line = re.search(r"^(apple-simulator --port .*?[^\\])$", PAGE, re.MULTILINE | re.DOTALL)[1]
        more = re.search(r"add `([^`]+)` above", PAGE)[1]
        words = f"{line} {more}".replace("\\\n", " ").replace("8081", str(apple)).replace("8080", str(site)).split()
        key_file = str(folder / "AuthKey.p8")
        words = [key_file if word == "AuthKey.p8" else word for word in words]
        source = (ROOT / "docs/examples/simulator/app.py").read_text()
        (folder / "app.py").write_text(source.replace("8080", str(site)).replace('"AuthKey.p8"', repr(key_file)))
        self.programs = [
            Program([str(binaries / words[0]), *words[1:]], folder / "apple.log"),
            Program([sys.executable, str(folder / "app.py")], folder / "app.log", {"APPLE": self.apple.origin})]
        for program, port in zip(self.programs, (apple, site)):
            program.wait_for(port)

    def command(self, part: str) -> None:
        """One of the document's lines of curl, by a part of it."""
        lines = re.findall(r"^curl -X (\w+) 127\.0\.0\.1:8081/simulator/api/(\S+) -d '(.*)'$", PAGE, re.MULTILINE)
        [(method, path, body)] = [line for line in lines if part in line[1]]
        self.apple.call(method, path, json.loads(body))

    def sign_in(self, person: str, **decision: str) -> tuple[Answer, Browser]:
        browser = Browser(self)
        sent = browser.get("/login")
        assert sent.status == 302 and "nonce" in sent.parameters(), self.programs[1].text()
        asked = {"person": person, "authorize_url": sent.location} | decision
        back = browser.comes_back(self.apple.call("POST", "authorize", asked)["form"])
        cookies = [line for answer in (sent, back) for line in answer.headers.get_all("Set-Cookie") or []]
        assert cookies and all("Secure" in line and "SameSite=None" in line for line in cookies), cookies
        return back, browser


@pytest.fixture(scope="module")
def walk(binaries, tmp_path_factory):
    walk = Walk(binaries, tmp_path_factory.mktemp("library"))
    yield walk
    for program in reversed(walk.programs):
        program.stop()


def test_the_documented_program_signs_somebody_in(walk):
    answer, browser = walk.sign_in("ada")
    assert answer.status == 303, walk.programs[1].text()
    who = browser.get("/").json()
    assert who["email"] == "ada@example.com" and re.fullmatch(r"\d{6}\.[0-9a-f]{32}\.\d{4}", who["sub"])
    assert json.loads(who["user"])["name"] == {"firstName": "Ada", "lastName": "Byron"}
    _, browser = walk.sign_in("ada")
    again = browser.get("/").json()
    assert (again["sub"], again["user"]) == (who["sub"], None)


def test_a_cancelled_sign_in_signs_nobody_in(walk):
    answer, browser = walk.sign_in("chie", decision="cancel")
    assert answer.status == 400 and "user_cancelled_authorize" in answer.text
    assert browser.get("/").status == 401


@pytest.mark.parametrize("what", ["tokens", "faults/token"])
def test_documented_faults_sign_nobody_in(walk, what):
    walk.command(what)
    answer, browser = walk.sign_in("boris")
    assert (answer.status, browser.get("/").status) == (500, 401)
    assert walk.sign_in("boris")[0].status == 303


def test_sign_ins_work_after_apple_changes_its_keys(walk):
    assert walk.sign_in("erin")[0].status == 303
    walk.command("keys/rotate")
    assert walk.sign_in("erin")[0].status == 303, walk.programs[1].text()


def test_a_notification_arrives(walk):
    walk.command("notifications")

    def heard() -> list[dict]:
        return [json.loads(text) for text in Browser(walk).get("/apple/notifications").json()]

    eventually(lambda: any(event["type"] == "consent-revoked" for event in heard()), "the notification", heard)
    # One with a broken signature is refused.
    before = len(heard())
    forged = {"type": "consent-revoked", "person": "dana", "header": {"kid": "NOBODY"}}
    sent = walk.apple.call("POST", "notifications", forged)
    assert [delivery["status"] for delivery in sent["deliveries"]] == [500]
    assert len(heard()) == before
