"""`bramley init` as an operator meets it: on a terminal, from a script, interrupted."""

import json
import os
import re
import shlex
from pathlib import Path

import pexpect
import pytest
from jsonschema import Draft202012Validator

from authority import self_signed
from patience import PATIENCE
from programs import preloaded, write_private

KEY_FILE = "AuthKey_F6G7H8I9J0.p8"
FLAGS = {
    "--public-url": "https://id.example.com", "--services-id": "com.example.web", "--team-id": "A1B2C3D4E5",
    "--private-key-file": KEY_FILE, "--scopes": "name,email", "--sign-up": "open",
}
WRITTEN = {
    "$schema": "config.schema.json",
    "publicURL": "https://id.example.com",
    "access": {"signUp": "open"},
    "apple": {
        "servicesID": "com.example.web", "teamID": "A1B2C3D4E5", "keyID": "F6G7H8I9J0", "privateKeyFile": KEY_FILE,
        "scopes": ["name", "email"],
    },
}
# What Enter alone answers to the questions of a terminal, where it answers them.
OFFERS = {
    "apple.privateKeyFile": KEY_FILE, "apple.keyID": "F6G7H8I9J0", "apple.scopes": "name, email",
    "site.name": "id.example.com", "server.certificateFile": "none: a proxy has it",
    "server.trustedProxies": "127.0.0.1", "sessions.cookieDomain": "none: id.example.com only",
    "login.allowedReturnOrigins": "none",
}
PORTAL = ["id.example.com", "https://id.example.com/apple/callback", "https://id.example.com/apple/notifications"]


def words_of(flags: dict[str, str]) -> list[str]:
    return [word for pair in flags.items() for word in pair]


@pytest.fixture
def folder(tmp_path, key) -> Path:
    write_private(tmp_path / KEY_FILE, key)
    return tmp_path


@pytest.fixture
def init(run_command, folder):
    """Runs it without a terminal; standard input is what a script would pipe, or nothing."""
    def run(flags: dict | list, text: str = ""):
        return run_command("init", *(flags if isinstance(flags, list) else words_of(flags)), cwd=folder, input=text)

    return run


@pytest.fixture
def terminal(request, bramley, folder):
    def spawn(*arguments: str, dimensions: tuple | None = (50, 200), **environment: str) -> pexpect.spawn:
        child = pexpect.spawn(
            str(bramley), ["init", *arguments], cwd=folder, env={"TERM": "dumb"} | environment, encoding="utf-8", timeout=PATIENCE,
            dimensions=dimensions)
        request.addfinalizer(lambda: child.close(force=True))
        return child

    return spawn


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name != KEY_FILE)


def finish(child: pexpect.spawn, code: int = 0) -> str:
    """What it writes until it ends, with this exit code."""
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == code, child.before
    return child.before


def written(folder: Path) -> dict:
    """What a file nobody else can read was given."""
    assert (folder / "config.json").stat().st_mode & 0o777 == 0o600
    return json.loads((folder / "config.json").read_text())


def test_writes_the_given_flags(init, folder, run_command):
    run = init(FLAGS)
    assert (run.returncode, run.stderr) == (0, "")
    assert files(folder) == ["config.json", "config.schema.json"]
    assert written(folder) == WRITTEN
    Draft202012Validator(json.loads((folder / "config.schema.json").read_text())).validate(WRITTEN)
    check = run_command("check", cwd=folder)
    assert check.returncode == 0
    # One voice: what check prints, init prints.
    assert "apple.bundleIDs" in check.stdout
    assert check.stdout in run.stdout
    for value in PORTAL:
        assert re.search(rf"\s{re.escape(value)}$", run.stdout, re.MULTILINE), value


