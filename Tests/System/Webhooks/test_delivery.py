"""Webhooks as an application meets them: real sockets, another implementation of the signature."""

import contextlib
import datetime
import json
import ssl
import subprocess
import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from authority import Authority, self_signed
from patience import PATIENCE, eventually
from processes import fails
from programs import write_private
from receiver import Answer, Receiver, new_secret, status
from sender import Sender


@pytest.fixture
def receivers():
    with contextlib.ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(contextlib.closing(Receiver(*arguments, **options)))


@pytest.fixture
def sender(make_site):
    def make(*receivers: Receiver | str, environment: dict | None = None, **settings) -> Sender:
        urls = [receiver if isinstance(receiver, str) else receiver.url() for receiver in receivers]
        settings = {name.replace("_", "."): value for name, value in settings.items()}
        return make_site(settings, Sender, start=False, urls=urls).start(environment)

    return make


def count(number: int):
    return lambda arrivals: len(arrivals) >= number


def user_of(arrival) -> str:
    return json.loads(arrival.body)["data"]["user"]


def test_deliveries_are_signed_and_complete(receivers, sender):
    receiver = receivers()
    site, begun = sender(receiver), time.time()
    site.sign_out(site.sign_in())
    receiver.wait_for(count(3), "three events")
    events = [json.loads(arrival.body) for arrival in receiver.arrivals]
    assert [event["type"] for event in events] == ["user.created", "session.created", "session.ended"]
    assert [event["data"]["id"] for event in events] == [arrival.id for arrival in receiver.arrivals]
    assert [set(event) for event in events] == [{"type", "timestamp", "data"}] * 3
    assert [set(event["data"]) for event in events] == [
        {"id", "user"}, {"id", "user", "session"}, {"id", "user", "session", "cause"}]
    assert events[2]["data"]["cause"] == "sign_out"
    for arrival, event in zip(receiver.arrivals, events):
        assert Webhook(site.secret).verify(arrival.body, arrival.headers) == event
        with pytest.raises(WebhookVerificationError):
            Webhook(new_secret()).verify(arrival.body, arrival.headers)
        assert arrival.headers["content-type"] == "application/json"
        assert arrival.headers["user-agent"].startswith("Bramley/")
        assert begun - 1 < int(arrival.headers["webhook-timestamp"]) < time.time() + 1
        assert begun - 1 < datetime.datetime.fromisoformat(event["timestamp"]).timestamp() < time.time() + 1
        # Ids, and nothing of the person.
        assert b"Given" not in arrival.body and b"example.com" not in arrival.body
    assert b"whsec" not in site.server.log.read_bytes()
    assert site.endpoints()[0] | {"addedAt": 0, "lastSuccessAt": 0} == {
        "url": receiver.url(), "state": "ok", "addedAt": 0, "waiting": 0, "oldest": None, "deadLetters": 0,
        "lastSuccessAt": 0, "lastFailureAt": None, "lastFailure": None, "failingSince": None, "pausedUntil": None,
        "stoppedAt": None, "events": [
            "user.created", "user.pending", "user.updated", "session.created", "session.ended", "consent.revoked",
            "account.deleted", "email.disabled", "email.enabled", "user.transferred", "account.linked", "account.upgraded",
            "access.ended"]}


def test_an_address_may_be_ipv6_and_have_a_query(receivers, sender):
    receiver = receivers(address="::1")
    authority = f"[::1]:{receiver.port}"
    sender(f"http://{authority}/hook?tenant=a%20b&from=bramley").sign_in()
    receiver.wait_for(count(1), "the sign-in")
    assert receiver.arrivals[0].path == "/hook?tenant=a%20b&from=bramley"
    assert receiver.arrivals[0].headers["host"] == authority


def test_a_hanging_endpoint_delays_no_other(receivers, sender):
    """By order, not by time: one endpoint has everything while the other has answered nothing."""
    hanging, well = receivers(lambda arrival: None), receivers()
    site = sender(hanging, well, server_drainTimeout=1)
    for _ in range(20):
        site.sign_out(site.sign_in())
    well.wait_for(count(60), "everything at the other endpoint")
    journal = site.journal()
    for user in {user for _, user in journal}:
        expected = [event for event, other in journal if other == user]
        assert [event for event in well.accepted() if event in expected] == expected
    # Sixteen at a time and one a person, all of them unanswered; more only when the first is given up, after 15 s.
    assert hanging.accepted() == []
    hanging.wait_for(count(16), "sixteen at once")
    arrivals = list(hanging.arrivals)
    first = min(arrival.time for arrival in arrivals)
    together = [user_of(arrival) for arrival in arrivals if arrival.time < first + 14]
    assert len(set(together)) == len(together) <= 16


