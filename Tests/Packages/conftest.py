import os
import subprocess
from pathlib import Path

import pytest

from debian import ROOT, Debian, make_base
from machine import enter


@pytest.fixture(scope="session")
def packages(tmp_path_factory) -> dict[str, Path]:
    """As `make deb` makes them, by name, and an older and a newer one of the same sources."""
    made = {}
    for kind, version in (("now", None), ("older", "0.0.1~test"), ("newer", "9.0.0~test")):
        folder = tmp_path_factory.mktemp(kind)
        build(folder, version)
        for file in folder.glob("*.deb"):
            made[file.name.split("_")[0] + ("" if kind == "now" else f" {kind}")] = file
    # Of another commit, where somebody has built one: FORMER_DEB.
    if former := os.environ.get("FORMER_DEB"):
        made["bramley older"] = Path(former)
    return made


def build(folder: Path, version: str | None = None, **environment: str) -> None:
    built = os.environ.get("BUILT", str(ROOT / ".build/release"))
    done = subprocess.run(
        [ROOT / "scripts/deb.sh"], capture_output=True, text=True, env=os.environ | {
            "BUILT": built, "DIST": str(folder)} | ({"DEB_VERSION": version} if version else {}) | environment)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def own_machine():
    make_base()
    enter()


@pytest.fixture
def debian(own_machine, tmp_path):
    made = Debian(tmp_path)
    yield made
    made.end()
