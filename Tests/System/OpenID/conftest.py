import contextlib

import pytest

from gallery import Gallery
from party import QUIET, Browser, Party, register
from programs import ROOT, Program


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site(QUIET)


@pytest.fixture(scope="module")
def grafana(site) -> Party:
    return register(site, "grafana", "--offline", "--name", "Grafana")


@pytest.fixture
def browser(site) -> Browser:
    return Browser(site)


@pytest.fixture
def run(tmp_path):
    """Starts a program of others that listens on this port; it ends with the test."""
    with contextlib.ExitStack() as stack:
        def run(port: int, *arguments, **environment: str) -> None:
            program = Program([str(argument) for argument in arguments], tmp_path / f"{port}.log", environment)
            stack.callback(program.stop)
            program.wait_for(port)

        yield run


@pytest.fixture(scope="module")
def gallery() -> Gallery:
    return Gallery(ROOT / ".build/screenshots")


@pytest.fixture
def visitor(site, shared_browser):
    """What the pages of others make the browser complain of is not looked at."""
    from visitor import Visitor, use_fresh_tab

    use_fresh_tab(shared_browser)
    return Visitor(shared_browser, site)
