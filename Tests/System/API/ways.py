"""Links as far as somebody has come with them when they are at a route: by the routes before it."""

import hashlib
import itertools
import json
import re
from urllib.parse import urlsplit

from app import hashed, sheet, taken
from inhabited import Inhabited
from web import SAME_ORIGIN, Answer, Browser, bearer, cookie_field, new_address

# Leads nowhere: these suites look at where they are sent, and do not go.
SIGN_IN = "https://accounts.example.com/sign-in"
# What a site with links is told.
LINKS = {"login.askExistingAccount": True, "login.passwordURL": SIGN_IN,
         "login.changePasswordURL": "https://accounts.example.com/password"}
NUMBERS = itertools.count(1)


class Way:
    """With all credentials of a route at that route, and none at others."""

    def __init__(self, inhabited: Inhabited, ask, account: str, path: str):
        self.inhabited, self.site, self.ask, self.account = inhabited, inhabited.site, ask, account
        self.id: str | None = None
        # The cookie of the browser that was there before, and the Authorization of an app.
        self.browser: str | None = None
        self.bearer: str | None = None
        self.waiting: str | None = None
        self.content: dict = {}
        match path:
            case "/link/{id}":
                self.id = self.opened(ticket=self.waits())["id"]
            case "/link/{id}/attempt" | "/link/{id}/apple":
                self.browser = self.ask(self.site, "GET", "/login/apple").headers["Set-Cookie"].split(";")[0]
                self.id = self.opened()["id"]
            case "/login/existing":
                self.waits()
                self.content = {"waiting": self.waiting, "choice": "new"}
            case "/api/v1/links":
                self.content = {"externalID": account, "kind": "upgrade", "displayName": "Their account",
                                "returnTo": "/account", "ticket": self.waits()}
            case "/api/v1/links/{id}/authorize":
                link = self.link()
                self.id, self.bearer, self.content = link["id"], link["ticket"], self.sheet(link["nonce"])
            case "/api/v1/links/{id}/complete":
                link = self.link()
                self.id, self.content = link["id"], {"code": self.authorized(link)}
            case ("/.well-known/openid-configuration" | "/.well-known/oauth-authorization-server" | "/api/v1/clients"
                  | "/operator/clients"):
                self.inhabited.use_openid()
            case "/api/v1/clients/{id}" | "/api/v1/clients/{id}/secret" | "/operator/clients/{id}":
                self.inhabited.use_openid()
                self.id, made = account, 1_790_000_000_000
                self.inhabited.write(
                    "INSERT INTO openid_client (id, name, secret_hash, redirect_uris, scopes, created_at, updated_at)"
                    """ VALUES (?, 'Program', ?, '["https://program.example.com/callback"]', '["openid"]', ?, ?)""",
                    [(account, hashlib.sha256(b"secret").digest(), made, made)])
                self.content = {"keepOldDays": 3} if path.endswith("secret") else {
                    "redirectURIs": ["https://program.example.com/changed"], "name": "Changed", "groups": ["staff"]}

    def kept(self) -> tuple:
        """How far every link of the account has come, and who waits to be asked."""
        read = self.inhabited.read
        return (
            read("SELECT id, state, tries FROM account_link WHERE external_id = '%s' OR id IN ('%s', '%s') ORDER BY id"
                 % (self.account, self.id, self.content.get("id"))),
            # And whether they are somebody's by now.
            read("SELECT waiting.id, link, user FROM waiting_identity AS waiting LEFT JOIN apple_identity USING (team, subject)"
                 f" WHERE waiting.id = '{self.waiting}'"),
            read(f"SELECT secret_hash, redirect_uris, updated_at FROM openid_client WHERE id = '{self.account}'"),
        )

    def post(self, path: str, content: dict, credential: dict | None = None) -> Answer:
        return self.ask(self.site, "POST", path, {"Content-Type": "application/json"} | (credential or {}), json.dumps(content))

    def link(self, **more) -> dict:
        answer = self.post("/api/v1/links", {"externalID": self.account, "kind": "link", "displayName": "Their account", **more},
                           bearer(self.inhabited.key("links")))
        assert answer.status == 201, answer.body
        return answer.json()

    def opened(self, **more) -> dict:
        link = self.link(**more)
        address = urlsplit(link["url"])
        self.ask(self.site, "GET", f"{address.path}?{address.query}", {"Cookie": self.browser}).must(200)
        return link

    def authorized(self, link: dict) -> str:
        answer = self.post(f"/api/v1/links/{link['id']}/authorize", self.sheet(link["nonce"]), bearer(link["ticket"]))
        assert answer.status == 200, answer.body
        return answer.json()["code"]

    def stranger(self) -> str:
        person = f"stranger{next(NUMBERS)}"
        self.site.apple.call("POST", "people", {"id": person, "givenName": "Pat", "familyName": person})
        return person

    def sheet(self, nonce: str) -> dict:
        settings = json.loads((self.site.folder / "config.json").read_text())
        claim = nonce if settings["apple"].get("nativeNonce") == "raw" else hashed(nonce)
        given = taken(sheet(self.site, self.stranger(), claim))
        return {name: value for name, value in given.items() if name != "user"}

    def waits(self) -> str:
        """A stranger is asked whether they have an account; the ticket for who has one."""
        browser = Browser(self.site, new_address())
        page = browser.comes_back(browser.goes_to_apple(self.stranger()))
        self.browser, self.waiting = cookie_field(browser.cookies)["Cookie"], page.waiting
        assert self.waiting, page.body
        answer = browser.send("POST", "/login/existing", {"waiting": self.waiting, "choice": "connect"}, SAME_ORIGIN)
        found = re.fullmatch(re.escape(SIGN_IN) + r"\?ticket=(brt_[A-Za-z0-9_-]+)", answer.location)
        assert answer.status == 303 and found, answer.body
        return found[1]
