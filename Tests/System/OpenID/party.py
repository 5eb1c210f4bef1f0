"""A program and a browser as OpenID Connect describes them, by hand: whatever a real one would refuse to send, too.
Tokens are verified with joserfc, which shares nothing with the server."""

import base64
import hashlib
import html
import re
import secrets
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet

import web
from programs import free_port
from web import SESSION, Answer, new_address, start_of

CALLBACK = "https://grafana.example.com/login/generic_oauth"
# Of a site whose limits no test meets by chance.
QUIET = {"log.level": "info", "server.trustedProxies": ["127.0.0.1"], "server.limits.signInsPerMinute": 100_000}


def call(site, method: str, path: str, headers: dict | None = None, body=None, **more) -> Answer:
    return web.call(site, method, path, new_address() | (headers or {}), body, **more)


class Browser(web.Browser):
    def ask(self, *arguments) -> Answer:
        return call(self.site, *arguments)

    def own(self, location: str) -> str:
        return urlsplit(location)._replace(scheme="", netloc="", fragment="").geturl()

    def follow(self, answer: Answer) -> Answer:
        return self.get(self.own(answer.location))

    def return_to(self, target: str, person: str = "ada") -> Answer:
        """The answer for the program of a sign-in that leads there."""
        return self.follow(self.through_apple(target, person).must(303))

    def decide(self, page: Answer, decision: str = "allow", path: str = "/oidc/consent", **changes) -> Answer:
        """The answer for the program, or the device, of somebody who presses a button of our page."""
        form = hidden_fields(page) | {"decision": decision} | changes
        return self.send("POST", path, form, {"Origin": self.site.origin})

    def sign_out(self) -> None:
        self.send("POST", "/logout", {}, {"Origin": self.site.origin}).must(303)

    def cancel(self, return_to: str) -> Answer:
        form = {"state": self.get(start_of(return_to)).parameters()["state"], "error": "user_cancelled_authorize"}
        return self.follow(self.send("POST", "/apple/callback", form, {"Origin": self.site.apple.origin}))

    def user(self) -> str:
        token = hashlib.sha256(self.cookies[SESSION].encode()).digest()
        return self.site.operator.database('SELECT "user" FROM session WHERE token_hash = ?', token)[0][0]


class Party:
    """A program: registered, and with what it must send."""

    def __init__(self, site, client_id: str, secret: str | None, redirect_uri: str = CALLBACK):
        self.site, self.client_id, self.secret, self.redirect_uri = site, client_id, secret, redirect_uri
        self.verifier = secrets.token_urlsafe(32)

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def path(self, **changes) -> str:
        """Of an authorization request; None leaves a parameter out, a list sends it more than once."""
        parameters = {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": self.redirect_uri,
            "scope": "openid profile email groups", "state": "s-4711", "nonce": "n-0815",
            "code_challenge": self.challenge, "code_challenge_method": "S256",
        } | changes
        given = {name: value for name, value in parameters.items() if value is not None}
        return "/oidc/authorize?" + urlencode(given, doseq=True)

    def authorize(self, browser: Browser, person: str = "ada", **changes) -> Answer:
        """The redirect to the program, with the person signed in on the way if need be."""
        answer = browser.get(self.path(**changes))
        if answer.status == 200 and "/login/apple" in answer.text:
            answer = browser.return_to(return_target(answer), person)
        # Of a program on the visitor's machine.
        return browser.decide(answer) if "bramley_ticket" in answer.text else answer

    def code(self, browser: Browser, person: str = "ada", **changes) -> str:
        return self.authorize(browser, person, **changes).must(303).parameters()["code"]

    def post(self, path: str, form: dict, headers: dict | None = None) -> Answer:
        """With the client's secret in the body, unless `headers` authenticate."""
        form = {name: value for name, value in form.items() if value is not None}
        if not (headers or {}).get("Authorization"):
            form = {"client_id": self.client_id} | ({"client_secret": self.secret} if self.secret else {}) | form
        return call(self.site, "POST", path, headers, form=form)

    def redeem(self, code: str, headers: dict | None = None, **changes) -> Answer:
        return self.post("/oidc/token", {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier} | changes, headers)

    def refresh(self, token: str, **changes) -> Answer:
        return self.post("/oidc/token", {"grant_type": "refresh_token", "refresh_token": token} | changes)

    def tokens(self, browser: Browser, person: str = "ada", **changes) -> dict:
        return self.redeem(self.code(browser, person, **changes)).must(200).json()

    def userinfo(self, token: str) -> Answer:
        return call(self.site, "GET", "/oidc/userinfo", token=token)

    def verified(self, token: str, *essential: str) -> jwt.Token:
        """A token that a program would accept, with these claims besides."""
        keys = KeySet.import_key_set(call(self.site, "GET", "/.well-known/jwks.json").json())
        verified = jwt.decode(token, keys, algorithms=["RS256"])
        jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": self.site.origin}, aud={"essential": True, "value": self.client_id},
            **{name: {"essential": True} for name in ("exp", "iat", *essential)}).validate(verified.claims)
        return verified

    def claims(self, id_token: str) -> dict:
        return self.verified(id_token).claims


def signed_in(site, person: str = "ada") -> Browser:
    browser = Browser(site)
    browser.sign_in(person)
    return browser


def hidden_fields(page: Answer) -> dict[str, str]:
    """Of the page's first form."""
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.text.partition("</form>")[0])
    return {name: html.unescape(value) for name, value in fields}


def basic(client_id: str, secret: str) -> dict:
    return {"Authorization": "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()}


def return_target(page: Answer) -> str:
    """Where the login page's sign-in leads, as its link without scripts says."""
    found = re.search(rb'href="[^"]*/login/apple\?([^"]+)"', page.body)
    assert found, page.body
    return parse_qs(html.unescape(found[1].decode()))["return_to"][0]


def posted(page: Answer) -> tuple[str, dict[str, str]] | None:
    """Where the page of response_mode=form_post posts, and what; None for another page."""
    action = re.search(r'<form id="repost" method="post" action="([^"]*)"', page.text)
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page.text)
    return action and (html.unescape(action[1]), {name: html.unescape(value) for name, value in fields})


def register(site, client_id: str = "grafana", *options: str, redirect_uri: str = CALLBACK) -> Party:
    made = site.operator.json("clients", "add", client_id, "--redirect-uri", redirect_uri, *options)
    return Party(site, made["clientID"], made.get("clientSecret"), redirect_uri)


def register_here(site, client_id: str, path: str, *options: str, host: str = "127.0.0.1") -> tuple[Party, int, str]:
    """An application on a port of this machine, with its address, which replaces {} in an option."""
    port = free_port()
    origin = f"http://{host}:{port}"
    options = [option.replace("{}", origin) for option in options]
    return register(site, client_id, *options, redirect_uri=origin + path), port, origin
