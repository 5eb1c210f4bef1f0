"""Devices that show a code (RFC 8628): the endpoint, the page on which a person enters it, and what the device gets."""

import re
import sys
from urllib.parse import urlencode

import pytest

from party import CALLBACK, Browser, Party, call, signed_in
from patience import at_once, eventually
from programs import ROOT, Program

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
WRONG = "BBBB-BBBB"


class Device:
    """A program that has begun, and polls when the test says so."""

    def __init__(self, party: Party, headers: dict | None = None, **changes):
        self.party = party
        made = party.post("/oidc/device_authorization", {"scope": "openid profile email"} | changes, headers)
        self.begun = made.must(200).json()
        self.user_code, self.code = self.begun["user_code"], self.begun["device_code"]

    def poll(self, party: Party | None = None):
        # Every test polls at once: this is about the answers, and DeviceTests.swift about the pace.
        site, id = self.party.site, f"user_code = '{self.user_code.replace('-', '')}'"
        site.operator.database(f"UPDATE openid_device SET polled_at = NULL WHERE {id}")
        return (party or self.party).post("/oidc/token", {"grant_type": GRANT, "device_code": self.code})

    def error(self, party: Party | None = None) -> str:
        return self.poll(party).must(400).json()["error"]


def enter(browser: Browser, code: str, headers: dict | None = None, **more):
    return browser.send("POST", "/device", {"user_code": code} | more, {"Origin": browser.site.origin} | (headers or {}))


def decide(browser: Browser, page, decision: str = "allow", **changes):
    """The answer to the button of the page that names the request."""
    return browser.decide(page, decision, "/device", **changes)


def add(site, client_id: str, *options: str) -> Party:
    made = site.operator.json("clients", "add", client_id, *options)
    return Party(site, made["clientID"], made.get("clientSecret"))


@pytest.fixture(scope="module")
def backup(site) -> Party:
    return add(site, "backup", "--name", "Backup <b>", "--public", "--offline", "--device")


@pytest.fixture(scope="module")
def television(site) -> Party:
    return add(site, "television", "--device")


@pytest.fixture
def ada(site) -> Browser:
    return signed_in(site)


def test_a_device_is_allowed_and_gets_tokens_once(site, backup, ada):
    device = Device(backup, {"User-Agent": "curl/8.5.0", "X-Forwarded-For": "203.0.113.77"}, scope="openid email offline_access x")
    assert re.fullmatch(r"[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", device.user_code)
    assert device.begun == {
        "device_code": device.code, "user_code": device.user_code, "verification_uri": site.origin + "/device",
        "verification_uri_complete": f"{site.origin}/device?user_code={device.user_code}", "expires_in": 600, "interval": 5}
    assert device.error() == "authorization_pending"
    # As somebody types it.
    page = enter(ada, f" {device.user_code.replace('-', '').lower()} ").must(200)
    assert "Let Backup &lt;b&gt; on a device use your account?" in page.text and "Ada Byron" in page.text
    assert device.user_code.replace("-", "\u2011") in page.text and "203.0.113.77 (curl)" in page.text
    assert "the e-mail address that Apple gave us" in page.text and "access until you end it" in page.text
    assert "your groups here" not in page.text and "on your own device" in page.text
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "Your device is connected" in decide(ada, page).must(200).text
    tokens = device.poll().must(200).json()
    assert tokens["scope"] == "openid email offline_access" and tokens["token_type"] == "Bearer"
    claims = backup.verified(tokens["id_token"], "auth_time", "sid").claims
    assert claims["sub"] == ada.user() == backup.userinfo(tokens["access_token"]).must(200).json()["sub"]
    assert backup.refresh(tokens["refresh_token"]).status == 200
    # A replay ends what came of it, as of any code.
    assert device.error() == "invalid_grant"
    assert backup.userinfo(tokens["access_token"]).status == 401


def test_the_link_fills_in_the_code_and_asks_nothing(site, backup):
    device = Device(backup)
    browser = Browser(site)
    path = browser.own(device.begun["verification_uri_complete"])
    login = browser.get(path).must(303)
    assert login.location.startswith("/login?return_to=")
    page = browser.through_apple(login.parameters()["return_to"]).must(303)
    assert browser.own(page.location) == path
    page = browser.get(path).must(200)
    assert f'value="{device.user_code}"' in page.text and "Check that your device shows this code" in page.text
    assert "bramley_ticket" not in page.text
    # Any other link only fills in nothing, and uses up no try.
    for _ in range(8):
        assert "Enter the code" in browser.get("/device?" + urlencode({"user_code": "<b>"})).must(200).text
        browser.get(f"/device?user_code={WRONG}").must(200)
    assert "use your account" in enter(browser, device.user_code).must(200).text


