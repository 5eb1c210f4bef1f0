"""Commands and options: what the documents name exists, and what exists is named. The programs say what there is."""

import json
import re

import pytest

from documents import PAGES, commands, fences, spans
from processes import output

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
