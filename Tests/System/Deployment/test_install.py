"""make install and make uninstall, into a folder, and what --version says."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from processes import finished, output
from programs import ROOT
from test_completions import run

INSTALLED = {
    "bin/bramley": 0o755,
    "lib/systemd/system/bramley.service": 0o644,
    "lib/systemd/system/bramley.socket": 0o644,
    "lib/systemd/system/bramley-backup.service": 0o644,
    "lib/systemd/system/bramley-backup.timer": 0o644,
    "lib/sysusers.d/bramley.conf": 0o644,
    "lib/tmpfiles.d/bramley.conf": 0o644,
    "share/bash-completion/completions/bramley": 0o644,
    "share/zsh/site-functions/_bramley": 0o644,
    "share/fish/vendor_completions.d/bramley.fish": 0o644,
}


MAKE = "make", "-C", ROOT, "--no-print-directory"


def version(program: Path) -> str:
    return output(program, "--version")


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir()}


@pytest.fixture(scope="module")
def installed(binaries, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    output(*MAKE, "install", f"DESTDIR={folder}", "PREFIX=/opt/bramley", f"BUILT={binaries}")
    return folder


def test_install_puts_every_file_in_its_place(installed, binaries):
    prefix = installed / "opt/bramley"
    assert files(installed) == {f"opt/bramley/{name}" for name in INSTALLED}
    for name, mode in INSTALLED.items():
        assert stat.S_IMODE((prefix / name).stat().st_mode) == mode, name
    # Without symbols, and it still runs.
    program = prefix / "bin/bramley"
    assert program.stat().st_size < (binaries / "bramley").stat().st_size
    assert version(program).startswith("bramley ")
    unit = (prefix / "lib/systemd/system/bramley.service").read_text()
    assert "ExecStart=/opt/bramley/bin/bramley serve" in unit and "@" not in re.sub("~?@[a-z-]+", "", unit)


@pytest.mark.parametrize("shell, name", [
    ("bash", "share/bash-completion/completions/bramley"), ("zsh", "share/zsh/site-functions/_bramley"),
    ("fish", "share/fish/vendor_completions.d/bramley.fish")])
def test_completions_know_the_commands(installed, shell, name):
    file = installed / "opt/bramley" / name
    text = file.read_text()
    assert "doctor" in text and "serve" in text
    run(shell, *(["--no-config"] if shell == "fish" else []), "-n", str(file))


def test_a_running_program_is_replaced(binaries, tmp_path):
    output(*MAKE, "install", f"DESTDIR={tmp_path}", f"BUILT={binaries}")
    program = tmp_path / "usr/local/bin/bramley"
    # Waits for its input.
    with subprocess.Popen([program, "jws", "verify", "--jwk", "/dev/stdin", "--algorithm", "RS256"],
                          stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        old = program.stat().st_ino
        output(*MAKE, "install", f"DESTDIR={tmp_path}", f"BUILT={binaries}")
        assert program.stat().st_ino != old
        running.stdin.close()


def test_uninstall_removes_exactly_the_installed_files(binaries, tmp_path):
    output(*MAKE, "install", f"DESTDIR={tmp_path}", f"BUILT={binaries}")
    (tmp_path / "usr/local/lib/systemd/system/other.service").write_text("[Service]\n")
    output(*MAKE, "uninstall", f"DESTDIR={tmp_path}")
    assert files(tmp_path) == {"usr/local/lib/systemd/system/other.service"}


def test_a_simulator_that_is_there_gets_its_unit(binaries, tmp_path):
    program = tmp_path / "usr/local/bin/apple-simulator"
    program.parent.mkdir(parents=True)
    shutil.copy(binaries / "apple-simulator", program)
    output(*MAKE, "install", f"DESTDIR={tmp_path}", f"BUILT={binaries}")
    unit = (tmp_path / "usr/local/lib/systemd/system/apple-simulator.service").read_text()
    assert "ExecStart=/usr/local/bin/apple-simulator $SIMULATOR_OPTIONS" in unit
    output(*MAKE, "uninstall", f"DESTDIR={tmp_path}")
    assert files(tmp_path) == {"usr/local/bin/apple-simulator"}


def test_without_a_build_nothing_is_installed(tmp_path):
    result = finished(*MAKE, "install", f"DESTDIR={tmp_path}", f"BUILT={tmp_path}/nothing")
    assert result.returncode != 0 and "make build" in result.stderr
    assert files(tmp_path) == set()


@pytest.mark.parametrize("program", ["bramley", "apple-simulator"])
def test_the_version_has_commit_and_swift(binaries, program):
    commit = "(unknown|[0-9a-f]{40}(-modified)?)"
    assert re.fullmatch(
        rf"{program} \d+\.\d+\.\d+ \(commit {commit}, Swift 6\.\d+(\.\d+)?\)\n", version(binaries / program))


def commit(folder: Path, environment: dict[str, str] | None = None) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "SOURCE_COMMIT"} | (environment or {})
    return output(folder / "scripts/commit.sh", env=variables).strip()


def test_the_commit_of_a_clone_an_archive_and_a_plain_folder(tmp_path):
    def git(*arguments: str) -> str:
        return output("git", "-C", clone, "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments).strip()

    clone = tmp_path / "clone"
    (clone / "scripts").mkdir(parents=True)
    (clone / "Sources").mkdir()
    shutil.copy(ROOT / "scripts/commit.sh", clone / "scripts")
    shutil.copy(ROOT / ".gitattributes", clone)
    assert commit(clone) == ""
    git("init", "-q")
    assert commit(clone) == "", "nothing is committed"
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert commit(clone) == git("rev-parse", "HEAD")
    (clone / "Sources/new.swift").write_text("")
    assert commit(clone) == git("rev-parse", "HEAD") + "-modified"
    assert commit(clone, {"SOURCE_COMMIT": "abcdef0"}) == "abcdef0"
    archive = tmp_path / "archive"
    archive.mkdir()
    git("archive", "-o", str(tmp_path / "archive.tar"), "HEAD")
    output("tar", "-xf", tmp_path / "archive.tar", "-C", archive)
    assert commit(archive) == git("rev-parse", "HEAD")
