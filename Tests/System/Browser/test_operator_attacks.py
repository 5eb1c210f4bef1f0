"""The operator's page under attack: who may ask, whose forms count, and what is recorded. By program, without a browser."""

import csv
import html
import io
import itertools
import json
import re
import urllib.parse

import pytest

from elsewhere import Elsewhere
from operators import AGENT, MARKUP, SETTINGS, asked, change, make_operator, user_of
from patience import eventually
from web import SAME_ORIGIN, bearer, call

PAGES = ["/operator", "/operator/doctor", "/operator/users", "/operator/sessions", "/operator/clients",
         "/operator/webhooks", "/operator/notifications", "/operator/api-keys", "/operator/audit",
         "/operator/groups", "/operator/server", "/operator/groups?format=csv",
         "/operator/users/{user}", "/operator/users/{user}/export", "/operator/clients/wiki",
         "/operator/change?action=disable&target={user}", "/operator/users?format=csv", "/operator/audit?format=csv"]


@pytest.fixture(scope="module")
def site(make_shared_site):
    site = make_shared_site(SETTINGS | {"server.limits.signInsPerMinute": 100_000, "site.name": "Orchard"})
    site.operator.bramley("clients", "add", "wiki", "--redirect-uri", "https://wiki.example.com/back")
    return site


@pytest.fixture(scope="module")
def ada(site) -> Elsewhere:
    return make_operator(site)


@pytest.fixture
def grace(site) -> Elsewhere:
    return Elsewhere(site, "boris", AGENT)


def audit(site, kind: str | None = None) -> list[dict]:
    return site.operator.json("audit", "list", "--all", *(["--type", kind] if kind else []))["items"]


def state(site, user: str) -> str:
    return site.operator.json("users", "show", user)["state"]


@pytest.mark.parametrize("page", PAGES)
def test_only_operators_open_the_page(site, ada, grace, page):
    path = page.format(user=user_of(ada))
    assert ada.send("GET", path).status == 200
    # Not even what there is: a stranger signs in first, and comes back to where they wanted to go.
    stranger = Elsewhere(site, "boris", AGENT)
    stranger.cookies.clear()
    for target in (path, path.replace(user_of(ada), "usr_00000000000000000000000000")):
        answer = stranger.send("GET", target).must(303)
        assert answer.headers["Location"] == "/login?return_to=" + urllib.parse.quote(target, safe="-._~")
    before = [audit(site, kind) for kind in ("user.viewed", "user.exported")]
    assert "Ada" not in grace.send("GET", path).must(403).text
    assert [audit(site, kind) for kind in ("user.viewed", "user.exported")] == before


def test_without_operator_groups_there_is_no_page(make_site):
    there = Elsewhere(make_site(), "ada", AGENT)
    assert [there.send("GET", page.format(user=user_of(there))).status for page in PAGES] == [404] * len(PAGES)
    assert change(there, "disable", user_of(there)).status == 404


def test_leaving_the_group_closes_the_page_at_once(site, grace):
    site.operator.bramley("users", "groups", user_of(grace), "--add", "admins")
    eventually(lambda: grace.send("GET", "/operator").status == 200, "the page")
    site.operator.bramley("users", "groups", user_of(grace), "--remove", "admins")
    eventually(lambda: grace.send("GET", "/operator").status == 403, "the refusal")


def test_only_forms_change_anything(site, ada, grace):
    target = user_of(grace)
    assert ada.send("GET", asked("disable", target)).status == 200
    assert ada.send("POST", asked("disable", target), {}, {"Sec-Fetch-Site": "same-origin"}).status == 400
    twice = urllib.parse.urlencode([("action", "disable"), ("action", "approve"), ("target", target)])
    assert ada.send("POST", "/operator/change", twice, SAME_ORIGIN).status == 400
    assert state(site, target) == "active"


def test_people_outside_the_group_change_nothing(site, ada, grace):
    for action, target in [("disable", user_of(ada)), ("groups", user_of(grace)), ("delete-user", user_of(ada)),
                           ("create-key", ""), ("add-client", ""), ("retry-all", ""), ("delete-client", "wiki")]:
        fields = {"groups": "admins", "keyName": "mine", "scope users:read": "yes", "clientID": "evil",
                  "redirectURIs": "https://evil.example/"}
        assert change(grace, action, target, fields).status == 403
    assert state(site, user_of(ada)) == "active"
    assert "mine" not in site.operator.bramley("api-keys", "list") and "evil" not in site.operator.bramley("clients", "list")


