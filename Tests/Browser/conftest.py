import os
from pathlib import Path

import pytest

from gallery import Gallery
from programs import Site
from visitor import Visitor, start_browser

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def binaries() -> Path:
    folder = Path(os.environ.get("TEST_BIN", ROOT / ".build/debug"))
    missing = [name for name in ("bramley", "apple-simulator") if not (folder / name).exists()]
    assert not missing, f"{folder} has no {' and no '.join(missing)}: build first, or set TEST_BIN"
    return folder


@pytest.fixture(scope="session")
def gallery() -> Gallery:
    return Gallery(ROOT / ".build/screenshots")


@pytest.fixture
def make_site(binaries, tmp_path):
    """Starts a server and an Apple of their own, with these settings: {"login.attemptLifetime": 5}."""
    sites = []

    def make(settings: dict | None = None, public_port: int | None = None, start: bool = True) -> Site:
        folder = tmp_path / f"site{len(sites)}"
        folder.mkdir()
        site = Site(binaries, folder, settings or {}, public_port)
        sites.append(site)
        return site.start() if start else site

    yield make
    for site in sites:
        site.end()


@pytest.fixture
def site(make_site) -> Site:
    return make_site()


@pytest.fixture(scope="session")
def shared_browser():
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture
def make_visitor(shared_browser):
    """A visitor in a new tab of a browser without cookies; looks at the browser's complaints when the test is over."""
    driver = shared_browser
    old = driver.window_handles
    driver.switch_to.new_window("tab")
    fresh = driver.current_window_handle
    for handle in old:
        driver.switch_to.window(handle)
        driver.close()
    driver.switch_to.window(fresh)
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    for log in ("browser", "performance"):
        driver.get_log(log)
    visitors = []

    def make(site: Site) -> Visitor:
        visitors.append(Visitor(driver, site))
        return visitors[-1]

    yield make
    for visitor in visitors:
        visitor.check()


@pytest.fixture
def visitor(make_visitor, site) -> Visitor:
    return make_visitor(site)


@pytest.fixture
def make_own_visitor():
    """A visitor with a browser of their own, set up differently: preferences as Chromium stores them."""
    visitors = []

    def make(site: Site, preferences: dict | None = None, page_load_strategy: str = "normal") -> Visitor:
        visitors.append(Visitor(start_browser(preferences, page_load_strategy), site))
        return visitors[-1]

    yield make
    try:
        for visitor in visitors:
            visitor.check()
    finally:
        for visitor in visitors:
            visitor.driver.quit()
