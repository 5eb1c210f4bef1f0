"""Webhooks as an application meets them: real sockets, another implementation of the signature."""

import datetime
import json
import ssl
import subprocess
import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from authority import Authority, self_signed
from patience import PATIENCE, eventually
from receiver import Answer, Receiver, new_secret, status
from sender import Sender


@pytest.fixture
def receivers():
    made = []

    def make(*arguments, **options) -> Receiver:
        made.append(Receiver(*arguments, **options))
        return made[-1]

    yield make
    for receiver in made:
        receiver.close()


@pytest.fixture
def sender(binaries, tmp_path):
    made = []

    def make(*receivers: Receiver | str, environment: dict | None = None, **settings) -> Sender:
        urls = [receiver if isinstance(receiver, str) else receiver.url() for receiver in receivers]
        made.append(Sender(binaries, tmp_path, urls, {name.replace("_", "."): value for name, value in settings.items()}))
        return made[-1].start(environment)

    yield make
    for site in made:
        site.end()


def count(number: int):
    return lambda arrivals: len(arrivals) >= number


def test_deliveries_are_signed_and_complete(receivers, sender):
    receiver = receivers()
    site = sender(receiver)
    begun = time.time()
    session = site.sign_in(site.new_person())
    site.sign_out(session)
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
        told = datetime.datetime.fromisoformat(event["timestamp"]).timestamp()
        assert begun - 1 < told < time.time() + 1
        # Ids, and nothing of the person.
        assert b"Given" not in arrival.body and b"example.com" not in arrival.body
    assert b"whsec" not in site.server.log.read_bytes()
    assert site.endpoints()[0] | {"addedAt": 0, "lastSuccessAt": 0} == {
        "url": receiver.url(), "state": "ok", "addedAt": 0, "waiting": 0, "oldest": None, "deadLetters": 0,
        "lastSuccessAt": 0, "lastFailureAt": None, "lastFailure": None, "failingSince": None, "pausedUntil": None,
        "stoppedAt": None, "events": [
            "user.created", "user.pending", "user.updated", "session.created", "session.ended", "consent.revoked",
            "account.deleted", "email.disabled", "email.enabled", "user.transferred", "account.linked", "account.upgraded"]}


def test_an_address_may_be_ipv6_and_have_a_query(receivers, sender):
    receiver = receivers(address="::1")
    authority = f"[::1]:{receiver.port}"
    site = sender(f"http://{authority}/hook?tenant=a%20b&from=bramley")
    site.sign_in(site.new_person())
    receiver.wait_for(count(1), "the sign-in")
    assert receiver.arrivals[0].path == "/hook?tenant=a%20b&from=bramley"
    assert receiver.arrivals[0].headers["host"] == authority


def test_a_hanging_endpoint_delays_no_other(receivers, sender):
    """By order, not by time: one endpoint has everything while the other has answered nothing."""
    hanging, well = receivers(lambda arrival: None), receivers()
    site = sender(hanging, well, server_drainTimeout=1)
    for _ in range(20):
        site.sign_out(site.sign_in(site.new_person()))
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
    together = [arrival for arrival in arrivals if arrival.time < first + 14]
    assert len(together) <= 16
    assert len({json.loads(arrival.body)["data"]["user"] for arrival in together}) == len(together)


def test_a_hanging_event_delays_no_other_person(receivers, sender):
    blocked = []

    def answer(arrival):
        user = json.loads(arrival.body)["data"]["user"]
        blocked.append(user)
        return None if user == blocked[0] else status(200)

    receiver = receivers(answer)
    site = sender(receiver, server_drainTimeout=1)
    first = site.new_person()
    site.sign_in(first)
    receiver.wait_for(count(1), "the first event")
    for _ in range(5):
        site.sign_out(site.sign_in(site.new_person()))
    receiver.wait_for(
        lambda arrivals: len({arrival.id for arrival in arrivals if arrival.accepted}) == 15, "everybody else's events")
    # Again and again, once it is given up; but nothing behind it.
    assert len({
        arrival.id for arrival in receiver.arrivals if json.loads(arrival.body)["data"]["user"] == blocked[0]}) == 1


def test_no_redirect_is_followed(receivers, sender):
    inner, codes = receivers(), [301, 302, 303, 307, 308]
    outer = [receivers(lambda arrival, code=code: status(code, f"Location: {inner.url('/internal')}")) for code in codes]
    site = sender(*outer)
    site.sign_in(site.new_person())
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