def test_writes_any_key_that_has_a_flag(init, folder):
    run = init(FLAGS | {
        "--server-port": "8081", "--button-border": "false", "--button-width": "100%", "--button-height": "44",
        "--login-allowed-return-origins": "https://a.example,https://b.example", "--bundle-ids": "",
        "--site-name": 'A & "B" 李雷', "--key-id": "F6G7H8I9J0", "--trusted-proxies": "127.0.0.1"})
    assert run.returncode == 0, run.stderr
    assert written(folder) == WRITTEN | {
        "server": {"port": 8081, "trustedProxies": ["127.0.0.1"]},
        "apple": WRITTEN["apple"] | {"bundleIDs": []},
        "button": {"border": False, "width": "100%", "height": 44},
        "login": {"allowedReturnOrigins": ["https://a.example", "https://b.example"]},
        "site": {"name": 'A & "B" 李雷'},
    }


@pytest.mark.parametrize("text", ["", "https://id.example.com\nyes\n"])
def test_without_a_terminal_names_the_missing_flags(init, folder, text):
    run = init([], text)
    assert run.returncode == 1
    assert run.stdout == ""
    lines = run.stderr.splitlines()
    assert lines[0] == "Standard input is not a terminal: nothing is asked or read. Pass the answers as flags."
    named = [match[1] for line in lines if (match := re.match(r"error: \S+ \((--[a-z-]+)\): is required\. ", line))]
    assert named == [
        "--public-url", "--sign-up", "--services-id", "--team-id", "--key-id", "--private-key-file", "--scopes"]
    assert lines[-1] == "7 errors"
    assert files(folder) == []


@pytest.mark.parametrize("flag, value, name", [
    ("--public-url", "http://id.example.com", "publicURL"), ("--public-url", "", "publicURL"),
    ("--team-id", "a1b2c3d4e5", "apple.teamID"), ("--scopes", "openid", "apple.scopes"),
    ("--sign-up", "maybe", "access.signUp"), ("--private-key-file", "none.p8", "apple.privateKeyFile"),
    ("--key-id", "short", "apple.keyID"), ("--bundle-ids", "com.example.web", "apple.bundleIDs"),
    ("--server-port", "0", "server.port"), ("--server-port", "http", "server.port"), ("--server-prot", "1", "--server-prot"),
    ("--site-name", "a\x1b[31m", "site.name"), ("--apple-private-key", "text", "apple.privateKey"),
    ("--apple-endpoint", "https://evil.example", "apple.endpoint"),
])
def test_refuses_with_the_messages_of_check(init, folder, run_command, flag, value, name):
    run = init(FLAGS | {flag: value})
    assert run.returncode == 1
    assert files(folder) == []
    said = re.search(rf"^error: {re.escape(name)} \(.*?\): (.*)", run.stderr, re.MULTILINE)
    assert said, run.stderr
    assert "\x1b" not in run.stderr
    long = {"--team-id": "--apple-team-id", "--scopes": "--apple-scopes", "--sign-up": "--access-sign-up",
            "--private-key-file": "--apple-private-key-file", "--key-id": "--apple-key-id",
            "--bundle-ids": "--apple-bundle-ids"}
    write_private(folder / "good.json", json.dumps(WRITTEN).encode())
    check = run_command("check", "--config", "good.json", f"{long.get(flag, flag)}={value}", cwd=folder)
    # It warns of a simulated Apple, which only serve and init refuse.
    assert said[1] in check.stderr + check.stdout


@pytest.mark.parametrize("mode,refused", [(0o600, False), (0o400, False), (0o644, True), (0o660, True)])
def test_refuses_a_key_that_others_can_read(init, folder, mode, refused):
    (folder / KEY_FILE).chmod(mode)
    run = init(FLAGS)
    assert run.returncode == (1 if refused else 0)
    assert (f"Run: chmod 600 {KEY_FILE}" in run.stderr) == refused
    assert files(folder) == ([] if refused else ["config.json", "config.schema.json"])


def test_refuses_a_file_without_a_key(init, folder):
    write_private(folder / "AuthKey_0000000000.p8", b"-----BEGIN CERTIFICATE-----\n")
    run = init(FLAGS | {"--private-key-file": "AuthKey_0000000000.p8"})
    assert run.returncode == 1
    assert "is a certificate, not a private key." in run.stderr


