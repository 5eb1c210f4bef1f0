"""The account page: sessions here and elsewhere, the download, the way out; with and without JavaScript."""

import json

import pytest
from selenium.webdriver.common.by import By

from elsewhere import AGENTS, PHONE, Elsewhere
from patience import eventually
from visitor import NO_SCRIPTS
from web import SESSION

NAMES = {
    "admin": ("admin", ""),
    "chinese": ("雷", "李"),
    "right-to-left": ("محمد", "الفارسي"),
    "script": ("<script>alert(1)</script>", "</h1><img src=x onerror=alert(1)>"),
    "control": ("A\u0007\u200bd\u202ea", "B\u0000y"),
    "long": ("Wolfeschlegelsteinhausenbergerdorff" * 6, "von Hohenlohe " * 14),
}


def rows(visitor) -> list[str]:
    return [row.find_element(By.CSS_SELECTOR, ".device").text for row in visitor.all(".sessions li")]


def row(visitor, device: str):
    return next(row for row in visitor.all(".sessions li") if device in row.text)


def has_scripts(visitor) -> bool:
    return "UTC" not in visitor.find(".sessions time").text


@pytest.fixture(params=["scripts", "no-scripts"])
def anyone(request, make_visitor, make_own_visitor, site):
    return make_visitor(site) if request.param == "scripts" else make_own_visitor(site, NO_SCRIPTS)


def sign_in(visitor, path: str = "/account", person: str = "ada") -> None:
    """Signs in from a page that requires it, and returns there."""
    visitor.open(path)
    visitor.press("#apple-link") if not visitor.all("#appleid-signin *") else visitor.presses_apple_button()
    at_apple(visitor, person)
    visitor.arrives(path)


def at_apple(visitor, person: str = "ada") -> None:
    visitor.press(f"button[value={person}]")
    visitor.press("button[value=continue]")
    visitor.wait(lambda driver: visitor.all("#delivery button") or driver.current_url.startswith(visitor.site.origin))
    if not visitor.driver.current_url.startswith(visitor.site.origin):
        visitor.press("#delivery button")


def test_one_session_elsewhere_is_ended(anyone, site):
    elsewhere = {name: Elsewhere(site, "ada", agent) for name, agent in AGENTS.items()}
    sign_in(anyone)
    assert rows(anyone)[0].endswith("This browser")
    assert set(rows(anyone)[1:]) == set(AGENTS)
    assert not row(anyone, "This browser").find_elements(By.TAG_NAME, "button"), "this browser has its own button"
    button = row(anyone, "Firefox on Windows").find_element(By.TAG_NAME, "button")
    assert button.accessible_name == "Sign out Firefox on Windows"
    button.click()
    anyone.wait(lambda _: anyone.find("#announcement").text == "That browser or app is signed out.", "the confirmation")
    assert "Firefox on Windows" not in rows(anyone)
    assert not elsewhere["Firefox on Windows"].is_signed_in()
    assert elsewhere["Safari on iPhone"].is_signed_in() and elsewhere["Edge on Mac"].is_signed_in()
    assert anyone.is_signed_in()
    if has_scripts(anyone):
        # Said once: not in the address, and the keyboard goes on from there.
        assert "done" not in anyone.driver.current_url
        assert anyone.script("return document.activeElement.id") == "announcement"
    anyone.driver.refresh()
    anyone.arrives("/account")
    assert len(rows(anyone)) == 3


def test_all_other_sessions_are_ended(anyone, site):
    elsewhere = [Elsewhere(site, "ada", agent) for agent in AGENTS.values()]
    stranger = Elsewhere(site, "boris", PHONE)
    sign_in(anyone)
    scripts = has_scripts(anyone)
    anyone.find(".end-others button").click()
    if scripts:
        # Asked first; the safe answer has the focus, and Escape is that answer too.
        dialog = anyone.find("dialog[open]")
        assert anyone.script("return document.activeElement.value") == "cancel"
        dialog.find_element(By.CSS_SELECTOR, "[value=cancel]").click()
        anyone.wait(lambda _: not anyone.all("dialog[open]"), "the dialog to close")
        assert all(browser.is_signed_in() for browser in elsewhere)
        anyone.find(".end-others button").click()
        anyone.find("dialog[open] [value=go]").click()
    anyone.wait(lambda _: "Every other browser" in anyone.find("#announcement").text, "the confirmation")
    assert len(rows(anyone)) == 1
    assert not any(browser.is_signed_in() for browser in elsewhere)
    assert anyone.is_signed_in() and stranger.is_signed_in()
    assert not anyone.all(".end-others")
    assert "No other sessions." in anyone.text()


def test_an_open_page_notices_that_its_session_ended(visitor, site):
    visitor.signs_in("ada")
    other = Elsewhere(site, "ada", PHONE)
    page = visitor.find("html")
    end_others(site, other)
    assert not visitor.is_signed_in()
    # What the page does every half minute, and whenever it is looked at again.
    visitor.script("document.dispatchEvent(new Event('visibilitychange'))")
    visitor.left(page)
    visitor.arrives("/login")


def test_actions_after_the_session_ended_lead_to_the_login(visitor, site):
    Elsewhere(site, "ada", AGENTS["Edge on Mac"])
    visitor.signs_in("ada")
    end_others(site, Elsewhere(site, "ada", PHONE))
    visitor.leaves_by(row(visitor, "Edge on Mac").find_element(By.TAG_NAME, "button").click, "/login")
    assert "return_to=%2Faccount" in visitor.driver.current_url