def test_an_old_sign_in_changes_nothing(site, ada, grace):
    target = user_of(grace)
    old = Elsewhere(site, "ada", AGENT)
    session = json.loads(old.send("GET", "/api/v1/session").text)["session"]["id"]
    site.operator.database("UPDATE session SET created_at = created_at - 601000 WHERE id = ?", session)
    eventually(lambda: 'method="post"' not in old.send("GET", asked("disable", target)).text, "the page for an old sign-in")
    for answer in (old.send("GET", asked("disable", target)), change(old, "disable", target)):
        assert answer.status == 200 and 'method="post"' not in answer.text and "/login/apple?return_to=" in answer.text
    assert state(site, target) == "active"
    assert old.send("GET", "/operator/users").status == 200


def test_frames_are_refused(ada):
    for page in ("/operator", "/operator/users", asked("create-key")):
        assert "frame-ancestors 'none'" in ada.send("GET", page).headers["Content-Security-Policy"]


@pytest.mark.parametrize("target", [
    "usr_00000000000000000000000000", "usr_", "", "../users", "ses_00000000000000000000000000", "' OR 1=1 --", "\0",
])
def test_invented_targets_are_refused(ada, target):
    for action in ("approve", "disable", "groups", "delete-user", "end-sessions", "end-session", "end-access", "replay",
                   "revoke-key", "edit-client", "rotate-secret", "delete-client", "retry-endpoint", "test-endpoint"):
        assert ada.send("GET", asked(action, target)).status == (400 if "\0" in target else 404)
        assert change(ada, action, target).status in (400, 404, 409)
    for path in ("/operator/users/", "/operator/clients/"):
        assert ada.send("GET", path + urllib.parse.quote(target, safe="")).status in (400, 404)


@pytest.mark.parametrize("query", [
    "after=x", "after=-1", "after=99999999999999999999", "after=1.%00", "state=none", "q=%25", "q=%00", "q=" + "a" * 2000,
    "type=none", "outcome=none", "group=%27", "format=xml", "after=" + "A" * 500, "user=x",
    "from=x", "to=2026-02-30", "from=9999-12-31", "to=9999-12-31",
])
def test_invented_queries_are_refused(ada, query):
    for page in ("users", "groups", "sessions", "clients", "webhooks", "notifications", "api-keys", "audit"):
        assert ada.send("GET", f"/operator/{page}?{query}").status in (200, *[400] * ("%00" in query)), (page, query)
    assert ada.send("GET", f"/operator/users?{query}&{query}").status == 400 or "=" not in query or query.split("=")[0] in (
        "type", "outcome", "user", "state", "after", "format", "from", "to")


def test_ending_all_sessions_says_that_offline_access_stays(ada):
    page = ada.send("GET", asked("end-sessions", user_of(ada))).must(200).text
    assert "An application with offline access keeps it until you end it." in page


def test_notifications_are_filtered_only_by_outcomes_that_they_can_have(ada):
    page = ada.send("GET", "/operator/notifications").text
    offered = set(re.findall(r"/operator/notifications\?outcome=(\w+)", page))
    assert offered == {"applied", "stale", "unknownSubject", "unknownType"}


def test_the_last_operator_cannot_be_removed(site, ada):
    me = user_of(ada)
    for action, fields in (("disable", {}), ("delete-user", {}), ("groups", {"groups": "staff"}), ("groups", {})):
        assert "nobody could open this page" in change(ada, action, me, fields).must(409).text
    assert state(site, me) == "active" and ada.send("GET", "/operator").status == 200
    # With a second one who is active it works, and not with one who is disabled.
    grace = user_of(make_operator(site, "boris"))
    for action, status in (("disable", 409), ("enable", 303)):
        assert change(ada, action, grace).status == 303
        assert change(ada, "groups", me, {"groups": "staff"}).status == status
    site.operator.bramley("users", "groups", me, "--set", "admins")
    site.operator.bramley("users", "groups", grace, "--remove", "admins")


