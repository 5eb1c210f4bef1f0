import pytest

from site_of_apple import AppSite


@pytest.fixture
def site(binaries, tmp_path):
    """With the second Apple; a test fails when that had anything to complain about."""
    site = AppSite(binaries, tmp_path, {}).start()
    yield site
    site.end()
    assert site.apple.complaints == []
