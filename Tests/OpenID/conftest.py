import pytest

from party import Browser, Party, register
from programs import Site


@pytest.fixture(scope="module")
def site(binaries, tmp_path_factory):
    site = Site(binaries, tmp_path_factory.mktemp("openid"), {
        "log.level": "info", "server.trustedProxies": ["127.0.0.1"], "server.limits.signInsPerMinute": 100_000})
    yield site.start()
    site.end()


@pytest.fixture(scope="module")
def grafana(site) -> Party:
    return register(site, "grafana", "--offline", "--name", "Grafana")


@pytest.fixture
def browser(site) -> Browser:
    return Browser(site)
