"""The operator's page in Chromium, with and without JavaScript, for nobody, three and 20,000 people; axe-core."""

import json
import re
from pathlib import Path

import axe_core_python
import pytest

from elsewhere import AGENTS, Elsewhere
from operators import AGENT, SETTINGS, asked, make_operator, user_of
from patience import eventually
from test_account import sign_in
from visitor import NO_SCRIPTS

PAGES = ("", "/users", "/sessions", "/clients", "/webhooks", "/notifications", "/api-keys", "/audit")
CHANGES = ("disable", "groups", "delete-user", "create-key", "add-client")


def inspect(visitor, gallery, name: str) -> None:
    """The page for the eyes, and for those who use none."""
    gallery.shoot(visitor, f"operator-{name}")
    visitor.script((Path(axe_core_python.__file__).parent / "axe.min.js").read_text())
    found = visitor.driver.execute_async_script("axe.run(document).then((found) => arguments[0](found.violations))")
    assert found == [], (name, [(one["id"], one["help"], [node["html"] for node in one["nodes"]][:3]) for one in found])


@pytest.fixture(params=["scripts", "no-scripts"])
def anyone(request, make_visitor, make_own_visitor, make_site):
    site = make_site(SETTINGS | {"access.signUp": "approval"})
    return make_visitor(site) if request.param == "scripts" else make_own_visitor(site, NO_SCRIPTS)


@pytest.fixture
def at_work(make_site, make_visitor):
    """An operator in a browser, at this page of a site with these settings besides."""
    def make(page: str = "/operator", settings: dict | None = None):
        site = make_site(SETTINGS | (settings or {}))
        make_operator(site)
        visitor = make_visitor(site)
        visitor.signs_in("ada", page, page)
        return visitor

    return make


def let_in(site, who: str) -> None:
    with pytest.raises(AssertionError):
        Elsewhere(site, who, AGENT)


def users(site) -> dict[str, dict]:
    found = site.operator.json("users", "list")["items"]
    return {(user["name"]["given"] or "").lower(): user for user in found}


def test_somebody_waits_and_is_approved(anyone):
    site = anyone.site
    let_in(site, "ada")
    me = users(site)["ada"]["id"]
    site.operator.bramley("users", "approve", me)
    site.operator.bramley("users", "groups", me, "--add", "admins")
    let_in(site, "boris")
    sign_in(anyone, "/operator", "ada")
    assert "Boris" in anyone.find("#section-0 ~ .scroll").text
    anyone.press("#section-0 ~ .scroll td a.button")
    anyone.reads("Approve")
    assert "Boris Novák" in anyone.text() and "can sign in from now on" in anyone.text()
    anyone.press("form button")
    anyone.reads("Boris Novák")
    assert "Done: Approve" in anyone.find("#announcement").text
    assert users(site)["boris"]["state"] == "active"
    boris = users(site)["boris"]["id"]
    assert site.operator.database("SELECT type FROM event WHERE user = ? ORDER BY sequence", boris) == [
        ("user.created",), ("user.pending",), ("user.updated",)]
    # Nobody is left, and the picture of the day has them all.
    anyone.open("/operator")
    assert "No one is waiting." in anyone.text() and "Everything worked." in anyone.text()
    assert [item.text for item in anyone.all(".legend li")] == ["Signed in: 1", "Refused: 2", "Failed: 0"]


def test_an_old_sign_in_is_renewed_and_comes_back(at_work):
    visitor = at_work()
    site = visitor.site
    site.operator.database("UPDATE session SET created_at = created_at - 601000 WHERE created_at > ?", 0)
    boris = user_of(Elsewhere(site, "boris", AGENT))
    eventually(lambda: visitor.open(asked("disable", boris)) or not visitor.all("main form"), "the old sign-in")
    assert "older than 10 minutes" in visitor.text()
    visitor.press("main .actions a")
    visitor.agrees("ada", "/operator/change")
    visitor.press("main form button", f"/operator/users/{boris}")
    assert "disabled" in visitor.text()


def test_a_program_and_a_key_are_made_and_used(at_work):
    visitor = at_work("/operator/clients")
    site = visitor.site
    visitor.press(".actions a")
    visitor.reads("Add an application")
    for name, value in {"clientID": "wiki", "clientName": "The Wiki", "clientGroups": "staff, cooks",
                        "redirectURIs": "https://wiki.example.com/back\nhttps://wiki.example.com/other"}.items():
        visitor.find(f"[name={name}]").send_keys(value)
    visitor.press("main form button")
    secret = visitor.find(".facts div:last-child code").text
    assert re.fullmatch(r"bcs_[\w-]{43}", secret) and "It is not shown again" in visitor.text()
    known = site.operator.json("clients", "show", "wiki")
    assert known["redirectURIs"] == ["https://wiki.example.com/back", "https://wiki.example.com/other"]
    assert (known["name"], known["groups"], known["scopes"]) == (
        "The Wiki", ["staff", "cooks"], ["openid", "profile", "email", "groups"])
    visitor.press(".actions a")
    visitor.reads("The Wiki")
    visitor.press(".actions a")
    assert visitor.find("[name=redirectURIs]").get_attribute("value").split() == known["redirectURIs"]
    visitor.find("[name='scope apple']").click()
    visitor.press("main form button")
    visitor.reads("The Wiki")
    assert "openid profile email groups apple" in visitor.text()
    visitor.open(asked("delete-client", "wiki"))
    visitor.press("main form button", "/operator/clients")
    assert "None." in visitor.text()


