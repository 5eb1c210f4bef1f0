import pytest

from programs import Site


@pytest.fixture
def site(binaries, tmp_path):
    """A server that believes this machine about who is asking, so that one test's failures slow down nobody else."""
    site = Site(binaries, tmp_path, {"log.level": "info", "server.trustedProxies": ["127.0.0.1"], "assertion.audience": "backend"})
    yield site.start()
    site.end()
