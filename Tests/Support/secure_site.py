"""Bramley with a certificate of its own, and the simulated Apple beside it."""

import contextlib
import http.client
import ssl
from pathlib import Path

from cryptography import x509

from authority import Authority, Issued
from programs import Site, free_port, write_private


class SecureSite(Site):
    """On https://localhost, with a plain port that leads there."""

    def __init__(self, binaries: Path, folder: Path, settings: dict, authority: Authority, issued: Issued):
        self.trust = authority.write_root(folder / "root.pem")
        self.chain_file = folder / "fullchain.pem"
        self.key_file = folder / "privkey.pem"
        self.redirect_port = free_port()
        self.put(issued, folder)
        super().__init__(binaries, folder, {
            "server.certificateFile": str(self.chain_file), "server.privateKeyFile": str(self.key_file),
            "server.redirectPort": self.redirect_port} | settings, scheme="https")

    def put(self, issued: Issued, folder: Path | None = None) -> None:
        """The files as a client of an authority writes them: one, then the other."""
        folder = folder or self.folder
        write_private(folder / "fullchain.pem", issued.chain)
        write_private(folder / "privkey.pem", issued.key)

    def context(self, *protocols: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.trust)
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def connect(self, timeout: float = 20) -> http.client.HTTPSConnection:
        """A new connection, by the rules of a browser: this name, this authority."""
        connection = http.client.HTTPSConnection("localhost", self.port, context=self.context(), timeout=timeout)
        connection.connect()
        return connection

    def shown(self) -> x509.Certificate:
        with contextlib.closing(self.connect()) as connection:
            return x509.load_der_x509_certificate(connection.sock.getpeercert(binary_form=True))

    def said(self, words: str) -> int:
        return self.server.text().count(words)


def get(connection: http.client.HTTPConnection, path: str, method: str = "GET", **fields) -> http.client.HTTPResponse:
    """An answer that has been read to its end, so that the connection can take the next request."""
    connection.request(method, path, headers=fields)
    answer = connection.getresponse()
    answer.content = answer.read()
    return answer
