"""`bramley clients` and `/api/v1/clients`: demand 43 of an OpenID provider."""

import hashlib
import json
from unittest import mock

import pytest

from party import CALLBACK, Browser, Party, call, register
from patience import eventually
from processes import fails
from receiver import Receiver
from test_back_channel import endpoint


def clients(site) -> dict[str, dict]:
    return {client["clientID"]: client for client in site.operator.json("clients", "list")["items"]}


@pytest.mark.parametrize("options, reason", [
    (("--redirect-uri", "http://grafana.example.com/cb"), "http is only for"),
    (("--redirect-uri", "https://*.example.com/cb"), "host must be plain"),
    (("--redirect-uri", "https://a@grafana.example.com/cb"), "host must be plain"),
    (("--redirect-uri", "https://grafana.example.com/cb#x"), "fragment"),
    (("--redirect-uri", "https://grafana.example.com/../cb"), "dot segment"),
    (("--redirect-uri", "com.example.app:/cb"), "public client"),
    (("--redirect-uri", "javascript:alert(1)", "--public"), "reversed domain"),
    (("--redirect-uri", "/cb"), "not an absolute URI"),
    (("--redirect-uri", CALLBACK, "--logout-uri", "http://evil.example"), "http is only for"),
    (("--redirect-uri", CALLBACK, "--scope", "openid,admin"), "not a scope"),
    ((), "redirect URI: at least one is required"),
    *((("--redirect-uri", CALLBACK, "--back-channel-logout-uri", uri), "back-channel logout URI") for uri in (
        "http://program.example.com/logout", "https://user@program.example.com/", "com.example.app:/logout", "/logout",
        "https://program.example.com/#here", "")),
])
def test_invalid_registrations_are_refused(site, options, reason):
    fails(site.operator.run("clients", "add", "broken", *options), reason, code=64)
    assert site.operator.run("clients", "show", "broken").returncode == 1


def test_a_client_id_is_unique(site):
    register(site, "twice")
    fails(site.operator.run("clients", "add", "twice", "--redirect-uri", CALLBACK), "already")


def test_update_changes_only_given_options(site):
    register(site, "changing", "--group", "staff", "--logout-uri", CALLBACK)
    site.operator.bramley("clients", "update", "changing", "--name", "Changed", "--offline", "--everyone")
    after = clients(site)["changing"]
    assert (after["name"], after["groups"], after["logoutURIs"]) == ("Changed", [], [CALLBACK])
    assert "offline_access" in after["scopes"]
    site.operator.bramley("clients", "update", "changing", "--no-offline", "--no-logout-uris")
    after = clients(site)["changing"]
    assert "offline_access" not in after["scopes"] and after["logoutURIs"] == []
    assert site.operator.run("clients", "update", "changing").returncode == 64


def test_delete_ends_its_tokens(site):
    party, browser = register(site, "leaving-soon", "--offline"), Browser(site)
    tokens = party.tokens(browser, scope="openid offline_access")
    site.operator.bramley("clients", "delete", "leaving-soon", "--yes")
    assert party.userinfo(tokens["access_token"]).status == 401
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_client"
    assert browser.get(party.path()).status == 400


def test_changes_are_audited(site):
    register(site, "audited")
    lines = site.operator.json("audit", "list", "--type", "openid_client.added")["items"]
    assert "audited" in [line["object"] for line in lines]


def test_apply_is_idempotent(site, tmp_path):
    secret = "a secret of the operator's own choice, long enough"
    entry = {"clientID": "declared", "redirectURIs": [CALLBACK],
             "clientSecretSHA256": hashlib.sha256(secret.encode()).hexdigest()}

    def apply(*options: str, **more) -> str:
        file = tmp_path / "clients.json"
        file.write_text(json.dumps({"clients": [entry | more]}))
        return site.operator.bramley("clients", "apply", str(file), *options)

    with site.operator.locked():  # A dry run waits for no writer.
        assert "declared added" in apply("--dry-run")
    assert "declared" not in clients(site)
    assert "declared added" in apply()
    before = clients(site)["declared"]
    assert apply() == "" and clients(site)["declared"] == before
    party = Party(site, "declared", secret)
    assert party.redeem(party.code(Browser(site))).status == 200
    assert apply(groups=["staff"]).strip() == "declared changed: groups"
    assert set(clients(site)) > {"declared"}, "clients that the file does not name are kept"
    # An address for logout tokens is set, and taken away again.
    for address in ({"backChannelLogoutURI": "https://p.example.com/out"}, {}):
        (change,) = json.loads(apply("--json", groups=["staff"], **address))["changes"]
        assert change["members"] == ["backChannelLogoutURI"]
        shown = site.operator.json("clients", "show", "declared")
        assert shown.get("backChannelLogoutURI") == address.get("backChannelLogoutURI")


@pytest.mark.parametrize("text, reason", [
    ("", "not JSON"), ("[]", "must be"), ('{"clients": [{}]}', "clientID"),
    ('{"clients": [{"clientID": "x", "redirectURI": "y"}]}', "unknown member"),
    ('{"clients": [{"clientID": "x", "public": "yes"}]}', "true or false"),
    ('{"clients": [{"clientID": "x"}]}', "redirect URI: at least one is required"),
    ('{"clients": [{"clientID": "x", "redirectURIs": ["https://a.example/b"], "clientSecretSHA256": "ab"}]}', "64"),
])
def test_a_wrong_file_changes_nothing(site, tmp_path, text, reason):
    before, file = clients(site), tmp_path / "clients.json"
    file.write_text(text)
    fails(site.operator.run("clients", "apply", str(file)), reason, code=64)
    assert clients(site) == before


def test_an_assertion_s_audience_is_not_a_client(make_site):
    site = make_site({"assertion.audience": "backend"})
    fails(site.operator.run("clients", "add", "backend", "--redirect-uri", CALLBACK), "assertion.audience", code=64)


def test_without_clients_there_is_no_provider(make_site):
    site = make_site()
    for path in ("/.well-known/openid-configuration", "/.well-known/jwks.json"):
        assert call(site, "GET", path).status == 404
    # Anybody's token makes no key, and no error of the database.
    foreign = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.e30.AAAA"
    assert call(site, "GET", f"/oidc/logout?id_token_hint={foreign}").location == "/logout"
    assert site.operator.database("SELECT count(*) FROM rsa_signing_key")[0][0] == 0
    register(site)
    assert call(site, "GET", "/.well-known/openid-configuration").status == 200
    assert call(site, "GET", "/.well-known/jwks.json").json()["keys"]


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
    assert "public" in ask("POST", "/api-public/secret", {}).must(400).json()["detail"]
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
def test_invalid_registrations_are_refused_by_the_api(ask, content, reason):
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
    assert "back-channel logout URI" in ask("PUT", "/api-inside", content).must(400).json()["detail"]
    # An operator may, and the API may repeat it, not move it.
    register(site, "api-inside", "--back-channel-logout-uri", uri)
    assert ask("PUT", "/api-inside", content).must(200).json()["backChannelPublicOnly"] is False
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
