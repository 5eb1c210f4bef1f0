"""HAProxy with the PROXY protocol in front of the server: who the client is, and that nobody else may say so."""

import http.client
import json
import socket
import ssl
import tempfile
from pathlib import Path

import pytest

from patience import PATIENCE
from programs import Program, free_port
from proxies import HAProxy, make_certificate

# What the line `server` of the backend says, by the name of the test.
WAYS = {
    "version 1": "send-proxy",
    "version 2": "send-proxy-v2",
    "version 2 with all its fields": "send-proxy-v2 proxy-v2-options crc32c,authority,unique-id",
    "version 2 with TLS fields": "send-proxy-v2-ssl-cn proxy-v2-options crc32c,ssl,cert-cn,ssl-cipher,cert-sig,cert-key",
}


def echo_program(binaries: Path) -> Path:
    program = binaries / "http-echo"
    assert program.exists(), f"{program} is missing: build it first"
    return program


class Front:
    """HAProxy that passes connections on, TLS at its own side when `mode` is http, and http-echo behind it."""

    def __init__(self, binaries: Path, folder: Path, way: str, mode: str = "tcp", host: str = "127.0.0.1"):
        self.folder = Path(tempfile.mkdtemp(prefix="proxy-protocol-", dir=folder))
        self.folder.chmod(0o755)
        self.port, self.inner = free_port(), free_port()
        self.host = host
        make_certificate(self.folder)
        self.echo = Program(
            [str(echo_program(binaries)), "--port", str(self.inner), "--proxy-protocol", "--trusted-proxy", "127.0.0.1",
             "--verbose"], self.folder / "http-echo.log")
        tls = f"ssl crt {self.folder}/both.pem" if mode == "http" else ""
        bind = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        (self.folder / "haproxy.cfg").write_text(f"""
            defaults
                mode {mode}
                timeout connect 5s
                timeout client 30s
                timeout server 30s
            frontend in
                bind {bind} {tls}
                unique-id-format %[uuid()]
                default_backend out
            backend out
                server one 127.0.0.1:{self.inner} {way} check inter 100
            """.replace("\n            ", "\n"))
        try:
            self.echo.wait_for(self.inner)
            self.proxy = Program([HAProxy.path(), "-db", "-f", str(self.folder / "haproxy.cfg")],
                                 self.folder / "haproxy.log")
            self.proxy.wait_for(self.port, host)
        except BaseException:
            self.echo.stop()
            raise

    def stop(self) -> None:
        self.proxy.stop()
        self.echo.stop()

    def ask(self, source: str, fields: dict[str, str] | None = None, requests: int = 1, tls: bool = False) -> list[dict]:
        if tls:
            context = ssl.create_default_context(cafile=self.folder / "example.pem")
            context.check_hostname = False
            connection = http.client.HTTPSConnection(
                self.host, self.port, timeout=PATIENCE, source_address=(source, 0), context=context)
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE, source_address=(source, 0))
        try:
            answers = []
            for _ in range(requests):
                connection.request("GET", "/who?am=i", headers=fields or {})
                answers.append(json.load(connection.getresponse()))
            return answers
        finally:
            connection.close()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_client_is_whom_haproxy_names(binaries, folder, way):
    front = Front(binaries, folder, way)
    try:
        # A client on the machine has any address of 127.0.0.0/8.
        for source in ("127.0.0.5", "127.3.2.1"):
            # HAProxy passes the connection on as it is: a client's own field is not believed.
            answers = front.ask(source, {"X-Forwarded-For": "198.51.100.9"}, requests=3)
            assert [answer["client"] for answer in answers] == [source] * 3
        # The check of the backend, with a header that names nobody, has passed meanwhile.
        assert "is DOWN" not in front.proxy.text(), front.proxy.text()
    finally:
        front.stop()


def test_client_is_whom_haproxy_names_behind_its_tls(binaries, folder):
    front = Front(binaries, folder, WAYS["version 2 with TLS fields"], mode="http")
    try:
        assert [answer["client"] for answer in front.ask("127.0.0.7", requests=2, tls=True)] == ["127.0.0.7"] * 2
    finally:
        front.stop()


def test_client_of_the_sixth_version(binaries, folder):
    if not Path("/proc/net/if_inet6").exists():
        pytest.fail("this machine has no IPv6, not even ::1")
    front = Front(binaries, folder, "send-proxy-v2", host="::1")
    try:
        # HAProxy speaks to the server over IPv4, and of a client over IPv6.
        assert front.ask("::1")[0]["client"] == "::1"
    finally:
        front.stop()


def test_nobody_else_is_served(binaries, folder):
    front = Front(binaries, folder, "send-proxy")
    try:
        for source, sent in [
            ("127.0.0.1", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
            ("127.0.0.1", b"PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
            # No trusted proxy: what it says of itself does not matter.
            ("127.0.0.9", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        ]:
            with socket.create_connection(("127.0.0.1", front.inner), PATIENCE, source_address=(source, 0)) as stream:
                stream.sendall(sent)
                try:
                    assert stream.recv(100) == b""
                except ConnectionResetError:
                    pass
        log = front.echo.text()
        assert "refused by server.proxyProtocol" in log
        assert front.ask("127.0.0.5")[0]["client"] == "127.0.0.5"
    finally:
        front.stop()
