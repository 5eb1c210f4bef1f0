import pytest

from demo import Demo
from device import Device, compile_package, compile_program
from orchard import Orchard, somebody
from programs import ROOT
from receiver import new_secret
from standin import StandIn


def alone(folder, **more):
    """The application, and a stand-in for Bramley that begins and completes every link."""
    bramley = StandIn()
    demo = Demo(folder, new_secret(), **more).start(bramley.origin, bramley.origin, "brk_key")
    demo.bramley = bramley
    yield demo
    demo.stop()
    bramley.stop()


@pytest.fixture(scope="module")
def lone_demo(tmp_path_factory):
    """With the hashes of real passwords."""
    yield from alone(tmp_path_factory.mktemp("accounts"), hash_memory=None)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """With hashes that take no time: for tests that sign many people in."""
    yield from alone(tmp_path_factory.mktemp("accounts"))


@pytest.fixture(scope="session")
def device_program(tmp_path_factory):
    return compile_program(compile_package(tmp_path_factory.mktemp("device")), ROOT / "Tests/System/Linking/device.swift")


@pytest.fixture
def make_device(device_program):
    devices = []

    def make(application: str, server: str) -> Device:
        devices.append(Device(device_program, application, server))
        return devices[-1]

    yield make
    for device in devices:
        device.end()


@pytest.fixture
def make_orchard(make_site):
    return lambda settings=None: make_site(settings, Orchard)


@pytest.fixture(scope="module")
def shared_orchard(make_shared_site):
    return make_shared_site(kind=Orchard)


@pytest.fixture
def orchard(shared_orchard):
    """One for all tests of a file, with a gate that lets everything through and an Apple that forgot everybody."""
    shared_orchard.gate.heal()
    shared_orchard.gate.asked.clear()
    shared_orchard.apple.call("POST", "faults/reset")
    return shared_orchard


@pytest.fixture
def ada(orchard) -> str:
    return somebody(orchard)
