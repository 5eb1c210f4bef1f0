"""`bramley doctor`: the way visitors and Apple come, with its own certificate or a proxy, and what that changes."""

import dataclasses
import ipaddress
import socket
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from authority import Issued, self_signed
from doctor_place import DOCUMENTED, NO_HTTP, ON_POSTGRESQL, Place, listening, met
from front import Front, Habits
from patience import eventually
from programs import free_port
from secure_site import SecureSite
from web import call


class OwnCertificate(Place):
    """A server with TLS of its own and no proxy; beside it the authority that everybody believes here."""

    def __init__(self, site: SecureSite):
        self.site, self.folder, self.bramley = site, site.folder, site.binaries / "bramley"


@pytest.fixture
def own(make_site, doctor_place):
    authority = doctor_place.authority
    return OwnCertificate(make_site(
        {"server.redirectPort": None}, SecureSite, authority=authority, issued=authority.issue("localhost")))


def test_a_listener_with_the_configured_certificate_is_accepted(own):
    report = own.doctor()
    assert report.wrong == []
    certificate, = report.about("certificate", "good")
    assert "uses the certificate of the files, for localhost, valid for" in certificate["detail"]
    # And the way from outside is whole: no proxy is missed.
    assert report.check("proxy") == "good"
    assert report.check("tls") == report.check("callback") == "good"
    # No app is listed here, which is a doubt of its own.
    assert sorted(item["state"] for item in report.about("notifications")) == ["good", "unsure"]
    assert report.one("notifications_unlisted")["state"] == "unsure"


def test_a_listener_with_another_certificate_is_reported(own, doctor_place):
    # What the running server refuses is not an error in a configuration.
    own.site.put(doctor_place.authority.issue("localhost", start=-3, days=2))
    eventually(lambda: "reason=expired" in own.site.server.text(), "the refusal", own.site.server.text)
    report = own.doctor()
    assert "certificate not reloaded" in report.one("certificate_stale")["nextStep"]
    assert "expired at" in report.one("certificate_doubtful")["detail"]


def test_a_listener_without_tls_is_reported(own):
    own.site.stop()
    assert "connection refused" in own.doctor().one("certificate_not_shown")["detail"]
    with listening(own.folder, sys.executable, "-c", NO_HTTP, "PORT", port=own.site.port):
        assert own.doctor().one("certificate_not_shown")


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


@pytest.mark.parametrize("settings, finding", [
    ({"PUBLIC_URL": "https://localhost:{port}"}, "public_url_unreachable"),
    ({"ADMIN_PORT": "{port}"}, "server_not_running"),
    ({"APPLE_ENDPOINT": "http://127.0.0.1:{port}"}, "apple_unreachable")])
def test_a_closed_port_is_reported(place, settings, finding):
    port = str(free_port())
    found = place.doctor(**{name: value.format(port=port) for name, value in settings.items()}).only(finding)
    assert "connection refused" in found["detail"]
    assert "ADMIN_PORT" in settings or f"port {port}" in found["nextStep"]
    assert ("Start apple-simulator." in found["nextStep"]) == ("APPLE_ENDPOINT" in settings)


@pytest.mark.parametrize("key, finding, step, no_step", [
    # A reserved name (RFC 2606 §2), and no name for tests.
    ("PUBLIC_URL", "public_url_unreachable", "record", "hairpin"),
    ("APPLE_ENDPOINT", "apple_unreachable", "getent ahosts nobody.invalid", "firewall")])
def test_a_name_that_does_not_resolve_is_reported(place, key, finding, step, no_step):
    found = place.doctor(**{key: "https://nobody.invalid"}).only(finding)
    assert "the name nobody.invalid does not resolve" in found["detail"]
    assert step in found["nextStep"] and no_step not in found["nextStep"]


def without_intermediate(authority) -> Issued:
    issued = authority.issue("localhost")
    return dataclasses.replace(issued, chain=issued.certificate.public_bytes(serialization.Encoding.PEM))


