import subprocess

import pytest

from app import APP, OTHER
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
    """The client of the documentation, compiled as it is, with a script in place of a person."""
    program = tmp_path_factory.mktemp("client") / "scripted"
    subprocess.run(
        ["swiftc", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library", "-o", program,
         ROOT / "docs/examples/ios/BramleyClient.swift", ROOT / "Tests/System/Native/scripted.swift"],
        check=True, timeout=300)
    return program
