"""Services (RFC 8707): `bramley services`, tokens for one of them, and introspection by audience."""

import hashlib
import json
from dataclasses import dataclass
from urllib.parse import quote

import pytest

from party import Browser, Party, basic, call, register, signed_in
from patience import at_once
from processes import fails
from web import SESSION, new_address

NOTES, FILES = "https://notes.example.com/mcp", "https://files.example.com"
INACTIVE = b'{"active":false}'


@dataclass
class Service:
    site: object
    id: str
    secret: str

    def introspect(self, token: str, headers: dict | None = None):
        headers = headers or basic(self.id, self.secret)
        return call(self.site, "POST", "/api/v1/introspect", headers, form={"token": token})

    def told(self, token: str) -> dict:
        return self.introspect(token).must(200).json()


def add(site, uri: str, *options: str) -> Service:
    made = site.operator.json("services", "add", uri, *options)
    assert made["serviceSecret"].startswith("bss_")
    return Service(site, made["serviceID"], made["serviceSecret"])


def listed(site) -> dict[str, dict]:
    return {service["serviceID"]: service for service in site.operator.json("services", "list")["items"]}


@pytest.fixture(scope="module")
def notes(site) -> Service:
    return add(site, NOTES, "--name", "Notes", "--scope", "notes.read=Read your notes", "--scope", "all=Do everything")


@pytest.fixture(scope="module")
def files(site) -> Service:
    return add(site, FILES, "--id", "files", "--scope", "all=Do everything")


@pytest.fixture(scope="module")
def agent(site, notes, files) -> Party:
    return register(site, "agent", "--offline", "--scope", "openid,profile,email,groups,notes.read,all")


@pytest.fixture(scope="module")
def browser(site):
    return signed_in(site)


def refused(answer) -> str:
    assert answer.status == 400
    return answer.json()["error"]


def test_a_service_learns_whose_token_it_is_and_what_for(site, notes, agent, browser):
    tokens = agent.tokens(browser, scope="notes.read email unheard_of", resource=NOTES)
    assert "id_token" not in tokens and "refresh_token" not in tokens
    assert tokens["scope"] == "email notes.read"
    told = notes.told(tokens["access_token"])
    assert told | {"iat": 0, "exp": 0} == {
        "active": True, "sub": browser.user(), "client_id": "agent", "token_type": "Bearer", "scope": "notes.read",
        "iss": site.origin, "aud": NOTES, "iat": 0, "exp": 0}
    assert 0 < told["exp"] - told["iat"] <= 3600 + 60
    assert site.operator.json("services", "show", notes.id)["lastUsedAt"]


def test_nobody_else_learns_of_it(site, notes, files, agent, grafana, browser):
    token = agent.tokens(browser, scope="openid email all", resource=NOTES)["access_token"]
    assert notes.told(token)["scope"] == "all"
    key = site.operator.key("introspect")
    for headers in (basic("files", files.secret), {"Authorization": f"Bearer {files.secret}"},
                    {"Authorization": f"Bearer {key}"}, basic("x", key), basic(notes.id, key)):
        assert files.introspect(token, headers).must(200).body == INACTIVE, headers
    assert 'error="invalid_token"' in agent.userinfo(token).must(401).headers["WWW-Authenticate"]
    assert call(site, "GET", "/api/v1/session", token=token).status == 401


@pytest.mark.parametrize("kind", ["session", "refresh", "code", "userinfo", "id", "garbage", "own secret"])
def test_a_service_learns_of_no_other_token(site, notes, agent, browser, kind):
    tokens = agent.tokens(browser, scope="openid notes.read offline_access", resource=NOTES)
    token = {
        "session": lambda: browser.cookies[SESSION], "refresh": lambda: tokens["refresh_token"],
        "code": lambda: agent.code(browser, scope="notes.read", resource=NOTES),
        "userinfo": lambda: agent.tokens(browser, scope="openid")["access_token"], "id": lambda: tokens["id_token"],
        "garbage": lambda: "boa_" + "A" * 64, "own secret": lambda: notes.secret}[kind]()
    assert notes.introspect(token).must(200).body == INACTIVE


def test_a_service_authenticates_in_three_ways(notes, agent, browser):
    token = agent.tokens(browser, scope="notes.read", resource=NOTES)["access_token"]
    encoded = "".join(f"%{byte:02x}" for byte in notes.secret.encode())
    for headers in (basic(notes.id, notes.secret), basic(quote(notes.id), encoded),
                    {"Authorization": f"Bearer {notes.secret}"}):
        assert notes.introspect(token, headers).json()["active"]


