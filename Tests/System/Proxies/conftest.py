import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import pytest

from application import Application
from client import Client
from programs import Site, write_private
from proxies import ALL, DOMAIN, RULES, free_ports


# What every proxy does in `make test`; all other cases go through the first of them there, and through each of them in
# `make test-long`.
EVERYWHERE = {
    "test_a_signed_out_visitor_returns_to_the_exact_page[{}-/report?q=%2Fadmin%2F&z=a%20b+c&u=%C3%A9%E6%9D%8E&&=&e]",
    "test_identity_arrives[{}]", "test_forged_identity_has_no_effect[{}-/]", "test_forged_description_has_no_effect[{}-0]",
    "test_public_and_optional_paths[{}]", "test_nobody_is_admitted_while_bramley_is_down[{}]",
    "test_the_description_is_the_proxys_own[{}-GET]"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    first, *others = ALL
    for item in items:
        parameters = getattr(item, "callspec", None) and item.callspec.params or {}
        name = parameters.get("place") or parameters.get("stand_in")
        if name in others and item.name not in {pattern.format(name) for pattern in EVERYWHERE}:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="module")
def folder():
    """Readable along its whole path: Apache's workers are another user."""
    path = Path(tempfile.mkdtemp(prefix="bramley-proxies-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


class Arrangement:
    """A proxy, Bramley with the simulated Apple behind it, and the application. `public_url`: if not beside it."""

    def __init__(self, kind, binaries: Path, folder: Path, settings: dict | None = None, public_url: str | None = None,
                 rules: dict = RULES):
        folder = Path(tempfile.mkdtemp(prefix="place-", dir=folder))
        folder.chmod(0o755)
        self.application = Application()
        self.ports = free_ports(0, self.application.port)
        write_private(folder / "rules.json", json.dumps(rules).encode())
        beside = {} if public_url else {
            "sessions.cookieDomain": DOMAIN,
            "login.allowedReturnOrigins": [f"https://app.{DOMAIN}:{self.ports.secure}"]}
        self.site = Site(binaries, folder, beside | {
            "server.trustedProxies": ["127.0.0.1"], "forwardAuth.rulesFile": str(folder / "rules.json"),
        } | (settings or {}), origin=public_url or f"https://id.{DOMAIN}:{self.ports.secure}")
        self.ports.bramley = self.site.port
        self.proxy = kind(folder, self.ports)
        self.apple = self.site.apple

    def start(self) -> "Arrangement":
        self.site.start()
        self.proxy.start()
        return self

    def client(self) -> Client:
        return Client(self.proxy.folder, self.ports.secure)

    def signed_in(self, person: str = "ada") -> Client:
        client = self.client()
        client.sign_in(self.apple, person)
        return client

    def end(self) -> None:
        self.proxy.stop()
        self.site.end()
        self.application.stop()


@pytest.fixture
def arrange(request, binaries, folder):
    """Starts an arrangement of a test's own: of a kind of proxy, with these settings besides."""
    return lambda kind, settings: arranged(request, kind, binaries, folder, settings)


def arranged(request, *arguments) -> Arrangement:
    """A new one, which ends with the fixture that asks for it."""
    arrangement = Arrangement(*arguments)
    request.addfinalizer(arrangement.end)
    return arrangement.start()


@contextlib.contextmanager
def in_front_of(kind, folder: Path, fields: dict | None = None):
    """A proxy with two applications behind it, one of which stands in for Bramley: (client, stand-in, application)."""
    bramley, application = Application(fields), Application()
    proxy = kind(folder, free_ports(bramley.port, application.port))
    try:
        proxy.start()
        yield Client(proxy.folder, proxy.ports.secure), bramley, application
    finally:
        for one in (proxy, bramley, application):
            one.stop()


@pytest.fixture(scope="module", params=list(ALL))
def place(request, binaries, folder):
    return arranged(request, ALL[request.param], binaries, folder)


@pytest.fixture(scope="module", params=list(ALL))
def stand_in(request, folder):
    """A proxy with a stand-in for Bramley that records its requests: (proxy's client, stand-in, application)."""
    with in_front_of(ALL[request.param], folder, {
            "X-Auth-Request-User": "usr_x", "X-Auth-Request-Email": "", "X-Auth-Request-Preferred-Username": "usr_x",
            "X-Auth-Request-Name": "Zo%C3%AB", "X-Auth-Request-Groups": ""}) as parts:
        yield parts
