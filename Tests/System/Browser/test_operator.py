"""The operator's page in Chromium, with and without JavaScript, for nobody, three and 20,000 people; axe-core."""

import json
import re
from pathlib import Path

import axe_core_python
import pytest
from selenium.webdriver.common.keys import Keys

from elsewhere import AGENTS, Elsewhere
from operators import AGENT, SETTINGS, asked, make_operator, user_of
from patience import eventually
from test_account import sign_in
from visitor import NO_SCRIPTS

PAGES = ("", "/users", "/groups", "/sessions", "/clients", "/webhooks", "/notifications", "/api-keys", "/audit", "/server")
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


def test_a_pending_person_is_approved(anyone):
    site = anyone.site
    let_in(site, "ada")
    me = users(site)["ada"]["id"]
    site.operator.bramley("users", "approve", me)
    site.operator.bramley("users", "groups", me, "--add", "admins")
    let_in(site, "boris")
    sign_in(anyone, "/operator", "ada")
    assert "Boris" in anyone.find("tr:has(td a.button)").text
    anyone.press("td a.button")
    anyone.reads("Approve")
    assert "Boris Novák" in anyone.text() and "can sign in from now on" in anyone.text()
    anyone.press("form button")
    anyone.reads("Today")
    assert "Done: Approve" in anyone.find("#announcement").text
    assert users(site)["boris"]["state"] == "active"
    boris = users(site)["boris"]["id"]
    assert site.operator.database("SELECT type FROM event WHERE user = ? ORDER BY sequence", boris) == [
        ("user.created",), ("user.pending",), ("user.updated",)]
    # Nobody is left, and the picture of the day has them all.
    anyone.open("/operator")
    assert "No one is waiting." in anyone.text() and "Everything worked." in anyone.text()
    assert [item.text for item in anyone.all(".legend li")] == ["Signed in: 1", "Refused: 2", "Failed: 0"]


def rows_of(section) -> list[str]:
    return [row.text for row in section.find_elements("css selector", "tbody tr")]


def rows(visitor) -> list[str]:
    return rows_of(visitor.driver)


def tick(visitor, *names: str) -> None:
    for box in visitor.all("td input[type=checkbox]"):
        if box.get_attribute("aria-label").startswith(names):
            box.click()
    visitor.press("#ticked button", "/operator/change")


def test_several_are_approved_and_signed_out_at_once(anyone):
    site = anyone.site
    for who in ("ada", "boris", "dana", "erin"):
        let_in(site, who)
    me = users(site)["ada"]["id"]
    site.operator.bramley("users", "approve", me)
    site.operator.bramley("users", "groups", me, "--add", "admins")
    sign_in(anyone, "/operator", "ada")
    anyone.open("/operator/users?state=pending&sort=oldest")
    assert [row.split()[0] for row in rows(anyone)] == ["Boris", "Dana", "Erin"]
    # With nothing ticked, one stays where one is.
    anyone.press("#ticked button", "/operator/users")
    tick(anyone, "Boris", "Dana")
    anyone.reads("Approve")
    assert "Boris Novák" in anyone.text() and "Dana" in anyone.text() and "Erin" not in anyone.text()
    site.operator.bramley("users", "approve", users(site)["dana"]["id"])
    anyone.press("main form button", "/operator/users")
    assert "Done: Approve. Not done: 1." in anyone.find("#announcement").text
    assert {"state=pending", "sort=oldest"} <= set(anyone.driver.current_url.split("?")[1].split("&"))
    assert [row.split()[0] for row in rows(anyone)] == ["Erin"]
    assert {who: user["state"] for who, user in users(site).items()} == {
        "ada": "active", "boris": "active", "dana": "active", "erin": "pending"}
    # Sessions are found as people are, without the accents of a name.
    for _ in range(2):
        Elsewhere(site, "boris", AGENT)
    anyone.open("/operator/sessions")
    anyone.find("[name=q]").send_keys("novak")
    anyone.press(".search button", "/operator/sessions")
    assert len(rows(anyone)) == 2 and all("Boris Novák" in row for row in rows(anyone))
    tick(anyone, "Boris")
    assert "2 sessions end: " + ", ".join(["Boris Novák: Firefox on Windows"] * 2) in anyone.text()
    anyone.press("main form button", "/operator/sessions")
    assert "q=novak" in anyone.driver.current_url and "None." in anyone.text()


