"""`bramley clients`: demand 43 of an OpenID provider."""

import hashlib
import json

import pytest

from party import CALLBACK, Browser, Party, call, register


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
    done = site.operator.run("clients", "add", "broken", *options)
    assert done.returncode == 64 and reason in done.stderr, done.stderr
    assert site.operator.run("clients", "show", "broken").returncode == 1


def test_a_client_id_is_unique(site):
    register(site, "twice")
    done = site.operator.run("clients", "add", "twice", "--redirect-uri", CALLBACK)
    assert done.returncode == 1 and "already" in done.stderr


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

    assert "declared added" in apply("--dry-run") and "declared" not in clients(site)
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
    done = site.operator.run("clients", "apply", str(file))
    assert done.returncode == 64 and reason in done.stderr, done.stderr
    assert clients(site) == before


def test_an_assertion_s_audience_is_not_a_client(make_site):
    site = make_site({"assertion.audience": "backend"})
    done = site.operator.run("clients", "add", "backend", "--redirect-uri", CALLBACK)
    assert done.returncode == 64 and "assertion.audience" in done.stderr


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
