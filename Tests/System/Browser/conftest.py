import pytest

from gallery import Gallery
from programs import ROOT, Site
from visitor import Visitor, start_browser, use_fresh_tab


@pytest.fixture(scope="session")
def gallery() -> Gallery:
    return Gallery(ROOT / ".build/screenshots")


@pytest.fixture
def site(make_site) -> Site:
    return make_site()


@pytest.fixture
def visitor(make_visitor, site) -> Visitor:
    return make_visitor(site)


@pytest.fixture(scope="session")
def own_browser():
    """A browser with other settings; the last one is kept for the next test with the same."""
    kept = {}

    def get(**settings):
        key = repr(settings)
        if key not in kept:
            end()
            kept[key] = start_browser(**settings)
        return kept[key]

    def end():
        while kept:
            kept.popitem()[1].quit()

    yield get
    end()


@pytest.fixture
def make_own_visitor(request, own_browser):
    """A visitor with a browser set up differently: preferences as Chromium stores them. One at a time."""
    def make(site: Site, preferences: dict | None = None, **settings) -> Visitor:
        driver = own_browser(preferences=preferences, **settings)
        use_fresh_tab(driver)
        visitor = Visitor(driver, site)
        request.addfinalizer(visitor.check)
        return visitor

    return make
