"""docs/clients/spa.js in Chromium, on another site than Bramley: it renews without refresh tokens. By hand with the
library, which otherwise has a stand-in:

    esbuild oidc-client-ts/src/index.ts --bundle --format=esm --outfile=oidc-client-ts.js
    OIDC_CLIENT_TS=that/file pytest Tests/System/OpenID/test_spa.py
"""

import os
import ssl
from pathlib import Path
from urllib.parse import urlencode

import pytest

from answering import Answering
from authority import self_signed
from others import recipe
from party import register
from programs import free_port
from visitor import Visitor, start_browser

LIBRARY = Path(os.environ.get("OIDC_CLIENT_TS", Path(__file__).with_name("oidc_client_stand_in.js")))
# Browsers resolve it to this machine.
HOST = "app.localhost"
PAGE = """<!doctype html>
<html lang="en"><title>App</title><link rel="icon" href="data:,">
<script type="importmap">{"imports": {"oidc-client-ts": "/oidc-client-ts.js"}}</script>
<h1>App</h1><p id="who"></p><button id="sign-in">Sign in</button><button id="renew">Renew</button>
<script type="module">
import { renew, signIn, start } from "/app.js";
document.querySelector("#sign-in").onclick = signIn;
document.querySelector("#renew").onclick = renew;
const user = await start();
window.token = user?.access_token;
document.querySelector("#who").textContent = user ? user.profile.name : "nobody";
</script>"""


@pytest.fixture(scope="module")
def site(make_shared_site):
    return make_shared_site({})


@pytest.fixture(scope="module")
def certificate():
    return self_signed(HOST)


@pytest.fixture
def visitor(site, certificate):
    browser = start_browser(arguments=(f"--ignore-certificate-errors-spki-list={certificate.spki}",))
    yield Visitor(browser, site)
    browser.quit()


@pytest.fixture(scope="module")
def app(site, certificate, tmp_path_factory):
    # At a loopback address it would be a program of the visitor's machine, which asks each time.
    port = free_port()
    origin = f"https://{HOST}:{port}"
    register(site, "spa", "--public", "--logout-uri", f"{origin}/", redirect_uri=f"{origin}/callback")
    code = recipe("spa.js", "js", {"https://id.example.com": site.origin, "https://app.example.com": origin})
    files = {"/app.js": ("text/javascript", code), "/oidc-client-ts.js": ("text/javascript", LIBRARY.read_text())}

    def answer(request, _) -> tuple:
        kind, text = files.get(request.path, ("text/html", PAGE))
        return 200, {"Content-Type": f"{kind}; charset=utf-8"}, text.encode()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pem = tmp_path_factory.mktemp("spa") / "pem"
    pem.write_bytes(certificate.chain + certificate.key)
    context.load_cert_chain(pem)
    server = Answering(answer, port, tls=context)
    yield origin
    server.stop()


def says(visitor, who: str) -> None:
    visitor.wait(lambda driver: driver.find_element("id", "who").text == who, who)


def signs_in(visitor, app, path: str = "/") -> None:
    visitor.driver.get(app + path)
    says(visitor, "nobody")
    visitor.find("#sign-in").click()
    visitor.goes_through_apple("ada")
    says(visitor, "Ada Byron")


def userinfo(visitor) -> int:
    return visitor.driver.execute_async_script(
        "const [address, done] = arguments; fetch(address, {headers: {Authorization: `Bearer ${window.token}`}})"
        ".then((answer) => done(answer.status))", visitor.site.url("/oidc/userinfo"))


def test_a_visitor_signs_in_and_is_back_on_their_page(visitor, app):
    signs_in(visitor, app, "/deep?page=2")
    assert visitor.driver.current_url == f"{app}/deep?page=2"
    assert userinfo(visitor) == 200
    # In no storage of the browser.
    token = visitor.script("return window.token")
    assert token not in visitor.script("return JSON.stringify([{...localStorage}, {...sessionStorage}])")


def test_an_expired_token_is_renewed_without_a_page(visitor, app):
    signs_in(visitor, app, "/deep?page=2")
    expired = visitor.script("return window.token")
    visitor.site.operator.database("UPDATE openid_grant SET access_expires_at = access_expires_at - 3600000")
    assert userinfo(visitor) == 401
    visitor.press("#renew")
    says(visitor, "Ada Byron")
    assert visitor.script("return window.token") != expired and userinfo(visitor) == 200
    assert visitor.driver.current_url == f"{app}/deep?page=2"


def test_a_reload_asks_again(visitor, app):
    signs_in(visitor, app)
    visitor.driver.refresh()
    says(visitor, "Ada Byron")
    assert userinfo(visitor) == 200


def test_renewal_after_a_sign_out_is_refused(visitor, app):
    signs_in(visitor, app)
    visitor.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    visitor.find("#renew").click()
    says(visitor, "nobody")
    assert visitor.driver.current_url == f"{app}/"


def answer_to_a_silent_request(visitor, app) -> str:
    """The address to which it came back, whatever the page has put in its place."""
    def come_back(driver):
        address = driver.execute_script("return performance.getEntriesByType('navigation')[0].name")
        return address.startswith(f"{app}/callback") and address

    return visitor.wait(come_back, "the way back")


def test_a_frame_on_another_site_renews_nothing(visitor, app):
    """What signinSilent would do."""
    signs_in(visitor, app)
    silent = visitor.site.url("/oidc/authorize?") + urlencode({
        "response_type": "code", "client_id": "spa", "redirect_uri": f"{app}/callback", "scope": "openid", "state": "s",
        "prompt": "none", "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "code_challenge_method": "S256"})
    visitor.script("document.body.append(Object.assign(document.createElement('iframe'), {src: arguments[0]}))", silent)
    visitor.driver.switch_to.frame(visitor.find("iframe"))
    assert "error=login_required" in answer_to_a_silent_request(visitor, app)
    visitor.driver.switch_to.default_content()
    visitor.driver.get(silent)
    assert "code=" in answer_to_a_silent_request(visitor, app)
