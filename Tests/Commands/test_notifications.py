"""What Apple says of an app that the configuration does not name, as the operator meets it."""

import json

import pytest

from operating import Operator
from patience import eventually
from programs import SERVICES_ID, Site

# What one address may send in a minute that is not Apple's.
FAILURES = 30
WARNING = "notification refused for an unlisted app"


@pytest.fixture
def site(binaries, tmp_path):
    site = Site(binaries, tmp_path, {})
    site.start()
    # The keys at hand are what it is judged by.
    eventually(lambda: Operator(binaries, tmp_path).database("SELECT 1 FROM apple_keys"), "Apple's keys")
    yield site
    site.end()


def post(site, **members) -> int:
    sent = site.apple.call("POST", "notifications", {"type": "consent-revoked", "sub": "nobody"} | members)
    return sent["deliveries"][0]["status"]


def test_the_app_that_is_missing_is_named_once_a_minute(site):
    assert post(site) == 200
    for _ in range(3):
        assert post(site, aud="com.example.primary") == 400
    lines = [line for line in site.server.text().splitlines() if WARNING in line]
    assert len(lines) == 1, lines
    for part in (" warning ", "aud=com.example.primary", "count=1", "reason=notification_refused", "apple.bundleIDs"):
        assert part in lines[0], lines[0]
    assert "nobody" not in lines[0]
    # What it may not name is no such warning, and gives no orders to a terminal.
    before = site.server.text().count(WARNING)
    for audience in (["com.example.primary", SERVICES_ID], "a" * 256, "\x1b[31m", "", None, 7):
        assert post(site, claims={"aud": audience}) == 400, audience
    assert site.server.text().count(WARNING) == before and "\x1b" not in site.server.text()


def test_those_of_other_apps_do_not_crowd_out_ours(site):
    for _ in range(2 * FAILURES):
        assert post(site, aud="com.example.primary") == 400
    assert post(site) == 200
    # Those that are nobody's count.
    statuses = {post(site, aud="\x1b") for _ in range(2 * FAILURES)}
    assert statuses == {400, 429}


def test_with_the_app_named_it_is_taken(binaries, tmp_path):
    site = Site(binaries, tmp_path, {"apple.bundleIDs": ["com.example.primary"]})
    try:
        site.start()
        assert post(site, aud="com.example.primary") == 200
        listed = json.loads(Operator(binaries, tmp_path).bramley("notifications", "list", "--json"))["items"]
        assert [item["clientID"] for item in listed] == ["com.example.primary"]
        assert WARNING not in site.server.text()
    finally:
        site.end()
