"""The extension of docs/examples/ios, run with a system that a script plays: what it tells whom, and when."""

import hashlib
import plistlib

import pytest

from device import SAMPLE, swiftc
from standin import StandIn, problem

GIVEN = {"identityToken": "a.b.c", "authorizationCode": "c1", "fullName": {"givenName": "Ada", "familyName": "Byron"}}
RIGHT = {"result": "success", "link": "lnk_1", "ticket": "brt_1", "nonce": "the nonce", "token": "t1"}
MORE = {"result": "twoFactorAuthRequired", "challenge": "ch_1", "methods": ["totp"]}
AUTHORIZE, COMPLETE = "/api/v1/links/lnk_1/authorize", "/upgrade/complete"


@pytest.fixture
def bramley():
    bramley = StandIn()
    bramley.answers["POST", AUTHORIZE] = (200, {"code": "brl_1"})
    yield bramley
    bramley.stop()


@pytest.fixture
def application():
    application = StandIn()
    says(application, RIGHT)
    says(application, {"result": "success"}, path="/complete")
    yield application
    application.stop()


@pytest.fixture
def device(make_device, application, bramley):
    return make_device(application.origin, bramley.origin)


def says(application, document: dict, status: int = 200, path: str = "") -> None:
    application.answers["POST", "/upgrade" + path] = (status, document)


def needs_more(device, application, **changes) -> str:
    says(application, MORE | changes)
    device.say("prepare", "ada", "x")
    return device.ask("form")


def test_one_tap(device, application, bramley):
    assert device.sheet("convert", "ada", "pass word") == hashlib.sha256(b"the nonce").hexdigest()
    assert device.gives(GIVEN) == "done"
    # The password goes to the application alone, Apple's answer to Bramley alone.
    assert application.asked == [
        ("POST", "/upgrade", {"name": "ada", "password": "pass word"}, None),
        ("POST", COMPLETE, {"link": "lnk_1", "token": "t1", "code": "brl_1"}, None)]
    assert bramley.asked == [("POST", AUTHORIZE, {
        "identityToken": "a.b.c", "authorizationCode": "c1", "user": {"givenName": "Ada", "familyName": "Byron"}},
        "Bearer brt_1")]


@pytest.mark.parametrize("methods, words", [
    (["totp"], "from your authenticator app"), (["sms", "recovery"], "text message, or from your list"), (["email"], "e-mail"),
    (["carrier pigeon"], "Enter the code."), ([], "Enter the code.")])
def test_the_form_names_where_the_code_comes_from(device, application, methods, words):
    asked = needs_more(device, application, methods=methods)
    assert asked.startswith("form Enter the code") and words in asked


def test_the_name_is_omitted_when_apple_gave_none(device, application, bramley):
    device.sheet("convert", "ada", "x")
    assert device.gives({"identityToken": "a.b.c", "authorizationCode": "c1"}) == "done"
    assert bramley.asked[0][2] == {"identityToken": "a.b.c", "authorizationCode": "c1"}


def test_a_person_with_a_second_factor_is_asked_with_a_view(device, application):
    says(application, MORE)
    assert device.ask("convert", "ada", "x") == "ended userInteractionRequired"
    assert needs_more(device, application).startswith("form Enter the code")
    says(application, {"result": "failure"}, path="/code")
    device.say("code", "000000")
    assert device.ask("form").startswith("form This code is wrong")
    says(application, RIGHT | {"nonce": "another"}, path="/code")
    assert device.sheet("code", "123456") == hashlib.sha256(b"another").hexdigest()
    assert device.gives(GIVEN) == "done"
    assert application.calls("/upgrade/code") == [
        {"challenge": "ch_1", "code": "000000"}, {"challenge": "ch_1", "code": "123456"}]


def test_a_second_request_for_a_factor_has_its_own_challenge(device, application):
    needs_more(device, application)
    says(application, MORE | {"challenge": "ch_2", "methods": ["email"]}, path="/code")
    device.say("code", "123456")
    assert "e-mail" in device.ask("form")
    says(application, RIGHT, path="/code")
    device.sheet("code", "654321")
    assert device.gives("closed") == "ended userCanceled"
    assert application.calls("/upgrade/code")[-1] == {"challenge": "ch_2", "code": "654321"}


