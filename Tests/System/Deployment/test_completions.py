"""The completions of make install, each loaded by the shell it is for."""

import re
import shutil

import pytest

from processes import finished


@pytest.fixture(scope="module")
def scripts(binaries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("completions")
    for shell in ("bash", "zsh", "fish"):
        # zsh goes by the name.
        file = folder / ("_bramley" if shell == "zsh" else f"bramley.{shell}")
        file.write_text(run(binaries / "bramley", "--generate-completion-script", shell))
    return folder


@pytest.fixture(scope="module")
def commands(binaries) -> list[str]:
    text = run(binaries / "bramley", "--help").split("SUBCOMMANDS:")[1]
    names = re.findall(r"^  ([a-z][a-z-]*)(?: \(default\))?  +\S", text, re.MULTILINE)
    assert {"serve", "users", "backup", "audit"} <= set(names)
    return names


def run(*command) -> str:
    assert shutil.which(command[0]), f"{command[0]} is missing: scripts/packages.sh test installs it"
    done = finished(*command)
    assert done.returncode == 0 and done.stderr == "", (command, done.stderr)
    return done.stdout


def offered(shell: str, scripts, words: list[str]) -> set[str]:
    if shell == "bash":
        line = " ".join(words)
        return set(run("bash", "--norc", "-c", f"""
            source {scripts}/bramley.bash
            function=$(complete -p bramley | sed -n 's/.*-F \\([^ ]*\\) .*/\\1/p')
            COMP_WORDS=({line} ''); COMP_CWORD={len(words)}; COMP_LINE='{line} '; COMP_POINT=${{#COMP_LINE}}
            COMP_TYPE=9; COMP_KEY=9
            "$function" bramley '' '{words[-1]}' && printf '%s\\n' "${{COMPREPLY[@]}}"
            """).split())
    text = run("fish", "--no-config", "-c", f"source {scripts}/bramley.fish; complete -C '{' '.join(words)} '")
    return {line.split("\t")[0] for line in text.splitlines()}


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_every_command_is_completed(scripts, commands, shell, binaries, monkeypatch):
    # Some ask the program itself.
    monkeypatch.setenv("PATH", f"{binaries}:/usr/bin:/bin")
    assert set(commands) <= offered(shell, scripts, ["bramley"])
    assert {"list", "show", "delete"} <= offered(shell, scripts, ["bramley", "users"])


def test_zsh_finds_the_function_by_its_name(scripts, commands):
    """There is nobody to press the key; what it would call is there, and knows the commands."""
    text = run("zsh", "-f", "-c", f"""
        fpath=({scripts} $fpath)
        autoload -Uz compinit && compinit -u -d {scripts}/dump
        print -r -- "$_comps[bramley]"
        autoload -Uz +X _bramley && functions _bramley
        """)
    assert text.splitlines()[0] == "_bramley"
    assert [command for command in commands if not re.search(rf"['\"( ]{command}[:'\") ]", text)] == []
