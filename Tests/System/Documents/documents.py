"""The documents as somebody reads them who does what they say: command lines and fences, each with its place."""

import re
from dataclasses import dataclass
from pathlib import Path

from programs import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = {"sh", "bash", "console", "shell"}
# A word at the beginning of a line that makes it a command, whatever the fence says it is.
PROGRAMS = re.compile(
    r"(?:sudo |\(|\S*/)?(?:umask|bramley|make|apple-simulator|http-echo|curl|swift|docker|systemctl|journalctl|openssl"
    r"|psql|jq|python3?|pip|setcap|sysctl|systemd-analyze|ls|df|flask|litestream|git|chmod|chown|cp|mv|kill|cd"
    r"|scripts/\S+)(?= |$)(?! +[↔—])")
FENCE = re.compile(r"^( *)(```+)([\w-]*)[^\n]*\n(.*?)^ *\2 *$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Fence:
    page: str
    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """One command as it is typed: comments gone, lines that end with `\\` or a pipe joined."""

    page: str
    line: int
    text: str
    # In a fence, and not in the middle of a sentence.
    stands_alone: bool

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def page_name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def fences() -> list[Fence]:
    return [Fence(page_name(file), text.count("\n", 0, match.start()) + 1, match[3], match[4])
            for file in PAGES for text in [file.read_text()] for match in FENCE.finditer(text)]


def without_comment(line: str) -> str:
    """A `#` that begins a word outside quotation marks begins a comment."""
    quote = ""
    for index, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (index == 0 or line[index - 1].isspace()):
            return line[:index]
    return line


def commands_of(fence: Fence) -> list[Command]:
    if fence.text.startswith("#!"):
        # A file to be installed, and one thing: known by the path in its second line.
        return [Command(fence.page, fence.line, fence.text.splitlines()[1], True)]
    found, begun, at = [], "", 0
    for number, raw in enumerate(fence.text.splitlines(), fence.line + 1):
        line = re.sub(r" +", " ", without_comment(raw)).strip()
        at = at if begun else number
        begun = f"{begun} {line}".strip()
        if begun.endswith("\\"):
            begun = begun[:-1].rstrip()
        elif begun and not begun.endswith("|"):
            found.append(Command(fence.page, at, begun, True))
            begun = ""
    assert not begun, f"{fence.page}:{at} ends in the middle of a command"
    return found


def spans(page: Path) -> list[tuple[int, str]]:
    """The code spans of a page, with their lines; not those of fences."""
    text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), page.read_text())
    return [(text.count("\n", 0, match.start()) + 1, match[1])
            for match in re.finditer(r"(?<!`)`([^`\n]+)`(?!`)", text)]


def commands() -> list[Command]:
    return [command for fence in fences() if fence.language in SHELL for command in commands_of(fence)] + [
        Command(page_name(page), line, span, False)
        for page in PAGES for line, span in spans(page) if PROGRAMS.match(span)]


def stray_commands() -> list[str]:
    """Lines of other fences that somebody would type anyway."""
    return [f"{fence.page}:{number}: {line}" for fence in fences() if fence.language not in SHELL
            for number, line in enumerate(fence.text.splitlines(), fence.line + 1)
            if fence.language in ("", "text") and PROGRAMS.match(line)]
