"""Coming from oauth2-proxy: its documented nginx configurations, with only another upstream."""

import json
import socket
from functools import partial
from urllib.parse import quote, urlsplit

import pytest

import real_browser
from client import FETCH, PAGE, Client
from conftest import Arrangement, arranged
from proxies import DOCS, DOMAIN, Nginx, filled

APP = f"https://app.{DOMAIN}"
# Every character that nginx's $request_uri has as it came.
PAGE_WITH_QUERY = "/a%20b/x?q=1&r=%2Fx%3Fy%3Dz&rd=/other&u=%E6%9D%8E&s=a+b"
RULES = {"rules": [
    {"host": f"app.{DOMAIN}", "path": "/public/*", "allow": "public"},
    {"host": f"app.{DOMAIN}", "path": "/admin/*", "allow": {"groups": ["admins"]}},
    {"host": f"app.{DOMAIN}", "path": "/put", "methods": ["PUT"], "allow": "public"},
    {"host": f"open.{DOMAIN}", "allow": "public"},
]}


class DocumentedNginx(Nginx):
    """nginx with one of the files for those who come from oauth2-proxy. `others` are further servers."""

    def __init__(self, folder, ports, file: str, others: str = ""):
        super().__init__(folder, ports)
        self.file, self.others = file, others

    def site(self) -> str:
        return filled(f"oauth2-proxy/{self.file}.after.conf", {
            "listen 443 ssl": f"listen 127.0.0.1:{self.ports.secure} ssl",
        } | self.places()) + self.others.format(folder=self.folder, ports=self.ports)


class UsualPort(Client):
    """A client for whom the proxy is at 443, as `$host` without a port requires."""

    def __init__(self, place: Arrangement):
        super().__init__(place.proxy.folder, 443)
        self.real, self.app, self.id = place.ports.secure, APP, place.site.origin

    def open(self, url):
        plain = socket.create_connection(("127.0.0.1", self.real))
        return self.context.wrap_socket(plain, server_hostname=urlsplit(url).hostname)


# Bramley on a host of its own, beside the site's.
OWN_HOST = f"""
server {{{{
    listen 127.0.0.1:{{ports.secure}} ssl;
    server_name id.{DOMAIN};
    ssl_certificate     {{folder}}/example.pem;
    ssl_certificate_key {{folder}}/example.key;
    location / {{{{
        proxy_pass http://127.0.0.1:{{ports.bramley}};
        proxy_set_header Host            $http_host;
        proxy_set_header X-Forwarded-For $remote_addr;
    }}}}
}}}}
"""


@pytest.fixture(scope="module", params=["sign-in-page", "redirect"])
def make(request, binaries, folder):
    def make(public_url: str, others: str = "", settings: dict | None = None) -> Arrangement:
        kind = partial(DocumentedNginx, file=request.param, others=others)
        return arranged(request, kind, binaries, folder, settings, public_url, RULES)

    return make


@pytest.fixture(scope="module")
def shared(make):
    """Bramley below /oauth2/ of the site's own host: not a line but the upstreams is changed."""
    return make(f"{APP}/oauth2")


@pytest.fixture(scope="module")
def beside(make):
    """Bramley on a host of its own, which the site's shares the cookie with."""
    return make(f"https://id.{DOMAIN}", OWN_HOST, {
        "sessions.cookieDomain": DOMAIN, "login.allowedReturnOrigins": [APP]})


@pytest.mark.parametrize("name", ["sign-in-page", "redirect"])
def test_the_configurations_differ_only_in_the_upstream(name):
    before = (DOCS / f"oauth2-proxy/{name}.before.conf").read_text()
    after = (DOCS / f"oauth2-proxy/{name}.after.conf").read_text()
    assert before.count("127.0.0.1:4180") == 2
    assert before.replace("127.0.0.1:4180", "127.0.0.1:8080") == after


