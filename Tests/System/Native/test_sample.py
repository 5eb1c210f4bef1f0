"""The client of docs/examples/ios, run against the real server, and what else is in its folder."""

import json
import re
import subprocess

import pytest

from app import exchanges, hashed, sheet, taken
from device import SAMPLE, Device, swiftc
from programs import ROOT
from standin import StandIn, problem
from web import part_of


@pytest.fixture
def device(client, site):
    device = Device(client, site.origin)
    yield device
    device.end()


def asked(device, site, person: str = "ada") -> str:
    """A sign-in that the server has not seen yet."""
    nonce = device.ask("challenge")
    return json.dumps(taken(sheet(site, person, hashed(nonce)), nonce=nonce))


def test_the_whole_life_of_a_session(device, site):
    content = asked(device, site)
    first = json.loads(device.ask("sign-in", content))
    assert first["user"]["name"] == {"given": "Ada", "family": "Byron"}
    assert json.loads(device.ask("account", first["token"]))["id"] == first["user"]["id"]
    # The answer was lost: the same again, before and after a restart.
    assert json.loads(device.ask("sign-in", content))["token"] == first["token"]
    site.restart()
    assert json.loads(device.ask("sign-in", content))["token"] == first["token"]
    assert exchanges(site) == 1
    for _ in range(2):
        assert device.ask("sign-out", first["token"]) == "done"
    assert device.ask("account", first["token"]) == "null"
    assert device.ask("sign-in", content) == "problem 400 nonce_used"


def test_a_temporary_failure_of_apple_is_retried(device, site):
    site.apple.call("PUT", "faults/token", {"status": 503, "remaining": 1})
    assert "token" in json.loads(device.ask("sign-in", asked(device, site)))
    assert device.ask("pauses") == "[30]", "Retry-After"
    site.apple.call("PUT", "faults/token", {"close": "start", "remaining": 1})
    content = asked(device, site)
    # Nobody knows whether Apple took the code: the person taps again.
    assert device.ask("sign-in", content) == "problem 400 code_refused"
    assert device.ask("sign-in", asked(device, site)).startswith("{")


def test_the_account_is_deleted_with_a_fresh_authorization(device, site):
    token = json.loads(device.ask("sign-in", asked(device, site)))["token"]
    fresh = json.loads(asked(device, site))
    fresh = json.dumps({"token": token, "authorizationCode": fresh["authorizationCode"], "nonce": fresh["nonce"]})
    assert device.ask("delete", fresh) == "done, Apple is told: true"
    assert device.ask("account", token) == "null"
    # The answer was lost.
    assert device.ask("delete", fresh) == "done before"


@pytest.mark.parametrize("setting, state, refusal", [
    ("approval", None, "pending"), ("closed", None, "closed"), ("open", "disabled", "disabled")])
def test_each_refusal_has_a_case_of_its_own(client, make_app_site, setting, state, refusal):
    site = make_app_site({"access.signUp": setting})
    device = Device(client, site.origin)
    if state:
        device.ask("sign-in", asked(device, site))
        site.operator.database("UPDATE user SET state = ?", state)
    assert device.ask("sign-in", asked(device, site)) == f"refused: {refusal}"
    device.end()


def test_an_assertion_is_for_the_backend_that_is_named(client, make_app_site):
    site = make_app_site({"assertion.audience": ["https://api.example.com", "reports&more"]})
    device = Device(client, site.origin)
    token = json.loads(device.ask("sign-in", asked(device, site)))["token"]
    assert part_of(device.ask("assertion", token))["aud"] == "https://api.example.com"
    assert part_of(device.ask("assertion", token, "reports&more"))["aud"] == "reports&more"
    assert device.ask("assertion", token, "nobody") == "problem 400 invalid_request"
    device.ask("sign-out", token)
    assert device.ask("assertion", token) == "problem 401 signed_out"
    device.end()


@pytest.mark.parametrize("fields, pauses, answer", [
    ({}, "[0.5,1]", "problem 503 unavailable"),
    # At most twice again, and never earlier than the server says.
    ({"Retry-After": "7"}, "[7,7]", "problem 503 unavailable"), ({"Retry-After": "60"}, "[60,60]", "problem 503 unavailable"),
    # Too long for somebody who waits, and a date, which Bramley never sends.
    ({"Retry-After": "61"}, "[]", "problem 503 unavailable"),
    ({"Retry-After": "Sun, 29 Nov 2026 10:00:00 GMT"}, "[0.5,1]", "problem 503 unavailable"),
])
def test_the_server_says_when_to_come_again(client, fields, pauses, answer):
    server = StandIn()
    server.answers["DELETE", "/api/v1/session"] = (503, problem(503, "unavailable"), fields)
    device = Device(client, server.origin)
    assert device.ask("sign-out", "brs_x") == answer
    assert device.ask("pauses") == pauses
    device.end()
    server.stop()


def test_without_a_server_the_client_waits_longer_each_time(client):
    device = Device(client, "http://127.0.0.1:1")
    assert (device.ask("sign-out", "brs_x"), device.ask("pauses")) == ("error", "[0.5,1]")
    device.end()


def package(folder) -> dict:
    return json.loads(subprocess.run(
        ["swift", "package", "--package-path", folder, "dump-package"], check=True, capture_output=True).stdout)


def test_xcode_finds_the_same_package_in_this_folder_and_at_the_repositorys_address(tmp_path):
    for name in ("mac", "opened"):
        (tmp_path / name).mkdir()
    text = (ROOT / "Package.swift").read_text()
    assert text.count("#if os(macOS)") == 1
    (tmp_path / "mac/Package.swift").write_text(text.replace("#if os(macOS)", "#if os(Linux)"))
    (tmp_path / "opened/Package.swift").write_text((SAMPLE / "Package.swift").read_text())
    mac, opened = package(tmp_path / "mac"), package(tmp_path / "opened")
    target, = mac["targets"]
    assert ROOT / target.pop("path") == SAMPLE / "Sources/BramleyKit"
    assert mac["dependencies"] == []
    for member in ("platforms", "products", "targets"):
        assert mac[member] == opened[member]


def test_the_guide_compiles(phone_program, tmp_path):
    # The lines of the guide, as an application would write them.
    for number, code in enumerate(re.findall(r"```swift\n(.*?)```", (SAMPLE / "README.md").read_text(), re.DOTALL)):
        file = tmp_path / f"guide{number}.swift"
        if "@main" not in code:
            code = ("import AuthenticationServices\nimport BramleyKit\nimport UIKit\n"
                    f"@MainActor func guide(account: AccountModel, window: UIWindow) async throws {{\n{code}}}\n")
        file.write_text(code)
        swiftc(phone_program.parent, "-typecheck", file)


def test_the_guide_names_every_file():
    text = (SAMPLE / "README.md").read_text()
    files = [str(file.relative_to(SAMPLE)) for file in (*SAMPLE.glob("Sources/*/*"), *(SAMPLE / "Extension").iterdir())]
    assert len(files) > 8 and [name for name in files if f"]({name})" not in text] == []