@pytest.mark.parametrize("flag, value, said", [
    ("--key-id", "AAAAAAAAAA",
     f'warning: apple.keyID (config.json): is "AAAAAAAAAA", but the name of "{KEY_FILE}" says F6G7H8I9J0.'),
    ("--public-url", "http://localhost:8080", "Apple accepts neither http nor a host such as localhost."),
])
def test_accepts_doubtful_values_with_a_warning(init, flag, value, said):
    run = init(FLAGS | {flag: value})
    assert run.returncode == 0 and said in run.stdout


@pytest.mark.parametrize("name, content", [("config.json", "precious"), ("config.schema.json", "{}")])
def test_never_overwrites_without_force(init, folder, name, content):
    (folder / name).write_text(content)
    run = init(FLAGS)
    assert run.returncode == 1
    assert f'"{name}" already exists' in run.stderr
    assert (folder / name).read_text() == content
    assert files(folder) == [name]


@pytest.mark.parametrize("content, more, said", [
    ("precious", ["--force"], ""), ("{}", [], "2. Start the server: bramley serve\n")])
def test_overwrites_with_force_or_an_empty_configuration(init, folder, content, more, said):
    (folder / "config.json").write_text(content)
    (folder / "config.json").chmod(0o644)
    run = init([*words_of(FLAGS), *more])
    assert run.returncode == 0 and said in run.stdout
    assert written(folder) == WRITTEN


def test_a_second_configuration_shares_the_schema(init, folder):
    assert init(FLAGS).returncode == 0
    assert init(FLAGS | {"--output": "second.json"}).returncode == 0
    assert files(folder) == ["config.json", "config.schema.json", "second.json"]


def test_a_link_is_not_followed_to_somebody_elses_file(init, folder):
    (folder / "config.json").symlink_to(folder / "elsewhere")
    assert init(FLAGS).returncode == 1
    assert files(folder) == ["config.json"]


@pytest.mark.parametrize("path,said", [
    ("missing/config.json", "does not exist"), (".", "is a directory"), ("config.schema.json", "reserved for the schema")])
def test_a_path_that_cannot_be_written_is_reported(init, folder, path, said):
    run = init(FLAGS | {"--output": path})
    assert run.returncode == 1
    assert said in run.stderr
    assert files(folder) == []


def test_writes_into_another_folder(init, folder):
    (folder / "etc").mkdir()
    run = init(FLAGS | {"--config": "etc/bramley.json"})
    assert run.returncode == 0
    assert sorted(os.listdir(folder / "etc")) == ["bramley.json", "config.schema.json"]
    assert "2. Start the server: bramley serve --config etc/bramley.json" in run.stdout
    assert "bramley doctor --config etc/bramley.json" in run.stdout


def answer(child: pexpect.spawn, key: str, text: str, *said: str, offer: str | None = None) -> None:
    offer = OFFERS.get(key) if offer is None else offer
    child.expect_exact(f"{key} [{offer}]: " if offer else f"{key}: ")
    child.sendline(text)
    for words in said:
        child.expect_exact(words)


def answers(child: pexpect.spawn, texts: dict[str, str]) -> None:
    for key, text in texts.items():
        answer(child, key, text)


def confirm(child: pexpect.spawn) -> str:
    """To write what was shown, and what is printed then."""
    answer(child, "Write it?", "", offer="yes")
    return child.before + finish(child)


