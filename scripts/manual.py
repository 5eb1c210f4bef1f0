#!/usr/bin/env python3
"""Writes the manual pages of a program: one for the program, and one for each of its commands.

    scripts/manual.py PROGRAM FOLDER

The options are from its own help; examples, files and exit codes from the documents. The dates are SOURCE_DATE_EPOCH's, so
that the same program gives the same bytes.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

DOCUMENTS = Path(__file__).resolve().parents[1] / "docs"
FENCE = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
# As it is typed, by whoever may and with what is built: `sudo -u bramley bramley check`, `.build/release/bramley init`.
TYPED = re.compile(r"(?:\S.*\| )?(?:sudo (?:-u bramley )?|\S*/)?(?:bramley|apple-simulator) [a-z-].*")


def read(name: str) -> str:
    return (DOCUMENTS / name).read_text()


def examples() -> list[str]:
    """Commands of the pages: those of a fence, then those of sentences that say more than a name."""
    fenced, spans = [], []
    for page in [DOCUMENTS / "operate/commands.md", *sorted(DOCUMENTS.glob("[!cd]*/*.md"))]:
        text = page.read_text()
        for _, inside in FENCE.findall(text):
            # Joined lines, and no comments.
            lines = re.sub(r"\\\n *", "", inside).splitlines()
            fenced += [re.sub(r" +# .*", "", line).strip() for line in lines]
        spans += re.findall("`((?:bramley|apple-simulator) [^`\\n…]+)`", FENCE.sub("", text))
    spans = [one for one in spans if not any(other.startswith(one + " ") for other in spans + fenced)]
    return list(dict.fromkeys(re.sub(r"sudo (-u bramley )?|\S*/(?=bramley )", "", line)
                              for line in fenced + spans if TYPED.fullmatch(line) and "…" not in line))


def files() -> list[tuple[str, str]]:
    """The list's items: `- names, mode: what`."""
    listed = read("operate/operating.md").partition("## Files")[2].partition("\n\n## ")[0]
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", listed).replace("`", "")
    return re.findall(r"^- (.+?), \d+: (.+)$", plain, re.MULTILINE)


def exit_codes() -> list[tuple[str, str]]:
    return re.findall(r"(\d+) ([^;.]+)[;.]", re.search(r"\*\*Exit codes\*\*: (.*)", read("operate/commands.md"))[1])


def escaped(text: str) -> str:
    """Text for roff: signs that mean something to it are only signs."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in text)


def paragraph(text: str) -> str:
    text = re.sub(r"(?<![\w/])docs/", "/usr/share/doc/bramley/docs/", text)
    lines = [escaped(line.strip()) for line in text.splitlines()]
    # A line that begins with a control character would be a request.
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line or ".PP" for line in lines)


def flag(name: dict) -> str:
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def own(command: dict) -> list[dict]:
    """Arguments but those that every command has."""
    return [one for one in command.get("arguments", [])
            if one["shouldDisplay"] and one["valueName"] not in ("help", "version")]


def commands(command: dict) -> list[dict]:
    return [one for one in command.get("subcommands", []) if one["shouldDisplay"] and one["commandName"] != "help"]


def usage(command: dict, path: str) -> str:
    parts = [f"\\fB{escaped(path)}\\fR"]
    for one in own(command):
        value = f"\\fI{escaped(one['valueName'])}\\fR"
        if one["kind"] != "positional":
            value = f"\\fB{escaped(flag(one['preferredName']))}\\fR" + ("" if one["kind"] == "flag" else f" {value}")
        value += " ..." if one["isRepeating"] else ""
        parts.append(f"[{value}]" if one["isOptional"] else value)
    if commands(command):
        parts.append("\\fIcommand\\fR")
    return " ".join(parts)


def arguments(command: dict) -> list[str]:
    lines = []
    for one in own(command):
        value = f"\\fI{escaped(one['valueName'])}\\fR"
        if one["kind"] == "positional":
            title = value
        else:
            title = ", ".join(f"\\fB{escaped(flag(name))}\\fR" for name in one["names"])
            title += "" if one["kind"] == "flag" else f" {value}"
        text = one.get("abstract", "")
        if one.get("allValues"):
            text += f" One of {', '.join(one['allValues'])}."
        if default := one.get("defaultValue"):
            text += f" The default is {default}."
        lines += [".TP", title, paragraph(text.strip())]
    return lines


def section(command: dict, path: str) -> list[str]:
    lines = [paragraph(command.get("abstract", ""))]
    if command.get("discussion"):
        lines += [".PP", paragraph(command["discussion"])]
    return lines + arguments(command)


def titled(pairs: list[tuple[str, str]]) -> list[str]:
    return [line for title, text in pairs for line in (".TP", f"\\fB{escaped(title)}\\fR", paragraph(text))]


def page(command: dict, path: str, date: str, source: str, also: str) -> str:
    name = path.replace(" ", "-")
    lines = [
        f'.TH "{escaped(name.upper())}" 1 "{date}" "{escaped(source)}" "User Commands"', ".nh", ".SH NAME",
        f"{escaped(name)} \\- {escaped(command['abstract'].rstrip('.'))}", ".SH SYNOPSIS", usage(command, path),
        ".SH DESCRIPTION", *section(command, path)]
    if commands(command):
        lines.append(".SH COMMANDS")
        for one in commands(command):
            inner = f"{path} {one['commandName']}"
            if also:
                lines += [".TP", f"\\fB{escaped(one['commandName'])}\\fR", paragraph(one["abstract"])]
            else:
                lines += [f".SS {escaped(inner)}", usage(one, inner), ".PP", *section(one, inner)]
    if command.get("commandName") != "apple-simulator":
        lines += [".SH FILES", *titled(files())]
    lines += [".SH EXIT STATUS", *titled(exit_codes())]
    typed = [[line for line in examples() if re.search(rf"(^|\| ){one}( |$)", line)]
             for one in ([f"{path} {one['commandName']}" for one in commands(command)] if also else [path])]
    # A page of many commands shows one of each.
    lines += [".SH EXAMPLES", ".EX", *(escaped(line) for some in typed for line in some[:1 if also else 12]), ".EE"]
    lines += [".SH SEE ALSO", also or "\\fBbramley\\fR(1)"]
    return "\n".join(line for line in lines if line) + "\n"


def main() -> None:
    program, folder = sys.argv[1:]
    said = subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout
    root = json.loads(said)["command"]
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split(" (")[0]
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    name, inner = root["commandName"], commands(root)
    also = ", ".join(f"\\fB{escaped(name)}\\-{escaped(one['commandName'])}\\fR(1)" for one in inner)
    pages = {name: page(root, name, date, version, also)}
    for one in inner:
        pages[f"{name}-{one['commandName']}"] = page(one, f"{name} {one['commandName']}", date, version, "")
    for title, text in pages.items():
        Path(folder, f"{title}.1").write_text(text)


main()