@pytest.mark.parametrize("headers", [
    lambda notes, files, agent: basic(notes.id, files.secret), lambda notes, files, agent: basic(notes.id, "wrong"),
    lambda notes, files, agent: basic("nobody", notes.secret), lambda notes, files, agent: basic("agent", agent.secret),
    lambda notes, files, agent: basic(notes.id, ""), lambda notes, files, agent: {"Authorization": "Bearer bss_x"},
    lambda notes, files, agent: {"Authorization": f"Bearer {agent.secret}"},
    lambda notes, files, agent: {"Authorization": f"Digest {notes.secret}"}])
def test_wrong_credentials_of_a_service_are_challenged(notes, files, agent, browser, headers):
    token = agent.tokens(browser, scope="notes.read", resource=NOTES)["access_token"]
    answer = notes.introspect(token, headers(notes, files, agent))
    assert answer.status == 401 and "Bearer" in answer.headers["WWW-Authenticate"]
    assert b"active" not in answer.body


def test_guesses_of_a_secret_are_counted(notes):
    address = new_address()

    def tries(secret: str) -> int:
        return notes.introspect("x", address | basic(notes.id, secret)).status

    assert [tries("wrong") for _ in range(32)] == [401] * 30 + [429] * 2
    assert tries(notes.secret) == 200, "who shares an address with a guesser is not locked out"


def test_a_code_for_one_service_gives_nothing_at_another(notes, files, agent, browser):
    code = agent.code(browser, scope="all", resource=NOTES)
    assert refused(agent.redeem(code, resource=FILES)) == "invalid_target"
    assert refused(agent.redeem(code, resource=[NOTES, FILES])) == "invalid_target"
    token = agent.redeem(code).json()["access_token"]
    assert notes.told(token)["active"] and files.introspect(token).body == INACTIVE


def test_with_two_services_each_token_is_for_one(notes, files, agent, browser):
    code = agent.code(browser, scope="all notes.read offline_access", resource=[NOTES, FILES])
    assert refused(agent.redeem(code)) == "invalid_target"
    first = agent.redeem(code, resource=NOTES).json()
    assert refused(agent.refresh(first["refresh_token"])) == "invalid_target"
    second = agent.refresh(first["refresh_token"], resource=FILES + "/").json()
    assert second["scope"] == "offline_access all"
    assert agent.refresh(first["refresh_token"], resource=FILES).json() == second
    assert refused(agent.refresh(first["refresh_token"], resource=NOTES)) == "invalid_target"
    # Both live, each where it belongs.
    assert notes.told(first["access_token"])["scope"] == "all notes.read"
    assert files.told(second["access_token"])["scope"] == "all"
    assert notes.introspect(second["access_token"]).body == files.introspect(first["access_token"]).body == INACTIVE


def test_one_refresh_token_used_for_both_services_at_once_gives_one_token(notes, files, agent, browser):
    code = agent.code(browser, scope="all offline_access", resource=[NOTES, FILES])
    tokens = agent.redeem(code, resource=NOTES).json()
    answers = at_once(8, lambda n: agent.refresh(tokens["refresh_token"], resource=[NOTES, FILES][n % 2]))
    given = {answer.json()["access_token"] for answer in answers if answer.status == 200}
    assert len(given) == 1 and {answer.status for answer in answers} == {200, 400}
    assert sorted(service.told(*given)["active"] for service in (notes, files)) == [False, True]


@pytest.mark.parametrize("resource", ["https://notes.example.com", NOTES + "#x", "notes", NOTES + "/", "x" * 2000])
def test_an_unknown_resource_is_told_to_the_application(agent, browser, resource):
    answer = agent.authorize(browser, resource=[NOTES, resource], scope="notes.read")
    assert answer.parameters()["error"] == "invalid_target"


def test_without_openid_or_a_service_the_scope_is_invalid(agent, browser):
    assert agent.authorize(browser, scope="notes.read").parameters()["error"] == "invalid_scope"


def test_what_a_service_or_client_loses_its_tokens_lose_at_once(site, browser):
    service = add(site, "https://narrow.example.com", "--scope", "a=Do a", "--scope", "b=Do b")
    party = register(site, "narrow", "--scope", "a,b")
    token = party.tokens(browser, scope="a b", resource="https://narrow.example.com")["access_token"]
    site.operator.bramley("services", "update", service.id, "--scope", "a=Do a")
    assert service.told(token)["scope"] == "a"
    site.operator.bramley("clients", "update", "narrow", "--scope", "openid")
    assert service.told(token)["scope"] == ""
    site.operator.bramley("services", "delete", service.id, "--yes")
    assert service.introspect(token).status == 401
    again = add(site, "https://narrow.example.com")
    assert again.introspect(token).body == INACTIVE