def test_a_hostile_name_is_only_text(site, ada):
    who = "erin"
    user = user_of(Elsewhere(site, who, AGENT))
    site.operator.database("UPDATE user SET given_name = ?, family_name = ?, external_id = ? WHERE id = ?",
                           MARKUP, "=cmd|' /C calc'!A0", '"><svg onload=alert(1)>', user)
    for page in ("/operator", "/operator/users", f"/operator/users/{user}", asked("disable", user), asked("groups", user),
                 "/operator/sessions", "/operator/users?q=" + urllib.parse.quote(MARKUP)):
        text = ada.send("GET", page).text
        assert "<script>alert" not in text and "onerror=alert(1)>" not in text and "<svg onload" not in text, page
    rows = list(csv.reader(io.StringIO(ada.send("GET", "/operator/users?format=csv").text)))
    assert rows[0] == ["Name", "E-mail", "State", "Groups", "Since", "Last sign-in", "ID"]
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert next(row for row in rows if user in row)[0].startswith("<script>")


def test_nothing_secret_is_shown_again(site, ada):
    def shown(*arguments) -> str:
        made = change(ada, *arguments)
        assert made.status == 200 and made.headers["Cache-Control"] == "no-store"
        return re.search(r"<code>((?:brk|bcs)_[A-Za-z0-9_-]+)</code>", made.text)[1]

    key = shown("create-key", "", {"keyName": "once", "scope users:read": "yes", "days": "30"})
    secrets = {key, shown("add-client", "", {"clientID": "once", "redirectURIs": "https://once.example.com/back"}),
               shown("rotate-secret", "once")}
    assert sorted(secret[:4] for secret in secrets) == ["bcs_", "bcs_", "brk_"]
    for page in (*PAGES, "/operator/clients/once", asked("edit-client", "once"), asked("rotate-secret", "once"),
                 "/operator/api-keys?format=csv"):
        text = ada.send("GET", page.format(user=user_of(ada))).text
        assert not any(secret in text for secret in secrets), page
    assert not any(secret in site.server.text() for secret in secrets)
    there = Elsewhere(site, "boris", AGENT)
    there.cookies.clear()
    assert there.send("GET", "/api/v1/users", headers=bearer(key)).status == 200
    identifier = re.search(r"key_[a-z0-9]{26}", ada.send("GET", "/operator/api-keys").text)[0]
    assert change(ada, "revoke-key", identifier).status == 303
    assert there.send("GET", "/api/v1/users", headers=bearer(key)).status == 401


@pytest.mark.parametrize("action, fields, says", [
    ("create-key", {"keyName": "", "scope users:read": "yes"}, "1 to 100 bytes"),
    ("create-key", {"keyName": "n" * 101, "scope users:read": "yes"}, "1 to 100 bytes"),
    ("create-key", {"keyName": "a\tb", "scope users:read": "yes"}, "1 to 100 bytes"),
    ("create-key", {"keyName": "none"}, "Choose what"),
    ("create-key", {"keyName": "late", "scope users:read": "yes", "days": "0"}, "1 to 3650 days"),
    ("create-key", {"keyName": "late", "scope users:read": "yes", "days": "x"}, "1 to 3650 days"),
    ("add-client", {"clientID": "a b", "redirectURIs": "https://a.example/"}, "1 to 64 letters"),
    ("add-client", {"clientID": "wiki", "redirectURIs": "https://a.example/"}, "An application with this ID already exists"),
    ("add-client", {"clientID": "new"}, "at least one is required"),
    ("add-client", {"clientID": "new", "redirectURIs": "http://a.example/"}, "http is only for"),
    ("add-client", {"clientID": "new", "redirectURIs": "https://a.example/#x"}, "it has a fragment"),
    ("groups", {"groups": "a" * 65}, "1 to 64 bytes"),
])
def test_invalid_clients_and_keys_are_refused(site, ada, action, fields, says):
    answer = change(ada, action, user_of(ada) if action == "groups" else "", fields)
    assert answer.status == 409 and says in answer.text
    for value in fields.values():
        assert value == "yes" or value.replace("\t", "&#9;") in answer.text or value in answer.text or "\t" in value
    assert "new" not in [client["clientID"] for client in site.operator.json("clients", "list")["items"]]


