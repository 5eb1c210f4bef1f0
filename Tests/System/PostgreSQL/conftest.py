import shutil

import pytest

from nodes import House
from postgres import Cluster
from wire import Wire


@pytest.fixture(scope="session")
def cluster():
    cluster = Cluster()
    yield cluster
    cluster.end()


@pytest.fixture
def build(request, binaries, tmp_path, cluster):
    """So many nodes over a new database, by default on the cluster of all tests."""
    request.addfinalizer(lambda: shutil.rmtree(tmp_path, ignore_errors=True))

    def build(count: int, settings: dict | None = None, own: Cluster | None = None, behind=None,
              starts: bool = True) -> House:
        house = House(binaries, tmp_path, own or cluster, count, settings, behind)
        request.addfinalizer(house.end)
        return house.start() if starts else house

    return build


@pytest.fixture
def own_cluster():
    """One that a test may stop."""
    cluster = Cluster()
    yield cluster
    cluster.end()


@pytest.fixture
def make_wire(request):
    """Networks to a cluster, or to the server of one at another port."""
    def make(cluster: Cluster, port: int = 5432) -> Wire:
        wire = Wire(cluster.folder, port)
        request.addfinalizer(wire.end)
        return wire

    return make


@pytest.fixture
def wire(make_wire, cluster):
    return make_wire(cluster)