def test_repeats_a_question_until_the_answer_is_valid(terminal, folder):
    child = terminal()
    for key, text, *said in [
        ("publicURL", "", "error: publicURL: is required."),
        ("publicURL", "http://id.example.com",
         "error: publicURL: is \"http://id.example.com\", without TLS. Begin it with https://"),
        ("publicURL", "  https://id.example.com "),
        ("apple.servicesID", "com.example.web"),
        ("apple.teamID", "a1b2c3d4e5",
         "error: apple.teamID: is \"a1b2c3d4e5\", but a Team ID is ten capitals and digits."),
        ("apple.teamID", "A1B2C3D4E5"),
        ("apple.privateKeyFile", ""),
        ("apple.keyID", ""),
        # Needed, so that Enter alone is no answer, and it says what for.
        ("apple.bundleIDs", "", "Required.", "Without it, people who stop using"),
        ("apple.bundleIDs", "com.example.web", "error: apple.bundleIDs: names the Services ID"),
        ("apple.bundleIDs", "com.example.app, com.example.other"),
        ("apple.scopes", "name phone", "error: apple.scopes: names \"phone\"."),
        ("apple.scopes", ""),
        ("access.signUp", "", "error: access.signUp: is required."),
        ("access.signUp", "approval"),
        ("site.name", ""),
        ("server.certificateFile", ""),
        ("server.trustedProxies", ""),
        ("sessions.cookieDomain", "example.org", 'is "example.org", but publicURL\'s host is "id.example.com".'),
        ("sessions.cookieDomain", "example.com"),
        ("login.allowedReturnOrigins", "www.example.com",
         '"www.example.com" is without https://. Write "https://www.example.com".'),
        ("login.allowedReturnOrigins", "https://www.example.com https://shop.example.com"),
    ]:
        answer(child, key, text, *said)
    text = confirm(child)
    # What is written is shown before.
    assert re.search(r"apple.bundleIDs +com.example.app, com.example.other\r", text)
    assert "The configuration is valid." in text
    for value in PORTAL:
        assert value in text
    assert written(folder) == WRITTEN | {
        "access": {"signUp": "approval"}, "server": {"trustedProxies": ["127.0.0.1"]},
        "apple": WRITTEN["apple"] | {"bundleIDs": ["com.example.app", "com.example.other"]},
        "sessions": {"cookieDomain": "example.com"},
        "login": {"allowedReturnOrigins": ["https://www.example.com", "https://shop.example.com"]},
    }


def test_asks_only_for_missing_flags(terminal, folder):
    child = terminal(*words_of(FLAGS), "--bundle-ids", "", "--site-name", "Example")
    answers(child, {"apple.keyID": "", "server.certificateFile": "", "server.trustedProxies": "none",
                    "sessions.cookieDomain": "none", "login.allowedReturnOrigins": ""})
    text = confirm(child)
    # What stays to be put right is said, and that it holds is not the whole of it.
    assert "apple.bundleIDs" in text and "will be refused" in text
    assert "The configuration is valid, with 2 warnings above." in text
    assert written(folder)["server"] == {"trustedProxies": []}


@pytest.mark.parametrize("scopes", ["[]", "none", ""])
def test_takes_the_empty_list_that_it_suggests(terminal, folder, scopes):
    child = terminal(*words_of(FLAGS | {"--scopes": scopes}), "--site-name", "Example")
    answers(child, {"apple.keyID": "", "apple.bundleIDs": "[]", "server.certificateFile": "",
                    "server.trustedProxies": "[]", "sessions.cookieDomain": "none", "login.allowedReturnOrigins": "[]"})
    confirm(child)
    found = written(folder)
    assert (found["apple"]["scopes"], found["apple"]["bundleIDs"], found["server"]) == ([], [], {"trustedProxies": []})


def test_with_a_certificate_asks_for_its_key_and_not_for_a_proxy(terminal, folder):
    for name, host in (("own", "id.example.com"), ("other", "www.example.com")):
        self_signed(host, days=61).write(folder, name)
    child = terminal(*words_of(FLAGS), "--bundle-ids", "", "--site-name", "Example")
    answer(child, "apple.keyID", "")
    answer(child, "server.certificateFile", "nowhere.pem", '"nowhere.pem" does not exist.')
    answer(child, "server.certificateFile", "other.pem",
           "is for www.example.com, but publicURL's host is id.example.com.")
    answer(child, "server.certificateFile", "own.pem")
    answer(child, "server.privateKeyFile", "other.key", "is not the key of the certificate.")
    answer(child, "server.privateKeyFile", "own.key")
    answer(child, "server.trustedProxies", "", offer="none")
    answers(child, {"sessions.cookieDomain": "", "login.allowedReturnOrigins": ""})
    confirm(child)
    assert written(folder)["server"] == {"certificateFile": "own.pem", "privateKeyFile": "own.key"}


