"""scripts/packages.sh on machines that lack something: what it says, and that it stops there."""

import os
import shutil
import subprocess

import pytest

from processes import fails, finished
from programs import ROOT

# What the script itself is made of.
NEEDED = ("bash", "env", "dpkg-query", "grep", "git")


@pytest.fixture
def run(tmp_path):
    """Runs it on a machine with this `swift` and only these packages; nothing can be installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in NEEDED:
        (programs / name).symlink_to(shutil.which(name))

    def stub(name: str, script: str) -> None:
        (programs / name).unlink(missing_ok=True)
        (programs / name).write_text(f"#!{shutil.which('bash')}\n{script}\n")
        (programs / name).chmod(0o755)

    def run(swift: str | None, packages: str = "installed", user: int = 1000) -> subprocess.CompletedProcess:
        if swift is not None:
            stub("swift", swift)
        stub("dpkg-query", f"printf {packages}")
        stub("id", f"echo {user}")
        stub("apt-get", "echo apt-get was called; exit 1")
        return finished(ROOT / "scripts/packages.sh", "build", env=os.environ | {"PATH": str(programs)})

    run.programs = programs
    return run


GOOD = "echo 'Swift version 6.3.1 (swift-6.3.1-RELEASE)'"


def test_the_script_is_silent_when_nothing_is_missing(run):
    done = run(GOOD)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("swift, said", [
    (None, "Swift 6.3 or later is needed and was not found"),
    # As the loader of programs says it.
    ("echo 'swift: error while loading shared libraries: libncurses.so.6' >&2; exit 127",
     "Swift is installed, but does not run here"),
    ("echo 'Swift version 6.2.4 (swift-6.2.4-RELEASE)'", "Swift 6.3 or later is needed, and this is 6.2"),
    ("echo 'Apple Swift version 5.10 (swiftlang)'", "Swift 6.3 or later is needed, and this is 5.10"),
])
def test_without_a_working_swift_nothing_is_installed(run, swift, said):
    done = fails(run(swift, packages="absent"), said, "https://www.swift.org/install/linux/")
    assert "apt-get was called" not in done.stdout + done.stderr


@pytest.mark.parametrize("version", ["6.3", "6.10.1", "7.0"])
def test_a_later_swift_is_accepted(run, version):
    assert run(f"echo 'Swift version {version} (swift)'").returncode == 0


def test_without_root_the_command_for_root_is_shown(run):
    (run.programs / "git").unlink()
    done = run(GOOD, packages="absent")
    assert done.returncode == 1
    assert "Run as root: apt-get update && apt-get install --no-install-recommends git libssl-dev" in done.stderr