def test_people_are_sorted_and_chosen_by_group(at_work):
    visitor = at_work()
    site = visitor.site
    boris, dana = (Elsewhere(site, who, AGENT) for who in ("boris", "dana"))
    Elsewhere(site, "boris", AGENT)
    for there in (boris, dana):
        site.operator.bramley("users", "groups", user_of(there), "--add", "staff")

    def first_names() -> list[str]:
        return [row.split()[0] for row in rows(visitor)]

    visitor.open("/operator/users")
    assert first_names() == ["Dana", "Boris", "Ada"]
    assert [option.text for option in visitor.all("[name=group] option")] == ["All groups", "admins", "staff"]
    visitor.find("[name=group] option[value=staff]").click()
    visitor.find("[name=sort] option[value=last-sign-in]").click()
    visitor.press(".search button", "/operator/users")
    # Apple's clock has whole seconds.
    assert sorted(first_names()) == ["Boris", "Dana"]
    assert visitor.find("[name=group] option:checked").text == "staff"
    assert visitor.find("[name=sort] option:checked").text == "Last sign-in first"
    visitor.open("/operator/users?q=NOVAK")
    assert first_names() == ["Boris"]


def test_what_doctor_finds_is_there_after_a_start(make_site):
    there = make_operator(make_site(SETTINGS))
    worst = eventually(
        lambda: re.search(r'class="figure (good|unsure|wrong)">\s*(\w+)<', there.send("GET", "/operator").text), "a finding")
    assert worst[1] == worst[2]
    found = re.findall(r'class="tag(?: (\w+))?">(good|unsure|wrong)<', there.send("GET", "/operator/doctor").text)
    assert found and {"good": "good", "unsure": "", "wrong": "wrong"} | {word: look for look, word in found} == {
        "good": "good", "unsure": "", "wrong": "wrong"}


def test_an_old_sign_in_is_renewed_and_returns(at_work):
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


def test_an_application_and_a_key_are_created_and_used(at_work):
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
        # The server's page has every key of the configuration.
        assert page == "/server" or len(visitor.all("tbody tr")) <= 50 + 10
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
        person = "td a[href*='/operator/users/usr_']"
        seen = {link.get_attribute("href") for link in visitor.all(person)}
        visitor.press(".actions a")
        assert len(seen | {link.get_attribute("href") for link in visitor.all(person)}) == 100
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
        assert re.search(rf">{waiting}<(?s:.){{1,900}}user_pending", failures(there))
        site.operator.bramley("users", "approve", people[who]["id"])
    assert "user_pending" not in failures(there)
    site.operator.bramley("users", "disable", people["boris"]["id"])
    let_in(site, "boris")
    assert re.search(r">1<(?s:.){1,600}Enable those who may come back(?s:.){1,400}user_disabled", failures(there))
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
        for parts in (".chart .ground", ".hours time"):
            first, last = visitor.driver.execute_script(
                "const all = document.querySelectorAll(arguments[0]);"
                "return [all[0], all[all.length - 1]].map((one) => one.getBoundingClientRect().left)", parts)
            assert (first > last) == is_mirrored, (language, parts)
        # A path keeps its order.
        assert visitor.find("code").value_of_css_property("direction") == "ltr"
        # The scale is on the side where the picture begins.
        scale, chart = (visitor.find(part).rect["x"] for part in (".scale", ".chart"))
        assert (scale > chart) == is_mirrored
        assert [number.text for number in visitor.all(".scale span")] == ["2", "1", "0"]
    # A brand of the colour of what failed.
    colours = visitor.driver.execute_script(
        "const root = document.documentElement.style, look = (kind) =>"
        " getComputedStyle(document.querySelector(`.swatch.${kind}`)).backgroundColor;"
        "root.setProperty('--accent', look('failed'));"
        "return ['signedIn', 'refused', 'failed'].map(look)")
    assert len(set(colours)) == 3, colours


