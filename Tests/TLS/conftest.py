import pytest

from authority import Authority, Issued
from secure_site import SecureSite


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def issued(authority) -> Issued:
    return authority.issue("localhost", "127.0.0.1")


@pytest.fixture
def make_secure_site(binaries, tmp_path, authority, issued, monkeypatch):
    """Starts a server with a certificate, and an Apple; every program believes the authority."""
    sites = []
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.write_root(tmp_path / "trusted.pem")))

    def make(settings: dict | None = None, pair: Issued | None = None, start: bool = True) -> SecureSite:
        folder = tmp_path / f"site{len(sites)}"
        folder.mkdir()
        site = SecureSite(binaries, folder, authority, pair or issued, settings or {})
        sites.append(site)
        return site.start() if start else site

    yield make
    for site in sites:
        site.end()


@pytest.fixture
def site(make_secure_site) -> SecureSite:
    return make_secure_site()
