"""Sockets that systemd holds: sd_listen_fds(3)."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from programs import listens
from web import call


def listening(port: int, count: int = 1) -> list[socket.socket]:
    sockets = []
    for _ in range(count):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if count > 1:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.bind(("127.0.0.1", port))
        one.listen(1024)
        sockets.append(one)
    return sockets


# The loops are two: one socket for both, one for each, more than loops.
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_inherited_socket_is_served(make_service, count):
    service = make_service()
    sockets = listening(service.site.port, count)
    service.start(sockets={"visitors": sockets})
    for one in sockets:
        one.close()
    service.wait()
    # Enough connections for each socket of the group to have had some, and for none to wait in a queue for ever.
    assert {call(service.site, "GET", "/login").status for _ in range(60)} == {200}
    service.hand_over()
    assert {call(service.site, "GET", "/login").status for _ in range(60)} == {200}


def test_clients_wait_while_the_manager_restarts_the_server(make_service):
    service = make_service()
    sockets = listening(service.site.port)
    service.start(sockets={"visitors": sockets}).wait()
    service.end()
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(call, service.site, "GET", "/login", timeout=60) for _ in range(20)]
        service.start(sockets={"visitors": sockets})
    assert [answer.result().status for answer in waiting] == [200] * 20
    sockets[0].close()


def test_the_admin_socket_is_inherited_too(make_service):
    service = make_service()
    sockets = {"visitors": listening(service.site.port), "admin": listening(service.site.admin_port)}
    service.start(sockets=sockets).wait()
    assert service.site.admin("/readyz").status == 200


def test_another_address_than_the_configured_is_used_and_reported(make_service):
    service = make_service()
    configured, sockets = service.site.port, listening(0)
    port = sockets[0].getsockname()[1]
    service.start(sockets={"visitors": sockets})
    line = service.line("inherited socket used")
    assert f":{port}" in line and f":{configured}" in line and "server.port" in line
    service.line("listening")
    assert listens(port) and not listens(configured)


def refused(service, sockets) -> str:
    service.start(sockets=sockets)
    assert service.first.wait(timeout=60) == 1
    return service.text()


def test_inherited_sockets_that_do_not_listen_are_refused(make_service):
    assert "none of visitors, admin and redirects" in refused(make_service(), {"bramley.socket": listening(0)})
    datagrams, deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), socket.socket()
    deaf.bind(("127.0.0.1", 0))
    for sockets in ([datagrams], [deaf], listening(0) + listening(0)):
        assert "cannot be listened on" in refused(make_service(), {"visitors": sockets})
