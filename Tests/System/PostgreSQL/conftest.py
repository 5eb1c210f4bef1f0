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
def build(binaries, tmp_path, cluster):
    """So many nodes over a new database, by default on the cluster of all tests."""
    houses = []

    def build(count: int, settings: dict | None = None, own: Cluster | None = None, behind=None,
              starts: bool = True) -> House:
        houses.append(House(binaries, tmp_path, own or cluster, count, settings, behind))
        return houses[-1].start() if starts else houses[-1]

    yield build
    for house in houses:
        house.end()
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def own_cluster():
    """One that a test may stop."""
    cluster = Cluster()
    yield cluster
    cluster.end()


@pytest.fixture
def make_wire():
    """Networks to a cluster, or to the server of one at another port."""
    wires = []

    def make(cluster: Cluster, port: int = 5432) -> Wire:
        wires.append(Wire(cluster.folder, port))
        return wires[-1]

    yield make
    for wire in wires:
        wire.end()


@pytest.fixture
def wire(make_wire, cluster):
    return make_wire(cluster)
