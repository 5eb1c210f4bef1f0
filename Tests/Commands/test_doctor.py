"""`bramley doctor`: every kind of finding of docs/doctor.md, each from a fault that is really there."""

import http.client
import ipaddress
import re
import shutil
import socket
import sqlite3
import ssl
import time
import urllib.parse
import urllib.request

import pytest

from doctor_place import DOCUMENTED, Place, met
from front import AppleAnswers, Authority, Front, Habits
from patience import PATIENCE
from programs import KEY_ID, SERVICES_ID, Program, Site, free_port, write_private


@pytest.fixture(scope="module")
def shared(binaries, tmp_path_factory):
    place = Place(binaries, tmp_path_factory.mktemp("doctor"))
    yield place
    place.end()


@pytest.fixture
def place(shared):
    yield shared
    shared.front.habits = Habits()
    shared.site.apple.call("POST", "faults/reset")


# All is well

def test_nothing_is_wrong(place):
    report = place.doctor()
    assert report.wrong == []
    # What no program can know is said as well.
    assert report.kinds == {"client_inconclusive", "no_notification", "public_url_for_tests"}
    for check in ("database", "server", "apple_key_set", "clock", "apple_key", "tls", "callback", "notifications",
                  "cookies", "headers", "proxy", "traffic"):
        assert report.check(check) == "good", check
    inconclusive = report.one("client_inconclusive")
    assert SERVICES_ID in inconclusive["about"] and KEY_ID in inconclusive["about"]
    assert "invalid_grant" in inconclusive["detail"]


def test_it_changes_nothing(place):
    def rows():
        with sqlite3.connect(place.folder / "data/bramley.db") as database:
            tables = ("user", "session", "event", "notification", "first_consent", "used_attempt", "revocation")
            return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables}

    before, log = rows(), len(place.site.server.text().splitlines())
    place.doctor()
    assert rows() == before
    lines = place.site.server.text().splitlines()[log:]
    assert not [line for line in lines if "refused" in line or "failed" in line], lines


def test_text_for_people(place):
    place.fault("token", {"error": "invalid_client"})
    run = place.run()
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    assert lines[-1].startswith("1 wrong, ")
    wrong = [number for number, line in enumerate(lines) if line.startswith("wrong   client ")]
    assert len(wrong) == 1
    assert lines[wrong[0] + 1].startswith("        next: ")
    assert all(line.isprintable() for line in lines)


# What is here

def test_a_configuration_that_does_not_hold(place):
    report = place.doctor(SERVER_PORT=0, ACCESS_SIGN_UP="maybe")
    assert report.wrong == ["configuration_refused", "configuration_refused"]
    assert {item["about"] for item in report.items} >= {"server.port", "access.signUp"}


def test_a_configuration_others_can_read(place, tmp_path):
    copy = tmp_path / "config.json"
    shutil.copy(place.folder / "config.json", copy)
    copy.chmod(0o640)
    report = place.doctor("--config", str(copy))
    assert report.wrong == []
    assert "chmod 600" in report.one("configuration_doubtful")["nextStep"]


