import pytest

from party import Browser, Party, register
from programs import Program


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site({
        "log.level": "info", "server.trustedProxies": ["127.0.0.1"], "server.limits.signInsPerMinute": 100_000})


@pytest.fixture(scope="module")
def grafana(site) -> Party:
    return register(site, "grafana", "--offline", "--name", "Grafana")


@pytest.fixture
def browser(site) -> Browser:
    return Browser(site)


@pytest.fixture
def run(tmp_path):
    """Starts a program of others that listens on this port; it ends with the test."""
    programs = []

    def run(port: int, *arguments, **environment: str) -> None:
        programs.append(Program([str(argument) for argument in arguments], tmp_path / f"{port}.log", environment))
        programs[-1].wait_for(port)

    yield run
    for program in programs:
        program.stop()
