"""`bramley doctor` and `check` about the programs that speak OpenID Connect."""

import time

import pytest

from doctor_place import Place
from patience import eventually
from web import call

CALLBACK = "https://program.example.com/callback"
DAY = 86_400_000


@pytest.fixture
def client(request, place: Place):
    operator = place.site.operator

    def add(name: str, *options: str, redirect_uri: str = CALLBACK) -> dict:
        request.addfinalizer(lambda: operator.bramley("clients", "delete", name, "--yes"))
        return operator.json("clients", "add", name, "--redirect-uri", redirect_uri, *options)

    return add


def findings(place: Place, **environment) -> dict[str, str]:
    """By client, what was found; empty when there is nothing to say."""
    items = place.doctor(**environment).about("openid_client")
    return {item["about"]: item["finding"] for item in items if item["about"]}


def asks_for_a_token(place: Place, name: str, secret: str) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "none", "client_id": name, "client_secret": secret}
    assert call(place.site.port, "POST", "/oidc/token", {"X-Forwarded-Proto": "https"}, form=form).status in (400, 401)


def change(place: Place, name: str, column: str, value: int) -> None:
    place.site.operator.database(f"UPDATE openid_client SET {column} = ? WHERE id = ?", value, name)


def test_without_clients_the_doctor_has_no_findings_about_them(place):
    assert place.doctor().about("openid_client") == []


def test_working_clients_have_no_findings(place, client):
    client("one")
    client("two", redirect_uri="https://two.example.com/")
    said, = place.doctor().about("openid_client")
    assert (said["state"], said["detail"]) == ("good", "2 clients.")


def test_a_client_named_like_an_assertion_audience_is_reported(place, client):
    client("orders")
    assert findings(place, ASSERTION_AUDIENCE="orders") == {"orders": "openid_client_unusable"}
    assert findings(place, ASSERTION_AUDIENCE="other") == {}


@pytest.mark.parametrize("path", ["/apple/callback", "/oidc/authorize", "/login", "/api/v1/session"])
def test_a_redirect_uri_of_bramleys_own_is_reported(place, client, path):
    client("lost", redirect_uri=place.site.origin + path)
    assert findings(place) == {"lost": "openid_redirect_unusable"}


def test_a_redirect_uri_on_localhost_is_reported(place, client):
    client("desk", redirect_uri="http://localhost:3000/callback")
    client("phone", "--public", redirect_uri="http://127.0.0.1/callback")
    assert findings(place) == {"desk": "openid_redirect_local"}


def test_a_client_that_was_never_used_is_reported(place, client):
    client("idle")
    assert findings(place) == {}
    change(place, "idle", "created_at", int(time.time() * 1000) - DAY - 1000)
    assert findings(place) == {"idle": "openid_client_unused"}
    change(place, "idle", "last_used_at", int(time.time() * 1000))
    assert findings(place) == {}


def test_a_client_that_sends_wrong_secrets_is_reported(place, client):
    asks_for_a_token(place, "guessing", client("guessing")["clientSecret"])
    assert findings(place) == {}, "a wrong token is no wrong secret"
    asks_for_a_token(place, "guessing", "wrong")
    eventually(lambda: findings(place) == {"guessing": "openid_client_refused"}, "the finding")
    change(place, "guessing", "last_used_at", int(time.time() * 1000) + 1000)
    assert findings(place) == {}, "it has got a token since"


def test_a_client_that_refuses_logouts_is_reported(place, client):
    client("deaf", "--back-channel-logout-uri", "https://deaf.example.com/logout")
    place.site.operator.database(
        "UPDATE webhook_endpoint SET failing_since = ?, last_failure = 'status 404' WHERE url = 'client:deaf'",
        int(time.time() * 1000))
    assert findings(place) == {"deaf": "openid_logout_failing"}


def test_check_reports_the_same_findings(place, client):
    client("orders")
    client("lost", redirect_uri=place.site.origin + "/login")
    done = place.site.operator.run("check")
    assert done.returncode == 0 and "openid_client lost: People who sign in are sent to" in done.stdout
    assert "orders" not in done.stdout
