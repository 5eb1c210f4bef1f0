from dataclasses import dataclass
from pathlib import Path

import pytest

from engine import NAMES, Engine, buildah
from machine import enter, mount


@pytest.fixture(scope="session", autouse=True)
def own_machine():
    enter()
    # containerd has sockets there, whatever folder it is given.
    mount("-t", "tmpfs", "tmpfs", "/run")


@dataclass
class Files:
    """Those of an image, which nobody changes."""
    root: Path
    container: str


@pytest.fixture(scope="session")
def images(own_machine):
    made = {}
    try:
        for name in NAMES:
            container = buildah("from", "--pull-never", f"localhost/{name}")
            made[name] = Files(Path(buildah("mount", container)), container)
        yield made
    finally:
        for files in made.values():
            buildah("umount", files.container)
            buildah("rm", files.container)


@pytest.fixture(scope="session")
def engine(own_machine, tmp_path_factory):
    engine = Engine(tmp_path_factory.mktemp("engine"))
    try:
        for name in NAMES:
            engine.load(name)
        engine.stand_in("caddy:2", "caddy")
        yield engine
    finally:
        engine.end()
