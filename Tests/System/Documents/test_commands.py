"""Every command, option and target that the documents name is run or known; what exists is named."""

import json
import os
import re
import signal
import subprocess
from types import SimpleNamespace

import pytest

from documents import PAGES, ROOT, commands, fences, spans, stray_commands
from patience import PATIENCE, eventually
from processes import output
from programs import RunningSimulator, free_base, listens
from treatments import TREATMENTS, Elsewhere, Reason, Run
from web import Browser, call

# One and the same text is run once, for the first page that has it.
FOUND = {command.text: command for command in reversed(commands())}
RUNS = sorted((command for text, command in FOUND.items() if isinstance(TREATMENTS.get(text), Run)),
              key=lambda command: (command.page, command.line))


def is_mention(command) -> bool:
    """A sentence that names a program, or a command of `bramley` without what it is about."""
    words = command.text.split()
    return not command.stands_alone and (
        len(words) == 1 or words[0] == "bramley" and all(re.fullmatch("[a-z][a-z-]*", word) for word in words))


def test_every_command_is_known():
    unknown = [str(command) for command in FOUND.values() if command.text not in TREATMENTS and not is_mention(command)]
    assert unknown == [], "give each a line in treatments.py"


def test_every_line_of_the_table_is_used():
    assert [text for text in TREATMENTS if text not in FOUND] == []


def test_commands_are_only_in_command_fences():
    assert stray_commands() == [], "make the fence one of `sh`"


def test_commands_marked_as_elsewhere_exist_there():
    for text, treatment in TREATMENTS.items():
        if isinstance(treatment, Elsewhere):
            file, name = treatment.test.split("::")
            assert re.search(rf"(?:def|func|struct) {name}", (ROOT / file).read_text()), f"{text}: {treatment.test}"
        if isinstance(treatment, Reason):
            assert len(treatment.why) > 20, text


def test_every_target_of_make_exists():
    makefile = (ROOT / "Makefile").read_text()
    for command in FOUND.values():
        if match := re.match(r"(?:sudo )?make ([a-z-]+)", command.text):
            assert re.search(rf"^{match[1]}:", makefile, re.MULTILINE), str(command)


@pytest.mark.parametrize("command", RUNS, ids=[f"{command.page}:{command.line}" for command in RUNS])
def test_every_documented_command_does_what_its_page_says(make_stage, command):
    treatment = TREATMENTS[command.text]
    code, printed = make_stage(treatment.apart).run(command.text, treatment)
    assert code == treatment.code or treatment.code is None and code in (0, -2), f"{command}\n{printed}"
    assert re.search(treatment.says, printed, re.MULTILINE), f"{command}\n{printed}"
    assert not re.search(r"Fatal error|stack trace|Usage: ", printed), printed


# An example of a key as a flag.
KEYS = {"--server-port", "--apple-services-id"}
# Those of other programs: oauth2-proxy's, Docker's and the linker's.
FOREIGN = {
    "--reverse-proxy", "--whitelist-domain", "--allowed-group", "--email-domain", "--auth-request-response-mode",
    "--cookie-csrf-samesite", "--build-arg", "--icf", "--pack-dyn-relocs", "--renew-hook"}
PROGRAMS = ("bramley", "apple-simulator", "http-echo")
EVERYWHERE = {"--help", "--version", "-h"}


class Options:
    """Of one program: the leaves of its commands, and the options of each."""

    def __init__(self, program):
        self.leaves: dict[tuple[str, ...], set[str]] = {}
        # Those that take any key of the configuration as a flag.
        self.open: set[tuple[str, ...]] = set()
        self.all: set[str] = set(EVERYWHERE)
        self.walk(json.loads(output(program, "--experimental-dump-help"))["command"], (), set())

    def walk(self, command: dict, path: tuple[str, ...], inherited: set[str]) -> None:
        path += (command["commandName"],)
        names = set(inherited)
        for argument in command.get("arguments", []):
            names |= {("-" if name["kind"] == "short" else "--") + name["name"] for name in argument.get("names") or []}
            if argument.get("valueName") == "--key value":
                self.open.add(path)
        self.all |= names
        below = [one for one in command.get("subcommands", []) if one["commandName"] != "help"]
        if not below:
            self.leaves[path] = names | EVERYWHERE
        for one in below:
            self.walk(one, path, names)

    def leaf(self, words: list[str]) -> tuple[str, ...] | None:
        starts = (tuple(words[:length]) for length in range(len(words), 0, -1))
        return next((start for start in starts if start in self.leaves), None)


@pytest.fixture(scope="module")
def options(binaries) -> dict[str, Options]:
    return {name: Options(binaries / name) for name in PROGRAMS}


def calls() -> list[tuple[str, list[str]]]:
    """Each call of a program of ours: where, and its words up to a pipe or a redirection."""
    found = []
    for command in commands():
        for part in re.split(r" (?:\||&&) ", command.text):
            words = re.sub(r"'[^']*'|\"[^\"]*\"", "X", part).split()
            while words and (words[0] in ("sudo", "-u") or "=" in words[0] or words[:2] == ["bramley", "bramley"]):
                words.pop(0)
            if words and words[0].rsplit("/", 1)[-1] in PROGRAMS:
                found.append((str(command), [words[0].rsplit("/", 1)[-1], *words[1:]]))
    return found


def test_every_documented_call_is_valid(options):
    assert len(calls()) > 150
    wrong = []
    for place, words in calls():
        program = options[words[0]]
        leaf = program.leaf(words)
        named = [word.partition("=")[0] for word in words if re.match("--?[a-z]", word)]
        if leaf is None:
            # The program's own options, a command with others below it, or the name of a user.
            groups = {path[:length] for path in program.leaves for length in range(1, len(path))}
            plain = tuple(word for word in words if not word.startswith("-"))
            if plain not in groups or not set(named) <= EVERYWHERE:
                wrong.append(place)
        elif leaf not in program.open and not set(named) <= program.leaves[leaf]:
            wrong.append(f"{place}: {set(named) - program.leaves[leaf]}")
    assert wrong == []