@pytest.mark.parametrize("columns,width", [(60, 60), (120, 120), (0, 80)])
def test_lines_fit_the_terminal_and_contain_no_markdown(terminal, columns, width):
    """Regression: explanations were one long line of Markdown. A terminal that does not say its width has 80 columns."""
    child = terminal(dimensions=(50, columns))
    answer(child, "publicURL", "")
    said = ""
    for key, text in [("publicURL", "https://id.example.com"), ("apple.servicesID", "com.example.web"),
                      ("apple.teamID", "A1B2C3D4E5"), ("apple.privateKeyFile", ""), ("apple.keyID", ""),
                      ("apple.bundleIDs", ""), ("apple.bundleIDs", "none"), ("apple.scopes", ""),
                      ("access.signUp", "open"), ("site.name", ""), ("server.certificateFile", ""), ("server.trustedProxies", "none"),
                      ("sessions.cookieDomain", ""), ("login.allowedReturnOrigins", "")]:
        answer(child, key, text)
        said += child.before if key not in OFFERS else ""
    said += confirm(child)
    lines = said.replace("\r", "").split("\n")
    assert "is required" in said and "native.md" not in said
    assert not [line for line in lines if "`" in line or "](" in line]
    long = [line for line in lines if len(line) > width and " " in line.strip()]
    assert not long, long
    assert max(len(line) for line in lines) > width - 20


def test_a_command_to_copy_is_one_line(terminal):
    said = finish(terminal("--rehearse", "--non-interactive", "--public-url", "http://localhost:8080", "--scopes", "name",
                           "--sign-up", "open", dimensions=(50, 60)))
    assert re.search(r"^ *apple-simulator --port 9700 .* --key AuthKey_\w+\.p8\r$", said, re.MULTILINE), said
    assert re.search(r"bramley doctor\r$", said, re.MULTILINE), said


def test_a_wrong_flag_is_reported_before_any_question(terminal, folder):
    said = finish(terminal("--team-id", "x"), 1)
    assert "apple.teamID (--team-id)" in said and "publicURL" not in said


def test_non_interactive_asks_nothing_on_a_terminal(terminal):
    assert "7 errors" in finish(terminal("--non-interactive"), 1)


def test_a_key_that_others_can_read_is_asked_for_again(terminal, folder):
    (folder / KEY_FILE).chmod(0o644)
    child = terminal(*words_of({flag: FLAGS[flag] for flag in FLAGS if flag != "--private-key-file"}))
    answer(child, "apple.privateKeyFile", "", f"Run: chmod 600 {KEY_FILE}")
    (folder / KEY_FILE).chmod(0o600)
    answer(child, "apple.privateKeyFile", "", "apple.keyID [F6G7H8I9J0]: ")


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_the_end_of_input_writes_nothing(terminal, folder, answers):
    child = terminal()
    for key, text in [("publicURL", "https://id.example.com"), ("apple.servicesID", "com.example.web")][:answers]:
        answer(child, key, text)
    child.expect_exact(["publicURL: ", "apple.servicesID: ", "apple.teamID: "][answers])
    child.sendeof()
    assert "Nothing was written." in finish(child, 1)
    assert files(folder) == []


