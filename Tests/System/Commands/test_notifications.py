"""What Apple says of an app that the configuration does not name, as the operator meets it."""

import pytest

from patience import eventually

# What one address may send in a minute that is not Apple's.
FAILURES = 30
WARNING = "notification refused for an unlisted app"


@pytest.fixture
def site(make_site):
    site = make_site()
    # The keys at hand are what it is judged by.
    eventually(lambda: site.operator.database("SELECT 1 FROM apple_keys"), "Apple's keys")
    return site


def post(site, **members) -> int:
    sent = site.apple.call("POST", "notifications", {"type": "consent-revoked", "sub": "nobody"} | members)
    return sent["deliveries"][0]["status"]


def test_an_unlisted_app_is_logged_once_a_minute(site):
    assert post(site) == 200
    for _ in range(3):
        assert post(site, aud="com.example.primary") == 400
    lines = [line for line in site.server.text().splitlines() if WARNING in line]
    assert len(lines) == 1, lines
    for part in (" warning ", "aud=com.example.primary", "count=1", "reason=notification_refused", "apple.bundleIDs"):
        assert part in lines[0], lines[0]
    assert "nobody" not in lines[0]


def test_notifications_of_unlisted_apps_do_not_use_up_the_limit(site):
    for _ in range(2 * FAILURES):
        assert post(site, aud="com.example.primary") == 400
    assert post(site) == 200
    # Those that are nobody's count.
    assert {post(site, aud="\x1b") for _ in range(2 * FAILURES)} == {400, 429}


def test_notifications_of_a_listed_app_are_accepted(make_site):
    site = make_site({"apple.bundleIDs": ["com.example.primary"]})
    assert post(site, aud="com.example.primary") == 200
    listed = site.operator.json("notifications", "list")["items"]
    assert [item["clientID"] for item in listed] == ["com.example.primary"]
    assert WARNING not in site.server.text()
