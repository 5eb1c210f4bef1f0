"""make install, make uninstall and the completions; scripts/dist.sh, and what is in its archives."""

import filecmp
import os
import re
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from patience import eventually
from processes import finished, output
from programs import ROOT, Program, free_port, new_key, write_private


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


CONTENT = {
    "bramley": {"README.md", "LICENSE", "SHA256SUMS", "config.example.json", *INSTALLED},
    "apple-simulator": {"README.md", "LICENSE", "SHA256SUMS", "app.py", "apple-simulator.md", "bin/apple-simulator"},
}
PROGRAMS = sorted(CONTENT)
TIME = 1_750_000_000


def dist(binaries: Path, folder: Path) -> subprocess.CompletedProcess:
    return finished(ROOT / "scripts/dist.sh", env=os.environ | {
        "BUILT": str(binaries), "DIST": str(folder), "SOURCE_DATE_EPOCH": str(TIME)})


@pytest.fixture(scope="module")
def archives(binaries, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dist")
    done = dist(binaries, folder)
    assert done.returncode == 0, done.stderr
    end = f"{version(binaries / 'bramley').split()[1]}-linux-{os.uname().machine}.tar.gz"
    found = {program: folder / f"{program}-{end}" for program in PROGRAMS}
    assert {file.name for file in folder.iterdir()} == {file.name for file in found.values()} | {"SHA256SUMS"}
    output("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
    return found


@pytest.fixture(scope="module")
def unpacked(archives, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("unpacked")
    for archive in archives.values():
        output("tar", "-xzf", archive, "-C", folder)
    return {program: folder / archive.name.removesuffix(".tar.gz") for program, archive in archives.items()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_archive_is_complete_and_owned_by_root(archives, program):
    with tarfile.open(archives[program]) as archive:
        members = archive.getmembers()
    top = archives[program].name.removesuffix(".tar.gz")
    assert {member.name for member in members if member.isfile()} == {f"{top}/{name}" for name in CONTENT[program]}
    names = [member.name for member in members]
    assert names == sorted(names, key=lambda name: name.split("/"))
    for member in members:
        assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "root", "root"), member.name
        assert member.mode == (0o755 if member.isdir() or "/bin/" in member.name else 0o644), member.name
    assert {member.mtime for member in members} == {TIME}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_sums_are_of_every_file(unpacked, program):
    folder = unpacked[program]
    output("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=folder)
    listed = {line.split(maxsplit=1)[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert listed == CONTENT[program] - {"SHA256SUMS"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_prints_its_version(unpacked, binaries, program):
    packed, built = unpacked[program] / "bin" / program, binaries / program
    assert version(packed) == version(built) and version(packed).startswith(f"{program} ")
    # Without symbols.
    assert packed.stat().st_size < built.stat().st_size


def test_the_simulator_starts_as_its_readme_says(unpacked, tmp_path):
    folder = unpacked["apple-simulator"]
    readme = (folder / "README.md").read_text()
    line = re.search(r"^    (bin/apple-simulator --port .*?[^\\])$", readme, re.MULTILINE | re.DOTALL)[1]
    assert "--key AuthKey.p8" in line and "built on" in readme and "@" not in readme
    port, key = free_port(), tmp_path / "AuthKey.p8"
    write_private(key, new_key())
    first, *words = line.replace("\\\n", " ").replace("8081", str(port)).replace("AuthKey.p8", str(key)).split()
    program = Program([str(folder / first), *words], tmp_path / "log")
    try:
        program.wait_for(port)
        eventually(lambda: f"is at http://127.0.0.1:{port}" in program.text(), "its address", program.text)
    finally:
        program.stop()


def test_the_server_is_installed_as_its_readme_says(unpacked, tmp_path):
    readme = (unpacked["bramley"] / "README.md").read_text()
    line = re.search(r"^    sudo (cp .*) /usr/local/$", readme, re.MULTILINE)[1]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bramley").write_text("an older one")
    output(*line.split(), tmp_path, cwd=unpacked["bramley"])
    assert {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()} == set(INSTALLED)
    assert version(tmp_path / "bin/bramley").startswith("bramley ")
    assert "ExecStart=/usr/local/bin/bramley serve" in (tmp_path / "lib/systemd/system/bramley.service").read_text()


def test_the_simulators_document_is_packed(unpacked):
    packed = unpacked["apple-simulator"] / "apple-simulator.md"
    assert packed.read_text() == (ROOT / "docs/reference/simulator.md").read_text()


def test_the_same_programs_give_the_same_bytes(archives, binaries, tmp_path):
    before = os.umask(0o077)
    try:
        assert dist(binaries, tmp_path).returncode == 0
    finally:
        os.umask(before)
    for archive in archives.values():
        assert filecmp.cmp(tmp_path / archive.name, archive, shallow=False)


def test_without_a_build_nothing_is_packed(tmp_path):
    done = dist(tmp_path / "nothing", tmp_path / "dist")
    assert done.returncode != 0 and "make build" in done.stderr
    assert not (tmp_path / "dist").exists()
