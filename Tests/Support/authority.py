"""An authority for tests: certificates with every flaw one may have, made by another implementation than ours."""

import base64
import datetime
import hashlib
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from programs import pem, write_private

DAY = datetime.timedelta(days=1)


def new_key(kind: str = "p256"):
    return rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())


@dataclass
class Issued:
    """A certificate with its key; `chain` and `key` are PEM."""

    certificate: x509.Certificate
    chain: bytes
    key: bytes

    @property
    def serial(self) -> int:
        return self.certificate.serial_number

    @property
    def spki(self) -> str:
        """As Chromium's --ignore-certificate-errors-spki-list wants it."""
        public = self.certificate.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return base64.b64encode(hashlib.sha256(public).digest()).decode()

    def write(self, folder: Path, name: str) -> tuple[str, str]:
        """The paths of NAME.pem and NAME.key."""
        files = folder / f"{name}.pem", folder / f"{name}.key"
        for file, content in zip(files, (self.chain, self.key)):
            write_private(file, content)
        return str(files[0]), str(files[1])


def self_signed(*names: str, days: int = 2, authority: bool = False) -> Issued:
    """By nobody but itself, from yesterday on."""
    key = new_key()
    made = Authority._sign(names[0], key, None, None, authority, names, days=days)
    return Issued(made, made.public_bytes(serialization.Encoding.PEM), pem(key))


class Authority:
    """A root, and an intermediate that signs."""

    def __init__(self):
        self.root_key, self.key = new_key(), new_key()
        self.root = self._sign("Orchard Root", self.root_key, None, None, authority=True)
        self.intermediate = self._sign("Orchard X1", self.key, self.root, self.root_key, authority=True)

    @staticmethod
    def _sign(name, key, issuer, issuer_key, authority=False, names=(), start=-1, days=90) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(issuer.subject if issuer else subject)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now + start * DAY).not_valid_after(now + (start + days) * DAY)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(
                (issuer_key or key).public_key()), critical=False))
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([
                x509.IPAddress(ipaddress.ip_address(entry)) if entry[0].isdigit() else x509.DNSName(entry)
                for entry in names]), critical=False)
        return builder.sign(issuer_key or key, hashes.SHA256())

    def issue(self, *names: str, kind: str = "p256", start: int = -1, days: int = 90) -> Issued:
        """`start` and `days`: from which day on, counted from today, and for how long."""
        key = new_key(kind)
        leaf = self._sign(names[0], key, self.intermediate, self.key, names=names, start=start, days=days)
        chain = b"".join(one.public_bytes(serialization.Encoding.PEM) for one in (leaf, self.intermediate))
        return Issued(leaf, chain, pem(key))

    def write_root(self, file: Path) -> Path:
        file.write_bytes(self.root.public_bytes(serialization.Encoding.PEM))
        return file