def test_the_hours_of_the_chart_are_the_readers(at_work):
    visitor = at_work()
    assert not any("UTC" in hour.text for hour in visitor.all(".hours time"))
    visitor.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kathmandu"})
    try:
        visitor.open("/operator")
        said = [*(hour.text for hour in visitor.all(".hours time")),
                *visitor.script("return [...document.querySelectorAll('.chart title')].map((title) => title.textContent)")]
        assert len(said) == 4 + 24 and all(re.match(r"\d+:45\b", text) for text in said), said
    finally:
        visitor.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_the_chart_has_no_colour_of_the_page(at_work):
    visitor = at_work()
    for scheme in ("light", "dark"):
        visitor.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        visitor.open("/operator")
        bars, others = visitor.script("""
            const chart = getComputedStyle(document.querySelector(".chart")), root = getComputedStyle(document.documentElement);
            return [["signed-in", "refused", "failed"].map((name) => chart.getPropertyValue("--" + name)),
                    ["accent", "attention", "danger", "focus", "ink", "quiet"].map((name) => root.getPropertyValue("--" + name))];
            """)
        assert len(set(bars)) == 3 and not set(bars) & set(others), scheme
    visitor.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_groups_lead_to_their_people_and_are_suggested(at_work):
    visitor = at_work("/operator/groups")
    site, ada = visitor.site, users(visitor.site)["ada"]["id"]
    back = "https://wiki.example.com/back"
    site.operator.bramley("clients", "add", "wiki", "--redirect-uri", back, "--group", "cooks", "--group", "org:acme")
    visitor.open("/operator/groups")
    rows = [[cell.text for cell in row.find_elements("tag name", "td")] for row in visitor.all("tbody tr")]
    assert rows == [["admins", "1", "this page"], ["cooks", "0", "wiki"], ["org:acme", "0", "wiki"]]
    visitor.press("td a")
    assert "Ada Byron" in visitor.find("tbody").text
    visitor.open(asked("groups", ada))
    field = visitor.find("[name=groups]")
    assert visitor.find("main form button").text == "Save"
    field.send_keys(", co")
    options = visitor.script("return [...arguments[0].list.options].map((option) => option.value)", field)
    assert options == ["admins, admins", "admins, cooks"]
    field.send_keys("oks")
    visitor.press("main form button", f"/operator/users/{ada}")
    assert users(site)["ada"]["groups"] == ["admins", "cooks"]
    # Apple alone puts people into an organization; an application may be for it.
    visitor.open(asked("edit-client", "wiki"))
    assert "org:acme" in visitor.find("#list-clientGroups").get_attribute("innerHTML")


def test_the_server_page_has_configuration_and_backup_and_no_secret(at_work, tmp_path):
    visitor = at_work("/operator/server", {
        "webhooks.url": "http://127.0.0.1:9/in?token=s3cr3t", "webhooks.secret": "whsec_" + "A" * 44})
    assert visitor.facts()["Last backup"] == "–" and visitor.facts()["Size"].endswith("iB")
    visitor.site.operator.bramley("backup", str(tmp_path / "backup.db"))
    visitor.open("/operator/server")
    assert re.search(r"20\d\d", visitor.facts()["Last backup"])
    rows = {cells[0].text: [cell.text for cell in cells[1:]] for cells in (
        row.find_elements("tag name", "td") for row in visitor.all("section:nth-of-type(3) tbody tr"))}
    assert rows["operator.groups"][0] == "admins" and rows["webhooks.secret"][0] == "set"
    assert rows["webhooks.url"][0] == "http://127.0.0.1:9/in?..."
    assert "s3cr3t" not in visitor.driver.page_source and "A" * 44 not in visitor.driver.page_source
    assert "server.limits.headerBlock" in visitor.find("section:nth-of-type(4)").text
    # Where all of it is set is said once; with a variable beside the file, each row says which.
    configuration = str(visitor.site.folder / "config.json")
    assert visitor.facts()["Set in"] == configuration and visitor.text().count(configuration) == 1
    assert visitor.site.stop() == 0
    visitor.site.start({"BRAMLEY_SITE_NAME": "Elsewhere"})
    visitor.open("/operator/server")
    rows = {row.split()[0]: row.split()[-1] for row in rows_of(visitor.find("section:nth-of-type(3)"))}
    assert rows["site.name"] == "BRAMLEY_SITE_NAME" and rows["operator.groups"] == "config.json"
    # The one that has stopped is gone.
    assert len(rows_of(visitor.find("section:nth-of-type(1)"))) == 1
    # A name is not broken while its column can be wider.
    lines = "return [...document.querySelectorAll('td code')].filter((code) => code.getClientRects().length > 1"
    assert visitor.script(lines + " && !/[ /-]/.test(code.textContent)).map((code) => code.textContent)") == []


