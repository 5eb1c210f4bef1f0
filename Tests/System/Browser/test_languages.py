"""The pages in other languages: which one a visitor gets, and whether it fits the screen in each."""

import json
import re

import pytest

from elsewhere import AGENTS, Elsewhere
from gallery import OVERFLOW
from programs import ROOT, write_private

LANGUAGES = ("en", "de", "fr", "es", "ja", "ko", "zh-Hans", "ar")
# The longest words and the other direction stand for the rest in `make test`.
EACH = [language if language in ("de", "ar") else pytest.param(language, marks=pytest.mark.long) for language in LANGUAGES]
# The narrowest screen that is still in use.
NARROW = 360


def texts(language: str) -> dict:
    return json.loads((ROOT / f"Public/strings/{language}.json").read_text())


def plain(text: str) -> str:
    """As a person reads it: without the marks that only keep a name's direction, with one kind of space."""
    return re.sub("[\u200e\u200f\u2066-\u2069]", "", text).replace("\u00a0", " ")


def forget_tokens(site) -> None:
    """As after an import, or once Apple has ended the tokens there were."""
    site.operator.database("UPDATE apple_credential SET sealed_refresh_token = NULL")


def look(visitor, name: str, gallery) -> None:
    """The page on every screen, the narrowest too, where nothing may stick out sideways."""
    visitor.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": NARROW, "height": 640, "deviceScaleFactor": 1, "mobile": True})
    assert visitor.script(OVERFLOW) <= 0, f"{name} is wider than {NARROW}"
    gallery.shoot(visitor, name)


def test_ui_locales_wins_and_lasts_through_a_sign_in_that_fails(make_own_visitor, site):
    visitor = make_own_visitor(site, {"intl.accept_languages": "ja,en"})
    visitor.open("/login?ui_locales=xx%20de-CH%20fr&return_to=%2Faccount")
    german = texts("de")
    assert visitor.find("html").get_attribute("lang") == "de"
    assert "/de_DE/appleid.auth.js" in visitor.find("#apple-script").get_attribute("src")
    # Through Apple and back by Apple's own button.
    site.apple.call("PUT", "faults/token", {"error": "invalid_grant"})
    visitor.goes_through_apple("ada")
    visitor.reads(german["errors"]["code_refused"]["title"])
    site.apple.call("POST", "reset")
    # "Try again" begins in the same language; so does the link for browsers without scripts.
    visitor.press("a.button", "/login")
    assert visitor.find("html").get_attribute("lang") == "de"
    assert "ui_locales=de" in visitor.find("#apple-link").get_attribute("href")
    assert "ui_locales=de" in visitor.find("#sign-in").get_attribute("data-attempt-url")
    visitor.goes_through_apple("ada", "/account")
    # What follows is the application's page, in the language the browser asks for.
    assert visitor.find("html").get_attribute("lang") == "ja"


def test_moments_are_written_in_the_language_of_the_page(visitor):
    visitor.signs_in("ada")
    for language, pattern in {"de": r"\d\. \w+ \d{4}", "ja": r"\d{4}年\d+月\d+日", "ko": r"\d{4}년 \d+월 \d+일"}.items():
        visitor.open(f"/account?ui_locales={language}")
        moment = visitor.find("time[data-format=date]")
        visitor.wait(lambda _: re.search(pattern, moment.text), f"a date in {language}")


@pytest.mark.parametrize("language", EACH)
def test_every_page_fits_and_reads_well(visitor, gallery, language):
    words = texts(language)
    chosen = f"ui_locales={language}"
    visitor.open(f"/login?{chosen}")
    page = visitor.find("html")
    assert page.get_attribute("lang") == language
    assert page.get_attribute("dir") == ("rtl" if language == "ar" else "ltr")
    visitor.find(".apple.ready")
    assert visitor.find("#apple-link span").get_attribute("textContent") == words["login"]["button"]
    look(visitor, f"{language}-login", gallery)
    for path, error, name in (
            ("/nowhere?", "not_found", "not-found"),
            ("/login?return_to=https%3A%2F%2Fevil.example%2F&", "return_to_refused", "return-to")):
        visitor.open(path + chosen)
        visitor.reads(words["errors"][error]["title"])
        look(visitor, f"{language}-{name}", gallery)
    visitor.signs_in("ada", f"/login?{chosen}")
    visitor.open(f"/login?{chosen}")
    assert "Ada Byron" in visitor.text()
    look(visitor, f"{language}-already", gallery)
    visitor.open(f"/account?{chosen}")
    assert words["account"]["sessions"] in visitor.text() and words["account"]["onlyHere"] in visitor.text()
    look(visitor, f"{language}-account", gallery)
    visitor.open(f"/account/delete?{chosen}")
    visitor.reads(words["deletion"]["heading"])
    look(visitor, f"{language}-deletion", gallery)
    visitor.open(f"/logout?{chosen}")
    assert plain(visitor.find(".lead").text) == words["logout"]["lead"].replace("{name}", "Ada Byron")
    look(visitor, f"{language}-logout", gallery)
    visitor.press("button[type=submit]")
    visitor.reads(words["pages"]["signed_out"]["title"])
    look(visitor, f"{language}-signed-out", gallery)
    visitor.press("a.button", "/login")
    assert visitor.find("html").get_attribute("lang") == language, "it lasts through signing out"


