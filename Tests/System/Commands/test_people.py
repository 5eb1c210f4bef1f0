"""How a command line names people, what lists show of them, and who is recorded as having run a command."""

import json
import os
import pwd
import re
import shutil
import unicodedata
from pathlib import Path

import pytest

from processes import fails, finished
from programs import write_private
from terminal import Terminal

PEOPLE = [
    # number, given, family, address, verified, external ID, subject
    (1, "Ada", "Byron", "ada@example.com", 1, "customer-1", "001.ada"),
    (2, "Ada", "Yonath", "yonath@example.com", 1, "customer-2", "002.yonath"),
    (3, "Émilie", "du Châtelet", "shared@example.com", 1, None, "003.emilie"),
    (4, "Grace", "Hopper", "SHARED@example.com", 1, None, "004.grace"),
    # Says of itself that it is somebody else: an address nobody verified, and 100 % in the name.
    (5, "100% Mary_", "Somerville", "mary@example.com", 0, None, "005.mary"),
]


def user(number: int) -> str:
    return f"usr_{number:026d}"


@pytest.fixture(scope="module")
def house(make_shared_site):
    return make_shared_site(start=False).rest()


def insert(house, table: str, **values) -> None:
    """A row with these values, and something in what else must not be empty."""
    for _, name, kind, is_needed, default, is_key in house.database(f"PRAGMA table_info({table})"):
        if is_needed and default is None and not is_key and name not in values:
            values[name] = 4_000_000_000_000 if kind == "INTEGER" else "x"
    house.insert(table, values)


@pytest.fixture
def people(house):
    for table in ("session", "apple_identity", "user", "user_word"):
        house.database(f"DELETE FROM {table}")
    for number, given, family, address, verified, external, subject in PEOPLE:
        # Names as the server indexes them.
        insert(house, "user", id=user(number), state="active", external_id=external, given_name=given,
               family_name=family, indexed_name=f"{given} {family}", email=address, email_verified=verified,
               email_private=0, created_at=number)
        insert(house, "apple_identity", user=user(number), team="TEAM123456", subject=subject,
               credential_state="authorized")
        plain = unicodedata.normalize("NFD", f"{given} {family}".lower()).encode("ascii", "ignore").decode()
        for word in set(re.findall(r"[a-z0-9]+", plain)):
            house.insert("user_word", {"word": word, "created_at": number, "user": user(number)})
    return house


def states(house) -> dict[str, str]:
    return dict(house.database("SELECT id, state FROM user"))


@pytest.mark.parametrize("text, number", [
    (user(1), 1), ("ada@example.com", 1), ("ADA@Example.com", 1), ("customer-2", 2), ("002.yonath", 2),
    ("byron", 1), ("Ada B", 1), ("ÉMILIE", 3), ("du cha", 3), ("châ", 3), ("100% ", 5), ("mar som", 5), ("mary@example.com", 5),
])
def test_a_person_is_found_by_any_identifier(people, text, number):
    assert people.json("users", "show", text)["id"] == user(number)
    assert people.run("users", "groups", text).returncode == 0
    assert json.loads(people.bramley("users", "export", text))["user"]["id"] == user(number)
    assert people.json("sessions", "list", "--user", text)["items"] == []
    assert people.run("audit", "list", "--user", text).returncode == 0
    assert people.run("events", "tail", "--user", text).returncode == 0


@pytest.mark.parametrize("text, numbers", [("ada", [1, 2]), ("shared@example.com", [3, 4]), ("A", [1, 2])])
@pytest.mark.parametrize("command", [
    ["users", "show"], ["users", "disable"], ["users", "disable", "--yes"], ["users", "delete", "--yes"],
    ["users", "approve", "--yes"], ["users", "groups", "--add", "staff", "--yes"], ["users", "export"],
    ["sessions", "list", "--user"], ["sessions", "revoke", "--yes", "--user"],
])
def test_an_ambiguous_person_is_refused_and_the_candidates_listed(people, command, text, numbers):
    before = people.database("SELECT * FROM user")
    done = people.run(*command, text)
    assert done.returncode == 1 and done.stdout == ""
    for number, given, family, address, *_ in PEOPLE:
        assert (f"{user(number)} ({given} {family}, {address}), active" in done.stderr) == (number in numbers), done
    assert people.database("SELECT * FROM user") == before


@pytest.mark.parametrize("text", ["byr", "Grace Hopper", "mary@example.com"])
@pytest.mark.parametrize("command, flags", [
    (["users", "delete"], ["--yes"]), (["users", "disable"], ["--yes"]), (["users", "disable"], []),
    (["users", "delete"], []), (["users", "approve"], ["--yes"]), (["users", "enable"], []),
    (["users", "groups", "--add", "staff"], ["--yes"]), (["sessions", "revoke", "--user"], ["--yes"]),
    (["users", "end-access", "--all"], ["--yes"]), (["users", "end-access", "--all"], []),
])
def test_changes_by_name_ask_for_confirmation(people, command, flags, text):
    before = people.database("SELECT * FROM user")
    fails(people.run(*command, text, *flags), "Nothing was done.", code=64)
    assert people.database("SELECT * FROM user") == before


