"""docs/openapi.yaml against a running server: whatever can be made of it, the server answers as it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from attacker import send
from closed import DOCUMENT, close, closed
from inhabited import ENDPOINT, PEOPLE, SCOPES, Inhabited
from ways import Way
from web import call, sign_in

HERE = Path(__file__).resolve().parent
# Another one for a longer look: much of what is asked follows from ids the server makes up.
SEED = int(os.environ.get("API_SEED", 20261121))
# A body of these brings a code of Apple's: Tests/System/Native and Linking hold those answers against the document.
OUT_OF_REACH = {label: {"200"} for label in ("POST /api/v1/native/sessions", "POST /api/v1/links/{id}/authorize")}
OUT_OF_REACH["DELETE /api/v1/account"] = {"202"}
# That is for a key which may not read; this one may do everything. test_bad_input.py has the other.
OUT_OF_REACH["PATCH /api/v1/users/{id}"] = {"204"}
# With which other statuses an operation may answer what is well formed.
ALSO_ACCEPTED = {
    # What is well formed need not be Apple's, nor for a browser's session.
    ("signInFromApp", "deleteAccount"): [400],
    # An audience is the operator's to name.
    ("getAssertion",): [400, 404],
    # An endpoint is the operator's to name, and an event that is named need not wait; one test at a time.
    ("retryWebhooks", "testWebhook"): [400, 404],
    # Nor for a link that waits for it; and where a link may lead is the operator's to say.
    ("createLink", "authorizeLink", "completeLink"): [400, 404, 409, 410],
    # A condition that is well formed need not hold, nor a user be there; after and cursor are two names of one thing.
    ("listUsers", "getUser", "patchUser", "deleteUser"): [304, 400, 404, 409, 412],
    # A cursor that is well formed may point at what is not kept.
    ("listEvents",): [410],
}


def configuration(place: dict) -> str:
    """Real ids and tokens among the made-up ones, and the credentials."""
    text = json.dumps
    dictionaries = {name: place[name] for name in ("users", "sessions", "tokens", "events")}
    dictionaries |= {"endpoints": [ENDPOINT], "codes": [place["code"]]}
    values = "\n".join(f"[dictionaries.{name}]\nvalues = {text(known)}" for name, known in dictionaries.items())
    accepted = "\n".join(
        f"[[operations]]\ninclude-operation-id = {text(ids)}\n[operations.checks.positive_data_acceptance]\n"
        f"expected-statuses = {text(['2xx', '401', '403', '429', '5xx', *map(str, statuses)])}"
        for ids, statuses in ALSO_ACCEPTED.items())
    return f"""
seed = {SEED}
hooks = "schemathesis_hooks"
warnings = {{ display = ["missing_auth", "unsupported_regex", "unused_openapi_auth", "unmatched_filter"], fail-on = true }}

{values}

[parameters]
"path.id" = {{ dictionary = "users", probability = 0.7 }}
"path.session" = {{ dictionary = "sessions", probability = 0.7 }}
"query.user" = {{ dictionary = "users", probability = 0.5 }}
"query.after" = {{ dictionary = "events", probability = 0.5 }}
"body.token" = {{ dictionary = "tokens", probability = 0.5 }}
"body.endpoint" = {{ dictionary = "endpoints", probability = 0.7 }}
"body.code" = {{ dictionary = "codes", probability = 0.7 }}

[auth.openapi.browserSession]
api_key = {text(place["session"])}
[auth.openapi.apiKey]
bearer = {text(place["key"])}
[auth.openapi.apiKeyAsPassword]
username = "backend"
password = {text(place["key"])}
# Those that belong to the id of a request: schemathesis_hooks.py.
[auth.openapi.ticket]
bearer = {text(next(iter(place["tickets"].values())))}

# 405 is for methods that exist; to any other the server says 501, as RFC 9110 §15.6.2 has it.
[phases.coverage]
unexpected-methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE"]

# What is wrong is our caller's fault, and 413 and 414 are ways to say so.
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "410", "412", "413", "414", "415", "429"]

