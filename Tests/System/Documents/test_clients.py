"""docs/clients: the settings of other programs have the form their readers want, and agree with what Bramley is told."""

import ast
import configparser
import json
import re
import shlex
import tomllib

import pytest
import yaml

from documents import ROOT, Fence, commands, fences
from processes import output

FOLDER = "docs/clients/"
PAGES = sorted(path.name for path in (ROOT / FOLDER).glob("*.md") if path.name != "README.md")
ISSUER = "https://id.example.com"


def fence(page: str) -> Fence | None:
    return next((one for one in fences() if one.page == FOLDER + page and one.language not in ("sh", "")), None)


def copied(page: str) -> str:
    """The page, and the file beside it that its reader copies."""
    return "\n".join(path.read_text() for path in (ROOT / FOLDER).glob(page.removesuffix("md") + "*"))


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
    assert sorted(re.findall(r"\]\((\w[\w-]*\.md)\)", (ROOT / FOLDER / "README.md").read_text())) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_settings_and_registration_agree(page):
    text, registered = copied(page), options(page)
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


READERS = {
    "ini": ini, "json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads, "python": ast.parse,
    # Run by Tests/System/OpenID/test_real_clients.py.
    "apache": str}
CHECKERS = {"js": ("node", "--check"), "mjs": ("node", "--check"), "ruby": ("ruby", "-c")}


PIECES = {page: (piece.language, piece.text) for page in PAGES if (piece := fence(page))} | {
    path.name: (path.suffix[1:], path.read_text())
    for path in sorted((ROOT / FOLDER).iterdir()) if path.suffix in (".js", ".mjs", ".kt", ".dart")}


@pytest.mark.parametrize("name", PIECES)
def test_settings_have_the_form_of_their_language(name, tmp_path):
    language, text = PIECES[name]
    if language in CHECKERS:
        (tmp_path / "piece.mjs").write_text(text)
        output(*CHECKERS[language], tmp_path / "piece.mjs")
    elif language in ("kt", "dart", "go"):
        # Nothing here reads them; at least nothing is left open.
        for left, right in ("()", "{}", "[]"):
            assert text.count(left) == text.count(right), name
    else:
        READERS[language](text)


def test_each_file_to_copy_is_in_its_page():
    files = [name for name in PIECES if not name.endswith(".md")]
    assert len(files) > 3
    assert [name for name in files
            if f"]({name})" not in (ROOT / FOLDER / (name.rsplit(".", 1)[0] + ".md")).read_text()] == []


@pytest.mark.parametrize("file", sorted((ROOT / FOLDER).rglob("*.swift")), ids=lambda file: file.name)
def test_files_to_copy_have_the_form_of_swift(file):
    output("swiftc", "-frontend", "-parse", file)
