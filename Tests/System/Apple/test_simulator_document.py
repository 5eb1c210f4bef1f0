"""docs/reference/simulator.md names every call of the control interface, its members and answers, and no other."""

import re

import pytest

from programs import ROOT, Simulator, new_key, write_private
from web import call

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
