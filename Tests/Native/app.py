"""An app on somebody's device: asks for a challenge, shows the (simulated) system's sheet, sends what it got."""

import hashlib
import http.client
import itertools
import json
import time
from pathlib import Path
from urllib.parse import urlsplit

from patience import PATIENCE

ADDRESSES = itertools.count(1)
ROOT = Path(__file__).resolve().parents[2]
APP, OTHER = "com.example.app", "com.example.other"


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self) -> dict:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        return self.json().get("code")


def send(site, method: str, path: str, content: dict | bytes | None = None, token: str | None = None,
         kind: str = "application/json", address: str | None = None, headers: dict | None = None) -> Answer:
    """Each request from an address of its own, unless one is named."""
    number = next(ADDRESSES)
    fields = {"Host": urlsplit(site.origin).netloc,
              "X-Forwarded-For": address or f"198.51.{number >> 8 & 255}.{number & 255}", **(headers or {})}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    body = json.dumps(content).encode() if isinstance(content, dict) else content
    if body is not None:
        fields["Content-Type"] = kind
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, fields)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def challenge(site) -> str:
    answer = send(site, "POST", "/api/v1/native/challenge")
    assert answer.status == 200, answer.body
    return answer.json()["nonce"]


def hashed(nonce: str) -> str:
    return hashlib.sha256(nonce.encode()).hexdigest()


def sheet(site, person: str, claim: str | None, app: str = APP, **more) -> dict:
    """What the system gives the app once the person said yes."""
    asked = {"person": person, "client_id": app, **more}
    return site.apple.call("POST", "native", asked if claim is None else asked | {"nonce": claim})


def request(site, person: str = "ada", nonce: str | None = None, **more) -> dict:
    """The content of a whole sign-in."""
    nonce = nonce or challenge(site)
    given = sheet(site, person, hashed(nonce), **more)
    content = {"identityToken": given["identityToken"], "authorizationCode": given["authorizationCode"], "nonce": nonce}
    return content | ({"user": given["fullName"]} if "fullName" in given else {})


def post(site, content: dict) -> Answer:
    return send(site, "POST", "/api/v1/native/sessions", content)


def sign_in(site, person: str = "ada", **more) -> dict:
    answer = post(site, request(site, person, **more))
    assert answer.status == 200, answer.body
    return answer.json()


def exchanges(site) -> int:
    """How often Apple was asked for tokens."""
    return site.apple.call("GET", "counters")["token"]["requests"]


def eventually(check, seconds: float = 60):
    """What `check` answers once that is true."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)
    return found
