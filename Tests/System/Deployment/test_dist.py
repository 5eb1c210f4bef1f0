"""scripts/dist.sh: what is in the two archives, that it is whole, and that it runs from where it was unpacked."""

import filecmp
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from patience import eventually
from processes import finished, output
from programs import ROOT, Program, free_port, new_key, write_private
from test_install import INSTALLED, version

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
