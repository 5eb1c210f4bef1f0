"""How people are named on a command line, what lists show of them, and who is told to have run a command."""

import json
import os
import pwd
import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from programs import write_private

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
    house.database(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' for _ in values)})", *values.values())


@pytest.fixture
def people(house):
    house.database("DELETE FROM session")
    house.database("DELETE FROM apple_identity")
    house.database("DELETE FROM user")
    house.database("DELETE FROM user_word")
    for number, given, family, address, verified, external, subject in PEOPLE:
        insert(
            house, "user", id=user(number), state="active", external_id=external, given_name=given,
            family_name=family, email=address, email_verified=verified, email_private=0, created_at=number)
        insert(
            house, "apple_identity", user=user(number), team="TEAM123456", subject=subject,
            credential_state="authorized")
        # As the server indexes names.
        name = f"{given} {family}"
        house.database("UPDATE user SET indexed_name = ? WHERE id = ?", name, user(number))
        plain = unicodedata.normalize("NFD", name.lower()).encode("ascii", "ignore").decode()
        for word in set(re.findall(r"[a-z0-9]+", plain)):
            house.database("INSERT INTO user_word (word, created_at, user) VALUES (?, ?, ?)", word, number, user(number))
    return house


def states(house) -> dict[str, str]:
    return dict(house.database("SELECT id, state FROM user"))


@pytest.mark.parametrize("text, number", [
    (user(1), 1), ("ada@example.com", 1), ("ADA@Example.com", 1), ("customer-2", 2), ("002.yonath", 2),
    ("byron", 1), ("Ada B", 1), ("ÉMILIE", 3), ("du cha", 3), ("châ", 3), ("100% ", 5), ("mar som", 5), ("mary@example.com", 5),
])
def test_a_person_is_found_by_whatever_is_known(people, text, number):
    assert json.loads(people.bramley("users", "show", "--json", text))["id"] == user(number)
    assert people.run("users", "groups", text).returncode == 0
    assert json.loads(people.bramley("users", "export", text))["user"]["id"] == user(number)
    assert json.loads(people.bramley("sessions", "list", "--json", "--user", text))["items"] == []
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
])
def test_changes_by_name_ask_for_confirmation(people, command, flags, text):
    before = people.database("SELECT * FROM user")
    done = people.run(*command, text, *flags)
    assert done.returncode == 64 and "Nothing was done." in done.stderr, done
    assert people.database("SELECT * FROM user") == before


def test_changes_by_a_unique_identifier_need_no_confirmation(people):
    people.bramley("users", "disable", "customer-1")
    people.bramley("users", "disable", "002.yonath", user(4), "--yes")
    assert [state for _, state in sorted(states(people).items())] == [
        "disabled", "disabled", "active", "disabled", "active"]
    people.bramley("users", "enable", "ada@example.com")
    people.bramley("users", "delete", "yonath@example.com", "--yes")
    assert states(people)[user(1)] == "active" and user(2) not in states(people)
    assert people.run("users", "show", "nobody at all").returncode == 1


# MARK: Lists

def test_a_cut_list_says_so_and_all_prints_everything(people):
    for form in ([], ["--json"]):
        cut = people.run("users", "list", "--limit", "2", *form)
        assert cut.returncode == 0 and "--all" in cut.stderr and "--after" in cut.stderr
        whole = people.run("users", "list", "--limit", "2", "--all", *form)
        assert whole.stderr == ""
    assert len(people.bramley("users", "list", "--all").splitlines()) == 5
    assert people.run("users", "list").stderr == ""
    found = json.loads(people.bramley("users", "list", "--all", "--json"))
    assert [item["id"] for item in found["items"]] == [user(number) for number in range(1, 6)]
    assert found["next"] is None


@pytest.mark.parametrize("filters, numbers", [
    (["--name", "ada"], [1, 2]), (["--name", "ada", "--state", "active"], [1, 2]),
    (["--name", "ada", "--state", "disabled"], []), (["--email", "shared@example.com", "--all"], [3, 4]),
    (["--email", "shared@example.com", "--name", "grace"], [4]), (["--name", ""], [1, 2, 3, 4, 5]),
])
def test_filters_go_together_and_page_by_page(people, filters, numbers):
    found = json.loads(people.bramley("users", "list", "--json", *filters))["items"]
    assert [item["id"] for item in found] == [user(number) for number in numbers]
    if "--all" in filters:
        return
    pages, cursor = [], []
    while True:
        page = json.loads(people.bramley("users", "list", "--json", "--limit", "1", *filters, *cursor))
        pages += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = ["--cursor", page["next"]]
    assert pages == [user(number) for number in numbers]


@pytest.mark.parametrize("command", [
    ["users", "list"], ["sessions", "list"], ["notifications", "list"], ["links", "list"], ["api-keys", "list"],
    ["audit", "list"], ["credentials", "revocations"], ["webhooks", "list"], ["webhooks", "list", "--dead"],
    ["transfer", "status", "--unmoved"],
])
def test_every_list_has_all_json_and_limit(people, command):
    document = json.loads(people.bramley(*command, "--all", "--json"))
    assert set(document) == {"items", "next"} and document["next"] is None
    people.bramley(*command, "--limit", "3")