def test_signed_out_meanwhile_comes_back_with_the_code(site, backup, ada):
    device = Device(backup)
    page = enter(ada, device.user_code)
    ada.sign_out()
    for answer in (enter(ada, device.user_code.lower()), decide(ada, page)):
        assert answer.must(303).parameters()["return_to"] == f"/device?user_code={device.user_code}"
    assert device.error() == "authorization_pending"


def test_not_now_is_access_denied(backup, ada):
    device = Device(backup)
    assert "Nothing was allowed" in decide(ada, enter(ada, device.user_code), "deny").must(200).text
    assert device.error() == "access_denied"


def test_a_confidential_client_proves_itself(site, television, ada):
    for secret in ("bcs_" + "A" * 43, None):
        stranger = Party(site, "television", secret)
        assert stranger.post("/oidc/device_authorization", {"scope": "openid"}).must(401).json()["error"] == "invalid_client"
    device = Device(television)
    decide(ada, enter(ada, device.user_code))
    assert device.poll(Party(site, "television", None)).must(401).json()["error"] == "invalid_client"
    assert device.poll().must(200).json()["id_token"]


@pytest.mark.parametrize("form, error", [
    ({"scope": "email"}, "invalid_scope"),
    ({"scope": "openid", "resource": "https://api.example.com/"}, "invalid_target"),
    ({"scope": ["openid", "openid"]}, "invalid_request")])
def test_what_is_asked_for_is_checked(backup, form, error):
    body = urlencode({"client_id": "backup"} | form, doseq=True)
    answer = call(backup.site, "POST", "/oidc/device_authorization", {"Content-Type": "application/x-www-form-urlencoded"}, body)
    assert answer.must(400).json()["error"] == error


def test_other_clients_cannot_ask_people(site, grafana, ada):
    assert grafana.post("/oidc/device_authorization", {"scope": "openid"}).must(400).json()["error"] == "unauthorized_client"
    lent = add(site, "lent", "--public", "--device")
    device, late = Device(lent), Device(lent)
    decide(ada, enter(ada, device.user_code))
    site.operator.bramley("clients", "update", "lent", "--no-device", "--redirect-uri", "https://lent.example.com/")
    assert device.error() == "unauthorized_client"
    assert "not valid" in enter(ada, late.user_code).must(200).text


def test_an_application_of_others_is_remembered_and_still_each_device_is_asked(site, ada):
    theirs = add(site, "theirs", "--consent", "--device", "--redirect-uri", CALLBACK)
    for _ in range(2):
        device = Device(theirs, scope="openid email")
        page = enter(ada, device.user_code).must(200)
        assert "Not verified by" in page.text and "use your account?" in page.text
        assert "connected" in decide(ada, page).must(200).text
        assert device.poll().must(200).json()["scope"] == "openid email"
    # In a browser, that much needs no question any more.
    for scope, member in (("openid email", "code"), ("openid profile", "error")):
        assert member in theirs.authorize(ada, scope=scope, prompt="none").parameters()
    site.operator.bramley("users", "end-access", ada.user(), "theirs")
    assert theirs.authorize(ada, scope="openid email", prompt="none").parameters()["error"] == "consent_required"


def test_a_code_is_its_clients_alone(backup, television, ada):
    device = Device(backup)
    decide(ada, enter(ada, device.user_code))
    assert device.error(television) == "invalid_grant"
    assert device.poll().status == 200
    for code in ("bod_x", "boc_" + device.code[4:], device.code[:-2] + "AA"):
        answer = backup.post("/oidc/token", {"grant_type": GRANT, "device_code": code})
        assert answer.must(400).json()["error"] == "invalid_grant"
    # It is no authorization code either.
    assert backup.redeem("boc_" + device.code[4:]).must(400).json()["error"] == "invalid_grant"