def end_others(site, browser: Elsewhere) -> None:
    assert browser.send("POST", "/account/sessions/revoke-all", {}, {"Origin": site.origin}).status == 303


def test_download_is_a_file_that_parses(visitor, site, tmp_path):
    visitor.signs_in("ada")
    visitor.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    visitor.find("a[download]").click()
    file = tmp_path / "bramley-account.json"
    visitor.wait(lambda _: file.exists() and file.stat().st_size > 0, "the download")
    document = json.loads(file.read_text())
    assert document["user"]["email"] == "ada@example.com"
    assert document["complete"] is True
    assert [session["userAgent"] for session in document["sessions"]]
    assert {event["type"] for event in document["events"]} == {"user.created", "session.created"}
    assert document["appleIdentities"][0]["credentials"][0]["refreshTokenStored"] is True
    assert not [secret for secret in ("brs_", "rt.", "sealed", "hash") if secret in file.read_text()]


def test_deleting_the_account_asks_and_signs_out_everywhere(anyone, site, gallery):
    other = Elsewhere(site, "ada", PHONE)
    sign_in(anyone)
    anyone.press(".danger-link", "/account/delete")
    assert anyone.facts()["E-mail"] == "ada@example.com"
    # The box is not ticked: nothing happens, and with its own words.
    anyone.find("button.danger").click()
    assert anyone.path() == "/account/delete" and anyone.is_signed_in()
    anyone.find("[name=confirm]").click()
    anyone.press("button.danger", "/account/deleted")
    anyone.reads("Your account is deleted")
    assert SESSION not in anyone.cookies()
    assert not other.is_signed_in()
    eventually(lambda: not site.apple.has_consent("ada"), "Apple to know")
    gallery.shoot(anyone, "account-deleted")
    # Signing in again makes another account, with the name again.
    sign_in(anyone)
    assert anyone.heading() == "Ada Byron" and len(rows(anyone)) == 1


def test_a_double_tap_deletes_once_and_says_so(visitor, site):
    visitor.signs_in("ada")
    visitor.open("/account/delete")
    visitor.find("[name=confirm]").click()
    # As two taps reach a server: the page's own guard is gone.
    visitor.leaves_by(lambda: visitor.script("""
        const form = document.querySelector("form");
        fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual"});
        setTimeout(() => HTMLFormElement.prototype.submit.call(form));
    """), "/account/deleted")
    visitor.reads("Your account is deleted")
    assert not visitor.is_signed_in()


def test_deletion_needs_a_fresh_sign_in_and_comes_back(anyone, site, gallery):
    sign_in(anyone)
    age_sessions(site, 601)
    anyone.open("/account/delete")
    assert not anyone.all("button.danger") and not anyone.all("[name=confirm]")
    assert "within the last 10 minutes" in anyone.text()
    gallery.shoot(anyone, "account-delete-again")
    anyone.press(".action a.button")
    at_apple(anyone)
    anyone.arrives("/account/delete")
    anyone.find("[name=confirm]").click()
    anyone.press("button.danger", "/account/deleted")


def age_sessions(site, seconds: int) -> None:
    """Time passes: in the database of a server that is stopped."""
    site.stop()
    site.operator.database("UPDATE session SET created_at = created_at - ?", seconds * 1000)
    site.start()


@pytest.mark.parametrize("name", NAMES)
def test_the_account_page_shows_names_of_all_kinds(visitor, site, gallery, name):
    given, family = NAMES[name]
    site.apple.add_person("someone", given, family)
    visitor.signs_in("someone")
    assert visitor.script("return [...document.scripts].every((script) => script.nonce)")
    assert not visitor.all("img")
    gallery.shoot(visitor, f"account-name-{name}")
    visitor.open("/account/delete")
    gallery.shoot(visitor, f"account-delete-name-{name}")


def test_the_account_page_matches_its_picture(visitor, site, gallery):
    for agent in AGENTS.values():
        Elsewhere(site, "ada", agent)
    Elsewhere(site, "ada", "")
    visitor.signs_in("ada")
    gallery.shoot(visitor, "account-sessions")
    targets(visitor)
    visitor.find(".end-others button").click()
    visitor.find("dialog[open]")
    gallery.shoot(visitor, "account-dialog")
    targets(visitor)
    visitor.find("dialog [value=cancel]").click()
    row(visitor, "Edge on Mac").find_element(By.TAG_NAME, "button").click()
    visitor.wait(lambda _: visitor.find("#announcement").text, "the confirmation")
    gallery.shoot(visitor, "account-ended")
    visitor.open("/account/delete?done=unconfirmed")
    gallery.shoot(visitor, "account-delete")
    targets(visitor)


def targets(visitor) -> None:
    """Nothing to press is smaller than a finger, and 320 pixels are enough."""
    visitor.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": True})
    assert visitor.script("return document.documentElement.scrollWidth") <= 320
    small = visitor.script("""
        return [...document.querySelectorAll("main button, main .button, main label, .danger-link")]
          .filter((element) => element.getClientRects().length)
          .filter((element) => element.getBoundingClientRect().height < 44).map((element) => element.outerHTML);
    """)
    assert not small, small
    visitor.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