def test_each_view_and_change_is_audited_with_the_operator(site, ada, grace):
    me, target = user_of(ada), user_of(grace)
    begun = len(audit(site))
    for path in (f"/{target}", "", f"/{target}/export"):
        ada.send("GET", f"/operator/users{path}")
    for action in ("groups", "end-sessions", "disable", "enable"):
        assert change(ada, action, target, {"groups": "staff, cooks"} if action == "groups" else {}).status == 303
    lines = audit(site)[::-1][begun:]
    # A session that ends is a line of its own.
    assert [kind for kind, _ in itertools.groupby(line["type"] for line in lines)] == [
        "user.viewed", "user.exported", "user.changed", "session.ended", "user.disabled", "user.enabled"]
    assert [(line["object"], line["person"]) for line in lines[:3]] == [(None, target), ("list", None), (None, target)]
    assert {line["account"] for line in lines} == {me}
    assert {line["actor"] for line in lines} == {"operator"} and {line["network"] for line in lines} == {"127.0.0.0/24"}
    about = site.operator.json("audit", "list", "--user", target)["items"]
    assert {"user.viewed", "user.exported", "user.disabled"} <= {line["type"] for line in about}
    # Their page leads to what is recorded of them, and so does their id in the search of the audit log.
    path = re.search(r'href="(/operator/audit\?[^"]+)"', ada.send("GET", f"/operator/users/{target}").text)[1]
    shown = ada.send("GET", html.unescape(path)).text
    assert path.startswith("/operator/audit?q=") and "user.disabled" in shown.split("<tbody")[1]
    rows = list(csv.DictReader(io.StringIO(ada.send("GET", f"/operator/audit?q={target}&format=csv").text)))
    assert [row["Type"] for row in rows] == [
        line["type"] for line in site.operator.json("audit", "list", "--user", target, "--all")["items"]]
    assert "user.disabled" not in ada.send("GET", f"/operator/audit?q={me}").text.split("<tbody")[1]
    site.operator.bramley("users", "groups", target, "--remove", "staff,cooks")


@pytest.mark.parametrize("page", [*(page for page in PAGES if "export" not in page),
                                  "/operator/sessions?format=csv", "/operator/notifications?format=csv",
                                  "/operator/webhooks?format=csv", "/operator/api-keys?format=csv",
                                  "/operator/change?action=groups&target={user}",
                                  "/operator/change?action=delete-user&target={user}"])
def test_each_view_is_recorded_once(site, ada, page):
    path = page.format(user=user_of(ada))
    before = len(audit(site, "user.viewed"))
    assert ada.send("GET", path, headers={"Sec-Fetch-Site": "same-origin"}).status == 200
    lines = audit(site, "user.viewed")
    assert len(lines) == before + 1 and lines[0]["account"] == user_of(ada)
    assert (lines[0]["person"] == user_of(ada)) == (user_of(ada) in path)


def test_a_page_that_asks_says_whose_and_is_recorded(site, ada, grace):
    target, session = user_of(grace), grace.session()["session"]["id"]
    for asking, says in ((asked("end-access", f"{target}/wiki"), "wiki loses its access to Boris Novák"),
                         (asked("end-session", f"{session}.ses_{'0' * 26}.{session}"),
                          "This session ends: Boris Novák: Firefox on Windows.")):
        assert says in ada.send("GET", asking).text
        assert audit(site, "user.viewed")[0]["person"] == target


def test_a_refused_form_that_shows_a_person_is_recorded_as_a_view(site, ada, grace):
    before = len(audit(site, "user.viewed"))
    assert change(ada, "groups", user_of(grace), {"groups": "a" * 65}).status == 409
    assert len(audit(site, "user.viewed")) == before + 1


def patch(site, key: str, user: str, **members):
    answer = call(site, "PATCH", f"/api/v1/users/{user}", body=members, token=key)
    return answer.status, None if answer.status == 200 else answer.code