def test_a_key_that_is_none(place, tmp_path):
    write_private(tmp_path / "AuthKey.p8", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    report = place.doctor(APPLE_PRIVATE_KEY_FILE=tmp_path / "AuthKey.p8")
    assert report.wrong == ["apple_key_unusable"]
    assert report.one("apple_key_unusable")["about"] == "apple.privateKeyFile"


def test_a_key_under_another_keys_name(place, tmp_path):
    named = tmp_path / "AuthKey_AAAAAAAAAA.p8"
    shutil.copy(place.folder / "AuthKey.p8", named)
    report = place.doctor(APPLE_PRIVATE_KEY_FILE=named)
    assert report.wrong == []
    assert "AAAAAAAAAA" in report.one("apple_key_id_doubtful")["nextStep"]


def test_no_database_and_no_server(place, tmp_path):
    report = place.doctor(STORAGE_DIRECTORY=tmp_path / "data", ADMIN_PORT=free_port())
    assert report.wrong == ["database_missing", "server_not_running"]
    # Without the sealing key nobody can tell who answers, and nothing is made.
    assert not (tmp_path / "data").exists()
    assert report.check("tls") == "good"


def test_another_sealing_key(place):
    report = place.doctor(SECRETS_SEALING_KEY="ab" * 32)
    assert report.wrong == ["database_unusable"]
    assert "sealing key" in report.one("database_unusable")["detail"]


def test_a_database_that_takes_no_writes(place):
    with sqlite3.connect(place.folder / "data/bramley.db", isolation_level=None) as database:
        database.execute("BEGIN IMMEDIATE")
        report = place.doctor()
        database.execute("ROLLBACK")
    assert report.wrong in (["server_not_ready"], ["server_not_running"]), report.items
    assert "does not take writes" in report.one("server_not_ready")["detail"]


# Apple

def test_apple_away(place):
    report = place.doctor(APPLE_ENDPOINT=f"http://127.0.0.1:{free_port()}")
    assert report.wrong == ["apple_unreachable"]


@pytest.mark.parametrize("fault", [{"close": "half"}, {"close": "start"}])
def test_apple_breaks_off(place, fault):
    place.fault("keys", fault)
    assert place.doctor().wrong == ["apple_unreachable"]


def test_apple_with_a_strangers_certificate(place):
    front = place.behind(place.authority.issue("strange-apple", "localhost", stranger=True))
    report = place.doctor(APPLE_ENDPOINT=f"https://localhost:{front.port}")
    front.stop()
    assert report.wrong == ["apple_tls"]


@pytest.mark.parametrize("fault", [
    {"body": "html"}, {"status": 503}, {"body": {"text": '{"keys":[]}'}, "contentType": "application/json"}])
def test_no_key_set(place, fault):
    place.fault("keys", fault)
    assert "apple_key_set_unusable" in place.doctor().wrong


@pytest.fixture
def apple(place):
    with urllib.request.urlopen(f"{place.site.apple.origin}/auth/keys", timeout=PATIENCE) as answer:
        apple = AppleAnswers(answer.read())
    yield apple
    apple.stop()


@pytest.mark.parametrize("offset,words", [(-3600, "3600 s ahead of"), (90, "90 s behind"), (-45, "45 s ahead of")])
def test_a_clock_that_is_off(place, apple, offset, words):
    apple.date_offset = offset
    report = place.doctor(APPLE_ENDPOINT=apple.origin)
    assert report.wrong == ["clock_skewed"]
    number = int(words.split()[0])
    said = re.search(r"(\d+) s (ahead of|behind)", report.one("clock_skewed")["detail"])
    assert said and said[2] == words.split(" ", 2)[2]
    # At worst half of the ten seconds an answer may take, and half a second.
    assert abs(int(said[1]) - number) <= 6


@pytest.mark.parametrize("offset", [0, 20, -20])
def test_a_clock_that_will_do(place, apple, offset):
    apple.date_offset = offset
    assert place.doctor(APPLE_ENDPOINT=apple.origin).check("clock") == "good"


def test_no_date(place, apple):
    apple.date_offset = None
    report = place.doctor(APPLE_ENDPOINT=apple.origin)
    assert report.wrong == []
    assert report.one("clock_unknown")["state"] == "unsure"


def test_what_the_probe_sends(place, apple):
    place.doctor(APPLE_ENDPOINT=apple.origin, APPLE_BUNDLE_IDS="com.example.app")
    web, app = [dict(urllib.parse.parse_qsl(body)) for body in apple.seen]
    assert web["client_id"] == SERVICES_ID and app["client_id"] == "com.example.app"
    assert web["redirect_uri"] == place.site.url("/apple/callback")
    # An app's exchange names no redirect URI.
    assert set(app) == {"client_id", "client_secret", "code", "grant_type"}
    assert web["grant_type"] == app["grant_type"] == "authorization_code"


def test_every_client_refused(place):
    place.fault("token", {"error": "invalid_client"})
    report = place.doctor(APPLE_BUNDLE_IDS="com.example.app")
    assert report.wrong == ["client_refused", "client_refused"]
    steps = {item["nextStep"] for item in report.items if item["finding"] == "client_refused"}
    assert all(KEY_ID in step and "not revoked" in step for step in steps)


def test_one_client_of_two_refused(place):
    place.fault("token", {"error": "invalid_client", "remaining": 1})
    report = place.doctor(APPLE_BUNDLE_IDS="com.example.app")
    refused = report.one("client_refused")
    assert SERVICES_ID in refused["about"]
    # The key works for the other: it is no suspect.
    assert "The key is good" in refused["nextStep"] and "TEAM123456" in refused["nextStep"]
    assert "com.example.app" in report.one("client_inconclusive")["about"]


def test_one_key_of_two_refused(place, tmp_path, key):
    """Each is asked about alone: the one that works does not answer for the other."""
    write_private(tmp_path / "next.p8", key)
    place.fault("token", {"error": "invalid_client", "remaining": 1})
    report = place.doctor(APPLE_NEXT_KEY_ID="NEXTKEY001", APPLE_NEXT_PRIVATE_KEY_FILE=tmp_path / "next.p8")
    assert KEY_ID in report.one("client_refused")["about"]
    assert "NEXTKEY001" in report.one("client_inconclusive")["about"]
    assert report.wrong == ["client_refused"]


def test_an_unexpected_word(place):
    place.fault("token", {"error": "invalid_request"})
    report = place.doctor()
    assert report.wrong == []
    assert "invalid_request" in report.one("client_unexpected")["detail"]


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 429}, {"body": "html"}, {"close": "half"}])
def test_no_answer_from_the_token_endpoint(place, fault):
    place.fault("token", fault)
    assert place.doctor().wrong == ["client_unanswered"]


