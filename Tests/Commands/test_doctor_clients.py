"""`bramley doctor` and `check` about the programs that speak OpenID Connect."""

import json
import time
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from doctor_place import Place
from patience import PATIENCE, eventually

CALLBACK = "https://program.example.com/callback"
DAY = 86_400_000


@pytest.fixture
def client(place: Place):
    """Registers clients, and deletes them afterwards."""
    made = []

    def add(name: str, *options: str, redirect_uri: str = CALLBACK) -> dict:
        made.append(name)
        return json.loads(place.site.operator.bramley(
            "clients", "add", name, "--redirect-uri", redirect_uri, "--json", *options))

    yield add
    for name in made:
        place.site.operator.bramley("clients", "delete", name, "--yes")


def findings(place: Place, **environment) -> dict[str, str]:
    """By client, what was found; empty when there is nothing to say."""
    items = [item for item in place.doctor(**environment).items if item["check"] == "openid_client"]
    return {item["about"]: item["finding"] for item in items if item["about"]}


def asks_for_a_token(place: Place, name: str, secret: str) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "none", "client_id": name, "client_secret": secret}
    request = Request(
        f"http://127.0.0.1:{place.site.port}/oidc/token", urlencode(form).encode(), {"X-Forwarded-Proto": "https"})
    with pytest.raises(Exception, match="40[01]"):
        urlopen(request, timeout=PATIENCE)


def change(place: Place, name: str, column: str, value: int) -> None:
    place.site.operator.database(f"UPDATE openid_client SET {column} = ? WHERE id = ?", value, name)


def test_without_clients_nothing_is_said(place):
    assert not [item for item in place.doctor().items if item["check"] == "openid_client"]


def test_clients_that_work(place, client):
    client("one")
    client("two", redirect_uri="https://two.example.com/")
    said = [item for item in place.doctor().items if item["check"] == "openid_client"]
    assert [(item["state"], item["detail"]) for item in said] == [("good", "2 clients.")]


def test_an_audience_of_assertions_has_its_name(place, client):
    client("orders")
    assert findings(place, ASSERTION_AUDIENCE="orders") == {"orders": "openid_client_unusable"}
    assert findings(place, ASSERTION_AUDIENCE="other") == {}


@pytest.mark.parametrize("path", ["/apple/callback", "/oidc/authorize", "/login", "/api/v1/session"])
def test_a_redirect_uri_that_is_a_page_here(place, client, path):
    client("lost", redirect_uri=place.site.origin + path)
    assert findings(place) == {"lost": "openid_redirect_unusable"}


def test_a_redirect_uri_on_this_machine(place, client):
    client("desk", redirect_uri="http://localhost:3000/callback")
    client("phone", "--public", redirect_uri="http://127.0.0.1/callback")
    assert findings(place) == {"desk": "openid_redirect_local"}


def test_a_client_that_never_asked(place, client):
    client("idle")
    assert findings(place) == {}
    change(place, "idle", "created_at", int(time.time() * 1000) - DAY - 1000)
    assert findings(place) == {"idle": "openid_client_unused"}
    change(place, "idle", "last_used_at", int(time.time() * 1000))
    assert findings(place) == {}


def test_a_wrong_secret(place, client):
    made = client("guessing")
    asks_for_a_token(place, "guessing", made["clientSecret"])
    assert findings(place) == {}, "a wrong token is no wrong secret"
    asks_for_a_token(place, "guessing", "wrong")
    eventually(lambda: findings(place) == {"guessing": "openid_client_refused"}, "the finding")
    change(place, "guessing", "last_used_at", int(time.time() * 1000) + 1000)
    assert findings(place) == {}, "it has got a token since"


def test_a_program_that_does_not_hear(place, client):
    client("deaf", "--back-channel-logout-uri", "https://deaf.example.com/logout")
    place.site.operator.database(
        "UPDATE webhook_endpoint SET failing_since = ?, last_failure = 'status 404' WHERE url = 'client:deaf'",
        int(time.time() * 1000))
    assert findings(place) == {"deaf": "openid_logout_failing"}


def test_check_says_the_same(place, client):
    client("orders")
    client("lost", redirect_uri=place.site.origin + "/login")
    done = place.site.operator.run("check")
    assert done.returncode == 0 and "openid_client lost: People who sign in are sent to" in done.stdout
    assert "orders" not in done.stdout
