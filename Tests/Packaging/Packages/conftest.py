import os
import shutil
from pathlib import Path

import pytest

import machine_boot
from debian import RELEASES, ROOT, Debian, base, make_base
from machine import enter
from processes import output


@pytest.fixture(scope="session")
def packages(tmp_path_factory) -> dict[str, Path]:
    """As `make deb` makes them, by name, and an older and a newer one of the same sources."""
    made = {}
    for kind, version in (("now", None), ("older", "0.0.1~test"), ("newer", "9.0.0~test")):
        folder = tmp_path_factory.mktemp(kind)
        build(folder, version)
        for file in folder.glob("*.deb"):
            made[file.name.split("_")[0] + ("" if kind == "now" else f" {kind}")] = file
    return made


@pytest.fixture(scope="session")
def former(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("former")
    commit, time = git("log", "-1", "--format=%H %ct", "HEAD~1").split()
    output("tar", "-xf", "-", "-C", folder, input=output("git", "archive", commit, cwd=ROOT, text=False), text=False)
    make_elsewhere(folder, SOURCE_COMMIT=commit, SOURCE_DATE_EPOCH=time)
    return next((folder / ".build/dist").glob("bramley_*.deb"))


def git(*arguments: str) -> str:
    return output("git", *arguments, cwd=ROOT)


def make_elsewhere(folder: Path, **environment: str) -> None:
    """`make deb` of the sources in that folder, with the same libraries."""
    shutil.copy(ROOT / "Package.resolved", folder)
    output("make", "deb", cwd=folder, env=os.environ | environment, timeout=None)


def build(folder: Path, version: str | None = None, **environment: str) -> None:
    built = os.environ.get("BUILT", str(ROOT / ".build/release"))
    output(ROOT / "scripts/deb.sh", timeout=None, env=os.environ | {"BUILT": built, "DIST": str(folder)} | (
        {"DEB_VERSION": version} if version else {}) | environment)


@pytest.fixture(scope="session")
def own_machine():
    # Both while there is a network: what enters its own has none.
    for release in RELEASES:
        make_base(base(release), "usr/bin/sudo", release)
    make_base(machine_boot.BASE, "boot", further=machine_boot.FURTHER)
    enter()


@pytest.fixture
def debian(own_machine, tmp_path, request):
    """Debian 12, unless the test names another release."""
    made = Debian(tmp_path, getattr(request, "param", "bookworm"))
    yield made
    made.end()
