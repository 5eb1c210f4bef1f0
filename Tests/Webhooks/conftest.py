import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Browser"))  # programs.py


@pytest.fixture(scope="session")
def binaries() -> Path:
    folder = Path(os.environ.get("TEST_BIN", ROOT / ".build/debug"))
    assert (folder / "bramley").exists(), f"{folder}/bramley is not there: build first, or set TEST_BIN"
    return folder
