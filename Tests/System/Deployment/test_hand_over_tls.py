"""SIGUSR2 with a certificate: connections of HTTP/2 and handshakes go on without a request lost."""

import pytest

from authority import Authority
from load import hand_over_under
from programs import listens
from secure_load import HTTP2, SecureLoad
from secure_site import SecureSite
from test_service_manager import listening
from web import call


@pytest.fixture
def service(make_service, tmp_path, monkeypatch):
    authority = Authority()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.write_root(tmp_path / "trusted.pem")))
    return make_service(
        {"server.drainTimeout": 10}, kind=SecureSite, authority=authority, issued=authority.issue("localhost"))


def test_under_load_no_request_fails(service):
    service.start().wait()
    hand_over_under(SecureLoad(service.site), service, 3, {"http2": 500, "kept": 200, "fresh": 30, "sign-ins": 3})


def test_streams_in_progress_are_answered_before_goaway(service):
    service.start().wait()
    with SecureLoad(service.site) as load:
        cookie = f"__Host-bramley={load.session}"
    idle, busy = HTTP2(service.site), HTTP2(service.site)
    assert idle.finish([idle.ask("/auth/verify", cookie)]) == 1
    assert busy.finish([busy.ask("/auth/verify", cookie)]) == 1
    service.hand_over()
    # One that asks right then is answered, or told that nothing was done and to ask elsewhere.
    stream = busy.ask("/auth/verify", cookie)
    assert busy.finish([stream]) == 1 or stream in busy.refused or (busy.last or 0) < stream
    # And one that is silent is told, by the first process itself.
    while idle.last is None:
        idle.read()
    assert idle.last >= 1
    fresh = HTTP2(service.site)
    assert fresh.finish([fresh.ask("/auth/verify", cookie)]) == 1
    for connection in (idle, busy, fresh):
        connection.close()


def redirected(service, port: int) -> tuple[int, str]:
    answer = call(port, "GET", "/login?return_to=%2Faccount", {"Host": "localhost"})
    return answer.status, answer.location


@pytest.mark.parametrize("count", [1, 3])
def test_the_redirecting_socket_is_inherited_and_handed_over(service, count):
    site = service.site
    sockets = {"visitors": listening(site.port), "redirects": listening(site.redirect_port, count)}
    service.start(sockets=sockets)
    for group in sockets.values():
        for one in group:
            one.close()
    service.wait()
    expected = 301, f"{site.origin}/login?return_to=%2Faccount"
    # Enough connections for each socket of the group to have had some.
    assert [redirected(service, site.redirect_port) for _ in range(20)] == [expected] * 20
    service.hand_over()
    assert [redirected(service, site.redirect_port) for _ in range(20)] == [expected] * 20
    assert "inherited socket used" not in service.text()


def test_a_redirecting_socket_at_another_address_is_used_and_reported(service):
    site = service.site
    elsewhere = listening(0)
    port = elsewhere[0].getsockname()[1]
    service.start(sockets={"redirects": elsewhere}).wait()
    line = service.line("inherited socket used")
    assert "server.redirectPort" in line and f":{port}" in line and f":{site.redirect_port}" in line
    assert redirected(service, port)[0] == 301
    assert not listens(site.redirect_port)


def test_an_unused_redirecting_socket_is_reported(make_service):
    service = make_service()
    unwanted = listening(0)
    service.start(sockets={"visitors": listening(service.site.port), "redirects": unwanted}).wait()
    service.line("inherited socket closed")
    port = unwanted[0].getsockname()[1]
    unwanted[0].close()
    assert not listens(port)
