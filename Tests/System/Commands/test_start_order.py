"""A server that starts before Apple can be reached."""

import pytest

from patience import eventually
from programs import Program
from web import Browser


@pytest.mark.parametrize("failures", [1, 5])
def test_a_server_started_before_apple_is_reachable_signs_people_in_soon(make_site, failures):
    """Regression: sign-ins were refused for up to a minute after Apple could be reached."""
    site = make_site({"apple.bundleIDs": ["com.example.app"]}, start=False)
    apple = site.apple.program
    apple.stop()
    site.start()
    # At once, and after pauses that have grown.
    text = site.server.text
    eventually(lambda: text().count("Apple's keys unavailable") >= failures, f"{failures} fetches", text)
    site.apple.program = Program(apple.process.args, apple.log)
    site.apple.program.wait_for(site.apple.port)
    browser = Browser(site)
    assert browser.comes_back(browser.goes_to_apple()).status == 303
    assert "Apple's keys fetched" in site.server.text()