def test_the_audit_log_has_names_and_is_narrowed(at_work):
    visitor = at_work()
    site = visitor.site
    boris = user_of(Elsewhere(site, "boris", AGENT))
    visitor.open(asked("disable", boris))
    visitor.press("main form button")
    visitor.open("/operator/audit?type=user.disabled")
    row = [cell.text.replace("\n", " ") for cell in visitor.all("tbody tr:first-child td")]
    assert row[1:3] == ["user.disabled", "operator Ada Byron"] and row[3].startswith("Boris Novák")
    assert visitor.find("select[name=type]").get_attribute("value") == "user.disabled"
    assert [group.get_attribute("label") for group in visitor.all("optgroup")][:2] == ["People", "Sessions"]
    visitor.open("/operator/audit")
    assert "user.viewed" in [cell.text for cell in visitor.all("td:nth-child(2)")]
    visitor.find("select[name=type] option[value=without-views]").click()
    visitor.press(".search button", "/operator/audit")
    shown = [cell.text for cell in visitor.all("td:nth-child(2)")]
    assert "user.disabled" in shown and "user.viewed" not in shown
    visitor.open("/operator/audit?type=user.disabled&from=2020-01-01&to=2020-12-31")
    assert "None." in visitor.text()
    site.operator.bramley("users", "delete", boris, "--yes")
    visitor.open("/operator/audit?type=user.disabled")
    assert "Boris" not in visitor.text() and boris not in visitor.driver.page_source


def test_a_secret_is_copied_and_the_keyboard_skips_the_tabs(at_work):
    visitor = at_work("/operator/api-keys")
    visitor.find("body").send_keys(Keys.TAB)
    assert visitor.driver.switch_to.active_element.text == "Skip to content"
    visitor.press(".actions a")
    assert "Ask whose session a token is" in visitor.text()
    visitor.find("[name=keyName]").send_keys("shop")
    visitor.find("[name='scope introspect']").click()
    visitor.press("main form button")
    visitor.find("[data-copy]").click()
    visitor.wait(lambda driver: "Copied." in visitor.text() or visitor.script(
        "return getSelection().toString()").startswith("brk_"), "the key, copied or selected")


def test_an_endpoint_that_fails_can_be_tested_and_one_that_works_is_not_retried(at_work, gallery):
    visitor = at_work("/operator/webhooks", {
        "webhooks.url": "http://127.0.0.1:9/in", "webhooks.secret": "whsec_" + "A" * 44})

    def actions() -> list[str]:
        visitor.open("/operator/webhooks")
        return [link.text for link in visitor.all("section:first-of-type td .button")]

    eventually(lambda: actions() == ["Send a test", "Send everything again"], "the failure")
    visitor.press("td a.button", "/operator/change")
    visitor.press("main form button", "/operator/change")
    assert re.search(r"The test was not accepted: \w+", visitor.text())
    # Long words of buttons stay on a phone.
    visitor.open("/operator/webhooks?ui_locales=de")
    inspect(visitor, gallery, "webhooks-failing-de")
    works = "UPDATE webhook_endpoint SET failing_since = NULL, paused_until = NULL WHERE url LIKE ?"
    # Again, as a delivery in between fails.
    eventually(lambda: visitor.site.operator.database(works, "http%") or actions() == ["Send a test"], "only the test")


def test_what_is_gone_leaves_the_other_pages_in_reach(at_work, gallery):
    visitor = at_work()
    visitor.open("/operator/users/usr_00000000000000000000000000")
    assert visitor.heading() == "People" and "This no longer exists." in visitor.text()
    inspect(visitor, gallery, "gone")
    visitor.press(".tabs a[aria-current]", "/operator/users")


def test_an_operators_account_leads_to_the_page(at_work):
    visitor = at_work("/account")
    visitor.press("a[href='/operator']", "/operator")
    visitor.site.operator.bramley("users", "groups", users(visitor.site)["ada"]["id"], "--set", "staff")
    eventually(lambda: visitor.open("/account") or not visitor.all("a[href='/operator']"), "the link's end")