@pytest.mark.parametrize("command, ids, hidden", [
    (["users", "list"], [user(number) for number in range(1, 6)], "CREATED, EXTERNAL ID"),
    (["sessions", "list"], ["ses_" + "0" * 26, user(1)], "EMAIL, DEVICE, ADDRESS, CREATED, KIND"),
    (["api-keys", "list"], ["key_" + "0" * 26], "LAST USED, EXPIRES"),
])
def test_on_80_columns_ids_are_whole_and_missing_columns_are_named(people, monkeypatch, command, ids, hidden):
    people.database("UPDATE user SET email = id || '@privaterelay.appleid.com', groups = '[\"administrators\"]'")
    insert(people, "session", id="ses_" + "0" * 26, token_hash=bytes(32), user=user(1), kind="browser",
           user_agent="Mozilla/5.0 (Macintosh) Version/26.0 Safari/605.1.15", address="203.0.113.254")
    people.database("DELETE FROM api_key")
    insert(people, "api_key", id="key_" + "0" * 26, hash=bytes(32), name="the shop",
           scopes='["users:read","events:read"]')
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal([str(people.program), *command, "--config", str(people.folder / "config.json")])
    try:
        lines = terminal.end().screen.splitlines()
    finally:
        terminal.close()
    *table, hint = [line for line in lines if line]
    assert hint.startswith(f"Not shown: {hidden}."), lines
    assert len(table) == 1 + len([id for id in ids if id.startswith(table[1][:4])]), lines
    assert all(any(id in line for line in table) for id in ids) and max(map(len, table)) <= 80, lines


def test_on_80_columns_the_audit_log_says_who(people, monkeypatch):
    people.database("DELETE FROM audit")
    insert(people, "audit", type="user.viewed", actor="operator", account=user(1), person=user(2), network="203.0.113.0/24")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal([str(people.program), "audit", "list", "--config", str(people.folder / "config.json")])
    try:
        title, line, hint = [line for line in terminal.end().screen.splitlines() if line]
    finally:
        terminal.close()
    assert title.split() == ["TIME", "TYPE", "BY", "OBJECT"] and hint.startswith("Not shown: REASON, FROM, SUBJECT.")
    assert " operator" in line and line.endswith(user(2)) and len(line) <= 80


def test_an_export_overwrites_nothing(people, tmp_path):
    file = tmp_path / "ada.json"
    file.write_text("mine")
    exports = people.json("audit", "list", "--type", "user.exported", "--since", "yesterday")
    done = people.run("users", "export", user(1), "--output", str(file))
    assert done.returncode == 1 and done.stdout == "" and file.read_text() == "mine"
    assert done.stderr == f"error: {file} already exists. Choose another name; nothing was exported.\n"
    assert people.json("audit", "list", "--type", "user.exported", "--since", "yesterday") == exports


def test_changes_by_a_unique_identifier_need_no_confirmation(people):
    people.bramley("users", "disable", "customer-1")
    people.bramley("users", "disable", "002.yonath", user(4), "--yes")
    assert [state for _, state in sorted(states(people).items())] == [
        "disabled", "disabled", "active", "disabled", "active"]
    people.bramley("users", "enable", "ada@example.com")
    people.bramley("users", "delete", "yonath@example.com", "--yes")
    assert states(people)[user(1)] == "active" and user(2) not in states(people)
    assert people.run("users", "show", "nobody at all").returncode == 1


def test_a_cut_list_says_so_and_all_prints_everything(people):
    for form in ([], ["--json"]):
        cut = people.run("users", "list", "--limit", "2", *form)
        assert cut.returncode == 0 and "--all" in cut.stderr and "--after" in cut.stderr
        assert people.run("users", "list", "--limit", "2", "--all", *form).stderr == ""
    assert len(people.bramley("users", "list", "--all").splitlines()) == 5
    assert people.run("users", "list").stderr == ""
    found = people.json("users", "list", "--all")
    assert [item["id"] for item in found["items"]] == [user(number) for number in range(1, 6)]
    assert found["next"] is None


@pytest.mark.parametrize("filters, numbers", [
    (["--name", "ada"], [1, 2]), (["--name", "ada", "--state", "active"], [1, 2]),
    (["--name", "ada", "--state", "disabled"], []), (["--email", "shared@example.com", "--all"], [3, 4]),
    (["--email", "shared@example.com", "--name", "grace"], [4]), (["--name", ""], [1, 2, 3, 4, 5]),
])
def test_filters_combine_and_page(people, filters, numbers):
    found = people.json("users", "list", *filters)["items"]
    assert [item["id"] for item in found] == [user(number) for number in numbers]
    if "--all" not in filters:
        assert people.pages("users", "list", "--limit", "1", *filters) == found


