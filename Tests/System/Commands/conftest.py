from functools import partial
from pathlib import Path

import pytest

from doctor_place import Place
from front import Habits
from processes import finished
from programs import new_key


@pytest.fixture(scope="session")
def bramley(binaries) -> Path:
    return binaries / "bramley"


@pytest.fixture(scope="session")
def run_command(bramley):
    return partial(finished, bramley, env={})


@pytest.fixture(scope="session")
def key() -> bytes:
    return new_key()


@pytest.fixture(scope="module")
def doctor_place(binaries, tmp_path_factory):
    place = Place(binaries, tmp_path_factory.mktemp("doctor"))
    yield place
    place.end()


@pytest.fixture
def place(doctor_place):
    yield doctor_place
    doctor_place.front.habits = Habits()
    doctor_place.site.apple.call("POST", "faults/reset")
