"""The client of docs/examples/ios, run against the real server, and its other files held against declarations."""

import json
import re
import subprocess

import pytest

from app import exchanges, hashed, sheet, taken
from patience import PATIENCE
from programs import ROOT

SAMPLE = ROOT / "docs/examples/ios"
PLATFORM = ROOT / "Tests/System/Native/Platform"


class Device:
    def __init__(self, program, site):
        self.process = subprocess.Popen(
            [str(program), site.origin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words: str) -> str:
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def request(self, site, person: str = "ada") -> str:
        nonce = self.ask("challenge")
        return json.dumps(taken(sheet(site, person, hashed(nonce)), nonce=nonce))


@pytest.fixture
def device(client, site):
    device = Device(client, site)
    yield device
    device.process.stdin.close()
    assert device.process.wait(timeout=PATIENCE) == 0


def test_the_whole_life_of_a_session(device, site):
    asked = device.request(site)
    first = json.loads(device.ask("sign-in", asked))
    assert first["user"]["name"] == {"given": "Ada", "family": "Byron"}
    assert json.loads(device.ask("account", first["token"]))["id"] == first["user"]["id"]
    # The answer was lost: the same again, before and after a restart.
    assert json.loads(device.ask("sign-in", asked))["token"] == first["token"]
    site.restart()
    assert json.loads(device.ask("sign-in", asked))["token"] == first["token"]
    assert exchanges(site) == 1
    for _ in range(2):
        assert device.ask("sign-out", first["token"]) == "done"
    assert device.ask("account", first["token"]) == "null"
    assert device.ask("sign-in", asked) == "problem 400 nonce_used"


def test_a_passing_failure_of_apples_is_repeated_by_itself(device, site):
    site.apple.call("PUT", "faults/token", {"status": 503, "remaining": 1})
    assert "token" in json.loads(device.ask("sign-in", device.request(site)))
    site.apple.call("PUT", "faults/token", {"close": "start", "remaining": 1})
    asked = device.request(site)
    # Nobody knows whether Apple took the code: the person taps again.
    assert device.ask("sign-in", asked) == "problem 400 code_refused"
    assert device.ask("sign-in", device.request(site)).startswith("{")


def test_the_account_is_deleted_with_a_fresh_authorization(device, site):
    token = json.loads(device.ask("sign-in", device.request(site)))["token"]
    fresh = json.loads(device.request(site))
    fresh = json.dumps({"token": token, "authorizationCode": fresh["authorizationCode"], "nonce": fresh["nonce"]})
    assert device.ask("delete", fresh) == "done, Apple is told: true"
    assert device.ask("account", token) == "null"
    # The answer was lost.
    assert device.ask("delete", fresh) == "done before"


def test_the_other_files_compile_against_apples_frameworks(tmp_path):
    def swiftc(*arguments) -> None:
        subprocess.run(["swiftc", "-swift-version", "6", "-parse-as-library", *map(str, arguments)], check=True, timeout=300)

    for file in sorted(PLATFORM.glob("*.swift")):
        swiftc("-emit-module", "-module-name", file.stem, file, "-o", tmp_path / f"{file.stem}.swiftmodule")
    # With the lines of the guide, as an application would write them.
    guide = re.search(r"```swift\n(.*?)```", (SAMPLE / "README.md").read_text(), re.DOTALL)[1]
    lines = tmp_path / "Guide.swift"
    lines.write_text("import AuthenticationServices\nimport Foundation\n\nstruct View { var window: ASPresentationAnchor? }\n"
                     f"@MainActor func guide(view: View) async throws {{\n{guide}}}\n")
    swiftc("-typecheck", "-warnings-as-errors", "-I", tmp_path, *sorted(SAMPLE.glob("*.swift")), lines)


def test_the_guide_names_every_file():
    text = (SAMPLE / "README.md").read_text()
    files = [file.relative_to(SAMPLE) for file in (*SAMPLE.glob("*.swift"), *(SAMPLE / "Upgrade").iterdir())]
    assert len(files) == 8 and all(f"[{name}]({name})" in text for name in files)
    code = "".join(file.read_text() for file in SAMPLE.glob("*.swift"))
    for needed in ("credentialRevokedNotification", "credentialState(forUserID:", "SecItemAdd", "ASAuthorizationController"):
        assert needed in code
