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
def make_secure_site(make_site, tmp_path, authority, issued, monkeypatch):
    """Starts a server with a certificate, and an Apple; every program believes the authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.write_root(tmp_path / "trusted.pem")))
    return lambda settings=None, pair=None, start=True: make_site(
        settings, SecureSite, start, authority=authority, issued=pair or issued)


@pytest.fixture
def site(make_secure_site) -> SecureSite:
    return make_secure_site()
