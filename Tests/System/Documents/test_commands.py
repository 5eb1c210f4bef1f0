"""Every command of the documents is run here, or the table says where or why not."""

import re

import pytest

from documents import ROOT, commands, stray_commands
from treatments import TREATMENTS, Elsewhere, Reason, Run

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
