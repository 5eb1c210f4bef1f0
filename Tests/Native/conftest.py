import subprocess

import pytest

from app import APP, OTHER, ROOT
from programs import Site

CLIENT = ROOT / "docs/examples/ios/BramleyClient.swift"


def make_site(binaries, folder, **settings) -> Site:
    """A server with two apps, that believes this machine about who is asking."""
    site = Site(binaries, folder, {
        "log.level": "debug", "server.trustedProxies": ["127.0.0.0/8"], "apple.bundleIDs": [APP, OTHER],
        **{name.replace("_", "."): value for name, value in settings.items()}})
    site.start()
    return site


@pytest.fixture
def site(binaries, tmp_path):
    site = make_site(binaries, tmp_path)
    yield site
    site.end()


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    """The client of the documentation, compiled as it is, with a script in place of a person."""
    program = tmp_path_factory.mktemp("client") / "scripted"
    subprocess.run(
        ["swiftc", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library", str(CLIENT),
         str(ROOT / "Tests/Native/scripted.swift"), "-o", str(program)], check=True, timeout=300)
    return program
