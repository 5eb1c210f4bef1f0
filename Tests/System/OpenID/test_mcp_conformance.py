"""The scenarios for authorization servers of the Model Context Protocol's public conformance suite (0.2.0-alpha.11), with
its names; transcribed, because it needs Node.js, a person at a browser and the network. Beside them, its client's way of
finding metadata, which a server must answer."""

import base64
import hashlib
import secrets
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from party import Browser, call, register, return_target

PORT = 4711
REDIRECT = f"http://127.0.0.1:{PORT}/callback"


@pytest.fixture(scope="module")
def documents(make_shared_site):
    """A server that accepts metadata documents."""
    return make_shared_site({"log.level": "info", "openid.clientDocuments": ["*"]})


def well_known_urls(issuer: str) -> list[str]:
    """`createWellKnownUrl`, in its order."""
    base, path = urlsplit(issuer), urlsplit(issuer).path.rstrip("/")
    return list(dict.fromkeys([
        f"/.well-known/oauth-authorization-server{path}", f"/.well-known/openid-configuration{path}",
        f"{base.path.rstrip('/')}/.well-known/openid-configuration"]))


def metadata_of(site) -> dict:
    answers = [call(site, "GET", path) for path in well_known_urls(site.origin)]
    answer = next(answer for answer in answers if answer.status == 200)
    assert "application/json" in answer.headers["Content-Type"].lower()
    return answer.json()


class TestAuthorizationServerMetadataEndpoint:
    """authorization-server-metadata-endpoint"""

    def test_authorization_server_metadata(self, site, grafana):
        body = metadata_of(site)
        assert body["authorization_endpoint"] and body["token_endpoint"]
        assert "code" in body["response_types_supported"] and "S256" in body["code_challenge_methods_supported"]
        assert body["issuer"] == site.origin

    def test_authorization_server_metadata_cimd(self, site, grafana, documents):
        # Nobody is registered there: those with a document need not be.
        assert metadata_of(documents)["client_id_metadata_document_supported"] is True
        # A warning there; here it is off until an operator allows hosts.
        assert "client_id_metadata_document_supported" not in metadata_of(site)

    def test_a_browser_may_read_it_with_the_protocols_header(self, documents):
        """The suite's requests come from Node.js; the inspector's from a page."""
        asked = {"Origin": "https://inspector.example", "Access-Control-Request-Method": "GET",
                 "Access-Control-Request-Headers": "mcp-protocol-version"}
        answer = call(documents, "OPTIONS", "/.well-known/oauth-authorization-server", asked)
        assert "mcp-protocol-version" in (answer.headers["Access-Control-Allow-Headers"] or "").lower()

    def test_an_issuer_with_a_path_is_found_at_every_address(self, make_site):
        """RFC 8414 §3.1 puts the path after the name. A client goes on after 404, and stops after a server's failure."""
        site = make_site({"log.level": "info"}, start=False)
        host, issuer = {"Host": urlsplit(site.origin).netloc}, site.origin + "/id"
        site.configure({"publicURL": issuer})
        register(site.start())
        answers = [call(site.port, "GET", path, host).must(200) for path in well_known_urls(issuer)]
        assert len(answers) == 3 and len({answer.body for answer in answers}) == 1
        assert answers[0].json()["issuer"] == issuer
        asked = host | {"Origin": "https://inspector.example", "Access-Control-Request-Method": "GET"}
        for path in well_known_urls(issuer):
            assert call(site.port, "OPTIONS", path, asked).headers["Access-Control-Allow-Origin"], path
            assert call(site.port, "POST", path, host, "").status == 405
        # Of another issuer on this host, and of none.
        for path in ("oauth-authorization-server", "oauth-authorization-server/other", "jwks.json/id"):
            answer = call(site.port, "GET", "/.well-known/" + path, host).must(404)
            assert answer.json()["code"] == "not_found"


class TestAuthorizationCodeGrant:
    """authorization-code-grant"""

    @pytest.fixture
    def client(self, site):
        # With `none` among the methods, the suite sends no secret: so it is a public client.
        return register(site, "mcp-" + secrets.token_hex(4), "--public", redirect_uri=REDIRECT)

    def test_authorization_code_grant(self, site, client):
        metadata = metadata_of(site)
        state, verifier = (secrets.token_urlsafe(32) for _ in range(2))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        # `buildAuthorizationRequest`: neither scope nor resource.
        request = {
            "response_type": "code", "client_id": client.client_id, "state": state, "redirect_uri": REDIRECT,
            "code_challenge": challenge, "code_challenge_method": "S256"}
        browser = Browser(site)
        login = browser.get(urlsplit(metadata["authorization_endpoint"]).path + "?" + urlencode(request))
        answer = browser.decide(browser.return_to(return_target(login))).must(303)

        # `validateAuthorizationResponse`
        url = urlsplit(answer.location)
        told = parse_qs(url.query, keep_blank_values=True)
        assert "error" not in told
        assert (f"{url.scheme}://{url.netloc}", url.path) == (f"http://127.0.0.1:{PORT}", "/callback")
        assert told["state"] == [state] and len(told["code"]) == 1 and told["code"][0]
        assert told["iss"] == [metadata["issuer"]]

        # `selectTokenAuthMethod`, `requestToken`
        assert "none" in metadata["token_endpoint_auth_methods_supported"]
        form = {"grant_type": "authorization_code", "code": told["code"][0], "redirect_uri": REDIRECT,
                "code_verifier": verifier, "client_id": client.client_id}
        tokens = call(site, "POST", urlsplit(metadata["token_endpoint"]).path, form=form).must(200)

        # `validateTokenResponse`
        assert "application/json" in tokens.headers["Content-Type"] and "no-store" in tokens.headers["Cache-Control"]
        assert isinstance(tokens.json()["access_token"], str) and isinstance(tokens.json()["token_type"], str)
        assert tokens.json()["scope"] == "openid"

    def test_an_error_is_answered_with_state_and_issuer(self, site, client):
        """An error and a code exclude each other; the suite stops at the first."""
        answer = Browser(site).get(client.path(code_challenge=None, code_challenge_method=None)).must(303)
        told = parse_qs(urlsplit(answer.location).query)
        assert told["error"] == ["invalid_request"] and "code" not in told
        assert told["iss"] == [metadata_of(site)["issuer"]] and told["state"] == ["s-4711"]