def test_a_ticket_is_for_one_code_of_one_session(site, backup, ada):
    device, other = Device(backup), Device(backup)
    page = enter(ada, device.user_code)
    ticket = re.search(r'name="bramley_ticket" value="([^"]+)"', page.text)[1]
    chie, again = signed_in(site, "chie"), signed_in(site)
    for browser, code, given in ((ada, other.user_code, ticket), (chie, device.user_code, ticket), (again, device.user_code, ticket),
                                 (ada, device.user_code, ""), (ada, device.user_code, ticket[:-2])):
        answer = decide(browser, page, user_code=code, bramley_ticket=given).must(200)
        assert "use your account?" in answer.text and "bramley_ticket" in answer.text
    assert "use your account?" in decide(ada, page, "perhaps").must(200).text
    theirs = enter(chie, device.user_code)
    # Both buttons, in two tabs, twice.
    for decision in ("allow", "allow", "deny"):
        assert "Your device is connected" in decide(ada, page, decision).must(200).text
    assert "not valid" in decide(chie, theirs).must(200).text
    assert backup.claims(device.poll().must(200).json()["id_token"])["sub"] == ada.user()
    assert other.error() == "authorization_pending"


def test_two_people_at_once_only_one_is_taken(site, backup):
    device = Device(backup)
    people = [signed_in(site, ("ada", "chie")[number % 2]) for number in range(6)]
    pages = [enter(browser, device.user_code) for browser in people]
    answers = at_once(len(people), lambda number: decide(people[number], pages[number]).must(200).text)
    assert sum("Your device is connected" in text for text in answers) == 1
    winner = next(number for number, text in enumerate(answers) if "Your device is connected" in text)
    assert backup.claims(device.poll().must(200).json()["id_token"])["sub"] == people[winner].user()


def test_the_form_is_our_pages_alone(site, backup, ada):
    device = Device(backup)
    page = enter(ada, device.user_code)
    for origin in ("https://evil.example", "null"):
        for answer in (enter(ada, device.user_code, {"Origin": origin}),
                       ada.send("POST", "/device", {"user_code": device.user_code, "decision": "allow"}, {"Origin": origin})):
            assert answer.status == 403 and "bramley_ticket" not in answer.text
    assert device.error() == "authorization_pending" and "bramley_ticket" in page.text


def test_five_wrong_codes_and_then_even_the_right_one_waits(site, backup):
    device, boris = Device(backup), signed_in(site, "boris")
    for _ in range(5):
        assert "That code is not valid" in enter(boris, WRONG).must(200).text
    assert 590 <= int(enter(boris, device.user_code).must(429).headers["Retry-After"]) <= 600
    # From one address, with several accounts.
    here = {"X-Forwarded-For": "203.0.113.99"}
    for person in ("ada", "chie"):
        browser = signed_in(site, person)
        for _ in range(2):
            assert enter(browser, WRONG, here).status == 200
    assert enter(browser, WRONG, here).status == 200
    assert enter(browser, device.user_code, here).status == 429
    assert enter(browser, device.user_code).status == 200
    # Others need not wait ten minutes for this test.
    site.operator.database("DELETE FROM openid_device_try")


@pytest.mark.parametrize("how", ["signs-out", "disabled", "leaves", "ends-access", "client"])
def test_between_the_button_and_the_poll_everything_can_end_it(site, how):
    client_id = f"ended-{how}"
    party = add(site, client_id, "--public", "--offline", "--device", "--group", "crew")
    dana = signed_in(site, "dana")
    site.operator.bramley("users", "groups", dana.user(), "--set", "crew")
    device = Device(party, scope="openid offline_access")
    decide(dana, enter(dana, device.user_code))
    user = dana.user()
    match how:
        case "signs-out": dana.sign_out()
        case "disabled": site.operator.bramley("users", "disable", user)
        case "leaves": site.operator.bramley("users", "groups", user, "--remove", "crew")
        case "ends-access": site.operator.bramley("users", "end-access", user, client_id)
        case "client": site.operator.bramley("clients", "delete", client_id, "--yes")
    answer = device.poll()
    assert (answer.status, answer.json()["error"]) == ((401, "invalid_client") if how == "client" else (400, "invalid_grant"))
    if how == "disabled":
        site.operator.bramley("users", "enable", user)


def test_who_is_not_in_the_clients_groups_is_not_asked(site, ada):
    party = add(site, "for-few", "--public", "--device", "--group", "few")
    device = Device(party)
    page = enter(ada, device.user_code)
    assert page.status == 403 and "You cannot use for-few" in page.text and "bramley_ticket" not in page.text
    assert device.error() == "authorization_pending"