# The way to publicURL

def test_nobody_at_the_address(place):
    report = place.at(free_port())
    assert report.wrong == ["public_url_unreachable"]


def test_a_name_that_is_none(place):
    # A reserved name (RFC 2606 §2), and no name for tests: so Apple has to be simulated by the flag.
    report = place.doctor("--allow-simulated-apple", PUBLIC_URL="https://nobody.invalid")
    assert report.wrong == ["public_url_unreachable"]
    assert "does not resolve" in report.one("public_url_unreachable")["detail"]


@pytest.mark.parametrize("certificate,finding", [
    ({"host": "localhost", "expired": True}, "tls_certificate_expired"),
    ({"host": "elsewhere.test"}, "tls_certificate_name"),
    ({"host": "localhost", "stranger": True}, "tls_certificate_untrusted"),
])
def test_a_certificate_that_proves_nothing(place, certificate, finding):
    front = place.behind(place.authority.issue("bad", **certificate))
    report = place.at(front.port)
    front.stop()
    assert report.wrong == [finding]


def test_an_intermediate_that_is_not_sent(place):
    """The commonest mistake: the certificate alone, without the one between it and the authority."""
    folder = place.folder / "between"
    folder.mkdir()
    between = Authority(folder)
    front = Front(between, between.issue("leaf", "localhost"), target=place.site.port)
    report = place.at(front.port)
    front.stop()
    assert report.wrong == ["tls_certificate_untrusted"]
    assert "fullchain" in report.one("tls_certificate_untrusted")["nextStep"]


def test_a_proxy_of_the_last_century(place, tmp_path):
    port = free_port()
    old = Program(
        ["openssl", "s_server", "-accept", str(port), "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0", "-quiet",
         "-cert", str(place.folder / "good.pem"), "-key", str(place.folder / "good.key")], tmp_path / "s_server.log")
    old.wait_for(port)
    report = place.at(port)
    old.stop()
    assert report.wrong == ["tls_version"], old.text()


def test_no_tls_where_it_should_be(place):
    report = place.at(place.site.port)
    assert report.wrong == ["tls_failed"]


def test_a_name_that_leads_into_this_machine_alone(place):
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
def test_somebody_else_answers(place, answer, finding):
    place.front.habits.instead = lambda method, path: answer
    report = place.doctor()
    assert report.wrong == [finding]


def test_another_bramley(place, binaries, tmp_path):
    """It has the same routes, and another sealing key."""
    other = Site(binaries, tmp_path, {"server.trustedProxies": ["127.0.0.2"]}, origin=place.site.origin).start()
    place.front.target = other.port
    try:
        assert place.doctor().wrong == ["public_url_elsewhere"]
    finally:
        place.front.target = place.site.port
        other.end()


def test_a_proxy_that_strips_the_path(place):
    place.front.habits.path = lambda path: path.removeprefix("/id")
    report = place.doctor(PUBLIC_URL=place.site.origin + "/id")
    assert report.wrong == ["public_url_path_changed"]


# What the proxy does to what passes

@pytest.mark.parametrize("path,finding", [
    ("/apple/callback", "callback_blocked"), ("/apple/notifications", "notifications_blocked")])
def test_posts_that_do_not_arrive(place, path, finding):
    place.front.habits.instead = lambda method, asked: (403, {}) if (method, asked) == ("POST", path) else None
    assert place.doctor().wrong == [finding]


