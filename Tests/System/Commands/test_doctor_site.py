"""`bramley doctor`: the way visitors and Apple come, and what the proxy does to what passes."""

import http.client
import ipaddress
import socket
import ssl
import sys
from pathlib import Path

import pytest

from doctor_place import DOCUMENTED, NO_HTTP, ON_POSTGRESQL, met
from front import Authority, Front, Habits
from patience import PATIENCE
from programs import Program, free_port

# Takes the first bytes and resets the connection: SO_LINGER of nought.
RESET = """
import socket, struct, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    asking, _ = server.accept()
    with asking:
        asking.recv(1)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
"""


# The way to publicURL

def test_a_silent_public_url_is_reported(place):
    port = free_port()
    report = place.at(port)
    assert report.wrong == ["public_url_unreachable"]
    found = report.one("public_url_unreachable")
    assert "connection refused" in found["detail"]
    assert f"port {port}" in found["nextStep"]


def test_a_silent_admin_listener_is_reported(place):
    report = place.doctor(ADMIN_PORT=free_port())
    assert report.wrong == ["server_not_running"]
    assert "connection refused" in report.one("server_not_running")["detail"]


def test_a_public_url_that_does_not_resolve_is_reported(place):
    # A reserved name (RFC 2606 §2), and no name for tests: so Apple has to be simulated by the flag.
    report = place.doctor("--allow-simulated-apple", PUBLIC_URL="https://nobody.invalid")
    assert report.wrong == ["public_url_unreachable"]
    found = report.one("public_url_unreachable")
    assert "the name nobody.invalid does not resolve" in found["detail"]
    assert "record" in found["nextStep"] and "hairpin" not in found["nextStep"]


@pytest.mark.parametrize("certificate,finding", [
    ({"host": "localhost", "expired": True}, "tls_certificate_expired"),
    ({"host": "elsewhere.test"}, "tls_certificate_name"),
    ({"host": "localhost", "stranger": True}, "tls_certificate_untrusted"),
])
def test_an_untrusted_certificate_is_reported(place, certificate, finding):
    front = place.behind(place.authority.issue("bad", **certificate))
    report = place.at(front.port)
    front.stop()
    assert report.wrong == [finding]


def test_a_certificate_that_is_not_valid_yet_is_reported(place):
    """Issued by a machine whose clock is ahead, or looked at by one whose clock is behind."""
    front = place.behind(place.authority.issue("early", "localhost", early=True))
    report = place.at(front.port)
    front.stop()
    assert report.wrong == ["tls_certificate_untrusted"]
    assert "clock" in report.one("tls_certificate_untrusted")["nextStep"]


def test_a_cut_tls_handshake_is_reported(place, tmp_path):
    port = free_port()
    rude = Program([sys.executable, "-c", RESET, str(port)], tmp_path / "reset.log")
    rude.wait_for(port)
    report = place.at(port)
    rude.stop()
    assert report.wrong == ["tls_failed"]
    assert "connection reset by peer" in report.one("tls_failed")["detail"]


def test_a_missing_intermediate_certificate_is_reported(place):
    """The commonest mistake: the certificate alone, without the one between it and the authority."""
    folder = place.folder / "between"
    folder.mkdir()
    between = Authority(folder)
    front = Front(between, between.issue("leaf", "localhost"), target=place.site.port)
    report = place.at(front.port)
    front.stop()
    assert report.wrong == ["tls_certificate_untrusted"]
    assert "fullchain" in report.one("tls_certificate_untrusted")["nextStep"]


def test_an_outdated_tls_version_is_reported(place, tmp_path):
    port = free_port()
    old = Program(
        ["openssl", "s_server", "-accept", str(port), "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0", "-quiet",
         "-cert", str(place.folder / "good.pem"), "-key", str(place.folder / "good.key")], tmp_path / "s_server.log")
    old.wait_for(port)
    report = place.at(port)
    old.stop()
    assert report.wrong == ["tls_version"], old.text()


def test_plain_http_at_an_https_url_is_reported(place):
    report = place.at(place.site.port)
    assert report.wrong == ["tls_failed"]
    assert "does not speak TLS" in report.one("tls_failed")["detail"]


