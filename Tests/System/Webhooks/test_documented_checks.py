"""The example of docs/apps/events.md verifies, also by the check it names, docs/examples/flask/webhooks.py."""

import base64
import contextlib
import datetime
import json
import re
import runpy
import time

import pytest
from standardwebhooks.webhooks import Webhook

from programs import ROOT

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
