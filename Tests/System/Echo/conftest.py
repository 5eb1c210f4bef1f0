import os
from pathlib import Path

import pytest

from echo import Echo
from programs import ROOT


@pytest.fixture(scope="session")
def echo_folder() -> Path:
    folder = Path(os.environ.get("TEST_BIN", ROOT / ".build/debug")).resolve()
    assert (folder / "http-echo").exists(), f"{folder} has no http-echo: build first, or set TEST_BIN"
    return folder


@pytest.fixture(scope="session")
def echo(echo_folder):
    server = Echo(echo_folder)
    yield server
    assert server.end() == 0


@pytest.fixture
def start_echo(request, echo_folder):
    def start(*options: str) -> Echo:
        server = Echo(echo_folder, *options)
        request.addfinalizer(server.end)
        return server

    return start
