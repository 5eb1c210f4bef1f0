"""docs/reference/simulator.md: every call that it names, and its website with a library that is not ours."""

import json
import re
import sys
from pathlib import Path

import pytest

from patience import eventually
from programs import ROOT, Program, RunningSimulator, Simulator, free_port, new_key, write_private
from web import Answer, Browser, call

PAGE = (ROOT / "docs/reference/simulator.md").read_text()
INTERFACE = PAGE[PAGE.index("## The JSON interface"):]
SWIFT = {file.name: file.read_text() for file in (ROOT / "Sources/AppleSimulator").rglob("*.swift")}
# Where a path has a name of the caller's choice.
PLACES = {"client-keys": "{keyID}", "notifications": "{id}", "faults": "{endpoint}"}


def routes_of_the_source() -> set[str]:
    text = SWIFT["Simulator+Control.swift"]
    start = text.index("switch (method, path.first, path.count)")
    switch = text[start:text.index('default: throw .unknown("There is no')]
    found, cases = set(), re.findall(r"^ *case (\(.*)$", switch, re.MULTILINE)
    patterns = [match for line in cases
                for match in re.findall(r'\(\.(\w+), "([\w-]+)", (\d)\)(?: where path\[(\d)\] == "([\w-]+)")?', line)]
    for method, first, count, at, word in patterns:
        parts = [first, *[PLACES.get(first, "{id}")] * (int(count) - 1)]
        if at:
            parts[int(at)] = word
        if first == "keys" and count == "2":
            parts[1] = "rotate"
        found.add(f"{method.upper()} {'/'.join(parts)}")
    assert len(patterns) == switch.count("(."), "a case is written in a way that this test does not read"
    return found


def routes_of_the_document() -> set[str]:
    return {f"{method} {path}" for method, path in re.findall(r"`(GET|PUT|POST|DELETE) ([\w/{}-]+)", INTERFACE)}


def words(text: str) -> set[str]:
    """What stands in code, in sentences and tables."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]+)`", text))))


def test_the_document_has_every_call_and_no_other():
    assert len(routes_of_the_source()) > 30
    assert routes_of_the_document() == routes_of_the_source()


CASE, BODY, MEMBER, JSON = r'case "(\w+)":', r'body\["(\w+)"\]', r'"(\w+)":', r'json\["(\w+)"\] ='
# What is read, and what is answered.
PATTERNS = {
    "Simulator+Control.swift": [CASE], "Fault.swift": [CASE], "TokenQuirks.swift": [CASE, r"case (iss, .*)$"],
    "KeySet.swift": [r"^        case (\w+)$"], "Simulator+Endpoints.swift": [r"^    case (.*)$"],
    "ControlPeople.swift": [CASE, BODY, r'\["(\w+)":', MEMBER],
    "ControlSignIn.swift": [CASE, BODY, r'\("(\w+)", ', JSON, r'^        "(\w+", .*),$'],
    "ControlNotifications.swift": [BODY], "ControlState.swift": [MEMBER, JSON],
}


@pytest.mark.parametrize("file, pattern", [(file, pattern) for file in PATTERNS for pattern in PATTERNS[file]])
def test_the_document_has_every_member(file, pattern):
    found = {word for match in re.findall(pattern, SWIFT[file], re.MULTILINE) for word in re.findall(r"\w+", match)}
    assert found, "the sources are written in another way now: mend the pattern"
    assert found - words(INTERFACE) == set()


def test_every_option_of_the_simulator_is_documented():
    options = re.findall(r"@(?:Option|Flag)[^@]*?var (\w+)", SWIFT["AppleSimulatorCommand.swift"])
    assert len(options) > 10
    names = {"--" + re.sub(r"(URL|URI|ID|[A-Z])", lambda match: "-" + match[1].lower(), option) for option in options}
    start = PAGE[PAGE.index("## Start it"):PAGE.index("## Point your library at it")]
    assert {name for name in names if not re.search(rf"`{name}\b", start)} == set()


@pytest.fixture
def ask(binaries, tmp_path):
    write_private(tmp_path / "AuthKey.p8", new_key())
    simulator = Simulator(binaries, tmp_path, "http://localhost:9")
    yield lambda method, path, body="{}": call(
        simulator.port, method, f"/simulator/api/{path}", body=None if method == "GET" else body)
    simulator.program.stop()


def test_a_running_simulator_answers_every_documented_call(ask):
    unknown = "There is no {} /simulator/api/"
    for route in sorted(routes_of_the_document()):
        method, path = route.split()
        answer = ask(method, re.sub(r"\{\w+\}", "nothing", path))
        assert answer.status in (200, 400, 404) and unknown.format(method) not in answer.text, f"{route}: {answer.text}"
    answer = ask("POST", "nothing")
    assert answer.status == 404 and unknown.format("POST") in answer.text


def test_unknown_members_are_refused_where_the_document_says_so(ask):
    assert set(re.findall(r"\w+", re.search(r"unknown member of (.*?) is 400", INTERFACE, re.DOTALL)[1])) == {
        "people", "native", "passwords", "keys", "tokens", "faults", "and", "behaviour"}
    for method, path, content in (
            ("POST", "people", {"id": "ada"}), ("POST", "native", {}), ("POST", "passwords", {"person": "ada"}),
            ("PUT", "keys", {}), ("PUT", "tokens", {}), ("PUT", "faults/token", {}), ("PUT", "behaviour", {})):
        answer = ask(method, path, content | {"nosuch": 1})
        assert answer.status == 400 and "has no member" in answer.text.replace("have", "has"), f"{method} {path}: {answer.text}"


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