{accepted}
"""


class Run:
    def __init__(self, site, folder: Path, text: str, phases: str, examples: int):
        document = folder / "openapi.json"
        document.write_text(json.dumps(close(text)))
        inhabited = Inhabited(site)
        # A link belongs to the key that began it.
        key = inhabited.keys["links",] = inhabited.operator.key(*SCOPES)
        tokens = [sign_in(site, person) for person in PEOPLE]
        users = inhabited.make_people(400, ("staff",))
        native, spare = inhabited.make_sessions(users[:20], "native"), inhabited.make_sessions(users[100:])
        links, authorized = (
            [Way(inhabited, send, user, path) for user in users[:20]] for path in (
                "/api/v1/links/{id}/authorize", "/api/v1/links/{id}/complete"))
        place = {
            "tickets": {way.id: way.bearer for way in links}, "code": "123456",
            "linkCodes": {way.id: way.content["code"] for way in authorized}, "key": key, "session": tokens[0],
            "spare": [token for _, token in spare], "tokens": tokens[1:] + [token for _, token in native],
            "users": users[:60], "sessions": [session for session, _ in native], "events": inhabited.events(),
            "answers": str(folder / "answers")}
        (folder / "schemathesis.toml").write_text(configuration(place))
        done = subprocess.run(
            [Path(sys.executable).parent / "schemathesis", "--config-file", folder / "schemathesis.toml", "run", document,
             "--url", f"http://127.0.0.1:{site.port}", "--checks", "all", "--mode", "all", "--phases", phases,
             "--max-examples", str(examples), "--seed", str(SEED), "--request-timeout", "10", "--continue-on-failure"],
            cwd=folder, capture_output=True, text=True, timeout=1800,
            env=os.environ | {"PYTHONPATH": str(HERE), "BRAMLEY_TEST_PLACE": json.dumps(place), "NO_COLOR": "1"})
        self.found = done.returncode != 0
        self.output = done.stdout[-20_000:] + done.stderr[-4_000:]
        self.answers = set((folder / "answers").read_text().splitlines())


def operations():
    for path, item in yaml.load(DOCUMENT.read_text(), yaml.CSafeLoader)["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield f"{method.upper()} {path}", operation


@pytest.mark.parametrize("examples", [10, pytest.param(50, marks=pytest.mark.long)])
def test_schemathesis_finds_nothing(site, tmp_path, examples):
    site.operator.bramley("clients", "add", "grafana", "--redirect-uri", "https://grafana.example.com/callback")
    run = Run(site, tmp_path, DOCUMENT.read_text(), "examples,coverage,fuzzing,stateful", examples)
    assert not run.found, run.output
    # Nothing was found because there was nothing, and not because nothing was tried: each operation did its work.
    missing = {}
    for label, operation in operations():
        statuses = {answer.rpartition(" ")[2] for answer in run.answers if answer.startswith(label + " ")}
        done = {status for status in operation["responses"] if status.startswith("2")} - OUT_OF_REACH.get(label, set())
        if not done <= statuses:
            missing[label] = f"answered with {sorted(statuses)} only"
    assert not missing
    # The generator leaves a body out by chance only.
    inhabited = Inhabited(site)
    [(_, token)] = inhabited.make_sessions(inhabited.make_people(1))
    answer = call(site, "DELETE", "/api/v1/account", {"Cookie": f"__Host-bramley={token}", "Sec-Fetch-Site": "same-origin"})
    assert answer.status == 202, answer.body
    deletion = {"$ref": "#/components/schemas/Deletion", "components": closed()["components"]}
    Draft202012Validator(deletion).validate(answer.json())


@pytest.mark.parametrize("right, wrong", [
    # A member the server sends and nobody described.
    ('detail: { type: string, description: "What is wrong with the request, for developers." }', ""),
    # One that is described and never sent.
    pytest.param("required: [type, title, status, code, errorID]", "required: [type, title, status, code, errorID, instance]",
                 marks=pytest.mark.long),
    # A code of another name.
    pytest.param("enum: [user_not_found, not_found]", "enum: [no_such_user]", marks=pytest.mark.long),
    # A status nobody described.
    pytest.param('        "410": { $ref: "#/components/responses/CursorExpired" }\n', "", marks=pytest.mark.long),
    # A number the server refuses.
    pytest.param("maximum: 200, default: 50", "maximum: 201, default: 50", marks=pytest.mark.long),
])
def test_schemathesis_finds_a_planted_difference(site, tmp_path, right, wrong):
    text = DOCUMENT.read_text()
    assert right in text
    assert Run(site, tmp_path, text.replace(right, wrong), "coverage", 1).found