def test_an_expired_request_is_gone(site, backup, ada):
    device = Device(backup)
    site.operator.database(f"UPDATE openid_device SET expires_at = 1 WHERE user_code = '{device.user_code.replace('-', '')}'")
    assert device.error() == "expired_token"
    assert "That code is not valid" in enter(ada, device.user_code).must(200).text
    site.operator.database("DELETE FROM openid_device_try")


def test_polling_too_early_is_told_to_slow_down(backup):
    device = Device(backup)
    assert device.error() == "authorization_pending"
    form = {"grant_type": GRANT, "device_code": device.code}
    for _ in range(3):
        assert backup.post("/oidc/token", form).must(400).json()["error"] == "slow_down"
    (interval,), = backup.site.operator.database(
        f"SELECT poll_interval FROM openid_device WHERE user_code = '{device.user_code.replace('-', '')}'")
    assert interval == 20


def test_unfinished_requests_store_a_thousand_rows_at_most(make_site):
    """Whoever asks; and one address alone does not get there."""
    site = make_site({"server.trustedProxies": ["127.0.0.1"], "server.limits.signInsPerMinute": 1_000})
    party = add(site, "flood", "--public", "--device")
    form = {"client_id": "flood", "scope": "openid"}

    def count() -> int:
        return site.operator.database("SELECT count(*) FROM openid_device")[0][0]

    here = {"X-Forwarded-For": "203.0.113.5"}
    statuses = [call(site, "POST", "/oidc/device_authorization", here, form=form).status for _ in range(300)]
    assert set(statuses) == {200, 429} and count() < 150
    found = at_once(8, lambda _: {party.post("/oidc/device_authorization", {"scope": "openid"}).status for _ in range(300)})
    assert set().union(*found) == {200, 503} and count() == 1_000
    refused = party.post("/oidc/device_authorization", {"scope": "openid"}).must(503)
    assert refused.json()["error"] == "temporarily_unavailable" and refused.headers["Retry-After"]


def test_a_registration_without_addresses(site):
    assert site.operator.json("clients", "show", "television")["device"] is True
    refused = site.operator.run("clients", "add", "nowhere")
    assert refused.returncode != 0 and "redirect URI: at least one is required" in refused.stderr


@pytest.fixture
def terminal(backup, tmp_path):
    program = Program(
        [sys.executable, str(ROOT / "docs/examples/device/terminal.py"), backup.site.origin, "backup"], tmp_path / "terminal.log", {})
    yield program
    program.stop()


@pytest.mark.long
def test_the_terminal_of_the_examples(backup, ada, terminal):
    eventually(lambda: re.search(r"^ {4}\w{4}-\w{4}$", terminal.text(), re.MULTILINE), "the code", terminal.text)
    code = re.search(r"^ {4}(\w{4}-\w{4})$", terminal.text(), re.MULTILINE)[1]
    assert "█" in terminal.text() and "/device and enter" in terminal.text()
    decide(ada, enter(ada, code))
    assert terminal.process.wait(60) == 0, terminal.text()
    assert "Signed in as Ada Byron." in terminal.text()


def test_a_person_in_a_browser(backup, visitor, gallery):
    """The link of a QR code, signed out, on a page without scripts."""
    device = Device(backup)
    visitor.open(f"/device?user_code={device.user_code}")
    visitor.goes_through_apple("ada", "/device")
    assert visitor.find("input[name=user_code]").get_attribute("value") == device.user_code
    gallery.shoot(visitor, "device")
    visitor.press("form[action$='/device'] button")
    visitor.reads("Let Backup <b> on a device use your account?")
    assert device.user_code.replace("-", "\u2011") in visitor.text() and "Use another account" in visitor.text()
    gallery.shoot(visitor, "device-consent")
    visitor.press("button[value=allow]")
    visitor.reads("Your device is connected")
    gallery.shoot(visitor, "device-connected")
    assert device.poll().must(200).json()["access_token"]


def test_oauthlib_signs_somebody_in(backup, ada):
    """A client of others, as far as it goes: it makes the requests and reads the answers."""
    from oauthlib.oauth2 import DeviceClient
    from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error

    client, form = DeviceClient("backup"), {"Content-Type": "application/x-www-form-urlencoded"}
    device = Device(backup)
    body = client.prepare_request_body(device.code, include_client_id=True)

    def poll():
        return client.parse_request_body_response(call(backup.site, "POST", "/oidc/token", form, body).text, scope=None)

    with pytest.raises(CustomOAuth2Error, match="authorization_pending"):
        poll()
    decide(ada, enter(ada, device.user_code))
    assert poll()["access_token"].startswith("boa_")
