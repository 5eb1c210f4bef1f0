"""A person with any name: on every page, in every document, field, table and log line a name goes to."""

import contextlib
import json
import os
import pty
import subprocess
import unicodedata
from urllib.parse import unquote

import pytest

from attacker import PROXIES, Page, Person, cookie, send
from patience import PATIENCE
from routes import FORM
from web import Browser, call, new_address, part_of

NAMES = {
    "admin": "admin", "chinese": "李雷", "quotes": "\"'`><", "entity": "&lt;b&gt;&amp;&#60;",
    "script": "<script>alert(1)</script>", "attribute": "\" onmouseover=\"alert(1)\" x='", "image": "<img src=x onerror=alert(1)>",
    "comment": "--><!--]]>", "template": "{{t.login}}{{{page.nonce}}}{name}{{>layout}}{{/page}}", "mark": "\u0301\u0327",
    "quote and mark": "\"\u0301><script\u0301>", "line": "a\r\nX-Auth-Request-User: usr_admin\r\n\r\n<b>", "escape": "\x1b[31m\x1b]0;x\x07\x9b1m",
    "turned": "\u202egnp.exe\u2066\u2067", "isolate": "\u2069\u2069\u202c]", "nul": "a\x00b", "separators": "a\u2028b\u2029c\u0085d",
    "tabs": "a\tb,c;d=e", "percent": "%0d%0aX: y%00%%", "stacked": "e" + "\u0301" * 3000, "long": "A" * 65_536,
    "wide": "👩‍👩‍👧‍👦" * 500, "arabic": "مدير النظام", "json": "\"}],\"sub\":\"usr_admin\",\"x\":[{\"", "path": "../../etc/passwd",
    "formula": "=HYPERLINK(\"https://evil.example\")", "spaces": "\u3164\u2800\u00a0", "noncharacter": "\ufffe\U0010ffff", "tag": "\U000e0041",
}
# No store keeps a NUL, and no sign-in lets one in.
STORED = {label: name for label, name in NAMES.items() if "\x00" not in name}
TOLD_ON_PAGES = ("/account", "/account/delete", "/logout", "/login")


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site({"log.level": "debug", "server.trustedProxies": PROXIES, "assertion.audience": "backend"})


def seen(name: str) -> str:
    """As a page shows it: control characters are replaced."""
    return "".join("\ufffd" if ord(c) < 0x20 and c not in "\t\r\n" or ord(c) == 0x7F else c for c in name)


def stored(inhabited, name: str) -> Person:
    """Somebody with this very name in the database, whatever a sign-in would have made of it."""
    person = Person(inhabited)
    inhabited.write("UPDATE user SET given_name = ?, family_name = ? WHERE id = ?", [(name, name, person.user)])
    return person


def shown(site, person: Person, path: str, language: str = "en") -> Page:
    return Page(send(site, "GET", path, [cookie(person.token), ("Accept-Language", language)]).must(200).body)


@pytest.fixture(scope="module")
def plain(site, inhabited):
    """The tags of each page for somebody with a name that is one."""
    person = stored(inhabited, "Ada")
    return {path: shown(site, person, path).shape for path in TOLD_ON_PAGES}


@pytest.mark.parametrize("name", STORED.values(), ids=STORED.keys())
def test_hostile_names_are_text_on_pages(site, inhabited, plain, name):
    person = stored(inhabited, name)
    for path in TOLD_ON_PAGES:
        page = shown(site, person, path)
        assert page.shape == plain[path], path
        # With marks of direction around it, perhaps; in one piece.
        assert f"{seen(name)} {seen(name)}" in page.text, path
        assert "\x1b" not in page.text
    for language in ("ar", "ja"):
        assert shown(site, person, "/logout", language).shape == plain["/logout"]


@pytest.mark.parametrize("name", STORED.values(), ids=STORED.keys())
def test_hostile_names_are_values_in_json_and_headers(site, inhabited, key, name):
    person = stored(inhabited, name)
    own, both = dict([cookie(person.token)]), {"given": name, "family": name}
    for path in ("/api/v1/session", "/account/export"):
        assert call(site, "GET", path, own).json()["user"]["name"] == both
    assert call(site, "GET", f"/api/v1/users/{person.user}", key).json()["name"] == both
    listed = call(site, "GET", f"/api/v1/users?appleSubject=001.{person.user}", key).json()["items"]
    assert [user["name"] for user in listed] == [both]
    assert call(site, "PATCH", f"/api/v1/users/{person.user}", key, {"groups": ["a"]}).json()["name"] == both
    introspected = call(site, "POST", "/api/v1/introspect", key | dict([FORM]), f"token={person.token}").json()
    assert introspected["active"] and introspected["sub"] == person.user and "username" not in introspected
    if len(name.encode()) > 5000:
        return
    told = part_of(call(site, "GET", "/api/v1/session/assertion", own).json()["assertion"])
    assert (told["given_name"], told["family_name"], told["name"]) == (name, name, f"{name} {name}")
    assert told["sub"] == person.user and "preferred_username" not in told
    for _ in range(2):
        answer = send(site, "GET", "/auth/verify?assertion=true", [cookie(person.token)])
        sent = answer.headers["X-Auth-Request-Name"]
        assert answer.status == 204 and unquote(sent, errors="strict") == f"{name} {name}"
        assert sent.isascii() and sent.isprintable() and "," not in sent
        assert answer.headers.get_all("X-Auth-Request-User") == [person.user]
        assert answer.headers["X-Auth-Request-Preferred-Username"] == person.user
        assert part_of(answer.headers["X-Auth-Request-Assertion"])["name"] == f"{name} {name}"


