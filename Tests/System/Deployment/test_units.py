"""The systemd units, as systemd reads them."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from processes import finished, output
from programs import ROOT

UNITS = ROOT / "packaging/systemd"
# Of ten, ten being no protection at all. What is left is the network, which a server needs.
EXPOSURE = 1.5


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read(UNITS / name)
    return parser


@pytest.fixture
def folder(tmp_path) -> Path:
    output(ROOT / "scripts/install.sh", "units", tmp_path)
    # A program that is there on every machine: verify asks whether it can be executed.
    service = tmp_path / "bramley.service"
    service.write_text(service.read_text().replace("/usr/local/bin/bramley serve", "/bin/sh"))
    return tmp_path


def run(program: str, *arguments) -> subprocess.CompletedProcess:
    if not shutil.which(program):
        pytest.skip(f"there is no {program} on this machine")
    return finished(program, *arguments)


def verify(file: Path) -> subprocess.CompletedProcess:
    return run("systemd-analyze", "verify", "--recursive-errors=no", "--man=no", file)


def test_systemd_accepts_the_units(folder):
    assert len(list(folder.iterdir())) == 4
    for name in sorted(folder.iterdir()):
        result = verify(folder / name)
        assert result.returncode == 0 and result.stderr == "", result.stderr


def test_systemd_accepts_the_simulators_unit(tmp_path):
    file = tmp_path / "apple-simulator.service"
    file.write_text((UNITS / file.name).read_text().replace("@BINDIR@/apple-simulator", "/bin/sh"))
    result = verify(file)
    assert result.returncode == 0 and result.stderr == "", result.stderr


def test_systemd_finds_a_planted_mistake(folder):
    file = folder / "bramley.service"
    file.write_text(file.read_text().replace("NoNewPrivileges", "NoNewPrivilege"))
    assert "NoNewPrivilege" in verify(file).stderr


def exposure(file: Path) -> subprocess.CompletedProcess:
    """Fails when the service is exposed more than it may be."""
    threshold = f"--threshold={round(EXPOSURE * 10)}"
    return run("systemd-analyze", "security", "--offline=true", threshold, "--no-pager", file)


@pytest.mark.parametrize("name", ["bramley.service", "bramley-backup.service"])
def test_the_service_is_sandboxed(folder, name):
    result = exposure(folder / name)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr


def test_the_exposure_threshold_is_effective(folder):
    file = folder / "bramley.service"
    file.write_text(re.sub("(?m)^(Protect|Private|SystemCall|Restrict).*\n", "", file.read_text()))
    assert exposure(file).returncode != 0


def test_the_server_has_what_it_needs():
    service = unit("bramley.service")["Service"]
    assert service["Type"] == "notify" and service["NotifyAccess"] == "main"
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert service["StateDirectory"] == "bramley" and service["ProtectSystem"] == "strict"
    assert "AF_UNIX" in service["RestrictAddressFamilies"].split(), "the service manager is told over one"
    # The default of server.drainTimeout, by the reference.
    reference = (ROOT / "docs/reference/configuration.md").read_text()
    drain = re.search(r"^- `server.drainTimeout` \((\d+)", reference, re.MULTILINE)[1]
    assert int(service["TimeoutStopSec"]) > int(drain) + 5
    socket = unit("bramley.socket")["Socket"]
    assert socket["FileDescriptorName"] == "visitors" and socket["Service"] == "bramley.service"


@pytest.mark.parametrize("program, options, file", [
    ("systemd-sysusers", [], "bramley.sysusers.conf"),
    ("systemd-tmpfiles", ["--create"], "bramley.tmpfiles.conf")])
def test_users_and_files(program, options, file, tmp_path):
    (tmp_path / "etc").mkdir()
    copy = tmp_path / file
    # What owns the files of one is made by the other.
    copy.write_text(re.sub("(?m)(root|bramley) bramley$", "- -", (UNITS / file).read_text()))
    result = run(program, "--root", tmp_path, *options, copy)
    assert result.returncode == 0 and "Unknown" not in result.stderr, result.stderr
    if program == "systemd-sysusers":
        assert re.search("^bramley:", (tmp_path / "etc/passwd").read_text(), re.MULTILINE)
    else:
        for folder, mode in ("etc/bramley", 0o750), ("var/backups/bramley", 0o700):
            assert (tmp_path / folder).stat().st_mode & 0o777 == mode
