from pathlib import Path

import pytest

from doctor_place import Place
from front import Habits


@pytest.fixture(scope="session")
def bramley(binaries) -> Path:
    return binaries / "bramley"


@pytest.fixture(scope="session")
def key() -> bytes:
    """A P-256 key as Apple gives it out."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


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