def test_the_application_gets_the_identity_fields(shared):
    client = UsualPort(shared)
    # Whoever loads a page is shown or sent to the login page; a form or a script is not let in either.
    for method, fields in (("GET", PAGE), ("GET", FETCH), ("POST", PAGE)):
        answer = client.send(f"{APP}/form?a=1&b=2", fields, method, b"x=y" if method == "POST" else None)
        assert answer.status in (302, 403)
        assert not shared.application.seen
    assert client.send(f"{APP}/public/x").seen.target == "/public/x"
    client.sign_in(shared.apple, "ada")
    seen = client.send(APP + "/page?a=1", PAGE + [
        ("X-User", "root"), ("X-Email", "root@example.com"), ("X-Access-Token", "forged")]).seen
    assert seen.target == "/page?a=1" and seen.one("X-User").startswith("usr_")
    assert seen.one("X-Email") == seen.one("X-Preferred-Username") == "ada@example.com"
    assert not seen.all("X-Access-Token")
    assert client.send(f"{APP}/oauth2/userinfo", FETCH).must(200).json()["email"] == "ada@example.com"
    # By rules, with what those files send of a request.
    assert client.send(f"{APP}/admin/x").status == 403


@pytest.mark.parametrize("claims", [
    [("X-Forwarded-Host", f"open.{DOMAIN}")],
    [("X-Forwarded-Host", f"app.{DOMAIN}"), ("X-Forwarded-Method", "PUT")],
    [("X-Forwarded-Uri", "/public/x")], [("X-Original-URL", f"https://open.{DOMAIN}/")],
    [("X-Forwarded-Proto", "http"), ("X-Auth-Request-Redirect", "/public/x")],
    [("Host", f"open.{DOMAIN}")], [("Host", f"open.{DOMAIN}"), ("X-Forwarded-Host", f"open.{DOMAIN}")],
    [("Host", "127.0.0.1:8080"), ("X-Forwarded-Host", f"open.{DOMAIN}")],
    [("Host", "unknown"), ("X-Forwarded-Host", f"open.{DOMAIN}")],
])
def test_a_visitors_claims_open_nothing(shared, claims):
    client = UsualPort(shared)
    count = len(shared.application.seen)
    for path in ("/admin/x", "/put", "/x"):
        assert client.send(APP + path, PAGE + claims).status in (302, 403)
    client.sign_in(shared.apple, "ada")
    for path in ("/admin/x", "/put"):
        assert client.send(APP + path, PAGE + claims).status == 403
    assert len(shared.application.seen) == count


@pytest.mark.parametrize("query", [
    "rd=https://evil.example/", "rd=//evil.example/", "rd=https://app.orchard.test@evil.example/x&y=z",
    f"rd={quote('https://evil.example/', safe='')}"])
def test_rd_does_not_redirect_to_another_site(shared, query):
    client = UsualPort(shared)
    for path in ("sign_in", "start", "sign_out"):
        answer = client.send(f"{APP}/oauth2/{path}?{query}")
        assert answer.status == 400 and "evil" not in str(answer.headers) + answer.text


def walk(place, name: str, signs_in) -> None:
    driver = real_browser.start(f"127.0.0.1:{place.ports.secure}")
    try:
        person = real_browser.visitor(place, driver)
        page = APP + PAGE_WITH_QUERY
        person.open(page)
        person.reads("Sign in to Orchard Club")
        # Instead of the page, at its own address; or at /oauth2/sign_in.
        assert (driver.current_url == page) == (place.proxy.file == "sign-in-page")
        real_browser.picture(driver, f"oauth2-proxy-{place.proxy.file}{name}")
        signs_in(person)
        person.wait(lambda driver: driver.current_url == page, page)
        seen = json.loads(person.find("pre").text)
        assert seen["target"] == PAGE_WITH_QUERY
        assert ["X-Email", "ada@example.com"] in seen["headers"]

        person.open(f"{APP}/oauth2/sign_out?rd={APP}/public/bye?a=1&b=2")
        person.press("form button")
        person.wait(lambda driver: driver.current_url == f"{APP}/public/bye?a=1&b=2", "where rd leads")
        person.open(page)
        person.reads("Sign in to Orchard Club")
        person.check()
    finally:
        driver.quit()


def test_a_sign_in_in_a_browser(shared):
    walk(shared, "", lambda person: person.goes_through_apple("ada"))


def test_a_sign_in_with_bramley_on_a_host_of_its_own(beside):
    def signs_in(person):
        person.press(".apple-button")
        person.agrees("ada")

    walk(beside, "-own-host", signs_in)