def test_another_protocol_behind_tls_is_reported(place, tmp_path):
    port = free_port()
    mail = Program(
        [sys.executable, "-c", NO_HTTP, str(port), str(place.folder / "good.pem"), str(place.folder / "good.key")],
        tmp_path / "no-http.log")
    mail.wait_for(port)
    report = place.at(port)
    mail.stop()
    assert report.wrong == ["public_url_elsewhere"], mail.text()
    assert f"port {port}" in report.one("public_url_elsewhere")["nextStep"]


def test_a_public_url_that_resolves_to_loopback_is_reported(place):
    host = socket.gethostname().lower()
    address = socket.gethostbyname(host)
    assert ipaddress.ip_address(address).is_private, f"this machine's own name leads to {address}"
    front = Front(place.authority, place.authority.issue("own-name", host), place.site.port, address)
    report = place.doctor("--allow-simulated-apple", PUBLIC_URL=f"https://{host}:{front.port}")
    front.stop()
    assert report.wrong == []
    assert report.one("public_url_private")["state"] == "unsure"


@pytest.mark.parametrize("answer,finding", [
    ((301, {"Location": "https://www.example.com/login"}), "public_url_redirects"),
    ((502, {}), "public_url_unavailable"),
    ((200, {"Content-Type": "text/html"}), "public_url_elsewhere"),
    ((401, {"WWW-Authenticate": "Basic"}), "public_url_elsewhere"),
])
def test_another_server_at_the_public_url_is_reported(place, answer, finding):
    place.front.habits.instead = lambda method, path: answer
    report = place.doctor()
    assert report.wrong == [finding]


def test_another_bramley_at_the_public_url_is_reported(place, make_site):
    """It has the same routes, and another sealing key."""
    place.front.target = make_site({"server.trustedProxies": ["127.0.0.2"]}, origin=place.site.origin).port
    try:
        assert place.doctor().wrong == ["public_url_elsewhere"]
    finally:
        place.front.target = place.site.port


def test_a_proxy_that_strips_the_path_is_reported(place):
    place.front.habits.path = lambda path: path.removeprefix("/id")
    report = place.doctor(PUBLIC_URL=place.site.origin + "/id")
    assert report.wrong == ["public_url_path_changed"]


# What the proxy does to what passes

@pytest.mark.parametrize("path,finding", [
    ("/apple/callback", "callback_blocked"), ("/apple/notifications", "notifications_blocked")])
def test_a_proxy_that_blocks_posts_is_reported(place, path, finding):
    place.front.habits.instead = lambda method, asked: (403, {}) if (method, asked) == ("POST", path) else None
    assert place.doctor().wrong == [finding]


def test_a_proxy_that_changes_posts_is_reported(place):
    place.front.habits.method = lambda method, path: "GET"
    report = place.doctor()
    assert report.wrong == ["callback_blocked", "notifications_blocked"]
    assert "arrives as GET" in report.one("callback_blocked")["detail"]


def without(name):
    return lambda fields: [pair for pair in fields if pair[0].lower() != name]


def test_the_probe_sends_its_cookies_in_one_field(place):
    """RFC 6265 §5.4: a second Cookie line is what some proxies drop or refuse, and then they would be blamed."""
    seen: list[list[str]] = []

    def note(fields):
        seen.append([value for name, value in fields if name.lower() == "cookie"])
        return fields

    place.front.habits.request = note
    assert place.doctor().wrong == []
    assert len(seen) == 4
    for cookies in seen:
        assert len(cookies) == 1 and cookies[0].count("=doctor") == 2 and cookies[0].count("; ") == 1, cookies


def test_a_proxy_that_drops_cookies_is_reported(place):
    place.front.habits.request = without("cookie")
    report = place.doctor()
    assert report.wrong == ["cookies_removed"]
    assert "from requests" in report.one("cookies_removed")["detail"]
    place.front.habits = Habits(answer=without("set-cookie"))
    report = place.doctor()
    assert report.wrong == ["cookies_removed"]
    assert "from answers" in report.one("cookies_removed")["detail"]


def test_a_proxy_that_changes_cookies_is_reported(place):
    place.front.habits.answer = lambda fields: [
        (name, value.replace("SameSite=None", "SameSite=Lax")) for name, value in fields]
    report = place.doctor()
    assert report.wrong == ["cookies_changed"]
    assert "SameSite=Lax" in report.one("cookies_changed")["detail"]


