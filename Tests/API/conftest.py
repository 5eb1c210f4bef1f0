import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The programs are started as the browser tests start them.
sys.path.insert(0, str(ROOT / "Tests/Browser"))

from programs import Site  # noqa: E402


@pytest.fixture(scope="session")
def binaries() -> Path:
    folder = Path(os.environ.get("TEST_BIN", ROOT / ".build/debug"))
    missing = [name for name in ("bramley", "apple-simulator") if not (folder / name).exists()]
    assert not missing, f"{folder} has no {' and no '.join(missing)}: build first, or set TEST_BIN"
    return folder


@pytest.fixture
def site(binaries, tmp_path):
    """A server that believes this machine about who is asking, so that one test's failures slow down nobody else."""
    site = Site(binaries, tmp_path, {"log.level": "info", "server.trustedProxies": ["127.0.0.1"], "assertion.audience": "backend"})
    yield site.start()
    site.end()