def test_revocation_and_sign_out_end_a_service_s_token(site, notes, agent):
    browser = Browser(site)
    first, second = (agent.tokens(browser, scope="notes.read", resource=NOTES)["access_token"] for _ in range(2))
    agent.post("/oidc/revoke", {"token": first}).must(200)
    assert notes.introspect(first).body == INACTIVE and notes.told(second)["active"]
    browser.sign_out()
    assert notes.introspect(second).body == INACTIVE


def test_introspection_shows_only_what_the_scopes_allow(site, grafana, browser):
    key = site.operator.key("introspect")

    def told(scope: str) -> set[str]:
        token = grafana.tokens(browser, scope=scope)["access_token"]
        return set(call(site, "POST", "/api/v1/introspect", form={"token": token}, token=key).json())

    known = {"active", "sub", "client_id", "token_type", "scope", "iss", "exp", "sid"}
    assert told("openid") == known
    assert told("openid email") == known | {"username", "email", "email_verified"}
    assert told("openid groups") == known | {"groups"}


def test_metadata_names_services_and_introspection(site, notes, files):
    for path in ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"):
        asked = call(site, "OPTIONS", path, {
            "Origin": "http://localhost:6274", "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "mcp-protocol-version"})
        assert "MCP-Protocol-Version" in asked.headers["Access-Control-Allow-Headers"]
        document = call(site, "GET", path).json()
        assert {"openid", "offline_access", "notes.read", "all"} <= set(document["scopes_supported"])
        assert document["introspection_endpoint"] == site.origin + "/api/v1/introspect"
        assert document["introspection_endpoint_auth_methods_supported"] == ["client_secret_basic", "Bearer"]
        assert "none" in document["token_endpoint_auth_methods_supported"]


def test_with_a_service_alone_there_is_metadata(make_site):
    site = make_site()
    add(site, "http://localhost:8000/mcp")
    assert call(site, "GET", "/.well-known/oauth-authorization-server").status == 200
    assert call(site, "GET", "/.well-known/jwks.json").json()["keys"]


@pytest.mark.parametrize("arguments, reason", [
    (("http://api.example.com/mcp",), "http is only for"), (("https://api.example.com/#x",), "fragment"),
    (("https://api.example.com:443/",), "default"), (("ftp://api.example.com/",), "not an https address"),
    (("https://a@api.example.com/",), "plain"), (("nonsense",), "not an https address"),
    (("HTTPS://api.example.com/",), "not an https address"), (("https://--/",), "--id"),
    (("https://NOTES.example.com/mcp", "--id", "other"), "it is the service notes-example-com-mcp's"),
    (("https://api.example.com/", "--scope", "a"), "scope with its meaning"),
    (("https://api.example.com/", "--scope", "email=Read it"), "claims about people"),
    (("https://api.example.com/", "--scope", 'a"b=c'), "scope with its meaning"),
    (("https://api.example.com/", "--scope", "a="), "meaning of a"),
    (("https://api.example.com/", "--scope", "a=b", "--scope", "a=c"), "named twice"),
    (("https://api.example.com/", "--name", ""), "name"), (("https://api.example.com/", "--id", "a:b"), "id")])
def test_invalid_services_are_refused(site, notes, arguments, reason):
    before = listed(site)
    fails(site.operator.run("services", "add", *arguments), reason, code=64)
    assert listed(site) == before


def test_commands_add_change_rotate_and_delete(site, browser):
    service = add(site, "https://changing.example.com/API", "--name", "Changing", "--scope", "c=Do c")
    assert service.id == "changing-example-com-api"
    fails(site.operator.run("services", "add", "https://else.example.com", "--id", service.id), "already")
    site.operator.bramley("services", "update", service.id, "--name", "Changed")
    shown = site.operator.json("services", "show", service.id)
    assert (shown["name"], shown["scopes"]) == ("Changed", {"c": "Do c"})
    assert shown["uri"] == "https://changing.example.com/API"
    assert "serviceSecret" not in shown and "Do c" in site.operator.bramley("services", "show", service.id)
    assert site.operator.run("services", "update", service.id).returncode == 64
    new = site.operator.json("services", "rotate-secret", service.id)["serviceSecret"]
    for secret in (service.secret, new):
        assert service.introspect("x", basic(service.id, secret)).status == 200
    site.operator.bramley("services", "rotate-secret", service.id, "--keep-old", "0")
    assert service.introspect("x", basic(service.id, new)).status == 401
    site.operator.bramley("services", "delete", service.id, "--yes")
    assert site.operator.run("services", "show", service.id).returncode == 1
    lines = site.operator.json("audit", "list", "--all")["items"]
    kinds = [line["type"] for line in lines if line.get("object") == service.id]
    assert sorted(kinds) == [f"openid_service.{word}" for word in ("added", "changed", "changed", "changed", "deleted")]


def test_apply_is_idempotent(site, tmp_path):
    secret = "a secret of the operator's own choice, long enough"
    entry = {"uri": "https://declared.example.com", "serviceID": "declared", "scopes": {"d": "Do d"},
             "serviceSecretSHA256": hashlib.sha256(secret.encode()).hexdigest()}

    def apply(*options: str, **more) -> str:
        file = tmp_path / "services.json"
        file.write_text(json.dumps({"services": [entry | more]}))
        return site.operator.bramley("services", "apply", str(file), *options)

    others = set(listed(site))
    with site.operator.locked():  # A dry run waits for no writer.
        assert "declared added" in apply("--dry-run")
    assert "declared" not in listed(site)
    assert apply() == "declared added\n"
    before = listed(site)["declared"]
    assert apply() == "" and listed(site)["declared"] == before
    assert Service(site, "declared", secret).introspect("x").body == INACTIVE
    assert apply(scopes={"d": "Do more"}).strip() == "declared changed: scopes"
    # Another address is another service.
    assert apply(uri="https://moved.example.com").strip() == "declared changed: uri, scopes"
    assert set(listed(site)) == others | {"declared"}, "services that the file does not name are kept"


def test_apply_makes_secrets_and_prunes(make_site, tmp_path):
    site, file = make_site(), tmp_path / "services.json"
    add(site, NOTES)
    file.write_text(json.dumps({"services": [{"uri": FILES}]}))
    (added, deleted) = json.loads(site.operator.bramley("services", "apply", str(file), "--prune", "--json"))["changes"]
    assert (added["serviceID"], added["change"]) == ("files-example-com", "added")
    assert (deleted["serviceID"], deleted["change"]) == ("notes-example-com-mcp", "deleted")
    assert Service(site, added["serviceID"], added["serviceSecret"]).introspect("x").body == INACTIVE
    assert site.operator.bramley("services", "apply", str(file), "--prune") == ""


@pytest.mark.parametrize("text, reason", [
    ("", "not JSON"), ("[]", "must be"), ('{"services": [{}]}', "uri"), ('{"services": [1]}', "services[0]"),
    ('{"services": [{"uri": "https://x.example", "scopes": ["a"]}]}', "object"),
    ('{"services": [{"uri": "https://x.example", "id": "x"}]}', "unknown member"),
    ('{"services": [{"uri": "https://x.example", "serviceID": "a b"}]}', "serviceID"),
    ('{"services": [{"uri": "https://x.example"}, {"uri": "https://x.example"}]}', "used twice"),
    ('{"services": [{"uri": "https://x.example", "serviceID": "a"}, {"uri": "https://X.example/"}]}', "it is the service"),
    ('{"services": [{"uri": "https://x.example", "serviceSecretSHA256": "ab"}]}', "64"),
    ('{"services": [{"uri": "https://x.example", "serviceSecretSHA256": "%s"}, {"uri": "https://y.example", "serviceSecretSHA256": "%s"}]}'
     % ("ab" * 32, "ab" * 32), "it is the service y-example's, too"),
])
def test_a_wrong_file_changes_nothing(site, tmp_path, text, reason):
    before, file = listed(site), tmp_path / "services.json"
    file.write_text(text)
    fails(site.operator.run("services", "apply", str(file)), reason, code=64)
    assert listed(site) == before


def test_a_client_may_have_only_scopes_that_a_service_has(site, notes, tmp_path):
    done = site.operator.run(
        "clients", "add", "dreamer", "--redirect-uri", "https://a.example/cb", "--scope", "notes.read,notes.raed")
    assert done.returncode == 64 and "notes.raed" in done.stderr and "not a scope of a service" in done.stderr
    file = tmp_path / "clients.json"
    file.write_text(json.dumps({"clients": [
        {"clientID": "dreamer", "redirectURIs": ["https://a.example/cb"], "scopes": ["notes.raed"]}]}))
    fails(site.operator.run("clients", "apply", str(file)), "notes.raed", code=64)
    key = site.operator.key("clients:write")
    answer = call(site, "PUT", "/api/v1/clients/dreamer", token=key, body={
        "redirectURIs": ["https://a.example/cb"], "scopes": ["notes.raed"]})
    assert answer.status == 400 and "not a scope of a service" in answer.json()["detail"]
    assert site.operator.run("clients", "show", "dreamer").returncode == 1
