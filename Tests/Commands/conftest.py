import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Browser"))  # programs.py


@pytest.fixture(scope="session")
def bramley() -> Path:
    program = Path(os.environ.get("TEST_BIN", ROOT / ".build/debug")) / "bramley"
    assert program.exists(), f"{program} is not there: build first, or set TEST_BIN"
    return program


@pytest.fixture(scope="session")
def key() -> bytes:
    """A P-256 key as Apple gives it out."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
