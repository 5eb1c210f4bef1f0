"""The extension of docs/examples/ios/Upgrade, run with a system that a script plays: what it tells whom, and when."""

import hashlib
import plistlib

import pytest

from device import SAMPLE
from standin import StandIn, problem

USER = {"id": "usr_ada", "appleSubject": "001.ada", "email": None, "name": {"given": "Ada", "family": None},
        "credentialState": "authorized"}
GIVEN = {"identityToken": "a.b.c", "authorizationCode": "c1", "fullName": {"givenName": "Ada", "familyName": "Byron"}}
BEGUN = {"id": "upg_1", "upgradeToken": "bru_1", "expiresAt": "2026-11-21T10:00:00.000Z"}
RIGHT = BEGUN | {"result": "success", "nonce": "the nonce"}
MORE = BEGUN | {"result": "twoFactorAuthRequired", "methods": ["totp"]}
DONE = {"result": "success", "token": "brs_ada", "user": USER, "session": {}}


@pytest.fixture
def bramley():
    bramley = StandIn()
    bramley.answers["POST", "/api/v1/upgrades/upg_1/complete"] = (200, DONE)
    yield bramley
    bramley.stop()


@pytest.fixture
def device(make_device, bramley):
    return make_device(bramley.origin)


def says(bramley, document: dict, status: int = 200, path: str = "") -> None:
    bramley.answers["POST", "/api/v1/upgrades" + path] = (status, document)


def test_one_tap(device, bramley):
    says(bramley, RIGHT)
    nonce = device.sheet("convert", "ada", "pass word")
    assert nonce == hashlib.sha256(b"the nonce").hexdigest()
    assert device.gives(GIVEN) == "done"
    assert [(method, path, key) for method, path, _, key in bramley.asked] == [
        ("POST", "/api/v1/upgrades", None), ("POST", "/api/v1/upgrades/upg_1/complete", "Bearer bru_1")]
    assert bramley.asked[0][2] == {"username": "ada", "password": "pass word"}
    assert bramley.asked[1][2] == {
        "identityToken": "a.b.c", "authorizationCode": "c1", "user": {"givenName": "Ada", "familyName": "Byron"}}
    assert device.session()["token"] == "brs_ada"


@pytest.mark.parametrize("methods, words", [
    (["totp"], "from your authenticator app"), (["sms", "recovery"], "text message, or from your list"), (["email"], "e-mail"),
    (["carrier pigeon"], "Enter the code."), ([], "Enter the code.")])
def test_the_form_names_where_the_code_comes_from(device, bramley, methods, words):
    says(bramley, BEGUN | {"result": "twoFactorAuthRequired", "methods": methods})
    device.say("prepare", "ada", "x")
    asked = device.ask("form")
    assert asked.startswith("form Enter the code") and words in asked


def test_the_name_is_left_away_when_apple_gave_none(device, bramley):
    says(bramley, RIGHT)
    device.sheet("convert", "ada", "x")
    assert device.gives({"identityToken": "a.b.c", "authorizationCode": "c1"}) == "done"
    assert bramley.asked[1][2] == {"identityToken": "a.b.c", "authorizationCode": "c1"}


def test_who_needs_a_second_factor_is_asked_anew_with_a_view(device, bramley):
    says(bramley, MORE)
    assert device.ask("convert", "ada", "x") == "ended userInteractionRequired"
    device.say("prepare", "ada", "x")
    assert device.ask("form").startswith("form Enter the code")
    says(bramley, {"result": "failure"}, path="/upg_1/second-factor")
    device.say("code", "000000")
    assert device.ask("form").startswith("form This code is wrong")
    says(bramley, RIGHT | {"nonce": "another"}, path="/upg_1/second-factor")
    assert device.sheet("code", "123456") == hashlib.sha256(b"another").hexdigest()
    assert device.gives(GIVEN) == "done"
    assert bramley.calls("/api/v1/upgrades/upg_1/second-factor") == [{"code": "000000"}, {"code": "123456"}]


def test_a_view_for_nothing_goes_on_to_apple(device, bramley):
    says(bramley, RIGHT)
    device.sheet("prepare", "ada", "x")
    assert device.gives(GIVEN) == "done"


