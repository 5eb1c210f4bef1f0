import pytest

from app import APP
from inhabited import SCOPES, WEBHOOKS, Inhabited
from ways import LINKS
from web import bearer


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    # Whether a proxy is believed makes no difference to parameters: two pages show it in `make test`.
    for item in items:
        if getattr(item, "originalname", "") == "test_no_page_redirects_to_a_hostile_address":
            given = item.callspec.params
            if given["site"] == "untrusted" and given["path"] not in ("/login", "/account"):
                item.add_marker(pytest.mark.long)


@pytest.fixture
def site(make_site):
    """A server that believes this machine about who is asking, so that one test's failures slow down nobody else."""
    return make_site({
        "log.level": "info", "server.trustedProxies": ["127.0.0.1"], "assertion.audience": "backend",
        "apple.bundleIDs": [APP], **WEBHOOKS, **LINKS})


@pytest.fixture(scope="module")
def inhabited(site):
    return Inhabited(site)


@pytest.fixture(scope="module")
def key(inhabited):
    return bearer(inhabited.operator.key(*SCOPES))


@pytest.fixture(scope="module")
def keys(inhabited):
    """One for each scope. A link belongs to the key that began it: that one is among them."""
    return {scope: inhabited.key(scope) for scope in SCOPES}