def test_what_an_accepting_answer_says_does_not_matter(receivers, sender):
    accepting = {name: receivers(lambda arrival, answer=answer: answer) for name, answer in ACCEPTS.items()}
    site = sender(*accepting.values())
    site.sign_in(site.new_person())
    for name, receiver in accepting.items():
        receiver.wait_for(count(2), f"both events, at once: {name}")
    eventually(lambda: [endpoint["waiting"] for endpoint in site.endpoints()] == [0] * len(accepting),
               "nothing to wait any more")
    for name, receiver in accepting.items():
        assert len({arrival.id for arrival in receiver.arrivals}) == len(receiver.arrivals) == 2, name


FAILS = {
    "cut": Answer([b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"]),
    "cut in the head": Answer([b"HTTP/1.1 20"]),
    "closed": Answer([]),
    "ssh": Answer([b"SSH-2.0-OpenSSH_9.2\r\n"]),
    "tls": Answer([b"\x15\x03\x01\x00\x02\x02\x46"]),
    "ambiguous": Answer([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"]),
    "long head": Answer([b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"]),
    "199": Answer([b"HTTP/1.1 199 Soon\r\n\r\n"]),
    "400": status(400), "404": status(404), "500": status(500),
}


def test_anything_else_is_a_failure_and_repeated_under_the_same_id(receivers, sender):
    """An endpoint for each, of one server: all of them wait for the first repeat at once."""
    good = []
    failing = {name: receivers(lambda arrival, answer=answer: status(204) if good else answer) for name, answer in FAILS.items()}
    site = sender(*failing.values())
    site.sign_in(site.new_person())
    for name, receiver in failing.items():
        receiver.wait_for(count(1), f"the event: {name}")
    site.wait_for_log("webhook endpoint failing", times=len(failing))
    good.append(True)
    for name, receiver in failing.items():
        # The first repeat comes after five seconds by itself.
        receiver.wait_for(lambda arrivals: sum(arrival.accepted for arrival in arrivals) == 2, f"both events: {name}")
        assert [arrival.id for arrival in receiver.arrivals][:2] == [receiver.arrivals[0].id] * 2, name
        first, again = receiver.arrivals[:2]
        assert first.body == again.body, name
        assert int(again.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) >= 5, name
        assert again.headers["webhook-signature"] != first.headers["webhook-signature"], name
    site.wait_for_log("webhook endpoint recovered", times=len(failing))


def test_status_410_stops_deliveries_until_the_operator_resumes(receivers, sender):
    codes = [410]
    receiver = receivers(lambda arrival: status(codes[-1]))
    site = sender(receiver)
    session = site.sign_in(site.new_person())
    site.wait_for_log("webhook endpoint gone")
    site.sign_out(session)
    codes.append(200)
    site.restart()
    assert len(receiver.arrivals) == 1
    endpoint = site.endpoints()[0]
    assert endpoint["state"] == "stopped" and endpoint["waiting"] == 3
    assert "status 410" in site.command("list").stdout
    retried = site.command("retry", "--endpoint", receiver.url())
    assert retried.returncode == 0, retried.stderr
    receiver.wait_for(lambda arrivals: sum(arrival.accepted for arrival in arrivals) == 3, "the rest")
    assert receiver.accepted() == [event for event, _ in site.journal()]
    # What is over is said to programs only: beside "ok" it would read like a reason of now.
    endpoint = site.endpoints()[0]
    assert (endpoint["state"], endpoint["lastFailure"]) == ("ok", "status 410")
    assert "\tok\t" in site.command("list").stdout and "status 410" not in site.command("list").stdout


def test_dead_letters_are_seen_and_sent_again(receivers, sender):
    codes = [500]
    receiver = receivers(lambda arrival: status(codes[-1]))
    site = sender(receiver)
    site.sign_in(site.new_person())
    receiver.wait_for(count(1), "the event")
    site.wait_for_log("webhook endpoint failing")
    site.stop()
    # Three days pass.
    site.operator.database("UPDATE webhook_delivery SET attempts = 9, next_attempt_at = 0 WHERE attempts > 0")
    site.start()
    site.wait_for_log("webhook event moved to dead letters")
    dead = site.operator.json("webhooks", "list", "--dead")["items"]
    assert [(letter["id"], letter["attempts"], letter["failure"]) for letter in dead] == [
        (receiver.arrivals[0].id, 10, "status 500")]
    assert dead[0]["id"] in site.command("list", "--dead").stdout
    assert site.endpoints()[0]["deadLetters"] == 1
    codes.append(200)
    assert site.command("retry", dead[0]["id"]).stdout == "1 delivery will be retried\n"
    receiver.wait_for(lambda arrivals: dead[0]["id"] in [a.id for a in arrivals if a.accepted], "the dead letter")
    # Delivered: nothing to retry any more.
    eventually(lambda: site.endpoints()[0]["deadLetters"] == 0, "no dead letter to be left")
    again = site.command("retry", dead[0]["id"])
    assert again.returncode == 1 and "is not a dead letter" in again.stderr


def test_retry_takes_exactly_one_existing_target(receivers, sender):
    site = sender(receivers())
    for arguments in ([], ["evt_x"], ["evt_" + "0" * 26, "--all-dead"], ["--all-dead", "--endpoint", "http://localhost:1/"]):
        assert site.command("retry", *arguments).returncode == 64, arguments
    assert site.command("retry", "evt_" + "0" * 26).returncode == 1
    assert site.command("retry", "--endpoint", "http://localhost:1/").returncode == 1
    assert site.command("retry", "--all-dead").stdout == "0 deliveries will be retried\n"


def test_a_secret_is_replaced_without_a_restart(receivers, sender):
    receiver = receivers()
    site = sender(receiver)
    old, new = site.secret, new_secret()

    def signs(secrets: list[str]) -> list[bool]:
        before = len(receiver.arrivals)
        site.sign_in(site.new_person())
        receiver.wait_for(count(before + 2), "two events")
        verdicts = []
        for secret in secrets:
            good = True
            for arrival in receiver.arrivals[before:]:
                try:
                    Webhook(secret).verify(arrival.body, arrival.headers)
                except WebhookVerificationError:
                    good = False
            verdicts.append(good)
        return verdicts

    assert signs([old, new]) == [True, False]
    site.write_secrets(new, old)
    site.wait_for_log("webhooks.secretFile reloaded")
    assert signs([old, new]) == [True, True]
    # Nonsense, an open file, no file: the secrets stay.
    site.write_secrets("whsec_nonsense")
    site.wait_for_log("webhooks.secretFile not reloaded")
    assert signs([old, new]) == [True, True]
    site.write_secrets(new)
    site.wait_for_log("webhooks.secretFile reloaded", times=2)
    assert signs([old, new]) == [False, True]
    assert site.server.text().count("not reloaded") == 1
    assert "whsec_" not in site.server.text()

    # Each change has its line in the audit log, what was refused has none.
    def changes() -> list[tuple]:
        return site.operator.database(
            "SELECT object, actor FROM audit WHERE type = 'webhook_secret.changed'")

    eventually(lambda: len(changes()) == 2, "the lines")
    assert changes() == [("webhooks.secretFile", "server")] * 2


def test_a_new_endpoint_begins_with_the_present(receivers, sender):
    first, second = receivers(), receivers()
    site = sender(first)
    site.sign_in(site.new_person())
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


def test_a_stop_cuts_off_what_hangs_and_counts_it_for_nothing(receivers, sender):
    silent = [True]
    receiver = receivers(lambda arrival: None if silent[0] else status(200))
    site = sender(receiver, server_drainTimeout=1)
    site.sign_in(site.new_person())
    receiver.wait_for(count(1), "the event")
    assert site.stop() == 0
    assert "webhook endpoint failing" not in site.server.text()
    silent[0] = False
    site.start()
    receiver.wait_for(count(3), "both events")
    assert [arrival.id for arrival in receiver.arrivals] == [receiver.arrivals[0].id] + [
        event for event, _ in site.journal()]
    assert site.endpoints()[0]["lastFailure"] is None


def test_only_the_configured_types_are_sent(receivers, sender):
    receiver = receivers()
    site = sender(receiver, webhooks_events=["session.ended"])
    site.sign_out(site.sign_in(site.new_person()))
    receiver.wait_for(count(1), "the end of the session")
    assert [json.loads(arrival.body)["type"] for arrival in receiver.arrivals] == ["session.ended"]
    assert site.endpoints()[0]["waiting"] == 0


def test_a_second_server_changes_nothing(receivers, sender, binaries, tmp_path):
    """It is refused by the lock, whatever its configuration names."""
    receiver = receivers()
    site = sender(receiver)
    settings = json.loads((tmp_path / "config.json").read_text())
    del settings["webhooks"]
    (tmp_path / "other.json").write_text(json.dumps(settings))
    (tmp_path / "other.json").chmod(0o600)
    second = subprocess.run(
        [str(binaries / "bramley"), "serve", "--config", str(tmp_path / "other.json")], capture_output=True, timeout=PATIENCE)
    assert second.returncode == 1
    site.sign_in(site.new_person())
    receiver.wait_for(count(2), "both events")


def test_tls_is_verified(receivers, sender, tmp_path):
    """The server believes the authority of the test alone, by OpenSSL's own variable."""
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
    site.sign_in(site.new_person())
    good.wait_for(count(2), "both events")
    site.wait_for_log("webhook endpoint failing")
    assert bad.arrivals == []
    trusted, refused = site.endpoints()
    assert (trusted["state"], refused["state"]) == ("ok", "failing")
    assert refused["lastFailure"].startswith("TLS: ")