def run(site, *arguments: str, terminal: bool = False) -> str:
    if not terminal:
        return site.operator.bramley(*arguments)
    command = [str(site.binaries / "bramley"), *arguments, "--config", str(site.folder / "config.json")]
    reader, writer = pty.openpty()
    process = subprocess.Popen(command, stdout=writer, stderr=writer, stdin=writer, env=os.environ | {"TERM": "dumb"})
    os.close(writer)
    output = b""
    # An error: the other end is closed, and all was read.
    with contextlib.suppress(OSError):
        while piece := os.read(reader, 65_536):
            output += piece
    os.close(reader)
    assert process.wait(timeout=PATIENCE) == 0, output
    return output.decode().replace("\r\n", "\n")


def test_hostile_names_send_no_control_sequences_to_a_terminal(site, inhabited):
    people = {stored(inhabited, name).user: name for name in STORED.values()}
    for terminal in (True, False):
        lines = run(site, "users", "list", "--limit", "200", terminal=terminal).split("\n")
        for user, name in people.items():
            # One line a person, whatever their name holds.
            line, = [line for line in lines if line.startswith(user)]
            assert is_safe(line), repr(line)
        commands = [["users", "show", user] for user in people]
        # Lists of one person are cut from those of everybody, which a pipe gets whole.
        commands += [[*command, *one] for command in (["sessions", "list"], ["events", "tail"])
                     for one in ([["--user", user] for user in people] if terminal else []) + [[]]]
        for command in commands:
            for line in run(site, *command, terminal=terminal).split("\n"):
                assert is_safe(line), repr(line)
    both = {user["id"]: user["name"]["given"] for user in site.operator.json("users", "list", "--limit", "200")["items"]}
    assert {user: both[user] for user in people} == people
    for user, name in people.items():
        assert json.loads(run(site, "users", "export", user))["user"]["name"]["family"] == name
        assert site.operator.json("users", "show", user)["name"]["family"] == name


def has(text: str, *categories: str, but: str = "") -> bool:
    return any(unicodedata.category(character) in categories and character not in but for character in text)


def is_safe(line: str) -> bool:
    # Left-to-right marks around what is written the other way are ours.
    return not has(line, "Cc", "Cf", "Zl", "Zp", but="\t\u200c\u200d\u200e")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_sign_in_stores_a_cleaned_name(site, inhabited, name):
    """Names come from a form the visitor's own browser posts: what is kept is a name, or none."""
    name = name[:1000]  # What the simulated Apple still takes, and more than what is kept.
    visitor = f"p{len(inhabited.read('SELECT id FROM user'))}"
    site.apple.call("POST", "people", {"id": visitor, "givenName": "x", "familyName": "y", "email": f"{visitor}@example.com"})
    browser = Browser(site, new_address())
    browser.comes_back(browser.goes_to_apple(visitor, given_name=name, family_name=name)).must(303)
    user = browser.session()["user"]
    for kept in user["name"].values():
        if kept is not None:
            assert len(kept) <= 400 and kept.strip() == kept
            assert not has(kept, "Cc", "Cs", "Zl", "Zp") and not has(kept, "Cf", but="\u200c\u200d")
    if name in ("admin", "李雷", "\"'`><", NAMES["script"], NAMES["json"], NAMES["template"]):
        assert user["name"] == {"given": name, "family": name}
    assert user["groups"] == [] and user["externalID"] is None


def test_no_name_is_in_the_log(site):
    """All of the above was at level debug."""
    log = site.server.log.read_bytes()
    for name in ("李雷", "onmouseover", "HYPERLINK", "مدير", "gnp.exe", "A" * 100, "alert(1)"):
        assert name.encode() not in log
    for line in log.decode().split("\n"):
        assert not has(line, "Cc", "Cf", "Zl", "Zp"), repr(line)
