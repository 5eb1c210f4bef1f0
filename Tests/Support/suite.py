"""What the suites in Python have in common: the programs as they were built, and a browser."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

# A run in the background may be told to ignore Ctrl-C, and what it starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]
# What hypothesis remembers is no part of the sources.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".build/hypothesis"))

# When the whole run is to be over, in seconds since 1970; scripts/test.sh says why and tells what was left out.
END = float(os.environ.get("TEST_END", "inf"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    if time.time() > END:
        pytest.skip("the time of the run was over")


def pytest_deselected(items):
    items[0].config.has_deselected = True


def pytest_sessionfinish(session, exitstatus):
    if programs := sys.modules.get("programs"):
        programs.KEPT.stop()
    if postgres := sys.modules.get("postgres"):
        postgres.STORE.end()
    # All tests of the suite are long: none to run is not a failure then.
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and getattr(session.config, "has_deselected", False):
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(scope="session")
def binaries() -> Path:
    folder = Path(os.environ.get("TEST_BIN", ROOT / ".build/debug")).resolve()
    missing = [name for name in ("bramley", "apple-simulator") if not (folder / name).exists()]
    assert not missing, f"{folder} has no {' and no '.join(missing)}: build first, or set TEST_BIN"
    return folder


def sites(request, binaries: Path, folders):
    """Makes servers, each with an Apple, with settings such as {"login.attemptLifetime": 5}; they end with it."""
    # Only who starts one needs what it takes.
    from programs import Site

    def make(settings: dict | None = None, kind=Site, start: bool = True, **options):
        site = kind(binaries, folders.mktemp("site"), settings or {}, **options)
        request.addfinalizer(site.end)
        return site.start() if start else site

    return make


@pytest.fixture
def make_site(request, binaries, tmp_path_factory):
    return sites(request, binaries, tmp_path_factory)


@pytest.fixture(scope="module")
def make_shared_site(request, binaries, tmp_path_factory):
    return sites(request, binaries, tmp_path_factory)


@pytest.fixture(scope="session")
def shared_browser():
    # Only who opens a page needs a browser and its driver.
    from visitor import start_browser

    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture
def make_visitor(request, shared_browser):
    """A visitor in a new tab of a browser without cookies; looks at the browser's complaints when the test is over."""
    from visitor import Visitor, use_fresh_tab

    use_fresh_tab(shared_browser)

    def make(site) -> Visitor:
        visitor = Visitor(shared_browser, site)
        request.addfinalizer(visitor.check)
        return visitor

    return make