def test_every_error_fits_in_every_language(visitor):
    """All error pages there are, put into one and measured: no word sticks out of a narrow screen."""
    visitor.open("/nowhere")
    visitor.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": NARROW, "height": 640, "deviceScaleFactor": 1, "mobile": True})
    wide = []
    for language in LANGUAGES:
        words = texts(language)
        visitor.script("document.documentElement.lang = arguments[0]; document.documentElement.dir = arguments[1]",
                       language, "rtl" if language == "ar" else "ltr")
        for name, page in {**words["errors"], **words["pages"]}.items():
            visitor.script(
                "document.querySelector('h1').textContent = arguments[0];"
                "document.querySelector('.lead').textContent = arguments[1]", page["title"], page["what"])
            if visitor.script(OVERFLOW) > 0:
                wide.append(f"{language} {name}")
    visitor.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert not wide, wide


@pytest.mark.parametrize("language", EACH)
def test_sessions_and_deletion_fit_and_read_well(visitor, site, gallery, language):
    words = texts(language)
    chosen = f"ui_locales={language}"

    def filled(key: str, **values: str) -> str:
        section, name = key.split(".")
        return plain(words[section][name].format(**{"site": "Orchard Club"} | values))

    for agent in AGENTS.values():
        Elsewhere(site, "ada", agent)
    visitor.signs_in("ada", f"/login?{chosen}")
    visitor.open(f"/account?{chosen}")
    look(visitor, f"{language}-account-sessions", gallery)
    button = visitor.find(".sessions form button")
    device = button.find_element("xpath", "ancestor::li").find_element("css selector", ".device").text
    assert button.text == words["account"]["endSession"]
    assert plain(button.get_attribute("aria-label")) == filled("account.endSessionOf", device=plain(device))
    # Speech control finds a button by what stands on it (WCAG 2.1, 2.5.3).
    assert button.text in button.get_attribute("aria-label")
    visitor.find(".end-others button").click()
    dialog = visitor.find("dialog[open]")
    assert plain(dialog.find_element("tag name", "p").text) == filled("account.endOthersText")
    look(visitor, f"{language}-account-dialog", gallery)
    dialog.find_element("css selector", "[value=cancel]").click()
    visitor.wait(lambda _: not visitor.all("dialog[open]"), "the dialog to close")
    button.click()
    ended = words["account"]["done"]["sessionEnded"]
    visitor.wait(lambda _: visitor.find("#announcement").text == ended, "the confirmation")
    assert visitor.find("html").get_attribute("lang") == language
    look(visitor, f"{language}-account-ended", gallery)
    visitor.press(".danger-link", "/account/delete")
    assert visitor.heading() == words["deletion"]["heading"], "the link keeps the language"
    assert [plain(item.text) for item in visitor.all(".what li")] == [
        filled(f"deletion.{key}") for key in ("whatProfile", "whatSessions", "whatApple")]
    look(visitor, f"{language}-account-delete", gallery)
    forget_tokens(site)
    visitor.open(f"/account/delete?{chosen}")
    assert [plain(item.text) for item in visitor.all(".what li")] == [
        filled(f"deletion.{key}") for key in ("whatProfile", "whatSessions")]
    assert plain(visitor.find("#untold p").text) == f"{filled('deletion.untold')} {filled('deletion.deletedCheck')}"
    look(visitor, f"{language}-account-delete-untold", gallery)
    visitor.find("[name=confirm]").click()
    visitor.press("button.danger", "/account/deleted")
    visitor.reads(words["deletion"]["deletedTitle"])
    assert words["deletion"]["deletedUntold"] in visitor.text()
    assert plain(visitor.find(".lead").text) == filled("deletion.deletedWhat")
    look(visitor, f"{language}-account-deleted-untold", gallery)
    visitor.open(f"/account/deleted?apple=told&{chosen}")
    assert words["deletion"]["deletedTold"] in visitor.text()
    look(visitor, f"{language}-account-deleted-told", gallery)


@pytest.fixture
def guarded(make_site, tmp_path):
    """A site whose rules let nobody in, with the visitor's browser in the place of the proxy."""
    rules = tmp_path / "rules.json"
    write_private(rules, json.dumps({"rules": [{"host": "*", "allow": {"groups": ["nobody"]}}]}).encode())
    return make_site({
        "forwardAuth.rulesFile": str(rules), "server.trustedProxies": ["127.0.0.1", "::1"],
        "site.supportURL": "mailto:help@example.com", "site.homeURL": "/"})


def test_the_forbidden_page_fits_in_every_language(make_visitor, guarded, gallery):
    visitor = make_visitor(guarded)
    visitor.signs_in("ada")
    assert [link.text for link in visitor.all(".card .other a")] == ["Go to the start page"]
    gallery.shoot(visitor, "account-home")
    described = {"X-Forwarded-Proto": "http", "X-Forwarded-Host": guarded.origin.removeprefix("http://"),
                 "X-Forwarded-Uri": "/members", "X-Forwarded-Method": "GET"}
    visitor.driver.execute_cdp_cmd("Network.enable", {})
    try:
        for language in LANGUAGES:
            visitor.driver.execute_cdp_cmd("Network.setExtraHTTPHeaders", {
                "headers": described | {"Accept-Language": language}})
            visitor.open("/auth/verify")
            words = texts(language)
            page = visitor.find("html")
            assert page.get_attribute("lang") == language
            assert page.get_attribute("dir") == ("rtl" if language == "ar" else "ltr")
            assert visitor.heading() == words["errors"]["not_allowed"]["title"]
            assert [link.text for link in visitor.all(".button")] == [
                words["forbidden"]["somebodyElse"], words["forbidden"]["account"], words["message"]["help"]]
            assert words["logout"]["lead"].replace("{name}", "Ada Byron (ada@example.com)") in visitor.text()
            assert visitor.find(".error-id code").text in guarded.server.text()
            look(visitor, f"{language}-forbidden", gallery)
    finally:
        visitor.driver.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {}})
