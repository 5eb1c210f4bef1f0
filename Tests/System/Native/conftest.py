import pytest

from app import APP, OTHER
from device import compile_package, compile_program
from programs import ROOT


@pytest.fixture
def make_app_site(make_site):
    """A server with two apps, that believes this machine about who is asking."""
    return lambda settings={}: make_site({
        "log.level": "debug", "server.trustedProxies": ["127.0.0.0/8"], "apple.bundleIDs": [APP, OTHER]} | settings)


@pytest.fixture
def site(make_app_site):
    return make_app_site()


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    """The client as far as Foundation goes, with a script in place of a person."""
    package = compile_package(tmp_path_factory.mktemp("client"), frameworks=())
    return compile_program(package, ROOT / "Tests/System/Native/scripted.swift")


@pytest.fixture(scope="session")
def phone_program(tmp_path_factory):
    """All of it, with a script in place of the system, too."""
    return compile_program(compile_package(tmp_path_factory.mktemp("phone")), ROOT / "Tests/System/Native/phone.swift")
