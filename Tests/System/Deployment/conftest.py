import pytest

from programs import Site
from service import Manager, Service


@pytest.fixture
def make_service(request, make_site):
    def make(settings: dict | None = None, program=None, kind=Site, **options) -> Service:
        settings = {"server.trustedProxies": ["127.0.0.0/8"], "server.threads": 2} | (settings or {})
        service = Service(make_site(settings, kind, start=False, **options), program)
        request.addfinalizer(service.end)
        return service

    return make


@pytest.fixture
def serving(make_service):
    return make_service().start().wait()


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    address = f"@bramley-test-{tmp_path.name}-{id(request)}" if request.param == "abstract" else str(tmp_path / "notify")
    manager = Manager(address)
    yield manager
    manager.close()
