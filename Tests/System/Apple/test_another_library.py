"""The website of docs/examples/simulator with a library that is not ours, started as docs/reference/simulator.md says."""

import json
import re
import sys
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from patience import PATIENCE, eventually
from programs import ROOT, Program, free_port, new_key, write_private

PAGE = (ROOT / "docs/reference/simulator.md").read_text()


class Walk:
    """The simulator and the website, started as the document says."""

    def __init__(self, binaries: Path, folder: Path):
        write_private(folder / "AuthKey.p8", new_key())
        apple, site = free_port(), free_port()
        self.apple, self.site = f"http://127.0.0.1:{apple}", f"http://localhost:{site}"
        line = re.search(r"^(apple-simulator --port .*?[^\\])$", PAGE, re.MULTILINE | re.DOTALL)[1]
        more = re.search(r"one option more than above, `([^`]+)`", PAGE)[1]
        words = f"{line} {more}".replace("\\\n", " ").replace("8081", str(apple)).replace("8080", str(site)).split()
        key_file = str(folder / "AuthKey.p8")
        words = [key_file if word == "AuthKey.p8" else word for word in words]
        source = (ROOT / "docs/examples/simulator/app.py").read_text()
        (folder / "app.py").write_text(
            source.replace("8080", str(site)).replace('"AuthKey.p8"', repr(key_file)))
        self.programs = [Program([str(binaries / words[0]), *words[1:]], folder / "apple.log")]
        self.programs[0].wait_for(apple)
        self.programs.append(
            Program([sys.executable, str(folder / "app.py")], folder / "app.log", {"APPLE": self.apple}))
        self.programs[1].wait_for(site)

    def control(self, method: str, path: str, body: dict) -> dict:
        answer = requests.request(
            method, f"{self.apple}/simulator/api/{path}", data=json.dumps(body), timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def command(self, part: str) -> None:
        """One of the document's lines of curl, by a part of it."""
        found = [match for match in re.findall(r"^curl -X (\w+) 127\.0\.0\.1:8081/simulator/api/(\S+) -d '(.*)'$", PAGE,
                                               re.MULTILINE) if part in match[1]]
        assert len(found) == 1
        self.control(found[0][0], found[0][1], json.loads(found[0][2]))

    def browse(self, jar: dict, method: str, path: str, body: str | None = None) -> requests.Response:
        """As a browser, which takes http://localhost for safe enough for Secure cookies."""
        answer = requests.request(
            method, self.site + path, data=body, allow_redirects=False, timeout=PATIENCE,
            headers={"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())}
            | ({"Content-Type": "application/x-www-form-urlencoded"} if body else {}))
        for name, morsel in SimpleCookie(answer.headers.get("Set-Cookie", "")).items():
            assert morsel["secure"] and morsel["samesite"] == "None"
            jar[name] = morsel.value
        return answer

    def sign_in(self, person: str, decision: str | None = None) -> tuple[requests.Response, dict]:
        jar: dict[str, str] = {}
        sent = self.browse(jar, "GET", "/login")
        assert sent.status_code == 302, self.programs[1].text()
        asked = {"person": person, "authorize_url": sent.headers["Location"]}
        asked |= {"decision": decision} if decision else {}
        assert "nonce" in parse_qs(urlsplit(asked["authorize_url"]).query)
        return self.browse(jar, "POST", "/apple/callback", self.control("POST", "authorize", asked)["form"]), jar


@pytest.fixture(scope="module")
def walk(binaries, tmp_path_factory):
    walk = Walk(binaries, tmp_path_factory.mktemp("library"))
    yield walk
    for program in reversed(walk.programs):
        program.stop()


def test_the_documented_program_signs_somebody_in(walk):
    answer, jar = walk.sign_in("ada")
    assert answer.status_code == 303, walk.programs[1].text()
    who = walk.browse(jar, "GET", "/").json()
    assert who["email"] == "ada@example.com" and re.fullmatch(r"\d{6}\.[0-9a-f]{32}\.\d{4}", who["sub"])
    assert json.loads(who["user"])["name"] == {"firstName": "Ada", "lastName": "Byron"}
    # The name comes once.
    _, jar = walk.sign_in("ada")
    again = walk.browse(jar, "GET", "/").json()
    assert (again["sub"], again["user"]) == (who["sub"], None)


def test_a_cancelled_sign_in_signs_nobody_in(walk):
    answer, jar = walk.sign_in("chie", decision="cancel")
    assert answer.status_code == 400 and "user_cancelled_authorize" in answer.text
    assert walk.browse(jar, "GET", "/").status_code == 401


@pytest.mark.parametrize("what", ["tokens", "faults/token"])
def test_documented_faults_sign_nobody_in(walk, what):
    walk.command(what)
    answer, jar = walk.sign_in("boris")
    assert answer.status_code == 500
    assert walk.browse(jar, "GET", "/").status_code == 401
    # Once only, as it was ordered.
    assert walk.sign_in("boris")[0].status_code == 303


def test_sign_ins_work_after_apple_changes_its_keys(walk):
    assert walk.sign_in("erin")[0].status_code == 303
    walk.command("keys/rotate")
    assert walk.sign_in("erin")[0].status_code == 303, walk.programs[1].text()


def test_a_notification_arrives(walk):
    walk.command("notifications")

    def heard() -> list[dict]:
        return [json.loads(text) for text in walk.browse({}, "GET", "/apple/notifications").json()]

    eventually(lambda: any(event["type"] == "consent-revoked" for event in heard()), "the notification", heard)
    # One with a broken signature is refused.
    before = len(heard())
    sent = walk.control(
        "POST", "notifications", {"type": "consent-revoked", "person": "dana", "header": {"kid": "NOBODY"}})
    assert [delivery["status"] for delivery in sent["deliveries"]] == [500]
    assert len(heard()) == before
