"""A secret and a filter for each endpoint, and what backends do with the queue by the API."""

import hashlib
import json
import os
from base64 import urlsafe_b64encode

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from patience import eventually
from programs import write_private
from receiver import Receiver, new_secret, status
from sender import Sender
from web import call


class TwoEndpoints:
    """Bramley with two applications: the second wants to know of deletions and nothing else."""

    def __init__(self, binaries, folder):
        self.refuses = set()
        self.receivers = self.app, self.audit = [
            Receiver(lambda arrival, name=name: status(410 if name in self.refuses else 204)) for name in ("app", "audit")]
        self.secrets = [new_secret(), new_secret()]
        paths = []
        for name, secret in zip(("app", "audit"), self.secrets):
            paths.append(str(folder / f"{name}.secret"))
            write_private(folder / f"{name}.secret", secret.encode())
        self.urls = [receiver.url() for receiver in self.receivers]
        self.site = Sender(binaries, folder, self.urls, {
            "webhooks.secretFile": paths,
            "webhooks.events": ["session.created", "account.deleted", f"{self.urls[1]} account.deleted"]})
        self.site.start()
        self.operator = self.site.operator

    def key(self, *scopes: str) -> str:
        token = "brk_" + urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()
        digest = hashlib.sha256(token.encode())
        self.operator.database(
            "INSERT INTO api_key (id, hash, name, scopes, created_at) VALUES (?, ?, 'test', ?, 1)",
            "key_" + digest.hexdigest()[:26], digest.digest(), json.dumps(scopes))
        return token

    def call(self, method: str, path: str, key: str, content: dict | None = None) -> tuple[int, dict]:
        answer = call(self.site, method, "/api/v1/webhooks" + path, body=content, token=key)
        return answer.status, answer.json()

    def audit_log(self) -> list[tuple]:
        return self.operator.database(
            "SELECT type, actor, object FROM audit WHERE type LIKE 'webhook.%' ORDER BY sequence")


@pytest.fixture
def place(binaries, tmp_path):
    place = TwoEndpoints(binaries, tmp_path)
    yield place
    place.site.end()
    place.app.close()
    place.audit.close()


def test_an_address_may_be_ipv6_and_have_a_query(binaries, tmp_path):
    app = Receiver(address="::1")
    authority = f"[::1]:{app.port}"
    site = Sender(binaries, tmp_path, [f"http://{authority}/hook?tenant=a%20b&from=bramley"])
    try:
        site.start()
        site.sign_in(site.new_person())
        app.wait_for(lambda arrivals: arrivals, "the sign-in")
        assert app.arrivals[0].path == "/hook?tenant=a%20b&from=bramley"
        assert app.arrivals[0].headers["host"] == authority
    finally:
        site.end()
        app.close()


def test_each_endpoint_has_its_secret_and_its_filter(place):
    person = place.site.new_person()
    place.site.sign_in(person)
    place.app.wait_for(lambda arrivals: arrivals, "the sign-in")
    [(user,)] = place.operator.database("SELECT id FROM user")
    place.operator.bramley("users", "delete", user, "--yes")
    place.app.wait_for(lambda arrivals: len(arrivals) >= 2, "the deletion too")
    place.audit.wait_for(lambda arrivals: arrivals, "the deletion")
    types = [[json.loads(arrival.body)["type"] for arrival in receiver.arrivals] for receiver in place.receivers]
    assert types == [["session.created", "account.deleted"], ["account.deleted"]]
    for receiver, own, other in zip(place.receivers, place.secrets, reversed(place.secrets)):
        for arrival in receiver.arrivals:
            assert Webhook(own).verify(arrival.body, arrival.headers)
            # What one application knows does not sign for the other.
            with pytest.raises(WebhookVerificationError):
                Webhook(other).verify(arrival.body, arrival.headers)