def test_every_option_in_a_sentence_exists(options):
    known = set.union(KEYS, FOREIGN, *(program.all for program in options.values()))
    # Recipes name options of the programs they are about.
    named = [(page, line, span.split()[0].partition("=")[0])
             for page in PAGES if page.parent.name != "clients" for line, span in spans(page)]
    assert [f"{page.name}:{line}: {option}" for page, line, option in named
            if re.fullmatch(r"--[a-z][\w-]*", option) and option not in known] == []


def test_every_command_is_documented(options):
    called = {options[words[0]].leaf(words) for _, words in calls()}
    for program in options.values():
        assert set(program.leaves) - called == set()


def test_every_option_is_documented(options):
    text = "\n".join(page.read_text() for page in PAGES)
    missing = [
        " ".join([*path, option])
        for program in options.values() for path, names in program.leaves.items()
        for option in sorted(names - EVERYWHERE)
        if option.startswith("--") and not re.search(rf"{re.escape(option)}(?![\w-])", text)]
    # docs/contribute/testing.md says that http-echo lists its limits itself; those of `init` that are keys have a second name.
    # `--cursor` is what `--after` was called before.
    keys = re.compile("bramley init --(apple|access|login|server|sessions)-|.* --cursor$")
    assert [one for one in missing if not one.startswith("http-echo --") and not keys.match(one)] == []
    assert "`http-echo --help` lists its options" in text


def test_the_flags_of_init_are_those_of_its_list(options):
    page = next(page for page in PAGES if page.name == "getting-started.md").read_text()
    table = re.findall(r"^- `([A-Za-z.]+)`, `(--[a-z-]+)`", page, re.MULTILINE)
    assert len(table) > 10
    assert {flag for _, flag in table} <= options["bramley"].leaves["bramley", "init"]


def test_a_mistake_would_be_found(options):
    bramley = options["bramley"]
    assert "--replace" not in bramley.leaves["bramley", "backup"]
    assert bramley.leaf(["bramley", "sessions", "end"]) is None
    assert bramley.leaf(["bramley", "users", "show", "usr_1"]) == ("bramley", "users", "show")


def test_fences_have_a_language():
    languages = {fence.language for fence in fences() if not fence.page.startswith("docs/clients/")}
    assert languages <= {"", "sh", "json", "nginx", "caddy", "ini", "yaml", "http", "js", "swift", "python", "mermaid",
                         "sql"}


def test_make_run_serves_and_stops(binaries, tmp_path):
    log = tmp_path / "run.log"
    first = free_base()
    with log.open("wb") as output:
        run = subprocess.Popen(
            ["make", "-C", str(ROOT), "--no-print-directory", "run"], stdout=output, stderr=output,
            stdin=subprocess.DEVNULL, start_new_session=True,
            env=os.environ | {"DEMO_BIN": str(binaries), "DEMO_DATA": str(tmp_path / "demo"), "DEMO_PORT": str(first)})
    try:
        eventually(lambda: run.poll() is not None or "Stop with Ctrl-C." in log.read_text(), "the start", log.read_text)
        text = log.read_text()
        # What the README promises: a printed address, and a page that leads to Apple's stand-in.
        origin = re.search(r"in a browser:\s+(http://localhost:\d+)/", text)[1]
        apple = re.search(r"control page: (http://127\.0\.0\.1:\d+)/", text)[1]
        assert apple in call(origin, "GET", "/login").text
        operators = re.search(r"Ada is an operator: (\S+)", text)[1]
        ada = Browser(SimpleNamespace(origin=origin, apple=RunningSimulator(apple)))
        ada.sign_in("ada")
        assert ada.get(operators.removeprefix(origin)).status == 200
    finally:
        os.killpg(run.pid, signal.SIGINT)
        run.wait(timeout=PATIENCE)
    eventually(lambda: "Stopping." in log.read_text(), "its last word", log.read_text)
    for address in (origin, apple):
        assert not listens(int(address.rpartition(":")[2]))


def test_make_without_a_target_lists_every_target():
    printed = output("make", "-C", ROOT, "--no-print-directory")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets - set(re.findall(r"^  ([a-z-]+) ", printed, re.MULTILINE)) == set()


def test_every_command_has_its_manual(binaries, tmp_path):
    output(ROOT / "scripts/manual.py", binaries / "bramley", tmp_path)
    shown = json.loads(output(binaries / "bramley", "--experimental-dump-help"))["command"]
    commands = [one for one in shown["subcommands"] if one["commandName"] != "help"]
    pages = {file.stem: file.read_text().replace("\\", "") for file in tmp_path.iterdir()}
    assert set(pages) == {"bramley"} | {f"bramley-{one['commandName']}" for one in commands}
    for command in commands:
        name = command["commandName"]
        page = pages[f"bramley-{name}"]
        for part in ("FILES\n.TP\nfBconfig.json", "EXIT STATUS\n.TP\nfB0", f"EXAMPLES\n.EX\nbramley {name}"):
            assert f".SH {part}" in page, name
        for one in [command, *command.get("subcommands", [])]:
            if one["commandName"] == "help":
                continue
            assert one["abstract"] in page
            for argument in one["arguments"]:
                for option in argument.get("names", []) if argument["valueName"] not in ("help", "version") else []:
                    assert f"--{option['name']}" in page or f"-{option['name']}" in page, (name, option)
