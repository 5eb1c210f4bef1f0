"""Asking a server as a browser or a program does: no redirect is followed, and no status is an error."""

import base64
import contextlib
import http.client
import itertools
import json
import re
from urllib.parse import parse_qs, urlencode, urlsplit

from patience import PATIENCE

SESSION, BINDING = "__Host-bramley", "__Host-bramley-login"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
# What a page of ours sends with its own forms.
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
_addresses = itertools.count(1)


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self):
        return json.loads(self.body)

    def must(self, status: int) -> "Answer":
        """Itself, which has this status."""
        assert self.status == status, (self.status, self.text)
        return self

    @property
    def code(self) -> str | None:
        """Of a problem document."""
        return self.json().get("code")

    @property
    def location(self) -> str:
        return self.headers["Location"] or ""

    def parameters(self) -> dict[str, str]:
        """Those of the address it redirects to."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.location).query).items()}

    def cookies(self) -> dict[str, str]:
        """What it sets, by name; "" for what it deletes."""
        found = {}
        for line in self.headers.get_all("Set-Cookie") or []:
            name, _, value = line.split(";")[0].partition("=")
            found[name] = "" if "max-age=0" in line.lower() else value
        return found

    @property
    def session(self) -> str | None:
        """The cookie of a session that was begun, as it is sent back."""
        return next((f"{name}={value}" for name, value in self.cookies().items()
                     if name in (SESSION, "bramley") and value), None)

    @property
    def waiting(self) -> str | None:
        """Who waits, when this is the page "Already have an account?"."""
        found = re.search(rb'name="waiting" value="(wai_[^"]+)"', self.body)
        return found[1].decode() if found else None


def call(server, method: str, path: str, headers: dict | None = None, body: str | bytes | dict | None = None, *,
         form: dict | None = None, token: str | None = None, timeout: float = PATIENCE) -> Answer:
    """- server: a site, an origin, or the port of another server.
    - body: a dictionary is sent as JSON.
    - token: the bearer's."""
    fields = {}
    if isinstance(server, int):
        secure, port = False, server
    else:
        origin = urlsplit(server if isinstance(server, str) else server.origin)
        # A site behind a proxy is asked behind it.
        secure = getattr(server, "scheme", origin.scheme) == "https"
        port, fields["Host"] = getattr(server, "port", origin.port), origin.netloc
    if isinstance(body, dict):
        body, fields["Content-Type"] = json.dumps(body), "application/json"
    if form is not None:
        body, fields = urlencode(form, doseq=True), fields | FORM
    if token:
        fields["Authorization"] = f"Bearer {token}"
    with contextlib.closing(http.client.HTTPSConnection("localhost", port, timeout=timeout) if secure
                            else http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)) as connection:
        connection.request(method, path, body, fields | (headers or {}))
        return Answer(connection.getresponse())


def sign_in(site, person: str = "ada") -> str:
    """A whole sign-in without a browser; the session's token."""
    return Browser(site).sign_in(person)


def bearer(token: str) -> dict:
    return {"Authorization": f"Bearer {token}"}


def part_of(token: str, number: int = 1) -> dict:
    """Of a JWT, unverified: its head (0) or its claims (1)."""
    part = token.split(".")[number]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def cookie_field(cookies: dict[str, str]) -> dict:
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}


def new_address() -> dict:
    """Of a client, to a site that trusts this machine: another each time, so that no test uses up another's limits."""
    number = next(_addresses)
    return {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}


def start_of(return_to: str) -> str:
    return "/login/apple?" + urlencode({"return_to": return_to})


class Browser:
    """Cookies, and the way through the simulated Apple; a browser without a window."""

    def __init__(self, site, fields: dict | None = None, cookies: dict | None = None):
        """`fields`: what it sends with every request. `cookies`: those of another, at the beginning."""
        self.site, self.cookies, self.fields = site, dict(cookies or {}), fields or {}

    def ask(self, method: str, path: str, headers: dict | None = None, body: str | None = None) -> Answer:
        return call(self.site, method, path, headers, body)

    def send(self, method: str, path: str, form: dict | str | None = None, headers: dict | None = None) -> Answer:
        fields = self.fields | cookie_field(self.cookies)
        if form is not None:
            fields |= FORM
            form = form if isinstance(form, str) else urlencode(form)
        answer = self.ask(method, path, fields | (headers or {}), form)
        for name, value in answer.cookies().items():
            self.cookies.pop(name, None)
            if value:
                self.cookies[name] = value
        return answer

    def get(self, path: str, headers: dict | None = None) -> Answer:
        return self.send("GET", path, headers=headers)

    def goes_to_apple(self, person: str = "ada", path: str = "/login/apple", **changes) -> str:
        """As far as Apple's page, and the form which that page posts."""
        start = self.get(path).must(303)
        return self.site.apple.call("POST", "authorize", {"person": person, "authorize_url": start.location} | changes)["form"]

    def comes_back(self, form: str) -> Answer:
        return self.send("POST", "/apple/callback", form, {"Origin": self.site.apple.origin, "Sec-Fetch-Site": "cross-site"})

    def through_apple(self, return_to: str, person: str = "ada") -> Answer:
        return self.comes_back(self.goes_to_apple(person, start_of(return_to)))

    def sign_in(self, person: str = "ada") -> str:
        """The token of the session. Who is asked for an account they have already has none."""
        done = self.comes_back(self.goes_to_apple(person))
        if done.waiting:
            done = self.send("POST", "/login/existing", {"waiting": done.waiting, "choice": "new"}, SAME_ORIGIN)
        assert done.status == 303, done.text
        return self.cookies[SESSION]

    def session(self) -> dict | None:
        """Who is signed in, by the server's own word."""
        answer = self.get("/api/v1/session")
        assert answer.status in (200, 401), answer.text
        return answer.json() if answer.status == 200 else None

    def is_signed_in(self) -> bool:
        return self.session() is not None
