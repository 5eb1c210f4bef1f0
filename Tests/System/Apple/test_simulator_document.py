"""docs/reference/simulator.md names every call of the control interface, its members and answers, and no other."""

import re

import pytest

from programs import ROOT
from web import call

PAGE = (ROOT / "docs/reference/simulator.md").read_text()
INTERFACE = PAGE[PAGE.index("## The JSON interface"):]
SOURCES = ROOT / "Sources/AppleSimulator"
SWIFT = {file.name: file.read_text() for file in SOURCES.rglob("*.swift")}
# Where a path has a name of the caller's choice.
PLACES = {"client-keys": "{keyID}", "notifications": "{id}", "faults": "{endpoint}"}


def routes_of_the_source() -> set[str]:
    """From the one switch over all calls."""
    text = SWIFT["Simulator+Control.swift"]
    start = text.index("switch (method, path.first, path.count)")
    switch = text[start:text.index('default: throw .unknown("There is no')]
    found, cases = set(), re.findall(r"^ *case (\(.*)$", switch, re.MULTILINE)
    patterns = [(match, line) for line in cases
                for match in re.findall(r'\(\.(\w+), "([\w-]+)", (\d)\)(?: where path\[(\d)\] == "([\w-]+)")?', line)]
    for (method, first, count, at, word), _ in patterns:
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


@pytest.mark.parametrize("file, pattern", [
    # What is read, and what is answered.
    ("Simulator+Control.swift", r'case "(\w+)":'),
    ("Fault.swift", r'case "(\w+)":'),
    ("TokenQuirks.swift", r'case "(\w+)":'),
    ("TokenQuirks.swift", r"case (iss, .*)$"),
    ("KeySet.swift", r"^        case (\w+)$"),
    ("Simulator+Endpoints.swift", r"^    case (.*)$"),
    ("ControlPeople.swift", r'case "(\w+)":'),
    ("ControlPeople.swift", r'body\["(\w+)"\]'),
    ("ControlPeople.swift", r'\["(\w+)":'),
    ("ControlSignIn.swift", r'case "(\w+)":'),
    ("ControlSignIn.swift", r'body\["(\w+)"\]'),
    ("ControlSignIn.swift", r'\("(\w+)", '),
    ("ControlSignIn.swift", r'json\["(\w+)"\] ='),
    ("ControlSignIn.swift", r'^        "(\w+", .*),$'),
    ("ControlPeople.swift", r'"(\w+)":'),
    ("ControlNotifications.swift", r'body\["(\w+)"\]'),
    ("ControlState.swift", r'"(\w+)":'),
    ("ControlState.swift", r'json\["(\w+)"\] ='),
])
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


def ask(port: int, method: str, path: str, body: str = "{}"):
    return call(port, method, f"/simulator/api/{path}", body=None if method == "GET" else body)


def test_a_running_simulator_answers_every_documented_call(port):
    unknown = "There is no {} /simulator/api/"
    for route in sorted(routes_of_the_document()):
        method, path = route.split()
        answer = ask(port, method, re.sub(r"\{\w+\}", "nothing", path))
        assert answer.status in (200, 400, 404) and unknown.format(method) not in answer.text, f"{route}: {answer.text}"
    answer = ask(port, "POST", "nothing")
    assert answer.status == 404 and unknown.format("POST") in answer.text


def test_unknown_members_are_refused_where_the_document_says_so(port):
    sentence = re.search(r"unknown member of (.*?) is 400", INTERFACE, re.DOTALL)[1]
    assert set(re.findall(r"\w+", sentence)) == {
        "people", "native", "passwords", "keys", "tokens", "faults", "and", "behaviour"}
    for method, path, body in (
            ("POST", "people", '{"id": "ada", "nosuch": 1}'), ("POST", "native", '{"nosuch": 1}'),
            ("POST", "passwords", '{"person": "ada", "nosuch": 1}'), ("PUT", "keys", '{"nosuch": 1}'),
            ("PUT", "tokens", '{"nosuch": 1}'), ("PUT", "faults/token", '{"nosuch": 1}'),
            ("PUT", "behaviour", '{"nosuch": 1}')):
        answer = ask(port, method, path, body)
        assert answer.status == 400 and "has no member" in answer.text.replace("have", "has"), f"{method} {path}: {answer.text}"


@pytest.fixture
def port(binaries, tmp_path):
    """The port of a simulator of this test's own."""
    from programs import Simulator, new_key, write_private

    write_private(tmp_path / "AuthKey.p8", new_key())
    simulator = Simulator(binaries, tmp_path, "http://localhost:9")
    yield simulator.port
    simulator.program.stop()
