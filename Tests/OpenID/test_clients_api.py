"""`/api/v1/clients`: demand 43 of an OpenID provider, by the API."""

import hashlib
import json

import pytest

from party import CALLBACK, Answer, Browser, Party, call

PATH = "/api/v1/clients"


@pytest.fixture(scope="module")
def key(site) -> str:
    return json.loads(site.operator.bramley(
        "api-keys", "create", "programs", "--scopes", "clients:read,clients:write", "--json"))["key"]


@pytest.fixture
def ask(site, key):
    def ask(method: str, path: str = "", content: dict | None = None) -> Answer:
        fields = {"Authorization": f"Bearer {key}"} | ({} if content is None else {"Content-Type": "application/json"})
        return call(site, method, PATH + path, fields, None if content is None else json.dumps(content))

    return ask


def test_43_a_program_is_registered_changed_and_deleted(site, ask):
    made = ask("PUT", "/api-made", {"redirectURIs": [CALLBACK], "name": "Made"})
    assert made.status == 201
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


def test_43_the_secret_is_rotated(site, ask):
    first = ask("PUT", "/api-rotated", {"redirectURIs": [CALLBACK]}).json()["clientSecret"]
    second = ask("POST", "/api-rotated/secret", {}).json()
    assert second["clientSecret"] not in (None, first) and second["formerSecretUntil"]
    for secret in (first, second["clientSecret"]):
        party = Party(site, "api-rotated", secret)
        assert party.redeem(party.code(Browser(site))).status == 200
    third = ask("POST", "/api-rotated/secret", {"keepOldDays": 0}).json()
    assert third["formerSecretUntil"] is None
    party = Party(site, "api-rotated", second["clientSecret"])
    assert party.redeem(party.code(Browser(site))).json()["error"] == "invalid_client"


def test_43_a_secret_of_one_s_own_and_public_clients(ask):
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
    ({}, "redirect URI: there is none"),
    ({"redirectURIs": ["http://a.example/cb"]}, "http is only for"),
    ({"redirectURIs": CALLBACK}, "redirectURIs must be a list"),
    ({"redirectURIs": [CALLBACK], "scopes": ["admin"]}, "scopes are"),
    ({"redirectURIs": [CALLBACK], "groups": ["a,b"]}, "group"),
    ({"redirectURIs": [CALLBACK], "secret": "s"}, "unknown member secret"),
    ({"redirectURIs": [CALLBACK], "clientID": "another"}, "clientID"),
    ({"redirectURIs": [CALLBACK], "public": True, "clientSecretSHA256": "0" * 64}, "no secret"),
    ({"redirectURIs": [CALLBACK], "backChannelLogoutURI": "ftp://a.example"}, "back-channel logout URI"),
    ({"redirectURIs": [CALLBACK], "name": ""}, "name"),
])
def test_43_what_cannot_work_is_refused(ask, content, reason):
    answer = ask("PUT", "/api-refused", content)
    assert answer.status == 400 and reason in answer.json()["detail"], answer.body
    # Nothing that was sent comes back.
    assert "a.example" not in answer.body.decode()
    assert ask("GET", "/api-refused").status == 404


@pytest.mark.parametrize("path", ["/none", "/" + "x" * 65, "/a%20b", "/a;b"])
def test_43_nobody_s_id_is_404(ask, path):
    assert ask("GET", path).status == 404
    assert ask("POST", path + "/secret", {}).status == 404
    assert ask("DELETE", path).status == 404


@pytest.mark.parametrize("days", [-1, 91, "7", 1.5, None])
def test_43_days_out_of_range(ask, days):
    ask("PUT", "/api-days", {"redirectURIs": [CALLBACK]})
    assert ask("POST", "/api-days/secret", {"keepOldDays": days}).status == 400


def test_43_changes_by_the_api_are_audited(site, ask, key):
    ask("PUT", "/api-audited", {"redirectURIs": [CALLBACK]})
    lines = json.loads(site.operator.bramley("audit", "list", "--json", "--all", "--type", "openid_client.added"))["items"]
    line = next(line for line in lines if line["object"] == "api-audited")
    assert line["actor"].startswith("key_") or "key_" in json.dumps(line)