@pytest.mark.parametrize("status,document", [
    (200, {"result": "failure"}), (429, problem(429, "too_many_requests")), (503, problem(503, "verifier_unavailable")),
    (404, problem(404, "upgrades_not_configured")), (200, {"result": "success"}), (200, {"result": "success", **BEGUN}),
    (200, {"result": "perhaps", **BEGUN}), (200, []), (500, {}),
])
@pytest.mark.parametrize("call", ["convert", "prepare"])
def test_failure_and_every_error_is_failed(device, bramley, call, status, document):
    says(bramley, document, status)
    assert device.ask(call, "ada", "x") == "ended failed"
    assert len(bramley.asked) == 1, "a password was sent again by itself"
    assert device.session() is None


def test_no_server_is_failed(make_device):
    assert make_device("http://127.0.0.1:1").ask("convert", "ada", "x") == "ended failed"


@pytest.mark.parametrize("answer,ending", [("closed", "ended userCanceled"), ("nothing", "ended failed")])
def test_without_apples_word_nothing_is_completed(device, bramley, answer, ending):
    says(bramley, RIGHT)
    device.sheet("convert", "ada", "x")
    assert device.gives(answer) == ending
    assert not bramley.calls("/api/v1/upgrades/upg_1/complete")


def test_too_many_codes_are_failed(device, bramley):
    says(bramley, MORE)
    device.say("prepare", "ada", "x")
    device.ask("form")
    says(bramley, problem(403, "upgrade_ended"), 403, "/upg_1/second-factor")
    assert device.ask("code", "000000") == "ended failed"


def test_a_closed_view_is_cancelled_once_and_forgets_the_upgrade(device, bramley):
    says(bramley, MORE)
    device.say("prepare", "ada", "x")
    device.ask("form")
    assert device.ask("cancel") == "ended userCanceled"
    # A tap that was on its way.
    device.say("code", "123456")
    assert device.session() is None
    assert not bramley.calls("/api/v1/upgrades/upg_1/second-factor")


@pytest.mark.parametrize("status,code", [
    (409, "identity-linked-elsewhere"), (409, "account-already-linked"), (410, "link_expired"), (400, "nonce_used")])
def test_a_refused_completion_is_failed_and_the_keychain_keeps_its_password(device, bramley, status, code):
    says(bramley, RIGHT)
    says(bramley, problem(status, code), status, "/upg_1/complete")
    device.sheet("convert", "ada", "x")
    assert device.gives(GIVEN) == "ended failed"
    assert len(bramley.calls("/api/v1/upgrades/upg_1/complete")) == 1
    assert device.session() is None


def test_a_completion_under_way_is_asked_again_in_the_same_words(device, bramley):
    says(bramley, RIGHT)
    answers = iter([(502, problem(502, "conversion-failed")), (503, problem(503, "unavailable")), (200, DONE)])
    bramley.answers["POST", "/api/v1/upgrades/upg_1/complete"] = lambda _: next(answers)
    device.sheet("convert", "ada", "x")
    assert device.gives(GIVEN) == "done"
    sent = bramley.calls("/api/v1/upgrades/upg_1/complete")
    assert len(sent) == 3 and sent[0] == sent[1] == sent[2]


def test_an_app_that_asks_by_itself_gives_the_password_it_knows(device, bramley):
    says(bramley, RIGHT)
    device.sheet("app", "ada", "typed in the app")
    assert bramley.asked[0][2] == {"username": "ada", "password": "typed in the app"}
    assert device.gives("closed") == "ended userCanceled"


def test_the_system_finds_the_extension():
    document = plistlib.loads((SAMPLE / "Upgrade/Info.plist").read_bytes())["NSExtension"]
    assert document["NSExtensionPointIdentifier"].endswith(".authentication-services-account-authentication-modification-ui")
    assert document["NSExtensionPrincipalClass"] == "$(PRODUCT_MODULE_NAME).UpgradeViewController"
    assert document["NSExtensionAttributes"] == {
        "ASAccountAuthenticationModificationSupportsUpgradeToSignInWithApple": True,
        "ASAccountAuthenticationModificationSupportsStrongPasswordChange": False}
    code = (SAMPLE / "Upgrade/UpgradeViewController.swift").read_text()
    assert "class UpgradeViewController: ASAccountAuthenticationModificationViewController" in code


def test_the_guide_names_every_file():
    text = (SAMPLE / "README.md").read_text()
    files = sorted(file.name for file in (SAMPLE / "Upgrade").iterdir())
    assert len(files) == 4 and all(f"[Upgrade/{name}](Upgrade/{name})" in text for name in files)