@pytest.mark.parametrize("count", [0, 3, 20_000])
def test_every_operator_page_is_accessible_and_fits(at_work, gallery, count):
    """Nobody but the operator, a few, and a town."""
    visitor = at_work(settings={"operator.groups": ["admins", "staff"]})
    site, ada = visitor.site, users(visitor.site)["ada"]["id"]
    people = [{"appleSubject": f"{index:06}.{index:032x}.0000", "email": f"p{index}@example.com",
               "name": {"given": f"Person {index}", "family": "محمد" if index % 3 else "Müller-Lüdenscheidt"}}
              for index in range(count)]
    if count:
        site.operator.run("users", "import", "-", input="\n".join(map(json.dumps, people))).check_returncode()
        site.operator.bramley("clients", "add", "wiki", "--redirect-uri", "https://wiki.example.com/back")
        site.operator.bramley("api-keys", "create", "shop", "--scopes", "users:read")
        Elsewhere(site, "boris", AGENTS["Safari on iPhone"])
        site.apple.notify("email-disabled", "boris")
    for page in PAGES:
        visitor.open("/operator" + page)
        assert len(visitor.all("tbody tr")) <= 50 + 10
        inspect(visitor, gallery, f"{page.strip('/') or 'today'}-{count}")
    visitor.open(f"/operator/users/{ada}")
    inspect(visitor, gallery, f"person-{count}")
    if count == 3:
        for action in CHANGES:
            visitor.open(asked(action, ada))
            inspect(visitor, gallery, f"change-{action}")
        visitor.open("/operator/doctor")
        inspect(visitor, gallery, "doctor")
        for language in ("ar", "ja", "de"):
            visitor.open(f"/operator/users/{ada}?ui_locales={language}")
            inspect(visitor, gallery, f"person-{language}")
            assert f"ui_locales={language}" in visitor.find(".tabs a").get_attribute("href")
    if count > 100:
        # Found by a part of the name, and page after page to the end of the first hundred.
        visitor.open("/operator/users?q=person+19999")
        assert len(visitor.all("tbody tr")) == 1
        visitor.open("/operator/users")
        seen = {cell.text for cell in visitor.all("td:last-child")}
        visitor.press(".actions a")
        assert len(seen | {cell.text for cell in visitor.all("td:last-child")}) == 100
        rows = Elsewhere(site, "ada", AGENT).send("GET", "/operator/users?format=csv").text.splitlines()
        assert len(rows) == count + 3 and len(set(rows)) == len(rows)


def failures(there: Elsewhere) -> str:
    page = there.send("GET", "/operator").text
    return page[page.index("What did not work"):page.index("Apple’s last notification")]


def test_advice_for_the_disabled_and_waiting_is_true(make_site):
    """Regression: "nothing" was advised for somebody the operator had disabled, and those approved since still counted."""
    site = make_site(SETTINGS | {"access.signUp": "approval"})
    for who in ("ada", "boris", "dana"):
        let_in(site, who)
    people = users(site)
    site.operator.bramley("users", "approve", people["ada"]["id"])
    there = make_operator(site)
    for waiting, who in ((2, "boris"), (1, "dana")):
        assert re.search(rf">{waiting}<(?s:.){{1,200}}user_pending", failures(there))
        site.operator.bramley("users", "approve", people[who]["id"])
    assert "user_pending" not in failures(there)
    site.operator.bramley("users", "disable", people["boris"]["id"])
    let_in(site, "boris")
    assert re.search(r">1<(?s:.){1,200}user_disabled(?s:.){1,400}Enable those who may come back", failures(there))
    site.operator.bramley("users", "enable", people["boris"]["id"])
    assert "user_disabled" not in failures(there)


def test_device_names_are_isolated_in_arabic(at_work):
    """Regression: “Safari on iPhone” read “iPhone on Safari”."""
    visitor = at_work()
    visitor.open("/operator/sessions?ui_locales=ar")
    device = next(cell for cell in visitor.all("td bdi") if " على " in cell.text)
    assert device.value_of_css_property("direction") == "rtl"


def test_the_chart_follows_the_writing_direction_and_keeps_its_colours(at_work):
    visitor = at_work()
    for language, is_mirrored in (("en", False), ("ar", True)):
        visitor.open(f"/operator?ui_locales={language}")
        for parts in (".chart .ground", ".hours span"):
            first, last = visitor.driver.execute_script(
                "const all = document.querySelectorAll(arguments[0]);"
                "return [all[0], all[all.length - 1]].map((one) => one.getBoundingClientRect().left)", parts)
            assert (first > last) == is_mirrored, (language, parts)
        # A path and an hour with its zone keep their order.
        assert visitor.find("code").value_of_css_property("direction") == "ltr"
        assert visitor.find(".hours span").value_of_css_property("direction") == "ltr"
    # A brand of the colour of what failed.
    colours = visitor.driver.execute_script(
        "const root = document.documentElement.style, look = (kind) =>"
        " getComputedStyle(document.querySelector(`.swatch.${kind}`)).backgroundColor;"
        "root.setProperty('--accent', look('failed'));"
        "return ['signedIn', 'refused', 'failed'].map(look)")
    assert len(set(colours)) == 3, colours
