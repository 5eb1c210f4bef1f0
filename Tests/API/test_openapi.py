"""docs/openapi.yaml against a running server: whatever can be made of it, the server answers as it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

from inhabited import PEOPLE, SCOPES, Inhabited, sign_in

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "docs/openapi.yaml"
SEED = 20261121


def configuration(place: dict) -> str:
    """Real ids and tokens among the made-up ones, and the credentials."""
    def text(value) -> str:
        return json.dumps(value)

    return f"""
seed = {SEED}
hooks = "schemathesis_hooks"
warnings = {{ display = ["missing_auth", "unsupported_regex", "unused_openapi_auth", "unmatched_filter"], fail-on = true }}

[dictionaries.users]
values = {text(place["users"])}
[dictionaries.sessions]
values = {text(place["sessions"])}
[dictionaries.tokens]
values = {text(place["tokens"])}
[dictionaries.events]
values = {text(place["events"])}

[parameters]
"path.id" = {{ dictionary = "users", probability = 0.7 }}
"path.session" = {{ dictionary = "sessions", probability = 0.7 }}
"query.user" = {{ dictionary = "users", probability = 0.5 }}
"query.after" = {{ dictionary = "events", probability = 0.5 }}
"body.token" = {{ dictionary = "tokens", probability = 0.5 }}

[auth.openapi.browserSession]
api_key = {text(place["session"])}
[auth.openapi.apiKey]
bearer = {text(place["key"])}
[auth.openapi.apiKeyAsPassword]
username = "backend"
password = {text(place["key"])}

# 405 is for methods that exist; to any other the server says 501, as RFC 9110 §15.6.2 has it.
[phases.coverage]
unexpected-methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE"]

# A cursor that is well formed may point at what is not kept.
[[operations]]
include-operation-id = "listEvents"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "410", "429", "5xx"]
"""


def test_schemathesis_finds_nothing(site, tmp_path):
    inhabited = Inhabited(site)
    tokens = [sign_in(site, person) for person in PEOPLE]
    users = inhabited.make_people(400, ("staff",))
    native = inhabited.make_sessions(users[:20], "native")
    spare = inhabited.make_sessions(users[100:])
    place = {
        "key": inhabited.make_key(*SCOPES),
        "session": tokens[0],
        "spare": [token for _, token in spare],
        "tokens": tokens[1:] + [token for _, token in native],
        "users": users[:60],
        "sessions": [session for session, _ in native],
        "events": [row[0] for row in inhabited.read("SELECT id FROM event")],
    }
    (tmp_path / "schemathesis.toml").write_text(configuration(place))
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(tmp_path / "schemathesis.toml"), "run",
            str(DOCUMENT), "--url", f"http://127.0.0.1:{site.port}", "--checks", "all", "--mode", "all",
            "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "150", "--seed", str(SEED),
            "--request-timeout", "10", "--continue-on-failure",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONPATH": str(HERE), "BRAMLEY_TEST_PLACE": json.dumps(place), "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-4_000:]