def test_a_backend_looks_after_the_queue(place):
    reading, writing = place.key("webhooks:read"), place.key("webhooks:write")
    code, listed = place.call("GET", "", reading)
    assert code == 200 and [item["url"] for item in listed["items"]] == place.urls
    assert [item["events"] for item in listed["items"]] == [["session.created", "account.deleted"], ["account.deleted"]]
    assert place.call("GET", "", writing)[0] == 403 and place.call("POST", "/retry", reading, {"allDead": True})[0] == 403

    # A test reaches whoever it is for, signed for them, though their filter names no such type.
    code, tested = place.call("POST", "/test", writing, {"endpoint": place.urls[1]})
    assert (code, tested["delivered"], tested["status"]) == (200, True, 204)
    [arrival] = place.audit.arrivals
    assert arrival.id == tested["id"] and json.loads(arrival.body)["type"] == "webhook.test"
    assert Webhook(place.secrets[1]).verify(arrival.body, arrival.headers)
    assert place.call("POST", "/test", writing, {"endpoint": "http://127.0.0.1:9/"})[0] == 404

    # The command does the same, and says by its exit code what came of it.
    done = place.site.command("test", place.urls[0])
    assert done.returncode == 0 and "took evt_" in done.stdout, done.stderr
    place.refuses.add("app")
    done = place.site.command("test", place.urls[0])
    assert done.returncode == 1 and "status 410" in done.stderr, done.stdout
    # A test stops no endpoint.
    assert [item["state"] for item in place.call("GET", "", reading)[1]["items"]] == ["ok", "ok"]

    # 410 to an event does; the API lets it go on.
    place.site.sign_in(place.site.new_person())
    place.app.wait_for(lambda arrivals: any(json.loads(a.body)["type"] == "session.created" for a in arrivals), "the event")

    def stopped() -> list[dict]:
        return [item for item in place.call("GET", "", reading)[1]["items"] if item["state"] == "stopped"]

    eventually(stopped, "the end of the endpoint")
    [stopped] = stopped()
    assert stopped["url"] == place.urls[0] and stopped["waiting"] == 1
    place.refuses.clear()
    assert place.call("POST", "/retry", writing, {"endpoint": stopped["url"]}) == (200, {"retried": 1})
    place.app.wait_for(lambda arrivals: arrivals[-1].accepted, "the event again")
    app, audit = (url.removesuffix("/hook") for url in place.urls)
    assert place.audit_log() == [
        ("webhook.tested", "application", audit), ("webhook.tested", "operator", app), ("webhook.tested", "operator", app),
        ("webhook.retried", "application", app)]


def test_a_dead_letter_by_the_api(place):
    key = place.key("webhooks:read", "webhooks:write")
    place.site.sign_in(place.site.new_person())
    place.app.wait_for(lambda arrivals: arrivals, "the event")
    event = place.app.arrivals[0].id
    eventually(lambda: place.call("GET", "", key)[1]["items"][0]["waiting"] == 0, "its record")
    # As after three days of failing.
    place.operator.database(
        "INSERT INTO webhook_delivery (endpoint, sequence, user, queued_at, attempts, failure, dead_at) "
        "SELECT (SELECT min(id) FROM webhook_endpoint), sequence, user, time, 10, 'status 500', time + 1 FROM event "
        "ORDER BY sequence LIMIT 1 OFFSET ?", [known for known, _ in place.site.journal()].index(event))
    code, dead = place.call("GET", "/dead-letters", key)
    assert code == 200 and [(item["id"], item["failure"], item["attempts"]) for item in dead["items"]] == [
        (event, "status 500", 10)]
    assert place.call("POST", "/retry", key, {"event": event}) == (200, {"retried": 1})
    place.app.wait_for(lambda arrivals: [arrival.id for arrival in arrivals].count(event) == 2, "the event again")
    eventually(lambda: place.call("GET", "/dead-letters", key)[1]["items"] == [], "no dead letter")
    assert place.call("POST", "/retry", key, {"event": event})[0] == 404