def test_a_hanging_event_delays_no_other_person(receivers, sender):
    blocked = []

    def answer(arrival):
        blocked.append(user_of(arrival))
        return None if blocked[-1] == blocked[0] else status(200)

    receiver = receivers(answer)
    site = sender(receiver, server_drainTimeout=1)
    site.sign_in()
    receiver.wait_for(count(1), "the first event")
    for _ in range(5):
        site.sign_out(site.sign_in())
    receiver.wait_for(
        lambda arrivals: len({arrival.id for arrival in arrivals if arrival.accepted}) == 15, "everybody else's events")
    # Again and again, once it is given up; but nothing behind it.
    assert len({arrival.id for arrival in receiver.arrivals if user_of(arrival) == blocked[0]}) == 1


def test_no_redirect_is_followed(receivers, sender):
    inner, codes = receivers(), [301, 302, 303, 307, 308]
    outer = [receivers(lambda arrival, code=code: status(code, f"Location: {inner.url('/internal')}")) for code in codes]
    site = sender(*outer)
    site.sign_in()
    for receiver in outer:
        receiver.wait_for(count(1), "the event")
    site.wait_for_log("webhook endpoint failing", times=len(codes))
    assert inner.arrivals == []
    assert [endpoint["lastFailure"] for endpoint in site.endpoints()] == [f"status {code}" for code in codes]


ACCEPTS = {
    "long": status(200, body=b"x" * 100_000),
    # Longer than we could wait for, and longer than memory.
    "endless": Answer([b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 40_000], accepts=True, pause=60),
    "chunks": Answer([b"HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + b"x" * 1024 + b"\r\n"
                      + (b"400\r\n" + b"x" * 1024 + b"\r\n") * 39], accepts=True, pause=60),
}


def test_the_content_of_an_accepting_answer_is_ignored(receivers, sender):
    accepting = {name: receivers(lambda arrival, answer=answer: answer) for name, answer in ACCEPTS.items()}
    site = sender(*accepting.values())
    site.sign_in()
    for name, receiver in accepting.items():
        receiver.wait_for(count(2), f"both events, at once: {name}")
    eventually(lambda: not any(endpoint["waiting"] for endpoint in site.endpoints()), "nothing to wait any more")
    for name, receiver in accepting.items():
        assert len({arrival.id for arrival in receiver.arrivals}) == len(receiver.arrivals) == 2, name


