from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bramley(binaries) -> Path:
    return binaries / "bramley"


@pytest.fixture(scope="session")
def key() -> bytes:
    """A P-256 key as Apple gives it out."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
