import base64
import os
import sys
from pathlib import Path

import pytest

# The scripted app of the other suite.
sys.path.append(str(Path(__file__).resolve().parents[1] / "Native"))


def new_secret() -> str:
    return "whsec_" + base64.b64encode(os.urandom(32)).decode()


def alone(folder: Path, **more):
    """The application, and somebody in Bramley's place who begins and completes every link."""
    from demo import Demo
    from standin import StandIn

    bramley = StandIn()
    demo = Demo(folder, new_secret(), **more).start(bramley.origin, bramley.origin, "brk_key")
    demo.bramley = bramley
    yield demo
    demo.stop()
    bramley.stop()


@pytest.fixture(scope="module")
def lone_demo(tmp_path_factory):
    """As it is where passwords are real."""
    yield from alone(tmp_path_factory.mktemp("accounts"), hash_memory=None)


@pytest.fixture(scope="module")
def quick_demo(tmp_path_factory):
    """With hashes that take no time: for who signs many people in."""
    yield from alone(tmp_path_factory.mktemp("accounts"))


@pytest.fixture(scope="session")
def device_program(tmp_path_factory):
    from device import compile_device

    return compile_device(tmp_path_factory.mktemp("device"))


@pytest.fixture
def make_device(device_program):
    from device import Device

    devices = []

    def make(application: str, server: str) -> Device:
        devices.append(Device(device_program, application, server))
        return devices[-1]

    yield make
    for device in devices:
        device.end()


@pytest.fixture
def make_orchard(binaries, tmp_path_factory):
    """Everything, with these settings besides."""
    from orchard import Orchard

    orchards = []

    def make(settings: dict | None = None) -> Orchard:
        orchards.append(Orchard(binaries, tmp_path_factory.mktemp("orchard"), settings))
        return orchards[-1].start()

    yield make
    for orchard in orchards:
        orchard.end()


@pytest.fixture(scope="module")
def shared_orchard(binaries, tmp_path_factory):
    from orchard import Orchard

    orchard = Orchard(binaries, tmp_path_factory.mktemp("orchard"))
    yield orchard.start()
    orchard.end()


@pytest.fixture
def orchard(shared_orchard):
    """One for all tests of a file, with a gate that lets everything through and an Apple that forgot everybody."""
    shared_orchard.gate.heal()
    shared_orchard.gate.asked.clear()
    shared_orchard.apple.call("POST", "faults/reset")
    return shared_orchard