LISTS = [
    ["users", "list"], ["sessions", "list"], ["notifications", "list"], ["links", "list"], ["api-keys", "list"],
    ["audit", "list"], ["credentials", "revocations"], ["webhooks", "list"], ["webhooks", "list", "--dead"],
    ["transfer", "status", "--unmoved"]]


@pytest.mark.parametrize("command", LISTS)
def test_every_list_has_all_json_and_limit(people, command):
    document = people.json(*command, "--all")
    assert set(document) == {"items", "next"} and document["next"] is None
    people.bramley(*command, "--limit", "3")


def test_lists_of_keys_and_of_the_audit_log_are_cut_and_paged(people):
    people.database("DELETE FROM api_key")
    people.database("DELETE FROM audit")
    for name in ("one", "two", "three"):
        people.bramley("api-keys", "create", name, "--scopes", "users:read")
    for kind in ("api-keys", "audit"):
        cut = people.run(kind, "list", "--limit", "1")
        assert len(cut.stdout.splitlines()) == 1 and "--all" in cut.stderr
        assert len(people.bramley(kind, "list", "--limit", "1", "--all").splitlines()) == 3
    assert [key["name"] for key in people.pages("api-keys", "list", "--limit", "2")] == ["one", "two", "three"]


def test_sessions_name_people(people):
    insert(people, "session", token_hash=b"\1" * 32, id=f"ses_{1:026d}", kind="browser", user=user(3),
           client_id="com.example.web")
    row = people.bramley("sessions", "list").rstrip("\n").split("\t")
    assert row[1:4] == [user(3), "Émilie du Châtelet", "shared@example.com"]
    item, = people.json("sessions", "list")["items"]
    assert (item["user"], item["name"], item["email"]) == (user(3), "Émilie du Châtelet", "shared@example.com")


@pytest.mark.parametrize("sudo, suffix", [
    (None, ""), ("carol", " (sudo: carol)"), ("two words", ""), ("x" * 65, ""), ("", ""), ("a\nb", ""),
])
def test_the_audit_log_names_who_ran_a_command(people, sudo, suffix):
    people.database("DELETE FROM audit")
    environment = {name: value for name, value in os.environ.items() if name != "SUDO_USER"}
    done = people.run("users", "disable", user(1), env=environment | ({} if sudo is None else {"SUDO_USER": sudo}))
    assert done.returncode == 0, done.stderr
    account = pwd.getpwuid(os.getuid()).pw_name + suffix
    line, = people.json("audit", "list")["items"]
    assert (line["type"], line["actor"], line["account"]) == ("user.disabled", "operator", account)
    assert people.bramley("audit", "list").split("\t")[2] == f"operator {account}"


def copied_configuration(people, folder: Path, settings: dict) -> Path:
    """In another folder, with these settings and the relative path `data`."""
    folder.mkdir()
    configuration = people.site.configuration(people.site.settings | settings | {"storage.directory": "data"})
    write_private(folder / "config.json", json.dumps(configuration).encode())
    return folder


def test_commands_on_the_database_run_from_anywhere_without_apples_key(people, tmp_path):
    folder = copied_configuration(people, tmp_path / "configuration", {
        "apple.privateKeyFile": "gone.p8", "forwardAuth.rulesFile": "gone.json",
        "server.trustedProxies": ["127.0.0.1"], "pages.directory": "gone"})
    shutil.copytree(people.folder / "data", folder / "data")

    def run(*arguments: str, place: Path, **variables: str):
        return finished(people.program, *arguments, cwd=place, env=os.environ | variables)

    for place, named, variables in (
            (tmp_path, ["--config", "configuration/config.json"], {}), (folder, [], {}),
            (Path("/"), [], {"BRAMLEY_CONFIG": str(folder / "config.json")})):
        for command in (*LISTS, ["events", "tail"], ["credentials", "status"], ["transfer", "status"],
                        ["backup", str(tmp_path / f"backup-{place.name}.db"), "--force"]):
            done = run(*command, *named, place=place, **variables)
            assert done.returncode == 0, (command, place, done.stderr)
        fails(run("check", *named, place=place, **variables), "apple.privateKeyFile")


def test_a_database_in_the_working_directory_is_noticed(people, tmp_path):
    """Relative paths used to begin there: an operator who relied on it must not get an empty database."""
    folder = copied_configuration(people, tmp_path / "etc", {})
    shutil.copytree(people.folder / "data", tmp_path / "data")
    for command in ("check", "serve"):
        fails(finished(people.program, command, "--config", "etc/config.json", cwd=tmp_path), "Write the full path")
    assert not (folder / "data").exists()


@pytest.mark.parametrize("words, said", [
    ("user list", "There is no command bramley user. Did you mean bramley users?"),
    ("users lst", "There is no command bramley users lst. Did you mean bramley users list?"),
    ("frobnicate", "Unexpected argument 'frobnicate'"),
    ("users list --limt 3", "Unknown option '--limt'"),
])
def test_a_misspelt_command_is_told_the_right_one(run_command, words, said):
    fails(run_command(*words.split()), said, code=64)
