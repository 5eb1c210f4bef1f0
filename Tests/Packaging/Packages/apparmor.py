"""Rules of an AppArmor profile about files, as apparmor_parser(8) reads the profile, and what a program was seen to touch."""

import re
from pathlib import Path

from processes import output

# What a call does to the path it names: looking is no matter for AppArmor.
WRITES = {"mkdir", "mkdirat", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "chmod", "fchmodat",
          "chown", "truncate", "utimensat"}


def pattern(text: str, variables: dict[str, list[str]]) -> re.Pattern:
    while name := re.search(r"@\{(\w+)\}", text):
        text = text.replace(name[0], "{" + ",".join(variables[name[1]]) + "}")
    parts = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    found = re.findall(r"\*\*|\[[^]]*\]|.", text)
    return re.compile("".join(part if part.startswith("[") else parts.get(part, re.escape(part)) for part in found))


class Profile:
    def __init__(self, root: Path):
        folder = root / "etc/apparmor.d"
        whole = output("apparmor_parser", "--preprocess", "--base", folder, folder / "bramley")
        inside = whole.partition("profile bramley")[2]
        rules = re.findall(r'^\s*(?:owner\s+)?"?([/@][^\s"]*)"?\s+([a-zA-Z]+),', inside, re.MULTILINE)
        assert len(rules) > 50
        variables: dict[str, list[str]] = {}
        for name, values in re.findall(r"^\s*@\{(\w+)\}\s*\+?=\s*(.*)$", whole, re.MULTILINE):
            variables.setdefault(name, []).extend(value.strip('"').rstrip("/") for value in values.split())
        self.rules = [(pattern(path, variables), letters) for path, letters in rules]

    def allows(self, path: str, letter: str) -> bool:
        return any(letter in letters or letter == "w" and "a" in letters
                   for rule, letters in self.rules if rule.fullmatch(path))

    @staticmethod
    def touched(trace: str, begin: str) -> set[tuple[str, str]]:
        """Paths with "r" or "w", from the start of that program; what does not exist was not touched."""
        found = set()
        _, _, trace = trace.partition(f'execve("{begin}"')
        for call, arguments, result in re.findall(r"^\d+ +(\w+)\((.*)\) += (-?\d+)", trace, re.MULTILINE):
            # The kernel follows this link first.
            paths = [path.replace("/proc/self/", "/proc/1/") for path in re.findall(r'"([^"]*)"', arguments) if path.startswith("/")]
            if int(result) < 0 or not paths:
                continue
            if call in ("open", "openat"):
                writes = "O_WRONLY" in arguments or "O_RDWR" in arguments
                found |= {(paths[0], "w" if writes else "r")} | ({(paths[0], "r")} if "O_RDWR" in arguments else set())
            elif call in WRITES:
                found |= {(path, "w") for path in paths}
            elif call == "execve":
                found.add((paths[0], "x"))
        return found