@pytest.mark.parametrize("issue, finding, step", [
    (lambda authority: authority.issue("localhost", start=-3, days=2), "tls_certificate_expired", ""),
    (lambda authority: authority.issue("elsewhere.test"), "tls_certificate_name", ""),
    (lambda authority: self_signed("localhost"), "tls_certificate_untrusted", ""),
    # Issued by a machine whose clock is ahead, or looked at by one whose clock is behind.
    (lambda authority: authority.issue("localhost", start=0.5), "tls_certificate_untrusted", "clock"),
    # The most common mistake: the certificate alone, without the one between it and the authority.
    (without_intermediate, "tls_certificate_untrusted", "fullchain"),
])
def test_an_untrusted_certificate_is_reported(place, issue, finding, step):
    report = place.shown(issue(place.authority))
    assert step in report.only(finding)["nextStep"]
    # The rest is looked at all the same, and says how.
    for check in ("public_url", "callback", "cookies", "headers"):
        assert report.check(check) == "good"
        assert report.about(check)[0]["detail"].endswith("The certificate was not verified for this.")
    assert report.about("tls", "good") == []


@pytest.mark.parametrize("command, finding, words", [
    ([sys.executable, "-c", RESET, "PORT"], "tls_failed", "connection reset by peer"),
    # Another protocol behind TLS.
    ([sys.executable, "-c", NO_HTTP, "PORT", "CERTIFICATE", "KEY"], "public_url_elsewhere", "port {port}"),
    (["openssl", "s_server", "-accept", "PORT", "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0", "-quiet",
      "-cert", "CERTIFICATE", "-key", "KEY"], "tls_version", ""),
])
def test_another_server_is_reported(place, tmp_path, command, finding, words):
    files = dict(zip(("CERTIFICATE", "KEY"), place.certificate))
    with listening(tmp_path, *[files.get(word, word) for word in command]) as port:
        found = place.at(port).only(finding)
    assert words.format(port=port) in f"{found['detail']} {found['nextStep']}"


def test_plain_http_at_an_https_url_is_reported(place):
    assert "does not speak TLS" in place.at(place.site.port).only("tls_failed")["detail"]


def test_a_public_url_that_resolves_to_loopback_is_reported(place):
    host = socket.gethostname().lower()
    address = socket.gethostbyname(host)
    assert ipaddress.ip_address(address).is_private, f"this machine's own name leads to {address}"
    front = Front(place.authority.issue(host).write(place.folder, "own-name"), place.site.port, address)
    report = place.doctor(PUBLIC_URL=f"https://{host}:{front.port}")
    front.stop()
    assert report.doubt("public_url_private")["state"] == "unsure"
    # On a real site, a simulated Apple is named.
    assert {found["finding"] for found in report.items if found["about"] == "apple.endpoint"} == {"configuration_doubtful"}


def test_another_bramley_at_the_public_url_is_reported(place, make_site):
    """It has the same routes, and another sealing key."""
    place.front.target = make_site({"server.trustedProxies": ["127.0.0.2"]}, origin=place.site.origin).port
    try:
        assert place.doctor().wrong == ["public_url_elsewhere"]
    finally:
        place.front.target = place.site.port


def test_a_proxy_that_strips_the_path_is_reported(place):
    place.front.habits.path = lambda path: path.removeprefix("/id")
    assert place.doctor(PUBLIC_URL=place.site.origin + "/id").wrong == ["public_url_path_changed"]


def answers(status: int, **fields: str):
    return {"instead": lambda method, path: (status, {name.replace("_", "-"): fields[name] for name in fields})}


def blocks_posts(path: str):
    return {"instead": lambda method, asked: (403, {}) if (method, asked) == ("POST", path) else None}


def adds(name: str, value: str):
    return {"answer": lambda fields: [*fields, (name, value)]}


def without(name):
    return lambda fields: [pair for pair in fields if pair[0].lower() != name]


def test_the_probe_sends_its_cookies_in_one_field(place):
    """RFC 6265 §5.4: a second Cookie line is what some proxies drop or refuse, and then they would be blamed."""
    seen: list[list] = []
    place.front.habits.request = lambda fields: seen.append(fields) or fields
    assert place.doctor().wrong == []
    assert len(seen) == 4
    for fields in seen:
        cookie, = (value for name, value in fields if name.lower() == "cookie")
        assert cookie.count("=doctor") == 2 and cookie.count("; ") == 1, cookie