@pytest.mark.parametrize("name,value", [
    ("Content-Security-Policy", "default-src 'self'"), ("Cache-Control", "public, max-age=600"),
    ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin")])
def test_a_proxy_that_adds_headers_is_reported(place, name, value):
    place.front.habits.answer = lambda fields: [*fields, (name, value)]
    report = place.doctor()
    assert report.wrong == ["headers_changed"]
    assert value in report.one("headers_changed")["detail"]


def test_an_untrusted_proxy_is_reported(place):
    place.front.habits.source = "127.0.0.3"
    report = place.doctor()
    assert report.wrong == ["proxy_untrusted"]
    assert '"127.0.0.3" to server.trustedProxies' in report.one("proxy_untrusted")["nextStep"]


def test_a_proxy_without_forwarded_addresses_is_reported(place):
    place.front.habits.forwarded_for = None
    assert place.doctor().wrong == ["forwarded_for_missing"]


def test_a_proxy_that_passes_on_forged_addresses_is_reported(place):
    place.front.habits.passes_forwarded_for = True
    assert place.doctor().wrong == ["forwarded_for_forgeable"]


def test_a_proxy_that_appends_addresses_is_accepted(place):
    place.front.habits.forwarded_for = "192.0.2.123, {client}"
    assert place.doctor().wrong == []


def test_a_proxy_that_changes_the_host_is_reported(place):
    place.front.habits.host = "127.0.0.1:8080"
    report = place.doctor()
    assert report.wrong == []
    assert "127.0.0.1:8080" in report.one("host_changed")["detail"]


def visit(place, count: int, address: str | None, **habits) -> None:
    place.front.habits = Habits(forwarded_for=address, **habits)
    context = ssl.create_default_context(cafile=place.folder / "ca.pem")
    for _ in range(count):
        connection = http.client.HTTPSConnection("localhost", place.front.port, context=context, timeout=PATIENCE)
        connection.request("GET", "/login")
        assert connection.getresponse().status in (200, 429)
        connection.close()
    place.front.habits = Habits()


def test_all_visitors_at_one_address_are_reported(place):
    for address, state in [("10.1.2.3", "wrong"), ("8.8.8.7", "unsure")]:
        place.site.stop()
        place.site.start()
        # One person who tries things out makes fewer than two hundred.
        enough = 20 if state == "wrong" else 200
        visit(place, enough - 1, address)
        assert place.doctor().check("traffic") == "good"
        visit(place, 1, address)
        found = place.doctor().one("one_address")
        assert found["state"] == state
        assert address in found["detail"] and f"{enough} requests" in found["detail"]
    visit(place, 1, "8.8.8.8")
    assert place.doctor().check("traffic") == "good"


def test_all_visitors_at_an_untrusted_proxys_address_are_reported(place):
    """The commonest way to it: the proxy says who asks, and the server was never told to believe it."""
    place.site.stop()
    place.site.start()
    for number in range(20):
        visit(place, 1, f"203.0.113.{number}", source="127.0.0.3")
    place.front.habits.source = "127.0.0.3"
    report = place.doctor()
    assert report.wrong == ["one_address", "proxy_untrusted"]
    found = report.one("one_address")
    assert "127.0.0.3" in found["detail"] and "20 requests" in found["detail"] and "the proxy's own" in found["detail"]
    assert "server.trustedProxies" in found["nextStep"] and "set_real_ip_from" not in found["nextStep"]


def test_all_visitors_at_a_silent_proxys_address_are_reported(place):
    place.site.stop()
    place.site.start()
    visit(place, 20, None)
    place.front.habits.forwarded_for = None
    report = place.doctor()
    assert report.wrong == ["forwarded_for_missing", "one_address"]
    found = report.one("one_address")
    assert "the proxy's own" in found["detail"]
    assert "X-Forwarded-For" in found["nextStep"] and "set_real_ip_from" not in found["nextStep"]


# The page

def test_every_documented_finding_has_a_test(request):
    """In the last of the files about the doctor; whoever runs only some of their tests is not asked."""
    files = {path.name for path in Path(__file__).parent.glob("test_doctor*.py")}
    run = {item.path.name for item in request.session.items}
    chosen = request.config.getoption("keyword") or any("::" in argument for argument in request.config.args)
    assert met <= DOCUMENTED
    assert chosen or not files <= run or met == DOCUMENTED - ON_POSTGRESQL, DOCUMENTED - met
