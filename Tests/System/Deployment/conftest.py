import pytest

from programs import Site
from service import Manager, Service


@pytest.fixture
def make_service(binaries, tmp_path):
    """A configured server that is not started, and an Apple."""
    made = []

    def make(settings: dict | None = None, program=None, kind=Site, **options) -> Service:
        folder = tmp_path / f"site{len(made)}"
        folder.mkdir()
        settings = {"server.trustedProxies": ["127.0.0.0/8"], "server.threads": 2} | (settings or {})
        made.append(Service(kind(binaries, folder, settings, **options), program))
        return made[-1]

    yield make
    for service in made:
        service.end()
        service.site.apple.program.stop()


@pytest.fixture
def serving(make_service):
    return make_service().start().wait()


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    address = f"@bramley-test-{tmp_path.name}-{id(request)}" if request.param == "abstract" else str(tmp_path / "notify")
    manager = Manager(address)
    yield manager
    manager.close()
