"""HAProxy with the PROXY protocol in front of the server: who the client is."""

import contextlib
import http.client
import json
import ssl
import tempfile
from pathlib import Path

import pytest

from patience import PATIENCE
from programs import Program, free_port
from proxies import HAProxy, make_certificate

TLS_FIELDS = "send-proxy-v2-ssl-cn proxy-v2-options crc32c,ssl,cert-cn,ssl-cipher,cert-sig,cert-key"
# What the line `server` of the backend says, by the name of the test.
WAYS = {
    "version 1": "send-proxy", "version 2": "send-proxy-v2", "version 2 with TLS fields": TLS_FIELDS,
    "version 2 with all its fields": "send-proxy-v2 proxy-v2-options crc32c,authority,unique-id",
}


class Front:
    """HAProxy that passes connections on, perhaps with TLS at its own side, and http-echo behind it."""

    def __init__(self, binaries: Path, folder: Path, way: str, tls: bool = False, host: str = "127.0.0.1"):
        self.folder = Path(tempfile.mkdtemp(prefix="proxy-protocol-", dir=folder))
        self.folder.chmod(0o755)
        self.port, self.inner = free_port(), free_port()
        self.host, self.tls = host, tls
        make_certificate(self.folder)
        self.echo = Program(
            [str(binaries / "http-echo"), "--port", str(self.inner), "--proxy-protocol", "--trusted-proxy", "127.0.0.1",
             "--verbose"], self.folder / "http-echo.log")
        bind = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        (self.folder / "haproxy.cfg").write_text(f"""
            defaults
                mode {"http" if tls else "tcp"}
                timeout connect 5s
                timeout client 30s
                timeout server 30s
            frontend in
                bind {bind} {f"ssl crt {self.folder}/both.pem" if tls else ""}
                unique-id-format %[uuid()]
                default_backend out
            backend out
                server one 127.0.0.1:{self.inner} {way} check inter 100
            """.replace("\n            ", "\n"))
        try:
            self.echo.wait_for(self.inner)
            self.proxy = Program(
                [HAProxy.path(), "-db", "-f", str(self.folder / "haproxy.cfg")], self.folder / "haproxy.log")
            self.proxy.wait_for(self.port, host)
        except BaseException:
            self.echo.stop()
            raise

    def stop(self) -> None:
        self.proxy.stop()
        self.echo.stop()

    def ask(self, source: str, fields: dict[str, str] | None = None, requests: int = 1) -> list[str]:
        """The client that http-echo sees for each of these requests on one connection."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE, source_address=(source, 0))
        with contextlib.closing(connection):
            connection.connect()
            if self.tls:
                context = ssl.create_default_context(cafile=self.folder / "example.pem")
                context.check_hostname = False
                connection.sock = context.wrap_socket(connection.sock)
            answers = []
            for _ in range(requests):
                connection.request("GET", "/who?am=i", headers=fields or {})
                answers.append(json.load(connection.getresponse())["client"])
            return answers


@pytest.fixture
def start(request, binaries, folder):
    def start(way: str, **options) -> Front:
        front = Front(binaries, folder, way, **options)
        request.addfinalizer(front.stop)
        return front

    return start


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_client_is_the_one_haproxy_names(start, way):
    front = start(way)
    # A client on the machine has any address of 127.0.0.0/8.
    for source in ("127.0.0.5", "127.3.2.1"):
        # HAProxy passes the connection on as it is: a client's own field is not believed.
        assert front.ask(source, {"X-Forwarded-For": "198.51.100.9"}, requests=3) == [source] * 3
    # The check of the backend, with a header that names nobody, has passed meanwhile.
    assert "is DOWN" not in front.proxy.text(), front.proxy.text()


def test_the_client_is_the_one_haproxy_names_after_tls(start):
    assert start(TLS_FIELDS, tls=True).ask("127.0.0.7", requests=2) == ["127.0.0.7"] * 2


def test_an_ipv6_client_is_named(start):
    if not Path("/proc/net/if_inet6").exists():
        pytest.fail("this machine has no IPv6, not even ::1")
    # HAProxy speaks to the server over IPv4, and of a client over IPv6.
    assert start("send-proxy-v2", host="::1").ask("::1") == ["::1"]