def test_no_key_makes_an_operator(site, ada, grace):
    scopes = "introspect,users:read,users:write,users:delete,events:read,webhooks:read,webhooks:write,clients:read,clients:write,links"
    key = site.operator.bramley("api-keys", "create", "all", "--scopes", scopes).strip()
    me, user = user_of(ada), user_of(grace)
    site.operator.bramley("users", "groups", user, "--set", "staff")
    for groups in (["admins"], ["staff", "admins"]):
        assert patch(site, key, user, groups=groups) == (403, "operator_group")
    # Nor does it take the group from an operator, or change other things in the same request.
    assert patch(site, key, me, groups=[]) == (403, "operator_group")
    assert patch(site, key, user, groups=["admins"], externalID="mine") == (403, "operator_group")
    # What concerns other groups stays possible.
    for who, groups in ((user, ["cooks"]), (me, ["admins", "cooks"]), (me, ["admins"])):
        assert patch(site, key, who, groups=groups)[0] == 200
    assert grace.send("GET", "/operator").status == 403
    # Somebody whom an operator shut out is not let in again.
    site.operator.bramley("users", "groups", user, "--set", "admins")
    site.operator.bramley("users", "disable", user, "--yes")
    assert patch(site, key, user, state="active") == (403, "operator_group")
    assert state(site, user) == "disabled"
    site.operator.bramley("users", "groups", user, "--set", "")
    assert patch(site, key, user, state="active")[0] == 200


@pytest.mark.parametrize("group", [" admins", "admins ", "x\u2028admins", "x\u2029admins", "\u00a0admins", "x\u0085admins", "a,b"])
def test_a_group_that_a_form_would_change_is_refused_on_entry(site, ada, grace, group):
    user = user_of(grace)
    key = site.operator.bramley("api-keys", "create", "groups", "--scopes", "users:read,users:write").strip()
    assert patch(site, key, user, groups=[group]) == (400, "invalid_request")
    if "," not in group:
        assert site.operator.run("users", "groups", user, "--add", group).returncode == 64
    added = site.operator.run("clients", "add", "odd", "--redirect-uri", "https://a.example/", "--group", group)
    assert added.returncode != 0 and "group" in added.stderr


def test_saving_an_old_group_unchanged_makes_no_operator(site, ada, grace):
    """A database may have such names from before."""
    user = user_of(grace)
    site.operator.database("UPDATE user SET groups = ? WHERE id = ?", json.dumps([" admins"]), user)
    shown = html.unescape(re.search(r'name="groups" value="([^"]*)"', ada.send("GET", asked("groups", user)).text)[1])
    for text in (shown, "staff"):
        assert "&quot; admins&quot;" in change(ada, "groups", user, {"groups": text}).must(409).text
    assert grace.send("GET", "/operator").status == 403
    site.operator.bramley("users", "groups", user, "--remove", " admins")
    assert change(ada, "groups", user, {"groups": "staff"}).status == 303
    site.operator.bramley("users", "groups", user, "--set", "")


def test_two_addresses_in_one_are_refused(site, ada):
    two = "https://a.example.com/cb,https://b.example.com/cb"
    refused = site.operator.run("clients", "add", "two", "--redirect-uri", two)
    assert refused.returncode != 0 and "give each separately" in refused.stderr
    answer = change(ada, "add-client", "", {"clientID": "two", "redirectURIs": two})
    assert answer.status == 409 and "give each separately" in answer.text
    # One address may have a comma, and the form keeps it.
    comma = "https://a.example.com/cb?x=1,2"
    assert change(ada, "add-client", "", {"clientID": "comma", "redirectURIs": comma}).status == 200
    assert site.operator.json("clients", "show", "comma")["redirectURIs"] == [comma]


def test_operators_are_limited_and_strangers_do_not_spend_the_limit(make_site):
    small = make_site(SETTINGS | {"server.limits.operatorPerMinute": 5})
    there = make_operator(small)
    stranger = Elsewhere(small, "boris", AGENT)
    for status in (403, 303):
        assert {stranger.send("GET", "/operator").status for _ in range(20)} == {status}
        stranger.cookies.clear()
    assert there.send("GET", "/operator").status == 200
    refused = [answer for answer in (there.send("GET", "/operator/users") for _ in range(8)) if answer.status == 429]
    assert refused and refused[0].headers["Retry-After"]
