"""A secret and a filter for each endpoint, what backends do with the queue by the API, and the documented checks."""

import base64
import contextlib
import datetime
import json
import re
import runpy
import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from patience import eventually
from processes import fails
from programs import ROOT, write_private
from receiver import Receiver, new_secret, status
from sender import Sender
from web import call


class TwoEndpoints:
    """Bramley with two applications: the second gets only deletions."""

    def __init__(self, make_site, folder):
        self.refuses = set()
        self.receivers = self.app, self.audit = [
            Receiver(lambda arrival, name=name: status(410 if name in self.refuses else 204)) for name in ("app", "audit")]
        self.secrets = [new_secret(), new_secret()]
        paths = []
        for name, secret in zip(("app", "audit"), self.secrets):
            paths.append(str(folder / f"{name}.secret"))
            write_private(folder / f"{name}.secret", secret.encode())
        self.urls = [receiver.url() for receiver in self.receivers]
        events = ["session.created", "account.deleted", f"{self.urls[1]} account.deleted"]
        self.site = make_site({"webhooks.secretFile": paths, "webhooks.events": events}, Sender, urls=self.urls)
        self.operator = self.site.operator

    def call(self, method: str, path: str, key: str, content: dict | None = None) -> tuple[int, dict]:
        answer = call(self.site, method, "/api/v1/webhooks" + path, body=content, token=key)
        return answer.status, answer.json()


@pytest.fixture
def place(make_site, tmp_path):
    place = TwoEndpoints(make_site, tmp_path)
    yield place
    place.site.end()
    for receiver in place.receivers:
        receiver.close()


def test_each_endpoint_has_its_secret_and_its_filter(place):
    place.site.sign_in()
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


def test_a_backend_manages_the_queue(place):
    reading, writing = place.operator.key("webhooks:read"), place.operator.key("webhooks:write")
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
    done = place.site.operator.run("webhooks", "test", place.urls[0])
    assert done.returncode == 0 and "accepted evt_" in done.stdout, done.stderr
    place.refuses.add("app")
    fails(place.site.operator.run("webhooks", "test", place.urls[0]), "status 410")
    assert [item["state"] for item in place.call("GET", "", reading)[1]["items"]] == ["ok", "ok"]
    # 410 to an event does; the API lets it go on.
    place.site.sign_in()
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
    sql = "SELECT type, actor, object FROM audit WHERE type LIKE 'webhook.%' ORDER BY sequence"
    assert place.operator.database(sql) == [
        ("webhook.tested", "application", audit), ("webhook.tested", "operator", app), ("webhook.tested", "operator", app),
        ("webhook.retried", "application", app)]


PAGE = (ROOT / "docs/apps/events.md").read_text()
SECRET = re.search(r"`(whsec_[^`]+)`", PAGE.replace("`whsec_`", ""))[1]
OTHER = "whsec_" + base64.b64encode(b"k" * 32).decode()
BODY = '{"type":"user.created","data":{"user":"usr_ü"}}'.encode()


def fence(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.S)[1]


def signed(secret: str, body: bytes = BODY, age: int = 0, identifier: str = "evt_1") -> dict:
    moment = datetime.datetime.fromtimestamp(int(time.time()) - age, datetime.UTC)
    return {
        "webhook-id": identifier, "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": Webhook(secret).sign(identifier, moment, body.decode()),
    }


def good_and_bad() -> list[tuple[str, dict, bytes, bool]]:
    """Signed now: signatures are good for five minutes, and tests may begin later than they are collected."""
    good = signed(SECRET)
    two = good | {"webhook-signature": signed(OTHER)["webhook-signature"] + " " + good["webhook-signature"]}
    return [
        ("good", good, BODY, True), ("two secrets", two, BODY, True), ("old", signed(SECRET, age=301), BODY, False),
        ("of the future", signed(SECRET, age=-3600), BODY, False), ("another secret", signed(OTHER), BODY, False),
        ("another body", good, BODY + b" ", False), ("another id", good | {"webhook-id": "evt_2"}, BODY, False),
        ("another version", good | {"webhook-signature": good["webhook-signature"].replace("v1,", "v2,")}, BODY, False),
        ("no signature", good | {"webhook-signature": ""}, BODY, False),
        ("an empty one", good | {"webhook-signature": "v1,"}, BODY, False),
        ("a moved time", good | {"webhook-timestamp": str(int(good["webhook-timestamp"]) - 1)}, BODY, False),
        ("no time", good | {"webhook-timestamp": "soon"}, BODY, False),
    ]


@pytest.fixture(params=[case[0] for case in good_and_bad()])
def case(request) -> tuple[dict, bytes, bool]:
    return next(case[1:] for case in good_and_bad() if case[0] == request.param)


def test_the_documented_request_verifies():
    head, body = fence("http").strip().split("\n\n")
    headers = dict(line.split(": ", 1) for line in head.split("\n")[1:])
    moment = datetime.datetime.fromtimestamp(int(headers["webhook-timestamp"]), datetime.UTC)
    assert Webhook(SECRET).sign(headers["webhook-id"], moment, body) == headers["webhook-signature"]
    assert json.loads(body)["data"]["id"] == headers["webhook-id"]


def test_the_documented_python_check_verifies(case):
    headers, body, is_good = case
    names = runpy.run_path(str(ROOT / "docs/examples/flask/webhooks.py"))
    with contextlib.nullcontext() if is_good else pytest.raises(names["NotGenuine"]):
        names["verify"](body, headers, names["read_secrets"](SECRET), time.time())
