import pytest

from site_of_apple import AppSite


@pytest.fixture
def site(binaries, tmp_path):
    """The server, with the second Apple behind it; a test fails when Apple had anything to complain about."""
    site = AppSite(binaries, tmp_path, {}).start()
    yield site
    site.end()
    assert site.apple.complaints == []
