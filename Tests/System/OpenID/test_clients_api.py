"""`/api/v1/clients`: demand 43 of an OpenID provider, by the API."""

import hashlib
import json
from unittest import mock

import pytest

from party import CALLBACK, Browser, Party, call, register
from patience import eventually
from receiver import Receiver
from test_back_channel import endpoint


@pytest.fixture(scope="module")
def key(site) -> str:
    return site.operator.key("clients:read", "clients:write", "webhooks:read")


@pytest.fixture
def ask(site, key):
    return lambda method, path="", content=None: call(site, method, "/api/v1/clients" + path, body=content, token=key)


def test_an_application_is_registered_changed_and_deleted(site, ask):
    made = ask("PUT", "/api-made", {"redirectURIs": [CALLBACK], "name": "Made"}).must(201)
    document = made.json()
    assert document["clientSecret"].startswith("bcs_") and document["name"] == "Made"
    party = Party(site, "api-made", document["clientSecret"])
    assert party.redeem(party.code(Browser(site))).status == 200
    # No restart, and the secret is shown once.
    read = ask("GET", "/api-made").json()
    assert "clientSecret" not in read and read["lastUsedAt"]
    again = ask("PUT", "/api-made", {"clientID": "api-made", "redirectURIs": [CALLBACK], "name": "Made"})
    assert again.status == 200 and "clientSecret" not in again.json()
    assert again.json()["updatedAt"] == read["updatedAt"], "the same again changes nothing"
    changed = ask("PUT", "/api-made", {"redirectURIs": [CALLBACK], "groups": ["staff"]}).json()
    assert (changed["groups"], changed["name"]) == (["staff"], "api-made")
    assert "api-made" in [item["clientID"] for item in ask("GET").json()["items"]]
    assert ask("DELETE", "/api-made").status == 204
    assert ask("DELETE", "/api-made").json()["code"] == "client_not_found"
    assert party.redeem("boc_" + "0" * 64).json()["error"] == "invalid_client"


def test_the_secret_is_rotated(site, ask):
    first = ask("PUT", "/api-rotated", {"redirectURIs": [CALLBACK]}).json()["clientSecret"]
    second = ask("POST", "/api-rotated/secret", {}).json()
    assert second["clientSecret"] not in (None, first) and second["formerSecretUntil"]
    for secret in (first, second["clientSecret"]):
        party = Party(site, "api-rotated", secret)
        assert party.redeem(party.code(Browser(site))).status == 200
    assert ask("POST", "/api-rotated/secret", {"keepOldDays": 0}).json()["formerSecretUntil"] is None
    assert party.redeem(party.code(Browser(site))).json()["error"] == "invalid_client"


def test_own_secrets_and_public_clients(ask):
    own = hashlib.sha256(b"a secret of the operator, long enough").hexdigest()
    made = ask("PUT", "/api-own", {"redirectURIs": [CALLBACK], "clientSecretSHA256": own})
    assert made.status == 201 and "clientSecret" not in made.json()
    public = {"redirectURIs": ["com.example.app:/callback"], "public": True}
    assert "clientSecret" not in ask("PUT", "/api-public", public).json()
    refused = ask("POST", "/api-public/secret", {})
    assert refused.status == 400 and "public" in refused.json()["detail"]
    # From public to confidential: it needs one now.
    assert ask("PUT", "/api-public", {"redirectURIs": [CALLBACK]}).json()["clientSecret"]


@pytest.mark.parametrize("content, reason", [
    ({}, "redirect URI: at least one is required"),
    ({"redirectURIs": ["http://a.example/cb"]}, "http is only for"),
    ({"redirectURIs": CALLBACK}, "redirectURIs must be a list"),
    ({"redirectURIs": [CALLBACK], "scopes": ["admin"]}, "not a scope"),
    ({"redirectURIs": [CALLBACK], "groups": ["a,b"]}, "group"),
    ({"redirectURIs": [CALLBACK], "secret": "s"}, "unknown member secret"),
    ({"redirectURIs": [CALLBACK], "clientID": "another"}, "clientID"),
    ({"redirectURIs": [CALLBACK], "public": True, "clientSecretSHA256": "0" * 64}, "no secret"),
    ({"redirectURIs": [CALLBACK], "backChannelLogoutURI": "ftp://a.example"}, "back-channel logout URI"),
    ({"redirectURIs": [CALLBACK], "name": ""}, "name"),
])
def test_invalid_registrations_are_refused(ask, content, reason):
    answer = ask("PUT", "/api-refused", content)
    assert answer.status == 400 and reason in answer.json()["detail"], answer.body
    assert "a.example" not in answer.body.decode()
    assert ask("GET", "/api-refused").status == 404