FAILS = {
    "cut": Answer([b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"]), "cut in the head": Answer([b"HTTP/1.1 20"]),
    "closed": Answer([]), "ssh": Answer([b"SSH-2.0-OpenSSH_9.2\r\n"]), "tls": Answer([b"\x15\x03\x01\x00\x02\x02\x46"]),
    "ambiguous": Answer([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"]),
    "long head": Answer([b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"]),
    "199": Answer([b"HTTP/1.1 199 Soon\r\n\r\n"]), "400": status(400), "404": status(404), "500": status(500),
}


def test_other_answers_are_failures_and_repeated_with_the_same_id(receivers, sender):
    good = []
    failing = {name: receivers(lambda arrival, answer=answer: status(204) if good else answer) for name, answer in FAILS.items()}
    site = sender(*failing.values())
    site.sign_in()
    for name, receiver in failing.items():
        receiver.wait_for(count(1), f"the event: {name}")
    site.wait_for_log("webhook endpoint failing", times=len(failing))
    good.append(True)
    for name, receiver in failing.items():
        # The first repeat comes after five seconds by itself.
        receiver.wait_for(lambda arrivals: sum(arrival.accepted for arrival in arrivals) == 2, f"both events: {name}")
        first, again = receiver.arrivals[:2]
        assert (first.id, first.body) == (again.id, again.body), name
        assert int(again.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) >= 5, name
        assert again.headers["webhook-signature"] != first.headers["webhook-signature"], name
    site.wait_for_log("webhook endpoint recovered", times=len(failing))


def test_status_410_stops_deliveries_until_the_operator_resumes(receivers, sender):
    receiver = receivers(lambda arrival: status(410))
    site = sender(receiver)
    session = site.sign_in()
    site.wait_for_log("webhook endpoint gone")
    site.sign_out(session)
    receiver.answer = lambda arrival: status(200)
    site.restart()
    assert len(receiver.arrivals) == 1
    endpoint = site.endpoints()[0]
    assert endpoint["state"] == "stopped" and endpoint["waiting"] == 3
    assert "status 410" in site.operator.run("webhooks", "list").stdout
    retried = site.operator.run("webhooks", "retry", "--endpoint", receiver.url())
    assert retried.returncode == 0, retried.stderr
    receiver.wait_for(lambda arrivals: sum(arrival.accepted for arrival in arrivals) == 3, "the rest")
    assert receiver.accepted() == [event for event, _ in site.journal()]
    # What is over is said to programs only: beside "ok" it would read like a reason of now.
    endpoint = site.endpoints()[0]
    assert (endpoint["state"], endpoint["lastFailure"]) == ("ok", "status 410")
    shown = site.operator.run("webhooks", "list").stdout
    assert "\tok\t" in shown and "status 410" not in shown


def test_dead_letters_are_seen_and_sent_again(receivers, sender):
    receiver = receivers(lambda arrival: status(500))
    site = sender(receiver)
    site.sign_in()
    receiver.wait_for(count(1), "the event")
    site.wait_for_log("webhook endpoint failing")
    site.stop()
    # Three days pass.
    site.operator.database("UPDATE webhook_delivery SET attempts = 9, next_attempt_at = 0 WHERE attempts > 0")
    site.start()
    site.wait_for_log("webhook event moved to dead letters")
    event = receiver.arrivals[0].id
    (dead,) = site.operator.json("webhooks", "list", "--dead")["items"]
    assert (dead["id"], dead["attempts"], dead["failure"]) == (event, 10, "status 500")
    assert event in site.operator.run("webhooks", "list", "--dead").stdout
    assert site.endpoints()[0]["deadLetters"] == 1
    receiver.answer = lambda arrival: status(200)
    assert site.operator.run("webhooks", "retry", event).stdout == "1 delivery will be retried\n"
    receiver.wait_for(lambda arrivals: (event, True) in [(one.id, one.accepted) for one in arrivals], "the dead letter")
    eventually(lambda: site.endpoints()[0]["deadLetters"] == 0, "no dead letter to be left")
    fails(site.operator.run("webhooks", "retry", event), "is not a dead letter")


def test_retry_requires_exactly_one_existing_target(receivers, sender):
    site = sender(receivers())
    for arguments in ([], ["evt_x"], ["evt_" + "0" * 26, "--all-dead"], ["--all-dead", "--endpoint", "http://localhost:1/"]):
        assert site.operator.run("webhooks", "retry", *arguments).returncode == 64, arguments
    assert site.operator.run("webhooks", "retry", "evt_" + "0" * 26).returncode == 1
    assert site.operator.run("webhooks", "retry", "--endpoint", "http://localhost:1/").returncode == 1
    assert site.operator.run("webhooks", "retry", "--all-dead").stdout == "0 deliveries will be retried\n"


def test_a_secret_is_replaced_without_a_restart(receivers, sender):
    receiver = receivers()
    site = sender(receiver)
    old, new = site.secret, new_secret()

    def is_signed(arrival, secret: str) -> bool:
        try:
            return bool(Webhook(secret).verify(arrival.body, arrival.headers))
        except WebhookVerificationError:
            return False

    def signed_by() -> list[bool]:
        """Whether the next events are signed with the old secret, and with the new one."""
        before = len(receiver.arrivals)
        site.sign_in()
        receiver.wait_for(count(before + 2), "two events")
        return [all(is_signed(arrival, secret) for arrival in receiver.arrivals[before:]) for secret in (old, new)]

    assert signed_by() == [True, False]
    for secrets, line, times, expected in [
            ([new, old], "reloaded", 1, [True, True]),
            # The secrets stay.
            (["whsec_nonsense"], "not reloaded", 1, [True, True]), ([new], "reloaded", 2, [False, True])]:
        site.write_secrets(*secrets)
        site.wait_for_log(f"webhooks.secretFile {line}", times)
        assert signed_by() == expected
    assert site.server.text().count("not reloaded") == 1
    assert "whsec_" not in site.server.text()
    # Each change has its line in the audit log, what was refused has none.
    sql = "SELECT object, actor FROM audit WHERE type = 'webhook_secret.changed'"
    eventually(lambda: site.operator.database(sql) == [("webhooks.secretFile", "server")] * 2, "the lines")


def test_a_new_endpoint_gets_only_new_events(receivers, sender):
    first, second = receivers(), receivers()
    site = sender(first)
    site.sign_in()
    first.wait_for(count(2), "two events")
    site.stop()
    site.configure({"webhooks.url": [first.url(), second.url()]})
    site.start()
    session = site.sign_in("person1")
    for receiver, number in ((first, 3), (second, 1)):
        receiver.wait_for(count(number), "the third event")
        assert receiver.accepted() == [event for event, _ in site.journal()][-number:]
    # Named no more: what waits for it is dropped, and its place is nobody's.
    site.stop()
    site.configure({"webhooks.url": second.url()})
    site.start()
    site.sign_out(session)
    second.wait_for(count(2), "the last event")
    assert [endpoint["url"] for endpoint in site.endpoints()] == [second.url()]
    assert len(first.arrivals) == 3


def test_a_stop_ends_hanging_deliveries_without_counting_them(receivers, sender):
    receiver = receivers(lambda arrival: None)
    site = sender(receiver, server_drainTimeout=1)
    site.sign_in()
    receiver.wait_for(count(1), "the event")
    assert site.stop() == 0
    assert "webhook endpoint failing" not in site.server.text()
    receiver.answer = lambda arrival: status(200)
    site.start()
    receiver.wait_for(count(3), "both events")
    cut, *others = [arrival.id for arrival in receiver.arrivals]
    assert others == [event for event, _ in site.journal()] and cut == others[0]
    assert site.endpoints()[0]["lastFailure"] is None


def test_only_the_configured_types_are_sent(receivers, sender):
    receiver = receivers()
    site = sender(receiver, webhooks_events=["session.ended"])
    site.sign_out(site.sign_in())
    receiver.wait_for(count(1), "the end of the session")
    assert [json.loads(arrival.body)["type"] for arrival in receiver.arrivals] == ["session.ended"]
    assert site.endpoints()[0]["waiting"] == 0


def test_a_second_server_changes_nothing(receivers, sender):
    """It is refused by the lock, whatever its configuration names."""
    receiver = receivers()
    site = sender(receiver)
    other, without = site.folder / "other.json", {"webhooks.url": None, "webhooks.secretFile": None}
    write_private(other, json.dumps(site.configuration(site.settings | without)).encode())
    command = [site.binaries / "bramley", "serve", "--config", other]
    assert subprocess.run(command, capture_output=True, timeout=PATIENCE).returncode == 1
    site.sign_in()
    receiver.wait_for(count(2), "both events")


def test_tls_is_verified(receivers, sender, tmp_path):
    """The server trusts only the test's authority, by OpenSSL's own variable."""
    authority, names = Authority(), ("localhost", "127.0.0.1")
    authority.write_root(tmp_path / "ca.pem")
    authority.issue(*names).write(tmp_path, "good")
    self_signed(*names).write(tmp_path, "stranger")

    def context(name: str) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
        return made

    good, bad = receivers(tls=context("good")), receivers(tls=context("stranger"))
    site = sender(good, bad, environment={
        "SSL_CERT_FILE": str(tmp_path / "ca.pem"), "SSL_CERT_DIR": str(tmp_path / "none")})
    site.sign_in()
    good.wait_for(count(2), "both events")
    site.wait_for_log("webhook endpoint failing")
    assert bad.arrivals == []
    trusted, refused = site.endpoints()
    assert (trusted["state"], refused["state"]) == ("ok", "failing")
    assert refused["lastFailure"].startswith("TLS: ")
