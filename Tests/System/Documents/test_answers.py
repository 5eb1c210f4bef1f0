"""The JSON and the calls that the documents show, held against the server; code of other languages has a test."""

import json
import re

import pytest

from documents import ROOT, fences
from processes import output
from web import FORM, bearer

# Code and messages: who runs them.
RUN_BY = {
    ("docs/apps/web-app.md", "http"): "Tests/System/Documents/test_answers.py",
    ("docs/apps/agents.md", "http"): "Tests/System/Examples/test_agent.py",
    ("docs/apps/events.md", "http"): "Tests/System/Webhooks/test_endpoints.py",
    ("docs/examples/ios/README.md", "swift"): "Tests/System/Native/test_sample.py",
}


def shown(page: str, member: str, kind: type = object) -> dict:
    """The only piece of JSON on the page that begins with this member, of this kind."""
    pieces = (json.loads(fence.text) for fence in fences() if fence.page == page and fence.language == "json"
              and fence.text.lstrip(" {\n").startswith(f'"{member}"'))
    piece, = (piece for piece in pieces if isinstance(piece[member], kind))
    return piece


def shape(value):
    """Members and the kinds of their values, all the way down."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value[:1]]
    if isinstance(value, str):
        # A prefixed id and a time are kinds of their own.
        prefix = re.match(r"(?:usr|ses)_|(?=\d{4}-\d\d-\d\dT[\d:.]+Z$)", value)
        return "text" if prefix is None else prefix[0] or "time"
    return type(value).__name__


@pytest.fixture
def stage(make_stage):
    return make_stage()


def test_the_documented_session_is_as_answered(stage):
    told = stage.call("GET", "/api/v1/session", stage.someone()["cookie"]).json()
    assert shape(told) == shape(shown("docs/reference/api.md", "user"))


def test_the_documented_introspection_is_as_answered(stage):
    someone, key = stage.someone(), bearer(stage.key())
    path, content = f"/api/v1/users/{someone['user']['id']}", {"externalID": "42", "groups": ["staff"]}
    stage.call("PATCH", path, None, key, content).must(200)
    told = stage.call("POST", "/api/v1/introspect", None, key | FORM, f"token={someone['cookie']}").json()
    assert shape(told) == shape(shown("docs/reference/api.md", "active"))


def test_the_documented_events_are_as_answered(stage):
    user, key = stage.someone()["user"]["id"], bearer(stage.key())
    stage.call("PATCH", f"/api/v1/users/{user}", None, key, {"externalID": "events-42"}).must(200)
    told = stage.call("GET", f"/api/v1/events?user={user}&type=user.updated", None, key).json()
    assert shape(told) == shape(shown("docs/reference/api.md", "items"))


def test_the_documented_problem_is_as_answered(stage):
    answer, example = stage.call("GET", "/api/v1/session"), shown("docs/reference/api.md", "type")
    told = answer.json()
    assert answer.status == example["status"] and shape(told) == shape(example)
    assert {name: told[name] for name in ("type", "title", "code")} == {
        name: example[name] for name in ("type", "title", "code")}


def test_the_documented_assertion_is_as_answered(stage):
    told = stage.call("GET", "/api/v1/session/assertion", stage.someone()["cookie"]).json()
    example = shown("docs/apps/assertion.md", "assertion", str)
    assert shape(told) == shape(example)
    # Every assertion begins with the algorithm.
    assert told["assertion"].startswith(example["assertion"].rstrip("…"))


def test_the_documented_requests_of_a_web_application_are_answered_as_shown(stage):
    texts = [fence.text for fence in fences() if (fence.page, fence.language) == ("docs/apps/web-app.md", "http")]
    assert len(texts) > 1
    for text in texts:
        request, answer = text.split("\n\nHTTP/1.1 ")
        (line, *fields), (head, _, content) = request.splitlines(), answer.partition("\n\n")
        headers = dict(field.split(": ", 1) for field in fields if not field.startswith("Host: "))
        cookie = stage.someone()["cookie"] if headers.pop("Cookie", None) else None
        told = stage.call(*line.split()[:2], cookie, headers)
        status, *fields = head.splitlines()
        assert told.status == int(status.split()[0]), text
        for name, value in (field.split(": ", 1) for field in fields):
            begins = value.rstrip("…").replace("https://appleid.apple.com", stage.site.apple.origin)
            assert told.headers[name].startswith(begins), text
        if content:
            assert is_part(shape(json.loads(content)), shape(told.json())), text


def is_part(shown, told) -> bool:
    """Whether each member that is shown is there, of the same kind."""
    if not isinstance(shown, dict):
        return shown == told
    return all(name in told and is_part(value, told[name]) for name, value in shown.items())


def test_a_planted_difference_is_found():
    assert is_part({"a": {"b": "text"}}, {"a": {"b": "text", "c": "int"}}) and not is_part({"a": {"b": "text"}}, {"a": {}})
    assert shape({"a": [{"b": 1}]}) != shape({"a": [{"b": None}]})
    assert shape({"id": "usr_1"}) != shape({"id": "ses_1"})


def ask_simulator(stage, method: str, path: str) -> str:
    # No call knows this member: what would change something is refused.
    content = ["-d", '{"no such member":1}'] if method in ("POST", "PUT") else []
    return output("curl", "-s", "-X", method, *content, f"{stage.site.apple.origin}/simulator/api/{path}")


def test_the_simulator_has_every_call_of_its_page(stage):
    page = (ROOT / "docs/reference/simulator.md").read_text()
    calls = set(re.findall(r"`(GET|POST|PUT|DELETE) ([a-z][\w/{}-]*)", page))
    assert len(calls) > 20
    # What begins again would take the people of others away, who are on this stage.
    calls.remove(("POST", "reset"))
    unknown = re.compile(r"There is no (GET|POST|PUT|DELETE) |can be \w+, not \w+")
    assert all(unknown.search(ask_simulator(stage, "POST", path)) for path in ("nothing", "keys/turn"))
    for method, path in sorted(calls):
        told = ask_simulator(stage, method, re.sub("[{].*?[}]", "none", path.replace("{endpoint}", "keys")))
        assert not unknown.search(told), f"{method} {path}: {told}"


def test_code_of_other_languages_is_run_somewhere():
    found = {(fence.page, fence.language) for fence in fences() if fence.language in ("http", "python", "js", "swift")
             and not fence.page.startswith("docs/clients/")}
    assert found == set(RUN_BY)
    for (page, language), file in RUN_BY.items():
        text = (ROOT / file).read_text()
        assert page.removeprefix("docs/") in text or page.rsplit("/", 1)[-1] in text, f"{file} does not name {page}"
