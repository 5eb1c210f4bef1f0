"""Applications that are registered nowhere: the address of a document on another host is their client_id."""

import gzip
import json
import signal
import ssl
import threading

import pytest

from answering import Answering
from authority import Authority
from party import QUIET, Browser, Party, call, register
from patience import eventually

# The port is free.
CALLBACK = "http://127.0.0.1/callback"
HERE = "http://127.0.0.1:4711/callback"
ON = QUIET | {"openid.clientDocuments": ["localhost"]}


class Host:
    """An https server of this machine with documents; counts what it is asked."""

    def __init__(self, tls: ssl.SSLContext):
        self.answers, self.asked, self.released = {}, [], threading.Event()
        self.server = Answering(self.take, tls=tls)

    def url(self, path: str) -> str:
        return f"https://localhost:{self.server.port}{path}"

    def document(self, path: str, **changes) -> bytes:
        return json.dumps({
            "client_id": self.url(path), "client_name": "Notes", "redirect_uris": [CALLBACK],
            "token_endpoint_auth_method": "none", "logo_uri": self.url("/logo.png")} | changes).encode()

    def put(self, path: str, answer=None, **changes) -> str:
        """- answer: given the request; without one, the document."""
        document = self.document(path, **changes)
        self.answers[path] = answer or (lambda _: (200, {"Content-Type": "application/json"}, document))
        return self.url(path)

    def take(self, request, _: bytes) -> tuple | None:
        self.asked.append(request.path)
        assert request.command == "GET" and "Cookie" not in request.headers
        answer = self.answers.get(request.path)
        return answer(request) if answer else (404, {})

    def close(self) -> None:
        self.released.set()
        self.server.stop()


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Bramley trusts only the test's authority, by OpenSSL's own variable."""
    folder, authority = tmp_path_factory.mktemp("host"), Authority()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.issue("localhost").write(folder, "localhost"))
    host = Host(tls)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(authority.write_root(folder / "root.pem")))
        yield host
    host.close()


@pytest.fixture(scope="module")
def site(host, make_shared_site):
    return make_shared_site(ON)


def documents(site) -> list[str]:
    return [client["document"] for client in site.operator.pages("clients", "list") if client["document"]]


def test_an_application_signs_people_in_without_registration(site, host):
    url = host.put("/client.json")
    party, key = Party(site, url, None, HERE), site.operator.key("introspect")
    tokens = party.tokens(Browser(site), scope="openid profile offline_access")
    assert party.claims(tokens["id_token"])["aud"] == url
    tokens = party.refresh(tokens["refresh_token"]).must(200).json()
    assert party.claims(tokens["id_token"])["aud"] == url
    told = call(site, "POST", "/api/v1/introspect", form={"token": tokens["access_token"]}, token=key).must(200).json()
    assert told["client_id"] == url
    assert party.userinfo(tokens["access_token"]).must(200).json()["given_name"] == "Ada"
    # Once, nothing else of that host, and no other endpoint asks it.
    assert host.asked == ["/client.json"]
    assert documents(site) == [url]
    assert party.post("/oidc/revoke", {"token": tokens["refresh_token"]}).status == 200
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_it_is_listed_and_deleted_but_neither_changed_nor_pruned(site, host, tmp_path):
    url = host.put("/listed.json")
    party = Party(site, url, None, HERE)
    tokens = party.tokens(Browser(site))
    made, = (client for client in site.operator.pages("clients", "list") if client["document"] == url)
    assert made["name"] == "Notes" and made["public"] and made["redirectURIs"] == [CALLBACK]
    refused = site.operator.run("clients", "update", made["clientID"], "--name", "Mine")
    assert refused.returncode != 0 and "only its document can change it" in refused.stderr
    (tmp_path / "clients.json").write_text('{"clients": []}')
    site.operator.bramley("clients", "apply", str(tmp_path / "clients.json"), "--prune")
    assert url in documents(site)
    # Its id is for paths; as client_id it is unknown.
    assert call(site, "GET", Party(site, made["clientID"], None, HERE).path()).status == 400
    site.operator.bramley("clients", "delete", made["clientID"], "--yes")
    assert party.userinfo(tokens["access_token"]).status == 401 and url not in documents(site)


def test_unfinished_requests_store_nothing(site, host):
    url = host.put("/unfinished.json")
    party = Party(site, url, None, HERE)
    for _ in range(100):
        Browser(site).get(party.path()).must(200)
    assert url not in documents(site) and host.asked.count("/unfinished.json") == 1
    assert party.redeem("boc_" + "A" * 64).json()["error"] == "invalid_client"


def test_no_proof_key_no_code(site, host):
    party = Party(site, host.put("/plain.json"), None, HERE)
    told = Browser(site).get(party.path(code_challenge=None, code_challenge_method=None)).must(303).parameters()
    assert told["error"] == "invalid_request"


def test_only_its_own_redirect_uris(site, host):
    party = Party(site, host.put("/redirects.json", redirect_uris=[CALLBACK, "https://a.example/cb"]), None, HERE)
    for uri in ("https://a.example/cb/", "https://evil.example/cb", "http://127.0.0.1:4711/other",
                "http://localhost/callback"):
        assert call(site, "GET", party.path(redirect_uri=uri)).status == 400


def test_only_the_consent_page_has_the_name_which_anyone_may_choose(site, host):
    party = Party(site, host.put("/named.json", client_name="Call 0900 4711"), None, HERE)
    for path in (party.path(), party.path(redirect_uri="https://evil.example/cb")):
        page = call(site, "GET", path).text
        assert "0900" not in page and f"localhost:{host.server.port}" in page, page


def endless(request) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        request.wfile.write(b"1000\r\n" + b" " * 4096 + b"\r\n")


def test_hostile_answers(host, make_site):
    """A page, and the reason in the log; 10 documents of a host may be fetched in a minute."""
    site, kind = make_site(ON), {"Content-Type": "application/json"}
    bomb = gzip.compress(b" " * 30_000_000)
    cases = {
        "/redirect": (lambda _: (302, {"Location": host.url("/good.json")}), "status 302"),
        "/huge": (lambda _: (200, kind, host.document("/huge", x="x" * 16_384)), "longer than 16384 bytes"),
        "/endless": (endless, "longer than 16384 bytes"),
        "/bomb": (lambda _: (200, kind | {"Content-Encoding": "gzip"}, bomb[:16_000]), "it is compressed"),
        "/slow": (lambda _: host.released.wait(), "timeout"),
        "/gone": (lambda _: (404, kind, host.document("/gone")), "status 404"),
        "/page": (lambda _: (200, {"Content-Type": "text/html"}, host.document("/page")), "its type is not JSON"),
        "/other": (lambda _: (200, kind, host.document("/client.json")), "its client_id is not its address"),
    }
    host.put("/good.json")
    for path, (answer, reason) in cases.items():
        url = host.put(path, answer)
        assert "not known here" in call(site, "GET", Party(site, url, None, HERE).path()).must(400).text, path
        assert "client document refused, localhost: " in site.server.text()
        eventually(lambda: reason in site.server.text(), f"{reason} for {path}", site.server.text)
    assert "/good.json" not in host.asked and documents(site) == []


@pytest.mark.parametrize("settings,options", [
    # Off.
    ({"openid.clientDocuments": []}, {}),
    # Other hosts.
    ({"openid.clientDocuments": ["claude.ai", "a.localhost"]}, {}),
    # The site is not on localhost, though it may be anything else of this machine.
    ({"publicURL": "http://127.0.0.1:4711"}, {}),
    ({"openid.clientDocuments": ["*"]}, {"origin": "https://id.orchard.test"}),
    # Not only this machine reaches it.
    ({"server.host": "0.0.0.0", "openid.clientDocuments": ["*"]}, {}),
])
def test_nothing_of_this_machine_is_fetched(host, make_site, settings, options):
    site, before = make_site(ON | settings, **options), list(host.asked)
    party = Party(site, host.put("/never.json"), None, HERE)
    assert call(site, "GET", party.path()).status == 400
    assert host.asked == before


def test_a_removed_host_ends_what_its_applications_hold(host, make_site):
    site = make_site(ON)
    own, party = register(site), Party(site, host.put("/removed.json"), None, HERE)
    browser = Browser(site)
    kept, tokens = own.tokens(browser), party.tokens(browser, scope="openid offline_access")
    advertised = "client_id_metadata_document_supported"
    metadata = "/.well-known/openid-configuration"
    assert call(site, "GET", metadata).json()[advertised] is True
    site.configure({"openid.clientDocuments": ["claude.ai"]})
    site.server.process.send_signal(signal.SIGHUP)
    eventually(lambda: documents(site) == [], "its end", site.server.text)
    assert party.userinfo(tokens["access_token"]).status == 401
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_client"
    assert call(site, "GET", party.path()).status == 400
    assert own.userinfo(kept["access_token"]).status == 200
    audited = "SELECT actor FROM audit WHERE type = 'openid_client.deleted' AND object = ?"
    assert site.operator.database(audited, party.client_id) == [("operator",)]
    site.configure({"openid.clientDocuments": []})
    site.server.process.send_signal(signal.SIGHUP)
    eventually(lambda: advertised not in call(site, "GET", metadata).json(), "the metadata", site.server.text)


def test_what_was_removed_while_it_was_stopped_ends_at_the_start(host, make_site):
    site = make_site(ON)
    party = Party(site, host.put("/stopped.json"), None, HERE)
    tokens = party.tokens(Browser(site))
    assert site.stop() == 0
    site.configure({"openid.clientDocuments": []})
    site.start()
    eventually(lambda: documents(site) == [], "its end", site.server.text)
    assert party.userinfo(tokens["access_token"]).status == 401
