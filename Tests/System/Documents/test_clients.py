"""docs/clients: the settings of other programs have the form their readers want, and agree with what Bramley is told."""

import ast
import configparser
import json
import re
import shlex
import subprocess
import tomllib

import pytest
import yaml

from documents import ROOT, Fence, commands, fences

FOLDER = "docs/clients/"
PAGES = sorted(path.name for path in (ROOT / FOLDER).glob("*.md") if path.name != "README.md")
ISSUER = "https://id.example.com"


def fence(page: str) -> Fence | None:
    """The program's settings."""
    found = [one for one in fences() if one.page == FOLDER + page and one.language not in ("sh", "")]
    return found[0] if found else None


def options(page: str) -> dict[str, list[str]]:
    """What the page's `clients add` says."""
    line, = [command.text for command in commands()
             if command.page == FOLDER + page and command.text.startswith("bramley clients add")]
    words = shlex.split(line)
    found: dict[str, list[str]] = {"id": [words[3]]}
    for name, value in zip(words, words[1:]):
        if name.startswith("--"):
            found.setdefault(name[2:], []).append(value)
    return found


def test_every_page_is_in_the_table():
    table = (ROOT / FOLDER / "README.md").read_text()
    assert sorted(re.findall(r"\]\((\w[\w-]*\.md)\)", table)) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_settings_and_registration_agree(page):
    text, registered = (ROOT / FOLDER / page).read_text(), options(page)
    outside = re.sub(r"^bramley clients add.*$", "", text, flags=re.MULTILINE)
    assert re.search(rf"\b{re.escape(registered['id'][0])}\b", outside), "the client ID"
    named = [uri for uri in registered["redirect-uri"] if uri in outside]
    # Those that the program makes of its own address.
    assert named or page in ("gitea.md", "nextcloud.md", "proxmox.md", "python.md", "django.md", "nextjs.md", "grafana.md", "synapse.md"), "the redirect URI"
    for address in re.findall(r"https://id\.example\.com[^\s\"'`)\]<]*", text):
        path = address.removeprefix(ISSUER).split("?")[0]
        assert path in ("", "/.well-known/openid-configuration", "/oidc/authorize", "/oidc/token", "/oidc/userinfo",
                        "/oidc/logout", "/.well-known/jwks.json"), address


def ini(text: str) -> None:
    reader = configparser.ConfigParser(interpolation=None)
    reader.read_string(text)
    assert reader.sections()


def checked_by(*command: str, name: str = "piece.mjs"):
    def check(text: str, tmp_path) -> None:
        file = tmp_path / name
        file.write_text(text)
        subprocess.run([*command, str(file)], check=True, capture_output=True)

    return check


READERS = {
    "ini": ini, "json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads, "python": ast.parse,
    "js": checked_by("node", "--check"), "ruby": checked_by("ruby", "-c"),
    # Run by Tests/System/OpenID/test_real_clients.py.
    "apache": str, "kotlin": None, "dart": None, "go": None,
}


@pytest.mark.parametrize("page", [page for page in PAGES if fence(page)])
def test_settings_have_the_form_of_their_language(page, tmp_path):
    piece = fence(page)
    reader = READERS[piece.language]
    if reader is None:
        # Nothing here reads them; at least nothing is left open.
        for left, right in ("()", "{}", "[]"):
            assert piece.text.count(left) == piece.text.count(right), piece
    elif piece.language in ("js", "ruby"):
        reader(piece.text, tmp_path)
    else:
        reader(piece.text)


@pytest.mark.parametrize("file", sorted((ROOT / FOLDER).rglob("*.swift")), ids=lambda file: file.name)
def test_files_to_copy_have_the_form_of_swift(file):
    subprocess.run(["swiftc", "-frontend", "-parse", str(file)], check=True, capture_output=True)