@pytest.mark.parametrize("habits, wrong, words", [
    # Another server at publicURL.
    (answers(301, Location="https://www.example.com/login"), ["public_url_redirects"], ""),
    (answers(502), ["public_url_unavailable"], ""),
    (answers(200, Content_Type="text/html"), ["public_url_elsewhere"], ""),
    (answers(401, WWW_Authenticate="Basic"), ["public_url_elsewhere"], ""),
    (blocks_posts("/apple/callback"), ["callback_blocked"], ""),
    (blocks_posts("/apple/notifications"), ["notifications_blocked"], ""),
    ({"method": lambda method, path: "GET"}, ["callback_blocked", "notifications_blocked"], "arrives as GET"),
    ({"request": without("cookie")}, ["cookies_removed"], "from requests"),
    ({"answer": without("set-cookie")}, ["cookies_removed"], "from answers"),
    ({"answer": lambda fields: [(name, value.replace("SameSite=None", "SameSite=Lax")) for name, value in fields]},
     ["cookies_changed"], "SameSite=Lax"),
    (adds("Content-Security-Policy", "default-src 'self'"), ["headers_changed"], "default-src 'self'"),
    (adds("Cache-Control", "public, max-age=600"), ["headers_changed"], "public, max-age=600"),
    (adds("Referrer-Policy", "no-referrer"), ["headers_changed"], "no-referrer"),
    (adds("Cross-Origin-Opener-Policy", "same-origin"), ["headers_changed"], "same-origin"),
    ({"source": "127.0.0.3"}, ["proxy_untrusted"], '"127.0.0.3" to server.trustedProxies'),
    ({"forwarded_for": None}, ["forwarded_for_missing"], ""),
    ({"passes_forwarded_for": True}, ["forwarded_for_forgeable"], ""),
    ({"forwarded_for": "192.0.2.123, {client}"}, [], ""),
])
def test_changes_by_a_proxy_are_reported(place, habits, wrong, words):
    place.front.habits = Habits(**habits)
    report = place.doctor()
    assert report.wrong == wrong
    assert all(words in f"{found['detail']} {found['nextStep']}" for found in map(report.one, wrong[:1]))


def test_a_proxy_that_changes_the_host_is_reported(place):
    place.front.habits.host = "127.0.0.1:8080"
    assert "127.0.0.1:8080" in place.doctor().doubt("host_changed")["detail"]


def visit(place, count: int, address: str | None, **habits) -> None:
    place.front.habits = Habits(forwarded_for=address, **habits)
    # The place's authority is trusted by its environment.
    for _ in range(count):
        assert call(place.site.origin, "GET", "/login").status in (200, 429)
    place.front.habits = Habits()


def test_all_visitors_at_one_address_are_reported(place):
    for address, state in [("10.1.2.3", "wrong"), ("8.8.8.7", "unsure")]:
        place.site.restart()
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


@pytest.mark.parametrize("forwarded, source, wrong, words, step", [
    # The most common cause: the proxy says who asks, and the server was never told to believe it.
    ("203.0.113.{number}", "127.0.0.3", "proxy_untrusted", ["127.0.0.3", "20 requests"], "server.trustedProxies"),
    (None, "127.0.0.2", "forwarded_for_missing", [], "X-Forwarded-For"),
])
def test_all_visitors_at_the_proxys_own_address_are_reported(place, forwarded, source, wrong, words, step):
    place.site.restart()
    for number in range(20):
        visit(place, 1, forwarded and forwarded.format(number=number), source=source)
    place.front.habits = Habits(source=source, forwarded_for=forwarded and "{client}")
    report = place.doctor()
    assert report.wrong == sorted(["one_address", wrong])
    found = report.one("one_address")
    assert all(word in found["detail"] for word in ["the proxy's own", *words])
    assert step in found["nextStep"] and "set_real_ip_from" not in found["nextStep"]


def test_every_documented_finding_has_a_test(request):
    """In the last file about the doctor; skipped when only some of its tests run."""
    files = {path.name for path in Path(__file__).parent.glob("test_doctor*.py")}
    run = {item.path.name for item in request.session.items}
    chosen = request.config.getoption("keyword") or any("::" in argument for argument in request.config.args)
    assert met <= DOCUMENTED
    assert chosen or not files <= run or met == DOCUMENTED - ON_POSTGRESQL, DOCUMENTED - met
