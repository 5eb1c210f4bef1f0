import tempfile
from pathlib import Path

import pytest

from crowd import Crowd
from namespace import enter
from place import Place
from programs import preloaded


@pytest.fixture(scope="session", autouse=True)
def own_mounts():
    """What is mounted here is seen by this run and what it starts alone, and goes with it."""
    enter()


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Compiles a file of this folder to what can be preloaded."""
    folder = tmp_path_factory.mktemp("libraries")
    return lambda name: preloaded(Path(__file__).with_name(f"{name}.c"), folder / f"{name}.so")


@pytest.fixture
def make_place(request, binaries, tmp_path):
    """A configured server that is not started, with a data directory where the test wants it, and an Apple."""
    def make(settings: dict | None = None, **options) -> Place:
        place = Place(binaries, Path(tempfile.mkdtemp(dir=tmp_path)), settings or {}, **options)
        request.addfinalizer(place.end)
        return place

    return make


@pytest.fixture
def make_crowd(request):
    """People and proxies at a server, who stop when the test ends."""
    def make(place: Place, patience: float = 0, **numbers) -> Crowd:
        crowd = Crowd(place, **numbers)
        request.addfinalizer(crowd.stop)
        crowd.start(patience)
        return crowd

    return make
