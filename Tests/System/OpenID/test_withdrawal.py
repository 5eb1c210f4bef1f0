"""Withdrawn consent stops everything, as the table of docs/apps/openid.md says: on SQLite, and on three servers over
PostgreSQL of which one stands still meanwhile. Tests/Load/Chaos/withdrawals.py does it ten thousand times."""

import json
import socket
import ssl
import sys
import time

import pytest

from answering import Answering
from authority import Authority
from party import QUIET
from patience import PATIENCE, eventually
from postgres import Cluster
from programs import ROOT, free_port
from relay import Relay
from withdrawal import CALLBACK, CAUSES, Place, fresh_person, node_operator, table

sys.path.append(str(ROOT / "Tests/System/PostgreSQL"))
from nodes import House  # noqa: E402

TABLE = table()
ALLOWED = QUIET | {"openid.clientDocuments": ["localhost"]}


class Documents:
    """A server of one application's metadata document, with a certificate that Bramley trusts here."""

    def __init__(self, folder):
        authority = Authority()
        self.port = free_port()
        self.client_id = f"https://localhost:{self.port}/client.json"
        self.environment = {"SSL_CERT_FILE": str(authority.write_root(folder / "authority.pem"))}
        document = json.dumps({
            "client_id": self.client_id, "client_name": "Pocket agent", "redirect_uris": [CALLBACK],
            "token_endpoint_auth_method": "none"}).encode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("localhost").write(folder, "document"))
        answer = 200, {"Content-Type": "application/json"}, document
        self.end = Answering(lambda *_: answer, self.port, tls=context).stop
        # Takes the host out of the settings of every server, and starts them again.
        self.disallow = None


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    documents = Documents(tmp_path_factory.mktemp("documents"))
    yield documents
    documents.end()


@pytest.fixture(scope="module")
def one(make_shared_site, documents):
    """A server over SQLite."""
    site = make_shared_site(ALLOWED, start=False).start(documents.environment)
    place = Place(site, documents=documents)

    def disallow() -> None:
        site.stop()
        site.configure({"openid.clientDocuments": None})
        site.start(documents.environment)

    place.documents.disallow = disallow
    return place


@pytest.fixture(scope="module")
def three(binaries, tmp_path_factory, documents):
    """Three servers over PostgreSQL. Things are done at the first; the second stands still meanwhile."""
    cluster = Cluster()
    house = House(binaries, tmp_path_factory.mktemp("house"), cluster, 3, ALLOWED)
    for node in house.nodes:
        node.operator = node_operator(house, node)
        node.start(documents.environment)
    front = Relay(lambda _: socket.create_connection(("127.0.0.1", house.nodes[0].port)), house.site.port)
    place = Place(house.nodes[0], house.nodes[1:], documents)

    def disallow() -> None:
        for node in house.nodes:
            node.go_on()
            node.program.stop()
            node.change({"openid.clientDocuments": None})
            node.start(documents.environment)

    place.documents.disallow = disallow
    yield place
    front.stop()
    house.end()
    cluster.end()


def hold(place: Place, cause: str, stops=None) -> None:
    held, withdraw = CAUSES[cause](place, fresh_person(place))
    expected = TABLE[cause]
    before = held.states(place.site)
    assert set(before.values()) == {"stays"}, before
    if stops:
        stops.pause()
    try:
        withdraw()
    finally:
        if stops:
            stops.go_on()
    # Within a second: `make withdrawals` measures that, on a machine of its own.
    deadline = time.monotonic() + PATIENCE
    for server in place.places:
        states = held.states(server)
        while any(states[name] != expected[name] for name in states) and time.monotonic() < deadline:
            states = held.states(server)
        assert states == {name: expected[name] for name in states}, (cause, server.port)
    states = held.last_states(place.places[-1])
    assert states == {name: expected["Code" if name == "Device code" else name] for name in states}, cause


def restored(place: Place, cause: str) -> None:
    """What others need, after a service has gone or changed."""
    if cause.startswith("Service"):
        if cause.endswith("a scope"):
            place.operator.bramley("services", "delete", "notes", "--yes")
        place.service_secret = place.register_service()


def test_the_table_has_every_cause():
    assert set(TABLE) == set(CAUSES)


# The one that changes the settings comes last.
ORDER = sorted(CAUSES, key=lambda cause: cause.startswith("Host"))


@pytest.mark.parametrize("cause", ORDER)
def test_on_sqlite(one, cause):
    try:
        hold(one, cause)
    finally:
        restored(one, cause)


@pytest.mark.parametrize("cause", ORDER)
def test_on_three_servers_of_which_one_stood_still(three, cause):
    try:
        hold(three, cause, stops=three.places[1])
    finally:
        restored(three, cause)


def test_a_server_that_was_down_knows_it_when_it_starts(three):
    held, withdraw = CAUSES["End access"](three, fresh_person(three))
    other = three.places[2]
    other.program.stop()
    withdraw()
    other.start()
    eventually(lambda: held.states(other)["Access token"] == "ends", "the end of access")
    assert set(held.last_states(other).values()) == {"ends"}
