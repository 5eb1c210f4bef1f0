"""A server that starts before Apple can be reached."""

import pytest

from patience import eventually
from programs import Program, Simulator, Site
from web import Browser


class LateSimulator(Simulator):
    """One that can be stopped and started again on its port."""

    def start(self) -> None:
        self.program = Program(self.program.process.args, self.program.log)
        self.program.wait_for(self.port)


@pytest.fixture
def site(binaries, tmp_path):
    site = Site(binaries, tmp_path, {"apple.bundleIDs": ["com.example.app"]})
    site.apple.__class__ = LateSimulator
    yield site
    site.end()


def sign_in(site: Site) -> int:
    """Status of the callback."""
    browser = Browser(site)
    return browser.comes_back(browser.goes_to_apple()).status


@pytest.mark.parametrize("failures", [1, 5])
def test_a_server_started_before_apple_is_reachable_signs_people_in_soon(site, failures):
    """Regression: sign-ins were refused for up to a minute after Apple could be reached."""
    site.apple.program.stop()
    site.start()
    # At once, and after pauses that have grown.
    eventually(
        lambda: site.server.text().count("Apple's keys unavailable") >= failures, f"{failures} fetches",
        site.server.text)
    site.apple.start()
    assert sign_in(site) == 303
    assert "Apple's keys fetched" in site.server.text()