@pytest.mark.parametrize("path", ["/none", "/" + "x" * 65, "/a%20b", "/a;b"])
def test_an_unknown_id_is_404(ask, path):
    for request in (("GET", path), ("POST", path + "/secret", {}), ("DELETE", path)):
        assert ask(*request).status == 404


@pytest.mark.parametrize("days", [-1, 91, "7", 1.5, None])
def test_invalid_days_are_refused(ask, days):
    ask("PUT", "/api-days", {"redirectURIs": [CALLBACK]})
    assert ask("POST", "/api-days/secret", {"keepOldDays": days}).status == 400


def test_changes_by_the_api_are_audited(site, ask, key):
    ask("PUT", "/api-audited", {"redirectURIs": [CALLBACK]})
    lines = site.operator.json("audit", "list", "--all", "--type", "openid_client.added")["items"]
    line = next(line for line in lines if line["object"] == "api-audited")
    assert line["actor"].startswith("key_") or "key_" in json.dumps(line)


@pytest.mark.parametrize("uri", [
    "http://127.0.0.1/in", "http://localhost:9090/metrics", "https://localhost/in", "https://a.localhost./in",
    "https://127.0.0.1/in", "https://[::1]/in", "https://169.254.169.254/latest/", "https://10.0.0.1/in",
    "https://[::ffff:10.0.0.1]/in", "https://[64:ff9b::10.0.0.1]/in", "https://[fe80::1]/in", "https://100.64.0.1/in",
])
def test_the_api_refuses_internal_addresses(site, ask, uri):
    """A holder of a key would make this server call it: server-side request forgery."""
    content = {"redirectURIs": [CALLBACK], "backChannelLogoutURI": uri}
    answer = ask("PUT", "/api-inside", content)
    assert answer.status == 400 and "back-channel logout URI" in answer.json()["detail"], answer.body
    # An operator may, and the API may repeat it, not move it.
    register(site, "api-inside", "--back-channel-logout-uri", uri)
    kept = ask("PUT", "/api-inside", content)
    assert (kept.status, kept.json()["backChannelPublicOnly"]) == (200, False)
    assert ask("PUT", "/api-inside", content | {"backChannelLogoutURI": uri + "/elsewhere"}).status == 400
    site.operator.bramley("clients", "delete", "api-inside", "--yes")


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1"])
def test_a_name_that_resolves_to_an_internal_address_is_not_called(site, ask, key, host):
    """Only where it leads says what it is: no connection, and one word for the API."""
    def failure() -> str | None:
        items = call(site, "GET", "/api/v1/webhooks", token=key).json()["items"]
        return next(item["lastFailure"] for item in items if item["url"] == "client:api-named")

    receiver = Receiver()
    uri = f"https://{host}:{receiver.port}/in"
    made = ask("PUT", "/api-named", {"redirectURIs": [CALLBACK], "backChannelLogoutURI": uri}).json()
    assert made["backChannelPublicOnly"] is True
    browser, party = Browser(site), Party(site, "api-named", made["clientSecret"])
    assert party.redeem(party.code(browser)).status == 200
    with watched(receiver) as connections:
        browser.sign_out()
        eventually(failure, "the failure")
    assert failure() == "not reached" and not connections.called
    assert endpoint(site, "api-named")["lastFailure"] == "the address is not public but was registered through the API"
    # The operator names the same address: then it is called, and the API still learns nothing of how it failed.
    site.operator.bramley("clients", "update", "api-named", "--back-channel-logout-uri", uri)
    with watched(receiver) as connections:
        site.operator.bramley("webhooks", "retry", "--endpoint", "client:api-named")
        eventually(lambda: connections.called, "a connection")
    assert failure() == "not reached"
    receiver.close()
    assert ask("DELETE", "/api-named").status == 204


def watched(receiver):
    """Whether it is `called` meanwhile, whatever is sent over the connections."""
    server = receiver.server.server
    return mock.patch.object(server, "get_request", wraps=server.get_request)
