import shutil

import pytest

from nodes import House
from postgres import Cluster


@pytest.fixture(scope="session")
def cluster():
    cluster = Cluster()
    yield cluster
    cluster.end()


@pytest.fixture
def build(binaries, tmp_path, cluster):
    """Starts so many nodes over a new database, by default on the cluster of all tests."""
    houses = []

    def build(count: int, settings: dict | None = None, own: Cluster | None = None, behind=None) -> House:
        houses.append(House(binaries, tmp_path, own or cluster, count, settings, behind))
        return houses[-1].start()

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
