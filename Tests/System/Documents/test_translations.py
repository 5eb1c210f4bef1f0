"""Every translation follows the English text as it is today: scripts/translations.py."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from documents import ROOT
from processes import finished


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    return finished(sys.executable, "-B", root / "scripts/translations.py", *arguments)


class Copy:
    """The script, its digests and the strings, apart from the real ones, with every translation read."""

    def __init__(self, root: Path):
        self.root = root
        (root / "scripts").mkdir()
        for name in ("translations.py", "translations.json"):
            shutil.copy(ROOT / "scripts" / name, root / "scripts")
        shutil.copytree(ROOT / "Public/strings", root / "Public/strings")
        self.languages = {path.stem for path in (root / "Public/strings").glob("*.json")} - {"en"}
        for language in self.languages:
            self.follow(language, "--all")

    def follow(self, language: str, *keys: str):
        result = run(self.root, "--follow", language, *keys)
        assert result.returncode == 0, result.stderr

    def change(self, language: str, **texts: str | None):
        path = self.root / f"Public/strings/{language}.json"
        strings = json.loads(path.read_text())
        strings["login"] = {name: text for name, text in (strings["login"] | texts).items() if text is not None}
        path.write_text(json.dumps(strings))

    def listed(self) -> set[str]:
        result = run(self.root)
        found = {line for line in result.stdout.splitlines() if not line.startswith("  ")}
        assert result.returncode == (1 if found else 0), result.stderr
        return found


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


def test_every_translation_follows_the_english_text():
    result = run(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_changed_english_text_is_stale_until_its_translation_is_read(copy):
    copy.change("en", lead="Use it.")
    assert copy.listed() == {f"{language} stale: login.lead" for language in copy.languages}
    assert "\n  en: Use it.\n  de: Mit Ihrem Apple Account." in run(copy.root).stdout
    copy.follow("de", "login.lead")
    assert copy.listed() == {f"{language} stale: login.lead" for language in copy.languages - {"de"}}


def test_a_text_that_a_language_lacks_is_missing(copy):
    copy.change("fr", lead=None)
    assert copy.listed() == {"fr missing: login.lead"}
    assert "fr: no translation of login.none" in run(copy.root, "--follow", "fr", "login.none").stderr


def test_a_new_key_is_missing_then_stale(copy):
    copy.change("en", another="More")
    assert copy.listed() == {f"{language} missing: login.another" for language in copy.languages}
    for language in copy.languages:
        copy.change(language, another="…")
    assert copy.listed() == {f"{language} stale: login.another" for language in copy.languages}
    for language in copy.languages:
        copy.follow(language, "--all")
    assert copy.listed() == set()


def test_a_removed_key_is_reported_in_translations_and_digests(copy):
    copy.change("en", lead=None)
    gone = {f"{language} not in en.json: login.lead" for language in copy.languages}
    assert copy.listed() == gone
    for language in copy.languages:
        copy.change(language, lead=None)
    assert copy.listed() == gone
    for language in copy.languages:
        copy.follow(language, "login.lead")
    assert copy.listed() == set()