def test_posts_that_arrive_as_something_else(place):
    place.front.habits.method = lambda method, path: "GET"
    report = place.doctor()
    assert report.wrong == ["callback_blocked", "notifications_blocked"]
    assert "arrives as GET" in report.one("callback_blocked")["detail"]


def without(name):
    return lambda fields: [pair for pair in fields if pair[0].lower() != name]


def test_cookies_that_do_not_arrive(place):
    place.front.habits.request = without("cookie")
    report = place.doctor()
    assert report.wrong == ["cookies_removed"]
    assert "from requests" in report.one("cookies_removed")["detail"]
    place.front.habits = Habits(answer=without("set-cookie"))
    report = place.doctor()
    assert report.wrong == ["cookies_removed"]
    assert "from answers" in report.one("cookies_removed")["detail"]


def test_cookies_that_arrive_changed(place):
    place.front.habits.answer = lambda fields: [
        (name, value.replace("SameSite=None", "SameSite=Lax")) for name, value in fields]
    report = place.doctor()
    assert report.wrong == ["cookies_changed"]
    assert "SameSite=Lax" in report.one("cookies_changed")["detail"]


@pytest.mark.parametrize("name,value", [
    ("Content-Security-Policy", "default-src 'self'"), ("Cache-Control", "public, max-age=600"),
    ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin")])
def test_fields_that_the_proxy_adds(place, name, value):
    place.front.habits.answer = lambda fields: [*fields, (name, value)]
    report = place.doctor()
    assert report.wrong == ["headers_changed"]
    assert value in report.one("headers_changed")["detail"]


def test_a_proxy_nobody_trusts(place):
    place.front.habits.source = "127.0.0.3"
    report = place.doctor()
    assert report.wrong == ["proxy_untrusted"]
    assert '"127.0.0.3" to server.trustedProxies' in report.one("proxy_untrusted")["nextStep"]


def test_a_proxy_that_says_nothing_of_its_clients(place):
    place.front.habits.forwarded_for = None
    assert place.doctor().wrong == ["forwarded_for_missing"]


def test_a_proxy_that_believes_everybody(place):
    place.front.habits.passes_forwarded_for = True
    assert place.doctor().wrong == ["forwarded_for_forgeable"]


def test_a_proxy_that_appends_is_no_such_case(place):
    place.front.habits.forwarded_for = "192.0.2.123, {client}"
    assert place.doctor().wrong == []


def test_a_proxy_that_hides_the_name(place):
    place.front.habits.host = "127.0.0.1:8080"
    report = place.doctor()
    assert report.wrong == []
    assert "127.0.0.1:8080" in report.one("host_changed")["detail"]


def visit(place, count: int, address: str) -> None:
    place.front.habits.forwarded_for = address
    context = ssl.create_default_context(cafile=place.folder / "ca.pem")
    for _ in range(count):
        connection = http.client.HTTPSConnection("localhost", place.front.port, context=context, timeout=PATIENCE)
        connection.request("GET", "/login")
        assert connection.getresponse().status in (200, 429)
        connection.close()
    place.front.habits = Habits()


def test_everybody_at_one_address(place):
    for address, state in [("10.1.2.3", "wrong"), ("203.0.113.7", "unsure")]:
        place.site.stop()
        place.site.start()
        visit(place, 19, address)
        assert place.doctor().check("traffic") == "good"
        visit(place, 1, address)
        found = place.doctor().one("one_address")
        assert found["state"] == state
        assert address in found["detail"] and "20 requests" in found["detail"]
    visit(place, 1, "203.0.113.8")
    assert place.doctor().check("traffic") == "good"


# What Apple told

def test_the_last_notification(place):
    place.site.apple.notify("email-disabled", "ada")
    assert place.doctor().check("last_notification") == "good"
    with sqlite3.connect(place.folder / "data/bramley.db") as database:
        database.execute("UPDATE notification SET received_at = ?", (int((time.time() - 20 * 86_400) * 1000),))
    assert "20 days" in place.doctor().one("last_notification_old")["detail"]


# The page

def test_every_kind_of_finding_was_met(request):
    chosen = request.config.getoption("keyword") or any("::" in argument for argument in request.config.args)
    assert met <= DOCUMENTED
    assert chosen or met == DOCUMENTED, DOCUMENTED - met
