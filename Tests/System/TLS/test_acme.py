"""docs/operate/network.md with an authority of one's own: a certificate by ACME, and its renewal while people are signed in."""

import json
import os
import re
import shutil
import socket
import ssl
import urllib.request
from pathlib import Path

import pytest
from cryptography import x509

from patience import PATIENCE, eventually
from processes import output
from programs import ROOT, Program, Site, free_port

PAGE = ROOT / "docs/operate/network.md"
HOST = "id.orchard.test"


class Pebble:
    """Let's Encrypt's test server: it asks the host for the answer to its challenge, and finds every host here."""

    def __init__(self, folder: Path, authority):
        chain, key = authority.issue("localhost").write(folder, "pebble")
        self.trust = authority.write_root(folder / "pebble-root.pem")
        api, management, names, self.http_port = (free_port() for _ in range(4))
        self.directory = f"https://localhost:{api}/dir"
        self.management = f"https://localhost:{management}"
        (folder / "pebble.json").write_text(json.dumps({"pebble": {
            "listenAddress": f"127.0.0.1:{api}", "managementListenAddress": f"127.0.0.1:{management}",
            "certificate": chain, "privateKey": key,
            "httpPort": self.http_port, "tlsPort": free_port(), "ocspResponderURL": "",
            "externalAccountBindingRequired": False}}))
        self.programs = [
            Program(["pebble-challtestsrv", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", f"127.0.0.1:{names}",
                     "-http01", "", "-https01", "", "-tlsalpn01", "", "-management", f"127.0.0.1:{free_port()}"],
                    folder / "names.log"),
            Program(["pebble", "-config", str(folder / "pebble.json"), "-dnsserver", f"127.0.0.1:{names}"],
                    folder / "pebble.log", {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"} | dict(os.environ))]
        self.context = ssl.create_default_context(cafile=self.trust)
        eventually(self.is_up, "the authority", self.programs[1].text)

    def is_up(self) -> bool:
        try:
            return urllib.request.urlopen(self.directory, context=self.context, timeout=PATIENCE).status == 200
        except OSError:
            return False

    def root(self) -> str:
        return urllib.request.urlopen(f"{self.management}/roots/0", context=self.context, timeout=PATIENCE).read().decode()

    def stop(self) -> None:
        for program in self.programs:
            program.stop()


@pytest.fixture
def pebble(tmp_path, authority):
    server = Pebble(tmp_path, authority)
    yield server
    server.stop()


@pytest.fixture
def hook(tmp_path) -> Path:
    """The page's own hook, for another folder and for the user that runs the tests."""
    text = re.search(r"```sh\n(#!/bin/sh\n# /etc/letsencrypt.*?)```", PAGE.read_text(), re.DOTALL)[1]
    assert text.count("-o bramley -g bramley ") == 2
    file = tmp_path / "hook"
    file.write_text(text.replace("-o bramley -g bramley ", "").replace("/etc/bramley/tls", str(tmp_path / "tls")))
    file.chmod(0o755)
    return file


def certbot(pebble: Pebble, folder: Path, hook: Path, renew: bool) -> None:
    """With the hook where the page puts it: certbot runs it only at renewals, and the first time it is run by hand."""
    config = folder / "certbot/config"
    hooks = config / "renewal-hooks/deploy"
    hooks.mkdir(parents=True, exist_ok=True)
    shutil.copy(hook, hooks / "bramley")
    places = ["--config-dir", str(config), "--work-dir", str(folder / "certbot/work"), "--logs-dir", str(folder / "certbot/logs")]
    what = ["renew", "--force-renewal", "--no-random-sleep-on-renew"] if renew else [
        "certonly", "--standalone", "-d", HOST, "--agree-tos", "--register-unsafely-without-email"]
    output("certbot", *what, *places, "--non-interactive", "--server", pebble.directory,
           "--http-01-port", str(pebble.http_port), env=os.environ | {"REQUESTS_CA_BUNDLE": str(pebble.trust)})
    if not renew:
        assert not (folder / "tls").exists()
        output(hook, env=os.environ | {"RENEWED_LINEAGE": str(config / "live" / HOST)})


def lego(pebble: Pebble, folder: Path, hook: Path, renew: bool) -> None:
    # "A script that does the same with $LEGO_CERT_PATH and $LEGO_CERT_KEY_PATH."
    script = folder / "lego-hook"
    script.write_text(
        "#!/bin/sh\nset -e\nRENEWED_LINEAGE=$(mktemp -d)\nexport RENEWED_LINEAGE\n"
        'cp "$LEGO_CERT_PATH" "$RENEWED_LINEAGE/fullchain.pem"\ncp "$LEGO_CERT_KEY_PATH" "$RENEWED_LINEAGE/privkey.pem"\n'
        f"exec {hook}\n")
    script.chmod(0o755)
    what = ["renew", "--days", "36500", "--no-random-sleep", "--renew-hook"] if renew else ["run", "--run-hook"]
    output("lego", "--path", folder / "lego", "--server", pebble.directory, "--accept-tos", "--email", "a@example.com",
           "--domains", HOST, "--http", "--http.port", f"127.0.0.1:{pebble.http_port}", *what, script,
           env=os.environ | {"LEGO_CA_CERTIFICATES": str(pebble.trust)})


def shown(site: Site, trust: str) -> int:
    context = ssl.create_default_context(cadata=trust)
    with socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE) as plain, \
            context.wrap_socket(plain, server_hostname=HOST) as connection:
        connection.sendall(f"GET /login HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(12) == b"HTTP/1.1 200"
        return x509.load_der_x509_certificate(connection.getpeercert(binary_form=True)).serial_number


@pytest.mark.parametrize("client", [certbot, lego])
def test_a_certificate_and_its_renewal(make_site, tmp_path, pebble, hook, client):
    folder = tmp_path / "tls"

    def modes() -> dict[str, int]:
        return {file.name: file.stat().st_mode & 0o777 for file in (folder, *folder.iterdir())}

    client(pebble, tmp_path, hook, renew=False)
    expected = {"tls": 0o700, "fullchain.pem": 0o600, "privkey.pem": 0o600}
    assert modes() == expected
    site = make_site({
        "publicURL": f"https://{HOST}", "server.certificateFile": str(folder / "fullchain.pem"),
        "server.privateKeyFile": str(folder / "privkey.pem")}, scheme="https")
    first, trust = shown(site, pebble.root()), pebble.root()
    client(pebble, tmp_path, hook, renew=True)
    assert modes() == expected
    eventually(lambda: shown(site, trust) != first, "the new certificate", site.server.text)
    assert "certificate reloaded" in site.server.text()
