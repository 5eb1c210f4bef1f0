import pytest

from party import Browser, Party, register


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