def test_more_than_a_page_of_everything(people):
    people.database("DELETE FROM api_key")
    people.database("DELETE FROM audit")
    for name in ("one", "two", "three"):
        people.bramley("api-keys", "create", name, "--scopes", "users:read")
    for command, count in ((["api-keys", "list"], 3), (["audit", "list"], 3)):
        cut = people.run(*command, "--limit", "1")
        assert len(cut.stdout.splitlines()) == 1 and "--all" in cut.stderr
        assert len(people.bramley(*command, "--limit", "1", "--all").splitlines()) == count
    first = json.loads(people.bramley("api-keys", "list", "--limit", "2", "--json"))
    rest = json.loads(people.bramley("api-keys", "list", "--json", "--cursor", first["next"]))
    assert [key["name"] for key in first["items"] + rest["items"]] == ["one", "two", "three"]


def test_sessions_name_people(people):
    insert(
        people, "session", token_hash=b"\1" * 32, id=f"ses_{1:026d}", kind="browser", user=user(3),
        client_id="com.example.web")
    row = people.bramley("sessions", "list").rstrip("\n").split("\t")
    assert row[1:4] == [user(3), "Émilie du Châtelet", "shared@example.com"]
    item, = json.loads(people.bramley("sessions", "list", "--json"))["items"]
    assert (item["user"], item["name"], item["email"]) == (user(3), "Émilie du Châtelet", "shared@example.com")


# MARK: Who ran it

@pytest.mark.parametrize("sudo, suffix", [
    (None, ""), ("carol", " (sudo: carol)"), ("two words", ""), ("x" * 65, ""), ("", ""), ("a\nb", ""),
])
def test_the_audit_log_names_who_ran_a_command(people, sudo, suffix):
    people.database("DELETE FROM audit")
    environment = {name: value for name, value in os.environ.items() if name != "SUDO_USER"}
    done = people.run("users", "disable", user(1), env=environment | ({} if sudo is None else {"SUDO_USER": sudo}))
    assert done.returncode == 0, done.stderr
    account = pwd.getpwuid(os.getuid()).pw_name + suffix
    line, = json.loads(people.bramley("audit", "list", "--json"))["items"]
    assert (line["type"], line["actor"], line["account"]) == ("user.disabled", "operator", account)
    assert people.bramley("audit", "list").split("\t")[2] == f"operator {account}"


# MARK: What commands read

def test_commands_on_the_database_run_from_anywhere_without_apples_key(people, tmp_path):
    folder = tmp_path / "configuration"
    folder.mkdir()
    configuration = json.loads((people.folder / "config.json").read_text())
    configuration["apple"]["privateKeyFile"] = "gone.p8"
    configuration["forwardAuth"] = {"rulesFile": "gone.json"}
    configuration["server"]["trustedProxies"] = ["127.0.0.1"]
    configuration["pages"] = {"directory": "gone"}
    configuration["storage"]["directory"] = "data"
    write_private(folder / "config.json", json.dumps(configuration).encode())
    shutil.copytree(people.folder / "data", folder / "data")

    def run(*arguments: str, place: Path, **variables: str):
        return subprocess.run(
            [str(people.program), *arguments], cwd=place, capture_output=True, text=True,
            env=os.environ | {name: str(value) for name, value in variables.items()})

    for place, named, variables in (
        (tmp_path, ["--config", "configuration/config.json"], {}), (folder, [], {}),
        (Path("/"), [], {"BRAMLEY_CONFIG": str(folder / "config.json")}),
    ):
        for command in (
            ["users", "list"], ["sessions", "list"], ["notifications", "list"], ["events", "tail"], ["audit", "list"],
            ["api-keys", "list"], ["webhooks", "list"], ["credentials", "status"], ["links", "list"],
            ["transfer", "status"], ["backup", str(tmp_path / f"backup-{place.name}.db"), "--force"],
        ):
            done = run(*command, *named, place=place, **variables)
            assert done.returncode == 0, (command, place, done.stderr)
        refused = run("check", *named, place=place, **variables)
        assert refused.returncode == 1 and "apple.privateKeyFile" in refused.stderr


def test_a_database_left_in_the_working_directory_is_not_forgotten(people, tmp_path):
    """Before, relative paths began there: whoever relied on it must not be given an empty database."""
    folder = tmp_path / "etc"
    folder.mkdir()
    shutil.copytree(people.folder / "data", tmp_path / "data")
    configuration = json.loads((people.folder / "config.json").read_text())
    configuration["storage"]["directory"] = "data"
    write_private(folder / "config.json", json.dumps(configuration).encode())
    for command in ("check", "serve"):
        done = subprocess.run(
            [str(people.program), command, "--config", "etc/config.json"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 1 and "write the whole path" in done.stderr, done
    assert not (folder / "data").exists()