def test_control_c_writes_nothing_and_shows_the_answers_as_a_command(terminal, folder):
    child = terminal("--sign-up", "open", "--server-port", "8081")
    answers(child, {"publicURL": "https://id.example.com", "apple.servicesID": "com.example.web",
                    "apple.teamID": "A1B2C3D4E5", "apple.privateKeyFile": "", "apple.keyID": "", "apple.bundleIDs": "none",
                    "apple.scopes": "none", "site.name": "Orchard & Co's"})
    child.expect_exact("server.certificateFile [none: a proxy has it]: ")
    child.sendintr()
    said = finish(child, 1)
    assert "Interrupted. Nothing was written." in said
    assert files(folder) == []
    command = re.search(r"^  bramley (init .*?)\r?$", said, re.MULTILINE)[1]
    # It goes on where it was interrupted.
    child = terminal(*shlex.split(command)[1:])
    answers(child, {"server.certificateFile": "", "server.trustedProxies": "", "sessions.cookieDomain": "",
                    "login.allowedReturnOrigins": ""})
    confirm(child)
    assert written(folder) == WRITTEN | {
        "site": {"name": "Orchard & Co's"}, "server": {"port": 8081, "trustedProxies": ["127.0.0.1"]},
        "apple": WRITTEN["apple"] | {"bundleIDs": [], "scopes": []}}


def test_control_c_is_noticed_on_one_processor(terminal, folder, tmp_path_factory):
    """Regression: the task that waits for an answer kept the only thread, so that nobody saw the signal."""
    library = preloaded("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <unistd.h>
        long sysconf(int name) {
            if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return 1;
            return ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
        }
        """, tmp_path_factory.mktemp("one") / "one.so")
    child = terminal(LD_PRELOAD=str(library))
    child.expect_exact("publicURL: ")
    child.sendintr()
    assert "Interrupted. Nothing was written." in finish(child, 1)


def test_goes_back_and_offers_the_answer_from_before(terminal, folder):
    child = terminal(*words_of(FLAGS), "--key-id", "F6G7H8I9J0", "--bundle-ids", "none")
    answer(child, "site.name", "<", "This is the first question.")
    answers(child, {"site.name": "Orchard", "server.certificateFile": "", "server.trustedProxies": "10.0.0.1",
                    "sessions.cookieDomain": ""})
    answer(child, "login.allowedReturnOrigins", "<")
    answer(child, "sessions.cookieDomain", "<")
    answer(child, "server.trustedProxies", "10.0.0.2", offer="10.0.0.1")
    answers(child, {"sessions.cookieDomain": "", "login.allowedReturnOrigins": ""})
    answer(child, "Write it?", "<", offer="yes")
    answer(child, "login.allowedReturnOrigins", "")
    confirm(child)
    assert written(folder)["server"] == {"trustedProxies": ["10.0.0.2"]}
    assert written(folder)["site"] == {"name": "Orchard"}


def test_a_refused_answer_is_forgotten(terminal):
    child = terminal("--output", "my config.json", *words_of(FLAGS), "--key-id", "F6G7H8I9J0", "--bundle-ids", "none")
    answer(child, "site.name", "Orchard")
    answer(child, "server.certificateFile", "nowhere.pem", "does not exist.")
    answer(child, "server.certificateFile", "<")
    child.expect_exact("site.name [Orchard]: ")
    child.sendintr()
    said = finish(child, 1)
    assert "  bramley init --output 'my config.json' --public-url " in said and "nowhere.pem" not in said


def test_completes_an_unfinished_file(init, folder):
    begun = {"publicURL": "https://id.example.com", "server": {"port": 8081}, "apple": {"scopes": ["email"]}}
    (folder / "config.json").write_text(json.dumps(begun))
    run = init({flag: FLAGS[flag] for flag in FLAGS if flag not in ("--public-url", "--scopes")})
    assert run.returncode == 0, run.stderr
    assert written(folder) == WRITTEN | {"server": {"port": 8081}, "apple": WRITTEN["apple"] | {"scopes": ["email"]}}


def test_suggests_no_key_file_where_there_are_two(terminal, folder, key):
    write_private(folder / "AuthKey_0000000000.p8", key)
    child = terminal("--public-url", "https://id.example.com", "--services-id", "com.example.web", "--team-id", "A1B2C3D4E5")
    answer(child, "apple.privateKeyFile", "AuthKey_0000000000.p8", "apple.keyID [0000000000]: ", offer="")
