"""Traefik is not in Debian: its file is held against itself, and Bramley against what Traefik would send by it."""

import json

import pytest
import yaml

from client import FETCH, PAGE
from programs import write_private
from proxies import CLAIMS, DOCS, DOMAIN, RULES, TRAEFIKS_OWN
from web import Answer, Browser, call

IDENTITY = [f"X-Auth-Request-{name}" for name in ("User", "Email", "Preferred-Username", "Name", "Groups")]


@pytest.fixture(scope="module")
def document() -> dict:
    return yaml.safe_load((DOCS / "traefik.yml").read_text())["http"]


@pytest.fixture(scope="module")
def site(make_shared_site, folder):
    write_private(folder / "rules.json", json.dumps(RULES).encode())
    return make_shared_site({
        "sessions.cookieDomain": DOMAIN, "login.allowedReturnOrigins": [f"https://app.{DOMAIN}"],
        "server.trustedProxies": ["127.0.0.1"], "forwardAuth.rulesFile": str(folder / "rules.json"),
    }, origin=f"https://id.{DOMAIN}")


def test_every_named_middleware_exists(document):
    assert set(document) == {"routers", "middlewares", "services"}
    for router in document["routers"].values():
        assert set(router["middlewares"]) <= set(document["middlewares"])
        assert router["service"] in document["services"]
        assert router["entryPoints"] and router["rule"].startswith("Host(`")
    assert document["routers"]["app"]["middlewares"] == ["strip-claims", "bramley"]


def test_claims_are_removed_and_answers_are_passed_on(document):
    removed = document["middlewares"]["strip-claims"]["headers"]["customRequestHeaders"]
    assert set(removed.values()) == {""}
    claims = {*IDENTITY, *CLAIMS, "X-Request-ID"} - {*TRAEFIKS_OWN}
    assert claims | {name.replace("-", "_") for name in claims} == set(removed)
    forward = document["middlewares"]["bramley"]["forwardAuth"]
    assert forward["trustForwardHeader"] is False
    assert forward["authResponseHeaders"] == IDENTITY
    assert not {"upgrade", "connection", "content-length"} & {name.lower() for name in forward["authRequestHeaders"]}


def ask(site, document, fields, target, method="GET", cookie=None) -> Answer:
    """Traefik's request: the listed fields of the visitor's, and a description of its own; always a GET."""
    forward = document["middlewares"]["bramley"]["forwardAuth"]
    listed = {name.lower() for name in forward["authRequestHeaders"]}
    headers = {name: value for name, value in fields if name.lower() in listed} | {
        "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Host": f"app.{DOMAIN}", "X-Forwarded-Method": method,
        "X-Forwarded-Proto": "https", "X-Forwarded-Uri": target,
    } | ({"Cookie": cookie} if cookie else {})
    return call(site.port, "GET", forward["address"].removeprefix("http://127.0.0.1:8080"), headers)


@pytest.fixture(scope="module")
def cookie(site) -> str:
    browser = Browser(site)
    assert browser.comes_back(browser.goes_to_apple()).status == 303
    return f"__Secure-bramley={browser.cookies['__Secure-bramley']}"


@pytest.mark.parametrize("fields,method,status", [
    (PAGE, "GET", 302), (PAGE, "HEAD", 302), (FETCH, "GET", 401), (PAGE, "POST", 401), (FETCH, "PUT", 401)])
def test_signed_out_visitors_are_sent_to_the_login(site, document, fields, method, status):
    answer = ask(site, document, fields, "/a?b=c&d=%2F", method)
    assert answer.status == status
    target = f"https%3A%2F%2Fapp.{DOMAIN}%2Fa%3Fb%3Dc%26d%3D%252F"
    assert answer.headers["Location"] == f"https://id.{DOMAIN}/login?return_to={target}"


def test_signed_in_public_and_forbidden(site, document, cookie):
    answer = ask(site, document, PAGE, "/x", cookie=cookie)
    assert answer.status == 204
    assert answer.headers["X-Auth-Request-Email"] == "ada@example.com"
    assert all(answer.headers[name] is not None for name in IDENTITY)
    assert ask(site, document, FETCH, "/public/x").must(204).headers["X-Auth-Request-User"] == ""
    assert "You don’t have access to this page" in ask(site, document, PAGE, "/admin/x", cookie=cookie).must(403).text
    assert "<html" not in ask(site, document, FETCH, "/admin/x", cookie=cookie).must(403).text
    assert ask(site, document, PAGE, "/public/../admin", cookie=cookie).status == 403