def test_an_unneeded_view_continues_to_apple(device, application):
    device.sheet("prepare", "ada", "x")
    assert device.gives(GIVEN) == "done"


@pytest.mark.parametrize("status,document", [
    (200, {"result": "failure"}), (429, problem(429, "too_many_requests")), (503, problem(503, "unavailable")),
    (404, {}), (200, {"result": "success"}), (200, MORE | {"challenge": None}), (200, RIGHT | {"result": "perhaps"}),
    (200, RIGHT | {"nonce": None}), (200, []), (500, {}),
])
@pytest.mark.parametrize("call", ["convert", "prepare"])
def test_every_error_is_a_failure(device, application, bramley, call, status, document):
    says(application, document, status)
    assert device.ask(call, "ada", "x") == "ended failed"
    assert len(application.asked) == 1, "a password was sent again by itself"
    assert not bramley.asked


def test_an_unreachable_server_is_a_failure(make_device):
    assert make_device("http://127.0.0.1:1", "http://127.0.0.1:1").ask("convert", "ada", "x") == "ended failed"


@pytest.mark.parametrize("answer,ending", [("closed", "ended userCanceled"), ("nothing", "ended failed")])
def test_without_apples_answer_nothing_is_completed(device, application, bramley, answer, ending):
    device.sheet("convert", "ada", "x")
    assert device.gives(answer) == ending
    assert not bramley.asked and not application.calls(COMPLETE)


def test_a_closed_view_is_cancelled_once_and_forgets_the_upgrade(device, application):
    needs_more(device, application)
    assert device.ask("cancel") == "ended userCanceled"
    # A tap that was on its way.
    device.say("code", "123456")
    device.say("prepare", "ada", "x")
    device.ask("form")
    assert not application.calls("/upgrade/code")


@pytest.mark.parametrize("path, status, code", [
    (AUTHORIZE, 410, "link_expired"), (AUTHORIZE, 400, "nonce_used"), (AUTHORIZE, 404, "link_unknown"),
    (COMPLETE, 409, "identity-linked-elsewhere"), (COMPLETE, 404, "unknown"), (COMPLETE, 400, "invalid")])
def test_a_refusal_is_failed_and_the_keychain_keeps_its_password(device, application, bramley, path, status, code):
    (bramley if path == AUTHORIZE else application).answers["POST", path] = (status, problem(status, code))
    device.sheet("convert", "ada", "x")
    assert device.gives(GIVEN) == "ended failed"
    assert len(bramley.asked) == 1 and len(application.calls(COMPLETE)) == (path == COMPLETE)


def test_an_unanswered_request_is_repeated_unchanged(device, application, bramley):
    authorized = iter([(503, problem(503, "unavailable")), (200, {"code": "brl_1"})])
    completed = iter([(503, problem(503, "unavailable")), (502, problem(502, "x")), (200, {"result": "success"})])
    bramley.answers["POST", AUTHORIZE] = lambda _: next(authorized)
    application.answers["POST", COMPLETE] = lambda _: next(completed)
    device.sheet("convert", "ada", "x")
    assert device.gives(GIVEN) == "done"
    for calls, count in ((bramley.calls(AUTHORIZE), 2), (application.calls(COMPLETE), 3)):
        assert len(calls) == count and all(call == calls[0] for call in calls)


def test_an_app_passes_the_password_it_knows(device, application):
    device.sheet("app", "ada", "typed in the app")
    assert application.asked[0][2] == {"name": "ada", "password": "typed in the app"}
    assert device.gives("closed") == "ended userCanceled"


def test_the_system_finds_the_extension(device_program):
    document = plistlib.loads((SAMPLE / "Extension/Info.plist").read_bytes())["NSExtension"]
    assert document["NSExtensionPointIdentifier"].endswith(".authentication-services-account-authentication-modification-ui")
    assert document["NSExtensionPrincipalClass"] == "$(PRODUCT_MODULE_NAME).UpgradeController"
    assert document["NSExtensionAttributes"] == {
        "ASAccountAuthenticationModificationSupportsUpgradeToSignInWithApple": True,
        "ASAccountAuthenticationModificationSupportsStrongPasswordChange": False}
    code = SAMPLE / "Extension/UpgradeController.swift"
    assert "class UpgradeController: UpgradeViewController {" in code.read_text()
    swiftc(device_program.parent, "-typecheck", code)
