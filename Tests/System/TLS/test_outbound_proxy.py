"""Out through a proxy: HTTPS_PROXY and NO_PROXY, as the commands and the server read them."""

import json
import os
import socket
import subprocess

import pytest

from relay import Relay
from secure_site import SecureSite

HOST = "id.orchard.test"


class Tunnels(Relay):
    """A proxy that opens tunnels, whatever the name, to this machine; it keeps what it was asked for."""

    def __init__(self):
        self.asked: list[str] = []
        super().__init__(self.tunnel)

    def tunnel(self, client: socket.socket) -> socket.socket | None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (piece := client.recv(4096)):
                return None
            head += piece
        line = head.split(b"\r\n")[0].decode()
        self.asked.append(line)
        server = socket.create_connection(("127.0.0.1", int(line.split()[1].rsplit(":", 1)[1])))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return server


@pytest.fixture
def tunnels():
    proxy = Tunnels()
    yield proxy
    proxy.stop()


@pytest.fixture
def site(make_secure_site, authority) -> SecureSite:
    """On a name that nothing but the proxy knows."""
    site = make_secure_site(pair=authority.issue(HOST, "localhost"), start=False)
    site.configure({"publicURL": f"https://{HOST}:{site.port}"})
    return site.start()


def run(site, *command: str, **environment: str) -> subprocess.CompletedProcess:
    return site.operator.run(*command, env=os.environ | environment, timeout=60)


def checks(site, **environment: str) -> dict[str, dict]:
    return {item["check"]: item for item in json.loads(run(site, "doctor", "--json", **environment).stdout)["items"]}


def test_https_uses_the_proxy_with_end_to_end_tls(site, tunnels):
    found = checks(site, HTTPS_PROXY=f"http://127.0.0.1:{tunnels.port}")
    assert found["tls"]["state"] == found["callback"]["state"] == found["notifications"]["state"] == "good"
    assert f"127.0.0.1:{tunnels.port}" in found["outbound_proxy"]["detail"]
    assert set(tunnels.asked) == {f"CONNECT {HOST}:{site.port} HTTP/1.1"}
    # Nothing that is plain, and nothing on this machine.
    assert "is reached without it" in found["outbound_proxy"]["detail"]


def test_no_proxy_makes_an_exception(site, tunnels):
    found = checks(site, HTTPS_PROXY=f"http://127.0.0.1:{tunnels.port}", NO_PROXY="orchard.test")
    assert found["public_url"]["finding"] == "public_url_unreachable" or "tls" not in found
    assert tunnels.asked == []
    assert "outbound_proxy" not in checks(site)
